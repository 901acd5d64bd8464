"""Dual prices from bidding on short lists, made feasible by c-transforms: a lower bound without a matrix."""

from dataclasses import dataclass

import numpy as np

from skfrontier.algos._numba import njit
from skfrontier.algos.geometry.matching.certificate import dual_value, transform
from skfrontier.algos.geometry.matching.costs import Cost, pair_cost
from skfrontier.algos.geometry.matching.exact import DualMatching

EPSILONS = (1.0, 0.3, 0.1, 0.1, 0.1, 0.05, 0.05)
_BIDS = 10  # a point and round
_SAMPLE = 400


@dataclass(frozen=True)
class AuctionRound:
    """Prices after a round, and what they prove.

    Attributes
    ----------
    bound : float
        Lower bound of the cost.
    u, v : float64 arrays
        Feasible potentials of bidders and objects.
    near : int64 array of shape (n_bidders, K + rounds)
        Lists, grown by the best object of each bidder.
    owned : int64 array of shape (n_bidders,)
        What each bidder holds at the end of the round; -1 for nothing.
    """

    bound: float
    u: np.ndarray
    v: np.ndarray
    near: np.ndarray
    owned: np.ndarray


def auction_rounds(
    cost: Cost,
    P: np.ndarray,
    Q: np.ndarray,
    v: np.ndarray,
    near: np.ndarray,
    epsilons: tuple[float, ...],
    scale: float,
    n_jobs: int | None = None,
):
    """Yield an `AuctionRound` for each of ``epsilons``, which are multiples of ``scale``.

    Columns of ``P`` bid for those of ``Q``, at least as many, on the lists ``near``; ``v`` are the prices to
    start from, with a minus.
    """
    n = P.shape[1]
    price = v.max() - v
    owned = np.full(n, -1, dtype=np.int64)
    for epsilon in epsilons:
        bid(*cost.args, P, Q, near, price, owned, epsilon * scale, _BIDS * n)
        u, best = transform(cost, P, Q, -price, n_jobs=n_jobs)
        v, _ = transform(cost.swapped, Q, P, u, n_jobs=n_jobs)
        near = np.column_stack([near, best])
        price = v.max() - v
        yield AuctionRound(dual_value(u, v), u, v, near, owned.copy())


@njit
def bid(code, q, power, matrix, P, Q, near, price, owned, epsilon, most):
    """Auction: who does not hold one of its best objects, within ``epsilon``, bids for the best one."""
    n = P.shape[1]
    owner = np.full(Q.shape[1], -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    length, head = 0, 0
    for a in range(n):
        happy = False
        if owned[a] >= 0:
            held = pair_cost(code, q, power, matrix, P, a, Q, owned[a]) + price[owned[a]]
            happy = True
            for k in range(near.shape[1]):
                b = near[a, k]
                if held > pair_cost(code, q, power, matrix, P, a, Q, b) + price[b] + epsilon:
                    happy = False
                    break
        if happy:
            owner[owned[a]] = a
        else:
            owned[a] = -1
            queue[length] = a
            length += 1
    n_bids = 0
    while length > 0 and n_bids < most:
        a = queue[head]
        head = (head + 1) % n
        length -= 1
        n_bids += 1
        least, second, best = np.inf, np.inf, -1
        for k in range(near.shape[1]):
            b = near[a, k]
            value = pair_cost(code, q, power, matrix, P, a, Q, b) + price[b]
            if b == best:
                continue
            if value < least:
                least, second, best = value, least, b
            elif value < second:
                second = value
        if second == np.inf:
            second = least
        price[best] += second - least + epsilon
        loser = owner[best]
        if loser >= 0:
            owned[loser] = -1
            queue[(head + length) % n] = loser
            length += 1
        owner[best], owned[a] = a, best


def starting_prices(
    cost: Cost, P: np.ndarray, Q: np.ndarray, rng: np.random.Generator, sample: bool = True
) -> list[np.ndarray]:
    """Potentials of the columns of ``Q`` worth trying: zero, along the shift of the means, of a sample."""
    starts = [np.zeros(Q.shape[1])]
    shift = P.mean(axis=1) - Q.mean(axis=1)
    length = np.linalg.norm(shift)
    if length > 0:
        starts.append(-(shift / length) @ Q)
    if sample and min(P.shape[1], Q.shape[1]) > _SAMPLE:
        p, q = (Z[:, rng.choice(Z.shape[1], _SAMPLE, replace=False)] for Z in (P, Q))
        u = sample_potentials(cost, p, q)
        starts.append(transform(cost.swapped, Q, np.ascontiguousarray(p), u)[0])
    return starts


def sample_potentials(cost: Cost, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Optimal potentials of the columns of ``p`` against as many of ``q``."""
    engine = DualMatching(cost, p.shape[0])
    engine.insert(0, p.T)
    engine.insert(1, q.T)
    engine.flush()
    return engine.potentials()[0]
