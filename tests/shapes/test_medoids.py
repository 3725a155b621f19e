"""Medoids: the estimator against brute force under every kind of rule, and laws of its parts."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from metrics_of import arcs
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMedoids,
    GroupShares,
    InfeasibleConstraintsError,
    LinearConstraint,
    MustLink,
    Pin,
)
from corral.deadline import NEVER
from corral.exact import broken
from corral.rules import presolve
from corral.shapes import medoids
from corral.shapes.fasterpam import draw_medoids, swap_medoids

N, K = 7, 3


@parametrize_with_checks([ConstrainedKMedoids(3)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def rules_of(kind, rng):
    """Rules of one kind that N rows in K clusters can obey."""
    values = rng.integers(1, 6, N)
    row = sparse.random_array((2, N * K), density=0.3, rng=rng)
    return {
        "none": [],
        "joined": [MustLink([(0, 1), (1, 2), (5, 6)])],
        "apart": [CannotLink([(0, 1), (1, 2), (3, 4)]), Pin([(3, 1)])],
        "sizes": [ClusterSizes([2, 2, 3])],
        "ordered": [ClusterSizes([1, 2, 4], ordered=True)],
        "pinned": [ClusterSizes([2, 2, 3]), Pin([(3, 1), (5, 0)])],
        "totals": [ClusterTotals(values, maximum=int(np.ceil(values.sum() / K)) + 2)],
        "shares": [GroupShares(list("aabbaba"), minimum={"a": 0.3}, maximum={"a": 0.7})],
        "soft": [CannotLink([(0, 1), (2, 3)], weight=0.3), MustLink([(4, 5)], weight=0.2)],
        "linear": [LinearConstraint(row, upper=[1.5, 2.0])],
    }[kind]


KINDS = (
    "none",
    "joined",
    "apart",
    "sizes",
    "ordered",
    "totals",
    "shares",
    "soft",
    "linear",
    "pinned",
)


def best_of_all(distance, rules, weight, k, inside=True):
    """Least objective over all labels that obey the rules, and all medoids, by trying all.

    With ``inside`` the medoid of a cluster is one of its members.
    """
    n, c = distance.shape
    given = presolve(rules, n, k, contract=False)
    every = np.array([*product(range(k), repeat=n)])
    every = every[[not broken(given, labels, any_order=True) for labels in every]]
    soft = np.array([given.soft.cost(labels) for labels in every])
    best = np.inf
    for chosen in permutations(range(c), k):
        value = distance[np.arange(n), np.array(chosen)[every]] @ weight + soft
        if inside:
            for j, medoid in enumerate(chosen):
                value[(every == j).any(axis=1) & (every[:, medoid] != j)] = np.inf
        best = min(best, value.min())
    return best


@pytest.mark.parametrize("kind", KINDS)
def test_small_problems_are_solved_to_the_optimum(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    X, weight = rng.normal(size=(N, 2)), rng.uniform(0.5, 2.0, N)
    rules = rules_of(kind, rng)
    model = ConstrainedKMedoids(K, metric="manhattan", random_state=0)
    model.fit(X, constraints=rules, sample_weight=weight)
    distance = cdist(X, X, "cityblock")
    assert model.report_.feasible
    assert np.array_equal(model.labels_[model.medoid_indices_], np.arange(K))
    own = distance[np.arange(N), model.medoid_indices_[model.labels_]]
    assert model.inertia_ == pytest.approx(weight @ own)
    assert model.report_.objective == pytest.approx(best_of_all(distance, rules, weight, K))


@pytest.mark.parametrize("kind", ["none", "sizes", "totals", "apart"])
def test_candidates_that_are_no_rows(kind):
    rng = np.random.default_rng(10)
    distance = rng.uniform(1.0, 9.0, (N, 5))  # asymmetric, and no metric
    rules = rules_of(kind, rng)
    model = ConstrainedKMedoids(K, metric="precomputed", random_state=0)
    model.fit(distance, constraints=rules)
    assert len(set(model.medoid_indices_)) == K
    best = best_of_all(distance, rules, np.ones(N), K, inside=False)
    assert model.inertia_ == pytest.approx(best)


def test_a_square_matrix_need_not_be_symmetric():
    """Entry (i, j) is the distance of row i to the medoid j."""
    distance = np.random.default_rng(11).uniform(1.0, 9.0, (N, N))
    np.fill_diagonal(distance, 0.0)
    model = ConstrainedKMedoids(K, metric="precomputed", random_state=0).fit(distance)
    assert model.inertia_ == pytest.approx(best_of_all(distance, [], np.ones(N), K))


def test_no_swap_pays_after_swaps():
    rng = np.random.default_rng(12)
    cost = rng.uniform(size=(40, 30))
    medoids = swap_medoids(cost, np.array([3, 1, 4, 15]), NEVER)
    value = cost[:, medoids].min(axis=1).sum()
    for i, c in product(range(4), range(30)):
        other = medoids.copy()
        other[i] = c
        assert cost[:, other].min(axis=1).sum() >= value - 1e-12


def test_drawn_medoids_differ_also_among_equal_rows():
    cost = np.zeros((6, 6))
    assert len(set(draw_medoids(cost, 6, np.random.RandomState(0)))) == 6
    model = ConstrainedKMedoids(4).fit(np.ones((6, 2)))
    assert len(set(model.medoid_indices_)) == len(set(model.labels_)) == 4


def fitted(distance, seed=0, **options):
    model = ConstrainedKMedoids(3, metric="precomputed", random_state=seed)
    return model.fit(distance, **options)


def test_units_and_the_order_of_rows_change_nothing():
    rng = np.random.default_rng(13)
    X, demand = rng.normal(size=(12, 2)), rng.integers(1, 9, 12)
    distance, order = cdist(X, X), rng.permutation(12)
    full = int(demand.sum() / 3) + 4
    one = fitted(distance, constraints=ClusterTotals(demand, maximum=full))
    large = fitted(distance * 1024.0, constraints=ClusterTotals(demand, maximum=full))
    assert np.array_equal(one.labels_, large.labels_)
    assert large.inertia_ == pytest.approx(1024.0 * one.inertia_)
    other = fitted(
        distance[np.ix_(order, order)], constraints=ClusterTotals(demand[order], maximum=full)
    )
    assert other.inertia_ == pytest.approx(one.inertia_)


def test_a_weight_of_two_is_a_row_given_twice():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(12, 2))
    weight = rng.integers(1, 4, 12)
    twice = np.repeat(np.arange(12), weight)
    weighted = ConstrainedKMedoids(3, random_state=0).fit(X, sample_weight=weight)
    repeated = ConstrainedKMedoids(3, random_state=0).fit(X[twice])
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)


def test_metrics_of_every_kind_agree():
    rng = np.random.default_rng(15)
    X = rng.normal(size=(30, 3))
    ours = ConstrainedKMedoids(3, metric="chebyshev", random_state=0).fit(X)
    called = ConstrainedKMedoids(3, metric=lambda x, y: np.abs(x - y).max(), random_state=0).fit(X)
    given = ConstrainedKMedoids(3, metric="precomputed", random_state=0)
    given.fit(pairwise_distances(X, metric="chebyshev"))
    assert np.array_equal(ours.medoid_indices_, called.medoid_indices_)
    assert np.array_equal(ours.medoid_indices_, given.medoid_indices_)
    new = rng.normal(size=(9, 3))
    expected = pairwise_distances(new, X[ours.medoid_indices_], metric="chebyshev")
    np.testing.assert_allclose(ours.transform(new), expected)
    np.testing.assert_allclose(called.transform(new), expected)
    columns = pairwise_distances(new, X, metric="chebyshev")
    assert np.array_equal(given.predict(columns), expected.argmin(axis=1))


def test_haversine_takes_degrees_and_gives_kilometres():
    rng = np.random.default_rng(19)
    X = np.column_stack([rng.uniform(-80, 80, 20), rng.uniform(170, 190, 20)])
    X[::2, 1] -= 360.0 * (X[::2, 1] > 180.0)
    model = ConstrainedKMedoids(3, metric="haversine", random_state=0)
    model.fit(X, constraints=ClusterSizes(maximum=8))
    given = ConstrainedKMedoids(3, metric="precomputed", random_state=0)
    given.fit(arcs(X, X), constraints=ClusterSizes(maximum=8))
    assert model.inertia_ == pytest.approx(given.inertia_)
    np.testing.assert_allclose(model.transform(X), arcs(X, model.cluster_centers_), atol=1e-9)
    assert "kilometres" in str(model.report_)
    assert "square" not in str(model.report_)


def test_distances_far_from_the_origin_keep_their_digits():
    X = np.random.default_rng(16).normal(size=(30, 2))
    near = ConstrainedKMedoids(3, random_state=0).fit(X)
    far = ConstrainedKMedoids(3, random_state=0).fit(X + 1e8)
    assert np.array_equal(near.labels_, far.labels_)
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-6)


def test_sparse_rows_and_gaps():
    X = np.random.default_rng(17).integers(0, 3, (20, 5)).astype(float)
    dense = ConstrainedKMedoids(3, metric="manhattan", random_state=0).fit(X)
    thin = ConstrainedKMedoids(3, metric="manhattan", random_state=0).fit(sparse.csr_array(X))
    assert np.array_equal(dense.medoid_indices_, thin.medoid_indices_)
    X[0, 0] = np.nan
    model = ConstrainedKMedoids(3, metric="nan_euclidean", random_state=0).fit(X)
    expected = pairwise_distances(X, metric="nan_euclidean")
    own = expected[np.arange(20), model.medoid_indices_[model.labels_]]
    assert model.inertia_ == pytest.approx(own.sum())


def test_a_cluster_that_stays_empty_has_no_medoid():
    X = np.arange(5.0)[:, None]
    model = ConstrainedKMedoids(2, random_state=0)
    model.fit(X, constraints=MustLink([(i, i + 1) for i in range(4)]))
    (used,) = set(model.labels_)
    assert model.medoid_indices_[used] == 2
    assert model.medoid_indices_[1 - used] == -1
    assert np.array_equal(model.predict([[9.0]]), [used])


def test_medoids_given_are_the_start():
    X = np.random.default_rng(18).normal(size=(50, 2))
    distance, init = cdist(X, X), np.array([4, 8, 15])
    model = ConstrainedKMedoids(3, init=init).fit(X)
    assert np.array_equal(model.medoid_indices_, swap_medoids(distance, init, NEVER))


def test_contradictions_are_told():
    model = ConstrainedKMedoids(2)
    with pytest.raises(InfeasibleConstraintsError):
        model.fit(np.zeros((3, 1)), constraints=[MustLink([(0, 1)]), CannotLink([(0, 1)])])
    with pytest.raises(InfeasibleConstraintsError):
        model.fit(np.zeros((3, 1)), constraints=ClusterTotals([4, 4, 4], maximum=7))
    assert not hasattr(model, "labels_")


SQUARE = np.ones((4, 4)) - np.eye(4)


def changed(i, j, value):
    distance = SQUARE.copy()
    distance[i, j] = value
    return distance


@pytest.mark.parametrize(
    ("parameters", "X", "words"),
    [
        ({"metric": "precomputed"}, changed(1, 2, -0.5), "distance -0.5 of row 1 to column 2"),
        ({"metric": "precomputed"}, changed(1, 2, np.nan), "NaN"),
        ({"metric": "precomputed"}, changed(2, 2, 3.0), "distance 3.0 of row 2 to itself"),
        ({"metric": "precomputed"}, SQUARE[:, :1], "distances to 1 candidates"),
        ({"metric": "precomputed"}, changed(1, 2, 1.7e308) + changed(2, 1, 1.7e308), "infinite"),
        ({"metric": lambda x, y: x - y}, SQUARE, r"array of shape \(4,\)"),
        ({"metric": lambda x, y: "far"}, SQUARE, "'far' for two rows"),
        ({"metric": lambda x, y: -1.0}, SQUARE, "distance -1.0 of row 0 to row 0"),
        ({"metric": lambda x, y: np.nan}, SQUARE, "distance nan"),
        ({"metric": lambda x, y: 1.0}, SQUARE, "of row 0 to itself"),
        ({"metric": "straight"}, SQUARE, "metric"),
        ({"metric": "haversine"}, SQUARE, "X has 4 columns"),
        ({"metric": "haversine"}, 91.0 * SQUARE[:, :2], "row 1 of X has latitude 91"),
        ({"n_clusters": 5}, SQUARE, "n_clusters"),
        ({"n_init": 0}, SQUARE, "`n_init` is 0"),
        ({"init": "random"}, SQUARE, "`init` is 'random'"),
        ({"init": [1, 1]}, SQUARE, "2 different indices"),
        ({"init": [1, 9]}, SQUARE, "names candidate 9"),
    ],
)
def test_bad_input(parameters, X, words):
    model = ConstrainedKMedoids(**{"n_clusters": 2, **parameters})
    with pytest.raises(ValueError, match=words):
        model.fit(X)
    assert not hasattr(model, "labels_")


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(medoids, "memory_at", lambda: 2**20)
    with pytest.raises(MemoryError, match="1,000 rows to 1,000 candidates"):
        ConstrainedKMedoids(2).fit(np.zeros((1000, 1)))


def test_a_time_limit_ends_with_an_answer():
    rng = np.random.default_rng(19)
    X, demand = rng.normal(size=(60, 2)), rng.integers(1, 9, 60)
    rules = ClusterTotals(demand, maximum=int(demand.sum() / 10) + 3)
    model = ConstrainedKMedoids(10, random_state=0, time_limit=0.3, effort=1e3)
    with pytest.warns(match="ended by the time limit"):
        model.fit(X, constraints=rules)
    assert model.report_.feasible


def test_equal_clusters_are_numbered_by_their_first_row():
    corners = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0], [40.0, 40.0]])
    X = np.concatenate([corner + np.array([[0, 0], [0, 1], [1, 0]]) for corner in corners])
    order = np.random.default_rng(0).permutation(len(X))
    for seed in range(4):
        labels = ConstrainedKMedoids(4, random_state=seed).fit(X[order]).labels_
        first = [labels.tolist().index(cluster) for cluster in range(4)]
        assert first == sorted(first)


@pytest.mark.parametrize("rules", [None, ClusterSizes([20, 20])])
def test_single_precision_is_kept(rules):
    X = np.random.default_rng(20).normal(size=(40, 3)).astype(np.float32)
    single = ConstrainedKMedoids(2, random_state=0).fit(X, constraints=rules)
    double = ConstrainedKMedoids(2, random_state=0).fit(X.astype(np.float64), constraints=rules)
    assert np.array_equal(single.labels_, double.labels_)
    assert single.cluster_centers_.dtype == single.transform(X).dtype == np.float32
    assert double.cluster_centers_.dtype == np.float64
    assert np.array_equal(single.cluster_centers_, X[single.medoid_indices_])
    assert np.allclose(single.transform(X), double.transform(X.astype(np.float64)))
    assert single.n_iter_ == double.n_iter_ >= 1
    sparse_one = ConstrainedKMedoids(2, random_state=0).fit(sparse.csr_array(X), constraints=rules)
    assert sparse_one.cluster_centers_.dtype == np.float32


@pytest.mark.parametrize("rules", [None, ClusterSizes([10, 10])])
def test_draws_beside_medoids_that_were_given_are_warned_of(rules, recwarn):
    X = np.random.default_rng(21).normal(size=(20, 2))
    with pytest.warns(RuntimeWarning, match="`n_init` is 4, but `init` has the medoids"):
        ConstrainedKMedoids(2, init=[0, 1], n_init=4, random_state=0).fit(X, constraints=rules)
    recwarn.clear()
    for number in (1, "auto"):
        ConstrainedKMedoids(2, init=[0, 1], n_init=number).fit(X, constraints=rules)
    assert not recwarn.list


COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]])
WITH_PARAMS = {
    "minkowski": {"p": 3},
    "seuclidean": {"V": np.array([1.0, 9.0])},
    "mahalanobis": {"VI": np.linalg.inv(COVARIANCE)},
}


@pytest.mark.parametrize("name", [*WITH_PARAMS, "callable"])
@pytest.mark.parametrize("given", [True, False])
def test_parameters_of_the_metric_are_those_of_scipy(name, given):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(20, 2)), rng.normal(size=(5, 2))
    params = WITH_PARAMS.get(name, {"power": 0.5}) if given else {}
    if name == "callable":
        metric, plain = (lambda x, y, power=1.0: np.abs(x - y).sum() ** power), None
    else:
        metric, plain = name, dict(params)
    if not given and name == "seuclidean":
        plain = {"V": X.var(axis=0, ddof=1)}
    if not given and name == "mahalanobis":
        plain = {"VI": np.linalg.inv(np.cov(X.T))}

    def between(one, other):
        if plain is None:
            return np.abs(one[:, None] - other).sum(axis=2) ** params.get("power", 1.0)
        return cdist(one, other, metric, **plain)

    rules = ClusterSizes(minimum=4)
    model = ConstrainedKMedoids(3, metric=metric, metric_params=params or None, random_state=0)
    labels = model.fit_predict(X, constraints=rules)
    far = between(X, X)
    same = ConstrainedKMedoids(3, metric="precomputed", random_state=0).fit(far, constraints=rules)
    assert model.inertia_ == pytest.approx(same.inertia_)
    assert model.inertia_ == pytest.approx(far[np.arange(20), model.medoid_indices_[labels]].sum())
    np.testing.assert_allclose(model.transform(new), between(new, model.cluster_centers_))


@pytest.mark.parametrize(
    ("metric", "params", "message"),
    [
        ("minkowski", [3], "`metric_params` is .*; it must be a dict"),
        ("haversine", {"p": 3}, "metric='haversine' has no parameters"),
        ("precomputed", {"p": 3}, "metric='precomputed' has no parameters"),
        ("mahalanobis", {"VI": np.eye(1)}, r"VI of shape \(1, 1\), but X has 2 features"),
        ("mahalanobis", {"VI": np.eye(5)}, r"VI of shape \(5, 5\), .* must be of shape \(2, 2\)"),
        ("seuclidean", {"V": [1.0, 2.0, 3.0]}, "metric='seuclidean' refuses: .* dimension"),
        ("minkowski", {"p": -1}, "p=-1; metric='minkowski' needs p > 0"),
        ("minkowski", {"q": 3}, r"is \{'q': 3\}, which metric='minkowski' refuses: "),
        ("cityblock", {"w": [1, 2]}, "metric='cityblock' refuses: .*'w'"),
    ],
)
def test_wrong_parameters_of_a_metric_are_refused(metric, params, message):
    model = ConstrainedKMedoids(2, metric=metric, metric_params=params)
    with pytest.raises(ValueError, match=message):
        model.fit(np.eye(2))
    with pytest.raises(ValueError, match="covariance of X has no inverse"):
        ConstrainedKMedoids(2, metric="mahalanobis").fit(np.ones((4, 2)))


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_medoids_to_start_from_are_indices_coordinates_or_a_function(sparse_rows):
    X = np.random.default_rng(1).integers(0, 3, (30, 2)).astype(float)
    at = [3, 17, 29]
    X[at] = [[5, 5], [5, 5], [9, 9]]
    given = sparse.csr_array(X) if sparse_rows else X
    calls = []

    def init(points, n_clusters, random_state):
        calls.append((points.shape, n_clusters, type(random_state)))
        return X[at]

    wanted = ConstrainedKMedoids(3, init=at, random_state=0).fit(given)
    for start in (X[at], X[at].tolist(), init):
        found = ConstrainedKMedoids(3, init=start, random_state=0).fit(given)
        np.testing.assert_array_equal(found.labels_, wanted.labels_)
        np.testing.assert_array_equal(found.medoid_indices_, wanted.medoid_indices_)
    assert calls == [((30, 2), 3, np.random.RandomState)]
    for wrong, fault in (([5, 4.5], "equals no row of X"), ([9, 9], "fewer rows than it is given")):
        with pytest.raises(ValueError, match=fault):
            ConstrainedKMedoids(3, init=[[5, 5], [9, 9], wrong]).fit(given)
