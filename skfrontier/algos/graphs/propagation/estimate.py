"""What a sampled answer carries."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ForestEstimate:
    """Estimate from sampled forests.

    Attributes
    ----------
    value : ndarray
        The estimate.
    stderr : ndarray of the shape of ``value``
        Its standard error.
    n_forests : int
        Number of forests drawn.
    n_steps : int
        Number of steps that their walks took.
    """

    value: np.ndarray
    stderr: np.ndarray
    n_forests: int
    n_steps: int


@dataclass(frozen=True)
class PairEstimate(ForestEstimate):
    """Estimate of single entries; all arrays have the shape of ``value``.

    Attributes
    ----------
    variance : ndarray
        Sample variance of one forest's estimate.
    reach : ndarray
        No forest's estimate, and not the entry itself, is further than this from ``push_value``.
    push_value : ndarray
        What the push gives without any forest.
    """

    variance: np.ndarray
    reach: np.ndarray
    push_value: np.ndarray
