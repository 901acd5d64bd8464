"""Compare policies on known losses, and evaluate one on logged choices."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from skfrontier.algos._validation import (
    as_numbers,
    check_choice,
    check_count,
    check_finite,
    check_n_jobs,
)
from skfrontier.algos.decisions.bandits.loss_matrix import check_losses
from skfrontier.algos.decisions.bandits.random import generator_words, uniform
from skfrontier.algos.decisions.bandits.regret import dynamic_regret, static_regret


@dataclass(frozen=True)
class ReplayResult:
    """Estimated mean loss of a policy on logged data.

    Attributes
    ----------
    value : float
        Estimated loss per round (reward, if the log holds rewards); NaN if no event was usable.
    stderr : float
        Its standard error; NaN with fewer than two events.
    n_used : int
        Events that entered the estimate.
    """

    value: float
    stderr: float
    n_used: int


def run_many(
    policies: dict[str, Any],
    losses: Any,
    *,
    n_repeats: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> dict[str, dict[str, np.ndarray]]:
    """Play several policies several times on the same losses and return their regrets.

    Parameters
    ----------
    policies : dict of name -> policy
        Unfitted copies with seeds of their own are played; the policies given stay as they are.
    losses : array-like of shape (T, n_arms)
        Loss of every arm in every round (rewards for policies with ``maximize``).
    n_repeats : int, default=10
        Runs of each policy.
    random_state : int, numpy Generator, RandomState or None, default=None
        Seed; the result does not depend on ``n_jobs``.
    n_jobs : int or None, default=None
        Joblib workers, threads unless another backend is configured.

    Returns
    -------
    dict of name -> dict
        ``static`` and ``dynamic`` regrets, arrays of shape (n_repeats,).

    Raises
    ------
    ValueError, TypeError
        If ``policies``, ``losses``, ``n_repeats`` or ``n_jobs`` is not accepted.

    Examples
    --------
    >>> from skfrontier.algos import run_many
    >>> from skfrontier.datasets import make_switching_bandit
    >>> from skfrontier.estimators import TsallisINF, UCB1
    >>> losses = make_switching_bandit(2000, 3, n_segments=4, random_state=0)
    >>> regrets = run_many({"tsallis": TsallisINF(3), "ucb": UCB1(3)}, losses, random_state=0)
    >>> regrets["ucb"]["dynamic"].shape
    (10,)
    """
    if not isinstance(policies, Mapping):
        raise TypeError(f"policies must be a dict of name -> policy, got {policies!r}.")
    for name, policy in policies.items():
        _check_policy(policy, f"policies[{name!r}]")
    check_n_jobs(n_jobs)
    losses = check_losses(losses)
    n_repeats = check_count(n_repeats, "n_repeats")
    seeds = np.random.SeedSequence(_entropy(random_state)).spawn(len(policies) * n_repeats)
    jobs = [
        delayed(_play_once)(policy, losses, seeds[p * n_repeats + repeat])
        for p, policy in enumerate(policies.values())
        for repeat in range(n_repeats)
    ]
    regrets = np.array(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))
    regrets = regrets.reshape(len(policies), n_repeats, 2)
    return {
        name: {"static": regrets[p, :, 0], "dynamic": regrets[p, :, 1]}
        for p, name in enumerate(policies)
    }


def _check_policy(policy: Any, name: str) -> None:
    """Raise unless ``policy`` is an object, not a class, with the methods of a policy."""
    methods = ("select", "update", "run", "get_params", "set_params", "get_state")
    if isinstance(policy, type) or not all(hasattr(policy, method) for method in methods):
        raise TypeError(f"{name} must be a bandit policy, got {policy!r}.")


def _play_once(
    policy: Any, losses: np.ndarray, seed: np.random.SeedSequence
) -> tuple[float, float]:
    copy = _unused_copy(policy, int(seed.generate_state(1)[0]))
    result = copy.run(losses)
    return float(static_regret(result, losses)), float(dynamic_regret(result, losses))


def _unused_copy(policy: Any, seed: int) -> Any:
    copy = type(policy)(**policy.get_params())
    return copy.set_params(random_state=seed)


def _entropy(random_state: Any) -> Any:
    """Return what SeedSequence takes: an integer, or None for fresh entropy."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**32, dtype=np.uint64))
    return None if random_state is None else check_count(random_state, "random_state", minimum=0)


def replay_evaluate(
    policy: Any,
    arms: Any,
    losses: Any,
    *,
    propensities: Any = None,
    method: str = "rejection",
    random_state: Any = None,
) -> ReplayResult:
    """Estimate the loss per round that a policy would have had on logged choices.

    Parameters
    ----------
    policy : policy
        An unfitted copy with a seed from ``random_state`` is used for "rejection". "ips" and
        "snips" evaluate the law of the policy as it stands, frozen.
    arms : array-like of shape (T,)
        Logged arms.
    losses : array-like of shape (T,)
        Their losses (rewards if the policy maximizes).
    propensities : array-like of shape (T,) or None, default=None
        Probability with which the log chose its arm. None: uniform logging.
    method : {"rejection", "ips", "snips"}, default="rejection"
        "rejection" walks through the log and keeps an event if the policy selects the logged arm
        (and a coin of probability min(propensities) / propensity agrees); the policy learns from
        the kept events. "ips" weights every loss by law[arm] / propensity, "snips" divides by the
        sum of weights.
    random_state : int, numpy Generator, RandomState or None, default=None
        Seed of the copy and of the acceptance coins, which have a generator of their own.

    Returns
    -------
    ReplayResult
        Estimate, standard error and number of events used.

    Raises
    ------
    ValueError
        If arms, losses or propensities differ in length or are out of range; losses must lie in
        the policy's ``loss_range``, those of unused events too.

    Notes
    -----
    "ips" is unbiased for logs whose arms depend on the past only through the propensities; "snips"
    has a bias of order 1/T. "rejection" is unbiased for independent identically distributed events
    if a fixed number of kept events is taken from an unlimited log (proven, Li et al. 2011 for
    uniform logging). A log that ends makes the number of kept events depend on the policy; that
    the bias is small then is observed, not proven. The standard error takes the losses for
    independent and identically distributed, which those of a policy that learns are not.

    References
    ----------
    L. Li, W. Chu, J. Langford, X. Wang, "Unbiased offline evaluation of contextual-bandit-based
    news article recommendation algorithms", 2011, arXiv:1003.5956.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import replay_evaluate
    >>> from skfrontier.estimators import UCB1
    >>> rng = np.random.default_rng(0)
    >>> arms = rng.integers(2, size=4000)
    >>> clicks = rng.random(4000) < np.where(arms == 1, 0.6, 0.2)
    >>> result = replay_evaluate(UCB1(2, maximize=True), arms, clicks, random_state=0)
    >>> 0.5 < result.value < 0.6
    True
    """
    method = check_choice(method, "method", ("rejection", "ips", "snips"))
    _check_policy(policy, "policy")
    if method == "rejection":
        policy_seed, coin_seed = np.random.SeedSequence(_entropy(random_state)).generate_state(2)
        policy = _unused_copy(policy, int(policy_seed))
    in_use = policy.get_state()["params"]  # set_params may have announced others since
    arms, losses, propensities = _check_log(
        arms, losses, propensities, in_use["n_arms"], in_use["loss_range"]
    )
    if method == "rejection":
        return _replay_by_rejection(policy, arms, losses, propensities, int(coin_seed))
    law = policy.probabilities()
    weights = law[arms] / propensities
    return _weighted_value(weights, losses, normalise=method == "snips")


def _replay_by_rejection(
    policy: Any,
    arms: np.ndarray,
    losses: np.ndarray,
    propensities: np.ndarray,
    coin_seed: int,
) -> ReplayResult:
    coins = generator_words(coin_seed)
    least = propensities.min() if len(propensities) else 1.0
    kept = []
    for arm, loss, propensity in zip(arms.tolist(), losses.tolist(), propensities, strict=True):
        if policy.select() != arm:
            continue
        if propensity > least and uniform(coins) >= least / propensity:
            continue
        policy.update(arm, loss)
        kept.append(loss)
    return _mean_and_error(np.array(kept))


def _weighted_value(weights: np.ndarray, losses: np.ndarray, normalise: bool) -> ReplayResult:
    n_used = int(np.count_nonzero(weights))
    if n_used == 0:
        return ReplayResult(math.nan, math.nan, 0)
    if not normalise:
        estimate = _mean_and_error(weights * losses)
        return ReplayResult(estimate.value, estimate.stderr, n_used)
    value = float(weights @ losses / weights.sum())
    if n_used < 2:
        return ReplayResult(value, math.nan, n_used)
    stderr = float(np.sqrt(np.sum((weights * (losses - value)) ** 2)) / weights.sum())
    return ReplayResult(value, stderr, n_used)


def _mean_and_error(values: np.ndarray) -> ReplayResult:
    n = len(values)
    value = float(values.mean()) if n else math.nan
    stderr = float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return ReplayResult(value, stderr, n)


def _check_log(
    arms: Any, losses: Any, propensities: Any, n_arms: int, loss_range: list[float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    arms = as_numbers(arms, "arms")
    losses = _as_floats(losses, "losses")
    if propensities is None:
        propensities = np.full(arms.shape, 1.0 / n_arms)
    propensities = _as_floats(propensities, "propensities")
    if not arms.shape == losses.shape == propensities.shape == (arms.size,):
        raise ValueError(
            "arms, losses and propensities must be 1-D of the same length, got shapes "
            f"{arms.shape}, {losses.shape} and {propensities.shape}."
        )
    if len(arms) == 0:
        return arms.astype(np.intp), losses, propensities
    if arms.dtype.kind not in "iu" or not 0 <= arms.min() <= arms.max() < n_arms:
        raise ValueError(f"arms must be integers in 0..{n_arms - 1}.")
    check_finite(losses, "losses")
    low, high = loss_range
    if not low <= losses.min() <= losses.max() <= high:
        raise ValueError(
            f"losses must lie in the policy's loss_range [{low:g}, {high:g}], got "
            f"{losses.min()}..{losses.max()}."
        )
    if not (propensities.min() > 0.0 and propensities.max() <= 1.0):
        raise ValueError("propensities must lie in (0, 1].")
    return arms.astype(np.intp), losses, propensities


def _as_floats(values: Any, name: str) -> np.ndarray:
    array = as_numbers(values, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    return array.astype(np.float64)
