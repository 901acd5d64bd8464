"""The same numbers on a cluster of processes as on one."""

import joblib
import pytest

from skfrontier.algos import chamfer_distance, nearest_distances
from skfrontier.datasets import make_chamfer_pair

distributed = pytest.importorskip("distributed", reason="needs the extra scikit-frontier[dask]")


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("kwargs", [{}, {"p": 1.5}, {"metric": "angular"}])
def test_exact_searches_run_on_the_workers(cluster, kwargs):
    A, B = make_chamfer_pair("clusters", n=2000, n_features=8, random_state=0)
    expected = nearest_distances(A, B, method="brute", **kwargs)
    with joblib.parallel_config(backend="dask"):
        got = nearest_distances(A, B, method="brute", n_jobs=2, **kwargs)
    assert (got == expected).all()


@pytest.mark.slow
def test_sampler_gives_the_same_result(cluster):
    A, B = make_chamfer_pair("clusters", n=3000, n_features=16, random_state=0)
    expected = chamfer_distance(A, B, method="sample", random_state=0, return_info=True)[1]
    with joblib.parallel_config(backend="dask"):
        got = chamfer_distance(A, B, method="sample", random_state=0, n_jobs=2, return_info=True)[1]
    assert got == expected
