"""The objective: mean cross-entropy of a linear softmax model with a ridge on its weights.

Parameters are one array ``theta`` of shape (K, n_features + 1) whose last column holds the intercepts
(without intercepts (K, n_features)). K is the number of classes, or 1 for two classes with a single
logit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos.optim.gauss_newton.margin import losses, margins, sigmoid


@dataclass(frozen=True)
class Design:
    """The rows ``x_i``, with a constant 1 behind them where there are intercepts; dense or CSR."""

    X: Any
    fit_intercept: bool

    @property
    def n_features(self) -> int:
        """Number of columns of ``X``."""
        return int(self.X.shape[1])

    @property
    def n_columns(self) -> int:
        """Number of columns with the constant."""
        return self.n_features + self.fit_intercept

    def astype(self, dtype: Any) -> "Design":
        """The same rows in another precision."""
        return Design(self.X.astype(dtype, copy=False), self.fit_intercept)

    def forward(self, theta: np.ndarray) -> np.ndarray:
        """``X W^T + b``, of shape (n_samples, K), in the precision of ``X``."""
        theta = theta.astype(self.X.dtype, copy=False)
        Z = np.ascontiguousarray(self.X @ theta[:, : self.n_features].T)
        if self.fit_intercept:
            Z += theta[:, -1]
        return Z

    def adjoint(self, R: np.ndarray) -> np.ndarray:
        """``R^T (X, 1)``, of shape (K, n_columns), in the precision of ``X``."""
        R = R.astype(self.X.dtype, copy=False)
        out = np.empty((R.shape[1], self.n_columns), dtype=R.dtype)
        # a product of a CSR matrix comes transposed
        out[:, : self.n_features] = (
            R.T @ self.X if isinstance(self.X, np.ndarray) else (self.X.T @ R).T
        )
        if self.fit_intercept:
            out[:, -1] = R.sum(axis=0)
        return out

    def gram(self) -> np.ndarray:
        """``X X^T``, dense, without the constant."""
        product = self.X @ self.X.T
        return product if isinstance(product, np.ndarray) else product.toarray()

    def mean_square(self, omega: np.ndarray) -> float:
        """Mean of the squared entries of ``X``, rows weighted by ``omega``."""
        if isinstance(self.X, np.ndarray):
            squares = np.einsum("ij,ij->i", self.X, self.X)
        else:
            squares = np.asarray(self.X.power(2).sum(axis=1)).ravel()
        return float(omega @ squares) / self.n_features


@dataclass(frozen=True)
class Problem:
    """``f(theta) = sum_i omega_i loss_i + l2 / 2 ||W||^2`` with weights ``omega`` that sum to one."""

    design: Design
    labels: np.ndarray
    omega: np.ndarray
    l2: float
    n_logits: int

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the parameters."""
        return self.n_logits, self.design.n_columns

    def at(self, theta: np.ndarray) -> "Point":
        """Objective and first derivatives at ``theta``."""
        margin, V = margins(self.design.forward(theta).astype(np.float64, copy=False), self.labels)
        W = theta[:, : self.design.n_features]
        value = float(self.omega @ losses(margin)) + 0.5 * self.l2 * float(np.vdot(W, W))
        return Point(self, theta, margin, V, value)


class Point:
    """The objective at one ``theta``: value, margins, gradients of the margins, and the gradient on
    demand."""

    def __init__(
        self, problem: Problem, theta: np.ndarray, margin: np.ndarray, V: np.ndarray, value: float
    ) -> None:
        self.problem, self.theta, self.margin, self.V, self.value = problem, theta, margin, V, value
        self.u = sigmoid(-margin)
        self._gradient: np.ndarray | None = None

    @property
    def gradient(self) -> np.ndarray:
        """Gradient of the objective in float64: ``-sum_i omega_i u_i v_i (x_i, 1) + l2 W``."""
        if self._gradient is None:
            slope = self.V * (-self.problem.omega * self.u)[:, None]
            gradient = self.problem.design.adjoint(slope).astype(np.float64, copy=False)
            gradient += self.ridge_gradient()
            self._gradient = gradient
        return self._gradient

    def ridge_gradient(self) -> np.ndarray:
        """Gradient of the ridge, zero for the intercepts."""
        gradient = self.problem.l2 * self.theta
        if self.problem.design.fit_intercept:
            gradient[:, -1] = 0.0
        return gradient

    @property
    def gradient_norm(self) -> float:
        """Largest absolute entry of the gradient."""
        return float(np.abs(self.gradient).max())

    def probabilities(self) -> np.ndarray:
        """Class probabilities, of shape (n_samples, K), for at least two logits."""
        P = self.V * -self.u[:, None]
        P[np.arange(len(P)), self.problem.labels] = sigmoid(self.margin)
        return P
