"""The commit rules as tests of a growing set: codes, rounding, and the numba kernel that applies them.

Every rule takes the positions in the order of their deficits and commits them up to the first that fails
its test. They differ in the test alone.
"""

import numpy as np

from skfrontier.algos._numba import inner, njit

FRECHET, FACTOR, FACTOR_PUBLISHED, THRESHOLD, TOP_K = range(5)

# Sums of n deficits and the subtractions after them are off by less than this much for each of the n.
SLACK = 4 * 2.0**-53


@njit
def commit_prefixes(
    values,
    complement,
    mask,
    runner_up,
    has_runner_up,
    pad,
    runner_pad,
    rule,
    parameter,
    min_commit,
    max_commit,
):
    """Commit the longest prefix of each row whose every member passes the rule's test.

    ``values`` are deficits, or confidences with ``complement``; ``pad`` and ``runner_pad`` are added to
    deficits and runners-up wherever a bound is computed.

    Returns
    -------
    commit, n_commit, score, lower_bound, bad : ndarrays
        ``bad`` is the first masked entry (row, column) that is no probability, (-1, -1) if all are.
    """
    n_rows, length = values.shape
    commit = np.zeros((n_rows, length), np.bool_)
    n_commit = np.zeros(n_rows, np.int64)
    score = np.empty(n_rows)
    lower_bound = np.empty(n_rows)
    bad = np.full(2, -1, np.int64)
    keys = np.empty(length)
    positions = np.empty(length, np.int64)
    for row in range(n_rows):
        # Only positions that would pass alone can be in a set that passes.
        size = 0
        n_masked = 0
        for j in range(length):
            if not mask[row, j]:
                continue
            value = values[row, j]
            if not 0.0 <= value <= 1.0:
                bad[0] = row
                bad[1] = j
                return commit, n_commit, score, lower_bound, bad
            n_masked += 1
            deficit = 1.0 - value if complement else value
            confidence = value if complement else 1.0 - value
            total = deficit + pad
            largest = runner_up[row, j] + runner_pad if has_runner_up else total
            if _passes(rule, parameter, 1, confidence, total, largest):
                keys[size] = deficit
                positions[size] = j
                size += 1
        _heapify(keys, positions, size)

        n = 0
        total = 0.0
        largest = 0.0
        while size > 0 and n < max_commit:
            j = positions[0]
            new_total = total + (keys[0] + pad)
            bound = runner_up[row, j] + runner_pad if has_runner_up else keys[0] + pad
            new_largest = max(largest, bound)
            confidence = values[row, j] if complement else 1.0 - values[row, j]
            if not _passes(rule, parameter, n + 1, confidence, new_total, new_largest):
                break
            size = _pop(keys, positions, size)
            commit[row, j] = True
            total = new_total
            largest = new_largest
            n += 1

        wanted = min(min_commit, n_masked)
        if rule == FACTOR_PUBLISHED and n_masked > 0 and max(n, 1) >= n_masked - 1:
            wanted = n_masked  # the published code takes the last one along
        refilled = False
        while n < wanted:
            if size == 0 and not refilled:  # those that would not even pass alone come last
                refilled = True
                size = _collect_rest(row, values, complement, mask, commit, keys, positions)
                _heapify(keys, positions, size)
            j = positions[0]
            total += keys[0] + pad
            bound = runner_up[row, j] + runner_pad if has_runner_up else keys[0] + pad
            largest = max(largest, bound)
            size = _pop(keys, positions, size)
            commit[row, j] = True
            n += 1
        n_commit[row] = n
        lower_bound[row] = 1.0 - total
        score[row] = (1.0 - total) - largest
    return commit, n_commit, score, lower_bound, bad


@inner
def _collect_rest(row, values, complement, mask, commit, keys, positions):
    """Put the masked positions of the row that are not committed yet into the heap's arrays."""
    size = 0
    for j in range(values.shape[1]):
        if mask[row, j] and not commit[row, j]:
            keys[size] = 1.0 - values[row, j] if complement else values[row, j]
            positions[size] = j
            size += 1
    return size


@inner
def _passes(rule, parameter, n, confidence, total, largest):
    """Whether a set of ``n`` positions passes whose last member has this confidence.

    ``total`` is the sum of the padded deficits, ``largest`` the greatest padded alternative.
    """
    if rule == FRECHET:
        return (1.0 - total) - largest > parameter + SLACK * n
    if rule == FACTOR:
        return (n + 1) * largest + SLACK * n < parameter
    if rule == FACTOR_PUBLISHED:
        return confidence >= 1.0 - parameter / (n + 1)
    if rule == THRESHOLD:
        return confidence >= parameter
    return n <= parameter


# A binary heap over (deficit, position): most rows commit few of many, and sorting all would be waste.


@inner
def _heapify(keys, positions, size):
    for parent in range(size // 2 - 1, -1, -1):
        _sift_down(keys, positions, parent, size)


@inner
def _pop(keys, positions, size):
    size -= 1
    keys[0] = keys[size]
    positions[0] = positions[size]
    _sift_down(keys, positions, 0, size)
    return size


@inner
def _sift_down(keys, positions, parent, size):
    key = keys[parent]
    position = positions[parent]
    child = 2 * parent + 1
    while child < size:
        right = child + 1
        if right < size and _before(keys, positions, right, keys[child], positions[child]):
            child = right
        if not _before(keys, positions, child, key, position):
            break
        keys[parent] = keys[child]
        positions[parent] = positions[child]
        parent = child
        child = 2 * parent + 1
    if size > 0:
        keys[parent] = key
        positions[parent] = position


@inner
def _before(keys, positions, i, key, position):
    return keys[i] < key or (keys[i] == key and positions[i] < position)
