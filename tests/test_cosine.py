"""Cosine distance: gains from their definitions, brute force, invariances, shards, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from local_shards import brought_home, cut, fit_shards
from metrics_of import cosine_objective, least
from scipy import sparse
from scipy.stats import special_ortho_group
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import cosine_distances
from sklearn.preprocessing import normalize

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, MustLink, Pin, audit
from corral.rows import METRICS, MemoryTable

RNG = np.random.default_rng(0)
N, D, K = 40, 4, 3
X = RNG.normal(size=(N, D)) * RNG.lognormal(size=(N, 1))
WEIGHT = RNG.uniform(0.5, 2.0, N)
LABELS = np.arange(N) % K


def fit(points, k=K, rules=None, weight=None, **parameters):
    given = {"n_init": 1, "random_state": 0, **parameters}
    model = ConstrainedKMeans(k, metric="cosine", **given)
    return model.fit(points, constraints=rules, sample_weight=weight)


@pytest.fixture(scope="module")
def rows():
    return MemoryTable(X, WEIGHT, metric=METRICS["cosine"]).rows(None)


@pytest.fixture(scope="module")
def squares(rows):
    return rows.distances(rows.means(LABELS, K))


def test_distances_and_inertia_are_those_of_the_cosine(rows, squares):
    centers = rows.means(LABELS, K)
    np.testing.assert_allclose(squares, cosine_distances(X, centers + rows.middle), atol=1e-12)
    assert rows.inertia(LABELS, centers) == pytest.approx(cosine_objective(X, LABELS, WEIGHT))


def test_a_centre_that_is_off_costs_its_stiffness(rows):
    centers, mass = rows.means(LABELS, K), rows.mass(LABELS, K)
    held = rows.distance.stiffness(lambda: rows.sums(LABELS, K), mass, rows.middle)
    off = rows.means((LABELS + np.arange(N) % 2) % K, K)
    rise = rows.inertia(LABELS, off) - rows.inertia(LABELS, centers)
    assert rise == pytest.approx(held @ ((off - centers) ** 2).sum(axis=1))
    assert rows.distance.gained(held, off, centers).sum() == pytest.approx(rise)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_joined_rows_cost_what_their_members_do(kind):
    group = np.arange(N) // 2
    table = MemoryTable(kind(X), WEIGHT, metric=METRICS["cosine"])
    apart, joined = table.rows(None), table.rows(group)
    centers = apart.means(LABELS, K) + apart.middle
    expected = apart.costs(centers - apart.middle).dense()
    expected = expected[::2] + expected[1::2]
    found = joined.costs(centers - joined.middle).dense()
    # But for a constant of the group, which the scatter holds.
    np.testing.assert_allclose(found - found[:, :1], expected - expected[:, :1], atol=1e-12)
    assert (expected - found)[:, 0].sum() == pytest.approx(joined.scatter)


RULES = {
    "free": [],
    "sizes": [ClusterSizes([2, 3, 3])],
    "links": [MustLink([(0, 1), (2, 3)]), CannotLink([(0, 2), (4, 5)])],
    "all": [
        MustLink([(0, 5)]),
        CannotLink([(1, 2)]),
        Pin({3: 1}),
        ClusterSizes(minimum=2, maximum=4),
    ],
}


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_no_labels_are_better(rules):
    points = np.random.default_rng(3).normal(size=(8, 3))
    model = fit(points, rules=rules, n_init=3)
    assert model.report_.feasible
    assert model.inertia_ == pytest.approx(cosine_objective(points, model.labels_))
    assert model.inertia_ <= least(8, 3, rules, lambda own: cosine_objective(points, own)) + 1e-9


def test_soft_pairs_are_paid_in_cosine_distances():
    rules = [CannotLink([(0, 3), (1, 4)], weight=0.1), ClusterSizes([13, 13, 14])]
    report = fit(X, rules=rules).report_
    assert report.objective == pytest.approx(
        report.inertia + 0.1 * report.entries[0].violations.count
    )


def test_lengths_of_rows_and_rotations_change_nothing():
    rules, turn = [ClusterSizes([10, 15, 15])], special_ortho_group.rvs(D, random_state=0)
    model = fit(X, rules=rules)
    longer = fit(X * np.random.default_rng(1).uniform(1e-30, 1e30, (N, 1)), rules=rules)
    np.testing.assert_array_equal(longer.labels_, model.labels_)
    np.testing.assert_allclose(longer.cluster_centers_, model.cluster_centers_)
    turned = fit(X @ turn, rules=rules)
    assert turned.inertia_ == pytest.approx(model.inertia_)


def test_not_above_k_means_on_unit_rows():
    rng = np.random.default_rng(5)
    for n, d, k in ((300, 5, 4), (400, 30, 6)):
        points = rng.normal(size=(n, d)) + 2.0 * rng.normal(size=(k, d))[rng.integers(0, k, n)]
        labels = KMeans(k, n_init=3, random_state=0).fit_predict(normalize(points))
        assert fit(points, k).inertia_ <= cosine_objective(points, labels) * (1.0 + 1e-3)


def test_sparse_rows_and_single_precision():
    points = np.abs(X) * (np.abs(X) > 0.3)
    points = points[points.any(axis=1)]
    model = fit(points, rules=[ClusterSizes(minimum=8)])
    other = fit(sparse.csr_array(points), rules=[ClusterSizes(minimum=8)])
    np.testing.assert_array_equal(other.labels_, model.labels_)
    assert other.inertia_ == pytest.approx(model.inertia_)
    single = fit(points.astype(np.float32), rules=[ClusterSizes(minimum=8)])
    assert single.cluster_centers_.dtype == np.float32
    assert single.inertia_ == pytest.approx(model.inertia_, rel=1e-5)


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2.0, 9_000)])
def test_shards_have_the_answer_of_memory(weight):
    noise = np.random.default_rng(7).normal(size=(9_000, 3))
    points = noise + np.repeat(4.0 * np.eye(3), 3_000, axis=0)
    rules = [ClusterSizes([3_000] * 3), MustLink([(0, 8_999), (3, 4)]), CannotLink([(0, 1)])]
    given = {"metric": "cosine", "n_init": 1, "max_samples": 900}
    there = fit_shards(points, cut(points, 3), rules, 3, weight, **given)
    assert brought_home(there) == ""
    assert there.report_.feasible
    assert there.inertia_ == pytest.approx(cosine_objective(points, there.labels_, weight))
    # Rows joined to one point are the only links, so the answer without them is a bound.
    free = fit(points, 3, rules[:1], weight, max_samples=900)
    assert there.inertia_ == pytest.approx(free.inertia_, rel=2e-3)


def test_new_rows():
    model = fit(X, rules=[ClusterSizes([10, 15, 15])])
    new = np.random.default_rng(9).normal(size=(20, D))
    expected = cosine_distances(new, model.cluster_centers_)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0)
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new), expected.argmin(axis=1))
    weight = np.linspace(0.0, 1.0, 20)
    assert model.score(new, sample_weight=weight) == pytest.approx(-weight @ expected.min(axis=1))
    placed = model.assign(new, constraints=ClusterSizes([0, 0, 20]))
    assert np.bincount(placed, minlength=3).max() == 20


def test_the_audit_has_the_definition():
    report = audit(X, LABELS, None, K, WEIGHT, metric="cosine")
    assert report.inertia == pytest.approx(cosine_objective(X, LABELS, WEIGHT))
    assert "cosine" in str(report)
    assert audit(sparse.csr_array(X), LABELS, None, K, WEIGHT, metric="cosine").inertia == (
        pytest.approx(report.inertia)
    )
    with pytest.raises(ValueError, match="row 1 of X is zero"):
        audit([[1.0], [0.0]], [0, 0], None, 1, metric="cosine")
    with pytest.raises(ValueError, match="`metric` is 'l1'"):
        audit([[1.0], [0.0]], [0, 0], None, 1, metric="l1")


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_row_of_zeros_is_refused_by_name(kind):
    points = X.copy()
    points[7] = 0.0
    for call in (fit, fit(X).predict, fit(X).transform, fit(X).assign):
        with pytest.raises(ValueError, match="row 7 of X has zeros in every column"):
            call(kind(points))


def test_names_of_rows_are_in_the_error():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1.0, 2.0], [0.0, 0.0]], index=["tea", "coffee"])
    with pytest.raises(ValueError, match=r"row 1 \('coffee'\) of X has zeros"):
        fit(frame, 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metric": "manhattan"}, "`metric` is 'manhattan'; it must be 'euclidean' or 'cosine'"),
        ({"metric": None}, "`metric` is None"),
        ({"metric": "cosine", "prove": 1.0}, "lower bounds are known for metric='euclidean'"),
        ({"metric": "cosine", "solver": "exact"}, "`solver` is 'exact' and `metric` is 'cosine'"),
        ({"metric": "haversine", "solver": "algorithm1"}, "`solver` is 'algorithm1'"),
        ({"metric": "cosine", "init": np.zeros((2, 2))}, "centre 0 has zeros"),
    ],
)
def test_what_is_not_there_is_refused(given, message):
    model = ConstrainedKMeans(2, **given)
    with pytest.raises(ValueError, match=message):
        model.fit([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]])
    assert not hasattr(model, "labels_")
