"""Margins of the true classes, the gradients of the margins, and what follows from them.

With the margin ``m = z_y - logsumexp(z_c, c != y)`` the loss is ``log(1 + exp(-m))``, its slope in
``m`` is ``-u`` with ``u = 1 - p_y``, and its curvature is ``w = p_y (1 - p_y)``.
"""

from typing import Any, cast

import numpy as np

from skfrontier.algos._numba import njit
from skfrontier.algos._torch import are_tensors
from skfrontier.algos._validation import as_numbers, check_finite


def softmax_margin(logits: Any, y: Any) -> tuple[Any, Any]:
    """Margins of the true classes over all others, and their gradients with respect to the logits.

    Parameters
    ----------
    logits : array-like or tensor of shape (n_samples, n_classes)
        At least two classes. float32 and float64 keep their type; tensors keep type and device.
    y : array-like or tensor of shape (n_samples,), integer
        True classes, 0 to ``n_classes - 1``.

    Returns
    -------
    margin : ndarray or tensor of shape (n_samples,)
        ``z_y - logsumexp`` of the other logits: the log odds of the true class.
    v : ndarray or tensor of shape (n_samples, n_classes)
        Gradient of the margin: 1 at the true class, minus the distribution among its competitors
        elsewhere.

    Raises
    ------
    ValueError
        If the shapes do not fit, there are fewer than two classes, classes are out of range, or logits
        are not finite. Tensors are not checked for finite values.

    Notes
    -----
    The curvature of the cross-entropy splits exactly [1]_:
    ``diag(p) - p p^T = w v v^T + u (diag(q) - q q^T)`` with ``q = e_y - v``, ``u = 1 - p_y`` and ``w =
    p_y u``; the second term is positive semidefinite, and zero for two classes. O(n_samples
    n_classes), one pass.

    References
    ----------
    .. [1] Korbit and Zanon, *Fast Gauss-Newton for Multiclass Cross-Entropy*, arXiv:2605.06081.

    Examples
    --------
    >>> from skfrontier.algos import softmax_margin
    >>> margin, v = softmax_margin([[2.0, 0.0, 0.0]], [0])
    >>> margin.round(3), v
    (array([1.307]), array([[ 1. , -0.5, -0.5]]))
    """
    if are_tensors(logits=logits, y=y):
        from skfrontier.algos.optim.gauss_newton.nn import margin_of_tensors

        return margin_of_tensors(logits, y)
    Z = as_numbers(logits, "logits")
    if Z.ndim != 2 or Z.shape[1] < 2:
        raise ValueError(
            f"logits must have shape (n_samples, n_classes) with two classes or more; got {Z.shape}."
        )
    if Z.dtype.kind not in "fiub":
        raise ValueError(f"logits must hold real numbers, got dtype {Z.dtype}.")
    dtype = np.float32 if Z.dtype in (np.float16, np.float32) else np.float64
    check_finite(Z, "logits")
    labels = check_labels(y, len(Z), Z.shape[1])
    margin, V = margins(np.array(Z, dtype=np.float64, order="C"), labels)
    return margin.astype(dtype, copy=False), V.astype(dtype, copy=False)


def check_labels(y: Any, n_samples: int, n_classes: int) -> np.ndarray:
    """Return ``y`` as int64 labels in ``0..n_classes - 1``, one for each row."""
    labels = as_numbers(y, "y")
    if labels.shape != (n_samples,):
        raise ValueError(f"y must have shape ({n_samples},), got {labels.shape}.")
    if labels.dtype.kind not in "iu":
        raise ValueError(f"y must hold integers, got dtype {labels.dtype}.")
    if labels.size and (labels.min() < 0 or labels.max() >= n_classes):
        wrong = labels[(labels < 0) | (labels >= n_classes)][0]
        raise ValueError(f"y must lie in 0..{n_classes - 1}, got {wrong}.")
    return labels.astype(np.int64, copy=False)


def margins(Z: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Margins and their gradients from logits, which are overwritten by the gradients.

    A single column is the logit of class 1 against class 0.
    """
    if Z.shape[1] == 1:
        sign = 2.0 * labels - 1.0
        margin = sign * Z[:, 0]
        Z[:, 0] = sign
        return margin, Z
    margin = np.empty(len(Z))
    _margin_and_competitors(Z, labels, Z, margin)
    return margin, Z


def sigmoid(margin: np.ndarray) -> np.ndarray:
    """``1 / (1 + exp(-margin))`` without overflow."""
    e = np.exp(-np.abs(margin))
    return cast(np.ndarray, np.where(margin >= 0, 1.0, e) / (1.0 + e))


def root_curvature(margin: np.ndarray) -> np.ndarray:
    """``sqrt(p_y (1 - p_y))``; the product itself would lose all digits for small ``p_y``."""
    e = np.exp(-0.5 * np.abs(margin))
    return cast(np.ndarray, e / (1.0 + e * e))


def losses(margin: np.ndarray) -> np.ndarray:
    """``log(1 + exp(-margin))``."""
    return cast(np.ndarray, np.logaddexp(0.0, -margin))


def competitor_spread(V: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """``sum_i weight_i q_ic (1 - q_ic)`` of each class: the diagonal of what Gauss-Newton drops."""
    spread = np.zeros(V.shape[1])
    if V.shape[1] > 1:
        _add_spread(V, labels, weight, spread)
    return spread


@njit
def _margin_and_competitors(Z, labels, V, margin):
    """One pass a row: maximum, exponentials, sum, division. V may be Z."""
    n_samples, n_classes = Z.shape
    for i in range(n_samples):
        y = labels[i]
        z_y = Z[i, y]
        top = -np.inf
        for c in range(n_classes):
            if c != y and Z[i, c] > top:
                top = Z[i, c]
        total = 0.0
        for c in range(n_classes):
            if c != y:
                e = np.exp(Z[i, c] - top)
                V[i, c] = e
                total += e
        margin[i] = (z_y - top) - np.log(total)
        scale = -1.0 / total
        for c in range(n_classes):
            V[i, c] *= scale
        V[i, y] = 1.0


@njit
def _add_spread(V, labels, weight, spread):
    n_samples, n_classes = V.shape
    for i in range(n_samples):
        for c in range(n_classes):
            if c != labels[i]:
                spread[c] -= weight[i] * V[i, c] * (1.0 + V[i, c])
