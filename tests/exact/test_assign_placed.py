"""Labels by placing one group after another: they obey the rules, or there are none."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    ConstraintSet,
    GroupShares,
    Pin,
)
from corral.exact import place_by_room
from corral.rules import presolve


@pytest.mark.parametrize("seed", range(20))
def test_labels_obey_the_rules(seed):
    rng = np.random.default_rng(seed)
    n, k = 60, 6
    values = rng.integers(1, 20, n)
    rules = ConstraintSet(
        [
            ClusterTotals(values, maximum=1.3 * values.sum() / k),
            CannotLink([tuple(rng.choice(n, 2, replace=False)) for _ in range(15)]),
            Pin({0: 1}),
        ]
    )
    labels = place_by_room(presolve(rules, n, k), cost=rng.random((n, k)))
    assert labels is not None
    assert all(found.count == 0 for found in rules.violations(labels, k))


def test_with_room_for_all_every_group_has_its_cheapest_cluster():
    rng = np.random.default_rng(0)
    cost = rng.random((40, 5))
    rules = presolve(ClusterTotals(np.ones(40), maximum=40), 40, 5)
    np.testing.assert_array_equal(place_by_room(rules, cost=cost), cost.argmin(axis=1))


def test_the_largest_groups_are_placed_first():
    rules = presolve(ClusterTotals([2.0, 2.0, 2.0], maximum=3), 3, 3)
    assert sorted(place_by_room(rules).tolist()) == [0, 1, 2]
    # In the order given, the groups of 2 would leave no room for the second of 3.
    tight = presolve(ClusterTotals([2, 2, 2, 3, 3], maximum=6), 5, 2)
    assert place_by_room(tight) is not None


def test_totals_of_many_clusters_have_an_answer_in_little_time():
    rng = np.random.default_rng(0)
    X, values = rng.normal(size=(1_200, 2)), rng.integers(1, 20, 1_200)
    rules = ClusterTotals(values, maximum=1.1 * values.sum() / 240)
    model = ConstrainedKMeans(240, time_limit=1.0, random_state=0)
    with warnings.catch_warnings(action="ignore"):  # the limit may end the search, or not
        model.fit(X, constraints=rules)
    assert model.report_.feasible


def two_shares(n, k, seed, part):
    """Shares of two partitions that hold if each of their combinations is dealt in turn."""
    rng = np.random.default_rng(seed)
    first, second = rng.choice(["a", "b"], n, p=[0.3, 0.7]), rng.choice(["u", "v", "w"], n)
    rules = [
        GroupShares(groups, minimum={g: part * np.mean(groups == g) for g in np.unique(groups)})
        for groups in (first, second)
    ]
    order, dealt = np.lexsort([first, second]), np.empty(n, int)
    dealt[order] = np.arange(n) % k
    assert all(found.count == 0 for found in ConstraintSet(rules).violations(dealt, k))
    return rules


@pytest.mark.parametrize("seed", range(5))
def test_shares_that_rows_dealt_in_turn_obey_are_found_with_all_clusters(seed):
    n, k = 600, 12
    rules = presolve(ConstraintSet(two_shares(n, k, seed, 0.5)), n, k)
    assert len(np.unique(place_by_room(rules))) == k


def test_as_many_clusters_as_can_have_their_shares_are_used():
    """Four of 100 rows are rare, and each cluster needs one: not all rows are in one cluster."""
    groups = np.array(["rare"] * 4 + ["other"] * 96)
    rules = [GroupShares(groups, minimum={"rare": 0.03})]
    assert len(np.unique(place_by_room(presolve(ConstraintSet(rules), 100, 20)))) > 1
    with warnings.catch_warnings(action="ignore"):  # most of the clusters have to stay empty
        model = ConstrainedKMeans(20, random_state=0).fit(
            np.arange(100.0)[:, None], constraints=rules
        )
    assert model.report_.feasible
    assert len(np.unique(model.labels_)) > 1


@pytest.mark.parametrize(
    ("kind", "k"),
    [*itertools.product(["maximum", "band", "shares"], [200, 1_000]), ("shares of ten", 200)],
)
def test_a_short_limit_leaves_an_answer_that_a_greedy_method_has(kind, k):
    rng = np.random.default_rng(0)
    n = 20_000
    X, values = rng.normal(size=(n, 4)), rng.integers(10, 20, n)
    mean = values.sum() / k
    rules = {
        "maximum": ClusterSizes(maximum=1 + int(1.2 * n / k)),
        "band": ClusterTotals(values, minimum=0.8 * mean, maximum=1.2 * mean),
        "shares": GroupShares(values > 14, minimum={True: 0.3, False: 0.3}),
        "shares of ten": GroupShares(values, minimum=0.04, maximum=0.25),
    }[kind]
    model = ConstrainedKMeans(k, time_limit=0.5, random_state=0)
    with warnings.catch_warnings(action="ignore"):  # the limit ends the search
        model.fit(X, constraints=rules)
    assert model.report_.feasible
    assert len(np.unique(model.labels_)) == k


@pytest.mark.parametrize(("n", "k", "groups"), [(400, 20, 4), (1000, 20, 10), (3000, 50, 7)])
def test_shares_are_dealt_to_all_clusters_and_nearer_where_costs_say(n, k, groups):
    # Dealing each group in turn obeys these, so they are never refused here.
    rng = np.random.default_rng(n)
    group, points = np.arange(n) % groups, rng.normal(size=(n, 2))
    rules = presolve(
        ConstraintSet([GroupShares(group, minimum=0.5 / groups, maximum=2.0 / groups)]), n, k
    )
    cost = ((points[:, None] - points[:k]) ** 2).sum(axis=2)
    dealt, near = place_by_room(rules), place_by_room(rules, cost=cost)
    for labels in (dealt, near):
        counts = np.zeros((k, groups))
        np.add.at(counts, (labels, group), 1.0)
        shares = counts / counts.sum(axis=1, keepdims=True)
        assert shares.min() >= 0.5 / groups - 1e-12
        assert shares.max() <= 2.0 / groups + 1e-12
    rows = np.arange(n)
    assert cost[rows, near].sum() < 0.9 * cost[rows, dealt].sum()
