"""Fits with many clusters: rules are obeyed, labels repeat, and the answer is near the best."""

from __future__ import annotations

from pkgutil import resolve_name
from unittest.mock import patch

import numpy as np
import pytest
from local_shards import cut, fit_shards
from problems import plan_of
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from corral import (
    CannotLink,
    ClusterSizes,
    ConstrainedKMeans,
    MustLink,
    Pin,
    SolverTimeoutError,
    audit,
)
from corral.assign.many import AmongCandidates
from corral.assign.sizes.flow import transport
from corral.assign.sizes.shares import approached, misplaced_rows
from corral.deadline import NEVER, OutOfTime
from corral.many.tree import Split
from corral.plan import many_thresholds
from corral.presolve import SizeBounds, presolve
from corral.rows import MemoryRows, passes, shards
from corral.search import far

N, D, K = 1500, 4, 30
X = make_blobs(N, D, centers=6, cluster_std=2.0, random_state=0)[0]
EQUAL = ClusterSizes([N // K] * K)


@pytest.fixture(autouse=True)
def soon_many():
    """Problems of some thousand entries count as those with many clusters."""
    small = {"MANY_CLUSTERS": 8, "MANY_FAR": 8, "MANY_ENTRIES": 1000}
    small |= {"TIED_ENTRIES": 1000, "CANDIDATES": 6}
    with patch.multiple(many_thresholds, **small):
        yield


def pairs(number, seed=0):
    return np.random.default_rng(seed).permutation(N)[: 2 * number].reshape(-1, 2)


RULES = {
    "equal": [EQUAL],
    "interval": [ClusterSizes(minimum=30, maximum=80)],
    "unequal": [ClusterSizes([30] * (K // 2) + [70] * (K // 2))],
    "ordered": [ClusterSizes([30] * (K // 2) + [70] * (K // 2), ordered=True)],
    "pins": [EQUAL, Pin({i: i % K for i in range(40)})],
    "cannot-links": [EQUAL, CannotLink(pairs(100))],
    "soft": [EQUAL, CannotLink(pairs(100), weight=2.0)],
    "must-links": [EQUAL, MustLink(pairs(100))],
    "groups of two": [EQUAL, MustLink(np.arange(N).reshape(-1, 2))],
    "both": [EQUAL, MustLink(pairs(50)), CannotLink(pairs(60, seed=1))],
}


@pytest.mark.parametrize("kind", RULES)
def test_rules_are_obeyed(kind):
    weight = np.random.default_rng(0).random(N) if kind == "interval" else None
    model = ConstrainedKMeans(K, random_state=0, n_init=1)
    model.fit(X, constraints=RULES[kind], sample_weight=weight)
    assert model.report_.plan.candidates == 6
    assert "graduation" in model.report_.plan.centers
    assert audit(X, model.labels_, RULES[kind], K).feasible


def test_labels_repeat():
    fits = [ConstrainedKMeans(K, random_state=3).fit(X, constraints=[EQUAL]) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)


def test_no_higher_than_free_kmeans():
    """Graduation and exchanges make up for what the sizes cost on data of one density."""
    points = np.random.default_rng(0).normal(size=(3000, 6))
    free = KMeans(60, n_init=1, random_state=0).fit(points).inertia_
    model = ConstrainedKMeans(60, random_state=0).fit(points, constraints=[ClusterSizes([50] * 60)])
    assert model.inertia_ <= free


def test_every_blob_is_one_cluster():
    points, blobs = make_blobs([40] * 25, 3, cluster_std=0.01, random_state=1)
    model = ConstrainedKMeans(25, random_state=0).fit(points, constraints=[ClusterSizes([40] * 25)])
    assert len({*zip(blobs, model.labels_, strict=True)}) == 25


def test_time_limit():
    """Without time there is no answer, or one that obeys the rules and a warning."""
    model = ConstrainedKMeans(K, random_state=0, time_limit=0.0)
    try:
        with pytest.warns(ConvergenceWarning):
            model.fit(X, constraints=[EQUAL])
    except SolverTimeoutError:
        return
    assert audit(X, model.labels_, [EQUAL], K).feasible


def test_parts_of_a_tree_have_their_sizes():
    """Each centre is the mean of as many rows as the sizes say, so that the means balance."""
    rows, lower = MemoryRows(X), np.array([10, 90, 50, 100] * 6)
    sizes = SizeBounds(lower, lower, ordered=True)
    centers = Split(rows, np.random.RandomState(0)).centers(sizes)
    np.testing.assert_allclose(lower @ centers / N, 0.0, atol=1e-9)


def problem_of(rules):
    table = MemoryRows(X)
    return table, presolve(rules, N, K)


def test_centres_and_costs_of_shares():
    """Against a dense matrix of all shares."""
    rows, _ = problem_of([])
    rng = np.random.default_rng(0)
    centers, prices, temperature = X[:K] - rows.middle, rng.random(K), 2.0
    cost = rows.costs(centers).dense()
    members = np.exp(-(cost + prices - (cost + prices).min(axis=1, keepdims=True)) / temperature)
    members /= members.sum(axis=1, keepdims=True)
    expected = (members.T @ X) / members.sum(axis=0)[:, None] - X.mean(axis=0)
    table = rows.candidates(centers, prices, K)
    found, paid = rows.soft_means(table, prices, temperature, centers)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    np.testing.assert_allclose(table.held(prices, temperature), members.sum(axis=0))
    assert paid == pytest.approx((members * cost).sum())
    assert table.spent() == pytest.approx(cost.min(axis=1).sum())


@pytest.mark.parametrize("kind", ["equal", "interval", "unequal", "pins", "both", "groups of two"])
@pytest.mark.parametrize("wide", [False, True])
def test_rules_are_obeyed_in_shards(kind, wide, monkeypatch):
    """With shares of all clusters, and of the cheapest few of each row."""
    monkeypatch.setattr(far, "SAMPLE", 300)
    monkeypatch.setattr(far, "SAMPLE_EACH", 12)
    if wide:
        monkeypatch.setattr(shards, "WIDE", 10)
        monkeypatch.setattr(passes, "CHEAPEST", 8)
    model = fit_shards(X, cut(X, 3), RULES[kind], K)
    assert model.report_.plan.home == ""
    assert audit(X, model.labels_, RULES[kind], K).feasible


def test_shards_are_nearly_as_good_as_memory(monkeypatch):
    """Without exchanges, which need rows in memory."""
    monkeypatch.setattr(far, "SAMPLE", 300)
    monkeypatch.setattr(far, "SAMPLE_EACH", 25)
    points = np.random.default_rng(0).normal(size=(3000, 6))
    sizes = [ClusterSizes([50] * 60)]
    near = ConstrainedKMeans(60, random_state=0).fit(points, constraints=sizes)
    away = fit_shards(points, cut(points, 2), sizes, 60)
    assert away.report_.plan.home == ""
    assert away.inertia_ <= 1.02 * near.inertia_


def test_parts_are_as_cheap_as_their_cheapest_cluster():
    """With all clusters as candidates, against the least of dense costs in each part."""
    rows = MemoryRows(X)
    rng = np.random.default_rng(0)
    centers, prices, part = X[:K] - rows.middle, rng.random(K), rng.integers(0, 4, K)
    priced = MemoryRows(X).costs(centers).dense() + prices
    expected = np.stack([priced[:, part == p].min(axis=1) for p in range(4)], axis=1)
    merged = rows.candidates(centers, prices, K).merged(part, prices)
    np.testing.assert_array_equal(merged.at(np.zeros(4)).brought(), expected.argmin(axis=1))
    share = np.exp(-(expected - expected.min(axis=1, keepdims=True)) / 2.0)
    share /= share.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(merged.held(np.zeros(4), 2.0), share.sum(axis=0))


def test_candidates_beside_others_are_those_of_both():
    rows = MemoryRows(X)
    centers, doors, zero = X[:K] - rows.middle, np.array([3, 17, 20, 28]), np.zeros(K)
    more = rows.candidates(centers[doors], zero[doors], 2).named(doors)
    opened = rows.candidates(centers, zero, 3).beside(more).at(zero).near(np.full(K, np.inf))
    cost = MemoryRows(X).costs(centers).dense()
    nearest, door = np.argsort(cost, axis=1)[:, :3], doors[np.argsort(cost[:, doors])[:, :2]]
    for i in range(0, N, 50):
        known = np.isfinite(opened.cost[i])
        found = opened.cluster[i, known]
        assert sorted(found) == sorted({*nearest[i], *door[i]})
        np.testing.assert_allclose(opened.cost[i, known], cost[i, found], atol=1e-9)


def test_islands_with_room_that_no_row_sees():
    """An island has nine clusters and few rows; rows of the others see their own alone."""
    rng = np.random.default_rng(0)
    places = 1000.0 * rng.normal(size=(4, D))
    where = np.repeat(np.arange(4), [400, 60, 500, 540])
    points = places[where] + rng.normal(size=(N, D))
    centers = points[np.concatenate([np.flatnonzero(where == p)[:9] for p in range(4)])[:K]]
    rows = MemoryRows(points)
    rules = presolve([EQUAL], N, K)
    how = {"incumbent": None, "warm": None, "deadline": NEVER, "patience": 3.0}
    labels = AmongCandidates(rules, rows, 4)(centers - points.mean(axis=0), **how).labels
    cost = MemoryRows(points).costs(centers - points.mean(axis=0)).dense()
    sizes = np.full(K, N // K)
    best = (transport(cost, np.ones(N, np.int64), sizes, sizes) * cost).sum()
    assert np.array_equal(np.bincount(labels, minlength=K), sizes)
    assert cost[np.arange(N), labels].sum() == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("kind", ["no rows", "alike"])
def test_clusters_without_rows_and_rows_that_are_alike(kind, sharded, monkeypatch):
    points = X if kind == "no rows" else np.ones_like(X)
    sizes = [0] * 10 + [75] * (K - 10) if kind == "no rows" else [N // K] * K
    rules = [ClusterSizes(sizes)]
    monkeypatch.setattr(far, "SAMPLE", 300)
    monkeypatch.setattr(far, "SAMPLE_EACH", 20)
    if sharded:
        model = fit_shards(points, cut(points, 3), rules, K)
    else:
        model = ConstrainedKMeans(K, random_state=0).fit(points, constraints=rules)
    assert audit(points, model.labels_, rules, K).feasible


def test_an_empty_cluster_attracts_no_row_that_does_not_see_it():
    """Exchanges with an empty cluster 0, which stands for candidates that are missing."""
    points = make_blobs(N, 3, centers=K, cluster_std=0.5, random_state=2)[0]
    start = points[:K].copy()
    start[0] = 1e4
    rules = [ClusterSizes(minimum=0, maximum=80)]
    model = ConstrainedKMeans(K, init=start, random_state=0).fit(points, constraints=rules)
    free = KMeans(K, init=start, n_init=1).fit(points).inertia_
    assert audit(points, model.labels_, rules, K).feasible
    assert model.inertia_ <= 1.5 * free


@pytest.mark.parametrize("place", ["corral.many.graduation.sweep", "corral.many.tree.ship_units"])
@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("once", [False, True])
def test_centres_that_are_late_are_those_in_hand(place, after, once):
    """The part of the time that centres have is over, and the rest gives an answer all the same.

    Or one step alone would have taken too long.
    """
    real, calls = resolve_name(place.rpartition(".")[0] + ":" + place.rpartition(".")[2]), []

    def late(*arguments, **options):
        calls.append(arguments)
        if len(calls) == after + 1 or (len(calls) > after and not once):
            raise OutOfTime
        return real(*arguments, **options)

    with patch(place, late):
        model = ConstrainedKMeans(K, random_state=0, n_init=1).fit(X, constraints=[EQUAL])
    assert len(calls) > after
    assert model.report_.feasible


@pytest.mark.parametrize("clear", [False, True])
def test_steps_towards_the_prices_misplace_fewer_rows(clear):
    """From prices of 0, on data without clusters, and on blobs of different sizes with a gap."""
    points = np.random.default_rng(0).normal(size=(N, D))
    centers = points[:K].copy()
    if clear:
        every, where = make_blobs(2 * N, D, centers=K, cluster_std=0.2, random_state=0)
        points, where = every[::2], where[::2]
        centers = np.array([points[where == j].mean(axis=0) for j in range(K)])
    sizes = SizeBounds(np.full(K, N // K), np.full(K, N // K), ordered=True)
    rows = MemoryRows(points)
    table = rows.candidates(centers - rows.middle, np.zeros(K), 12)
    before = misplaced_rows(sizes, table.at(np.zeros(K)).counted, np.zeros(K))
    found = approached(table, sizes, np.zeros(K))
    assert misplaced_rows(sizes, found.now.counted, found.now.prices) < before * (
        1.0 if clear else 0.5
    )


def test_an_exchange_knows_what_a_single_move_gains():
    """With room in one cluster alone, the best move is that of all moves tried one by one."""
    rules = [ClusterSizes([N // K] * K)]
    near, _ = problem_of(rules)
    labels = np.random.default_rng(0).permutation(np.arange(N) % K)
    centers = near.means(labels, K)
    mass, squares = near.stiffness(labels, K), near.distances(centers)
    cluster = np.tile(np.arange(K), (N, 1))
    stays = cluster == labels[:, None]
    priced = squares * near.distance.following(np.ones((N, 1)), mass[cluster], stays, squares)
    before = near.inertia(labels, centers)
    for g, to in ((0, 3), (7, 11), (100, 20)):
        moved = labels.copy()
        moved[g] = to
        after = near.inertia(moved, near.means(moved, K))
        assert after - before == pytest.approx(priced[g, to] - priced[g, labels[g]])


def test_plans():
    many = plan_of([EQUAL], N, K)
    assert (many.candidates, many.centers, many.rounds) == (6, "tree and graduation", 2)
    assert plan_of([ClusterSizes(minimum=1, maximum=400)], N, K).centers == "graduation"
    assert plan_of(RULES["pins"], N, K).centers == "graduation"
    assert plan_of([EQUAL], N, K, max_samples=None).candidates == 0
    assert plan_of([CannotLink(pairs(5))], N, K).candidates == 0
    few = plan_of([ClusterSizes([N // 5] * 5), CannotLink(pairs(5))], N, 5)
    assert (few.candidates, few.centers) == (6, "ADMM")
    assert plan_of([ClusterSizes([N // 5] * 5), MustLink(pairs(200))], N, 5).candidates == 0
