"""Softmax regression beside scikit-learn's solvers, and the torch optimizer beside Adam, SGD and Shampoo.

Errors of fits are objectives above the best that any contender of the case reached. Errors of the
torch cases are losses on the training data after the same wall time for everyone.
"""

import importlib.util
import itertools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import Case, Contender
from skfrontier.algos import fit_softmax
from skfrontier.datasets import load_module_lines, make_many_classes

LBFGS = "sklearn LogisticRegression, lbfgs"
NEWTON_CG = "sklearn LogisticRegression, newton-cg"
HEADLINE = ("Few rows, many classes, C = 0.01", LBFGS)

Data = Callable[[], tuple[Any, np.ndarray]]


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    n, d, c = (300, 150, 60) if quick else (1000, 512, 200)
    size = f"{n} rows, {d} features, {c} classes"
    rows = 1 if quick else 5
    return [
        _fit_case(
            "Few rows, many classes, C = 1",
            size,
            _clusters(n, d, c),
            1.0,
            None if quick else 1 / 0.6,
        ),
        _fit_case(HEADLINE[0], size, _clusters(n, d, c), 0.01, None if quick else 1 / 0.35),
        _fit_case(
            "A thousand classes",
            "150 rows, 80 features, 50 classes"
            if quick
            else "1500 rows, 768 features, 1000 classes",
            _clusters(150, 80, 50) if quick else _clusters(1500, 768, 1000),
            1.0,
            None if quick else 1 / 0.75,
            long=not quick,
        ),
        *(
            _fit_case(
                f"Which module? Hashed n-grams, C = {C:g}",
                f"{120 * rows} rows, 2048 features, 120 classes",
                lambda: load_module_lines(120, rows)[:2],
                C,
            )
            for C in (1.0, 100.0)
        ),
        *(_choice_case(name, data) for name, data in _choices(quick)),
        *(_training_case(name, quick) for name in ("digits, three layers", "wide head")),
    ]


def _clusters(n: int, d: int, c: int) -> Data:
    return lambda: make_many_classes(n, d, c, sep=0.3, random_state=0)


def _digits(n: int) -> Data:
    def load() -> tuple[np.ndarray, np.ndarray]:
        X, y = load_digits(return_X_y=True)
        return StandardScaler().fit_transform(X)[:n], y[:n]

    return load


def _choices(quick: bool) -> list[tuple[str, Data]]:
    """Data on both sides of the choice of 'auto'."""
    if quick:
        return [("digits, 300 rows", _digits(300))]
    return [
        ("digits, 1000 rows", _digits(1000)),
        ("6000 x 64, 300 classes", _clusters(6000, 64, 300)),
        ("1000 x 512, 200 classes", _clusters(1000, 512, 200)),
        ("500 x 2048, 150 classes", _clusters(500, 2048, 150)),
        ("500 x 512, 3 classes", _clusters(500, 512, 3)),
    ]


def _quietly(fit: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return fit()

    return run


def _own(X: Any, y: np.ndarray, C: float, **options: Any) -> Callable[[], tuple[Any, Any]]:
    def run() -> tuple[Any, Any]:
        fit = fit_softmax(X, y, l2=1 / (C * X.shape[0]), tol=1e-6, max_iter=2000, **options)
        return fit.coef, fit.intercept

    return run


def _peer(X: Any, y: np.ndarray, C: float, solver: str) -> Callable[[], tuple[Any, Any]]:
    def run() -> tuple[Any, Any]:
        model = LogisticRegression(C=C, solver=solver, tol=1e-6, max_iter=2000).fit(X, y)
        return model.coef_, model.intercept_

    return _quietly(run)


def _excess(X: Any, y: np.ndarray, C: float) -> Callable[[tuple[Any, Any]], float]:
    """Objective above that of a fit to a gradient of 1e-9."""
    best = fit_softmax(X, y, l2=1 / (C * X.shape[0]), tol=1e-9, max_iter=5000).objective

    def excess(model: tuple[Any, Any]) -> float:
        coef, intercept = model
        at = fit_softmax(
            X,
            y,
            l2=1 / (C * X.shape[0]),
            solver="lbfgs",
            max_iter=0,
            coef=coef,
            intercept=intercept,
        )
        return max(at.objective - best, 0.0)

    return excess


def _fit_case(
    name: str, size: str, data: Data, C: float, bar: float | None = None, long: bool = False
) -> Case:
    def build() -> list[Contender]:
        X, y = data()
        error = _excess(X, y, C)
        plain = "same Newton steps, conjugate gradients without preconditioner"
        return [
            Contender("skfrontier, newton", _own(X, y, C, solver="newton"), error=error),
            Contender(LBFGS, _peer(X, y, C, "lbfgs"), error=error, bar=bar),
            Contender(NEWTON_CG, _peer(X, y, C, "newton-cg"), error=error),
            Contender(
                "skfrontier, newton, damping 1e9",
                _own(X, y, C, solver="newton", damping=1e9),
                error=error,
                note=plain,
            ),
        ]

    return Case(name, size, build, long=long)


def _choice_case(size: str, data: Data) -> Case:
    def build() -> list[Contender]:
        X, y = data()
        error = _excess(X, y, 1.0)
        solvers = ("newton", "lbfgs") if len(y) <= 4000 else ("lbfgs",)
        return [
            Contender("skfrontier, auto", _own(X, y, 1.0), error=error),
            *(
                Contender(f"skfrontier, {s}", _own(X, y, 1.0, solver=s), error=error, bar=1 / 1.3)
                for s in solvers
            ),
        ]

    return Case("Choice of the solver", size, build)


def _training_case(name: str, quick: bool) -> Case:
    seconds = 0.1 if quick else 3.0

    def build() -> list[Contender]:
        return [
            Contender(label, run, error=lambda loss: loss, requires=requires, note=note)
            for label, run, requires, note in _trainers(name, seconds)
        ]

    return Case(f"Training loss after {seconds:g} s", name, build, long=not quick)


def _trainers(name: str, seconds: float) -> list[tuple[str, Callable[[], float], str, str]]:
    """Everyone trains the same network from the same start for the same wall time."""
    if importlib.util.find_spec("torch") is None:
        return [("skfrontier FastGaussNewton", lambda: 0.0, "torch", "")]
    import torch

    from skfrontier.nn import FastGaussNewton

    if name.startswith("digits"):
        X, y = load_digits(return_X_y=True)
        X, hidden, rows = X[:1400] / 16, (64, 64), 128
    else:
        X, y = make_many_classes(2000, 256, 500, sep=0.3, random_state=0)
        hidden, rows = (), 500
    inputs = torch.tensor(X, dtype=torch.float32)
    targets = torch.tensor(y[: len(X)])
    n_classes = int(targets.max()) + 1

    def network() -> torch.nn.Module:
        torch.manual_seed(0)
        widths = (inputs.shape[1], *hidden, n_classes)
        layers: list[torch.nn.Module] = []
        for a, b in itertools.pairwise(widths):
            layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers[:-1])

    def loss(model: torch.nn.Module) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(model(inputs), targets)

    def train(one_step: Callable[[torch.nn.Module], Callable[[Any, Any], None]]) -> float:
        model = network()
        step = one_step(model)
        end = time.perf_counter() + seconds
        while True:
            for batch in torch.randperm(len(inputs)).split(rows):
                if time.perf_counter() > end:
                    return float(loss(model).detach())
                step(inputs[batch], targets[batch])

    def first_order(make: Callable[[Any], Any]) -> Callable[[], float]:
        def one_step(model: torch.nn.Module) -> Callable[[Any, Any], None]:
            optimizer = make(model.parameters())

            def step(x: Any, t: Any) -> None:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x), t).backward()
                optimizer.step()

            return step

        return lambda: train(one_step)

    def own(**options: Any) -> Callable[[], float]:
        def one_step(model: torch.nn.Module) -> Callable[[Any, Any], None]:
            optimizer = FastGaussNewton(model, **options)

            def step(x: Any, t: Any) -> None:
                optimizer.step(x, t)

            return step

        return lambda: train(one_step)

    def library(kind: str, lr: float) -> Callable[[], float]:
        def make(params: Any) -> Any:
            import pytorch_optimizer

            return getattr(pytorch_optimizer, kind)(params, lr=lr)

        return first_order(make)

    best = "best of the learning rates 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1"
    rates = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1)

    def tuned(make: Callable[[float], Callable[[], float]]) -> Callable[[], float]:
        """The rate is chosen in runs of a sixth of the time, which are not charged."""
        nonlocal seconds
        whole, seconds = seconds, seconds / 6
        trials = {lr: make(lr)() for lr in rates}
        seconds = whole
        return make(min(trials, key=lambda lr: (np.nan_to_num(trials[lr], nan=np.inf), lr)))

    def adam(lr: float) -> Callable[[], float]:
        return first_order(lambda p: torch.optim.Adam(p, lr=lr))

    def sgd(lr: float) -> Callable[[], float]:
        return first_order(lambda p: torch.optim.SGD(p, lr=lr, momentum=0.9))

    trainers = [
        ("skfrontier FastGaussNewton", own(), "", "defaults"),
        ("skfrontier FastGaussNewton, lm", own(lr=1.0, damping_rule="lm"), "", "lr = 1"),
        ("torch Adam", tuned(adam), "", best),
        ("torch SGD, momentum 0.9", tuned(sgd), "", best),
    ]
    for kind in ("Shampoo", "SOAP"):
        there = importlib.util.find_spec("pytorch_optimizer") is not None
        run = tuned(lambda lr, kind=kind: library(kind, lr)) if there else (lambda: 0.0)  # type: ignore[misc]
        trainers.append((f"pytorch_optimizer {kind}", run, "pytorch_optimizer", best))
    return trainers
