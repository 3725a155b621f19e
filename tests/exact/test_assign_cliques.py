"""Cliques of cannot-links: linear assignments, nested flows, and rows of programs."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_problems import best_value, make_rules

from corral.exact import NoAssignment, assign, broken, model
from corral.exact.pairs import solve_pairs
from corral.exact.program import solve_program
from corral.exact.sizes import solve_nested
from corral.rules import SizeBounds


@pytest.fixture
def no_program(monkeypatch):
    """Fail if a program is solved."""

    def fail(*given, **options):
        raise AssertionError("cliques need no solver")

    monkeypatch.setattr("corral.exact.pairs.solve_program", fail)


def pairs_of(*cliques):
    """All pairs inside cliques."""
    ends = [(a, b) for clique in cliques for a in clique for b in clique if a < b]
    return np.array(ends).reshape(-1, 2)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.usefixtures("no_program")
def test_disjoint_cliques_with_trees_are_solved_without_programs(seed):
    rng = np.random.default_rng(seed)
    m, k = 7, 3
    order = rng.permutation(m)
    links = pairs_of(sorted(order[:3]), sorted(order[3:6]))
    if seed % 2:  # a leaf at a clique
        links = np.vstack([links, np.sort(order[[0, 6]])])
    rules = make_rules(np.ones(m, int), k, apart=links)
    cost = rng.random((m, k))
    labels, proven = solve_pairs(rules, cost)
    assert proven
    assert not broken(rules, labels)
    assert cost[np.arange(m), labels].sum() == pytest.approx(best_value(rules, cost))


@pytest.mark.usefixtures("no_program")
def test_a_clique_of_more_groups_than_clusters_has_no_labels():
    rules = make_rules(np.ones(4, int), 3, apart=pairs_of(range(4)))
    with pytest.raises(NoAssignment):
        solve_pairs(rules, np.zeros((4, 3)))


def test_pins_can_leave_a_clique_no_labels():
    rules = make_rules(
        np.ones(3, int), 3, apart=pairs_of(range(3)), pins=np.array([(0, 1), (2, 1)])
    )
    with pytest.raises(NoAssignment):
        assign(rules, np.ones((3, 3)))


@pytest.mark.parametrize("seed", range(9))
def test_sizes_and_disjoint_cliques_are_one_flow(seed):
    rng = np.random.default_rng(seed)
    m, k = 7, 3
    order = rng.permutation(m)
    links = pairs_of(sorted(order[:3]), sorted(order[3:5]))
    lower = np.array([1, 2, 2])
    sizes = SizeBounds(lower, lower + rng.integers(0, 2, k) + 1, ordered=True)
    rules = make_rules(np.ones(m, int), k, apart=links, sizes=sizes)
    assert rules.quickly_exact
    cost = rng.random((m, k))
    if seed % 3 == 0:
        cost[order[0], 1] = np.inf
    labels = solve_nested(rules, cost, sizes)
    assert not broken(rules, labels)
    assert cost[np.arange(m), labels].sum() == pytest.approx(best_value(rules, cost))


def test_sizes_that_cliques_cannot_fill_have_no_flow():
    sizes = SizeBounds(np.array([3, 1]), np.array([3, 1]), ordered=True)
    rules = make_rules(np.ones(4, int), 2, apart=pairs_of((0, 1), (2, 3)), sizes=sizes)
    with pytest.raises(NoAssignment):
        solve_nested(rules, np.zeros((4, 2)), sizes)


@pytest.mark.parametrize("seed", range(10))
def test_programs_with_rows_of_cliques_find_what_pairs_say(seed):
    rng = np.random.default_rng(seed)
    m, k = 7, 3
    links = np.argwhere(np.triu(rng.random((m, m)) < 0.35, 1))
    rules = make_rules(np.ones(m, int), k, apart=links)
    cost = rng.random((m, k))
    least = best_value(rules, cost)
    if np.isfinite(least):
        assert solve_program(rules, cost).cost == pytest.approx(least)
    else:
        with pytest.raises(NoAssignment):
            solve_program(rules, cost)


def test_a_program_has_one_row_a_clique_and_cluster():
    m, k = 6, 7
    rules = make_rules(np.ones(m, int), k, apart=pairs_of(range(m)))
    assert model.build(rules).A.shape[0] == m + k
    assert model.build(rules, elastic=True).A.shape[0] == m + 15 * k  # each pair breaks alone
