"""The reference cloud with everything that is prepared of it once and used by many queries."""

import numpy as np

from skfrontier.algos.geometry.chamfer.candidates import ZOrderTrees
from skfrontier.algos.geometry.chamfer.exact import ExactSearch, prepare_search
from skfrontier.algos.geometry.chamfer.plan import Plan
from skfrontier.algos.geometry.chamfer.torch_brute import TorchBruteSearch


class Reference:
    """Points of B; searches and trees are made when first needed and kept.

    Parameters
    ----------
    B : ndarray of shape (n_B, n_features), float32 or float64
        Validated points, at least one, kept by reference.
    plan : Plan
        Metric and parameters of the searches and trees.
    random_state : Generator
        Seeds the trees; one number is drawn, whether or not they are ever grown.
    """

    def __init__(self, B: np.ndarray, plan: Plan, random_state: np.random.Generator) -> None:
        self.B = B
        self.plan = plan
        self._tree_seed = int(random_state.integers(2**63))
        self._searches: dict[tuple[str, np.dtype], ExactSearch] = {}
        self._trees: ZOrderTrees | None = None

    def search(self, method: str, dtype: np.dtype) -> ExactSearch:
        """Return the exact search by ``method`` for queries that, with B, have this ``dtype``."""
        key = (method, np.dtype(dtype))
        if key not in self._searches:
            B, metric = self.B.astype(dtype, copy=False), self.plan.metric
            if self.plan.backend == "torch":
                self._searches[key] = TorchBruteSearch(B, metric)
            else:
                self._searches[key] = prepare_search(
                    B, metric, method, block_size=self.plan.block_size
                )
        return self._searches[key]

    def nearest(self, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Exact distance and row of the nearest point of B, for each row of A."""
        dtype = np.result_type(A, self.B)
        search = self.search("auto", dtype)
        return search.query(A.astype(dtype, copy=False), n_jobs=self.plan.n_jobs)

    def trees(self) -> ZOrderTrees:
        """Return the quadtrees over B."""
        if self._trees is None:
            self._trees = ZOrderTrees(
                self.B,
                self.plan.metric,
                n_trees=self.plan.n_trees,
                n_projections=self.plan.n_projections,
                random_state=np.random.default_rng(self._tree_seed),
                projection=self.plan.projection,
                n_jobs=self.plan.n_jobs,
            )
        return self._trees
