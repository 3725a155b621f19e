"""Gaussian clusters: the shape against literal formulas, the estimator against scikit-learn."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedGaussianMixture,
    InfeasibleConstraintsError,
    MustLink,
    Pin,
    SolverTimeoutError,
)
from corral.deadline import NEVER
from corral.rules import presolve
from corral.search.budget import Budget
from corral.search.descent import Descender
from corral.shapes.gaussian import COVARIANCES, GaussianShape, parameters_of, target_of


@parametrize_with_checks([ConstrainedGaussianMixture(3, covariance="tied")])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def stretched(rng, n=40):
    """Two parallel, long clusters: k-means cuts across both."""
    y = np.arange(2 * n) % 2
    return rng.normal(size=(2 * n, 2)) * (10.0, 0.3) + np.outer(y, (0.0, 3.0)), y


def shape_of(X, kind, k=2, rules=(), labels=None):
    given = presolve(list(rules), len(X), k)
    labels = np.arange(len(X)) % k if labels is None else labels
    weight = np.ones(len(X))
    return GaussianShape(X, weight, given, kind, target_of(X, weight, labels, k)), given


@pytest.mark.parametrize("kind", COVARIANCES)
def test_costs_are_minus_twice_the_log_densities(kind):
    X = np.random.default_rng(0).normal(size=(30, 3))
    shape, _ = shape_of(X, kind, k=3)
    clusters = shape.clusters(np.arange(30) % 3)
    found = clusters.covariances(kind)
    for j in range(3):
        own = found if kind == "tied" else found[j]  # a number or a diagonal stands for a matrix
        log = multivariate_normal(clusters.means[j], own).logpdf(X)
        expected = -2.0 * (log + np.log(clusters.weights[j]))
        assert np.allclose(shape.table(clusters)[:, j], expected)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_covariances_are_those_of_the_rows_and_the_target(kind):
    """Against NumPy's weighted covariance, with a cluster without rows."""
    rng = np.random.default_rng(8)
    X, weight = rng.normal(size=(40, 3)) + 1e3, rng.uniform(0.5, 2.0, 40)
    labels, k = np.arange(40) % 2, 3
    target = target_of(X, weight, labels, 2)
    shape = GaussianShape(X, weight, presolve([], 40, k), kind, target)
    mass = np.array([weight[labels == j].sum() for j in range(k)])
    scatter = np.zeros((k, 3, 3))
    for j in range(2):
        own = labels == j
        scatter[j] = np.cov(X[own].T, aweights=weight[own], ddof=0) * mass[j]
    nu = 3.0 if kind == "full" else 1.0
    if kind == "tied":
        expected = (scatter.sum(axis=0) + nu * target) / (mass.sum() + nu)
    else:
        expected = (scatter + nu * target) / (mass + nu)[:, None, None]
    if kind in ("diag", "spherical"):
        expected = np.diagonal(expected, axis1=1, axis2=2)
    if kind == "spherical":
        expected = expected.mean(axis=1)
    clusters = shape.clusters(labels)
    np.testing.assert_allclose(clusters.covariances(kind), expected, rtol=1e-9, atol=1e-9)
    pooled = scatter.sum(axis=0) / mass.sum()
    np.testing.assert_allclose(np.diag(target), np.diag(pooled))
    np.testing.assert_allclose(target[0, 1], 0.9 * pooled[0, 1])


@pytest.mark.parametrize("value", [0.1, 0.7, 1e-5, 123.456])
def test_what_rounding_leaves_of_a_constant_feature_is_no_spread(value):
    """These have no exact mean in binary."""
    for n in range(3, 40):
        X = np.column_stack([np.arange(n) ** 2.0, np.full(n, value)])
        target = target_of(X, np.ones(n), np.arange(n) % 2, 2)
        assert target[1, 1] == 1.0


@pytest.mark.parametrize("kind", ["diag", "spherical"])
def test_diagonal_covariances_are_no_matrices(kind):
    """A round takes d steps a row, not d squared; matrices of old pickles give the same."""
    X = np.random.default_rng(10).normal(size=(20, 4))
    shape, _ = shape_of(X, kind)
    clusters = shape.clusters(np.arange(20) % 2)
    assert clusters.factors.shape == (2, 4)
    matrices = np.stack([np.diag(row) for row in clusters.factors])
    old = type(clusters)(clusters.weights, clusters.means, matrices)
    np.testing.assert_allclose(old.densities(X), clusters.densities(X))
    np.testing.assert_allclose(old.covariances(kind), clusters.covariances(kind))
    np.testing.assert_allclose(old.precisions(kind), clusters.precisions(kind))
    drawn = [each.drawn(9, np.random.RandomState(0)) for each in (old, clusters)]
    for found, same in zip(*drawn, strict=True):
        np.testing.assert_allclose(found, same)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_no_other_clusters_are_better_for_the_labels(kind):
    """The shrunk covariances minimise costs and priors together."""
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    shape, _ = shape_of(X, kind, labels=labels)
    best = shape.clusters(labels)
    for _ in range(20):
        moved = type(best)(
            best.weights,
            best.means + 0.05 * rng.normal(size=(2, 3)),
            best.factors * (1.0 + 0.05 * rng.normal()),
        )
        assert shape.objective(labels, moved) > shape.objective(labels, best)


def test_groups_cost_the_sum_of_their_rows():
    X = np.random.default_rng(2).normal(size=(6, 2))
    alone, _ = shape_of(X, "full")
    linked, rules = shape_of(X, "full", rules=[MustLink([(0, 3), (3, 5)])])
    clusters = alone.clusters(np.arange(6) % 2)
    rows = alone.table(clusters)
    assert np.allclose(linked.table(clusters)[rules.group[0]], rows[[0, 3, 5]].sum(axis=0))


@pytest.mark.parametrize("kind", COVARIANCES)
def test_a_descent_ends_where_no_single_round_helps(kind):
    """And never above the start, by trying all labels of a small problem at its clusters."""
    X = np.random.default_rng(3).normal(size=(8, 2))
    rules = [ClusterSizes([4, 4]), CannotLink([(0, 1)])]
    labels = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    shape, given = shape_of(X, kind, rules=rules, labels=labels)
    budget = Budget.of(shape.shape, 2, 1.0, NEVER)
    found = Descender(given, shape, budget, np.random.RandomState(0)).from_labels(labels)
    assert found.objective <= shape.objective(labels, shape.clusters(labels))
    cost = shape.table(found.clusters)
    allowed = (np.array(each) for each in itertools.product(range(2), repeat=8))
    best = min(
        cost[np.arange(8), each].sum() for each in allowed if each.sum() == 4 and each[0] != each[1]
    )
    assert cost[np.arange(8), found.labels].sum() == pytest.approx(best)


def test_long_clusters_are_found():
    X, y = stretched(np.random.default_rng(4))
    model = ConstrainedGaussianMixture(2, random_state=0).fit(X, constraints=ClusterSizes([40, 40]))
    assert len(np.unique(np.column_stack([y, model.labels_]), axis=0)) == 2
    assert model.report_.feasible


def test_links_held_back_choose_the_covariance():
    rng = np.random.default_rng(5)
    X, y = stretched(rng)
    pairs = rng.integers(0, len(X), (60, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    links = [MustLink(pairs[same]), CannotLink(pairs[~same])]
    model = ConstrainedGaussianMixture(2, random_state=0).fit(X, constraints=links)
    assert model.covariance_ in ("diag", "tied", "full")
    assert "held back" in model.report_.how()
    assert model.report_.feasible


@pytest.mark.parametrize("kind", COVARIANCES)
def test_attributes_are_those_of_scikit_learns_mixtures(kind):
    X = np.random.default_rng(6).normal(size=(60, 3))
    ours = ConstrainedGaussianMixture(2, covariance=kind, random_state=0).fit(X)
    theirs = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    assert ours.covariances_.shape == theirs.covariances_.shape
    assert ours.means_.shape == theirs.means_.shape
    assert ours.weights_.sum() == pytest.approx(1.0)
    assert parameters_of(kind, 2, 3) == theirs._n_parameters()
    # With our parameters theirs gives the same densities.
    theirs.weights_, theirs.means_ = ours.weights_, ours.means_
    precisions = {
        "full": lambda: np.linalg.inv(np.linalg.cholesky(ours.covariances_)).transpose(0, 2, 1),
        "tied": lambda: np.linalg.inv(np.linalg.cholesky(ours.covariances_)).T,
    }
    theirs.precisions_cholesky_ = precisions.get(kind, lambda: ours.covariances_**-0.5)()
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X))
    assert np.allclose(ours.score_samples(X), theirs.score_samples(X))
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert ours.bic(X) == pytest.approx(theirs.bic(X))
    assert ours.aic(X) == pytest.approx(theirs.aic(X))
    assert ours.precisions_.shape == theirs.precisions_.shape
    assert np.array_equal(ours.cluster_centers_, ours.means_)
    assert ours.n_iter_ >= 1


@pytest.mark.parametrize("kind", COVARIANCES)
def test_precisions_are_inverse_covariances(kind):
    X = np.random.default_rng(20).normal(size=(40, 3)) * (1.0, 5.0, 0.2)
    model = ConstrainedGaussianMixture(2, covariance=kind, random_state=0).fit(X)
    if kind in ("full", "tied"):
        ones = np.broadcast_to(np.eye(3), model.covariances_.shape)
        assert np.allclose(model.precisions_ @ model.covariances_, ones)
    else:
        assert np.allclose(model.precisions_ * model.covariances_, 1.0)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_drawn_rows_have_the_moments_of_the_mixture(kind):
    X, _ = stretched(np.random.default_rng(21))
    model = ConstrainedGaussianMixture(2, covariance=kind, random_state=0)
    model.fit(X, constraints=ClusterSizes([20, 60]))
    rows, labels = model.sample(20_000)
    assert rows.shape == (20_000, 2)
    assert np.all(np.diff(labels) >= 0)
    assert np.allclose(np.bincount(labels) / 20_000, model.weights_, atol=0.02)
    every = {
        "full": lambda: model.covariances_,
        "tied": lambda: np.stack([model.covariances_] * 2),
        "diag": lambda: np.stack([np.diag(each) for each in model.covariances_]),
        "spherical": lambda: np.stack([each * np.eye(2) for each in model.covariances_]),
    }
    for j, covariance in enumerate(every[kind]()):
        own, width = rows[labels == j], np.sqrt(np.diag(covariance))
        assert np.all(np.abs(own.mean(axis=0) - model.means_[j]) < 0.1 * width)
        assert np.all(np.abs(np.cov(own.T) - covariance) < 0.1 * np.outer(width, width))
    again = model.sample(20_000)
    assert np.array_equal(again[0], rows)
    with pytest.raises(ValueError, match="`n_samples` is 0; it must be an integer of at least 1"):
        model.sample(0)


def test_single_precision_is_kept():
    X, _ = stretched(np.random.default_rng(22))
    double = ConstrainedGaussianMixture(2, covariance="full", random_state=0)
    single = ConstrainedGaussianMixture(2, covariance="full", random_state=0)
    X = X.astype(np.float32)
    double.fit(X.astype(np.float64)), single.fit(X)
    assert np.array_equal(double.labels_, single.labels_)
    for name in ("weights_", "means_", "covariances_", "precisions_", "cluster_centers_"):
        assert getattr(single, name).dtype == np.float32
        assert getattr(double, name).dtype == np.float64
        assert np.allclose(getattr(single, name), getattr(double, name))
    assert single.predict_proba(X).dtype == single.score_samples(X).dtype == np.float32
    assert single.sample(3)[0].dtype == np.float32
    assert single.score(X) == double.score(X)
    assert double.predict_proba(X.astype(np.float64)).dtype == np.float64


@pytest.mark.parametrize("kind", COVARIANCES)
def test_few_rows_in_many_features(kind):
    X = np.random.default_rng(7).normal(size=(8, 20))
    X[:, 3] = 5.0  # constant
    model = ConstrainedGaussianMixture(2, covariance=kind, random_state=0)
    model.fit(X, constraints=ClusterSizes([3, 5]))
    assert sorted(np.bincount(model.labels_)) == [3, 5]
    assert np.isfinite(model.score_samples(X)).all()


def test_every_kind_of_rule_holds():
    X, _ = stretched(np.random.default_rng(8), n=20)
    rules = [
        MustLink([(0, 1), (2, 3)]),
        CannotLink([(0, 2)]),
        Pin([(0, 1)]),
        ClusterTotals(np.arange(40.0), maximum=400.0),
    ]
    model = ConstrainedGaussianMixture(2, random_state=0).fit(X, constraints=rules)
    assert model.report_.feasible
    assert model.labels_[0] == 1


def test_empty_clusters_are_told_unless_the_sizes_ask_for_them():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 6, axis=0)
    model = ConstrainedGaussianMixture(3, covariance="spherical", random_state=0)
    with pytest.warns(ConvergenceWarning, match="1 of 3 clusters are empty"):
        model.fit(X)
    assert model.report_.sizes.count(0) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, constraints=ClusterSizes([6, 6, 0]))
        ConstrainedGaussianMixture(2, random_state=0).fit(X)


@pytest.mark.parametrize(("seed", "weighted"), [(0, False), (1, True), (2, False)])
def test_the_choice_is_the_fit_of_least_bic(seed, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)) * rng.uniform(0.3, 3.0, (3, 1, 3)).repeat(20, axis=1).reshape(
        -1, 3
    )
    weight = rng.integers(1, 4, 60) if weighted else None
    models = {
        kind: ConstrainedGaussianMixture(3, covariance=kind, random_state=seed)
        for kind in ("auto", *COVARIANCES)
    }
    bic = {k: m.fit(X, sample_weight=weight).bic(X, weight) for k, m in models.items()}
    auto = models["auto"]
    assert bic["auto"] == min(bic.values()) == bic[auto.covariance_]
    np.testing.assert_array_equal(auto.labels_, models[auto.covariance_].labels_)
    assert auto.n_iter_ == models[auto.covariance_].n_iter_
    assert "least BIC: spherical" in auto.report_.how()


def test_links_choose_one_of_the_fits_too():
    X, labels = stretched(np.random.default_rng(1))
    pairs = np.random.default_rng(0).integers(0, len(X), (60, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    rules = [MustLink(pairs[same]), CannotLink(pairs[~same])]
    auto = ConstrainedGaussianMixture(2, random_state=0).fit(X, constraints=rules)
    own = ConstrainedGaussianMixture(2, covariance=auto.covariance_, random_state=0)
    np.testing.assert_array_equal(auto.labels_, own.fit_predict(X, constraints=rules))
    assert "links held back, obeyed" in auto.report_.how()


@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_criteria_of_weights_are_those_of_rows_given_twice(criterion):
    X, _ = stretched(np.random.default_rng(3), n=10)
    weight = np.random.default_rng(4).integers(1, 4, len(X))
    model = ConstrainedGaussianMixture(2, covariance="full", random_state=0).fit(X)
    of = getattr(model, criterion)
    assert of(X, weight) == pytest.approx(of(X.repeat(weight, axis=0)))
    with pytest.raises(ValueError, match=r"`sample_weight` has shape \(3,\)"):
        of(X, np.ones(3))


def test_weights_of_two_are_rows_given_twice():
    X, _ = stretched(np.random.default_rng(9), n=10)
    weighted = ConstrainedGaussianMixture(2, covariance="full", random_state=0)
    weighted.fit(X, sample_weight=np.full(20, 2.0))
    shape, rules = shape_of(X, "full", labels=weighted.labels_)
    twice = GaussianShape(X, np.full(20, 2.0), rules, "full", shape.target)
    assert np.allclose(weighted.means_, twice.clusters(weighted.labels_.astype(np.int64)).means)


def test_contradictions_and_time_are_told_as_by_k_means():
    X = np.arange(6.0)[:, None]
    model = ConstrainedGaussianMixture(2)
    with pytest.raises(InfeasibleConstraintsError):
        model.fit(X, constraints=[MustLink([(0, 1)]), CannotLink([(0, 1)])])
    with pytest.raises((SolverTimeoutError, InfeasibleConstraintsError)):
        ConstrainedGaussianMixture(2, time_limit=0.0).fit(
            X, constraints=ClusterTotals([1, 2, 3, 4, 5, 6], maximum=[10, 11])
        )
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"covariance": "round"}, "`covariance` is 'round'"),
        ({"time_limit": -1}, "`time_limit` is -1"),
        ({"n_clusters": 0}, "`n_clusters` is 0"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(ValueError, match=words):
        ConstrainedGaussianMixture(**parameters).fit(np.zeros((3, 1)))
