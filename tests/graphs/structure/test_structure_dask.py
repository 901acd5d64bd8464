"""The same scores on a cluster of processes as on one."""

import joblib
import pytest

from skfrontier.algos import directed_scores
from skfrontier.datasets import make_gaussian_graph

distributed = pytest.importorskip("distributed", reason="needs the extra scikit-frontier[dask]")


@pytest.mark.slow
def test_scores_of_the_workers():
    X, _, _ = make_gaussian_graph(100, 150, random_state=0)
    expected = directed_scores(X)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        got = directed_scores(X, n_jobs=2)
    assert (got != expected).nnz == 0
