"""The Open Bandit Dataset."""

import csv
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_choice
from skfrontier.datasets._fetch import fetch_file

_OPEN_BANDIT_URL = (
    "https://raw.githubusercontent.com/st-tech/zr-obp/8cbd5fa4558b7ad2ba4781546d6604e4cc3e07c4/obd/"
)


_OPEN_BANDIT_HASHES = {
    "random/all": "7168295b6e0a9eabcf3392320a5dd434e542b68e705d5cd9491499af589812f1",
    "random/men": "ede6d08c6877f99cd3770f7d09e26c738e6aa6de4445ccccfb1356ba5d06b1eb",
    "random/women": "e65f3bd3beb17664fa69cc129bf7bf852a775f8ffa630506e505fc905315bb34",
    "bts/all": "0ad874e4dbf6902f0845dd478ad8dde5ef6903583d3ffaace78411bdad064106",
    "bts/men": "db6d1f7ed2d591ba521533e45286d4c1fba7fe57a8ad2e80342210335f43c527",
    "bts/women": "e5d1b49a39b608585a2f3014a3f54970430cd37a495c1b73fceb85cdf428a5b8",
}


def fetch_open_bandit(
    policy: str = "random",
    campaign: str = "all",
    *,
    data_home: Any = None,
    download_if_missing: bool = True,
) -> dict[str, np.ndarray]:
    """Logged recommendations of a fashion store: the small sample of the Open Bandit Dataset.

    10 000 recommendations at one of three positions. With ``policy="random"`` every item is equally
    likely (80 items in campaign "all"); about 0.4 % are clicked.

    Parameters
    ----------
    policy : {"random", "bts"}, default="random"
        What chose the items: uniformly, or Bernoulli Thompson sampling.
    campaign : {"all", "men", "women"}, default="all"
        The campaign.
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    dict
        ``arm`` (item, int), ``position`` (1 to 3), ``click`` (0 or 1) and ``propensity`` (probability
        of the item at its position), arrays of shape (10 000,) in the order of time.

    Raises
    ------
    ValueError
        If a name is unknown.
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    The file is part of the repository https://github.com/st-tech/zr-obp (folder obd), whose licence
    is Apache 2.0.

    References
    ----------
    Y. Saito, S. Aihara, M. Matsutani, Y. Narita, "Open Bandit Dataset and Pipeline: towards realistic
    and reproducible off-policy evaluation", 2020, arXiv:2008.07146.
    """
    policy = check_choice(policy, "policy", ("random", "bts"))
    campaign = check_choice(campaign, "campaign", ("all", "men", "women"))
    path = fetch_file(
        f"{_OPEN_BANDIT_URL}{policy}/{campaign}/{campaign}.csv",
        f"open_bandit/{policy}/{campaign}.csv",
        known_hash="sha256:" + _OPEN_BANDIT_HASHES[f"{policy}/{campaign}"],
        data_home=data_home,
        download_if_missing=download_if_missing,
    )
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = {"item_id": int, "position": int, "click": int, "propensity_score": float}
    values = {name: np.array([kind(row[name]) for row in rows]) for name, kind in columns.items()}
    names = ("arm", "position", "click", "propensity")
    return dict(zip(names, values.values(), strict=True))
