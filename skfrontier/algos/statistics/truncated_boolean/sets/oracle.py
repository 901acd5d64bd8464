"""A set known only through a function that says whether rows belong to it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_count
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet

_MAX_ENUMERATED = 16


class MembershipOracle(TruncationSet):
    """The rows for which a function returns True.

    Parameters
    ----------
    func : callable
        Takes uint8 rows (N, n_features) and returns N booleans. What it raises is passed on.
    batch_size : int, default=65536
        Most rows per call.

    Raises
    ------
    TypeError
        If ``func`` is not callable, or returns something else than booleans.
    ValueError
        If it returns another number of them.

    Notes
    -----
    Counting flips asks about N * n_features changed rows; the estimator limits them
    (``max_oracle_calls``).

    Examples
    --------
    >>> from skfrontier.algos import MembershipOracle
    >>> at_most_one = MembershipOracle(lambda X: X.sum(axis=1) <= 1)
    >>> at_most_one.flips([[0, 1, 0]])
    array([[False,  True, False]])
    """

    def __init__(self, func: Callable[[np.ndarray], Any], *, batch_size: int = 65536):
        if not callable(func):
            raise TypeError(f"func must be callable, got {func!r}.")
        self.func = func
        self.batch_size = check_count(batch_size, "batch_size")

    def __repr__(self) -> str:
        return f"MembershipOracle({getattr(self.func, '__name__', self.func)!s})"

    def is_exact(self, n_features: int) -> bool:
        """For up to 16 features: more rows than one batch may be costly to ask about."""
        return n_features <= _MAX_ENUMERATED

    def null_space(self, n_features: int) -> None:
        """Not known without asking about every row."""
        return None

    def _contains(self, X: np.ndarray) -> np.ndarray:
        inside = np.empty(len(X), bool)
        for start in range(0, len(X), self.batch_size):
            part = X[start : start + self.batch_size]
            answer = np.asarray(self.func(part))
            if answer.shape != (len(part),):
                raise ValueError(
                    f"the membership function must return {len(part)} booleans for {len(part)} rows, "
                    f"got shape {answer.shape}."
                )
            if answer.dtype != np.bool_:
                raise TypeError(
                    f"the membership function must return booleans, got dtype {answer.dtype}."
                )
            inside[start : start + self.batch_size] = answer
        return inside
