"""Shifts, swaps and chains: what they are said to be worth, and what is left when none pays."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from problems import problem_of
from scipy import sparse

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)
from corral.assign import broken
from corral.polish.chains import chains, descend, obey, shifts
from corral.polish.excess import Steps
from corral.polish.partition import MeansPartition

N, K, PRICE = 11, 4, 3.0
EVERY = np.ones(K, bool)


def rules_of(kind, rng):
    """Rules of one kind that N rows in K clusters can obey, and often do not."""
    total = ClusterTotals(rng.integers(1, 9, N), maximum=22)
    row = sparse.random_array((2, N * K), density=0.3, rng=rng)
    return {
        "totals": [total, ClusterTotals(rng.normal(size=N), minimum=-3.0)],
        "shares": [GroupShares(list("aabbabababb"), minimum={"a": 0.2}, maximum={"a": 0.7})],
        "pairs": [total, CannotLink([(0, 1), (1, 2), (5, 9)]), Pin([(3, 0)])],
        "soft": [total, MustLink([(0, 1)], weight=0.5), CannotLink([(1, 2), (4, 6)], weight=2.0)],
        "sizes": [total, ClusterSizes(minimum=1, maximum=4)],
        "linear": [LinearConstraint(row, upper=[1.5, 2.0])],
    }[kind]


KINDS = ("totals", "shares", "pairs", "soft", "sizes", "linear")


def scene(kind, seed):
    """A problem, and a partition with random labels."""
    rng = np.random.default_rng(seed)
    points, weight = rng.normal(size=(N, 2)), rng.uniform(0.5, 2.0, N)
    problem = problem_of(points, rules_of(kind, rng), K, weight)
    return problem, MeansPartition(problem, rng.integers(K, size=N), np.zeros((K, 2)))


def worth(problem, labels):
    """Inertia, soft pairs and the price of what the rules miss, by their definitions."""
    total, rules = 0.0, problem.rules
    for j in np.unique(labels):
        points, weight = problem.rows.points[labels == j], problem.rows.weight[labels == j]
        mean = np.average(points, axis=0, weights=weight)
        total += float(weight @ ((points - mean) ** 2).sum(axis=1))
    missed = sum(
        np.sum(each.excess(labels)) / np.abs(each.values).mean()
        for each in [
            *rules.totals,
            *([] if rules.sizes is None else [rules.sizes.as_total(rules.count)]),
        ]
    )
    if rules.linear is not None:
        size = np.abs(rules.linear.A.toarray())
        missed += np.sum(rules.linear.excess(labels) * (size > 0).sum(axis=1) / size.sum(axis=1))
    missed += np.sum(labels[rules.apart[:, 0]] == labels[rules.apart[:, 1]])
    return total + rules.soft.cost(labels) + PRICE * missed


def after(labels, steps):
    """The labels after each of the changes."""
    for i in range(len(steps)):
        groups, clusters = steps.take(np.array([i])).moved()
        changed = labels.copy()
        changed[groups] = clusters
        yield changed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_changes_are_worth_what_they_say(kind, seed):
    problem, part = scene(kind, seed)
    before = worth(problem, part.labels)
    number = 0
    for scan in (shifts, chains):
        steps, rise = scan(part, EVERY, PRICE, 0.0)
        number += len(steps)
        changed = [worth(problem, labels) - before for labels in after(part.labels, steps)]
        np.testing.assert_allclose(rise, changed, atol=1e-6)  # of what rounding may miss
    assert number > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_no_shift_or_chain_pays_after_a_descent(kind, seed):
    problem, part = scene(kind, seed)
    descend(part, PRICE, EVERY)
    free = np.flatnonzero(part.mobile)
    g, b = (each.ravel() for each in np.meshgrid(free, np.arange(K)))
    single = Steps(g, part.labels[g], b)
    g, h, c = (each.ravel() for each in np.meshgrid(free, free, np.arange(K)))
    away = (part.labels[g] != part.labels[h]) & (part.labels[h] != c)
    g, h, c = g[away], h[away], c[away]
    double = Steps(g, part.labels[g], part.labels[h], h, c)
    least = worth(problem, part.labels) - 1e-9
    for steps in (single, double):
        assert min(worth(problem, labels) for labels in after(part.labels, steps)) >= least


@pytest.mark.parametrize("kind", KINDS)
def test_a_rising_price_obeys_the_rules(kind):
    for seed in range(4):
        problem, part = scene(kind, seed)
        assert obey(part, PRICE, EVERY, 12) is not None
        assert broken(problem.rules, part.labels) == ()


def test_going_back_restores_everything():
    problem, part = scene("pairs", 0)
    labels, fresh = part.labels.copy(), MeansPartition(problem, part.labels, part.centers)
    part.put(np.arange(5), np.full(5, 1))
    part.restore(labels)
    np.testing.assert_allclose(part.squares, fresh.squares, atol=1e-12)
    np.testing.assert_allclose(part.excess.reached, fresh.excess.reached)


def best_of_all(X, rules, k):
    """Least inertia over all labels that obey the rules."""
    problem, best = problem_of(X, rules, k), np.inf
    for labels in product(range(k), repeat=len(X)):
        found = np.array(labels)
        if not broken(problem.rules, found):
            means = problem.rows.means(found, k)
            best = min(best, problem.rows.inertia(found, means))
    return best


@pytest.mark.parametrize("seed", range(3))
def test_small_capacities_are_solved_to_the_optimum(seed):
    rng = np.random.default_rng(seed)
    X, demand = rng.normal(size=(8, 2)), rng.integers(1, 9, 8)
    rules = [
        ClusterTotals(demand, maximum=int(demand.sum() * 0.45)),
        ClusterTotals(rng.integers(0, 5, 8), minimum=2),
    ]
    model = ConstrainedKMeans(3, random_state=seed).fit(X, constraints=rules)
    assert problem_of(X, rules, 3).plan.upheavals > 0
    np.testing.assert_allclose(model.inertia_, best_of_all(X, rules, 3), rtol=1e-9)


def test_a_soft_pair_inside_one_group_is_no_pair():
    rules = [ClusterTotals(np.arange(1, N + 1), maximum=22), MustLink([(0, 1)])]
    inside = CannotLink([(0, 1)], weight=3.0)
    X = np.random.default_rng(0).normal(size=(N, 2))
    with_it, without = (problem_of(X, [*rules, *more], K) for more in ([inside], []))
    labels = np.arange(N - 1) % K
    centers = without.rows.means(labels, K)
    parts = [MeansPartition(each, labels, centers) for each in (with_it, without)]
    found = [obey(part, part.unit, EVERY, 12) for part in parts]
    assert (found[0] is None) == (found[1] is None)
    np.testing.assert_array_equal(parts[0].labels, parts[1].labels)
