"""Swaps of medoids by exact assignment: bounds against the assignment itself, and optima."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from corral import ClusterSizes, MustLink, Pin
from corral.assign import assign, broken
from corral.deadline import NEVER, Deadline
from corral.plan.medoids import by_swaps
from corral.presolve import presolve
from corral.shapes.medoid_costs import Answer, MedoidCosts
from corral.shapes.medoid_swaps import Swaps, reseeded
from corral.shapes.shape import alternate

N, K = 18, 4
RULES = {
    "equal": [ClusterSizes(minimum=4, maximum=5)],
    "different": [ClusterSizes([2, 3, 5, 8])],
    "intervals": [ClusterSizes(minimum=[1, 2, 3, 4], maximum=[4, 5, 9, 9])],
    "pins": [ClusterSizes([2, 3, 5, 8]), Pin([(0, 1), (1, 1), (2, 3)])],
    "soft": [ClusterSizes([2, 3, 5, 8], weight=0.2)],
    "soft pins": [ClusterSizes([2, 3, 5, 8]), Pin([(0, 1), (1, 2)], weight=0.3)],
    "joined": [MustLink([(0, 1), (1, 2)])],
    "twins": [ClusterSizes([2, 4, 4, 8]), MustLink([(i, i + 1) for i in range(0, N, 2)])],
}


def answer_of(name, seed, inside=True):
    """Costs, and an answer whose labels are the best at its medoids."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2))
    distance = cdist(X, X) if inside else rng.uniform(size=(N, 11))
    rules = presolve(RULES[name], N, K)
    assert by_swaps(rules)
    costs = MedoidCosts.of(distance, np.ones(N), rules, inside)
    medoids = rng.choice(costs.cost.shape[1], K, replace=False)
    found = alternate(costs, rules, assign(rules, costs.costs(medoids)).labels, NEVER)
    return costs, Answer.at(costs, rules, found.labels)


def value(costs, rules, medoids):
    """The exact assignment to these medoids, soft rules included."""
    cost = costs.costs(medoids)
    labels = assign(rules, cost).labels
    return cost[np.arange(len(labels)), labels].sum() + rules.soft_cost(labels)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_no_swap_costs_less_than_its_bound(name, inside):
    costs, best = answer_of(name, 3, inside)
    swaps = Swaps(costs, NEVER)
    at, besides, _ = swaps._priced(best)
    rise = swaps._rises(best, at, besides)
    for i, c in product(range(K), range(costs.cost.shape[1])):
        if c in best.clusters:
            assert rise[i, c] == np.inf
            continue
        medoids = best.clusters.copy()
        medoids[i] = c
        true = value(costs, best.rules, medoids) - best.objective
        assert rise[i, c] <= true + 1e-9


@pytest.mark.parametrize("name", ["different", "intervals", "pins", "joined"])
def test_no_swap_and_no_exchange_pays_at_the_end(name):
    costs, start = answer_of(name, 5)
    best = Swaps(costs, NEVER).descended(start)
    assert best.objective <= start.objective
    assert not broken(best.rules, best.labels)
    others = []
    for i, c in product(range(K), range(len(costs.cost))):
        medoids = best.clusters.copy()
        medoids[i] = c
        others.append(value(costs, best.rules, medoids))
    for i, j in combinations(range(K), 2):
        medoids = best.clusters.copy()
        medoids[[i, j]] = medoids[[j, i]]
        others.append(value(costs, best.rules, medoids))
    assert best.objective <= min(others) + 1e-9


@pytest.mark.parametrize("inside", [False, True])
def test_new_medoids_are_different_candidates(inside):
    costs, best = answer_of("equal", 7, inside)
    state = np.random.RandomState(0)
    for _ in range(20):
        medoids = reseeded(costs, best, state)
        assert len(set(medoids)) == K


def test_time_that_is_over_leaves_the_answer():
    costs, best = answer_of("different", 9)
    assert Swaps(costs, Deadline.after(1e-9)).descended(best) is best
