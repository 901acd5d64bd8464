"""Each topic on real data that ships with scikit-learn: the answer, its error, its time, the peer's."""

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import ndimage
from scipy.optimize import linear_sum_assignment
from scipy.spatial import distance_matrix
from sklearn.cluster import SpectralClustering
from sklearn.covariance import GraphicalLassoCV
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin_min
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelPropagation
from sklearn.tree import DecisionTreeClassifier

from skfrontier.algos import (
    best_switching_loss,
    chamfer_distance,
    decode_masked,
    delta_rule,
    invert_lower,
)
from skfrontier.datasets import (
    load_hares,
    load_module_lines,
    make_dynamic_matching,
    make_knn_stream,
    make_model_selection_bandit,
    make_template_sequences,
    make_view_pair,
)
from skfrontier.estimators import (
    UCB1,
    DynamicMatching,
    DynamicSpectralClustering,
    FastGaussNewtonClassifier,
    GraphACV,
    OutputResidualApproximator,
    ProcrustesWasserstein,
    SignedLabelPropagation,
    StaticDynamicBandit,
    TruncatedBooleanProduct,
)


def seconds(work: Callable[[], Any]) -> tuple[Any, float]:
    """Result of ``work``, and how long it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def augmented(images: np.ndarray) -> np.ndarray:
    """Every image under nine shifts and five rotations, as rows."""
    angles = (-12, -6, 0, 6, 12)
    rotated = [ndimage.rotate(images, a, axes=(1, 2), reshape=False, order=1) for a in angles]
    shifted = [np.roll(r, (i, j), (1, 2)) for r in rotated for i in (-1, 0, 1) for j in (-1, 0, 1)]
    return np.concatenate(shifted).reshape(-1, images[0].size).astype(np.float32)


def chamfer() -> None:
    """How far are the later writers' digits from the earlier ones'?"""
    images = load_digits().images
    earlier, later = augmented(images[:900]), augmented(images[900:])
    print(
        f"Chamfer distance: {len(later)} digits to {len(earlier)} others, {later.shape[1]} pixels"
    )

    def estimate() -> Any:
        return chamfer_distance(later, earlier, reduction="mean", random_state=0, return_info=True)

    _, first = seconds(estimate)
    (value, info), again = seconds(estimate)
    (_, distances), peer_time = seconds(lambda: pairwise_distances_argmin_min(later, earlier))
    print(f"  estimate      {value:.4f}, {info.confidence:.0%} sure of"
          f" [{info.ci_low:.4f}, {info.ci_high:.4f}]: {again:.2f} s")  # fmt: skip
    print(
        f"                (the first call, with compilation where nothing is cached: {first:.2f} s)"
    )
    print(f"  scikit-learn  {distances.mean():.4f}, exact: {peer_time:.2f} s,"
          f" {peer_time / again:.0f} times the estimate")  # fmt: skip


def procrustes_wasserstein() -> None:
    """Which digit is which, seen through noise in turned and shuffled coordinates?"""
    views = make_view_pair(load_digits().data[:600], noise=2.0, random_state=0)
    print(f"Procrustes-Wasserstein: {len(views.X)} digits in two frames, rows shuffled")

    def align() -> Any:
        return ProcrustesWasserstein(random_state=0).fit(views.X, views.Y)

    _, first = seconds(align)
    model, again = seconds(align)
    right = (model.assignment_ == views.assignment).mean()
    print(
        f"  aligned       {right:.1%} of the rows right, label '{model.recovery_}': {again:.2f} s "
        f"(first call {first:.2f} s)"
    )


def bandits() -> None:
    """Which model should classify the next digit, while the noise on them comes and goes?"""
    X, y = load_digits(return_X_y=True)
    models = [
        GaussianNB(),
        DecisionTreeClassifier(max_depth=6, random_state=0),
        *(KNeighborsClassifier(k) for k in (1, 5, 25)),
    ]
    losses, meta = make_model_selection_bandit(
        X, y, models, n_windows=40, random_state=0, return_meta=True
    )
    n_rounds, n_models = losses.shape
    print(f"Bandits: {n_models} models, {n_rounds} rounds, {meta['n_segments']} segments")

    best = best_switching_loss(losses, meta["n_segments"])[-1]
    for policy_class in (StaticDynamicBandit, UCB1):
        policies = [policy_class(n_models, random_state=0) for _ in range(2)]
        (_, first), (result, again) = (seconds(partial(policy.run, losses)) for policy in policies)
        excess = (result.losses.sum() - best) / n_rounds
        print(
            f"  {policy_class.__name__:<20}{excess:.3f} errors a round above the best changing choice "
            f"in hindsight: {again:.3f} s (first call {first:.2f} s)"
        )


def truncated_boolean() -> None:
    """How many hares are there, if those that were never caught are missing?"""
    hares = load_hares()
    print(
        f"Truncated Boolean data: {len(hares)} hares caught at least once in {hares.shape[1]} nights"
    )
    naive, model = (
        TruncatedBooleanProduct("nonempty", method=method).fit(hares) for method in ("naive", "mle")
    )
    estimate, stderr = model.population_size()
    print(f"  column means  {naive.probabilities_.round(2)}")
    print(f"  before that   {model.probabilities_.round(2)}, {estimate:.1f} +- {stderr:.1f} hares")


def propagation() -> None:
    """Which digits are alike: a graph of nearest neighbours, few labels, and error bars."""
    X, y = load_digits(return_X_y=True)
    seen = np.where(np.random.default_rng(0).random(len(y)) < 0.05, y, -1)
    print(f"Label propagation: {len(y)} digits, {(seen >= 0).sum()} labels")
    models = {
        "forests": SignedLabelPropagation(
            graph="knn", unlabeled=-1, solver="multitree", random_state=0
        ),
        "exact": SignedLabelPropagation(graph="knn", unlabeled=-1),
        "scikit-learn": LabelPropagation(kernel="knn", n_neighbors=10, max_iter=10_000),
    }
    for name, model in models.items():
        model.fit(X, seen)
        _, again = seconds(lambda model=model: model.fit(X, seen))
        hits = (model.transduction_ == y)[seen < 0].mean()
        print(f"  {name:<14}{hits:.1%} of the others right: {again:.2f} s")


def clustering() -> None:
    """Which digits belong together, while more of them come in?"""
    stream = make_knn_stream(
        *load_digits(return_X_y=True), batch=100, order="random", random_state=0
    )
    print(f"Clustering: neighbour graph of digits, 100 more in each of {len(stream)} steps")

    def follow() -> Any:
        model = DynamicSpectralClustering(n_clusters=10, random_state=0).fit(stream.adjacency)
        for edges, truth in stream:
            labels = model.partial_fit(edges, n_vertices=len(truth)).query()
        return model, adjusted_rand_score(truth, labels)

    _, first = seconds(follow)
    (model, score), again = seconds(follow)
    A = model.adjacency()
    peer = SpectralClustering(10, affinity="precomputed", random_state=0)
    labels, refit = seconds(lambda: peer.fit_predict(A))
    peer_score = adjusted_rand_score(stream.steps[-1].labels, labels)
    print(
        f"  all steps     adjusted Rand index {score:.2f}: {again:.2f} s (first call {first:.2f} s)"
    )
    print(f"  scikit-learn  {peer_score:.2f}: {refit:.2f} s for the last step alone")


def matching() -> None:
    """Cheapest pairs of cars and riders, while both come and go."""
    A, B, ops = make_dynamic_matching(1000, 1050, n_updates=50, model="city", random_state=0)
    print(f"Matching: {len(A)} riders, {len(B)} cars, {len(ops)} changes")

    def follow() -> Any:
        model = DynamicMatching().fit(A, B)
        for op in ops:
            change = {f"{op.kind}_{op.side}": [op.value]}
            model.update(**change)
        return model.query()

    (_, first), (result, again) = seconds(follow), seconds(follow)
    costs, solve = seconds(lambda: distance_matrix(A, B))
    _, assign = seconds(lambda: linear_sum_assignment(costs))
    print(
        f"  all changes   cost {result.cost:.2f}, certified gap {result.gap:.1e}: {again:.2f} s"
        f" (first call {first:.2f} s)"
    )
    print(f"  scipy         {solve + assign:.2f} s to solve once")


def structure() -> None:
    """Which measurements of tumours depend directly on each other?"""
    X = np.log1p(load_breast_cancer().data)
    print(f"Graph structure: {X.shape[1]} measurements of {len(X)} tumours")
    _, first = seconds(lambda: GraphACV().fit(X))
    model, again = seconds(lambda: GraphACV().fit(X))
    print(
        f"  GraphACV      {len(model.edges_)} edges, about {model.expected_false_edges_:.1f} of them false: "
        f"{again:.3f} s (first call {first:.2f} s)"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of solvers that do not converge
        peer, time_of_peer = seconds(
            lambda: GraphicalLassoCV().fit(StandardScaler().fit_transform(X))
        )
    edges = (np.abs(peer.precision_) > 1e-8).sum() - X.shape[1]
    print(f"  scikit-learn  {edges // 2} edges of {X.shape[1] * (X.shape[1] - 1) // 2} pairs:"
          f" {time_of_peer:.2f} s")  # fmt: skip


def triangular_inversion() -> None:
    """Whitening matrices of patches of digits: the inverses of many Cholesky factors."""
    images = load_digits().images
    windows = np.lib.stride_tricks.sliding_window_view(images, (4, 4), axis=(1, 2))
    patches = windows.reshape(len(images), 25, 16)
    factors = np.linalg.cholesky(np.einsum("npi,npj->nij", patches, patches) + np.eye(16))
    print(f"Triangular inversion: whitening matrices of {len(factors)} digits, 16 x 16")
    _, first = seconds(lambda: invert_lower(factors))
    inverses, again = seconds(lambda: invert_lower(factors))
    peer, time_of_peer = seconds(lambda: np.linalg.inv(factors))
    print(f"  inverses      {np.abs(inverses - peer).max():.1e} from numpy's: {again:.4f} s"
          f" (first call {first:.2f} s)")  # fmt: skip
    print(f"  numpy         {time_of_peer:.4f} s")


def delta_rule_memory() -> None:
    """A memory that reads digits once, in order, and is then asked for the labels of others."""
    X, y = load_digits(return_X_y=True)
    keys = (X / np.linalg.norm(X, axis=1, keepdims=True))[None, :, None]
    values = np.eye(10)[y][None, :, None]
    strengths = np.full((1, 1200, 1), 0.5)

    def read() -> Any:
        return delta_rule(keys[:, :1200], keys[:, :1200], values[:, :1200], strengths)

    _, first = seconds(read)
    result, again = seconds(read)
    right = ((keys[0, 1200:, 0] @ result.final_state[0, 0]).argmax(1) == y[1200:]).mean()
    print(f"Delta rule: a memory of {X.shape[1]} x 10 after one look at 1200 digits")
    print(
        f"  recall        {right:.1%} of the others right: {again:.4f} s (first call {first:.2f} s)"
    )


def decoding() -> None:
    """How many masked tokens may be committed at once?"""
    model = make_template_sequences(3, 64, 20, random_state=0)
    print("Decoding: 64 masked tokens, noisy copies of three templates")
    for rule in ("top_k", "factor", "frechet"):
        result = decode_masked(model.marginals, 64, rule=rule)
        print(
            f"  {rule:<14}{64 / result.n_steps:.1f} tokens a step, all certified: {result.all_certified}, "
            f"log-probability {model.log_prob(result.tokens):.2f}"
        )


def gauss_newton() -> None:
    """Which module of the standard library do a few lines of code come from?"""
    X, y, names = load_module_lines(100, 8, 1024)
    train = np.arange(len(y)) % 8 < 6
    print(f"Many classes: {train.sum()} pieces of code, {X.shape[1]} n-grams, {len(names)} modules")
    model = FastGaussNewtonClassifier(C=100, tol=1e-6)
    _, first = seconds(lambda: model.fit(X[train], y[train]))
    _, again = seconds(lambda: model.fit(X[train], y[train]))
    peer = LogisticRegression(C=100, tol=1e-6, max_iter=1000)
    _, time_of_peer = seconds(lambda: peer.fit(X[train], y[train]))
    print(
        f"  {model.solver_:<14}{model.score(X[~train], y[~train]):.0%} of other pieces right: {again:.2f} s"
        f" (first call {first:.2f} s)"
    )
    print(f"  scikit-learn  {peer.score(X[~train], y[~train]):.0%}: {time_of_peer:.2f} s")


def output_residual() -> None:
    """How well does a fifth of the arithmetic map digits to random features, one digit a batch?"""
    X, y = load_digits(return_X_y=True)
    W = np.random.default_rng(0).normal(size=(64, 256))
    print(f"Cheaper layers: {len(X)} digits, a layer of {W.shape[0]} x {W.shape[1]}")
    half = np.arange(len(X)) % 2 == 0
    model = OutputResidualApproximator(weight=W, budget=0.2, n_probes=16, random_state=0)
    _, fit = seconds(lambda: model.fit(X[half], groups=y[half]))
    Y = model.transform(X[~half], groups=y[~half])
    exact = X[~half] @ W
    error = np.linalg.norm(Y - exact) / np.linalg.norm(exact)
    rank = int(0.2 * W.size / sum(W.shape))  # of the same arithmetic
    blind = TruncatedSVD(rank, algorithm="arpack").fit(W)
    peer = X[~half] @ blind.inverse_transform(blind.transform(W))
    peer_error = np.linalg.norm(peer - exact) / np.linalg.norm(exact)
    print(f"  corrected     error {error:.3f}, estimated {model.error_:.3f}, ranks {model.rank_} +"
          f" {model.dynamic_rank_}: {fit:.2f} s to calibrate")  # fmt: skip
    print(f"  scikit-learn  error {peer_error:.3f}: TruncatedSVD of the weight, rank {rank}")


if __name__ == "__main__":
    chamfer()
    matching()
    procrustes_wasserstein()
    bandits()
    truncated_boolean()
    propagation()
    clustering()
    structure()
    triangular_inversion()
    delta_rule_memory()
    decoding()
    gauss_newton()
    output_residual()
