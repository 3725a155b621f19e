"""Units of X and of the weights do not matter, however large or small.

Points times a power of two have the same labels, and centres and distances times that power.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from local_shards import cut, fit_shards
from scipy import sparse

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, MustLink, audit
from corral.baselines import COPKMeans, PCKMeans, PlainKMeans
from corral.rows import ShardTable

K = 3
RULES = [MustLink([(0, 20)]), CannotLink([(1, 2)]), ClusterSizes([20, 20, 20])]

#: Binary exponents near 1e19 and 1e-20, 1e-35 in single and 1e80, 1e-155, 1e-310 in double.
EXTREMES = [
    (np.float32, 63),
    (np.float32, -66),
    (np.float32, -116),
    (np.float64, 266),
    (np.float64, -515),
    (np.float64, -1029),
]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(mean, 1.0, (20, 2)) for mean in (0.0, 10.0, 20.0)])


@pytest.fixture(autouse=True)
def strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def fitted(X, rules=None, weight=None, **parameters):
    model = ConstrainedKMeans(K, random_state=0, n_init=1, **parameters)
    return model.fit(X, constraints=rules, sample_weight=weight)


@pytest.mark.parametrize(("dtype", "power"), EXTREMES)
def test_the_unit_of_the_points_does_not_matter(points, dtype, power):
    rules = RULES if abs(power) % 2 else None
    X = points.astype(dtype)
    scaled = np.ldexp(X, power)
    X = np.ldexp(scaled.astype(np.float64), -power).astype(dtype)  # less what no float can hold
    model, same = fitted(scaled, rules), fitted(X, rules)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    assert model.cluster_centers_.dtype == dtype
    rtol = {np.float32: 1e-6, np.float64: 1e-12}[dtype] if power > -1000 else 1e-9

    def equal(found, wanted, exponent=power):
        np.testing.assert_allclose(
            np.ldexp(np.asarray(found, float), -exponent), wanted, rtol=rtol, atol=rtol
        )

    equal(model.cluster_centers_, same.cluster_centers_)
    equal(model.transform(scaled), same.transform(X))
    np.testing.assert_array_equal(model.predict(scaled), same.predict(X))
    new = ClusterSizes(minimum=2)
    placed = model.assign(scaled[:9], constraints=new)
    np.testing.assert_array_equal(placed, same.assign(X[:9], constraints=new))
    if power > -500:  # smaller inertias are rounded to the least floats
        equal(model.inertia_, same.inertia_, 2 * power)
        equal(model.score(scaled), same.score(X), 2 * power)
        equal(model.history_.objective, same.history_.objective, 2 * power)
        equal(audit(scaled, model.labels_, rules, K).inertia, same.inertia_, 2 * power)


@pytest.mark.parametrize("power", [266, -515])
def test_centres_and_prices_that_the_user_gives_are_in_the_users_unit(points, power):
    start, soft = points[[0, 20, 40]], CannotLink([(0, 1), (2, 3)], weight=[5.0, 1e4])
    same = fitted(points, soft, init=start)
    dearer = CannotLink(soft.pairs, weight=np.ldexp(soft.weight, 2 * power))
    model = fitted(np.ldexp(points, power), dearer, init=np.ldexp(start, power))
    np.testing.assert_array_equal(model.labels_, same.labels_)
    assert model.report_.soft_cost == np.ldexp(same.report_.soft_cost, 2 * power)


@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e308])
def test_the_unit_of_the_weights_does_not_matter(points, size):
    X, weight = 1e-6 * points, np.linspace(0.5, 1.0, len(points))
    model, same = fitted(X, RULES, size * weight), fitted(X, RULES, weight)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    np.testing.assert_allclose(model.cluster_centers_, same.cluster_centers_, rtol=1e-3)
    assert model.inertia_ == pytest.approx(same.inertia_ * size, rel=1e-2)
    assert model.score(X, sample_weight=size * weight) <= 0


@pytest.mark.parametrize("power", [266, -515])
def test_sparse_points_of_any_unit(points, power):
    given = np.where(points > 1.0, points, 0.0)
    model = fitted(sparse.csr_array(np.ldexp(given, power)), RULES)
    np.testing.assert_array_equal(model.labels_, fitted(given, RULES).labels_)


@pytest.mark.parametrize(("dtype", "power"), [(np.float32, 63), (np.float64, -515)])
def test_rows_in_shards_of_any_unit(points, dtype, power):
    X = points.astype(dtype)
    scaled = np.ldexp(X, power)
    model = fit_shards(scaled, cut(scaled, 3), RULES[-1], K, n_init=1)
    same = fit_shards(X, cut(X, 3), RULES[-1], K, n_init=1)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    nearest = ShardTable(cut(scaled, 3), None, "shards").nearest(model.cluster_centers_)
    np.testing.assert_array_equal(nearest, model.predict(scaled))


def test_an_inertia_that_no_float_can_hold_is_refused_with_advice(points):
    for X, weight in ((1e200 * points, None), (points, np.full(len(points), 1e308))):
        with pytest.raises(ValueError, match=r"more than a float can hold.*divide X"):
            fitted(X, RULES, weight)
    with pytest.raises(ValueError, match="more than a float can hold"):
        fitted(points).score(1e200 * points)


@pytest.mark.parametrize(("value", "dtype"), [(-0.124, np.float32), (7.0, np.float64)])
def test_equal_points_have_an_inertia_of_zero(value, dtype):
    for shape in ((7, 1), (34, 3)):
        model = ConstrainedKMeans(2, random_state=0).fit(np.full(shape, value, dtype))
        assert model.inertia_ == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("method", [PlainKMeans, COPKMeans, PCKMeans])
@pytest.mark.parametrize("unit", [1e80, 1e-155])
def test_baselines_refuse_points_whose_squares_they_cannot_hold(points, method, unit):
    with pytest.raises(ValueError, match=r"Divide X by a constant"):
        method(K).fit(unit * points)


@pytest.mark.parametrize("integer", [np.uint8, np.int8, np.int64])
def test_numpy_integers_count_clusters(integer):
    X = np.random.default_rng(0).normal(size=(300, 2))
    parameters = {"n_init": integer(1), "max_iter": integer(100)}
    rules = ClusterSizes(minimum=90)
    model = ConstrainedKMeans(integer(K), random_state=0, **parameters).fit(X, constraints=rules)
    same = ConstrainedKMeans(K, random_state=0, n_init=1, max_iter=100).fit(X, constraints=rules)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    assert model.get_feature_names_out().tolist() == same.get_feature_names_out().tolist()
    for method in (PlainKMeans, COPKMeans, PCKMeans):
        small = method(integer(K), random_state=0).fit(X)
        np.testing.assert_array_equal(small.labels_, method(K, random_state=0).fit(X).labels_)
