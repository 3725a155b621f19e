"""Single moves and swaps: the best of all, found without trying them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from problems import problem_of

from corral import CannotLink, ClusterSizes, ClusterTotals, MustLink
from corral.assign import Assignment
from corral.polish import evaluate
from corral.polish.exchange import Exchange

N = 14


def scene(seed, *rules, weighted=True):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(N, 3)) + 5.0
    weight = rng.uniform(0.5, 3.0, N) if weighted else np.ones(N)
    problem = problem_of(points, rules, 2, weight)
    labels = rng.permutation(np.arange(problem.rules.n_groups) % 2)
    return problem, labels


def inertia(problem, labels):
    """Weighted squares about the weighted means, by their definition."""
    total = 0.0
    for j in np.unique(labels):
        points, weight = problem.rows.points[labels == j], problem.rows.weight[labels == j]
        mean = np.average(points, axis=0, weights=weight)
        total += float(weight @ ((points - mean) ** 2).sum(axis=1))
    return total


def one_round(problem, labels):
    now = evaluate(problem, Assignment(labels, np.nan), np.zeros((2, 3)))
    return Exchange(problem).improve(labels, now.centers, now.objective)


def swapped(labels, g, h):
    other = labels.copy()
    other[[g, h]] = labels[[h, g]]
    return other


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_swap_under_sizes(seed, weighted):
    problem, labels = scene(seed, ClusterSizes([N // 2] * 2), weighted=weighted)
    every = [
        swapped(labels, g, h) for g, h in product(*(np.flatnonzero(labels == j) for j in (0, 1)))
    ]
    best = min(inertia(problem, other) for other in every)
    found = one_round(problem, labels)
    if best < inertia(problem, labels):
        np.testing.assert_array_equal(np.bincount(found), [N // 2] * 2)
        np.testing.assert_allclose(inertia(problem, found), best, rtol=1e-12)
    else:
        assert found is None


@pytest.mark.parametrize("seed", range(8))
def test_the_best_move_without_rules(seed):
    problem, labels = scene(seed, MustLink([(0, 1), (2, 3)]))
    every = []
    for g in range(problem.rules.n_groups):
        other = labels.copy()
        other[g] = 1 - labels[g]
        every.append(inertia(problem, other))
    found = one_round(problem, labels)
    np.testing.assert_allclose(inertia(problem, found), min(every), rtol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_move_counts_the_price_of_soft_pairs(seed):
    rng = np.random.default_rng(seed)
    pairs, price = rng.permutation(N).reshape(-1, 2), rng.uniform(1.0, 9.0, N // 2)
    rules = MustLink(pairs[:4], weight=price[:4]), CannotLink(pairs[4:], weight=price[4:])
    problem, labels = scene(seed, *rules)

    def objective(labels):
        together = labels[pairs[:, 0]] == labels[pairs[:, 1]]
        missed = np.concatenate([~together[:4], together[4:]])
        return inertia(problem, labels) + price[missed].sum()

    every = [objective(np.where(np.arange(N) == g, 1 - labels, labels)) for g in range(N)]
    found = one_round(problem, labels)
    if min(every) < objective(labels):
        np.testing.assert_allclose(objective(found), min(every), rtol=1e-12)
    else:
        assert found is None


def test_a_group_leaves_its_cluster_empty_if_a_soft_pair_pays_for_it():
    points, rule = np.array([[0.0, 0.0], [1.0, 0.0]]), MustLink([(0, 1)], weight=2.0)
    problem = problem_of(points, [rule], 2)
    labels = np.array([0, 1])
    now = evaluate(problem, Assignment(labels, np.nan), np.zeros((2, 2)))
    found = Exchange(problem).improve(labels, now.centers, now.objective)
    assert found[0] == found[1]  # half a unit of inertia instead of a price of two


@pytest.mark.parametrize("seed", range(8))
def test_totals_are_kept(seed):
    values = np.random.default_rng(seed).integers(1, 4, N).astype(float)
    highest = np.bincount(scene(seed)[1], values).max()
    problem, labels = scene(seed, ClusterTotals(values, maximum=highest))
    found = one_round(problem, labels)
    if found is not None:
        assert np.bincount(found, values).max() <= highest
        assert inertia(problem, found) < inertia(problem, labels)
