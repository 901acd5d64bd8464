"""Logical rules: conjunctions of clauses (CNF) and disjunctions of terms (DNF)."""

import itertools
import numbers
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_count
from skfrontier.algos.statistics.truncated_boolean.corner_draws import draw_corner
from skfrontier.algos.statistics.truncated_boolean.rows import dense_chunks
from skfrontier.algos.statistics.truncated_boolean.sets.base import (
    TruncationSet,
    distinct_pairs,
    zero_counts,
)


class Groups(NamedTuple):
    """Groups of literals in flat arrays: group g holds entries starts[g]..starts[g + 1]."""

    starts: np.ndarray  # (n_groups + 1,) int64
    variables: np.ndarray  # (n_literals,) int64
    signs: np.ndarray  # (n_literals,) uint8, the bit that makes the literal true
    group_starts: np.ndarray  # (n_features + 1,) int64: groups of variable i are
    groups: np.ndarray  # groups[group_starts[i]..group_starts[i + 1]]
    group_signs: np.ndarray  # and there the bit of i that makes its literal true


class _Formula(TruncationSet):
    """What clauses and terms share: reading, and pairs that occur together."""

    _group_name: str
    _groups: Groups

    def __init__(self, literals: Any, n_features: int | None):
        if isinstance(literals, str) or not isinstance(literals, Iterable):
            raise TypeError(
                f"{self._group_name}s must be a list of lists of integers, got {literals!r}."
            )
        groups = [_literals(group, self._group_name) for group in literals]
        # x or not x is always true, x and not x never: such a group says nothing.
        groups = [group for group in groups if not any(-v in group for v in group)]
        largest = max((abs(v) for group in groups for v in group), default=1)
        self.n_features = largest if n_features is None else check_count(n_features, "n_features")
        if largest > self.n_features:
            raise ValueError(f"literal {largest} is out of range: n_features is {self.n_features}.")
        self._groups = _flat(groups, self.n_features)
        self.n_groups = len(groups)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_groups} {self._group_name}s, {self.n_features} features)"

    def _suggested_pairs(
        self, n_features: int, degree: int, rng: np.random.Generator
    ) -> np.ndarray:
        starts, variables = self._groups.starts, self._groups.variables
        members = [variables[a:b] for a, b in itertools.pairwise(starts)]
        limit = 2 * n_features * degree
        found: list[np.ndarray] = [np.zeros((0, 2), np.int64)]
        for group in members:
            if len(group) > 64:  # a long group would fill the limit alone
                group = rng.choice(group, 64, replace=False)
            first, second = np.triu_indices(len(group), 1)
            found.append(np.stack([group[first], group[second]], axis=1))
        pairs = distinct_pairs(np.concatenate(found))
        if len(pairs) > limit:
            pairs = pairs[rng.choice(len(pairs), limit, replace=False)]
        return pairs


class CNF(_Formula):
    """Rows that satisfy every clause.

    Parameters
    ----------
    clauses : list of lists of int
        Literals as in DIMACS files: +3 says that the third coordinate (index 2) is one, -3 that it is
        zero. Clauses that are always true are dropped.
    n_features : int, optional
        Number of coordinates; None: the largest one named.

    Raises
    ------
    ValueError
        If a clause is empty, or a literal is zero or out of range.

    Notes
    -----
    Whether the formula can be satisfied is not checked. Counting flips reads the literals once for every
    row. ``candidate_pairs`` holds the pairs that share a clause: others only repeat flips.

    Examples
    --------
    >>> from skfrontier.algos import CNF
    >>> rule = CNF([[1, 2], [-2, 3]])
    >>> rule.contains([[1, 0, 0], [0, 0, 1]])
    array([ True, False])
    >>> rule.flips([[1, 0, 0]])
    array([[False, False,  True]])
    """

    _group_name = "clause"

    def __init__(self, clauses: Any, n_features: int | None = None):
        super().__init__(clauses, n_features)

    def _contains(self, X: np.ndarray) -> np.ndarray:
        return _satisfies(X, *self._groups[:3])

    def _flips(self, X: np.ndarray) -> np.ndarray:
        flags = np.ones(X.shape, np.bool_)
        _close_critical(X, *self._groups[:3], flags)
        return flags

    def _interacting_pairs(
        self, n_features: int, degree: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Two variables that share no clause can each flip or not whatever the other does."""
        return self._suggested_pairs(n_features, degree, rng)

    def _fibre_masks(self, X: np.ndarray, subsets: np.ndarray) -> np.ndarray:
        return _clause_masks(X, subsets, *self._groups[:5])

    def _redraw(
        self,
        X: np.ndarray,
        subsets: np.ndarray,
        weights: np.ndarray,
        order: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        uniforms = rng.random((len(X), len(order)))
        if subsets.shape[1] == 1:
            p = weights[:, 1] / weights.sum(axis=1)
            _redraw_bits(X, subsets[order, 0], p[order], uniforms, *self._groups)
        else:
            _redraw_subsets(X, subsets, weights, order, uniforms, *self._groups)

    def _flip_counts(self, X: Any, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """All rows, minus those in which the coordinate alone makes some clause true."""
        if weights is not None:
            return super()._flip_counts(X, weights)
        m1, m0 = zero_counts(X.shape[1], None)
        for _, chunk in dense_chunks(X):
            _count_clauses(chunk, *self._groups[:3], m1, m0)
        return m1, m0


class DNF(_Formula):
    """Rows that satisfy at least one term, each a conjunction of literals.

    Parameters
    ----------
    terms : list of lists of int
        Literals as in `CNF`. Terms that contradict themselves are dropped.
    n_features : int, optional
        Number of coordinates; None: the largest one named.

    Raises
    ------
    ValueError
        If a term is empty, a literal is zero or out of range, or no term can be true.

    Examples
    --------
    >>> from skfrontier.algos import DNF
    >>> rule = DNF([[1, 2], [-1, 3]])
    >>> rule.contains([[1, 1, 0], [1, 0, 1]])
    array([ True, False])
    >>> rule.flips([[1, 1, 1]])
    array([[ True, False,  True]])
    """

    _group_name = "term"

    def __init__(self, terms: Any, n_features: int | None = None):
        super().__init__(terms, n_features)
        if not self.n_groups:
            raise ValueError("terms must hold one term that does not contradict itself.")

    def _contains(self, X: np.ndarray) -> np.ndarray:
        return _has_true_term(X, *self._groups[:3])

    def _flips(self, X: np.ndarray) -> np.ndarray:
        return _term_flips(X, *self._groups[:3])

    def _fibre_masks(self, X: np.ndarray, subsets: np.ndarray) -> np.ndarray:
        return _term_masks(X, subsets, *self._groups[:5])


def _literals(group: Any, name: str) -> list[int]:
    if isinstance(group, str) or not isinstance(group, Iterable):
        raise TypeError(
            f"a {name} must be a list of integers, as in [[1, -2], [3]], got {group!r}."
        )
    literals = list(group)
    if not literals:
        raise ValueError(f"a {name} must not be empty.")
    for v in literals:
        if isinstance(v, bool | np.bool_) or not isinstance(v, numbers.Integral) or v == 0:
            raise ValueError(f"literals must be integers other than zero, got {v!r}.")
    return sorted({int(v) for v in literals})


def _flat(groups: list[list[int]], n_features: int) -> Groups:
    lengths = np.array([len(group) for group in groups], dtype=np.int64)
    flat = np.array([v for group in groups for v in group], dtype=np.int64)
    variables = np.abs(flat) - 1
    order = np.argsort(variables, kind="stable")
    owner = np.repeat(np.arange(len(groups), dtype=np.int64), lengths)
    return Groups(
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        variables=variables,
        signs=(flat > 0).astype(np.uint8),
        group_starts=np.searchsorted(variables[order], np.arange(n_features + 1)).astype(np.int64),
        groups=owner[order],
        group_signs=(flat > 0).astype(np.uint8)[order],
    )


@njit
def _satisfies(X, starts, variables, signs):
    inside = np.ones(X.shape[0], np.bool_)
    for t in range(X.shape[0]):
        for g in range(starts.shape[0] - 1):
            true = False
            for a in range(starts[g], starts[g + 1]):
                if X[t, variables[a]] == signs[a]:
                    true = True
                    break
            if not true:
                inside[t] = False
                break
    return inside


@inner
def _critical(x, g, starts, variables, signs):
    """The only variable that makes the clause true, or -1."""
    only = -1
    for a in range(starts[g], starts[g + 1]):
        if x[variables[a]] == signs[a]:
            if only >= 0:
                return -1
            only = variables[a]
    return only


@njit
def _close_critical(X, starts, variables, signs, flags):
    for t in range(X.shape[0]):
        for g in range(starts.shape[0] - 1):
            only = _critical(X[t], g, starts, variables, signs)
            if only >= 0:
                flags[t, only] = False


@njit
def _count_clauses(X, starts, variables, signs, m1, m0):
    n = X.shape[1]
    closed_in = np.full(n, -1, np.int64)  # last row that closed the coordinate
    for t in range(X.shape[0]):
        for i in range(n):
            m1[i] += X[t, i]
            m0[i] += 1 - X[t, i]
        for g in range(starts.shape[0] - 1):
            only = _critical(X[t], g, starts, variables, signs)
            if only >= 0 and closed_in[only] != t:
                closed_in[only] = t
                m1[only] -= X[t, only]
                m0[only] -= 1 - X[t, only]


@inner
def _corners_of_group(x, g, T, starts, variables, signs):
    """How the group depends on the coordinates T: (value outside, literals inside by coordinate).

    Returns the number of literals outside T that are true and false, and two masks over the positions in
    T: where the group has a literal, and the bit that makes it true.
    """
    true_outside = 0
    false_outside = 0
    named = 0
    wanted = np.int64(0)
    for a in range(starts[g], starts[g + 1]):
        position = -1
        for b in range(T.shape[0]):
            if T[b] == variables[a]:
                position = b
        if position < 0:
            if x[variables[a]] == signs[a]:
                true_outside += 1
            else:
                false_outside += 1
        else:
            named |= 1 << position
            wanted |= np.int64(signs[a]) << position
    return true_outside, false_outside, named, wanted


@inner
def _corners_kept(mask, x, g, T, n_corners, starts, variables, signs):
    """The corners of the mask at which the clause is true."""
    outside, _, named, wanted = _corners_of_group(x, g, T, starts, variables, signs)
    if outside == 0:
        for c in range(n_corners):
            if (c ^ wanted) & named == named:  # every literal inside is false
                mask &= ~(1 << c)
    return mask


@inner
def _count_true(x, starts, variables, signs, true):
    for g in range(true.shape[0]):
        count = 0
        for a in range(starts[g], starts[g + 1]):
            count += x[variables[a]] == signs[a]
        true[g] = count


@njit
def _redraw_bits(X, bits, p, uniforms, starts, variables, signs, group_starts, groups, group_signs):
    """Redraw bit after bit; the number of true literals of every clause goes along.

    A bit stays if its literal is the only true one of some clause.
    """
    true = np.empty(starts.shape[0] - 1, np.int32)
    for t in range(X.shape[0]):
        _count_true(X[t], starts, variables, signs, true)
        for k in range(bits.shape[0]):
            i = bits[k]
            old = X[t, i]
            new = np.uint8(uniforms[t, k] < p[k])
            if new == old:
                continue
            free = True
            for a in range(group_starts[i], group_starts[i + 1]):
                free &= (true[groups[a]] > 1) | (group_signs[a] != old)
            if free:
                X[t, i] = new
                for a in range(group_starts[i], group_starts[i + 1]):
                    true[groups[a]] += 1 if group_signs[a] == new else -1


@njit
def _redraw_subsets(
    X,
    subsets,
    weights,
    order,
    uniforms,
    starts,
    variables,
    signs,
    group_starts,
    groups,
    group_signs,
):
    """Redraw subset after subset, as `_redraw_bits`, among the corners that its clauses allow."""
    n_corners, size = weights.shape[1], subsets.shape[1]
    true = np.empty(starts.shape[0] - 1, np.int32)
    for t in range(X.shape[0]):
        x = X[t]
        _count_true(x, starts, variables, signs, true)
        for k in range(order.shape[0]):
            e = order[k]
            T = subsets[e]
            mask = (1 << n_corners) - 1
            for b in range(size):
                for a in range(group_starts[T[b]], group_starts[T[b] + 1]):
                    if true[groups[a]] <= size:  # else a literal outside of the subset is true
                        mask = _corners_kept(
                            mask, x, groups[a], T, n_corners, starts, variables, signs
                        )
            corner = draw_corner(mask, weights[e], uniforms[t, k])
            for b in range(size):
                bit = (corner >> b) & 1
                if corner >= 0 and x[T[b]] != bit:
                    x[T[b]] = bit
                    for a in range(group_starts[T[b]], group_starts[T[b] + 1]):
                        true[groups[a]] += 1 if group_signs[a] == bit else -1


@njit
def _clause_masks(X, subsets, starts, variables, signs, group_starts, groups):
    """Only clauses with a variable in the subset can break; the row satisfies the others."""
    n_corners = 1 << subsets.shape[1]
    masks = np.empty((X.shape[0], subsets.shape[0]), np.uint16)
    for t in range(X.shape[0]):
        for e in range(subsets.shape[0]):
            mask = (1 << n_corners) - 1
            T = subsets[e]
            for b in range(T.shape[0]):
                for k in range(group_starts[T[b]], group_starts[T[b] + 1]):
                    mask = _corners_kept(
                        mask, X[t], groups[k], T, n_corners, starts, variables, signs
                    )
            masks[t, e] = mask
    return masks


@inner
def _false_literals(x, g, starts, variables, signs):
    """Number of false literals of the term, at most 2, and the last variable among them."""
    count = 0
    last = -1
    for a in range(starts[g], starts[g + 1]):
        if x[variables[a]] != signs[a]:
            count += 1
            last = variables[a]
            if count == 2:
                break
    return count, last


@njit
def _has_true_term(X, starts, variables, signs):
    inside = np.zeros(X.shape[0], np.bool_)
    for t in range(X.shape[0]):
        for g in range(starts.shape[0] - 1):
            if _false_literals(X[t], g, starts, variables, signs)[0] == 0:
                inside[t] = True
                break
    return inside


@njit
def _term_flips(X, starts, variables, signs):
    """A bit can flip if a true term does not need it, or a term is false in it alone."""
    n = X.shape[1]
    flags = np.zeros((X.shape[0], n), np.bool_)
    needed = np.empty(n, np.int64)
    for t in range(X.shape[0]):
        n_true = 0
        for i in range(n):
            needed[i] = 0
        for g in range(starts.shape[0] - 1):
            count, last = _false_literals(X[t], g, starts, variables, signs)
            if count == 0:
                n_true += 1
                for a in range(starts[g], starts[g + 1]):
                    needed[variables[a]] += 1
            elif count == 1:
                flags[t, last] = True
        for i in range(n):
            if needed[i] < n_true:
                flags[t, i] = True
    return flags


@njit
def _term_masks(X, subsets, starts, variables, signs, group_starts, groups):
    n_corners = 1 << subsets.shape[1]
    masks = np.empty((X.shape[0], subsets.shape[0]), np.uint16)
    true = np.empty(starts.shape[0], np.bool_)
    for t in range(X.shape[0]):
        n_true = 0
        for g in range(starts.shape[0] - 1):
            true[g] = _false_literals(X[t], g, starts, variables, signs)[0] == 0
            n_true += true[g]
        for e in range(subsets.shape[0]):
            mask = 0
            touching = 0  # true terms with a variable in the subset
            T = subsets[e]
            for b in range(T.shape[0]):
                for k in range(group_starts[T[b]], group_starts[T[b] + 1]):
                    g = groups[k]
                    _, outside, named, wanted = _corners_of_group(
                        X[t], g, T, starts, variables, signs
                    )
                    if true[g] and named & ((1 << b) - 1) == 0:  # met for the first time
                        touching += 1
                    if outside == 0:
                        for c in range(n_corners):
                            if (c ^ wanted) & named == 0:
                                mask |= 1 << c
            if touching < n_true:
                mask = (1 << n_corners) - 1
            masks[t, e] = mask
    return masks
