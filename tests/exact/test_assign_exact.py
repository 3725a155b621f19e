"""Every mixture of rules: the assignment equals the best of all labelings."""

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
    misses,
    obeys,
    random_problem,
    value,
    with_pairs,
)

from corral import ClusterTotals
from corral.deadline import Deadline, OutOfTime
from corral.exact import NoAssignment, assign, broken, feasible
from corral.exact.feasible import search
from corral.rules import SizeBounds, SoftPairs, presolve


@pytest.mark.parametrize("match_sizes", [False, True])
@pytest.mark.parametrize("block", range(8))
def test_equals_the_best_of_all_labelings(block, match_sizes):
    for seed in range(40 * block, 40 * block + 40):
        rules, cost = random_problem(seed)
        best = best_value(rules, cost, any_order=match_sizes)
        if math.isinf(best):
            with pytest.raises(NoAssignment):
                assign(rules, cost, match_sizes=match_sizes)
            continue
        found = assign(rules, cost, match_sizes=match_sizes)
        assert found.optimal
        assert found.cost == pytest.approx(value(rules, cost, found.labels))
        assert found.cost == pytest.approx(best, abs=1e-8 * cost.max()), seed
        placed = rules if found.order is None else rules.with_sizes_in_order(found.order)
        assert obeys(placed, found.labels)


def test_the_check_agrees_with_the_definitions():
    for seed in range(60):
        rules, _ = random_problem(seed)
        for labels in labelings(rules):
            for any_order in (False, True):
                expected = not obeys(rules, labels, any_order=any_order)
                assert bool(broken(rules, labels, any_order=any_order)) == expected


def test_feasible_iff_some_labeling_obeys():
    for seed in range(150):
        rules, _ = random_problem(seed)
        possible = any(obeys(rules, labels, any_order=True) for labels in labelings(rules))
        labels = feasible(rules)
        assert (labels is not None) == possible, seed
        assert labels is None or obeys(rules, labels, any_order=True)


def test_any_incumbent_leaves_the_least_cost_alone():
    for seed in range(120):
        rules, cost = random_problem(seed)
        allowed = [labels for labels in labelings(rules) if obeys(rules, labels)]
        if allowed:
            best = assign(rules, cost).cost
            for incumbent in (allowed[0], allowed[-1], np.zeros(rules.n_groups, int)):
                found = assign(rules, cost, incumbent=incumbent)
                assert found.cost == pytest.approx(best, abs=1e-8 * cost.max())


@pytest.mark.parametrize("seed", range(3))
def test_incumbents_of_larger_problems(seed):
    rules, cost = clustered(seed, 250, 6, 40)
    best = assign(rules, cost)
    worse = assign(rules, cost + np.random.default_rng(seed).normal(size=cost.shape) * 30)
    assert not broken(rules, best.labels)
    assert worse.cost != best.cost
    for incumbent in (best.labels, worse.labels):
        assert assign(rules, cost, incumbent=incumbent).cost == pytest.approx(best.cost)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("seed", range(2))
def test_unit_and_origin_of_the_costs_do_not_matter(seed, factor):
    whole, cost = clustered(seed, 200, 5, 30)
    shift = np.random.default_rng(seed).random((len(cost), 1)) * cost.max()
    unlinked = with_pairs(whole, apart=whole.apart[:0])
    for rules in (whole, unlinked, replace(whole, sizes=None)):
        labels = assign(rules, cost).labels
        np.testing.assert_array_equal(assign(rules, factor * cost).labels, labels)
        np.testing.assert_array_equal(assign(rules, factor * (cost + shift)).labels, labels)


def test_relabelling_clusters_relabels_the_answer():
    rules, cost = clustered(3, 150, 4, 25)
    order = np.array([2, 0, 3, 1])
    moved = assign(rules.with_sizes_in_order(order), cost[:, order])
    np.testing.assert_array_equal(order[moved.labels], assign(rules, cost).labels)


def test_totals_that_are_exactly_full_are_not_lost_to_rounding():
    values = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3]) * 1e7 / 3
    bound = np.full(2, (0.1 + 0.2 + 0.3) * 1e7 / 3)
    full = ClusterTotals(values, minimum=bound, maximum=bound)
    rules = presolve([full], n_samples=6, n_clusters=2)
    assert not broken(rules, assign(rules, np.random.default_rng(0).random((6, 2))).labels)


def test_totals_just_above_their_bound_are_refused():
    values = np.array([1.0, 1.0, 1.0 + 1e-7, 1.0])
    rules = presolve([ClusterTotals(values, maximum=[2.0, 4.0])], n_samples=4, n_clusters=2)
    cost = np.array([[0.0, 9.0], [1.0, 9.0], [0.0, 9.0], [5.0, 9.0]])
    np.testing.assert_array_equal(assign(rules, cost).labels, [0, 0, 1, 1])


def test_sizes_are_matched_to_clusters_when_asked():
    sizes = SizeBounds(np.array([1, 3]), np.array([1, 3]), ordered=False)
    rules = make_rules(np.ones(4, int), 2, sizes=sizes)
    cost = np.array([[0.0, 9.0]] * 3 + [[9.0, 0.0]])
    found = assign(rules, cost, match_sizes=True)
    assert found.cost == 0
    np.testing.assert_array_equal(found.order, [1, 0])
    assert assign(rules, cost).cost == 18


def test_a_past_deadline_gives_the_incumbent_or_what_prices_find():
    rules, cost = clustered(0, 120, 4, 30)
    best = assign(rules, cost)
    cost = cost[:, ::-1].copy()
    kept = assign(rules, cost, incumbent=best.labels, deadline=Deadline(end=0.0))
    assert not kept.optimal
    np.testing.assert_array_equal(kept.labels, best.labels)
    assert not broken(rules, assign(rules, cost, deadline=Deadline(end=0.0)).labels)
    with pytest.raises(OutOfTime):
        assign(rules, cost, deadline=Deadline(end=0.0, last=0.0))


def test_soft_pairs_outweigh_costs_only_by_their_price():
    cost = np.array([[0.0, 1.0], [1.0, 0.0]])
    for price, labels in ((0.9, [0, 1]), (1.1, [0, 0])):
        soft = SoftPairs(np.array([[0, 1]]), np.array([price]), np.array([True]))
        found = assign(make_rules([1, 1], 2, soft=soft), cost + np.array([[0.0, 1e-3], [0.0, 0.0]]))
        np.testing.assert_array_equal(found.labels, labels)


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_floats_that_are_exactly_tight_are_feasible(seed):
    """The bounds are the sums of hidden labels, so these obey them."""
    rng = np.random.default_rng(seed)
    values, hidden = np.pi * rng.integers(1, 17, 7) / 4, rng.integers(0, 4, 7)
    least = np.bincount(hidden, values, 4) - np.pi / 4 * rng.integers(0, 2, 4)
    rules = presolve(ClusterTotals(values, minimum=least), 7, 4)
    for found in (search(rules), feasible(rules)):
        assert found is not None
        assert misses(rules, found) < 1e-9 * values.sum()
