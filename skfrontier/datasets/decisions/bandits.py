"""Loss matrices for bandits: switching, hidden windows, drift, noise, adversaries, model choice."""

import csv
import math
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_choice, check_count, check_interval
from skfrontier.datasets._fetch import fetch_file


def make_switching_bandit(
    n_rounds: int,
    n_arms: int,
    n_segments: int,
    gap: float | None = None,
    *,
    random_state: Any = None,
    return_meta: bool = False,
) -> Any:
    """Losses that are constant on segments between random change points.

    Parameters
    ----------
    n_rounds : int
        Number of rounds T.
    n_arms : int
        Number of arms A.
    n_segments : int
        Number of segments S; the change points are a uniform (S-1)-subset of 1..T-1.
    gap : float or None, default=None
        None: every row is uniform on [0, 1]^A. Otherwise every loss is 0.5, that of one random arm
        a segment 0.5 - gap.
    random_state : int, numpy Generator or None, default=None
        Seed.
    return_meta : bool, default=False
        Also return a dict with ``change_points`` and ``n_segments``.

    Returns
    -------
    losses : ndarray of shape (n_rounds, n_arms)
    meta : dict
        Only if ``return_meta``.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from skfrontier.datasets import make_switching_bandit
    >>> losses, meta = make_switching_bandit(100, 3, 4, random_state=0, return_meta=True)
    >>> losses.shape, len(meta["change_points"])
    ((100, 3), 3)
    """
    n_rounds, n_arms = check_count(n_rounds, "n_rounds"), check_count(n_arms, "n_arms")
    n_segments = check_count(n_segments, "n_segments")
    if n_segments > n_rounds:
        raise ValueError(f"n_segments must be at most n_rounds={n_rounds}, got {n_segments}.")
    rng = np.random.default_rng(random_state)
    change_points = 1 + np.sort(rng.choice(n_rounds - 1, n_segments - 1, replace=False))
    if gap is None:
        rows = rng.random((n_segments, n_arms))
    else:
        gap = check_interval(gap, "gap", 0.0, 0.5)
        rows = np.full((n_segments, n_arms), 0.5)
        rows[np.arange(n_segments), rng.integers(n_arms, size=n_segments)] -= gap
    lengths = np.diff(change_points, prepend=0, append=n_rounds)
    return _with_meta(np.repeat(rows, lengths, axis=0), return_meta)


def make_hidden_window_bandit(
    n_rounds: int,
    n_arms: int = 2,
    window: int | None = None,
    n_blocks: int | None = None,
    gap: float = 0.5,
    *,
    random_state: Any = None,
    return_meta: bool = False,
) -> Any:
    """One fair arm, and short hidden windows in which another is better.

    Arm 0 always loses 0.5, all others 1, but in each block one random other arm loses 0.5 - gap on
    a short window at a random place. Arm 0 is the best fixed arm: a tracker that looks for the
    windows pays for it in static regret, a policy that does not pays in dynamic regret.

    Parameters
    ----------
    n_rounds : int
        Number of rounds T.
    n_arms : int, default=2
        Number of arms A, at least 2.
    window : int or None, default=None
        Length of the windows, at most half a block. None: uniform on 0..half a block, anew each
        time.
    n_blocks : int or None, default=None
        Number of blocks of equal length. None: blocks of floor(sqrt(T)) rounds. Rounds after the
        last whole block have no window.
    gap : float, default=0.5
        How much better the arm of a window is than arm 0.
    random_state : int, numpy Generator or None, default=None
        Seed.
    return_meta : bool, default=False
        Also return a dict with ``change_points`` and ``n_segments``.

    Returns
    -------
    losses : ndarray of shape (n_rounds, n_arms)
    meta : dict
        Only if ``return_meta``.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    J. Qian, C.-Y. Wei, "Achieving optimal static and dynamic regret simultaneously in bandits with
    deterministic losses", 2026, arXiv:2602.07418.

    Examples
    --------
    >>> from skfrontier.datasets import make_hidden_window_bandit
    >>> losses = make_hidden_window_bandit(10_000, window=8, random_state=0)
    >>> int((losses[:, 1] == 0).sum())
    800
    """
    n_rounds, n_arms = check_count(n_rounds, "n_rounds"), check_count(n_arms, "n_arms", minimum=2)
    gap = check_interval(gap, "gap", 0.0, 0.5)
    if n_blocks is None:
        length = math.isqrt(n_rounds)
    else:
        length = max(1, n_rounds // check_count(n_blocks, "n_blocks"))
    half = length // 2
    fixed = None if window is None else min(check_count(window, "window", minimum=0), half)
    rng = np.random.default_rng(random_state)
    losses = np.ones((n_rounds, n_arms))
    losses[:, 0] = 0.5
    for block in range(n_rounds // length):
        width = int(rng.integers(half + 1)) if fixed is None else fixed
        arm = int(rng.integers(1, n_arms))
        start = block * length + int(rng.integers(length - width + 1))
        losses[start : start + width, arm] = 0.5 - gap
    return _with_meta(losses, return_meta)


def make_drifting_bandit(
    n_rounds: int,
    n_arms: int,
    n_cycles: float = 3,
    amplitude: float = 0.4,
    quantize: int | None = None,
    *,
    return_meta: bool = False,
) -> Any:
    """Sine waves, one for each arm, of equal frequency and spread phases.

    The loss of arm a in round t is 0.5 + amplitude sin(2 pi (n_cycles t / T + a / A)).

    Parameters
    ----------
    n_rounds : int
        Number of rounds T.
    n_arms : int
        Number of arms A.
    n_cycles : float, default=3
        Periods over all rounds.
    amplitude : float, default=0.4
        At most 0.5.
    quantize : int or None, default=None
        Round the losses to multiples of ``1 / quantize``.
    return_meta : bool, default=False
        Also return a dict with ``change_points`` and ``n_segments``.

    Returns
    -------
    losses : ndarray of shape (n_rounds, n_arms)
    meta : dict
        Only if ``return_meta``.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from skfrontier.datasets import make_drifting_bandit
    >>> make_drifting_bandit(4, 2, n_cycles=1, quantize=10)[:, 0]
    array([0.5, 0.9, 0.5, 0.1])
    """
    n_rounds, n_arms = check_count(n_rounds, "n_rounds"), check_count(n_arms, "n_arms")
    n_cycles = check_interval(n_cycles, "n_cycles", 0.0, np.inf, closed="left")
    amplitude = check_interval(amplitude, "amplitude", 0.0, 0.5)
    phase = n_cycles * np.arange(n_rounds)[:, None] / n_rounds + np.arange(n_arms) / n_arms
    losses = 0.5 + amplitude * np.sin(2.0 * np.pi * phase)
    if quantize is not None:
        levels = check_count(quantize, "quantize")
        losses = np.clip(np.round(losses * levels) / levels, 0.0, 1.0)
    return _with_meta(losses, return_meta)


def make_bernoulli_bandit(means: Any, random_state: Any = None) -> np.ndarray:
    """Independent 0/1 losses with the given means.

    Parameters
    ----------
    means : array-like of shape (n_rounds, n_arms)
        Probabilities of a loss of one, such as the losses that another generator returns.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    losses : ndarray of shape (n_rounds, n_arms)

    Raises
    ------
    ValueError
        If a mean lies outside [0, 1].

    Examples
    --------
    >>> from skfrontier.datasets import make_bernoulli_bandit
    >>> make_bernoulli_bandit([[0.0, 1.0]] * 2, random_state=0)
    array([[0., 1.],
           [0., 1.]])
    """
    means = np.asarray(means, dtype=np.float64)
    if not (np.all(means >= 0.0) and np.all(means <= 1.0)):
        raise ValueError("means must lie in [0, 1].")
    rng = np.random.default_rng(random_state)
    return (rng.random(means.shape) < means).astype(np.float64)


def make_adversarial_bandit(
    n_rounds: int, n_arms: int, kind: str = "gap", *, random_state: Any = None
) -> np.ndarray:
    """The family behind the static lower bound: one arm better by sqrt(A / T), too little to see.

    Parameters
    ----------
    n_rounds : int
        Number of rounds T.
    n_arms : int
        Number of arms A.
    kind : {"gap"}, default="gap"
        "gap": Bernoulli losses with mean 0.5, those of one random arm 0.5 - sqrt(A / T).
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    losses : ndarray of shape (n_rounds, n_arms)

    Raises
    ------
    ValueError
        If a number is out of range or ``kind`` unknown.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit
    problem", SIAM Journal on Computing 32 (2002), section 5.

    Examples
    --------
    >>> from skfrontier.datasets import make_adversarial_bandit
    >>> make_adversarial_bandit(100, 4, random_state=0).shape
    (100, 4)
    """
    n_rounds, n_arms = check_count(n_rounds, "n_rounds"), check_count(n_arms, "n_arms")
    check_choice(kind, "kind", ("gap",))
    rng = np.random.default_rng(random_state)
    means = np.full(n_arms, 0.5)
    means[rng.integers(n_arms)] -= min(0.5, math.sqrt(n_arms / n_rounds))
    return (rng.random((n_rounds, n_arms)) < means).astype(np.float64)


class WithdrawingAdversary:
    """An adversary that reacts: it takes a bargain away once it has been found.

    Two arms. Arm 0 always loses 0.5. Arm 1 loses 1, except in one window a block, at a random
    place, where it loses 0 until it is first played there (that play still loses 0), then 1 again.
    Against it no policy can have small static and small dynamic regret at once; against the same
    windows left alone (``oblivious_losses``) one can.

    Parameters
    ----------
    n_rounds : int
        Number of rounds T.
    n_segments : int
        Number S of segments aimed at: blocks last 2 T / S rounds.
    alpha : float, default=0.0
        Windows last sqrt(T) / S^alpha rounds.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    T. Marinov, J. Zimmert, "The Pareto frontier of model selection for general contextual bandits",
    2021, arXiv:2110.13282.

    Examples
    --------
    >>> from skfrontier.datasets import WithdrawingAdversary
    >>> adversary = WithdrawingAdversary(1000, 10, random_state=0)
    >>> adversary.loss_vector(0).shape, adversary.oblivious_losses().shape
    ((2,), (1000, 2))
    """

    def __init__(
        self, n_rounds: int, n_segments: int, alpha: float = 0.0, random_state: Any = None
    ):
        self.n_rounds = check_count(n_rounds, "n_rounds")
        self.n_segments = check_count(n_segments, "n_segments")
        self.alpha = check_interval(alpha, "alpha", 0.0, 1.0)
        rng = np.random.default_rng(random_state)
        block = max(1, 2 * n_rounds // n_segments)
        width = min(block, max(1, round(math.sqrt(n_rounds) / n_segments**alpha)))
        self._window = np.full(n_rounds, -1)  # which window a round belongs to
        for k in range(n_rounds // block):
            start = k * block + int(rng.integers(block - width + 1))
            self._window[start : start + width] = k
        self._withdrawn = np.zeros(max(1, n_rounds // block), dtype=bool)

    def loss_vector(self, t: int) -> np.ndarray:
        """Return the losses of both arms in round ``t``, given the arms observed so far."""
        window = self._window[self._check_round(t)]
        bargain = window >= 0 and not self._withdrawn[window]
        return np.array([0.5, 0.0 if bargain else 1.0])

    def observe(self, t: int, arm: int) -> None:
        """Tell the adversary which arm was played in round ``t``."""
        window = self._window[self._check_round(t)]
        if arm == 1 and window >= 0:
            self._withdrawn[window] = True

    def oblivious_losses(self) -> np.ndarray:
        """Return the losses with the same windows, none withdrawn, of shape (n_rounds, 2)."""
        return np.column_stack([np.full(self.n_rounds, 0.5), np.where(self._window >= 0, 0.0, 1.0)])

    def _check_round(self, t: int) -> int:
        if not 0 <= t < self.n_rounds:
            raise ValueError(f"t must lie in 0..{self.n_rounds - 1}, got {t!r}.")
        return t


def make_model_selection_bandit(
    X: Any,
    y: Any,
    estimators: Any,
    *,
    n_windows: int = 60,
    rounds_per_window: int = 500,
    noise: float = 0.9,
    random_state: Any = None,
    return_meta: bool = False,
) -> Any:
    """Validation error of model configurations on data whose noise comes and goes.

    For window v, Gaussian noise of scale noise (0.5 - 0.5 cos(2 pi v / 20)) is added to ``X``
    scaled to [0, 1]; every configuration is trained on 30, 60 or 300 random rows of it and its
    error on rows 500..900 of the permutation (the last 40 % of smaller data) is its loss for all
    rounds of the window. So the losses are exact and change only where a window ends.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,)
        Classes.
    estimators : sequence of classifiers
        One arm each; fresh copies are trained.
    n_windows : int, default=60
        Number of windows.
    rounds_per_window : int, default=500
        Rounds of a window.
    noise : float, default=0.9
        Largest scale of the noise.
    random_state : int, numpy Generator or None, default=None
        Seed.
    return_meta : bool, default=False
        Also return a dict with ``change_points`` and ``n_segments``.

    Returns
    -------
    losses : ndarray of shape (n_windows * rounds_per_window, n_estimators)
    meta : dict
        Only if ``return_meta``.

    Raises
    ------
    ValueError
        If the data are not matrices of equal length, too few, or no estimator is given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skfrontier.datasets import make_model_selection_bandit
    >>> X, y = load_iris(return_X_y=True)
    >>> models = [GaussianNB(), KNeighborsClassifier()]
    >>> make_model_selection_bandit(X, y, models, n_windows=4, random_state=0).shape
    (2000, 2)
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    estimators = list(estimators)
    if X.ndim != 2 or y.shape != (len(X),) or len(X) < 5:
        raise ValueError(f"X and y must be (n, d) and (n,) with n >= 5, got {X.shape}, {y.shape}.")
    if not estimators:
        raise ValueError("estimators must hold at least one classifier, got none.")
    n_windows = check_count(n_windows, "n_windows")
    rounds_per_window = check_count(rounds_per_window, "rounds_per_window")
    noise = check_interval(noise, "noise", 0.0, np.inf, closed="left")
    rng = np.random.default_rng(random_state)
    n = len(X)
    test = slice(500, 900) if n >= 900 else slice(n - (2 * n) // 5, n)
    span = np.ptp(X, axis=0)
    X = (X - X.min(axis=0)) / np.where(span > 0.0, span, 1.0)
    errors = np.empty((n_windows, len(estimators)))
    for v in range(n_windows):
        scale = noise * (0.5 - 0.5 * math.cos(2.0 * math.pi * v / 20.0))
        noisy = X + scale * rng.standard_normal(X.shape)
        n_train = min(int(rng.choice((30, 60, 300))), test.start)
        order = rng.permutation(n)
        train, held_out = order[:n_train], order[test]
        for k, estimator in enumerate(estimators):
            model = type(estimator)(**estimator.get_params())
            model.fit(noisy[train], y[train])
            errors[v, k] = np.mean(model.predict(noisy[held_out]) != y[held_out])
    return _with_meta(np.repeat(errors, rounds_per_window, axis=0), return_meta)


def make_classification_bandit(X: Any, y: Any) -> np.ndarray:
    """Classification of a stream as a bandit: one arm per class, loss 1 for every wrong class.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features; only their number of rows is used, as a check.
    y : array-like of shape (n_samples,)
        Classes in the order of the stream.

    Returns
    -------
    losses : ndarray of shape (n_samples, n_classes)
        Columns follow the sorted classes.

    Raises
    ------
    ValueError
        If ``X`` and ``y`` differ in length.

    Examples
    --------
    >>> from skfrontier.datasets import make_classification_bandit
    >>> make_classification_bandit([[0.0], [1.0]], ["a", "b"])
    array([[0., 1.],
           [1., 0.]])
    """
    y = np.asarray(y)
    if y.ndim != 1 or len(X) != len(y):
        raise ValueError(f"X and y must have equally many rows, got {len(X)} and {y.shape}.")
    classes, labels = np.unique(y, return_inverse=True)
    losses = np.ones((len(y), len(classes)))
    losses[np.arange(len(y)), labels] = 0.0
    return losses


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


def _with_meta(losses: np.ndarray, return_meta: bool) -> Any:
    """Return the losses, with the rounds in which they change if wanted."""
    if not return_meta:
        return losses
    change_points = 1 + np.flatnonzero(np.any(losses[1:] != losses[:-1], axis=1))
    return losses, {"change_points": change_points, "n_segments": 1 + len(change_points)}
