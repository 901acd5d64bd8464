"""Exact Chamfer distances between all pairs of two lists of point clouds."""

from typing import Any

import numpy as np
from joblib import Parallel, delayed

from skfrontier.algos._validation import check_choice
from skfrontier.algos.geometry.chamfer.clouds import Clouds, pack_clouds
from skfrontier.algos.geometry.chamfer.exact import apply_power, prepare_search
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.scaling import check_nonzero_rows

REDUCTIONS = ("sum", "mean")


def chamfer_matrix(
    X: Any,
    Y: Any,
    *,
    p: float = 2.0,
    metric: str = "minkowski",
    power: float = 1.0,
    reduction: str = "mean",
    symmetric: bool = False,
    n_jobs: Any = None,
    dtype: Any = None,
) -> np.ndarray:
    """Exact Chamfer distance from each cloud of ``X`` to each cloud of ``Y``.

    Parameters
    ----------
    X, Y : sequence of array-likes, ndarray or pair (points, offsets)
        Clouds of shape (n_i, n_features), or one array of shape (n_clouds, n_points, n_features). In
        the pair, cloud ``i`` is ``points[offsets[i]:offsets[i + 1]]``.
    p : float, default=2.0
        The norm of ``metric='minkowski'``, from 1 to infinity.
    metric : {'minkowski', 'euclidean', 'sqeuclidean', 'manhattan', 'angular'}, default='minkowski'
        The distance between points; 'angular' is the angle over pi.
    power : float, default=1.0
        The exponent of each nearest distance before summing.
    reduction : {'mean', 'sum'}, default='mean'
        Over the points of the cloud that is measured.
    symmetric : bool, default=False
        Whether to add the distance from the cloud of ``Y`` to the cloud of ``X``.
    n_jobs : int or None, default=None
        Number of joblib threads over the clouds of ``Y``. The values do not depend on it.
    dtype : dtype or None, default=None
        Of the result; None is float64.

    Returns
    -------
    ndarray of shape (len(X), len(Y))

    Raises
    ------
    ValueError
        If a cloud is not a finite, real, 2-D array, the numbers of features differ, a cloud is
        empty that may not be (of ``Y``; of ``X`` with 'mean' or ``symmetric``), a row is zero with
        'angular', or a parameter is out of its range.

    Notes
    -----
    Guaranteed: the values are those of float64 differences of the given coordinates, see
    `nearest_distances`. Each cloud of ``Y`` is prepared once and all points of ``X`` are searched
    in it, by whichever exact method a fixed cost formula predicts to be cheapest; with matrix
    products the work is ``n_points(X) n_points(Y) n_features``, and memory beyond the inputs is a
    few megabytes and one float64 per point of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos.geometry.chamfer.matrix import chamfer_matrix
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> chamfer_matrix([square, square[:2]], [square, square[:1]])
    array([[0.        , 0.85355339],
           [0.        , 0.5       ]])
    """
    measure = Metric.from_names(metric, p, power)
    check_choice(reduction, "reduction", REDUCTIONS)
    X_clouds, Y_clouds = pack_clouds(X, "X"), pack_clouds(Y, "Y")
    _check_compatible(X_clouds, Y_clouds, measure, reduction, symmetric)
    result = _directed_matrix(X_clouds, Y_clouds, measure, reduction, n_jobs)
    if symmetric:
        same = X_clouds.points is Y_clouds.points and X_clouds.offsets is Y_clouds.offsets
        backward = (
            result
            if same or X is Y
            else _directed_matrix(Y_clouds, X_clouds, measure, reduction, n_jobs)
        )
        result = result + backward.T
    return result.astype(np.float64 if dtype is None else dtype, copy=False)


def _check_compatible(
    X: Clouds, Y: Clouds, metric: Metric, reduction: str, symmetric: bool
) -> None:
    if X.points.shape[1] != Y.points.shape[1]:
        raise ValueError(
            "X and Y must have the same number of features, got "
            f"{X.points.shape[1]} and {Y.points.shape[1]}."
        )
    Y.check_no_empty("Y", "nothing is near an empty cloud")
    if reduction == "mean":
        X.check_no_empty("X", "the mean over no points is undefined, use reduction='sum'")
    if symmetric:
        X.check_no_empty("X", "nothing is near an empty cloud")
    if metric.angular:
        check_nonzero_rows(X.points, "X's points")
        check_nonzero_rows(Y.points, "Y's points")


def _directed_matrix(
    X: Clouds, Y: Clouds, metric: Metric, reduction: str, n_jobs: Any
) -> np.ndarray:
    dtype = np.result_type(X.points, Y.points)
    points = X.points.astype(dtype, copy=False)
    owner = np.repeat(np.arange(len(X)), X.sizes)

    def column(cloud: np.ndarray) -> np.ndarray:
        search = prepare_search(cloud.astype(dtype, copy=False), metric)
        distances = apply_power(search.query(points)[0], metric.power)
        return np.bincount(owner, weights=distances, minlength=len(X))

    if n_jobs is None or n_jobs == 1:
        columns = [column(cloud) for cloud in Y]
    else:
        columns = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(column)(cloud) for cloud in Y)
    result = np.stack(columns, axis=1)
    return result / X.sizes[:, None] if reduction == "mean" else result
