"""Annealing of labels under cannot-links: its classes, its draws, its answers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from problems import plan_of, problem_of
from reference import Rules, best_partition, exact_kmeans, inertia, violations
from sklearn.cluster import kmeans_plusplus

from corral import CannotLink, ClusterSizes, MustLink, Pin
from corral.deadline import Deadline
from corral.polish import annealed
from corral.polish.anneal import Bath, classes_of

HOT = 4000


def some_links(n, number, seed):
    """Different random pairs of rows."""
    every = np.argwhere(np.triu(np.ones((n, n)), 1))
    return np.random.default_rng(seed).permutation(every)[:number]


def scene(n, k, links, seed, *more, **params):
    """Points, cannot-links, and the problem that they make."""
    X, pairs = np.random.default_rng(seed).normal(size=(n, 3)), some_links(n, links, seed)
    return X, pairs, problem_of(X, [CannotLink(pairs), *more], k, **params)


@pytest.mark.parametrize("links", [0, 40, 200, 435])
def test_classes_have_no_links_inside_and_all_links_outside(links):
    pairs = some_links(30, links, 0)
    order, classes = classes_of(30, pairs)
    assert sorted(order) == list(range(30))
    assert [each.start for each in classes] == [0] + [each.end for each in classes[:-1]]
    seen = []
    for each in classes:
        assert not ((each.there >= each.start) & (each.there < each.end)).any()
        seen += zip(order[each.start + each.here], order[each.there], strict=True)
    assert sorted(seen) == sorted([*map(tuple, pairs), *map(tuple, pairs[:, ::-1])])


def test_labels_are_drawn_with_the_chances_of_their_energies():
    n, k, heat, price = 4, 3, 0.7, 0.9
    pairs = np.array([[0, 1], [1, 2], [0, 2], [2, 3]])
    X = np.random.default_rng(3).normal(size=(n, 2))
    problem = problem_of(X, [CannotLink(pairs)], k)
    bath = Bath(problem, X[:k], HOT, np.random.default_rng(0))
    cost = np.random.default_rng(4).random((n, k))
    labels = np.zeros((n, HOT), np.int64)
    for _ in range(30):
        bath.sweep(labels, np.repeat(cost[bath.order, None], HOT, axis=1), heat, price)
    ways = np.array(list(product(range(k), repeat=n)))
    energy = cost[np.arange(n), ways].sum(axis=1)
    energy += price * (ways[:, pairs[:, 0]] == ways[:, pairs[:, 1]]).sum(axis=1)
    chance = np.exp(-energy / heat)
    chance /= chance.sum()
    found = np.ravel_multi_index(tuple(labels[bath.place]), (k,) * n)
    share = np.bincount(found, minlength=k**n) / HOT
    deviation = np.sqrt(chance * (1.0 - chance) / HOT)
    assert (np.abs(share - chance) < 5.0 * deviation).all()


def test_copies_survive_as_often_as_their_energies_say():
    _, _, problem = scene(10, 3, 12, 0)
    bath = Bath(problem, np.eye(3), HOT, np.random.default_rng(0))
    energy = np.random.default_rng(1).random(HOT)
    chosen = bath._survivors(energy, 1.0, 0.5)
    expected = np.exp(-energy) / np.exp(-energy).mean()
    counted = np.bincount(chosen, minlength=HOT)
    assert len(chosen) == HOT
    assert (np.abs(counted - expected) < 1.0 + 1e-9).all()


@pytest.mark.parametrize("pins", [{}, {0: 1, 5: 2}])
def test_annealed_labels_break_no_rule(pins):
    X, pairs, problem = scene(120, 4, 330, 1, *([Pin(pins)] if pins else []))
    assert problem.plan.anneals > 0
    answer = annealed(problem, X[:4], np.random.RandomState(0))
    again = annealed(problem, X[:4], np.random.RandomState(0))
    rules = Rules(n=120, k=4, cannot=pairs, pins=np.array([*pins.items()], int).reshape(-1, 2))
    assert violations(rules, answer.labels) == 0
    assert np.array_equal(answer.labels, again.labels)
    assert answer.objective == pytest.approx(inertia(X, answer.labels))


def test_nothing_is_annealed_when_time_is_over():
    X, _, problem = scene(90, 4, 220, 1)
    late = problem.until(Deadline.after(0.0))
    assert annealed(late, X[:4], np.random.RandomState(0)) is None


def test_points_that_are_all_one_are_not_annealed():
    problem = problem_of(np.ones((120, 2)), [CannotLink(some_links(120, 330, 1))], 4)
    assert annealed(problem, np.zeros((4, 2)), np.random.RandomState(0)) is None


@pytest.mark.parametrize("seed", range(3))
def test_a_small_tangle_is_solved_as_well_as_by_trying_all_labels(seed):
    n, k = 10, 3
    X, pairs, problem = scene(n, k, 15, seed)
    bath = Bath(problem, X[:k], 8, np.random.default_rng(seed))
    copies = bath.cooled(bath.free, 1.0, 60)
    best = best_partition(X, Rules(n=n, k=k, cannot=pairs))
    assert min(inertia(X, labels) for labels in copies) == pytest.approx(best, rel=1e-9)


def test_a_large_tangle_is_no_worse_than_exact_assignment():
    n, k = 120, 4
    X, pairs, problem = scene(n, k, 330, 0)
    start = kmeans_plusplus(X, k, random_state=0)[0]
    rules = Rules(n=n, k=k, cannot=pairs)
    exact = exact_kmeans(X, rules, start, time_limit=1.0, max_rounds=1)
    answer = annealed(problem, start - problem.rows.middle, np.random.RandomState(0))
    assert violations(rules, answer.labels) == 0
    assert exact is None or inertia(X, answer.labels) <= inertia(X, exact)


def test_large_tangles_alone_are_annealed():
    links = CannotLink(some_links(300, 900, 0))
    assert plan_of([links], 300, 5).anneals > 1
    assert plan_of([links], 300, 5, repair=False).anneals == 0
    assert plan_of([links], 300, 5, solver="algorithm1").anneals == 0
    assert plan_of([CannotLink(some_links(300, 100, 0))], 300, 5).anneals == 0
    assert plan_of([MustLink(some_links(300, 100, 0))], 300, 5).anneals == 0
    assert plan_of([links, ClusterSizes(np.full(5, 60))], 300, 5).anneals == 0
