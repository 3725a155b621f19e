"""Sizes by prices: the same least cost as one flow over everything, and prices that prove it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from tiny_problems import make_rules

from corral.exact import NoAssignment, assign, sizes
from corral.exact.sizes import Room, cheapest_flow, scan, solve_units
from corral.rules import SizeBounds


@pytest.fixture
def small_steps(monkeypatch):
    """Everything that is meant for many rows happens with few."""

    def setting(rng):
        monkeypatch.setattr(sizes, "SAMPLED", int(rng.integers(2, 40)))

    return setting


def uniform(rng, m, k):
    return rng.random((m, k)) * 10.0 ** rng.integers(-3, 4)


def whole(rng, m, k):
    return rng.integers(0, 4, (m, k)).astype(float)


def repeated(rng, m, k):
    return np.repeat(rng.random((m // 20 + 1, k)), 20, axis=0)[:m]


def squares(rng, m, k):
    return ((rng.normal(size=(m, 2))[:, None] - rng.normal(size=(k, 2))) ** 2).sum(-1)


def all_alike(rng, m, k):
    return np.zeros((m, k)) + rng.integers(0, 2, k)


def skewed(rng, m, k):
    return rng.random((m, k)) + 3 * rng.random(k)


def bounds(rng, m, k):
    size = np.bincount(rng.integers(0, k, m), minlength=k)
    if rng.random() < 0.5:
        return size, size
    give = rng.integers(0, m // k + 1, (2, k)) * (rng.random((2, k)) < 0.6)
    return np.maximum(size - give[0], 0), size + give[1]


def flow(cost, lower, upper):
    """Labels by OR-Tools' min-cost flow over everything."""
    return cheapest_flow(cost, Room.of(lower, upper), np.full(len(cost), -1))


def least(cost, lower, upper):
    return cost[np.arange(len(cost)), flow(cost, lower, upper)].sum()


def check(cost, lower, upper, labels, prices):
    """The labels fit, and the prices prove that they are the best: linear duality."""
    m, k = cost.shape
    scale = np.abs(cost[np.isfinite(cost)]).max()
    size = np.bincount(labels, minlength=k)
    assert np.all((lower <= size) & (size <= upper))
    paid = cost + prices
    assert (paid[np.arange(m), labels] - paid.min(axis=1)).max() <= 1e-11 * scale
    open_ends = lower < upper
    assert np.all(prices[open_ends & (size < upper)] <= 1e-11 * scale)
    assert np.all(prices[open_ends & (size > lower)] >= -1e-11 * scale)


@pytest.mark.parametrize("make", [uniform, whole, repeated, squares, all_alike, skewed])
def test_equals_one_flow_over_everything(make, small_steps):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        small_steps(rng)
        m, k = int(rng.integers(20, 900)), int(rng.integers(2, 12))
        cost = make(rng, m, k)
        if rng.random() < 0.3:
            pinned, to = rng.choice(m, m // 10, replace=False), rng.integers(0, k, m // 10)
            kept = cost[pinned, to]
            cost[pinned] = np.inf
            cost[pinned, to] = kept
        if rng.random() < 0.3:
            cost -= cost[np.isfinite(cost)].mean()
        lower, upper = bounds(rng, m, k)
        start = rng.normal(size=k) if rng.random() < 0.4 else None
        try:
            expected = least(cost, lower, upper)
        except NoAssignment:
            with pytest.raises(NoAssignment):
                solve_units(cost, Room.of(lower, upper), start)
            continue
        before = cost.copy()
        labels, prices = solve_units(cost, Room.of(lower, upper), start)
        np.testing.assert_array_equal(cost, before)
        scale = np.abs(cost[np.isfinite(cost)]).max()
        reached = cost[np.arange(m), labels].sum()
        assert reached == pytest.approx(expected, abs=1e-11 * scale * m), seed
        check(cost, lower, upper, labels, prices)


@pytest.mark.parametrize("exact", [True, False])
def test_many_rows_are_proven_by_their_prices(exact):
    rng = np.random.default_rng(0)
    m, k = 40_000, 7
    cost = squares(rng, m, k)
    lower, upper = (m // k, m // k + 1) if exact else (m // k - 900, m // k + 300)
    rules = make_rules(
        np.ones(m, int), k, sizes=SizeBounds(np.full(k, lower), np.full(k, upper), True)
    )
    found = assign(rules, cost)
    check(cost, lower, upper, found.labels, found.warm)
    moved = cost * (1 + 0.01 * rng.random(cost.shape))
    again = assign(rules, moved, prices=found.warm)
    check(moved, lower, upper, again.labels, again.warm)
    assert again.cost == pytest.approx(assign(rules, moved).cost, rel=1e-12)


def test_equals_linear_sum_assignment(small_steps):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        small_steps(rng)
        cost = uniform(rng, 150, 5)
        size, _ = bounds(rng, 150, 5)
        size[0] += 150 - size.sum()
        labels, _ = solve_units(cost, Room.of(size, size))
        wide = np.repeat(cost, size, axis=1)
        best = wide[linear_sum_assignment(wide)].sum()
        assert cost[np.arange(150), labels].sum() == pytest.approx(best, rel=1e-11)


def test_prices_are_per_point_where_groups_have_several():
    rng = np.random.default_rng(1)
    n = 2_001
    cost = rng.random((n, 3))
    bounds = SizeBounds(np.full(3, n), np.full(3, n), True)
    found = assign(make_rules(np.full(n, 3), 3, sizes=bounds), cost)
    paid = cost + 3 * found.warm
    assert (paid[np.arange(n), found.labels] - paid.min(axis=1)).max() <= 1e-12


@pytest.mark.parametrize("k", [1, 2, 9, 40])
def test_a_scan_is_the_two_least_of_each_row(k):
    rng = np.random.default_rng(k)
    cost, prices = rng.integers(0, 5, (20_000, k)).astype(float), rng.integers(0, 3, k)
    labels, best, margin = scan(cost, prices)
    ordered = np.sort(cost + prices, axis=1)
    np.testing.assert_array_equal(labels, (cost + prices).argmin(axis=1))
    np.testing.assert_array_equal(best, ordered[:, 0])
    np.testing.assert_array_equal(margin, ordered[:, 1] - ordered[:, 0] if k > 1 else np.inf)


def test_clusters_that_stand_apart_give_up_rows():
    """Rows must leave clusters, and enter others, that are within the reach of nobody."""
    rng = np.random.default_rng(0)
    m, k = 60_000, 12
    centers = 4.0 * rng.normal(size=(k, 6))
    centers[-1] = 100.0
    X = centers[rng.integers(0, k - 1, m)] + rng.normal(size=(m, 6))
    cost = ((X[:, None, :] - centers) ** 2).sum(axis=2)
    size = np.full(k, m // k)
    labels, prices = solve_units(cost, Room.of(size, size))
    check(cost, size, size, labels, prices)
    assert cost[np.arange(m), labels].sum() == pytest.approx(least(cost, size, size), rel=1e-12)


@pytest.mark.parametrize("make", [whole, all_alike])
def test_many_equal_costs(make):
    """Ties are misplaced by the thousand, whatever the prices."""
    rng = np.random.default_rng(0)
    cost = make(rng, 20_000, 10)
    size = np.full(10, 2_000)
    check(cost, size, size, *solve_units(cost, Room.of(size, size)))
