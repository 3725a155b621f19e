"""Cluster sizes by flow, and the prices that explain the answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from corral.exact import NoAssignment, assign
from corral.rules import SizeBounds

from tiny_problems import make_rules  # isort: skip


def exact(sizes):
    return SizeBounds(np.asarray(sizes), np.asarray(sizes), ordered=True)


def random_sizes(rng, n, k):
    return np.bincount(rng.integers(0, k, n), minlength=k)


@pytest.mark.parametrize("seed", range(8))
def test_equals_linear_sum_assignment_with_repeated_columns(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 120)), int(rng.integers(2, 9))
    cost, sizes = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-5, 6), random_sizes(rng, n, k)
    found = assign(make_rules(np.ones(n, int), k, sizes=exact(sizes)), cost)
    rows, columns = linear_sum_assignment(np.repeat(cost, sizes, axis=1))
    best = np.repeat(cost, sizes, axis=1)[rows, columns].sum()
    assert found.cost == pytest.approx(best, rel=1e-11)
    np.testing.assert_array_equal(np.bincount(found.labels, minlength=k), sizes)


@pytest.mark.parametrize("seed", range(6))
def test_intervals_equal_the_best_exact_sizes_inside_them(seed):
    rng = np.random.default_rng(seed)
    cost = rng.random((9, 2))
    bounds = SizeBounds(np.array([2, 3]), np.array([5, 8]), ordered=True)
    found = assign(make_rules(np.ones(9, int), 2, sizes=bounds), cost)
    inside = [[a, 9 - a] for a in range(2, 6) if 3 <= 9 - a <= 8]
    each = [assign(make_rules(np.ones(9, int), 2, sizes=exact(s)), cost).cost for s in inside]
    assert found.cost == pytest.approx(min(each))


def test_groups_of_equal_count_are_units():
    rng = np.random.default_rng(0)
    cost = rng.random((8, 3))
    grouped = SizeBounds(np.array([5, 8, 0]), np.array([7, 13, 9]), ordered=True)
    single = SizeBounds(np.array([2, 3, 0]), np.array([2, 4, 3]), ordered=True)
    found = assign(make_rules(np.full(8, 3), 3, sizes=grouped), cost)
    assert found.cost == assign(make_rules(np.ones(8, int), 3, sizes=single), cost).cost


def test_pins_hold_inside_the_flow():
    cost = np.array([[0.0, 5.0], [0.0, 1.0], [3.0, 0.0]])
    rules = make_rules([1, 1, 1], 2, sizes=exact([1, 2]), pins=np.array([[1, 0]]))
    np.testing.assert_array_equal(assign(rules, cost).labels, [1, 0, 1])


@pytest.mark.parametrize(("lower", "upper"), [([3, 3], [3, 3]), ([0, 0], [2, 2]), ([4, 0], [3, 5])])
def test_sizes_that_do_not_fit_are_proven(lower, upper):
    bounds = SizeBounds(np.array(lower), np.array(upper), ordered=True)
    with pytest.raises(NoAssignment):
        assign(make_rules(np.ones(5, int), 2, sizes=bounds), np.zeros((5, 2)))


def test_an_outlier_costs_the_others_no_precision():
    rng = np.random.default_rng(1)
    cost = rng.random((40, 4))
    sizes = exact([10, 10, 10, 10])
    labels = assign(make_rules(np.ones(40, int), 4, sizes=sizes), cost).labels
    cost[np.arange(4), (labels[:4] + 1) % 4] += 1e6
    again = assign(make_rules(np.ones(40, int), 4, sizes=sizes), cost).labels
    np.testing.assert_array_equal(again, labels)


@pytest.mark.parametrize("seed", range(10))
def test_everybody_is_content_at_the_prices(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(10, 200)), int(rng.integers(2, 8))
    cost = rng.random((n, k)) * 10.0 ** rng.integers(-4, 5)
    size = random_sizes(rng, n, k)
    for sizes in (exact(size), SizeBounds(np.maximum(size - 2, 0), size + 1, ordered=True)):
        found = assign(make_rules(np.ones(n, int), k, sizes=sizes), cost)
        labels, price = found.labels, found.warm
        paid = cost + price
        worst = (paid[np.arange(n), labels] - paid.min(axis=1)).max()
        assert worst <= 1e-9 * cost.max()
        counted = np.bincount(labels, minlength=k)
        inside = sizes.lower < sizes.upper
        assert np.all(price[inside & (counted < sizes.upper)] <= 1e-9 * cost.max())
        assert np.all(price[inside & (counted > sizes.lower)] >= -1e-9 * cost.max())


def test_prices_foretell_what_a_swap_of_sizes_gains():
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(0, 1, (300, 2)), rng.normal(3, 1, (300, 2))])
    cost = ((X[:, None] - np.array([[0.0, 0.0], [3.0, 3.0]])) ** 2).sum(-1)
    sizes = np.array([290, 310])
    first, second = (
        assign(make_rules(np.ones(600, int), 2, sizes=exact(s)), cost) for s in (sizes, sizes[::-1])
    )
    price = first.warm
    foretold = (sizes[0] - sizes[1]) * (price[0] - price[1])
    assert np.sign(foretold) == np.sign(second.cost - first.cost)
