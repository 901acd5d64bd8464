"""Semi-supervised classification and regression on signed graphs."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from skfrontier.algos._validation import check_choice, check_count
from skfrontier.algos.graphs.propagation.adjacency import as_csr, read_adjacency
from skfrontier.estimators.graphs.propagation.operator import (
    PLAN_OPTIONS,
    LabelPropagationOperator,
)


@contextmanager
def _restored_on_failure(model: BaseEstimator) -> Iterator[None]:
    """Leave a model as it was before where a fit fails halfway."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


class _SignedPropagation(BaseEstimator):
    """What classifier and regressor share: parameters, the graph, and neighbours of new nodes."""

    def __init__(
        self,
        *,
        graph="precomputed",
        n_neighbors=10,
        unlabeled="auto",
        solver="auto",
        tol=None,
        relative=True,
        criterion="rms",
        confidence=0.95,
        n_forests="adaptive",
        max_forests=4096,
        smooth=4,
        push=3e-3,
        rao_blackwell=True,
        interval="normal",
        rtol=1e-8,
        preconditioner="jacobi",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.unlabeled = unlabeled
        self.solver = solver
        self.tol = tol
        self.relative = relative
        self.criterion = criterion
        self.confidence = confidence
        self.n_forests = n_forests
        self.max_forests = max_forests
        self.smooth = smooth
        self.push = push
        self.rao_blackwell = rao_blackwell
        self.interval = interval
        self.rtol = rtol
        self.preconditioner = preconditioner
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.graph == "precomputed"
        tags.input_tags.sparse = True
        return tags

    def _read_graph(self, X: Any) -> tuple[sparse.csr_array, NearestNeighbors | None]:
        """Adjacency of the training nodes, and the index of their features."""
        check_choice(self.graph, "graph", ("precomputed", "knn"))
        if self.graph == "precomputed":
            adjacency = read_adjacency(X)
            self.n_features_in_ = adjacency.shape[0]
            return adjacency, None
        X = validate_data(self, X, accept_sparse="csr")
        count = min(check_count(self.n_neighbors, "n_neighbors"), max(1, X.shape[0] - 1))
        index = NearestNeighbors(n_neighbors=count).fit(X)
        if X.shape[0] == 1:
            return sparse.csr_array((1, 1)), index
        directed = sparse.csr_array(index.kneighbors_graph())
        return sparse.csr_array(directed.maximum(directed.T)), index

    def _propagate(
        self, adjacency: sparse.csr_array, labeled: np.ndarray, values: np.ndarray
    ) -> tuple[LabelPropagationOperator, np.ndarray, np.ndarray]:
        """Fitted operator, values at all nodes (nan where none arrive), and their standard errors."""
        options = {name: getattr(self, name) for name in PLAN_OPTIONS}
        operator = LabelPropagationOperator(random_state=self.random_state, **options)
        missing = operator._take(adjacency, labeled)
        if missing:
            warnings.warn(
                f"{missing} nodes are reached by no label and get the labels' average.",
                UserWarning,
                stacklevel=4,
            )
        return operator, *operator.transform(values, return_std=True)

    def _neighbor_average(self, X: Any, values: np.ndarray, fallback: np.ndarray) -> np.ndarray:
        """One signed weighted mean over the training nodes beside each new one."""
        if self._index is not None:
            X = validate_data(self, X, accept_sparse="csr", reset=False)
            links = sparse.csr_array(self._index.kneighbors_graph(X))
        else:
            links = self._read_links(X)
        total = np.asarray(abs(links).sum(axis=1)).ravel()
        average = links @ values
        tied = total > 0
        average[tied] /= total[tied, None]
        average[~tied] = fallback
        return average

    def _read_links(self, X: Any) -> sparse.csr_array:
        links = as_csr(X if sparse.issparse(X) else np.atleast_2d(X), "X")
        if links.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {links.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: one column a node of the fitted graph."
            )
        if not np.isfinite(links.data).all():
            raise ValueError("X must be finite: it holds NaN or infinity.")
        return links


class SignedLabelPropagation(ClassifierMixin, _SignedPropagation):
    """Classify the nodes of a signed graph from a few labelled ones.

    Positive edges pull neighbours to the same class, negative edges push them apart. Class ``c`` has the
    score ``F = Q (1{y = c} - 1/C)`` with the operator ``Q`` of :class:`LabelPropagationOperator`.

    Parameters
    ----------
    graph : {"precomputed", "knn"}, default="precomputed"
        Whether ``X`` is a signed adjacency or a table of features, from which a graph of nearest
        neighbours with unit weights is made.
    n_neighbors : int, default=10
        Of "knn".
    unlabeled : "auto" or a value, default="auto"
        Value of ``y`` at nodes without a label, beside NaN and None. "auto": -1, but where the only values
        are -1 and 1 both are classes. For graphs coded -1, 0, 1 take 0.
    solver : {"auto", "multitree", "cg", "direct"}, default="auto"
        This and the parameters below are those of :class:`LabelPropagationOperator`.
    tol : float, default=None
        Error of adaptive sampling.
    relative : bool, default=True
        Whether it is relative.
    criterion : {"rms", "max"}, default="rms"
        Which error.
    confidence : float, default=0.95
        Of the stopping rule.
    n_forests : int or "adaptive", default="adaptive"
        Number of forests.
    max_forests : int, default=4096
        Where adaptive sampling ends.
    smooth : int, default=4
        Jacobi sweeps after sampling.
    push : float, None or "auto", default=3e-3
        Signed push, for queries of ``operator_``.
    rao_blackwell : bool, default=True
        Whether trees have their mean value.
    interval : {"normal", "bernstein"}, default="normal"
        Intervals of ``operator_.query``.
    rtol : float, default=1e-8
        Relative residual of "cg".
    preconditioner : {"jacobi", "amg"}, default="jacobi"
        Of "cg".
    random_state : int, Generator, RandomState or None, default=None
        Seed.
    n_jobs : int or None, default=None
        Threads.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_nodes,)
        Class of each node; a label stays what it is.
    decision_scores_ : ndarray of shape (n_nodes, n_classes)
    stderr_ : ndarray of shape (n_nodes, n_classes)
        Standard errors of the scores.
    label_distributions_ : ndarray of shape (n_nodes, n_classes)
        ``max(F + 1/C, 0)``, normalised. On graphs without negative edges, the harmonic solution.
    operator_ : LabelPropagationOperator
    n_features_in_ : int

    Raises
    ------
    ValueError
        If an input or parameter is not of the stated form, or fewer than two classes are labelled.

    Notes
    -----
    Nodes that no label reaches get the class frequencies of the labels, and a warning.

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani, J. Lafferty, "Semi-supervised learning using Gaussian fields and harmonic
       functions", ICML 2003 (graphs without negative edges).
    .. [2] J. Kunegis et al., "Spectral analysis of signed graphs for clustering, prediction and
       visualization", SDM 2010 (the signed Laplacian).

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.estimators import SignedLabelPropagation
    >>> square = np.array([[0, 1, 0, -1], [1, 0, -1, 0], [0, -1, 0, 1], [-1, 0, 1, 0]])
    >>> SignedLabelPropagation().fit(square, [1, -1, 2, -1]).transduction_
    array([1, 1, 2, 2])
    """

    def fit(self, X, y):
        """Spread the labels.

        Parameters
        ----------
        X : sparse matrix, array-like or networkx graph of shape (n_nodes, n_nodes), or table
            Adjacency, or features with ``graph="knn"``.
        y : array-like of shape (n_nodes,)
            Classes; ``unlabeled`` says which entries are none.

        Returns
        -------
        self : SignedLabelPropagation
        """
        with _restored_on_failure(self):
            self._fit(X, y)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        adjacency, index = self._read_graph(X)
        y = _read_targets(y, adjacency.shape[0])
        labeled = ~unlabeled_mask(y, self.unlabeled)
        known = np.array(y[labeled].tolist()) if y.dtype == object else y[labeled]
        check_classification_targets(known)
        classes, codes = np.unique(known, return_inverse=True)
        if classes.size < 2:
            raise ValueError(
                f"y must have at least two classes at labelled nodes, got {classes.size} class."
            )
        share = 1.0 / classes.size
        onehot = np.eye(classes.size)[codes]
        operator, scores, stderr = self._propagate(adjacency, labeled, onehot - share)
        prior = np.bincount(codes) / codes.size
        scores[~operator.reachable_] = prior - share
        stderr[~operator.reachable_] = 0.0
        self._index, self._prior = index, prior
        self.classes_, self.operator_ = classes, operator
        self.decision_scores_, self.stderr_ = scores, stderr
        self.label_distributions_ = _distributions(scores)
        self.transduction_ = classes[self.label_distributions_.argmax(axis=1)]

    def predict(self, X=None):
        """Classes of the fitted nodes, or of new ones.

        Parameters
        ----------
        X : None, matrix of shape (n_new, n_nodes), or table of features
            None: the fitted nodes. Else adjacency rows of new nodes to the fitted ones, or their features
            with ``graph="knn"``: one signed mean over their neighbours.

        Returns
        -------
        ndarray of shape (n_nodes,) or (n_new,)
        """
        check_is_fitted(self)
        if X is None:
            return self.transduction_
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X=None):
        """Class distributions of the fitted nodes, or of new ones, as in :meth:`predict`.

        Parameters
        ----------
        X : None, matrix of shape (n_new, n_nodes), or table of features
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_nodes, n_classes) or (n_new, n_classes)
        """
        check_is_fitted(self)
        return self.label_distributions_ if X is None else _distributions(self._scores(X))

    def _scores(self, X: Any) -> np.ndarray:
        prior = self._prior - 1.0 / self.classes_.size
        return self._neighbor_average(X, self.decision_scores_, prior)


class SignedLabelPropagationRegressor(RegressorMixin, _SignedPropagation):
    """Real values at all nodes of a signed graph from a few known ones.

    Every other node has the signed weighted mean of its neighbours: a negative edge to a neighbour of value
    ``x`` pulls towards ``-x``, so zero is the neutral value.

    Parameters
    ----------
    graph : {"precomputed", "knn"}, default="precomputed"
        Whether ``X`` is a signed adjacency or a table of features, from which a graph of nearest
        neighbours with unit weights is made.
    n_neighbors : int, default=10
        Of "knn".
    unlabeled : "auto" or a value, default="auto"
        Value of ``y`` at nodes without a label. "auto": NaN.
    solver : {"auto", "multitree", "cg", "direct"}, default="auto"
        This and the parameters below are those of :class:`LabelPropagationOperator`.
    tol : float, default=None
        Error of adaptive sampling.
    relative : bool, default=True
        Whether it is relative.
    criterion : {"rms", "max"}, default="rms"
        Which error.
    confidence : float, default=0.95
        Of the stopping rule.
    n_forests : int or "adaptive", default="adaptive"
        Number of forests.
    max_forests : int, default=4096
        Where adaptive sampling ends.
    smooth : int, default=4
        Jacobi sweeps after sampling.
    push : float, None or "auto", default=3e-3
        Signed push, for queries of ``operator_``.
    rao_blackwell : bool, default=True
        Whether trees have their mean value.
    interval : {"normal", "bernstein"}, default="normal"
        Intervals of ``operator_.query``.
    rtol : float, default=1e-8
        Relative residual of "cg".
    preconditioner : {"jacobi", "amg"}, default="jacobi"
        Of "cg".
    random_state : int, Generator, RandomState or None, default=None
        Seed.
    n_jobs : int or None, default=None
        Threads.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_nodes,)
        Values; a label stays what it is.
    stderr_ : ndarray of shape (n_nodes,)
        Their standard errors.
    operator_ : LabelPropagationOperator
    n_features_in_ : int

    Raises
    ------
    ValueError
        If an input or parameter is not of the stated form, or nothing is labelled.

    Notes
    -----
    Nodes that no label reaches get the mean of the labels, and a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.estimators import SignedLabelPropagationRegressor
    >>> path = [[0, 1, 0], [1, 0, -1], [0, -1, 0]]
    >>> SignedLabelPropagationRegressor().fit(path, [2.0, np.nan, np.nan]).predict()
    array([ 2.,  2., -2.])
    """

    def fit(self, X, y):
        """Spread the values.

        Parameters
        ----------
        X : sparse matrix, array-like or networkx graph of shape (n_nodes, n_nodes), or table
            Adjacency, or features with ``graph="knn"``.
        y : array-like of shape (n_nodes,)
            Values; NaN (or ``unlabeled``) where there is none.

        Returns
        -------
        self : SignedLabelPropagationRegressor
        """
        with _restored_on_failure(self):
            self._fit(X, y)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        adjacency, index = self._read_graph(X)
        y = _read_targets(y, adjacency.shape[0]).astype(np.float64)
        missing = np.isnan(y) if _is_auto(self.unlabeled) else unlabeled_mask(y, self.unlabeled)
        if np.isinf(y).any():
            raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
        if missing.all():
            raise ValueError("y must hold at least one value that is not NaN.")
        known = y[~missing]
        operator, values, stderr = self._propagate(adjacency, ~missing, known)
        values[~operator.reachable_] = known.mean()
        stderr[~operator.reachable_] = 0.0
        self._index, self._mean = index, known.mean()
        self.operator_, self.transduction_, self.stderr_ = operator, values, stderr

    def predict(self, X=None):
        """Values of the fitted nodes, or of new ones.

        Parameters
        ----------
        X : None, matrix of shape (n_new, n_nodes), or table of features
            None: the fitted nodes. Else adjacency rows of new nodes to the fitted ones, or their features
            with ``graph="knn"``: one signed mean over their neighbours.

        Returns
        -------
        ndarray of shape (n_nodes,) or (n_new,)
        """
        check_is_fitted(self)
        if X is None:
            return self.transduction_
        return self._neighbor_average(X, self.transduction_[:, None], self._mean)[:, 0]


def unlabeled_mask(y: np.ndarray, unlabeled: Any) -> np.ndarray:
    """Which targets are none, by the rule of ``unlabeled``."""
    if y.dtype == object:
        missing = np.array([_is_missing(value) for value in y], dtype=np.bool_)
    else:
        missing = np.isnan(y) if y.dtype.kind == "f" else np.zeros(y.size, dtype=np.bool_)
    if not _is_auto(unlabeled):
        if np.ndim(unlabeled) > 0:
            raise ValueError(f"unlabeled must be 'auto' or one value, got {unlabeled!r}.")
        if _is_missing(unlabeled):
            return missing
        return missing | (y == unlabeled)
    if y.dtype.kind not in "fiu":
        return missing
    values = set(np.unique(y[~missing]).tolist())
    if values == {-1, 1}:
        return missing
    if values == {-1, 0, 1}:
        warnings.warn(
            "y holds -1, 0 and 1: -1 is taken for unlabelled, 0 and 1 for classes. Use unlabeled=0 if 0 "
            "means unlabelled.",
            UserWarning,
            stacklevel=4,
        )
    return missing | (y == -1)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or the missing value of pandas, which is not even equal to itself."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _is_auto(unlabeled: Any) -> bool:
    return isinstance(unlabeled, str) and unlabeled == "auto"


def _read_targets(y: Any, n_nodes: int) -> np.ndarray:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    if y.size != n_nodes:
        raise ValueError(f"y must have one entry a node ({n_nodes}), got {y.size}.")
    if y.dtype.kind == "c":
        raise ValueError("y must be real, got complex data. Complex data not supported.")
    return y


def _distributions(scores: np.ndarray) -> np.ndarray:
    positive = np.maximum(scores + 1.0 / scores.shape[1], 0.0)
    total = positive.sum(axis=1, keepdims=True)
    return positive / total
