"""Alignment of two clouds without paired rows, as a transformer."""

import warnings
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import (
    _check_feature_names_in,
    _get_feature_names,
    check_array,
    check_is_fitted,
    validate_data,
)

from skfrontier.algos import ProcrustesWassersteinResult, RigidMap, exact_assignment
from skfrontier.algos._validation import check_flag, check_generator
from skfrontier.algos.geometry.procrustes_wasserstein.nearest_rows import NearestRows
from skfrontier.algos.geometry.procrustes_wasserstein.settings import Settings, check_anchors
from skfrontier.algos.geometry.procrustes_wasserstein.solve import align

_FLOATS = [np.float64, np.float32]


class ProcrustesWasserstein(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Match the rows of two clouds, and find the rigid map between them, without paired rows.

    ``Y`` is a second cloud: shuffled, rotated, possibly shifted, scaled, noisy, and of another size.

    Parameters
    ----------
    method : str, default='auto'
        'directions' starts from the principal directions of both clouds; 'auto' also tries 'frank-wolfe' on
        small clouds where no such start convinces. 'frank-wolfe' starts from a convex relaxation, 'random'
        from ``n_candidates`` random rotations, 'identity' from the clouds as they lie.
    n_directions : 'auto', int or sequence of int, default='auto'
        Numbers of leading axes whose signs are enumerated where enumeration is used, at most 12.
    n_candidates : int, default=8
        Most starts of each kind.
    allow_reflection : bool, default=True
        Whether the rotation may have determinant -1.
    translation : bool, default=True
        Whether a shift is fitted; without it the clouds are not centred.
    scaling : bool, default=False
        Whether a factor on lengths is fitted.
    outlier_cost : float or None, default=None
        Squared distance at which a pair is as bad as none; rows beyond stay unmatched. None matches the
        smaller cloud completely.
    n_neighbors : int, default=16
        Length of the candidate lists of the matching; changes its time alone.
    matching : str, default='auto'
        'dense' solves all pairs by scipy, 'sparse' grows candidate lists until the result is proven
        optimal, 'auto' takes the first where the clouds are small and most rows compete for a partner.
    refine : bool, default=True
        Whether matching and map are alternated after the start.
    max_iter : int, default=100
        Most alternations.
    tol : float, default=1e-9
        Relative decrease of the cost below which they stop.
    random_state : int, Generator, RandomState or None, default=None
        Seed of restarts and samples.
    n_jobs : int or None, default=None
        Threads for starts and neighbour searches. Results do not depend on it.
    verbose : int, default=0
        Whether progress is shown.

    Attributes
    ----------
    rotation_ : ndarray of shape (n_features, n_features)
        Orthogonal matrix.
    translation_ : ndarray of shape (n_features,)
        Shift.
    scale_ : float
        Factor on lengths.
    assignment_ : ndarray of shape (n_x,), int64
        Row of Y for each row of X, -1 where unmatched.
    inverse_assignment_ : ndarray of shape (n_y,), int64
        Row of X for each row of Y, -1 where unmatched.
    cost_ : float
        Mean squared residual of the matched pairs.
    n_matched_ : int
        Number of matched pairs.
    certified_ : bool
        Whether the matching was proven optimal for its map.
    cost_gap_ : float
        Cost of the best rival map over that of this one; near 1 the alignment is ambiguous.
    candidate_costs_ : ndarray
        Of each start, best first: the matched cost, or the soft residual where no exact matching was run.
    noise_variance_ : float
        Estimated variance of the noise in each coordinate.
    information_ : float
        Information of a matched pair, in nats; exact recovery needs about ``2 log n``.
    failure_bound_ : float
        Bound of the probability that the best matching under the right rotation is not the true one.
    recovery_ : str
        'exact', 'almost' or 'unreliable': what to expect at the estimated noise, a heuristic.
    mixing_angles_ : ndarray
        Predicted standard deviation of the mixing angle of adjacent axes, in radians.
    eigenvalues_x_, eigenvalues_y_ : ndarray
        Variances along the principal axes.
    n_directions_ : int
        Axes whose signs were enumerated for the winner, 0 if none were.
    n_iter_ : int
        Matchings solved from the winning start.
    method_ : str
        Where the winner started.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features of X, where it is a frame with string names.

    See Also
    --------
    skfrontier.algos.exact_assignment : The matching alone, for clouds that are aligned already.
    skfrontier.algos.rigid_map : The map alone, for paired rows.

    Notes
    -----
    Proven: the matching is optimal for its map where ``certified_``; ``failure_bound_`` holds for Gaussian
    rows and a known rotation. Observed: that the start finds the right map. O(n_x n_y n_features) a round
    while ``n_x * n_y <= 9e6``, beyond that about one neighbour search a row where directions are clear.

    References
    ----------
    .. [1] Even, Ganassali, Maier, Massoulie, "Aligning embeddings and geometric random graphs",
       NeurIPS 2024, arXiv:2405.14532.

    Examples
    --------
    >>> from skfrontier.datasets import make_procrustes_wasserstein
    >>> from skfrontier.estimators import ProcrustesWasserstein
    >>> data = make_procrustes_wasserstein(300, 20, noise=0.1, random_state=0)
    >>> model = ProcrustesWasserstein(random_state=0).fit(data.X, data.Y)
    >>> bool((model.assignment_ == data.assignment).all()), model.recovery_, model.certified_
    (True, 'exact', True)
    """

    def __init__(
        self,
        *,
        method="auto",
        n_directions="auto",
        n_candidates=8,
        allow_reflection=True,
        translation=True,
        scaling=False,
        outlier_cost=None,
        n_neighbors=16,
        matching="auto",
        refine=True,
        max_iter=100,
        tol=1e-9,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.method = method
        self.n_directions = n_directions
        self.n_candidates = n_candidates
        self.allow_reflection = allow_reflection
        self.translation = translation
        self.scaling = scaling
        self.outlier_cost = outlier_cost
        self.n_neighbors = n_neighbors
        self.matching = matching
        self.refine = refine
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X, Y, *, anchors=None):
        """Align two clouds.

        Parameters
        ----------
        X : array-like of shape (n_x, n_features)
            The cloud that is mapped.
        Y : array-like of shape (n_y, n_features)
            The cloud into whose frame it is mapped; any number of rows.
        anchors : array-like of shape (m, 2), int, or None, default=None
            Pairs of rows (of X, of Y) that are known to match.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If a cloud, an anchor or a parameter is not as described; an earlier fit is then kept.

        Warns
        -----
        AmbiguousAlignmentWarning
            If another map with another matching costs less than 5 % more.
        ConvergenceWarning
            If the matching could not be certified.
        UserWarning
            If directions carry too little, the clouds span too little, or too few pairs are left.
        """
        settings = Settings.checked(
            **{field.name: getattr(self, field.name) for field in fields(Settings)}
        )
        rng = check_generator(self.random_state)
        trial = clone(self)  # a failed fit leaves this one untouched
        source = validate_data(trial, X, dtype=_FLOATS, ensure_min_samples=2)
        target = self._read_target(Y, "Y")
        if target.shape[1] != source.shape[1]:
            raise ValueError(
                f"X and Y must have the same number of features, got {source.shape[1]} and "
                f"{target.shape[1]}."
            )
        pairs = check_anchors(anchors, len(source), len(target))
        result = align(source, target, settings, pairs, rng)
        if not result.certified:
            warnings.warn(
                "the matching is not certified: the clouds are far from each other under the best map "
                "found. Give anchors, or remove rows without a partner by outlier_cost.",
                ConvergenceWarning,
                stacklevel=2,
            )
        validate_data(self, X, skip_check_array=True)
        self._keep(result, target, _get_feature_names(Y))
        return self

    def fit_transform(self, X, Y, *, anchors=None):
        """Align two clouds, and map the first.

        Parameters
        ----------
        X, Y, anchors
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_x, n_features)
        """
        return self.fit(X, Y, anchors=anchors).transform(X)

    def transform(self, X):
        """Map rows into the frame of Y.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows in the frame of the fitted X.

        Returns
        -------
        ndarray of shape (n, n_features)
            ``scale_ * X @ rotation_.T + translation_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=_FLOATS, reset=False)
        return self._map().apply(X)

    def inverse_transform(self, Y):
        """Map rows of Y's frame back.

        Parameters
        ----------
        Y : array-like of shape (n, n_features)
            Rows in the frame of the fitted Y.

        Returns
        -------
        ndarray of shape (n, n_features)
        """
        check_is_fitted(self)
        return self._map().invert().apply(self._read_target(Y, "Y", fitted=True))

    def match(self, X, *, distance=False):
        """Nearest row of the fitted Y for each row, several may have the same.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows in the frame of the fitted X.
        distance : bool, default=False
            Whether to return distances too.

        Returns
        -------
        index : ndarray of shape (n,), int64
        distance : ndarray of shape (n,)
            Only with ``distance=True``.
        """
        wanted = check_flag(distance, "distance")
        moved = np.ascontiguousarray(self.transform(X), dtype=np.float64)
        centre = self._target.mean(axis=0, dtype=np.float64)
        search = NearestRows(self._target - centre, self.n_jobs)
        squared, index = search.nearest(moved - centre)
        return (index, np.sqrt(squared)) if wanted else index

    def score(self, X, Y):
        """Minus the mean squared cost of the best one-to-one matching of mapped rows to Y.

        Parameters
        ----------
        X, Y : array-like of shape (n_x, n_features) and (n_y, n_features)
            Clouds in the frames of the fitted ones.

        Returns
        -------
        float
            At most 0; larger is better.
        """
        moved = self.transform(X)
        target = self._read_target(Y, "Y", fitted=True)
        result = exact_assignment(moved, target, n_neighbors=self.n_neighbors, n_jobs=self.n_jobs)
        return -result.cost / min(len(moved), len(target))

    def get_feature_names_out(self, input_features=None):
        """Column names of Y if it was a frame with string names, else numbered ones.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Checked against the features of X, otherwise ignored.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        if input_features is not None:
            _check_feature_names_in(self, input_features)
        if self._target_names is not None:
            return self._target_names
        return super().get_feature_names_out(None)

    def _keep(self, result: ProcrustesWassersteinResult, target: np.ndarray, names: Any) -> None:
        for field in fields(result):
            setattr(self, f"{field.name}_", getattr(result, field.name))
        self._target = target.copy()
        self._target_names = names
        self._n_features_out = target.shape[1]

    def _map(self) -> RigidMap:
        return RigidMap(self.rotation_, self.translation_, self.scale_)

    def _read_target(self, Y: Any, name: str, *, fitted: bool = False) -> np.ndarray:
        if Y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: Y is the second cloud."
            )
        array = check_array(
            Y, dtype=_FLOATS, input_name=name, ensure_min_samples=1 if fitted else 2
        )
        if fitted and array.shape[1] != self.n_features_in_:
            raise ValueError(
                f"{name} has {array.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return array
