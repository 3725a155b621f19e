"""Fits over shards: the same answers as in memory, whatever the number of shards."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from corral.assign.transport import ship, ship_units
from corral.elsewhere import find_solution_in_shards, nearest_in_shards
from corral.geometry import Geometry
from corral.parameters import make_settings
from corral.shards import Local, Shard, grouped
from corral.shards.costs import ShardCosts
from corral.shards.geometry import ShardGeometry
from corral.shards.passes import finite
from corral.shards.refine import Placement
from sklearn.datasets import make_blobs

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, MustLink, Pin, audit, elsewhere
from corral.assign import NoAssignment
from corral.constraints import ConstraintSet
from corral.datasets import random_links
from corral.exceptions import InfeasibleConstraintsError, SolverTimeoutError
from corral.presolve import presolve
from corral.problem import first_rows

N, D, K = 32_000, 4, 10
X, Y = make_blobs(N, D, centers=K, cluster_std=3.0, random_state=0)
SIZES = ClusterSizes([N // K] * K)


def cut(points, pieces):
    edges = np.linspace(0, len(points), pieces + 1).astype(int)
    return Local([Shard(points[a:b]) for a, b in pairwise(edges)])


def sharded(points, rules, pieces=3, weight=None, **parameters):
    model = ConstrainedKMeans(K, random_state=0, **parameters)
    settings = make_settings(model.get_params(deep=False), points)
    return find_solution_in_shards(
        cut(points, pieces), ConstraintSet(rules), K, weight, settings, np.random.RandomState(0)
    )


RULES = {
    "free": [],
    "exact": [SIZES],
    "uneven": [ClusterSizes([5000, 4000, 1500, 1500, *[3000] * 5, 5000])],
    "ordered": [ClusterSizes([5000, 4000, 1500, 1500, *[3000] * 5, 5000], ordered=True)],
    "interval": [ClusterSizes(minimum=3100, maximum=3250)],
    "pairs": [MustLink(p) for p in [random_links(Y, 900, 900, random_state=1)[0].pairs]],
}


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("pieces", [1, 4])
def test_the_labels_are_those_of_a_fit_in_memory(kind, pieces):
    solution, report = sharded(X, RULES[kind], pieces)
    model = ConstrainedKMeans(K, random_state=0).fit(X, constraints=RULES[kind])
    np.testing.assert_array_equal(solution.labels, model.labels_)
    np.testing.assert_allclose(solution.centers, model.cluster_centers_)
    assert report.feasible
    assert report.inertia == pytest.approx(model.inertia_, rel=1e-12)


def test_everything_together_breaks_nothing_and_is_as_good():
    rules = [*random_links(Y, 1500, 1500, random_state=0), SIZES]
    solution, report = sharded(X, rules)
    assert report.feasible
    independent = audit(X, solution.labels, rules, K)
    assert independent.feasible
    assert independent.inertia == pytest.approx(report.inertia, rel=1e-9)
    model = ConstrainedKMeans(K, random_state=0).fit(X, constraints=rules)
    assert report.inertia <= model.inertia_ * 1.0005


def test_weights_are_those_of_a_fit_in_memory():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, N)
    solution, report = sharded(X, [SIZES], weight=weight)
    model = ConstrainedKMeans(K, random_state=0).fit(X, constraints=SIZES, sample_weight=weight)
    np.testing.assert_array_equal(solution.labels, model.labels_)
    assert report.inertia == pytest.approx(model.inertia_, rel=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_float32_and_a_far_middle(shift):
    points = (X + shift).astype(np.float32)
    solution, report = sharded(points, [SIZES])
    model = ConstrainedKMeans(K, random_state=0).fit(points, constraints=SIZES)
    assert report.feasible
    assert np.mean(solution.labels == model.labels_) > 0.999
    assert report.inertia == pytest.approx(model.inertia_, rel=1e-5)


def test_a_start_given_keeps_its_numbers():
    centers = X[:K]
    solution, _ = sharded(X, [SIZES], init=centers)
    model = ConstrainedKMeans(K, init=centers, random_state=0).fit(X, constraints=SIZES)
    np.testing.assert_array_equal(solution.labels, model.labels_)
    again, _ = sharded(X, [SIZES], init=model.labels_)
    assert np.mean(again.labels == model.labels_) > 0.999


def test_small_problems_and_other_rules_come_home(monkeypatch):
    def never(*_):
        raise AssertionError("solved in shards")

    monkeypatch.setattr(elsewhere, "solve_sharded", never)
    pinned = [SIZES, Pin({0: 3, 1: 4})]
    solution, report = sharded(X, pinned)
    assert report.feasible
    assert solution.labels[:2].tolist() == [3, 4]
    kept, _ = sharded(X, [SIZES], record_x=[1])
    assert kept.history.x[1].shape == (N, K)
    few, _ = sharded(X[:500], [])
    model = ConstrainedKMeans(K, random_state=0).fit(X[:500])
    np.testing.assert_array_equal(few.labels, model.labels_)


def test_groups_that_would_leave_no_room_stay_where_they_were():
    """A cheap cluster attracts more linked rows than it may hold."""
    must, cannot = random_links(Y, 6000, 6000, random_state=3)
    rules = ConstraintSet([ClusterSizes(np.bincount(Y), ordered=True), must, cannot])
    holder, problem = grouped(cut(X, 3), rules, K, None)
    placement = Placement.of(problem, ShardGeometry(holder, problem))
    centers = np.array([X[j == Y].mean(axis=0) for j in range(K)]) - placement.geometry.middle
    cheap = np.where(np.arange(K) == 3, -1e6, 0.0)
    with pytest.raises(NoAssignment):
        placement.assign(centers, cheap)
    before = Y[first_rows(problem.group)][placement.tied]
    scan, _, tied = placement.assign(centers, cheap, before=before)
    np.testing.assert_array_equal(tied, before)
    assert audit(X, problem.invert(scan.labels()), rules, K).feasible
    _, _, moved = placement.assign(centers, np.zeros(K), before=before)
    assert np.any(moved != before)


def test_contradictions_and_time():
    with pytest.raises(InfeasibleConstraintsError, match="samples 0 and 1"):
        sharded(X, [MustLink([(0, 1)]), CannotLink([(0, 1)])])
    with pytest.raises(SolverTimeoutError):
        sharded(X, [SIZES], time_limit=0.0)


# --- the parts -----------------------------------------------------------------------------------


def test_contraction_where_the_rows_are():
    rules = ConstraintSet([*random_links(Y, 700, 0, random_state=2), SIZES])
    weight = np.random.default_rng(1).uniform(0.0, 2.0, N)
    holder, problem = grouped(cut(X, 5), rules, K, weight)
    reference = presolve(X, rules, K, weight)
    np.testing.assert_allclose(holder.points, reference.points, atol=1e-12)
    np.testing.assert_allclose(problem.weight, reference.weight)
    assert problem.scatter == pytest.approx(reference.scatter)
    own = np.concatenate([shard.weight for shard in holder.shards])
    np.testing.assert_allclose(own, reference.weight)


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_geometry_from_sums(far):
    problem = presolve(X + far, [], K)
    mine, whole = ShardGeometry(cut(X + far, 4), problem), Geometry(problem)
    np.testing.assert_allclose(mine.middle, whole.middle)
    assert mine.spread == pytest.approx(whole.spread)
    assert mine.leading_variance() == pytest.approx(whole.leading_variance())
    np.testing.assert_allclose(mine.sample(500), whole.sample(500))
    np.testing.assert_allclose(mine.local, whole._local, atol=1e-9)


def test_prices_over_shards_find_the_cheapest_assignment():
    problem = presolve(X, [SIZES], K)
    holder = cut(X, 4)
    geometry = ShardGeometry(holder, problem)
    centers = X[:K] - geometry.middle
    costs = ShardCosts(geometry.holder, geometry, centers, np.arange(N))
    sizes = np.full(K, N // K)
    scan, _ = ship(costs, sizes, sizes)
    matrix = costs.dense()
    labels, _ = ship_units(matrix, sizes, sizes)
    np.testing.assert_array_equal(np.bincount(scan.labels()), sizes)
    rows = np.arange(N)
    assert matrix[rows, scan.labels()].sum() == pytest.approx(matrix[rows, labels].sum(), rel=1e-12)


def test_nearest_and_finite():
    holder = cut(X, 3)
    squares = ((X[:, None, :] - X[None, :K]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(nearest_in_shards(holder, X[:K]), squares.argmin(axis=1))
    bad = X[:100].copy()
    bad[70, 2] = np.nan
    assert finite(Shard(bad)) == 70
    assert finite(Shard(X)) == -1


def test_a_shard_travels_without_its_memo():
    shard = Shard(X[:10], weight=np.arange(10.0))
    shard.memo["scan"] = "long"
    again = pickle.loads(pickle.dumps(shard))
    np.testing.assert_array_equal(again.points, shard.points)
    np.testing.assert_array_equal(again.weight, shard.weight)
    assert again.memo == {}
    assert again.xp is np


def test_must_links_may_empty_a_shard():
    rows = np.arange(N - 500, N)
    holder = Local([Shard(X[:-500]), Shard(X[-500:])])
    rules = ConstraintSet(MustLink([(0, int(row)) for row in rows]))
    settings = make_settings(ConstrainedKMeans(K).get_params(deep=False), X)
    solution, report = find_solution_in_shards(
        holder, rules, K, None, settings, np.random.RandomState(0)
    )
    assert report.feasible
    assert np.all(solution.labels[rows] == solution.labels[0])


@pytest.mark.parametrize("far", [0.0, 2e4])
def test_nearest_of_single_precision_far_from_the_origin(far):
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(600, 2)) + 6.0 * rng.integers(0, 2, (600, 1)) + far).astype("f4")
    centers = np.array([[0.0, 0.0], [6.0, 6.0]]) + far
    squares = ((points[:, None, :].astype(float) - centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(nearest_in_shards(cut(points, 2), centers), squares.argmin(1))
