"""How many rows to train on: named rules, and the one that reads it off the scores."""

import numbers
from typing import Any

import numpy as np
from scipy import special, stats

from skfrontier.algos._validation import as_numbers, check_choice, check_count, check_finite
from skfrontier.algos.graphs.structure.families import GAUSSIAN, family_codes
from skfrontier.algos.graphs.structure.symmetrise import RULES

_ACCEPTED = "'auto', 'bic', 'ebic', 'strict', a fraction in (0, 1] as a float, or a number of rows as an int"
_FALSE_SHARE = 0.25  # largest expected share of false edges
_LEVEL = 0.01  # of the test that not all edges are false


def kappa_of(n_train: Any, n_samples: int, n_nodes: int) -> float:
    """``1 + n / n_c`` for any accepted ``n_train`` but 'auto'.

    Raises
    ------
    ValueError
        If it is none of the accepted forms.
    """
    log_n, log_p = np.log(n_samples), np.log(n_nodes)
    named = {
        "bic": log_n,
        "ebic": log_n + 2 * log_p,
        "strict": 4 * log_p + 2 * np.log(max(np.log(max(n_samples, 3)), 1.0)),
    }
    if isinstance(n_train, str) and n_train in named:
        return max(float(named[n_train]), 2.0)
    if isinstance(n_train, numbers.Real) and not isinstance(n_train, bool | np.bool_):
        whole = isinstance(n_train, numbers.Integral)
        rows = float(n_train) if whole else float(n_train) * n_samples
        if 0.0 < rows <= n_samples:
            return 1.0 + n_samples / rows
    raise ValueError(
        f"n_train must be {_ACCEPTED} (at most the {n_samples} rows of X); got {n_train!r}."
    )


def check_n_train(n_train: Any, n_samples: int, n_nodes: int) -> None:
    """Raise unless ``n_train`` is 'auto' or gives a kappa."""
    if not (isinstance(n_train, str) and n_train == "auto"):
        kappa_of(n_train, n_samples, n_nodes)


def expected_false_edges(
    kappa: Any, n_samples: int, n_nodes: int, *, family: Any = "gaussian", rule: str = "mean"
) -> np.ndarray:
    """Roughly how many of the edges that reach ``kappa`` would be there without any relation.

    Parameters
    ----------
    kappa : float or array-like
        Levels of the edge score.
    n_samples, n_nodes : int
        Shape of the data.
    family : str or list of str, default="gaussian"
        As in `directed_scores`.
    rule : {"mean", "and", "or"}, default="mean"
        As in `GraphACV`; 'or' has two chances per pair.

    Returns
    -------
    ndarray of the shape of ``kappa``

    Raises
    ------
    ValueError, TypeError
        If a parameter is not of the stated form.

    Notes
    -----
    An approximation, not a bound: the number of pairs times the tail of one test of no relation, Student's t
    for Gaussian columns and chi-squared else. Heavy tails and few rows make more edges than this, as the
    benchmark shows.

    Examples
    --------
    >>> from skfrontier.algos import expected_false_edges
    >>> expected_false_edges([8.0, 16.0], 500, 100).round(2)
    array([23.88,  0.33])
    """
    kappa = as_numbers(kappa, "kappa").astype(np.float64)
    if np.isnan(kappa).any() or (kappa < 0).any():
        raise ValueError(f"kappa must not be negative or nan, got {kappa!r}.")
    n = check_count(n_samples, "n_samples", 5)
    p = check_count(n_nodes, "n_nodes", 2)
    check_choice(rule, "rule", RULES)
    return _false_edges(kappa, n, p, family, rule)


def _false_edges(kappa: np.ndarray, n: int, p: int, family: Any, rule: str) -> np.ndarray:
    chances = p * (p - 1) / 2 * (2 if rule == "or" else 1)
    if np.all(family_codes(family, p) == GAUSSIAN):
        r2 = -np.expm1(-kappa / n)
        with np.errstate(divide="ignore"):
            t = np.sqrt(r2 * (n - 3) / (1 - r2))
        return chances * 2 * stats.t.sf(t, n - 3)
    return chances * special.chdtrc(1, kappa)


def select_kappa(
    edge_scores: Any, n_samples: int, n_nodes: int, *, family: Any = "gaussian", rule: str = "mean"
) -> float:
    """The level of the edge score above which edges are kept, from the scores alone.

    Parameters
    ----------
    edge_scores : array-like of shape (n_edges,)
        Scores of pairs, in any order.
    n_samples, n_nodes : int
        Shape of the data.
    family : str or list of str, default="gaussian"
        As in `directed_scores`.
    rule : {"mean", "and", "or"}, default="mean"
        How the edge scores were made.

    Returns
    -------
    float
        A score, or infinity where no level is trusted: an empty graph.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not of the stated form.

    Notes
    -----
    Of the levels at which most edges must be true, the one with the highest estimate of the F1 score is
    taken; the number of false edges is `expected_false_edges` and a margin for chance, at most sqrt(log n).
    A single false edge enters only where fewer than about 1 / log(n) are expected: consistent, slowly (this
    library's own argument; its constants were chosen by simulation).

    Examples
    --------
    >>> from skfrontier.algos import select_kappa
    >>> select_kappa([90.0, 70.0, 40.0, 11.0, 10.5], 500, 50)
    40.0
    """
    n = check_count(n_samples, "n_samples", 5)
    p = check_count(n_nodes, "n_nodes", 2)
    check_choice(rule, "rule", RULES)
    scores = np.atleast_1d(as_numbers(edge_scores, "edge_scores")).astype(np.float64)
    check_finite(scores, "edge_scores")
    scores = np.sort(scores[scores >= lowest_kappa(n, p)])[::-1]
    if scores.size == 0:
        return np.inf
    last_of_tie = np.append(scores[1:] < scores[:-1], True)
    found = np.flatnonzero(last_of_tie) + 1.0
    level = scores[last_of_tie]
    return _best_level(level, found, _false_edges(level, n, p, family, rule), n)


def _best_level(level: np.ndarray, found: np.ndarray, false: np.ndarray, n: int) -> float:
    pessimistic = false + np.sqrt(np.log(n) * np.minimum(false, 1.0))
    admissible = (
        (false <= _FALSE_SHARE * found)
        & (pessimistic < found)
        & (stats.poisson.sf(found - 1, false) <= _LEVEL)
    )
    if not admissible.any():
        return np.inf
    true = np.where(admissible, found - pessimistic, 0.0)
    f1 = np.where(admissible, 2 * true / (found + true.max()), -1.0)
    return float(level[len(f1) - 1 - np.argmax(f1[::-1])])


def lowest_kappa(n_samples: int, n_nodes: int) -> float:
    """Level below which the choice does not look."""
    return float(max(np.log(n_samples), 2 * np.log(n_nodes)))
