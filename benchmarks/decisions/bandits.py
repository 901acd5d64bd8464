"""Bandit policies beside MABWiser, river, contextualbandits and Vowpal Wabbit.

All play the same losses, one arm after the other. The peers have no loop of their own for this: their
``select`` and ``update`` (or what they call so) are driven by a Python loop, as a user would. This
library is measured both ways, by its compiled ``run`` and by the same Python loop. What a row costs is
therefore the cost of one decision with feedback, not of learning from batches.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.harness import Case, Contender
from skfrontier.algos import best_switching_loss
from skfrontier.datasets import make_bernoulli_bandit, make_switching_bandit
from skfrontier.estimators import (
    CorralBandit,
    FixedShareBandit,
    StaticDynamicBandit,
    TsallisINF,
)

RIVER = "river UCB, Python loop"
HEADLINE = ("Rounds with feedback", RIVER)
_N_ARMS = 10


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    T = 100_000 if quick else 1_000_000
    return [
        _rounds_case(T, noisy=False),
        _rounds_case(T, noisy=True),
        _loop_case(2_000 if quick else 5_000),
        _switching_case(T),
    ]


@lru_cache(maxsize=2)
def _losses(n_rounds: int, noisy: bool) -> np.ndarray:
    means = make_switching_bandit(n_rounds, _N_ARMS, 200, random_state=0)
    return make_bernoulli_bandit(means, random_state=0) if noisy else means


def _rounds_case(n_rounds: int, noisy: bool) -> Case:
    def build() -> list[Contender]:
        losses = _losses(n_rounds, noisy)

        def run(policy: Any, **options: Any) -> Contender:
            return Contender(
                policy.__class__.__name__, lambda: policy.reset().run(losses), **options
            )

        known = {"horizon": n_rounds, "random_state": 0}
        return [
            run(StaticDynamicBandit(_N_ARMS, **known)),
            run(FixedShareBandit(_N_ARMS, **known), bar=0.15 if noisy else 0.25),
            run(TsallisINF(_N_ARMS, random_state=0)),
            run(CorralBandit(_N_ARMS, **known)),
            _river(losses[:2_000], 2_000 / n_rounds, bar=100.0),
            _mabwiser(losses[:200], 200 / n_rounds, bar=2000.0),
        ]

    kind = "Bernoulli losses" if noisy else "exact losses"
    return Case("Rounds with feedback", f"T = {n_rounds}, A = {_N_ARMS}, {kind}", build)


def _loop_case(n_rounds: int) -> Case:
    def build() -> list[Contender]:
        losses = _losses(n_rounds, noisy=True)

        def loop() -> None:
            policy = StaticDynamicBandit(_N_ARMS, horizon=n_rounds, random_state=0)
            _drive(policy.select, policy.update, losses)

        return [
            Contender("StaticDynamicBandit, Python loop", loop),
            _river(losses, 1.0, bar=2.0),
            _mabwiser(losses[:200], 200 / n_rounds),
            _contextualbandits(losses[:200], 200 / n_rounds),
            _vowpal_wabbit(losses, 1.0),
        ]

    return Case("Select and update from Python", f"T = {n_rounds}, A = {_N_ARMS}", build)


def _switching_case(n_rounds: int) -> Case:
    def build() -> list[Contender]:
        losses = np.random.default_rng(0).random((n_rounds, _N_ARMS))
        return [
            Contender(f"S = {s}", lambda s=s: best_switching_loss(losses, s)) for s in (5, 20, 50)
        ]

    return Case("Best switching sequence", f"T = {n_rounds}, A = {_N_ARMS}", build)


def _drive(select: Callable, update: Callable, losses: np.ndarray) -> None:
    """The loop that a user writes around a policy."""
    for row in losses.tolist():
        arm = select()
        update(arm, row[arm])


def _river(losses: np.ndarray, share: float, bar: float | None = None) -> Contender:
    def run() -> None:
        from river import bandit

        policy = bandit.UCB(delta=1, seed=0)
        arms = list(range(losses.shape[1]))
        _drive(lambda: policy.pull(arms), lambda arm, loss: policy.update(arm, -loss), losses)

    return Contender(RIVER, run, requires="river", share=share, bar=bar)


def _mabwiser(losses: np.ndarray, share: float, bar: float | None = None) -> Contender:
    def run() -> None:
        from mabwiser.mab import MAB, LearningPolicy

        n_arms = losses.shape[1]
        policy = MAB(list(range(n_arms)), LearningPolicy.UCB1(alpha=1.0), seed=0)
        policy.fit(decisions=list(range(n_arms)), rewards=(1 - losses[0]).tolist())
        _drive(
            policy.predict,
            lambda arm, loss: policy.partial_fit(decisions=[arm], rewards=[1 - loss]),
            losses,
        )

    return Contender("MABWiser UCB1, Python loop", run, requires="mabwiser", share=share, bar=bar)


def _contextualbandits(losses: np.ndarray, share: float) -> Contender:
    def run() -> None:
        from contextualbandits.online import EpsilonGreedy
        from sklearn.linear_model import SGDClassifier

        context = np.ones((1, 1))
        policy = EpsilonGreedy(
            SGDClassifier(loss="log_loss", random_state=0),
            nchoices=losses.shape[1],
            batch_train=True,
            random_state=1,
            njobs=1,
        )

        def update(arm: int, loss: float) -> None:
            policy.partial_fit(context, np.array([arm]), np.array([float(loss < 0.5)]))

        _drive(lambda: int(policy.predict(context)[0]), update, losses)

    return Contender(
        "contextualbandits EpsilonGreedy, Python loop",
        run,
        requires="contextualbandits",
        share=share,
        note="a constant context; rewards 0/1",
    )


def _vowpal_wabbit(losses: np.ndarray, share: float) -> Contender:
    def run() -> None:
        from vowpalwabbit import Workspace

        n_arms = losses.shape[1]
        workspace = Workspace(f"--cb_explore {n_arms} --epsilon 0.05 --quiet")
        rng = np.random.default_rng(0)
        chance = [0.0]

        def select() -> int:
            law = np.array(workspace.predict("| x"))
            arm = int(rng.choice(n_arms, p=law / law.sum()))
            chance[0] = law[arm]
            return arm

        def update(arm: int, loss: float) -> None:
            workspace.learn(f"{arm + 1}:{loss}:{chance[0]} | x")

        _drive(select, update, losses)
        workspace.finish()

    return Contender(
        "Vowpal Wabbit --cb_explore, Python loop",
        run,
        requires="vowpalwabbit",
        share=share,
        note="a constant context; text examples",
    )
