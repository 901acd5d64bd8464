"""Approval ballots with limits: files of PrefLib and Pabulib."""

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._validation import check_count
from skfrontier.algos.statistics.truncated_boolean.sets import (
    Cardinality,
    FullCube,
    Halfspaces,
    Intersection,
    TruncationSet,
)
from skfrontier.datasets._fetch import fetch_file

_PREFLIB = (
    "https://raw.githubusercontent.com/PrefLib/PrefLib-Data/main/datasets/00060%20-%20polkadot/"
)
_PABULIB = "https://pabulib.org/download/"
_MOST_NOMINATIONS = 16


def fetch_preflib_nominations(
    session: Any, *, data_home: Any = None, download_if_missing: bool = True
) -> dict[str, Any]:
    """Nominations of validators of the Polkadot network: ballots of 1 to 16 approvals.

    Parameters
    ----------
    session : int or path-like
        Number of the session (2429, 2435, ...), or the path of a PrefLib ``.cat`` file.
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    dict
        ``ballots`` (CSR array of zeros and ones, one row for each distinct ballot), ``counts`` (how often
        each was cast), ``names`` (of the alternatives), ``title``, and ``truncation``, the set of ballots
        that the rules allow.

    Raises
    ------
    ValueError
        If the session does not exist, or the file is not of categories.
    OSError
        If a file is missing and cannot be downloaded.

    Notes
    -----
    Data set 00060 of PrefLib, https://www.preflib.org. No hash is pinned, since the collection is revised;
    its terms of use are those of the site, which asks for the citation below.

    References
    ----------
    .. [1] Boehmer, Brill, Cevallos, Gehrlein, Sánchez-Fernández, Schmidt-Kraepelin, "Approval-based
       committee voting in practice: a case study of (over-)representation in the Polkadot blockchain",
       AAAI 2024.
    """
    if isinstance(session, str | Path):
        path = Path(session)
    else:
        options = {"data_home": data_home, "download_if_missing": download_if_missing}
        path = _session_file(check_count(session, "session"), options)
    ballots, counts, header = _read_categories(path)
    most = min(_MOST_NOMINATIONS, ballots.shape[1])
    return {
        "ballots": ballots,
        "counts": counts,
        "names": header["names"],
        "title": header["title"],
        "truncation": Cardinality(min=1, max=most),
    }


def fetch_pabulib(
    name: Any, *, data_home: Any = None, download_if_missing: bool = True
) -> dict[str, Any]:
    """Approval ballots of a participatory budget, with the limits that voters were given.

    Parameters
    ----------
    name : str or path-like
        Name of a file of https://pabulib.org without its ending, or the path of a ``.pb`` file.
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    dict
        ``ballots`` (CSR array, one row for each voter), ``costs`` of the projects, their ``names``,
        ``meta`` (the file's own description, its licence included where it states one) and
        ``truncation``, the set of allowed ballots: min_length, max_length and max_sum_cost.

    Raises
    ------
    ValueError
        If the file is malformed or holds no approval ballots.
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    Ballots outside the limits, which some files hold, are kept: filter with ``truncation.contains``. No
    hash is pinned, since the collection is revised.
    """
    if not isinstance(name, str | Path) or not str(name):
        raise TypeError(f"name must be the name or the path of a file, got {name!r}.")
    path = Path(name)
    if not path.is_file():
        if path.suffix or len(path.parts) > 1:
            raise OSError(
                f"{path} is missing; give an existing .pb file or the name of one at Pabulib."
            )
        path = fetch_file(
            f"{_PABULIB}{name}.pb",
            f"pabulib/{name}.pb",
            known_hash=None,
            data_home=data_home,
            download_if_missing=download_if_missing,
        )
    sections = _pabulib_sections(path)
    meta = {row["key"]: row["value"] for row in sections["META"]}
    if meta.get("vote_type") != "approval":
        raise ValueError(f"{path} holds {meta.get('vote_type')!r} votes, not approvals.")
    projects = [row["project_id"] for row in sections["PROJECTS"]]
    costs = np.array([float(row["cost"]) for row in sections["PROJECTS"]])
    index = {project: i for i, project in enumerate(projects)}
    try:
        votes = [[index[p] for p in row["vote"].split(",") if p] for row in sections["VOTES"]]
    except KeyError as error:
        raise ValueError(f"{path} has a vote for the unknown project {error}.") from None
    return {
        "ballots": _rows_of(votes, len(projects)),
        "costs": costs,
        "names": [row.get("name") or row["project_id"] for row in sections["PROJECTS"]],
        "meta": meta,
        "truncation": _limits(meta, costs),
    }


def _session_file(session: int, options: dict[str, Any]) -> Path:
    listing = fetch_file(
        f"{_PREFLIB}info.txt", "preflib/00060/info.txt", known_hash=None, **options
    ).read_text(encoding="utf-8")
    found = re.search(rf"^(\S+\.cat),.*\bSession {session}\b", listing, re.MULTILINE)
    if found is None:
        known = [int(s) for s in re.findall(r"\.cat,.*\bSession (\d+)", listing)]
        raise ValueError(
            f"session {session} does not exist; sessions go from {min(known)} to {max(known)}."
        )
    name = found.group(1)
    return fetch_file(f"{_PREFLIB}{name}", f"preflib/00060/{name}", known_hash=None, **options)


def _read_categories(path: Path) -> tuple[sparse.csr_array, np.ndarray, dict[str, Any]]:
    """Ballots of a PrefLib file of categories: the first category is approval."""
    header: dict[str, str] = {}
    names: list[str] = []
    votes, counts = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            key, _, value = line[1:].partition(":")
            header[key.strip()] = value.strip()
            if key.strip().startswith("ALTERNATIVE NAME"):
                names.append(value.strip())
        elif line.strip():
            count, _, preference = line.partition(":")
            approved = re.match(r"\s*(?:\{([^}]*)\}|(\d+))", preference)
            if approved is None:
                raise ValueError(f"{path} has a line that is no ballot: {line[:60]!r}.")
            numbers = approved.group(1) if approved.group(2) is None else approved.group(2)
            votes.append([int(v) - 1 for v in numbers.split(",") if v.strip()])
            counts.append(int(count))
    if header.get("DATA TYPE") != "cat" or not names:
        raise ValueError(f"{path} is no PrefLib file of categories (.cat).")
    described = {"names": names, "title": header.get("TITLE", "")}
    return _rows_of(votes, len(names)), np.array(counts, dtype=np.int64), described


def _rows_of(votes: list[list[int]], n_features: int) -> sparse.csr_array:
    lengths = np.array([len(set(vote)) for vote in votes], dtype=np.int64)
    indices = np.array([i for vote in votes for i in sorted(set(vote))], dtype=np.int32)
    pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    ones = np.ones(len(indices), np.uint8)
    return sparse.csr_array((ones, indices, pointers), shape=(len(votes), n_features))


def _pabulib_sections(path: Path) -> dict[str, list[dict[str, str]]]:
    """Rows of the three sections; each has a line of column names of its own."""
    sections: dict[str, list[dict[str, str]]] = {}
    columns: list[str] | None = None
    current = ""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    for row in csv.reader(lines, delimiter=";"):  # names with a semicolon stand in quotes
        fields = [field.strip() for field in row] or [""]
        if fields[0].upper() in ("META", "PROJECTS", "VOTES") and len(fields) == 1:
            current, columns = fields[0].upper(), None
            sections[current] = []
        elif current and columns is None:
            columns = fields
        elif current and columns and any(fields):
            sections[current].append(dict(zip(columns, fields, strict=False)))
    missing = {"META", "PROJECTS", "VOTES"} - set(sections)
    if missing:
        raise ValueError(f"{path} is no Pabulib file: it lacks {', '.join(sorted(missing))}.")
    return sections


def _limits(meta: dict[str, str], costs: np.ndarray) -> TruncationSet:
    """The ballots that min_length, max_length and max_sum_cost allow."""
    rules: list[TruncationSet] = []
    if "min_length" in meta or "max_length" in meta:
        least = int(meta.get("min_length", 0))
        most = int(meta.get("max_length", len(costs)))
        rules.append(Cardinality(min=least, max=min(most, len(costs))))
    if "max_sum_cost" in meta:
        rules.append(Halfspaces(costs, float(meta["max_sum_cost"])))
    if not rules:
        return FullCube()
    return rules[0] if len(rules) == 1 else Intersection(*rules)
