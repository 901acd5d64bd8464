"""Which rows belong together: the correction is computed for one group of rows at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_count


@dataclass(frozen=True)
class RowGroups:
    """Rows of one array, group by group.

    Attributes
    ----------
    bounds : ndarray of shape (n_groups + 1,)
        Group g takes positions ``bounds[g]:bounds[g + 1]``.
    order : ndarray of shape (n_rows,) or None
        The row at each position; None where the rows lie in groups already.
    """

    bounds: np.ndarray
    order: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def rows(self) -> Iterator[Any]:
        """What selects the rows of each group: a slice where they lie together, indices otherwise."""
        for start, stop in zip(self.bounds[:-1], self.bounds[1:], strict=True):
            yield slice(start, stop) if self.order is None else self.order[start:stop]


def row_groups(n_rows: int, group_size: Any = None, groups: Any = None) -> RowGroups:
    """Groups by label, by a number of consecutive rows (the last may be shorter), or all rows as one.

    Raises
    ------
    ValueError
        If ``groups`` does not hold one label a row.
    """
    if groups is not None:
        return _groups_of_labels(n_rows, groups)
    if group_size is None:
        return RowGroups(np.array([0, n_rows]))
    size = check_count(group_size, "group_size")
    return RowGroups(np.append(np.arange(0, n_rows, size), n_rows))


def _groups_of_labels(n_rows: int, groups: Any) -> RowGroups:
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"groups must hold one label for each of the {n_rows} rows, got shape {labels.shape}."
        )
    _, codes = np.unique(labels, return_inverse=True)
    changes = np.flatnonzero(np.diff(codes)) + 1
    if len(changes) == codes.max(initial=0):  # every label is one run of rows
        return RowGroups(np.concatenate([[0], changes, [n_rows]]))
    order = np.argsort(codes, kind="stable")
    changes = np.flatnonzero(np.diff(codes[order])) + 1
    return RowGroups(np.concatenate([[0], changes, [n_rows]]), order)
