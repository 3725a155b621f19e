"""A passed deadline: known labels are given back, and what is not known is still found."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_problems import clustered, make_rules

from corral.deadline import Deadline, OutOfTime
from corral.exact import assign, broken
from corral.exact.pairs import solve_pairs
from corral.exact.sizes import Room, solve_units
from corral.rules import SizeBounds

PAST = Deadline(end=0.0)


def many_sizes(seed=0, m=6000, k=5):
    """Enough rows for prices."""
    cost = np.random.default_rng(seed).random((m, k)) + np.arange(k)
    size = np.full(k, m // k)
    return make_rules(np.ones(m, int), k, sizes=SizeBounds(size, size, True)), cost


def a_path(m=300):
    """Cannot-links that elimination solves from the ends."""
    edges = np.column_stack([np.arange(m - 1), np.arange(1, m)])
    return make_rules(np.ones(m, int), 2, apart=edges), np.random.default_rng(0).random((m, 2))


def sizes_and_pairs():
    """Enough groups for prices of several sums."""
    return clustered(0, 3000, 4, 300)


@pytest.mark.parametrize("make", [many_sizes, a_path, sizes_and_pairs])
def test_known_labels_are_kept_without_a_proof(make):
    rules, cost = make()
    known = assign(rules, cost).labels
    found = assign(rules, cost[:, ::-1].copy(), incumbent=known, deadline=PAST)
    assert not found.optimal
    assert not broken(rules, found.labels)
    moved = cost[np.arange(len(known)), cost.shape[1] - 1 - known].sum()
    assert found.cost <= moved * (1 + 1e-12)


@pytest.mark.parametrize("make", [many_sizes, a_path])
def test_without_known_labels_the_answer_is_that_without_a_deadline(make):
    rules, cost = make()
    found = assign(rules, cost, deadline=PAST)
    assert found.optimal
    np.testing.assert_array_equal(found.labels, assign(rules, cost).labels)


def test_patience_does_not_end_prices_for_sizes():
    rules, cost = many_sizes()
    expected = assign(rules, cost)
    moved = cost[:, ::-1].copy()
    found = assign(
        rules, moved, incumbent=expected.labels, deadline=Deadline.after(600.0), patience=0.0
    )
    assert found.optimal
    assert found.cost == pytest.approx(assign(rules, moved).cost, rel=1e-12)


def test_the_loops_ask_the_deadline():
    rules, cost = many_sizes()
    with pytest.raises(OutOfTime):
        solve_units(cost, Room.of_sizes(rules.sizes), None, PAST)
    links, path_cost = a_path()
    with pytest.raises(OutOfTime):
        solve_pairs(links, path_cost, PAST)
