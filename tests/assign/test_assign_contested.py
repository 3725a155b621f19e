"""Prices that settle most groups leave the least cost as it is."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from corral.assign.milp import solve_milp
from corral.assign.restrict import restricted
from tiny_problems import (
    best_value,
    clustered,
    labelings,
    make_problem,
    obeys,
    random_problem,
    value,
)

import corral.assign as package
from corral.assign import NoAssignment, assign, broken, contested, duals
from corral.problem import LARGE, SizeBounds, SoftPairs, TotalBounds


@pytest.fixture
def always(monkeypatch):
    """Small problems go the way of large ones."""
    monkeypatch.setattr(package, "MANY_ENTRIES", 0)
    monkeypatch.setattr(contested, "FIRST_CONTESTED", 1)
    monkeypatch.setattr(duals, "LEAST_ROWS", 2)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("block", range(8))
def test_equals_the_best_of_all_labelings(block):
    for seed in range(40 * block, 40 * block + 40):
        problem, cost = random_problem(seed)
        best = best_value(problem, cost)
        if math.isinf(best):
            with pytest.raises(NoAssignment):
                assign(problem, cost)
            continue
        found = assign(problem, cost)
        assert found.optimal
        assert found.cost == pytest.approx(value(problem, cost, found.labels))
        assert found.cost == pytest.approx(best, abs=1e-8 * cost.max()), seed
        assert obeys(problem, found.labels)
        again = assign(problem, cost, prices=found.prices, incumbent=found.labels)
        assert again.cost == pytest.approx(best, abs=1e-8 * cost.max())


def variants(seed):
    """Exact and loose sizes, soft pairs, and capacities over the same groups."""
    problem, cost = clustered(seed, 400, 5, 60)
    rng = np.random.default_rng(seed)
    sizes = problem.sizes
    loose = SizeBounds(sizes.lower - 5, sizes.upper + 3, True)
    soft = SoftPairs(
        problem.apart, 30 * rng.random(len(problem.apart)), problem.apart[:, 0] % 3 > 0
    )
    values = problem.count * rng.uniform(1, 2, problem.n_groups)
    reached = np.bincount(solve_milp(problem, cost).labels, values, 5)
    load = TotalBounds(values, np.full(5, -np.inf), reached + 0.5)
    yield problem, cost
    yield replace(problem, sizes=loose), cost
    yield replace(problem, apart=problem.apart[:0], soft=soft), cost
    yield replace(problem, sizes=None, totals=(load,)), cost
    yield replace(problem, sizes=loose, totals=(load,)), cost


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", range(3))
def test_equals_one_program_over_everything(seed):
    for problem, cost in variants(seed):
        found = assign(problem, cost)
        assert found.optimal
        assert not broken(problem, found.labels)
        assert found.cost == pytest.approx(solve_milp(problem, cost).cost, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_below_the_least_cost_at_any_prices(seed):
    rng = np.random.default_rng(seed)
    for problem, cost in variants(seed):
        sums = duals.Sums.of(problem)
        pairs = contested._Pairs(problem)
        least = solve_milp(problem, cost).cost
        for _ in range(5):
            prices = duals._allowed(sums, rng.normal(size=sums.lower.shape) * cost.std())
            assert duals.look(cost, sums, prices, pairs.place).bound <= least * (1 + 1e-12)
        start = np.zeros_like(sums.lower)
        climbed = duals.ascend(cost, sums, start, pairs.place, 30).bound
        assert duals.look(cost, sums, start, pairs.place).bound <= climbed <= least * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_fixing_groups_leaves_the_cost_of_the_rest(seed):
    problem, cost = random_problem(seed)
    problem = replace(problem, linear=None, pins=np.empty((0, 2), int))
    chosen = np.random.default_rng(seed).random(problem.n_groups) < 0.5
    for labels in list(labelings(problem))[:20]:
        part, part_cost = restricted(problem, cost, labels, chosen)
        fits = (
            obeys(part, labels[chosen])
            and np.isfinite(part_cost[np.arange(chosen.sum()), labels[chosen]]).all()
        )
        if obeys(problem, labels):
            assert fits
            rest = replace(problem.soft, pairs=problem.soft.pairs)
            inside = ~chosen[rest.pairs].any(axis=1)
            fixed = cost[np.flatnonzero(~chosen), labels[~chosen]].sum() + SoftPairs(
                rest.pairs[inside], rest.price[inside], rest.together[inside]
            ).cost(labels)
            total = value(part, part_cost, labels[chosen]) + fixed
            assert total == pytest.approx(value(problem, cost, labels))


def test_a_large_problem_is_solved_within_a_bound_of_its_own():
    n, k = LARGE // 5 + 1, 5
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    centers = rng.normal(size=(k, 3)) * 2
    cost = (((rng.normal(size=(n, 3)) + centers[y])[:, None] - centers) ** 2).sum(-1)
    apart = rng.integers(0, n, (n // 10, 2))
    apart = np.unique(apart[y[apart[:, 0]] != y[apart[:, 1]]], axis=0)
    count = rng.integers(1, 3, n)
    size = np.bincount(y, count, k).astype(int)
    problem = make_problem(count, k, apart=apart, sizes=SizeBounds(size, size, True))
    found = assign(problem, cost)
    assert not broken(problem, found.labels)
    bound = duals.look(
        cost, duals.Sums.of(problem), found.prices, contested._Pairs(problem).place
    ).bound
    assert bound <= found.cost <= bound * (1 + 1e-6)


def test_a_past_deadline_keeps_the_answer_that_repair_found():
    problem, cost = clustered(0, 4000, 4, 400)
    found = assign(problem, cost, deadline=time.monotonic())
    assert not broken(problem, found.labels)
