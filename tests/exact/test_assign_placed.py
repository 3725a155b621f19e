"""Labels by placing one group after another: they obey the rules, or there are none."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from corral import CannotLink, ClusterTotals, ConstrainedKMeans, ConstraintSet, Pin
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
