"""Pairs alone: elimination over trees, the 2-core, and colouring."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_problems import best_value, make_rules, random_pairs

from corral.exact import NoAssignment, assign, broken, feasible
from corral.exact.pairs import descend, pair_graph, solve_pairs
from corral.exact.program import solve_program
from corral.rules import SoftPairs


@pytest.fixture
def no_program(monkeypatch):
    """Fail if a program is solved."""

    def fail(*given, **options):
        raise AssertionError("a forest needs no solver")

    monkeypatch.setattr("corral.exact.pairs.solve_program", fail)


def random_forest(rng, m):
    parents = [int(rng.integers(0, g)) for g in range(1, m)]
    edges = np.array([(p, g) for g, p in enumerate(parents, start=1)])
    return edges[rng.random(m - 1) < 0.8]


@pytest.mark.usefixtures("no_program")
@pytest.mark.parametrize("seed", range(25))
def test_forests_are_solved_by_elimination_alone(seed):
    rng = np.random.default_rng(seed)
    m, k = 7, int(rng.integers(2, 4))
    edges = random_forest(rng, m)
    kind = rng.integers(0, 3, len(edges))
    soft = SoftPairs(
        edges[kind == 2], rng.random((kind == 2).sum()), rng.random(m)[kind[kind == 2]] < 0.5
    )
    rules = make_rules(
        np.ones(m, int), k, apart=edges[kind == 0], together=edges[kind == 1], soft=soft
    )
    cost = rng.random((m, k))
    labels, _ = solve_pairs(rules, cost)
    total = cost[np.arange(m), labels].sum() + soft.cost(labels)
    assert not broken(rules, labels)
    assert total == pytest.approx(best_value(rules, cost))


@pytest.mark.parametrize("seed", range(25))
def test_cycles_and_parallel_pairs(seed):
    rng = np.random.default_rng(seed)
    pairs = random_pairs(rng, 6, 14)
    soft = SoftPairs(pairs, rng.random(len(pairs)), rng.random(len(pairs)) < 0.3)
    rules = make_rules(np.ones(6, int), 3, soft=soft)
    cost = rng.random((6, 3))
    assert assign(rules, cost).cost == pytest.approx(best_value(rules, cost))


def test_a_soft_pair_inside_a_group_is_paid_whatever_happens():
    soft = SoftPairs(np.array([[0, 0], [0, 1]]), np.array([2.0, 5.0]), np.array([False, False]))
    found = assign(make_rules([2, 1], 2, soft=soft), np.array([[0.0, 1.0], [0.0, 1.0]]))
    assert found.cost == 3


def test_long_paths_alternate():
    n = 2001
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    rules = make_rules(np.ones(n, int), 2, apart=edges)
    cost = np.zeros((n, 2))
    cost[0, 0] = 1.0
    np.testing.assert_array_equal(assign(rules, cost).labels, (np.arange(n) + 1) % 2)


def mycielski(edges, n):
    """A graph that needs one colour more, with no larger clique."""
    twins = [(a, n + b) for a, b in edges] + [(b, n + a) for a, b in edges]
    return [*edges, *twins, *((n + i, 2 * n) for i in range(n))], 2 * n + 1


@pytest.mark.parametrize("colours", [2, 3, 4])
def test_graphs_without_large_cliques_that_need_many_colours(colours):
    edges, n = [(0, 1)], 2
    for _ in range(colours - 1):
        edges, n = mycielski(edges, n)
    apart = np.array(edges)
    assert feasible(make_rules(np.ones(n, int), colours, apart=apart)) is None
    labels = feasible(make_rules(np.ones(n, int), colours + 1, apart=apart))
    assert np.all(labels[apart[:, 0]] != labels[apart[:, 1]])
    if colours < 4:
        with pytest.raises(NoAssignment):
            assign(make_rules(np.ones(n, int), colours, apart=apart), np.ones((n, colours)))


def test_pins_reach_through_peeled_groups():
    apart = np.array([[0, 1], [1, 2]])
    pins = np.array([[0, 0], [2, 1]])
    assert feasible(make_rules([1, 1, 1], 2, apart=apart, pins=pins)) is None
    labels = feasible(make_rules([1, 1, 1], 3, apart=apart, pins=pins))
    np.testing.assert_array_equal(labels, [0, 2, 1])


def random_graph(rng, m, n_edges):
    pairs = np.unique(np.sort(rng.integers(0, m, (n_edges, 2)), axis=1), axis=0)
    return pairs[pairs[:, 0] != pairs[:, 1]]


@pytest.mark.parametrize("seed", range(4))
def test_groups_far_from_a_clash_need_not_take_part(seed):
    rng = np.random.default_rng(seed)
    m, k = 300, 4
    apart = random_graph(rng, m, 300)
    links = random_graph(rng, m, 60)
    soft = SoftPairs(links, rng.random(len(links)), np.ones(len(links), bool))
    rules = make_rules(np.ones(m, int), k, apart=apart, soft=soft)
    cost = rng.random((m, k)) ** 3
    found = assign(rules, cost)
    assert found.optimal
    assert not broken(rules, found.labels)
    assert found.cost == pytest.approx(solve_program(rules, cost).cost)


@pytest.mark.parametrize("seed", range(5))
def test_descent_keeps_hard_pairs_and_no_move_improves_it(seed):
    rng = np.random.default_rng(seed)
    m, k = 400, 8
    rules = make_rules(np.ones(m, int), k, apart=random_graph(rng, m, 900))
    cost = rng.random((m, k))
    labels = descend(pair_graph(rules), cost)
    assert not broken(rules, labels)
    for g in range(m):
        others = rules.apart[(rules.apart == g).any(axis=1)]
        near = labels[others[others != g]]
        free = np.setdiff1d(np.arange(k), near)
        assert cost[g, labels[g]] == cost[g, free].min()


def test_a_large_tangle_gets_a_good_answer_without_a_proof(monkeypatch):
    monkeypatch.setattr("corral.exact.pairs.PROGRAM_ENTRIES", 0)
    rng = np.random.default_rng(0)
    rules = make_rules(np.ones(200, int), 5, apart=random_graph(rng, 200, 500))
    cost = rng.random((200, 5))
    found = assign(rules, cost)
    assert not found.optimal
    assert not broken(rules, found.labels)
    least = solve_program(rules, cost).cost
    assert least <= found.cost <= 2 * least
