"""Product laws restricted to a list of points: everything by summation over the points."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

ENUMERATION_LIMIT = 20


def cube(n_features: int) -> np.ndarray:
    """All 0/1 vectors, uint8; row c holds the bits of c, the lowest first."""
    codes = np.arange(1 << n_features, dtype=np.uint32)
    return ((codes[:, None] >> np.arange(n_features, dtype=np.uint32)) & 1).astype(np.uint8)


@dataclass(frozen=True)
class ExponentialFamily:
    """The laws proportional to exp(z.x) on the given points.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features), dtype uint8
        Distinct points.
    """

    points: np.ndarray

    def log_mass(self, z: np.ndarray) -> float:
        """Log-probability of the points under the product law with logits ``z``."""
        return float(logsumexp(self.points @ z) - np.logaddexp(0, z).sum())

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        """Probability of each point under the restricted law."""
        scores = self.points @ z
        return np.exp(scores - logsumexp(scores))

    def mean(self, z: np.ndarray) -> np.ndarray:
        """Mean of the restricted law."""
        return self.probabilities(z) @ self.points

    def covariance(self, z: np.ndarray) -> np.ndarray:
        """Covariance of the restricted law: the Fisher information of one row."""
        p = self.probabilities(z)
        centred = self.points - p @ self.points
        return (centred * p[:, None]).T @ centred

    def sample(self, z: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Independent points of the restricted law."""
        p = self.probabilities(z)
        return self.points[rng.choice(len(p), n_samples, p=p / p.sum())]

    def null_space(self) -> np.ndarray:
        """Orthonormal directions on which the points do not differ."""
        return null_directions(self.points - self.points.mean(axis=0))


def null_directions(differences: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the vectors orthogonal to every row, (n_features, q)."""
    gram = differences.T.astype(float) @ differences
    values, vectors = np.linalg.eigh(gram)
    cutoff = max(values[-1], 1.0) * len(values) * 1e-12 if len(values) else 0.0
    return vectors[:, values <= cutoff]


def unit_vectors(chosen: np.ndarray) -> np.ndarray:
    """Columns of the identity where ``chosen``, (n_features, count)."""
    columns = np.zeros((len(chosen), int(chosen.sum())))
    columns[np.flatnonzero(chosen), np.arange(columns.shape[1])] = 1.0
    return columns
