"""Great circles: brute force, rotations, the date line and the poles, new rows, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from local_shards import cut, fit_shards
from metrics_of import RADIUS, arc_objective, arcs, in_space, least, least_arcs
from scipy import sparse
from scipy.spatial.transform import Rotation
from sklearn.metrics import adjusted_rand_score

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, MustLink, Pin, audit
from corral.rows import METRICS, MemoryTable

#: Kilometres in a degree of a great circle.
DEGREE = np.radians(RADIUS)
RULES = {
    "free": [],
    "sizes": [ClusterSizes([2, 2, 3])],
    "links": [MustLink([(0, 1), (2, 3)]), CannotLink([(0, 2), (4, 5)])],
    "all": [MustLink([(0, 5)]), CannotLink([(1, 2)]), Pin({3: 1}), ClusterSizes(minimum=2)],
}


def places(n, seed, spread=20.0, around=((40.0, 178.0), (-5.0, 100.0), (80.0, 10.0))):
    """Places about some others, near the date line and a pole among them."""
    rng = np.random.default_rng(seed)
    far = np.asarray(around)[np.arange(n) % len(around)] + rng.normal(scale=spread, size=(n, 2))
    return np.column_stack([np.clip(far[:, 0], -90, 90), (far[:, 1] + 180) % 360 - 180])


def turned(X, rotation):
    """The same places on an earth that was turned."""
    x, y, z = rotation.apply(in_space(X)).T
    return np.degrees(np.column_stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)]))


def fit(points, k=3, rules=None, weight=None, **parameters):
    given = {"n_init": 1, "random_state": 0, **parameters}
    model = ConstrainedKMeans(k, metric="haversine", **given)
    return model.fit(points, constraints=rules, sample_weight=weight)


FEW = places(7, 1)
OF_FEW = arc_objective(FEW)


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_no_labels_are_better(rules):
    model = fit(FEW, rules=rules, n_init=3)
    assert model.report_.feasible
    assert model.inertia_ == pytest.approx(OF_FEW(model.labels_), rel=1e-9)
    assert model.inertia_ <= least(len(FEW), 3, rules, OF_FEW) * (1.0 + 1e-9)


def test_centres_have_the_least_sum_of_squared_arcs():
    points, weight = places(60, 2), np.random.default_rng(0).uniform(0.1, 3.0, 60)
    model = fit(points, 4, [ClusterSizes([15] * 4)], weight)
    own = arcs(points, model.cluster_centers_)[np.arange(60), model.labels_]
    assert model.inertia_ == pytest.approx(weight @ own**2, rel=1e-9)
    for j in range(4):
        rows = model.labels_ == j
        found = weight[rows] @ own[rows] ** 2
        assert found == pytest.approx(least_arcs(points[rows], weight[rows]), rel=1e-9)


def test_groups_cost_what_their_members_do():
    points, weight, group = places(30, 3), np.linspace(0.0, 1.0, 30), np.arange(30) % 12
    rows = MemoryTable(points, weight, metric=METRICS["haversine"]).rows(group)
    centers = places(4, 4)
    at = METRICS["haversine"].taken(centers) - rows.middle
    expected = np.zeros((12, 4))
    np.add.at(expected, group, weight[:, None] * arcs(points, centers) ** 2)
    np.testing.assert_allclose(rows.costs(at).dense(), expected, rtol=1e-9)
    some = np.array([1, 5, 11])
    part = rows.take(some)
    shifted = at + (rows.middle - part.middle)
    np.testing.assert_allclose(part.costs(shifted).dense(), expected[some], rtol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_turning_the_earth_changes_nothing(seed):
    points, rules = places(45, 5, spread=8.0), [ClusterSizes([15] * 3), MustLink([(0, 1)])]
    model = fit(points, rules=rules)
    other = fit(turned(points, Rotation.random(random_state=seed)), rules=rules)
    assert other.inertia_ == pytest.approx(model.inertia_, rel=1e-9)
    assert adjusted_rand_score(other.labels_, model.labels_) == 1.0


def test_across_the_date_line_and_over_a_pole():
    points = np.array([[0, 179.0], [0, -179], [1, 180], [89, 0], [89, 180], [88, 90], [88, -90]])
    model = fit(points, 2, n_init=2)
    assert adjusted_rand_score(model.labels_, [0, 0, 0, 1, 1, 1, 1]) == 1.0
    line, pole = model.cluster_centers_[model.labels_[[0, 3]]]
    assert abs(line[1]) == pytest.approx(180.0)
    assert pole[0] == pytest.approx(90.0, abs=1e-6)
    # 0 to 360 and -180 to 180 degrees are the same places.
    same = fit(np.column_stack([points[:, 0], points[:, 1] % 360]), 2, n_init=2)
    np.testing.assert_array_equal(same.labels_, model.labels_)
    assert same.inertia_ == pytest.approx(model.inertia_)


def test_the_inertia_is_in_square_kilometres():
    points = [[0.0, 0.0], [0.0, 1.0], [60.0, 10.0], [60.0, 10.0]]
    model = fit(points, 2)
    assert model.inertia_ == pytest.approx(2.0 * (DEGREE / 2.0) ** 2)
    assert "square kilometres" in str(model.report_)
    assert model.report_.to_dict()["metric"] == "haversine"


def test_a_town_is_a_plane():
    """Within some kilometres the answer is that of the plane in kilometres."""
    rng = np.random.default_rng(0)
    plane = rng.normal(scale=2.0, size=(40, 2))
    lat = 48.0 + plane[:, 1] / DEGREE
    lon = 11.0 + plane[:, 0] / DEGREE / np.cos(np.radians(48.0))
    rules = [ClusterSizes([10] * 4)]
    model = fit(np.column_stack([lat, lon]), 4, rules)
    flat = ConstrainedKMeans(4, random_state=0, n_init=1).fit(plane, constraints=rules)
    assert model.inertia_ == pytest.approx(flat.inertia_, rel=1e-3)


def test_a_weight_of_two_is_two_places():
    points, twice = places(20, 6), np.arange(20) % 2
    model = fit(points, weight=1.0 + twice)
    other = fit(np.concatenate([points, points[twice == 1]]))
    assert model.inertia_ == pytest.approx(other.inertia_, rel=1e-9)


def test_new_rows():
    model, new = fit(places(30, 7), rules=ClusterSizes([10] * 3)), places(12, 8)
    expected = arcs(new, model.cluster_centers_)
    np.testing.assert_allclose(model.transform(new), expected, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(new), expected.argmin(axis=1))
    assert model.score(new) == pytest.approx(-(expected.min(axis=1) ** 2).sum())
    placed = model.assign(new, constraints=ClusterSizes([4] * 3, ordered=True))
    assert np.bincount(placed).tolist() == [4, 4, 4]
    start = fit(places(30, 7), init=model.cluster_centers_)
    assert start.report_.feasible


def test_the_audit_has_the_definition():
    points, labels = places(30, 9), np.arange(30) % 3
    report = audit(points, labels, None, 3, metric="haversine")
    assert report.inertia == pytest.approx(arc_objective(points)(labels), rel=1e-9)
    with pytest.raises(ValueError, match=r"row 1 of X is \[91.0, 0.0\]"):
        audit([[0.0, 0.0], [91.0, 0.0]], [0, 0], None, 1, metric="haversine")


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0.0, 0.0], [90.5, 0.0]], r"row 1 of X has latitude 90.5; it must lie in \[-90, 90\]"),
        ([[0.0, 400.0], [9.5, 0.0]], "row 0 of X has longitude 400"),
        ([[0.0, np.nan], [9.5, 0.0]], "NaN"),
        ([[0.0], [1.0]], "X has 1 columns; metric='haversine' takes two"),
        (sparse.csr_array([[0.0, 1.0], [2.0, 0.0]]), "X is sparse"),
    ],
)
def test_places_that_are_none_are_refused(points, message):
    model = ConstrainedKMeans(1, metric="haversine")
    with pytest.raises(ValueError, match=message):
        model.fit(points)
    assert not hasattr(model, "labels_")


def test_longitude_first_is_refused_by_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"lat": [0.0, 1.0], "lon": [100.0, 101.0]}, index=["a", "b"])
    assert fit(frame, 1).report_.feasible
    with pytest.raises(ValueError, match="takes the latitude first"):
        fit(frame[["lon", "lat"]], 1)
    with pytest.raises(ValueError, match=r"row 1 \('b'\) of X has latitude 99"):
        fit(frame.assign(lat=[0.0, 99.0]), 1)


def test_rows_elsewhere_are_refused():
    points = places(10, 0)
    with pytest.raises(ValueError, match="works in this process's memory, but X is on 'shards'"):
        fit_shards(points, cut(points, 2), None, 2, metric="haversine")
