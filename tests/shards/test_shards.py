"""Fits over shards: the same answers as in memory, whatever the number of shards."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from corral.assign.far import FarAssignment
from corral.rows.shard_passes import finite
from local_shards import LocalShards, cut, fit_shards
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics.cluster import contingency_matrix

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
    audit,
    rows,
)
from corral.assign import NoAssignment
from corral.assign.sizes import preferences, ship, ship_units
from corral.assign.tied import Warm
from corral.constraints import ConstraintSet
from corral.datasets import random_links
from corral.deadline import NEVER, Deadline, OutOfTime
from corral.exceptions import InfeasibleConstraintsError, SolverTimeoutError
from corral.plan import thresholds
from corral.polish.refine import refine
from corral.presolve import SizeBounds, presolve
from corral.problem import Problem
from corral.rows import MemoryRows, Shard, ShardRows, ShardTable, contracted_shards
from corral.settings import make_settings

N, D, K = 8_000, 4, 10
X, Y = make_blobs(N, D, centers=K, cluster_std=3.0, random_state=0)
SIZES = ClusterSizes([N // K] * K)


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Have problems of this size solved where the rows are, with ADMM on a sample of them."""
    monkeypatch.setattr(thresholds, "LARGE", N * K * 9 // 10)
    monkeypatch.setattr(thresholds, "SAMPLE_SUMMED", N // 2)
    monkeypatch.setattr(thresholds, "SAMPLE_SUMMED_EACH", N // (2 * K))
    monkeypatch.setattr(thresholds, "SAMPLE_FREE_EACH", N // (2 * K))


def sharded(points, rules, pieces=3, weight=None, **parameters):
    return fit_shards(points, cut(points, pieces), rules, K, weight, **parameters)


def grouped(shards, rules, weight=None):
    """Rules and rows of a table."""
    given = presolve(ConstraintSet(rules), sum(shards.lengths), K)
    return given, ShardTable(shards, weight, "shards").rows(given.group)


RULES = {
    "free": [],
    "exact": [SIZES],
    "uneven": [ClusterSizes([1250, 1000, 375, 375, *[750] * 5, 1250])],
    "ordered": [ClusterSizes([1250, 1000, 375, 375, *[750] * 5, 1250], ordered=True)],
    "interval": [ClusterSizes(minimum=775, maximum=813)],
    "pairs": [MustLink(p) for p in [random_links(Y, 225, 225, random_state=1)[0].pairs]],
}


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("pieces", [1, 4])
def test_the_labels_are_those_of_a_fit_in_memory(kind, pieces):
    found = sharded(X, RULES[kind], pieces)
    model = ConstrainedKMeans(K, random_state=0).fit(X, constraints=RULES[kind])
    assert found.report_.plan.home == ""
    np.testing.assert_array_equal(found.labels_, model.labels_)
    np.testing.assert_allclose(found.cluster_centers_, model.cluster_centers_)
    assert found.report_.feasible
    assert found.inertia_ == pytest.approx(model.inertia_, rel=1e-12)


def test_everything_together_breaks_nothing_and_is_as_good():
    rules = [*random_links(Y, 375, 375, random_state=0), SIZES]
    found = sharded(X, rules)
    assert found.report_.feasible
    independent = audit(X, found.labels_, rules, K)
    assert independent.feasible
    assert independent.inertia == pytest.approx(found.inertia_, rel=1e-9)
    model = ConstrainedKMeans(K, random_state=0).fit(X, constraints=rules)
    assert found.inertia_ <= model.inertia_ * 1.0005


def test_weights_are_those_of_a_fit_in_memory():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, N)
    found = sharded(X, [SIZES], weight=weight)
    model = ConstrainedKMeans(K, random_state=0).fit(X, constraints=SIZES, sample_weight=weight)
    np.testing.assert_array_equal(found.labels_, model.labels_)
    assert found.inertia_ == pytest.approx(model.inertia_, rel=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_float32_and_a_far_middle(shift):
    points = (X + shift).astype(np.float32)
    found = sharded(points, [SIZES])
    model = ConstrainedKMeans(K, random_state=0).fit(points, constraints=SIZES)
    assert found.report_.feasible
    assert np.mean(found.labels_ == model.labels_) > 0.999
    assert found.inertia_ == pytest.approx(model.inertia_, rel=1e-5)


def test_a_start_given_keeps_its_numbers():
    centers = X[:K]
    found = sharded(X, [SIZES], init=centers)
    model = ConstrainedKMeans(K, init=centers, random_state=0).fit(X, constraints=SIZES)
    np.testing.assert_array_equal(found.labels_, model.labels_)
    again = sharded(X, [SIZES], init=model.labels_)
    shared = contingency_matrix(model.labels_, again.labels_)
    np.testing.assert_array_equal(shared.argmax(axis=1), np.arange(K))


PINS = Pin({int(row): int(Y[row]) for row in range(0, N, 25)})
SOFT = [
    MustLink(random_links(Y, 100, 0, random_state=5)[0].pairs, weight=30.0),
    CannotLink(random_links(Y, 0, 100, random_state=6)[1].pairs, weight=30.0),
]
HARD = random_links(Y, 75, 75, random_state=7)
FOLLOW = {
    "pins": [PINS],
    "soft pairs": SOFT,
    "pins and sizes": [PINS, SIZES],
    "soft pairs and sizes": [*SOFT, SIZES],
    "pins, hard and soft pairs, sizes": [PINS, *SOFT, *HARD, SIZES],
}


@pytest.mark.parametrize("kind", FOLLOW)
@pytest.mark.parametrize("max_samples", ["auto", None])
def test_pins_and_soft_pairs_are_solved_where_the_rows_are(kind, max_samples):
    found = sharded(X, FOLLOW[kind], max_samples=max_samples)
    assert found.report_.plan.home == ""
    independent = audit(X, found.labels_, FOLLOW[kind], K)
    assert independent.feasible
    assert independent.objective == pytest.approx(found.report_.objective, rel=1e-9)
    model = ConstrainedKMeans(K, random_state=0, max_samples=max_samples)
    model.fit(X, constraints=FOLLOW[kind])
    assert found.report_.objective <= model.report_.objective * (1.0 + 1e-3)


FEW = 200
FIRST = sparse.csr_array((np.ones(2), ([0, 0], [3, K + 3])), shape=(1, FEW * K))
HOME = {
    "totals": ClusterTotals(np.arange(FEW) % 7.0, maximum=200.0),
    "shares": GroupShares(np.arange(FEW) % 2, minimum=0.3),
    "linear rows": LinearConstraint(FIRST, upper=1.0),
}


@pytest.mark.parametrize("kind", HOME)
def test_totals_shares_and_linear_rows_come_home(kind):
    found = sharded(X[:FEW], HOME[kind])
    assert found.report_.plan.home.startswith("totals, shares and linear rows")
    model = ConstrainedKMeans(K, random_state=0).fit(X[:FEW], constraints=HOME[kind])
    np.testing.assert_array_equal(found.labels_, model.labels_)


def test_small_problems_and_recorded_iterates_come_home():
    few = sharded(X[:500], [])
    assert few.report_.plan.home == "the problem is small"
    model = ConstrainedKMeans(K, random_state=0).fit(X[:500])
    np.testing.assert_array_equal(few.labels_, model.labels_)
    kept = sharded(X, [SIZES], record_x=[1])
    assert "record_x" in kept.report_.plan.home
    assert kept.history_.x[1].shape == (N, K)


def test_rows_with_equal_costs_are_counted_where_they_go(monkeypatch):
    """Many rows cost the same in several clusters, and are moved in bulk."""
    monkeypatch.setattr(preferences, "MANY_TIES", 10)
    points = np.random.default_rng(0).integers(-2, 3, size=(N, 2)).astype(float)
    far = contracted_shards(cut(points, 3), None, None)
    centers = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]) - far.middle
    sizes = np.full(4, N // 4)
    scan, _ = ship(far.costs(centers), sizes, sizes, np.zeros(4))
    labels = scan.kept()()
    np.testing.assert_array_equal(np.bincount(labels), sizes)
    cost = MemoryRows(points).costs(centers).dense()
    best, _ = ship_units(cost, sizes, sizes)
    every = np.arange(N)
    assert cost[every, labels].sum() == pytest.approx(cost[every, best].sum())


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_one_pass_measures_means_and_inertia(metric):
    """As two passes do, from centres that are not the means."""
    known = rows.METRICS[metric]
    points = known.embedded(X) if known.bounded else X
    far = ShardRows(cut(points, 3), np.ones(N), distance=known.distance)
    where = far.costs(points[:K] - far.middle).scan(np.zeros(K)).kept()
    means, inertia = far.measured(where, K, points[:K] - far.middle)
    np.testing.assert_allclose(means, far.means(where, K), atol=1e-12)
    assert inertia == pytest.approx(far.inertia(where, means), rel=1e-10)


def test_labels_stay_what_they_were_when_other_centres_are_asked_for():
    rules, far = grouped(cut(X, 3), ConstraintSet([SIZES]))
    place, now = FarAssignment(rules, far), {"incumbent": None, "warm": None, "patience": 3.0}
    first = place(X[:K] - far.middle, deadline=NEVER, **now).labels
    before = first()
    place(X[K : 2 * K] - far.middle, deadline=NEVER, **now)
    np.testing.assert_array_equal(first(), before)
    for shard in far.shards.shards:
        shard.memo.clear()  # as when a worker was lost
    np.testing.assert_array_equal(first(), before)


def test_groups_that_would_leave_no_room_stay_where_they_were():
    """A cheap cluster attracts more linked rows than it may hold."""
    must, cannot = random_links(Y, 1500, 1500, random_state=3)
    given = ConstraintSet([ClusterSizes(np.bincount(Y), ordered=True), must, cannot])
    rules, far = grouped(cut(X, 3), given)
    place = FarAssignment(rules, far)
    centers = np.array([X[j == Y].mean(axis=0) for j in range(K)]) - far.middle
    cheap = np.where(np.arange(K) == 3, -1e6, 0.0)
    before = Y[rules.first_rows][place.tied.groups]
    now = {"incumbent": None, "deadline": NEVER, "patience": 3.0}
    assert not place.tied.leaves_room(np.full(len(place.tied), 3), rules.sizes)
    step = place(centers, warm=Warm(cheap, before), **now)
    np.testing.assert_array_equal(step.warm.tied, before)
    assert audit(X, rules.to_rows(step.labels()), given, K).feasible
    moved = place(centers, warm=Warm(np.zeros(K), before), **now)
    assert np.any(moved.warm.tied != before)


def test_no_room_and_no_round_before_is_no_assignment():
    """A group of linked rows that is larger than any cluster may be."""
    linked = np.flatnonzero(Y == 0)
    rules, far = grouped(cut(X, 3), MustLink(np.column_stack([linked[:-1], linked[1:]])))
    sizes = SizeBounds(np.zeros(K, np.int64), np.full(K, len(linked) - 1), ordered=True)
    place = FarAssignment(replace(rules, sizes=sizes), far)
    with pytest.raises(NoAssignment):
        place(X[:K] - far.middle, incumbent=None, warm=None, deadline=NEVER, patience=3.0)


def test_contradictions_and_time():
    with pytest.raises(InfeasibleConstraintsError, match="samples 0 and 1"):
        sharded(X, [MustLink([(0, 1)]), CannotLink([(0, 1)])])
    with pytest.raises(SolverTimeoutError):
        sharded(X, [SIZES], time_limit=0.0)


class Countdown:
    """A deadline that comes after so many questions, whatever the clock says."""

    def __init__(self, questions):
        self.questions, self.asked = questions, 0

    def check(self, work=0.0):
        self.asked += 1
        if self.passed:
            raise OutOfTime

    @property
    def passed(self):
        return self.asked > self.questions


def test_a_deadline_in_the_middle_of_a_round_leaves_the_answer_of_the_round_before():
    rules, far = grouped(cut(X, 3), [SIZES])
    settings = make_settings(ConstrainedKMeans(K).get_params(deep=False), X.shape)
    problem, start = Problem.of(rules, far, settings), X[:K] - far.middle
    first = Countdown(np.inf)
    expected = refine(problem.until(first), start, max_rounds=1)
    late = Countdown(first.asked + 1)
    found = refine(problem.until(late), start)
    assert late.passed
    np.testing.assert_array_equal(found.labels(), expected.labels())
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    with pytest.raises(OutOfTime):
        refine(problem.until(Countdown(first.asked - 1)), start)


def test_searches_ask_the_deadline_and_known_answers_do_not():
    far = ShardRows(cut(X, 3), np.ones(N))
    costs, some, reach = far.costs(X[:K] - far.middle), np.arange(5), np.ones(K)
    scan = costs.scan(np.zeros(K))
    late = replace(costs, deadline=Deadline.after(0.0))
    known = replace(scan, costs=late)
    searches = [
        lambda: late.scan(np.zeros(K)),
        lambda: late.sample(10),
        lambda: late.of(some),
        lambda: late.cheapest(some, np.ones(5, np.int64), np.zeros(K)),
        lambda: known.within(1.0),
        lambda: known.reach(3, np.ones(K, np.int64)),
        lambda: known.border(reach),
        lambda: known.near(reach),
    ]
    for search in searches:
        with pytest.raises(OutOfTime):
            search()
    labels, same = scan.kept(), known.kept()
    np.testing.assert_array_equal(same(), labels())
    np.testing.assert_array_equal(same.sums()[0], labels.sums()[0])
    assert same.inertia(X[:K]) == labels.inertia(X[:K])


# --- the parts -----------------------------------------------------------------------------------


def test_contraction_where_the_rows_are():
    given = ConstraintSet([*random_links(Y, 700, 0, random_state=2), SIZES])
    weight = np.random.default_rng(1).uniform(0.0, 2.0, N)
    rules, far = grouped(cut(X, 5), given, weight)
    reference = rows.MemoryRows.of(X, weight, rules.group, rows.EUCLIDEAN)
    np.testing.assert_allclose(far.shards.points, reference.points, atol=1e-12)
    np.testing.assert_allclose(far.weight, reference.weight)
    assert far.scatter == pytest.approx(reference.scatter)
    own = np.concatenate([shard.weight for shard in far.shards.shards])
    np.testing.assert_allclose(own, reference.weight)


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_geometry_from_sums(far):
    mine, whole = ShardRows(cut(X + far, 4), np.ones(N)), MemoryRows(X + far)
    np.testing.assert_allclose(mine.middle, whole.middle)
    assert mine.spread == pytest.approx(whole.spread)
    assert mine.separation_scale() == pytest.approx(whole.separation_scale())
    np.testing.assert_allclose(mine.sample(500), whole.sample(500))
    np.testing.assert_allclose(mine.local, whole._local, atol=1e-9)


def test_prices_over_shards_find_the_cheapest_assignment():
    far = ShardRows(cut(X, 4), np.ones(N))
    costs = far.costs(X[:K] - far.middle)
    sizes = np.full(K, N // K)
    scan, _ = ship(costs, sizes, sizes)
    matrix = costs.dense()
    labels, _ = ship_units(matrix, sizes, sizes)
    found, each = scan.kept()(), np.arange(N)
    np.testing.assert_array_equal(np.bincount(found), sizes)
    assert matrix[each, found].sum() == pytest.approx(matrix[each, labels].sum(), rel=1e-12)


def nearest_in(shards, centers):
    return ShardTable(shards, None, "shards").nearest(centers)


def test_nearest_and_finite():
    squares = ((X[:, None, :] - X[None, :K]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(nearest_in(cut(X, 3), X[:K]), squares.argmin(axis=1))
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
    linked = np.arange(N - 500, N)
    shards = LocalShards([Shard(X[:-500]), Shard(X[-500:])])
    rules = MustLink([(0, int(row)) for row in linked])
    found = fit_shards(X, shards, rules, K)
    assert found.report_.plan.home == ""
    assert found.report_.feasible
    assert np.all(found.labels_[linked] == found.labels_[0])


@pytest.mark.parametrize("far", [0.0, 2e4])
def test_nearest_of_single_precision_far_from_the_origin(far):
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(600, 2)) + 6.0 * rng.integers(0, 2, (600, 1)) + far).astype("f4")
    centers = np.array([[0.0, 0.0], [6.0, 6.0]]) + far
    squares = ((points[:, None, :].astype(float) - centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(nearest_in(cut(points, 2), centers), squares.argmin(1))


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("links", [0, 200])
def test_rounds_on_a_part_of_the_rows_first(quick, links, monkeypatch):
    """The answer obeys the rules and is as good as in memory; few rounds see all rows."""
    monkeypatch.setattr(thresholds, "REHEARSED", N // 4)
    monkeypatch.setattr(thresholds, "REHEARSED_EACH", 1)
    rules = [SIZES]
    if links:
        rules += random_links(Y, links, links, random_state=0)
    shards = cut(X, 3)
    shards.quick = quick
    found = fit_shards(X, shards, rules, K)
    assert found.report_.plan.rehearsal == N // 4
    assert audit(X, found.labels_, rules, K).feasible
    near = ConstrainedKMeans(K, random_state=0).fit(X, constraints=rules)
    assert found.inertia_ == pytest.approx(near.inertia_, rel=2e-3)
