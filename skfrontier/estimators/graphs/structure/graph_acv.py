"""Sparse graphical models without a tuning parameter."""

import copy
import warnings
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from skfrontier.algos._validation import check_choice, check_flag, check_n_jobs
from skfrontier.algos.graphs.structure.candidates import SearchPlan
from skfrontier.algos.graphs.structure.families import BINARY, GAUSSIAN, family_codes, response
from skfrontier.algos.graphs.structure.gram import (
    Columns,
    normal_scores_at,
    regressor,
    standardised_columns,
)
from skfrontier.algos.graphs.structure.graph_precision import GraphPrecision, precision_on_graph
from skfrontier.algos.graphs.structure.node_paths import (
    KAPPA_FLOOR,
    NodePaths,
    search_all_nodes,
    wants_normal_scores,
)
from skfrontier.algos.graphs.structure.refit import Regressions, regress_on_neighbours
from skfrontier.algos.graphs.structure.symmetrise import RULES, edge_score_matrix, edges_at_least
from skfrontier.algos.graphs.structure.training_size import (
    check_n_train,
    expected_false_edges,
    kappa_of,
    lowest_kappa,
    select_kappa,
)


class GraphPath(NamedTuple):
    """How the graph grows as kappa falls.

    Attributes
    ----------
    kappa : float64 array of shape (n_levels,)
        Distinct edge scores, falling.
    n_edges : int64 array of shape (n_levels,)
        Edges whose score reaches the level.
    expected_false : float64 array of shape (n_levels,)
        See `expected_false_edges`.

    Examples
    --------
    >>> from skfrontier.datasets import make_gaussian_graph
    >>> from skfrontier.estimators import GraphACV
    >>> path = GraphACV().fit(make_gaussian_graph(300, 10, random_state=0)[0]).edge_path()
    >>> bool(path.kappa[0] > path.kappa[-1]), int(path.n_edges[0])
    (True, 1)
    """

    kappa: np.ndarray
    n_edges: np.ndarray
    expected_false: np.ndarray


class GraphACV(BaseEstimator):
    """Graph of direct relations between columns, chosen by approximate cross-validation.

    An edge joins two columns that stay dependent given all others. Each column is regressed on the
    others; the
    neighbours that win approximate leave-many-out cross-validation at every training size come out in one
    pass, and
    each edge gets a score: how small the training set may be for it to be wanted still. The training size
    is read
    off the scores.

    Parameters
    ----------
    family : {"gaussian", "ising", "poisson"} or list of {"gaussian", "binary", "poisson"},
    default="gaussian"
        Conditional distribution of the columns, of all or of each. Binary columns hold two values, -1 and
        1 or 0 and 1.
        Counts act on other columns through log(1 + x).
    n_train : {"auto", "bic", "ebic", "strict"}, float or int, default="auto"
        Rows of a training set: chosen from the scores, n / (log n - 1), by rules with another penalty, a
        fraction in
        (0, 1], or their number. Fewer rows give sparser graphs.
    rule : {"mean", "and", "or"}, default="mean"
        How the scores of both directions become that of an edge.
    path : {"linear", "logistic"}, default="linear"
        Penalised path on which candidates of binary columns are searched.
    transformation : {"npn"} or None, default=None
        "npn" replaces Gaussian columns by normal scores of their ranks: for heavy tails and skewed margins.
    n_alphas : int, default=40
        Points of the path.
    eps : float, default=0.05
        End of the path, as a share of the penalty that empties it.
    max_degree : int or None, default=None
        Largest neighbourhood; None: 40. Never more than half the rows.
    tol : float, default=1e-5
        Largest change of a coefficient at the end of the path's coordinate descent.
    precision : {"auto", "mle", "nodewise"} or None, default="auto"
        For Gaussian columns: maximum likelihood on the graph, an average of regressions, the first for
        components up to
        500 nodes and the second else, or none.
    sparse_output : bool, default=False
        Whether matrices are CSR arrays.
    n_jobs : int or None, default=None
        Threads, or what `joblib.parallel_config` says; results do not depend on it.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    adjacency_ : bool array or csr_array of shape (n_features, n_features)
        Symmetric, without loops.
    edges_ : int64 array of shape (n_edges, 2)
        Pairs ``i < j``, the highest score first.
    edge_scores_ : float64 array of shape (n_edges,)
    score_matrix_ : csr_array of shape (n_features, n_features)
        Scores of all pairs from 2 on, edges or not.
    directed_scores_ : csr_array of shape (n_features, n_features)
        ``K[j, i]``: largest kappa at which the regression of ``j`` wants ``i``.
    kappa_ : float
        Level that edges reach; infinite where no edge is trusted.
    n_train_ : float
        Rows of a training set, n / (kappa - 1).
    expected_false_edges_ : float
        Rough number of false edges, see `expected_false_edges`.
    alphas_ : float64 array of shape (n_features,)
        Penalty of the path's support that gave each column's chosen one; nan for the empty one.
    cv_errors_ : float64 array of shape (n_features,)
        `acv_score` of the chosen supports at ``n_train_`` rows.
    truncated_nodes_ : int64 array
        Columns whose chosen support is as large as ``max_degree`` lets it.
    coefficients_ : array or csr_array of shape (n_features, n_features)
        Row ``j``: unpenalised regression of ``j`` on its neighbours. Binary columns enter as -1/1, counts
        as log(1 + x).
    intercepts_ : float64 array of shape (n_features,)
    precision_, partial_correlations_ : arrays or csr_arrays of shape (n_features, n_features)
        Gaussian columns only.
    covariance_ : float64 array of shape (n_features, n_features)
        Gaussian columns, maximum likelihood and dense output only.
    location_ : float64 array of shape (n_features,)
        Means of Gaussian columns (of their normal scores with "npn").
    interaction_ : array or csr_array of shape (n_features, n_features)
        Binary columns only: weights of the Ising model of -1/1 columns.
    field_ : float64 array of shape (n_features,)
        Binary columns only.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where ``X`` has names.

    See Also
    --------
    EdgePathDisplay : Edges, and expected false ones, over kappa.
    GraphDisplay : Draw the graph.

    Notes
    -----
    Proven elsewhere: leave-many-out cross-validation selects consistently in linear models if training
    sets are a vanishing
    share of the data [1]_, as does selection among the supports of a path in generalised linear models
    [2]_; K-fold
    cross-validation does not find the graph [3]_. For this procedure as a whole consistency is argued,
    not proven, and seen in
    simulations: "strict" has few false edges and keeps all whose squared partial correlation is well above
    (4 log p + 2 log log n) / n. "auto" was calibrated by simulation. Its number of expected false edges
    is an approximation that is
    too low for heavy tails and few rows.

    Cost: O(n p^2) for one Gram matrix, then for each column a lasso path and O(n s^2) for a dozen
    supports of size s.
    Nothing in ``fit`` is random.

    References
    ----------
    .. [1] J. Shao, "Linear model selection by cross-validation", JASA, 1993.
    .. [2] Y. Feng, Y. Yu, "Consistent cross-validation for tuning parameter selection in high-dimensional
       variable selection",
       arXiv:1308.5390.
    .. [3] arXiv:2312.17047, on the inconsistency of cross-validation for structure learning in Gaussian
       graphical models.
    .. [4] N. Meinshausen, P. Buhlmann, Annals of Statistics, 2006.
    .. [5] P. Ravikumar, M. Wainwright, J. Lafferty, Annals of Statistics, 2010.

    Examples
    --------
    >>> from skfrontier.datasets import make_gaussian_graph
    >>> from skfrontier.estimators import GraphACV
    >>> X, adjacency, _ = make_gaussian_graph(800, 20, graph="chain", random_state=0)
    >>> model = GraphACV().fit(X)
    >>> len(model.edges_), bool((model.adjacency_ == adjacency).all())
    (19, True)
    >>> int(model.graph_at(20).sum()) <= 38  # trained on 20 rows: a subgraph
    True
    """

    def __init__(
        self,
        *,
        family="gaussian",
        n_train="auto",
        rule="mean",
        path="linear",
        transformation=None,
        n_alphas=40,
        eps=0.05,
        max_degree=None,
        tol=1e-5,
        precision="auto",
        sparse_output=False,
        n_jobs=None,
        verbose=0,
    ):
        self.family = family
        self.n_train = n_train
        self.rule = rule
        self.path = path
        self.transformation = transformation
        self.n_alphas = n_alphas
        self.eps = eps
        self.max_degree = max_degree
        self.tol = tol
        self.precision = precision
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y=None):
        """Find the graph, and the model on it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least 5 rows and 2 columns. float32 is computed with in single precision, as are more than
            5000 columns.
        y : None
            Ignored.

        Returns
        -------
        self : GraphACV

        Raises
        ------
        ValueError, TypeError
            If the data or a parameter is not of the stated form. What was fitted before is kept then.

        Warns
        -----
        UserWarning
            If columns are constant, or binary columns are nearly separated.
        ConvergenceWarning
            If ``max_degree`` was too small, or maximum likelihood did not converge.
        """
        table = self._read(X, ensure_min_samples=5, ensure_min_features=2)
        n, p = table.shape
        families = self._check_parameters(n, p)
        plan = SearchPlan(self.n_alphas, self.eps, self.max_degree, self.tol, self.path)
        npn = wants_normal_scores(self.transformation)
        columns = standardised_columns(table, families, normal_scores=npn)
        paths = search_all_nodes(columns, plan, n_jobs=self.n_jobs, verbose=self.verbose)
        directed = paths.directed_scores()
        scores = edge_score_matrix(directed, self.rule)
        kappa = _chosen_kappa(scores, self.n_train, n, self.family, self.rule)
        edges, edge_scores = edges_at_least(scores, kappa)
        graph = _adjacency(edges, p)
        fits = regress_on_neighbours(columns, graph)
        precision = self._precision(columns, graph, fits)

        # nothing can fail from here on
        validate_data(self, X, skip_check_array=True)
        self._n_samples, self._family, self._rule = n, copy.copy(self.family), self.rule
        self._fits, self._families = fits, families
        self._reference = np.sort(table, axis=0) if npn else None
        self.directed_scores_ = directed
        scores.data[scores.data < KAPPA_FLOOR] = 0
        scores.eliminate_zeros()
        self.score_matrix_ = scores
        self.kappa_ = kappa
        self.n_train_ = n / (kappa - 1)
        self.edges_, self.edge_scores_ = edges, edge_scores
        self.adjacency_ = self._output(graph)
        self.expected_false_edges_ = float(self._expected_false(kappa))
        self.alphas_ = paths.alpha[paths.winners(kappa)]
        self.cv_errors_ = _validation_errors(paths, columns, kappa)
        self.truncated_nodes_ = paths.truncated(kappa)
        self._set_model(columns, fits, precision)
        self._warn(columns, fits, precision)
        return self

    def graph_at(self, n_train):
        """Graph at another training size, from the scores, without fitting again.

        Parameters
        ----------
        n_train : str, float or int
            As the parameter of the class.

        Returns
        -------
        bool array or csr_array of shape (n_features, n_features)

        Raises
        ------
        ValueError
            If ``n_train`` is of no accepted form.
        """
        check_is_fitted(self)
        n, p = self._n_samples, self.n_features_in_
        check_n_train(n_train, n, p)
        kappa = _chosen_kappa(self.score_matrix_, n_train, n, self._family, self._rule)
        return self._output(_adjacency(edges_at_least(self.score_matrix_, kappa)[0], p))

    def edge_path(self):
        """How the number of edges, and of expected false ones, grows as kappa falls.

        Returns
        -------
        GraphPath
            Falling ``kappa``, ``n_edges`` and ``expected_false``.
        """
        check_is_fitted(self)
        scores = edges_at_least(self.score_matrix_, KAPPA_FLOOR)[1]
        kappa, counts = np.unique(-scores, return_counts=True)
        return GraphPath(-kappa, np.cumsum(counts), self._expected_false(-kappa))

    def to_networkx(self):
        """Graph with the names of the columns, and ``weight`` and ``score`` of the edges.

        The weight is the partial correlation, the interaction, or the mean of both regressions'
        coefficients.

        Returns
        -------
        networkx.Graph
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        names = [name.item() if isinstance(name, np.generic) else name for name in names]
        graph = nx.Graph()
        graph.add_nodes_from(names)
        for (i, j), weight, score in zip(
            self.edges_, self._edge_weights(), self.edge_scores_, strict=True
        ):
            graph.add_edge(names[i], names[j], weight=float(weight), score=float(score))
        return graph

    def score(self, X, y=None):
        """Mean pseudo-log-likelihood: sum over columns of ``log p(x_j | rest)``.

        By unpenalised regressions on the graph.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Columns as in ``fit``.
        y : None
            Ignored.

        Returns
        -------
        float
            Gaussian columns count with their density (that of their normal scores with "npn").

        Raises
        ------
        ValueError
            If ``X`` has other columns or values than the family's.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        features, responses = np.empty((2, *X.shape))
        for j, family in enumerate(self._families):
            column = X[:, j].astype(np.float64)
            y_j = response(column, family, f"column {j} of X")
            if family == GAUSSIAN and self._reference is not None:
                column = y_j = normal_scores_at(column, self._reference[:, j])
            features[:, j], responses[:, j] = regressor(column, y_j, family), y_j
        return self._fits.log_likelihood(features, responses, self._families)

    def _read(self, X: Any, **limits: int) -> np.ndarray:
        return check_array(
            X, dtype=[np.float64, np.float32], estimator=self, input_name="X", **limits
        )

    def _check_parameters(self, n: int, p: int) -> np.ndarray:
        check_choice(self.rule, "rule", RULES)
        check_n_train(self.n_train, n, p)
        check_flag(self.sparse_output, "sparse_output")
        check_n_jobs(self.n_jobs)
        if self.precision is not None:
            check_choice(self.precision, "precision", ("auto", "mle", "nodewise"))
        return family_codes(self.family, p)

    def _expected_false(self, kappa: Any) -> np.ndarray:
        return expected_false_edges(
            kappa, self._n_samples, self.n_features_in_, family=self._family, rule=self._rule
        )

    def _precision(
        self, columns: Columns, graph: sparse.csr_array, fits: Regressions
    ) -> GraphPrecision | None:
        if self.precision is None or np.any(columns.families != GAUSSIAN):
            return None
        return precision_on_graph(columns, graph, fits, self.precision)

    def _output(self, matrix: sparse.csr_array) -> Any:
        return matrix if self.sparse_output else matrix.toarray()

    def _set_model(
        self, columns: Columns, fits: Regressions, precision: GraphPrecision | None
    ) -> None:
        """Set what the family has, and drop what an earlier fit of another family had."""
        for name in (
            "precision_",
            "partial_correlations_",
            "covariance_",
            "location_",
            "interaction_",
            "field_",
        ):
            self.__dict__.pop(name, None)
        self.coefficients_ = self._output(fits.coefficients)
        self.intercepts_ = fits.intercepts
        if np.all(columns.families == GAUSSIAN):
            self.location_ = columns.location
        if np.all(columns.families == BINARY):
            self.interaction_ = self._output((fits.coefficients + fits.coefficients.T) * 0.25)
            self.field_ = fits.intercepts / 2
        if precision is not None:
            self.precision_ = self._output(precision.precision)
            self.partial_correlations_ = self._output(precision.partial_correlations())
            if precision.covariance is not None and not self.sparse_output:
                self.covariance_ = precision.covariance.toarray()

    def _edge_weights(self) -> np.ndarray:
        for name in ("partial_correlations_", "interaction_"):
            if hasattr(self, name):
                W = getattr(self, name)
                break
        else:
            W = (self.coefficients_ + self.coefficients_.T) * 0.5
        return np.array([W[i, j] for i, j in self.edges_])

    def _warn(self, columns: Columns, fits: Regressions, precision: GraphPrecision | None) -> None:
        constant = np.flatnonzero(columns.constant)
        if constant.size:
            warnings.warn(
                f"columns {constant.tolist()} are constant; they are isolated in the graph.",
                UserWarning,
                stacklevel=3,
            )
        if fits.separated.size:
            warnings.warn(
                f"columns {fits.separated.tolist()} are nearly determined by their neighbours; "
                "their coefficients were clipped. Drop one of each pair of copies.",
                UserWarning,
                stacklevel=3,
            )
        if self.truncated_nodes_.size:
            warnings.warn(
                f"columns {self.truncated_nodes_.tolist()} may have more neighbours than max_degree="
                f"{self.max_degree} lets them; raise it.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if precision is not None and precision.unfinished:
            warnings.warn(
                "maximum likelihood on the graph did not converge; precision='nodewise' always exists.",
                ConvergenceWarning,
                stacklevel=3,
            )


def _chosen_kappa(
    scores: sparse.csr_array, n_train: Any, n_samples: int, family: Any, rule: str
) -> float:
    p = scores.shape[0]
    if isinstance(n_train, str) and n_train == "auto":
        found = edges_at_least(scores, KAPPA_FLOOR)[1]
        return select_kappa(found, n_samples, p, family=family, rule=rule)
    return kappa_of(n_train, n_samples, p)


def _adjacency(edges: np.ndarray, p: int) -> sparse.csr_array:
    i, j = np.concatenate([edges, edges[:, ::-1]]).T
    graph = sparse.csr_array((np.ones(i.size, dtype=np.bool_), (i, j)), shape=(p, p))
    graph.sort_indices()
    return graph


def _validation_errors(paths: NodePaths, columns: Columns, kappa: float) -> np.ndarray:
    """Approximate validation losses of the chosen supports on the scale of the data."""
    n = columns.n_samples
    chosen = paths.winners(kappa)
    level = kappa if np.isfinite(kappa) else lowest_kappa(n, columns.n_columns)
    deviance = paths.null_deviance + paths.deviance[chosen]
    errors = (deviance + level * (paths.trace[chosen] + paths.rest[chosen])) / (2 * n)
    gaussian = columns.families == GAUSSIAN
    return errors + np.where(gaussian, 0.5 + np.log(columns.scale), 0.0)
