"""Small published tables in which what was never seen is missing."""

from typing import Any

import numpy as np

from skfrontier.algos._validation import check_choice, check_flag

_HARES = """
000100:3 000010:6 000001:5 000101:1 100000:3 100100:2 100010:3 100101:1 010000:4 010100:2 010010:3
010110:1 010101:1 110000:1 001000:4 001100:1 001010:1 001110:1 001001:2 001011:2 101000:4 101010:3
101001:1 101011:2 011000:2 011010:1 011001:1 011011:1 111000:1 111100:1 111010:1 111011:1 111111:2
"""
_LISTS = {"seber": "11:167 10:781 01:254"}


def load_hares(*, as_counts: bool = False) -> Any:
    """Capture histories of 68 snowshoe hares on six trapping occasions.

    Hares that were never caught are missing: the truncation set is ``Cardinality(min=1)``.

    Parameters
    ----------
    as_counts : bool, default=False
        Whether to return distinct histories and how many hares had them.

    Returns
    -------
    X : ndarray of shape (68, 6), dtype uint8
        Column j says whether the hare was caught on occasion j + 1. With ``as_counts`` the 33 distinct
        histories ``patterns``, and ``counts`` of shape (33,).

    References
    ----------
    Cormack, "Log-linear models for capture-recapture", Biometrics 1989; Agresti, "Simple
    capture-recapture models permitting unequal catchability and variable sampling effort", Biometrics
    1994.

    Examples
    --------
    >>> from skfrontier.datasets import load_hares
    >>> load_hares().sum(axis=0).tolist()
    [26, 23, 32, 16, 28, 20]
    """
    return _table(_HARES, check_flag(as_counts, "as_counts"))


def load_lists(name: str = "seber", *, as_counts: bool = False) -> Any:
    """People on two overlapping lists; those on neither are missing.

    Parameters
    ----------
    name : str, default='seber'
        'seber': 1202 individuals of a two-sample experiment.
    as_counts : bool, default=False
        Whether to return distinct rows and how many had them.

    Returns
    -------
    X : ndarray of shape (1202, 2), dtype uint8
        Which lists hold each individual. With ``as_counts`` the distinct rows and their counts.

    Raises
    ------
    ValueError
        If the name is unknown.

    References
    ----------
    Seber, "The estimation of animal abundance", second edition, 1982, p. 107.

    Examples
    --------
    >>> from skfrontier.datasets import load_lists
    >>> patterns, counts = load_lists(as_counts=True)
    >>> counts
    array([167, 781, 254])
    """
    check_choice(name, "name", tuple(_LISTS))
    return _table(_LISTS[name], check_flag(as_counts, "as_counts"))


def _table(text: str, as_counts: bool) -> Any:
    entries = [entry.split(":") for entry in text.split()]
    patterns = np.array([[int(bit) for bit in history] for history, _ in entries], dtype=np.uint8)
    counts = np.array([int(count) for _, count in entries])
    return (patterns, counts) if as_counts else np.repeat(patterns, counts, axis=0)
