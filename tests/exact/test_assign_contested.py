"""Prices that settle most groups leave the least cost as it is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tiny_problems import (
    best_value,
    clustered,
    labelings,
    make_rules,
    obeys,
    random_problem,
    value,
    with_pairs,
)

from corral.deadline import NEVER, Deadline
from corral.exact import NoAssignment, assign, broken
from corral.exact import sums as fixing
from corral.exact.program import solve_program
from corral.exact.sums import restricted
from corral.rules import SizeBounds, SoftPairs, TotalBounds


@pytest.fixture
def always(monkeypatch):
    """Small problems go the way of large ones."""
    monkeypatch.setattr(fixing, "FEW_GROUPS", 1)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("block", range(8))
def test_equals_the_best_of_all_labelings(block):
    for seed in range(40 * block, 40 * block + 40):
        rules, cost = random_problem(seed)
        best = best_value(rules, cost)
        if math.isinf(best):
            with pytest.raises(NoAssignment):
                assign(rules, cost)
            continue
        found = assign(rules, cost)
        assert found.optimal
        assert found.cost == pytest.approx(value(rules, cost, found.labels))
        assert found.cost == pytest.approx(best, abs=1e-8 * cost.max()), seed
        assert obeys(rules, found.labels)
        again = assign(rules, cost, prices=found.warm, incumbent=found.labels)
        assert again.cost == pytest.approx(best, abs=1e-8 * cost.max())


def variants(seed):
    """Exact and loose sizes, soft pairs, and capacities over the same groups."""
    rules, cost = clustered(seed, 400, 5, 60)
    rng = np.random.default_rng(seed)
    sizes = rules.sizes
    loose = SizeBounds(sizes.lower - 5, sizes.upper + 3, True)
    soft = SoftPairs(rules.apart, 30 * rng.random(len(rules.apart)), rules.apart[:, 0] % 3 > 0)
    values = rules.count * rng.uniform(1, 2, rules.n_groups)
    reached = np.bincount(solve_program(rules, cost).labels, values, 5)
    load = TotalBounds(values, np.full(5, -np.inf), reached + 0.5)
    yield rules, cost
    yield replace(rules, sizes=loose), cost
    yield with_pairs(rules, apart=rules.apart[:0], soft=soft), cost
    yield replace(rules, sizes=None, totals=(load,)), cost
    yield replace(rules, sizes=loose, totals=(load,)), cost


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", range(3))
def test_equals_one_program_over_everything(seed):
    for rules, cost in variants(seed):
        found = assign(rules, cost)
        assert found.optimal
        assert not broken(rules, found.labels)
        assert found.cost == pytest.approx(solve_program(rules, cost).cost, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_below_the_least_cost_at_any_prices(seed):
    rng = np.random.default_rng(seed)
    for rules, cost in variants(seed):
        search = fixing._Search(rules, cost)
        least = solve_program(rules, cost).cost
        for _ in range(5):
            prices = rng.normal(size=search.sums.lower.shape) * cost.std()
            assert search.look(prices, NEVER).bound <= least * (1 + 1e-12)
        start = search.look(np.zeros_like(search.sums.lower), NEVER).bound
        assert start <= search.prices(None, NEVER).bound <= least * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_fixing_groups_leaves_the_cost_of_the_rest(seed):
    rules, cost = random_problem(seed)
    rules = replace(rules, linear=None, pins=np.empty((0, 2), int))
    chosen = np.random.default_rng(seed).random(rules.n_groups) < 0.5
    for labels in list(labelings(rules))[:20]:
        part, part_cost = restricted(rules, cost, labels, chosen)
        fits = (
            obeys(part, labels[chosen])
            and np.isfinite(part_cost[np.arange(chosen.sum()), labels[chosen]]).all()
        )
        if obeys(rules, labels):
            assert fits
            rest = replace(rules.soft, pairs=rules.soft.pairs)
            inside = ~chosen[rest.pairs].any(axis=1)
            fixed = cost[np.flatnonzero(~chosen), labels[~chosen]].sum() + SoftPairs(
                rest.pairs[inside], rest.price[inside], rest.together[inside]
            ).cost(labels)
            total = value(part, part_cost, labels[chosen]) + fixed
            assert total == pytest.approx(value(rules, cost, labels))


def test_a_large_problem_is_solved_within_a_bound_of_its_own():
    n, k = 60_001, 5
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    centers = rng.normal(size=(k, 3)) * 2
    cost = (((rng.normal(size=(n, 3)) + centers[y])[:, None] - centers) ** 2).sum(-1)
    apart = rng.integers(0, n, (n // 10, 2))
    apart = np.unique(apart[y[apart[:, 0]] != y[apart[:, 1]]], axis=0)
    count = rng.integers(1, 3, n)
    size = np.bincount(y, count, k).astype(int)
    rules = make_rules(count, k, apart=apart, sizes=SizeBounds(size, size, True))
    found = assign(rules, cost)
    assert not broken(rules, found.labels)
    bound = fixing._Search(rules, cost).look(found.warm, NEVER).bound
    assert bound <= found.cost <= bound * (1 + 1e-6)


def test_a_past_deadline_keeps_the_answer_that_repair_found():
    rules, cost = clustered(0, 4000, 4, 400)
    found = assign(rules, cost, deadline=Deadline.after(0.0))
    assert not broken(rules, found.labels)
