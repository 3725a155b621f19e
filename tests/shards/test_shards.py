"""Fits over shards: rules are obeyed where the rows are, and answers are those of memory or near.

The sample that shows the centres is smaller here, so that small problems stay in shards.
"""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from local_shards import brought_home, cut, fit_shards
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
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
)
from corral.constraints import ConstraintSet
from corral.datasets import random_links
from corral.deadline import OutOfTime
from corral.exact import NoAssignment, assign
from corral.exceptions import InfeasibleConstraintsError, SolverTimeoutError
from corral.problem import Problem
from corral.rows import LocalShards, MemoryRows, Shard, ShardTable
from corral.rules import presolve
from corral.search import far
from corral.search.prices import Sums, find_prices
from corral.search.shape import RowCosts
from corral.settings import make_settings
from corral.solve import solve

N, D, K = 8_000, 4, 10
X, Y = make_blobs(N, D, centers=K, cluster_std=3.0, random_state=0)
RNG = np.random.default_rng(0)
VALUES, PARTY = RNG.lognormal(0.0, 0.7, N), np.where(RNG.random(N) < 0.35, "a", "b")
SHARE = VALUES.sum() / K
SIZES = ClusterSizes([N // K] * K)
PINS = Pin({int(row): int(Y[row]) for row in range(0, N, 25)})
SOFT = [
    MustLink(random_links(Y, 100, 0, random_state=5)[0].pairs, weight=30.0),
    CannotLink(random_links(Y, 0, 100, random_state=6)[1].pairs, weight=30.0),
]
TOTALS = ClusterTotals(VALUES, maximum=1.03 * SHARE)
SHARES = GroupShares(PARTY, minimum={"a": 0.33}, maximum={"a": 0.37})


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    monkeypatch.setattr("corral.numbers.SAMPLE", 2_000)


def sharded(points, rules, pieces=3, weight=None, **parameters):
    return fit_shards(points, cut(points, pieces), rules, K, weight, **parameters)


RULES = {
    "free": [],
    "exact": [SIZES],
    "uneven": [ClusterSizes([1250, 1000, 375, 375, *[750] * 5, 1250])],
    "ordered": [ClusterSizes([1250, 1000, 375, 375, *[750] * 5, 1250], ordered=True)],
    "interval": [ClusterSizes(minimum=775, maximum=813)],
    "maximum": [ClusterSizes(maximum=803)],
    "totals": [TOTALS],
    "band": [ClusterTotals(VALUES, minimum=0.99 * SHARE, maximum=1.01 * SHARE)],
    "shares": [SHARES],
    "pins": [PINS],
    "must-links": [random_links(Y, 225, 0, random_state=1)[0]],
    "cannot-links": [random_links(Y, 0, 400, random_state=1)[1]],
    "soft pairs": SOFT,
    "pins and sizes": [PINS, SIZES],
    "links and sizes": [*random_links(Y, 375, 375, random_state=0), SIZES],
    "links and totals": [*random_links(Y, 100, 100, random_state=0), TOTALS],
    "pins, all pairs and sizes": [PINS, *SOFT, *random_links(Y, 75, 75, random_state=7), SIZES],
    "sizes and shares": [ClusterSizes(minimum=700, maximum=900), SHARES],
}


@pytest.mark.parametrize("kind", RULES)
def test_rules_are_obeyed_where_the_rows_are(kind):
    found = sharded(X, RULES[kind])
    assert brought_home(found) == ""
    independent = audit(X, found.labels_, RULES[kind], K)
    assert independent.feasible
    assert independent.objective == pytest.approx(found.report_.objective, rel=1e-9)
    model = ConstrainedKMeans(K, random_state=0).fit(X, constraints=RULES[kind])
    # With unequal sizes single samples of 2,000 rows end up to 5 % apart: one of three shows where
    # the clusters are.
    seeds = (1, 2) if kind in ("uneven", "ordered") else ()
    others = [sharded(X, RULES[kind], random_state=seed) for seed in seeds]
    least = min(each.report_.objective for each in [found, *others])
    assert least <= model.report_.objective * 1.01


@pytest.mark.parametrize("minimum", [780, 790])
def test_minima_are_filled_where_the_rows_are(minimum, monkeypatch):
    """Clusters of unequal size, so that some have little to give to those below the minimum."""
    monkeypatch.setattr("corral.numbers.EXACT", 1_000)
    sizes = np.bincount(Y, minlength=K)
    rows = np.concatenate([np.flatnonzero(j == Y)[: sizes[j] - 60 * (j % 3)] for j in range(K)])
    least = int(minimum / 800 * len(rows) / K)
    rules = ClusterSizes(minimum=least)
    found = fit_shards(X[rows], cut(X[rows], 3), [rules], K)
    assert brought_home(found) == ""
    assert min(np.bincount(found.labels_, minlength=K)) >= least


@pytest.mark.parametrize("pieces", [1, 4])
@pytest.mark.parametrize("kind", ["exact", "interval"])
def test_the_number_of_shards_changes_nothing(kind, pieces):
    found, other = (sharded(X, RULES[kind], number) for number in (2, pieces))
    assert found.inertia_ == pytest.approx(other.inertia_, rel=1e-5)


@pytest.mark.parametrize("pieces", [1, 2, 4])
def test_shares_in_shards_are_as_good_as_in_memory(pieces):
    """Programs over open rows end by time, so labels may differ in a few rows."""
    found = sharded(X, RULES["shares"], pieces)
    model = ConstrainedKMeans(K, random_state=0).fit(X, constraints=RULES["shares"])
    assert found.inertia_ <= model.inertia_ * (1 + 1e-3)


@pytest.mark.parametrize("samples", ["auto", N])
@pytest.mark.parametrize("kind", ["exact", "ordered", "maximum", "shares", "pins and sizes"])
def test_a_sample_too_large_for_memory_is_searched_where_it_is(kind, samples, monkeypatch):
    """From rows drawn at random; if these are all rows there is no sample at all."""
    monkeypatch.setattr("corral.numbers.EXACT", 0)
    found = sharded(X, RULES[kind], max_samples=samples)
    assert brought_home(found) == ""
    assert audit(X, found.labels_, RULES[kind], K).feasible
    model = ConstrainedKMeans(K, random_state=0).fit(X, constraints=RULES[kind])
    assert found.inertia_ <= model.inertia_ * 1.15


def test_all_groups_for_admm_are_asked_for_in_memory_alone():
    with pytest.warns(FutureWarning, match="max_samples") as heard:
        found = sharded(X, RULES["exact"], max_samples=None)
    assert len(heard) == 1
    np.testing.assert_array_equal(found.labels_, sharded(X, RULES["exact"]).labels_)


def test_open_rows_alone_come_home(monkeypatch):
    """Beside the sample; and means of must-links, which there are none of here."""
    taken = []
    take = ShardTable(cut(X, 1), None, "shards").rows(None).__class__.take

    def count(self, groups):
        taken.append(len(groups))
        return take(self, groups)

    monkeypatch.setattr("corral.rows.shards.ShardRows.take", count)
    found = sharded(X, [ClusterSizes(minimum=700, maximum=900), SHARES])
    assert found.report_.feasible
    assert taken[0] == 2_000
    assert max(taken[1:], default=0) < N / 4


def test_weights_are_those_of_a_fit_in_memory():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, N)
    found = sharded(X, [SIZES], weight=weight)
    model = ConstrainedKMeans(K, random_state=0).fit(X, constraints=SIZES, sample_weight=weight)
    assert found.report_.feasible
    assert found.inertia_ <= model.inertia_ * 1.001


@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_float32_and_a_far_middle(shift):
    points = (X + shift).astype(np.float32)
    found = sharded(points, [SIZES])
    model = ConstrainedKMeans(K, random_state=0).fit(points, constraints=SIZES)
    assert found.report_.feasible
    assert found.inertia_ == pytest.approx(model.inertia_, rel=1e-3)


def test_a_start_given_keeps_its_numbers():
    centers = X[:K]
    found = sharded(X, [SIZES], init=centers)
    assert found.report_.feasible
    again = sharded(X, [SIZES], init=found.labels_)
    shared = contingency_matrix(found.labels_, again.labels_)
    np.testing.assert_array_equal(shared.argmax(axis=1), np.arange(K))
    assert again.inertia_ <= found.inertia_ * (1.0 + 1e-9)


FEW = 200
FIRST = sparse.csr_array((np.ones(2), ([0, 0], [3, K + 3])), shape=(1, FEW * K))


def test_why_rows_come_home(monkeypatch):
    few = sharded(X[:500], [])
    assert brought_home(few) == "the problem is small"
    model = ConstrainedKMeans(K, random_state=0).fit(X[:500])
    np.testing.assert_array_equal(few.labels_, model.labels_)
    monkeypatch.setattr("corral.numbers.SAMPLE", 20)
    monkeypatch.setattr("corral.numbers.SAMPLE_EACH", 2)
    rules = LinearConstraint(FIRST, upper=1.0), ClusterSizes([FEW // K] * K, weight=1.0)
    for rule in rules:
        assert brought_home(sharded(X[:FEW], rule)) == ""
    monkeypatch.setattr("corral.numbers.EXACT", 2 * K - 1)
    found = sharded(X[:FEW], rules[0])
    assert brought_home(found).startswith("linear rows tie 2 groups")
    model = ConstrainedKMeans(K, random_state=0).fit(X[:FEW], constraints=rules[0])
    np.testing.assert_array_equal(found.labels_, model.labels_)
    kept = sharded(X[:FEW], [], record_x=[1])
    assert "record_x" in brought_home(kept)
    assert kept.history_.x[1].shape == (FEW, K)


@pytest.mark.parametrize("kind", ["integers", "few different rows", "heavy tails"])
def test_data_of_other_shapes(kind):
    rng = np.random.default_rng(0)
    points = {
        "integers": rng.integers(-2, 3, size=(N, 2)).astype(float),
        "few different rows": rng.normal(size=(15, 3))[rng.integers(0, 15, N)],
        "heavy tails": rng.standard_t(2, size=(N, 3)),
    }[kind]
    # Of few different rows, the clusters that a seed finds differ by some per cent.
    best = {"shards": np.inf, "memory": np.inf}
    for seed in range(3):
        found = sharded(points, [SIZES], random_state=seed)
        assert brought_home(found) == ""
        assert audit(points, found.labels_, [SIZES], K).feasible
        model = ConstrainedKMeans(K, random_state=seed).fit(points, constraints=SIZES)
        best["shards"] = min(best["shards"], found.inertia_)
        best["memory"] = min(best["memory"], model.inertia_)
    assert best["shards"] <= best["memory"] * 1.02


def problem_of(rules, points=X, pieces=3, **parameters):
    """The problem of rows in shards."""
    settings = make_settings(ConstrainedKMeans(K, **parameters).get_params(deep=False), X.shape)
    given = presolve(ConstraintSet(rules), len(points), K)
    rows = ShardTable(cut(points, pieces), None, "shards").rows(given.group)
    return Problem.of(given, rows, settings)


@pytest.mark.parametrize("sizes", [SIZES, ClusterSizes(minimum=775, maximum=813)])
def test_labels_are_exact_at_the_last_centres(sizes):
    """Against a flow of all rows in memory."""
    problem = problem_of([sizes])
    start = X[:K] - problem.rows.middle
    descent = far._Descent.of(problem, start, None, problem.deadline)
    found = descent.settled(start, problem.deadline, exact=True)
    assert found.exact
    near = MemoryRows(X)
    cost = near.costs(start).dense()
    best = assign(problem.rules, cost).cost
    assert cost[np.arange(N), found.labels()].sum() == pytest.approx(best, rel=1e-9)


def test_prices_of_a_sample_start_all_rows():
    """Centres by a closure, as the search of a sample in memory gives them."""
    problem, prices = problem_of([SIZES]), []

    def search_near(part, random_state):
        assert part.rows.shape[0] == 2_000
        centers = solve(part, random_state).centers - part.rows.middle
        costs = RowCosts(part.near, centers)
        bounds = np.full((K, 1), len(part.rules.count) / K)
        prices.append(find_prices(costs, Sums(np.ones((2_000, 1)), bounds, bounds), 1.0))
        return centers, prices[0]

    answer = far.search_far(problem, np.random.RandomState(0), search_near)
    assert answer.prices.prices.shape == (K, 1)
    np.testing.assert_array_equal(np.bincount(answer.labels()), N // K)
    near = ConstrainedKMeans(K, random_state=0).fit(X, constraints=SIZES)
    assert problem.objective(answer.objective) <= near.inertia_ * 1.001
    # Prices that are known leave little to balance.
    at = problem.rows.with_amounts(np.ones((1, N))).at(answer.centers)
    assert np.abs(at.place(answer.prices.prices).sums - N // K).sum() < 0.02 * N


def test_a_sample_without_an_answer_starts_from_seeds():
    problem = problem_of([SIZES])

    def search_near(part, random_state):
        raise NoAssignment

    answer = far.search_far(problem, np.random.RandomState(0), search_near)
    np.testing.assert_array_equal(np.bincount(answer.labels()), N // K)


def test_contradictions_and_time():
    with pytest.raises(InfeasibleConstraintsError, match="samples 0 and 1"):
        sharded(X, [MustLink([(0, 1)]), CannotLink([(0, 1)])])
    # After the end a first answer is looked for, for a moment.
    with warnings.catch_warnings(record=True) as told, contextlib.suppress(SolverTimeoutError):
        warnings.simplefilter("always")
        assert sharded(X, [SIZES], time_limit=0.0).report_.feasible
        assert any(issubclass(each.category, ConvergenceWarning) for each in told)


class Countdown:
    """A deadline that comes after so many questions, whatever the clock says."""

    def __init__(self, questions):
        self.questions, self.asked = questions, 0

    first = property(lambda self: self)

    def check(self, work=0.0):
        self.asked += 1
        if self.passed:
            raise OutOfTime

    def share(self, part):
        return self

    def within(self, seconds):
        return far.Deadline.after(None)

    @property
    def passed(self):
        return self.asked > self.questions


def test_a_deadline_in_the_middle_of_a_round_leaves_the_answer_of_the_round_before():
    problem, start = problem_of([SIZES]), X[:K]
    start = start - problem.rows.middle
    never = Countdown(np.inf)
    descent = far._Descent.of(problem, start, None, never)
    first = descent.settled(start, never)
    late = Countdown(never.asked + 2)
    found = far.descend_far(problem, start, None, late)
    assert late.passed
    np.testing.assert_array_equal(found.labels(), first.labels())
    with pytest.raises(OutOfTime):
        far.descend_far(problem, start, None, Countdown(never.asked - 1))


def test_must_links_may_empty_a_shard():
    linked = np.arange(N - 500, N)
    shards = LocalShards([Shard(X[:-500]), Shard(X[-500:])])
    rules = MustLink([(0, int(row)) for row in linked])
    found = fit_shards(X, shards, rules, K)
    assert brought_home(found) == ""
    assert found.report_.feasible
    assert np.all(found.labels_[linked] == found.labels_[0])


@pytest.mark.parametrize("metric", ["cosine"])
def test_cosine(metric):
    rules = [ClusterSizes(maximum=900), MustLink([(0, 1), (2, 3)])]
    found = sharded(X, rules, metric=metric, n_init=1)
    assert brought_home(found) == ""
    independent = audit(X, found.labels_, rules, K, metric=metric)
    assert independent.feasible
    assert independent.inertia == pytest.approx(found.inertia_)
    model = ConstrainedKMeans(K, metric=metric, random_state=0).fit(X, constraints=rules)
    assert found.inertia_ <= model.inertia_ * 1.01
