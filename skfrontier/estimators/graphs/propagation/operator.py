"""The label propagation operator of a signed graph."""

import warnings
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skfrontier.algos._validation import as_numbers, check_choice, check_count, check_finite
from skfrontier.algos.graphs.propagation.exact import exact_solver
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph, build_grounded_graph
from skfrontier.algos.graphs.propagation.pairs import PairSums
from skfrontier.algos.graphs.propagation.plan import PropagationPlan
from skfrontier.algos.graphs.propagation.random import base_seed
from skfrontier.algos.graphs.propagation.solve import (
    Solution,
    solve_pairs,
    solve_rows,
    solve_values,
)

_TIGHT_TOL = 1e-4  # below which forests need more than cg
_SLOW_WALKS = 1e3  # mean steps a node from which forests are not advised
PLAN_OPTIONS = (
    "solver", "tol", "relative", "criterion", "confidence", "n_forests", "max_forests", "smooth", "push",
    "rao_blackwell", "interval", "rtol", "preconditioner", "n_jobs", "verbose",
)  # fmt: skip


class LabelPropagationOperator(BaseEstimator):
    """Operator ``Q`` that takes values at labelled nodes to all nodes of a signed graph.

    Every unlabelled node has the signed weighted mean of its neighbours: ``x_U = Q y`` with
    ``Q = -L_UU^-1 L_UL`` and the signed Laplacian ``L``. Entry ``Q[u, l]`` says how much, and with which
    sign, label ``l`` moves node ``u``.

    Parameters
    ----------
    solver : {"auto", "multitree", "cg", "direct"}, default="auto"
        Sampled forests, conjugate gradients, a factorisation, or whichever costs least: "direct" up to
        2000 unlabelled nodes, else "cg" for whole vectors and few entries, and for many entries or rows the
        cheaper of "multitree" and "cg" by a pilot.
    tol : float, default=None
        Error that adaptive sampling reaches for. None: 0.05, relative. The solvers use ``rtol``.
    relative : bool, default=True
        Whether ``tol`` is a multiple of the root mean square of the answer.
    criterion : {"rms", "max"}, default="rms"
        For ``transform`` and ``columns``: root mean square over nodes, or the largest error.
    confidence : float, default=0.95
        Of the stopping rule and of intervals.
    n_forests : int or "adaptive", default="adaptive"
        A number is rounded up to a multiple of 16.
    max_forests : int, default=4096
        Where adaptive sampling ends, with a warning.
    smooth : int, default=4
        Jacobi sweeps after sampling, in ``transform`` and ``columns``.
    push : float, None or "auto", default=3e-3
        Signed push before sampling, in ``query`` and ``rows``; smaller is more of it, None is none. "auto":
        adaptive ``query`` pushes rows deeper where a pilot predicts that this costs less than forests.
    rao_blackwell : bool, default=True
        False: values of roots in place of tree means, for comparison (``query`` and ``transform``).
    interval : {"normal", "bernstein"}, default="normal"
        Intervals of ``query`` from forests: Student's t, or a proven bound that is valid under adaptive
        stopping too. Solvers have proven ones, from their residual.
    rtol : float, default=1e-8
        Relative residual of "cg", at least 1e-15. Where "auto" chose it for entries or rows and neither
        errors nor intervals are asked for, a tenth of ``tol`` if that is more.
    preconditioner : {"jacobi", "amg"}, default="jacobi"
        Of "cg"; "amg" needs pyamg.
    unreachable : {"nan", "zero", "raise"}, default="nan"
        Value of nodes in components that touch no label.
    random_state : int, Generator, RandomState or None, default=None
        Drawn from once, in ``fit``: calls with the same arguments give the same result.
    n_jobs : int or None, default=None
        Threads; they do not change results.
    verbose : int, default=0
        Whether adaptive sampling shows a progress bar.

    Attributes
    ----------
    labeled_ : int64 array of shape (n_labeled,)
        Labelled nodes, ascending: the order of all values at labels.
    n_labeled_ : int
        Number of labelled nodes.
    n_nodes_ : int
        Number of nodes.
    reachable_ : bool array of shape (n_nodes,)
    balanced_ : bool array of shape (n_nodes,)
        Whether the node's component, labels removed, is balanced.
    solver_ : str
        Solver of the latest call, as are the following.
    n_forests_ : int
        Forests drawn.
    n_steps_ : int
        Steps of their walks.
    achieved_ : float
        Bound of the error by ``criterion`` (``query`` and ``rows``: pooled standard error), relative if
        ``relative``; of "cg" a residual that missed ``rtol``, else 0.

    Notes
    -----
    Proven: sampled values are unbiased for a number of forests fixed beforehand, and never exceed the
    largest absolute label; intervals by "bernstein" cover with ``confidence`` one by one. Observed: coverage
    of standard errors, and of the stopping rule. Errors of different nodes are correlated: where the slowest
    mode dominates, nearly all intervals of one run hold, or nearly none.
    For one ``Q @ y`` conjugate gradients win; forests win for many entries or rows.

    References
    ----------
    .. [1] D. B. Wilson, "Generating random spanning trees more quickly than the cover time", STOC 1996.
    .. [2] Y. Y. Pilavci, P.-O. Amblard, S. Barthelme, N. Tremblay, "Graph Tikhonov regularization and
       interpolation via random spanning forests", IEEE TSIPN 2021 (HAL hal-03012192).
    .. [3] T. Zaslavsky, "Signed graphs", Discrete Applied Mathematics, 1982.
    .. [4] A. Maurer, M. Pontil, "Empirical Bernstein bounds and sample-variance penalization", COLT 2009.

    Examples
    --------
    >>> from skfrontier.estimators import LabelPropagationOperator
    >>> path = [[0, 1, 0], [1, 0, -1], [0, -1, 0]]
    >>> operator = LabelPropagationOperator().fit(path, [0])
    >>> operator.transform([2.0])
    array([ 2.,  2., -2.])
    >>> operator.query([1, 2], 0)
    array([ 1., -1.])
    """

    def __init__(
        self,
        *,
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
        unreachable="nan",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
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
        self.unreachable = unreachable
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, adjacency, labeled):
        """Take in a graph and its labelled nodes.

        Parameters
        ----------
        adjacency : sparse matrix, array-like or networkx graph of shape (n_nodes, n_nodes)
            Symmetric, real weights of either sign; the diagonal is ignored.
        labeled : array-like of int, or bool mask of shape (n_nodes,)
            Labelled nodes.

        Returns
        -------
        self : LabelPropagationOperator

        Raises
        ------
        ValueError
            If an input or option is not of the stated form; with ``unreachable="raise"`` also if no label
            reaches a node. What was fitted before is kept then.

        Warns
        -----
        UserWarning
            If there are unreachable nodes, or walks would be very long.
        """
        missing = self._take(adjacency, labeled)
        if missing:
            warnings.warn(
                f"{missing} nodes are reached by no label; their values are "
                f"{'0' if self.unreachable == 'zero' else 'nan'} (unreachable={self.unreachable!r}).",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _take(self, adjacency: Any, labeled: Any) -> int:
        """Fit, and return how many nodes no label reaches."""
        plan = self._plan()
        graph = build_grounded_graph(adjacency, labeled)
        missing = int(np.count_nonzero(~graph.reachable))
        if missing and self.unreachable == "raise":
            raise ValueError(f"{missing} nodes are reached by no label; unreachable='raise'.")
        seed = base_seed(self.random_state)
        _advise(plan, graph)
        self._graph, self._seed = graph, seed
        self._position = np.full(graph.n_nodes, -1, dtype=np.int64)
        self._position[graph.nodes] = np.arange(graph.n_unlabeled)
        self._position[graph.labeled] = np.arange(graph.labeled.size)
        self._is_label = np.zeros(graph.n_nodes, dtype=np.bool_)
        self._is_label[graph.labeled] = True
        self.labeled_ = graph.labeled
        self.n_labeled_, self.n_nodes_ = graph.labeled.size, graph.n_nodes
        self.reachable_, self.balanced_ = graph.reachable, graph.balanced
        return missing

    def transform(self, y, return_std=False):
        """Values at all nodes for values at the labels: ``Q y``, and ``y`` at the labels.

        Parameters
        ----------
        y : array-like of shape (n_labeled,) or (n_labeled, n_columns)
            In the order of ``labeled_`` (ascending nodes). float32 is kept.
        return_std : bool, default=False
            Whether to return standard errors too.

        Returns
        -------
        values : ndarray of shape (n_nodes,) or (n_nodes, n_columns)
        std : ndarray of the same shape
            Only with ``return_std=True``.

        Raises
        ------
        ValueError
            If ``y`` has another length or is not finite.

        Warns
        -----
        ConvergenceWarning
            If ``tol`` or ``rtol`` was not reached.
        """
        check_is_fitted(self)
        y = self._read_values(y)
        solution = self._solve_values(self._graph.source(y if y.ndim == 2 else y[:, None]))
        values = self._everywhere(solution.value, y if y.ndim == 2 else y[:, None])
        std = self._everywhere(solution.stderr, np.zeros((self.n_labeled_, values.shape[1])))
        if y.ndim == 1:
            values, std = values[:, 0], std[:, 0]
        return (values, std) if return_std else values

    def columns(self, l, return_std=False):  # noqa: E741
        """Columns of ``Q``: what each of some labels contributes everywhere.

        Parameters
        ----------
        l : int or array-like of int of shape (n_columns,)
            Labelled nodes.
        return_std : bool, default=False
            Whether to return standard errors too.

        Returns
        -------
        columns : ndarray of shape (n_nodes, n_columns)
            Rows of labelled nodes are those of the identity.
        std : ndarray of the same shape
            Only with ``return_std=True``.

        Raises
        ------
        ValueError
            If a node is not labelled.
        """
        check_is_fitted(self)
        labels = self._label_positions(np.atleast_1d(self._read_nodes(l, "l", 1)))
        graph = self._graph
        identity = np.zeros((self.n_labeled_, labels.size))
        identity[labels, np.arange(labels.size)] = 1.0
        near = (
            graph.boundary[:, labels].toarray() if labels.size else np.zeros((graph.n_unlabeled, 0))
        )
        solution = self._solve_values(graph.ungauged(near))
        values = self._everywhere(solution.value, identity)
        if not return_std:
            return values
        return values, self._everywhere(solution.stderr, np.zeros_like(identity))

    def query(self, u, l, *, return_std=False, return_interval=False):  # noqa: E741
        """Single entries ``Q[u, l]``.

        Parameters
        ----------
        u : int or array-like of int
            Nodes.
        l : int or array-like of int
            Labelled nodes; ``u`` and ``l`` are broadcast against each other.
        return_std : bool, default=False
            Whether to return standard errors too.
        return_interval : bool, default=False
            Whether to return the ends of intervals of level ``confidence`` too.

        Returns
        -------
        values : ndarray of the broadcast shape
            A labelled node has 1 at itself and 0 at other labels.
        std : ndarray
            Only with ``return_std=True``; 0 from solvers, which do not sample.
        interval : tuple of ndarray
            Lower and upper ends, only with ``return_interval=True``. From solvers they are certain, up to
            the rounding of their residual; from forests as ``interval`` says.

        Raises
        ------
        ValueError
            If ``l`` is not labelled, or a node does not exist.
        """
        check_is_fitted(self)
        u, labels, shape = self._read_pairs(u, l)
        inner = self.reachable_[u] & ~self._is_label[u]
        parts = np.empty((4, u.size))  # value, std, low, high
        identity = (self._position[u] == labels) & self._is_label[u]
        parts[:] = identity
        parts[1] = 0.0
        parts[:, ~self.reachable_[u]] = self._fill()
        if inner.any():
            rows, cols = self._position[u[inner]], labels[inner]
            solution = solve_pairs(
                self._graph, rows, cols, self._plan(), self._seed,
                errors=return_std or return_interval,
            )  # fmt: skip
            parts[:2, inner] = solution.value, solution.stderr
            if return_interval:
                parts[2:, inner] = solution.low, solution.high
        else:
            solution = _NOTHING
        self._record(solution)
        value, std, low, high = parts.reshape(4, *shape)
        results = [value]
        if return_std:
            results.append(std)
        if return_interval:
            results.append((low, high))
        return results[0] if len(results) == 1 else tuple(results)

    def bracket(self, u, l):  # noqa: E741
        """What is certain of single entries without any sampling, from the push alone.

        Parameters
        ----------
        u, l : int or array-like of int
            Nodes and labelled nodes, broadcast against each other.

        Returns
        -------
        low, high : ndarray of the broadcast shape
            Proven bounds; smaller ``push`` brings them together.

        Raises
        ------
        ValueError
            If ``l`` is not labelled, or a node does not exist.
        """
        check_is_fitted(self)
        u, labels, shape = self._read_pairs(u, l)
        inner = self.reachable_[u] & ~self._is_label[u]
        ends = np.empty((2, u.size))
        ends[:] = (self._position[u] == labels) & self._is_label[u]
        ends[:, ~self.reachable_[u]] = self._fill()
        pushed = PairSums(
            self._graph,
            self._position[u[inner]],
            labels[inner],
            self._seed,
            push=self._plan().first_push,
        ).estimate()
        ends[0, inner] = pushed.push_value - pushed.reach
        ends[1, inner] = pushed.push_value + pushed.reach
        low, high = ends.reshape(2, *shape)
        return low, high

    def rows(self, u, return_std=False):
        """Rows of ``Q``: what all labels contribute to some nodes.

        Parameters
        ----------
        u : int or array-like of int of shape (n_rows,)
            Nodes.
        return_std : bool, default=False
            Whether to return standard errors too.

        Returns
        -------
        rows : ndarray of shape (n_rows, n_labeled)
            Columns in the order of ``labeled_``; a labelled node has the identity's row.
        std : ndarray of the same shape
            Only with ``return_std=True``.

        Raises
        ------
        ValueError
            If a node does not exist.
        """
        check_is_fitted(self)
        u = np.atleast_1d(self._read_nodes(u, "u", 1))
        value = np.zeros((u.size, self.n_labeled_))
        std = np.zeros_like(value)
        at_label = self._is_label[u]
        value[at_label, self._position[u[at_label]]] = 1.0
        value[~self.reachable_[u]] = std[~self.reachable_[u]] = self._fill()
        inner = self.reachable_[u] & ~at_label
        solution = _NOTHING
        if inner.any():
            distinct, back = np.unique(self._position[u[inner]], return_inverse=True)
            solution = solve_rows(
                self._graph, distinct, self._plan(), self._seed, errors=return_std
            )
            value[inner], std[inner] = solution.value[back], solution.stderr[back]
        self._record(solution)
        return (value, std) if return_std else value

    def top_leaders(self, u, k=10):
        """Labels that move some nodes most, by absolute contribution.

        Parameters
        ----------
        u : int or array-like of int of shape (n_rows,)
            Nodes.
        k : int, default=10
            How many labels; at most all of them.

        Returns
        -------
        indices : int64 array of shape (n_rows, k)
            Labelled nodes, the strongest first.
        values : ndarray of shape (n_rows, k)
            Their signed contributions.

        Raises
        ------
        ValueError
            If a node does not exist or ``k`` is below 1.
        """
        k = min(check_count(k, "k"), getattr(self, "n_labeled_", 1))
        rows = self.rows(u)
        strongest = np.argsort(-np.abs(rows), axis=1, kind="stable")[:, :k]
        return self.labeled_[strongest], np.take_along_axis(rows, strongest, axis=1)

    def to_dense(self):
        """The whole operator, shape (n_nodes, n_labeled); rows of labelled nodes are the identity's."""
        check_is_fitted(self)
        return self.columns(self.labeled_)

    def as_linear_operator(self):
        """The operator as a ``scipy.sparse.linalg.LinearOperator`` of shape (n_nodes, n_labeled).

        Products with the transpose always use a solver. With sampling, products are linear if
        ``n_forests`` is a number.
        """
        check_is_fitted(self)
        return LinearOperator(
            (self.n_nodes_, self.n_labeled_),
            matvec=lambda y: self.transform(np.ravel(y)),
            matmat=self.transform,
            rmatvec=self._transposed,
            dtype=np.float64,
        )

    def _transposed(self, x: np.ndarray) -> np.ndarray:
        x = np.ravel(x)
        graph, plan = self._graph, self._plan()
        name = plan.solver if plan.solver in ("direct", "cg") else "cg"
        solve = exact_solver(graph, name, plan.rtol, plan.preconditioner)
        return x[graph.labeled] + graph.boundary.T @ solve(graph.ungauged(x[graph.nodes]))

    def _plan(self) -> PropagationPlan:
        check_choice(self.unreachable, "unreachable", ("nan", "zero", "raise"))
        return PropagationPlan(**{name: getattr(self, name) for name in PLAN_OPTIONS})

    def _solve_values(self, sources: np.ndarray) -> Solution:
        if self._graph.n_unlabeled and sources.shape[1]:
            solution = solve_values(self._graph, sources, self._plan(), self._seed)
        else:
            solution = Solution.exact(np.zeros_like(sources), "direct", 0.0)
        self._record(solution)
        return solution

    def _record(self, solution: Solution) -> None:
        """Keep what the latest call did, and warn where it fell short."""
        self.solver_, self.achieved_ = solution.solver, solution.achieved
        self.n_forests_, self.n_steps_ = solution.n_forests, solution.n_steps
        if shortfall := solution.shortfall(self._plan()):
            warnings.warn(shortfall, ConvergenceWarning, stacklevel=4)

    def _everywhere(self, values: np.ndarray, at_labels: np.ndarray) -> np.ndarray:
        """Spread rows of the graph's nodes over all nodes."""
        everywhere = np.full((self.n_nodes_, values.shape[1]), self._fill(), dtype=values.dtype)
        everywhere[self._graph.nodes] = values
        everywhere[self.labeled_] = at_labels
        return everywhere

    def _fill(self) -> float:
        return 0.0 if self.unreachable == "zero" else np.nan

    def _read_values(self, y: Any) -> np.ndarray:
        values = as_numbers(y, "y")
        if values.dtype.kind not in "fiub":
            raise ValueError(f"y must hold real numbers, got dtype {values.dtype}.")
        if values.ndim not in (1, 2) or values.shape[0] != self.n_labeled_:
            raise ValueError(
                f"y must have shape ({self.n_labeled_},) or ({self.n_labeled_}, n_columns), one row "
                f"a label in the order of labeled_; got {values.shape}."
            )
        check_finite(values, "y")
        return values.astype(np.float32 if values.dtype == np.float32 else np.float64, copy=False)

    def _read_nodes(self, nodes: Any, name: str, most: float = np.inf) -> np.ndarray:
        values = as_numbers(nodes, name)
        if values.ndim > most:
            raise ValueError(f"{name} must be a node or a 1-D array of nodes, got {values.ndim}-D.")
        if values.size == 0:
            return values.astype(np.int64)
        if values.dtype.kind not in "iu":
            raise ValueError(f"{name} must hold node indices, got dtype {values.dtype}.")
        wrong = (values < 0) | (values >= self.n_nodes_)
        if wrong.any():
            raise ValueError(
                f"{name} must lie in 0..{self.n_nodes_ - 1}, got {values[wrong].ravel()[0]}."
            )
        return values.astype(np.int64)

    def _label_positions(self, nodes: np.ndarray) -> np.ndarray:
        unlabeled = np.unique(nodes[~self._is_label[nodes]])
        if unlabeled.size:
            listed = ", ".join(map(str, unlabeled[:5]))
            raise ValueError(f"l must be labelled nodes; these are not: {listed}.")
        return self._position[nodes]

    def _read_pairs(self, u: Any, l: Any) -> tuple[np.ndarray, np.ndarray, tuple]:  # noqa: E741
        nodes, labels = self._read_nodes(u, "u"), self._read_nodes(l, "l")
        try:
            nodes, labels = np.broadcast_arrays(nodes, labels)
        except ValueError:
            raise ValueError(
                f"u and l must broadcast, got shapes {nodes.shape} and {labels.shape}."
            ) from None
        return nodes.ravel(), self._label_positions(labels.ravel()), nodes.shape


_NOTHING = Solution.exact(np.zeros(0), "direct", 0.0)


def _advise(plan: PropagationPlan, graph: GroundedSignedGraph) -> None:
    """Warn where forests were asked for and a solver would do better."""
    if plan.solver != "multitree":
        return
    if plan.tol is not None and plan.tol < _TIGHT_TOL:
        warnings.warn(
            f"tol={plan.tol:g} needs very many forests; solver='cg' reaches it sooner.",
            UserWarning,
            stacklevel=3,
        )
    if graph.step_bound > _SLOW_WALKS * graph.n_unlabeled:
        warnings.warn(
            f"a forest takes at least {graph.step_bound:.2g} steps on average, because the labels' "
            "weights are small beside the others; solver='cg' is advised.",
            UserWarning,
            stacklevel=3,
        )
