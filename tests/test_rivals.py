"""Rivals of ADMM on many points: a small sample, solved with all moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import plan_of, problem_of
from reference import inertia, squares
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, LinearConstraint, MustLink, Pin
from corral.admm.history import History, Relaxation
from corral.assign import NoAssignment
from corral.plan.thresholds import PILOT_FROM, SMALL
from corral.presolve import presolve
from corral.rivals import better_labels

SIZES = [200, 400, 600, 1000, 1800, 4000]
X, CLASSES = make_blobs(SIZES, 3, cluster_std=2.0, random_state=1)
CENTERS = np.array([X[members].mean(axis=0) for members in np.arange(6)[:, None] == CLASSES])


def relaxation(labels, centers):
    """What the relaxed solver would have come to."""
    none = np.empty(0)
    history = History(none, none, {}, none, none, none)
    return Relaxation(labels, centers, history, n_iter=0, converged=True)


@pytest.mark.parametrize(
    ("sizes", "n", "due"),
    [
        (ClusterSizes(SIZES), 8000, True),
        (ClusterSizes(SIZES, ordered=True), 8000, False),
        (ClusterSizes([2000] * 4), 8000, False),
        (ClusterSizes([1990, 1990, 2010, 2010]), 8000, False),
        (ClusterSizes(minimum=10, maximum=6000), 8000, True),
        (ClusterSizes(minimum=1200, maximum=1400), 8000, False),
        (ClusterSizes([100, 300]), 400, False),
        (ClusterSizes(np.arange(1, 101)), 5050, False),
    ],
)
def test_a_pilot_is_due_where_sizes_may_change_hands_in_many_points(sizes, n, due):
    k = 6 if sizes.sizes is None else len(sizes.sizes)
    assert (plan_of([sizes], n, k).rival == "pilot") == due


def test_a_pilot_is_due_from_so_many_entries_on():
    at, above = PILOT_FROM // 2, PILOT_FROM // 2 + 1
    assert plan_of([ClusterSizes([1, at - 1])], at, 2).rival == "none"
    assert plan_of([ClusterSizes([1, above - 1])], above, 2).rival == "pilot"


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_the_classes_sizes_are_found_where_the_classes_overlap(seed, ordered):
    """The classes obey the sizes, so the best answer costs no more than they do."""
    model = ConstrainedKMeans(6, n_init=1, random_state=seed)
    labels = model.fit_predict(X, constraints=ClusterSizes(SIZES, ordered=ordered))
    assert list(np.bincount(labels)) == SIZES
    assert inertia(X, labels) <= inertia(X, CLASSES)


@pytest.mark.parametrize("good", ["relaxed", "sample"])
def test_the_better_of_two_starts_wins(good):
    """One start is the classes, the other puts each cluster where another's size belongs."""
    problem = problem_of(X, [ClusterSizes(SIZES)], 6)
    wrong = CENTERS[::-1]
    nearest = np.argmin(((X[:, None] - wrong) ** 2).sum(axis=2), axis=1)
    classes, other = (CLASSES, CENTERS), (nearest, wrong)

    def solve_small(part, seed):
        labels, centers = classes if good == "sample" else other
        return labels[: part.rules.n_groups], centers

    labels, centers = classes if good == "relaxed" else other
    relaxed = relaxation(labels, centers - problem.rows.middle)
    found = better_labels(problem, relaxed, None, np.random.RandomState(0), solve_small)
    assert sorted(np.bincount(found)) == SIZES
    assert inertia(X, found) <= inertia(X, CLASSES)


def test_a_sample_without_answer_changes_nothing():
    def fails(part, seed):
        raise NoAssignment

    problem = problem_of(X, [ClusterSizes(SIZES)], 6)
    relaxed = relaxation(CLASSES, CENTERS)
    found = better_labels(problem, relaxed, None, np.random.RandomState(0), fails)
    np.testing.assert_array_equal(found, CLASSES)


@pytest.mark.parametrize(
    "rules",
    [
        LinearConstraint(
            sparse.csr_array(([1.0, 1.0], ([0, 0], [7998 * 6, 7999 * 6])), shape=(1, 48_000)),
            upper=[1.0],
        ),
        Pin({int(row): j for j, row in enumerate(np.unique(CLASSES, return_index=True)[1])}),
        MustLink(np.flatnonzero(CLASSES == 5)[:500].reshape(-1, 2)),
    ],
    ids=["linear", "pins", "must-links"],
)
def test_with_other_rules_too(rules):
    given = [ClusterSizes(SIZES), rules]
    model = ConstrainedKMeans(6, n_init=1, random_state=0).fit(X, constraints=given)
    assert model.report_.feasible


def test_algorithm1_has_no_pilot(monkeypatch):
    def never(*_):
        raise AssertionError("the paper's algorithm knows no pilot")

    monkeypatch.setattr("corral.run.better_labels", never)
    model = ConstrainedKMeans(6, solver="algorithm1", n_init=1, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, constraints=ClusterSizes(SIZES))


@pytest.mark.parametrize("seed", range(4))
def test_many_free_points_end_where_k_means_does_at_its_best(seed):
    points, _ = make_blobs(100_000, 4, centers=4, cluster_std=1.0, random_state=0)
    best = KMeans(4, n_init=10, random_state=0).fit(points).inertia_
    found = ConstrainedKMeans(4, n_init=1, random_state=seed).fit(points)
    assert found.inertia_ <= best * (1 + 1e-4)


def test_two_clusters_in_one_heap_part():
    """Pairs, and not a small part: only what is plainly wrong is put right."""
    points, classes = make_blobs(3000, 3, centers=3, cluster_std=0.5, random_state=2)
    link = CannotLink([(0, int(np.flatnonzero(classes != classes[0])[0]))])
    problem = problem_of(points, [link], 3, part_of=5000)
    assert problem.plan.rival == "polish"
    means = np.array([points[classes == j].mean(axis=0) for j in range(3)])
    centers = np.stack([means[0], means[0] + 0.1, (means[1] + means[2]) / 2.0])
    labels = np.argmin(((problem.rows.points[:, None] - centers) ** 2).sum(axis=2), axis=1)
    relaxed = relaxation(labels, centers - problem.rows.middle)
    found = better_labels(problem, relaxed, None, np.random.RandomState(0), None)
    assert inertia(points, problem.rules.to_rows(found)) <= inertia(points, classes) * (1 + 1e-9)


# --- the start competes -------------------------------------------------------------------------


def exact_rounds(points, centers, size):
    """Inertia of means and exact assignment in turn, ``size`` places a cluster."""
    best = np.inf
    while True:
        places = np.repeat(squares(points, centers), size, axis=1)
        labels = linear_sum_assignment(places)[1] // size
        now = inertia(points, labels)
        if now >= best * (1 - 1e-12):
            return best
        best = now
        centers = np.array([points[labels == j].mean(axis=0) for j in range(len(centers))])


@pytest.mark.parametrize("seed", range(8))
def test_no_answer_is_worse_than_exact_k_means_from_the_same_start(seed):
    """Points without any order, where the relaxed solver alone may end in a worse optimum."""
    k, size = 20, 35
    rng = np.random.default_rng(seed)
    points = rng.uniform(size=(k * size, 2))
    start = points[rng.choice(len(points), k, replace=False)]
    assert len(points) * k > SMALL
    model = ConstrainedKMeans(k, init=start, random_state=0)
    model.fit(points, constraints=ClusterSizes([size] * k))
    assert model.inertia_ <= exact_rounds(points, start, size) * (1 + 1e-9)


@pytest.mark.parametrize("good", ["relaxed", "start"])
def test_of_a_sample_the_better_start_wins_too(good):
    problem = problem_of(X, [ClusterSizes(SIZES, ordered=True)], 6)
    plan = replace(problem.plan, rival="start")
    problem = replace(problem, rules=problem.given, plan=plan)
    middle = problem.rows.middle
    wrong = CENTERS[::-1]
    nearest = np.argmin(((X[:, None] - wrong) ** 2).sum(axis=2), axis=1)
    labels, centers = (CLASSES, CENTERS) if good == "relaxed" else (nearest, wrong)
    start = wrong if good == "relaxed" else CENTERS
    relaxed = relaxation(labels, centers - middle)
    found = better_labels(problem, relaxed, start - middle, np.random.RandomState(0), None)
    assert list(np.bincount(found)) == SIZES
    assert inertia(X, found) <= inertia(X, CLASSES)


@pytest.mark.parametrize(
    ("rules", "n", "due"),
    [
        ([ClusterSizes([2000] * 4)], 8000, True),
        ([ClusterSizes(minimum=1200)], 8000, True),
        ([ClusterSizes([1000, 2000, 2000, 3000])], 8000, False),
        ([], 8000, False),
        ([ClusterSizes([2000] * 4), MustLink([(0, 1)])], 8000, False),
        ([ClusterSizes([2000] * 4), Pin({0: 1})], 8000, False),
    ],
)
def test_the_start_competes_where_sizes_are_the_only_rule(rules, n, due):
    assert presolve(rules, n, 4).only_sized == due
