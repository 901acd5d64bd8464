"""Multiply-adds of the approximated product, and the largest ranks that a budget allows."""

import math

from skfrontier.algos._validation import check_count


def matmul_cost(
    n: int, a: int, b: int, rank: int, dynamic_rank: int = 0, *, n_probes: int = 0
) -> int:
    """Multiply-adds of one group of rows, from the shapes alone; the dense product takes ``n * a * b``.

    Parameters
    ----------
    n : int
        Number of rows (tokens) of the group.
    a, b : int
        Number of inputs and outputs of the layer.
    rank : int
        Rank of the static part.
    dynamic_rank : int, default=0
        Rank of the correction.
    n_probes : int, default=0
        Number of probes of the error estimate.

    Returns
    -------
    int
        ``n k (a + b)`` for the static part, ``2 n a l + 2 n l^2 + n l b + l a b`` for the correction and
        ``n p (a + 2 l)`` for the probes.

    Examples
    --------
    >>> from skfrontier.algos import matmul_cost
    >>> matmul_cost(196, 512, 512, 28, 4) / (196 * 512 * 512)
    0.1533...
    """
    n, a, b = check_count(n, "n", 0), check_count(a, "a"), check_count(b, "b")
    k, l = check_count(rank, "rank", 0), check_count(dynamic_rank, "dynamic_rank", 0)  # noqa: E741
    p = check_count(n_probes, "n_probes", 0)
    return int(multiply_adds(n, a, b, k, l)) + n * p * (a + 2 * l)


def multiply_adds(n: float, a: int, b: int, k: int, l: int) -> float:  # noqa: E741
    """Cost of a group of ``n`` rows; with the mean size of groups, their mean cost (it is affine in n)."""
    return n * k * (a + b) + n * l * (2 * a + 2 * l + b) + l * a * b


def largest_static_rank(a: int, b: int, budget: float) -> int:
    """Largest rank without a correction within ``budget`` times the dense cost."""
    return min(math.floor(budget * a * b / (a + b) * (1 + 1e-12)), a, b)


def largest_static_rank_beside(n: float, a: int, b: int, l: int, budget: float) -> int:  # noqa: E741
    """Largest static rank affordable beside a correction of rank ``l``, negative if that is too much."""
    left = budget * n * a * b - multiply_adds(n, a, b, 0, l)
    return min(math.floor(left / (n * (a + b)) * (1 + 1e-12)), a, b)


def largest_dynamic_rank(n: float, a: int, b: int, k: int, budget: float) -> int:
    """Largest rank of a correction affordable beside a static part of rank ``k`` (at least 0)."""
    left = budget * n * a * b - n * k * (a + b)
    if left <= 0:
        return 0
    linear = n * (2 * a + b) + a * b  # 2 n l^2 + linear l <= left
    root = (math.sqrt(linear**2 + 8 * n * left) - linear) / (4 * n)
    return max(min(math.floor(root * (1 + 1e-12)), math.ceil(n) - 1, a, b), 0)


def smallest_budget(a: int, b: int) -> float:
    """Budget of a static part of rank one."""
    return (a + b) / (a * b)
