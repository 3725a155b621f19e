"""Variations change what they say that they change, and keep what must stay."""

from __future__ import annotations

import numpy as np
import pytest
from problems import uniform
from searches import Small

from corral import ClusterSizes, ClusterTotals, Pin

X, K = uniform(60, 2), 6
PINS = {0: 3, 1: 0, 2: 5, 3: 3}
RULES = {
    "free": [],
    "pins": [Pin(PINS)],
    "sizes": [ClusterSizes([5, 7, 9, 11, 13, 15])],
    "totals and pins": [
        ClusterTotals(1.0 + X[:, 0], maximum=[30.0, 20, 20, 20, 20, 20]),
        Pin(PINS),
    ],
}


def varied(kind, number=40):
    """A search, its answer, and local variations of it."""
    small = Small(X, RULES[kind], K, effort=0.02)
    answer = small.search().top
    return small, answer, [small.variation.local(answer) for _ in range(number)]


@pytest.mark.parametrize("kind", RULES)
def test_groups_leave_or_enter_only_clusters_that_are_said_to_change(kind):
    _, answer, variations = varied(kind)
    for one in variations:
        moved = one.labels != answer.labels
        assert one.awake[one.labels[moved]].all()
        assert np.isin(one.labels, np.arange(K)).all()
        assert one.awake.any()


@pytest.mark.parametrize("kind", RULES)
def test_the_parent_stays_as_it_is(kind):
    small, answer, _ = varied(kind, 0)
    labels, objective = answer.labels.copy(), answer.objective
    for _ in range(40):
        small.variation.local(answer)
        small.variation.crossed(answer, answer)
    np.testing.assert_array_equal(answer.labels, labels)
    assert answer.objective == objective


@pytest.mark.parametrize("kind", ["pins", "totals and pins"])
def test_children_keep_pins(kind):
    small, answer, variations = varied(kind)
    rows, clusters = np.array(list(PINS)), np.array(list(PINS.values()))
    found = [small.descender.from_varied(one, answer) for one in variations]
    crossed = (small.variation.crossed(answer, answer) for _ in range(5))
    found += [small.descender.from_clusters(one, answer.prices) for one in crossed]
    children = [child for child in found if child is not None]
    assert children
    for child in children:
        np.testing.assert_array_equal(small.rules.to_rows(child.labels)[rows], clusters)


def test_bounds_on_sizes_change_places_and_nothing_else():
    _, _, variations = varied("sizes")
    orders = {tuple(one.rules.sizes.upper.tolist()) for one in variations}
    assert all(sorted(order) == [5, 7, 9, 11, 13, 15] for order in orders)
    assert len(orders) > 1


@pytest.mark.parametrize("kind", RULES)
def test_a_child_is_better_than_its_parent_or_none(kind):
    small, answer, variations = varied(kind)
    for one in variations:
        child = small.descender.from_varied(one, answer)
        if child is not None:
            assert child.objective < answer.objective
            true = small.shape.objective(child.labels, small.shape.clusters(child.labels))
            assert child.objective == pytest.approx(true)


def test_a_crossed_answer_has_clusters_of_its_parents_and_one_more():
    small = Small(X, [], K, effort=0.02)
    first, second = (small.descender.from_clusters(small.seeds()) for _ in range(2))
    known = np.concatenate([first.clusters, second.clusters])
    for _ in range(10):
        clusters = small.variation.crossed(first, second)
        new = ~(clusters[:, None] == known).all(axis=2).any(axis=1)
        assert np.count_nonzero(new) <= 1
