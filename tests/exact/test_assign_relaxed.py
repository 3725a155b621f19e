"""The least violating assignment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tiny_problems import labelings, make_rules, misses, random_problem, value

from corral.exact import assign_relaxed, violation
from corral.rules import SizeBounds, TotalBounds


@pytest.mark.parametrize("block", range(4))
def test_least_violation_first_then_least_cost(block):
    for seed in range(30 * block, 30 * block + 30):
        rules, cost = random_problem(1000 + seed, grouped=False)
        ways = list(labelings(rules))
        missed = np.array([misses(rules, labels, any_order=True) for labels in ways])
        costs = np.array([value(rules, cost, labels) for labels in ways])
        found, amount = assign_relaxed(rules, cost)
        assert amount == pytest.approx(missed.min(), abs=1e-6)
        assert amount == pytest.approx(misses(rules, found.labels, any_order=True), abs=1e-9)
        assert found.cost == pytest.approx(costs[missed <= missed.min() + 1e-7].min(), rel=1e-6)


def test_the_unit_of_totals_does_not_matter():
    values = np.array([3.0, 4.0, 5.0])
    limit = TotalBounds(values, np.full(2, -np.inf), np.full(2, 5.0))
    rules = make_rules([1, 1, 1], 2, totals=(limit,))
    cost = np.zeros((3, 2))
    _, amount = assign_relaxed(rules, cost)
    scaled = TotalBounds(1e-5 * values, limit.lower, 1e-5 * limit.upper)
    assert amount == pytest.approx(2 / 4)
    assert assign_relaxed(replace(rules, totals=(scaled,)), cost)[1] == pytest.approx(amount)


def test_sizes_that_contradict_themselves_count_both_sides():
    sizes = SizeBounds(np.array([3, 0]), np.array([1, 9]), ordered=True)
    rules = make_rules([1, 1, 1, 1], 2, sizes=sizes)
    found, amount = assign_relaxed(rules, np.arange(8.0).reshape(4, 2))
    assert amount == violation(rules, found.labels) == 2
