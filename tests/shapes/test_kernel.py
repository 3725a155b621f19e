"""Kernel k-means: exact feature vectors, brute force under rules, and what bad kernels say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKernelKMeans,
    ConstrainedKMeans,
    InfeasibleConstraintsError,
    MustLink,
    Pin,
    SolverTimeoutError,
)
from corral.shapes.kernel import EXACT_KERNEL_ROWS, kernel_sample


@parametrize_with_checks([ConstrainedKernelKMeans(3)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def points(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def kernel_objective(K, labels, weight):
    """Weighted kernel k-means, literally: sum of w |phi - mean|^2 from inner products."""
    total = weight @ np.diag(K)
    for j in np.unique(labels):
        w = np.where(labels == j, weight, 0.0)
        total -= w @ K @ w / w.sum()
    return total


def feasible_labels(n, k, rules):
    for each in itertools.product(range(k), repeat=n):
        labels = np.array(each)
        full = len(np.unique(labels)) == k
        if full and all(rule.violations(labels, k).count == 0 for rule in rules):
            yield labels


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
@pytest.mark.parametrize(
    "rules",
    [
        [],
        [ClusterSizes([3, 5]), CannotLink([(0, 1)])],
        [MustLink([(0, 7), (2, 5)]), Pin([(1, 1)])],
    ],
)
def test_the_optimum_of_a_small_problem(kernel, rules):
    X, weight = points(8, 2, seed=3), np.arange(1.0, 9.0)
    model = ConstrainedKernelKMeans(2, kernel=kernel, gamma=0.7, random_state=0)
    model.fit(X, constraints=rules, sample_weight=weight)
    options = {"gamma": 0.7} | ({"degree": 3, "coef0": 1} if kernel == "poly" else {})
    K = pairwise_kernels(X, metric=kernel, **options)
    best = min(kernel_objective(K, each, weight) for each in feasible_labels(8, 2, rules))
    assert model.inertia_ == pytest.approx(best)
    assert kernel_objective(K, model.labels_, weight) == pytest.approx(best)
    assert model.report_.feasible


@pytest.mark.parametrize(
    "rules", [ClusterSizes([20, 20, 20]), [CannotLink([(0, 1), (2, 3)]), MustLink([(4, 5)])]]
)
def test_a_linear_kernel_is_k_means(rules):
    X = points(60)
    ours = ConstrainedKernelKMeans(3, kernel="linear", random_state=0).fit(X, constraints=rules)
    plain = ConstrainedKMeans(3, random_state=0).fit(X, constraints=rules)
    assert ours.inertia_ == pytest.approx(plain.inertia_)
    new = points(30, seed=1)
    nearest = ((new[:, None] - [X[ours.labels_ == j].mean(axis=0) for j in range(3)]) ** 2).sum(2)
    assert np.array_equal(ours.predict(new), nearest.argmin(axis=1))


def test_precomputed_and_callable_kernels_give_the_same():
    X, new = points(), points(10, seed=1)
    named = ConstrainedKernelKMeans(3, gamma=0.5, random_state=0).fit(X)
    given = ConstrainedKernelKMeans(3, kernel="precomputed", random_state=0)
    given.fit(rbf_kernel(X, gamma=0.5))
    function = ConstrainedKernelKMeans(
        3, kernel=lambda a, b, g: np.exp(-g * ((a - b) ** 2).sum()), kernel_params={"g": 0.5}
    )
    function.set_params(random_state=0).fit(X)
    for model, rows in ((given, rbf_kernel(new, X, gamma=0.5)), (function, new)):
        assert np.array_equal(model.labels_, named.labels_)
        assert np.array_equal(model.predict(rows), named.predict(new))


def test_clusters_that_are_not_convex():
    angle = np.arange(30) * 2 * np.pi / 30
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.concatenate([ring, 5.0 * ring])
    model = ConstrainedKernelKMeans(2, kernel=lambda a, b: np.linalg.norm(a) * np.linalg.norm(b))
    labels = model.set_params(random_state=0).fit(X).labels_
    assert len(set(labels[:30])) == len(set(labels[30:])) == 1
    assert model.predict([[0.0, 0.0]])[0] == labels[0]


def test_every_kind_of_rule_holds():
    X = points(30)
    rules = [
        MustLink([(0, 1), (2, 3)]),
        CannotLink([(0, 2)]),
        Pin([(0, 1)]),
        ClusterTotals(np.arange(30.0), maximum=230.0),
    ]
    model = ConstrainedKernelKMeans(2, gamma=0.3, random_state=0).fit(X, constraints=rules)
    assert model.report_.feasible
    assert model.labels_[0] == 1
    literal = kernel_objective(rbf_kernel(X, gamma=0.3), model.labels_, np.ones(30))
    assert model.inertia_ == pytest.approx(literal)


def test_nystroem_features_are_those_of_scikit_learn_on_the_same_rows():
    """Inner products of differences agree; ours leave the mean of the sample out."""
    X = points(50)
    model = ConstrainedKernelKMeans(3, gamma=0.5, n_components=20, random_state=0).fit(X)
    theirs = Nystroem(gamma=0.5, n_components=20)
    theirs.fit(X[model._machine.rows])
    Z = theirs.transform(X)
    means = np.stack([Z[model.labels_ == j].mean(axis=0) for j in range(3)])
    assert model.inertia_ <= ((Z - means[model.labels_]) ** 2).sum() + 1e-9
    assert model.inertia_ == pytest.approx(((Z - means[model.labels_]) ** 2).sum(), rel=0.05)
    assert "Nystroem, of 20 rows" in model.report_.how()
    # All rows are as good as exact.
    full, exact = (
        ConstrainedKernelKMeans(3, gamma=0.5, n_components=n, random_state=0).fit(X)
        for n in (50, None)
    )
    assert full.inertia_ == exact.inertia_


@pytest.mark.parametrize("sample_weight", [None, np.linspace(0.0, 2.0, 30)])
def test_a_shift_changes_no_optimum(sample_weight):
    X = points(30)
    K = X @ np.diag([1.0, 1.0, -0.5]) @ X.T
    model = ConstrainedKernelKMeans(2, kernel="precomputed", random_state=0)
    with pytest.raises(ValueError, match=r"not positive semidefinite.*eigenvalue -") as error:
        model.fit(K, sample_weight=sample_weight)
    assert not hasattr(model, "labels_")
    offered = str(error.value).split("shift=")[1].split(",")[0]
    for shift in (float(offered), "auto"):
        model.set_params(shift=shift).fit(K, sample_weight=sample_weight)
    # The objective of the kernel itself differs from that of the shifted one by a constant.
    weight = np.ones(30) if sample_weight is None else sample_weight
    others = [np.random.default_rng(seed).integers(0, 2, 30) for seed in range(20)]
    assert all(
        kernel_objective(K, model.labels_, weight) <= kernel_objective(K, each, weight)
        for each in others
    )


@pytest.mark.parametrize("scale", [1.0, 1e-9])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_equal_rows_have_a_kernel_without_negative_eigenvalues(kernel, scale):
    """All inner products are equal, so what is left after centring is rounding."""
    X = np.full((12, 2), scale)
    model = ConstrainedKernelKMeans(3, kernel=kernel, random_state=0)
    model.fit(X, constraints=ClusterSizes([5, 4, 3]))
    assert sorted(np.bincount(model.labels_)) == [3, 4, 5]


def test_minus_squared_distances_need_no_shift():
    """They are positive semidefinite for coefficients that sum to 0, which is enough."""
    X = points(30)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    model = ConstrainedKernelKMeans(2, kernel="precomputed", random_state=0).fit(-0.5 * D)
    assert model.inertia_ == pytest.approx(ConstrainedKMeans(2, random_state=0).fit(X).inertia_)


def test_gamma_follows_the_scale_of_the_data():
    X = points()
    small, large = (ConstrainedKernelKMeans(3, random_state=0).fit(f * X) for f in (1.0, 100.0))
    assert np.array_equal(small.labels_, large.labels_)
    assert small.inertia_ == pytest.approx(large.inertia_)


def test_equal_rows_are_no_fault():
    model = ConstrainedKernelKMeans(2, random_state=0)
    labels = model.fit(np.ones((6, 2)), constraints=ClusterSizes([2, 4])).labels_
    assert sorted(np.bincount(labels)) == [2, 4]
    assert model.inertia_ == pytest.approx(0.0)


def test_the_plan_samples_many_rows_or_little_time():
    n = EXACT_KERNEL_ROWS
    assert kernel_sample(n, "auto", 1e9) == n
    assert kernel_sample(n + 1, "auto", 1e9) < n
    assert kernel_sample(n, "auto", 1e-3) < n
    assert kernel_sample(10 * n, None, 1e-3) == 10 * n
    assert kernel_sample(50, 80, 1e9) == 50
    assert kernel_sample(50, 20, 1e9) == 20


def test_exact_features_that_would_take_longer_than_the_limit_are_not_begun():
    model = ConstrainedKernelKMeans(2, n_components=None, time_limit=0.0)
    with pytest.raises(SolverTimeoutError):
        model.fit(np.arange(2_000.0)[:, None])
    assert not hasattr(model, "labels_")


def test_a_sample_has_only_rows_with_weight():
    weight = np.where(np.arange(40) < 5, 1.0, 0.0)
    model = ConstrainedKernelKMeans(2, n_components=20, random_state=0)
    model.fit(points(), sample_weight=weight)
    assert model._machine.rows.tolist() == [0, 1, 2, 3, 4]
    assert np.isfinite(model.inertia_)


def test_a_contradiction_is_told_as_by_k_means():
    with pytest.raises(InfeasibleConstraintsError):
        ConstrainedKernelKMeans(2).fit(
            points(), constraints=[MustLink([(0, 1)]), CannotLink([(0, 1)])]
        )


@pytest.mark.parametrize(
    ("parameters", "X", "words"),
    [
        ({"kernel": "round"}, points(), "`kernel` is 'round'; it must be callable or one of"),
        ({"gamma": -1}, points(), "`gamma` is -1"),
        ({"shift": -1}, points(), "`shift` is -1"),
        ({"n_components": 0}, points(), "`n_components` is 0"),
        ({"kernel": "precomputed"}, points(), r"shape \(40, 3\); it must be square"),
        ({"kernel": "precomputed"}, np.triu(np.ones((9, 9))), "rows 0 and 1 is 1, that of 1 and 0"),
        ({"kernel": lambda a, b: np.nan}, points(), "rows 0 and 0 is nan"),
        ({"kernel": lambda a, b: a}, points(), "takes two rows"),
        ({"kernel": rbf_kernel}, points(), "takes two rows"),
        ({"kernel": lambda a, b: a[0] - b[0]}, points(), "must be symmetric"),
    ],
)
def test_bad_input(parameters, X, words):
    model = ConstrainedKernelKMeans(2, **parameters)
    with pytest.raises(ValueError, match=words):
        model.fit(X)
    assert not hasattr(model, "labels_")


def test_centres_are_the_means_in_the_units_of_x():
    X = np.random.default_rng(5).normal(size=(20, 2)).astype(np.float32)
    weight = np.random.default_rng(6).integers(0, 3, 20).astype(float)
    model = ConstrainedKernelKMeans(3, random_state=0).fit(X, sample_weight=weight)
    for j in range(3):
        own = model.labels_ == j
        mean = np.average(X[own], axis=0, weights=weight[own])
        np.testing.assert_allclose(model.cluster_centers_[j], mean, rtol=1e-5)
    assert model.cluster_centers_.dtype == np.float32
    assert model.n_iter_ >= 0
    model = ConstrainedKernelKMeans(3, kernel="precomputed", random_state=0)
    assert not hasattr(model.fit(X @ X.T), "cluster_centers_")
