"""Few tied groups among many rows of bounded sizes: the rules hold, and free rows cost least."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import make_blobs

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, MustLink, Pin, audit
from corral.assign import NoAssignment, TiedFirst, Warm
from corral.deadline import NEVER
from corral.plan import many_thresholds
from corral.presolve import SizeBounds, presolve
from corral.rows import MemoryRows

N, D, K = 600, 3, 4
X = make_blobs(N, D, centers=K, cluster_std=3.0, random_state=0)[0]
SIZES = ClusterSizes([150] * K)
LINKS = np.random.default_rng(0).permutation(N)[:60].reshape(-1, 2)
RULES = {
    "cannot-links": [SIZES, CannotLink(LINKS)],
    "soft cannot-links": [SIZES, CannotLink(LINKS, weight=3.0)],
    "must-links": [SIZES, MustLink(LINKS)],
    "pins": [SIZES, Pin({i: i % K for i in range(30)})],
    "both": [SIZES, MustLink(LINKS[:10]), CannotLink(LINKS[10:])],
    "unequal": [ClusterSizes([100, 100, 200, 200], ordered=True), CannotLink(LINKS)],
}
NOW = {"incumbent": None, "deadline": NEVER, "patience": 3.0}


def step_of(given, weight=None, warm=None):
    """Rules, rows of the groups, centres relative to their middle, and an assignment."""
    rules = presolve(given, N, K)
    rows = MemoryRows.of(X, weight, rules.group, MemoryRows(X).distance)
    centers = X[:K] - rows.middle
    return rules, rows, centers, TiedFirst(rules, rows)(centers, warm=warm, **NOW)


@pytest.mark.parametrize("kind", RULES)
def test_rules_hold(kind):
    rules, _, _, step = step_of(RULES[kind])
    assert audit(X, rules.to_rows(step.labels), RULES[kind], K).feasible


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("known", ["nothing", "weights", "prices"])
def test_free_rows_cost_least_in_the_room_that_is_left(kind, known):
    """A linear assignment to places, one for each row a cluster may hold, costs the same."""
    rng = np.random.default_rng(1)
    weight = rng.random(N) + 0.5 if known == "weights" else None
    warm = Warm(rng.normal(size=K)) if known == "prices" else None
    rules, rows, centers, step = step_of(RULES[kind], weight, warm)
    free, tied = ~rules.tied, rules.tied
    taken = np.bincount(step.labels[tied], rules.count[tied], K).astype(int)
    cost = rows.costs(centers).dense()[free]
    places = np.repeat(np.arange(K), rules.sizes.upper - taken)
    least = cost[:, places][linear_sum_assignment(cost[:, places])].sum()
    assert cost[np.arange(len(cost)), step.labels[free]].sum() == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("kind", RULES)
def test_the_cost_is_that_of_all_groups(kind):
    rules, rows, centers, step = step_of(RULES[kind])
    expected = rows.inertia(step.labels, centers) + rules.soft_cost(step.labels)
    assert step.cost == pytest.approx(expected, rel=1e-9)


def test_room_is_made_where_too_many_tied_groups_prefer_one_cluster():
    """Rows that are must-linked in twos prefer a cluster that is too small for them."""
    given = [SIZES, MustLink(np.arange(320).reshape(-1, 2))]
    cheap = np.where(np.arange(K) == 1, -1e9, 0.0)
    rules, _, _, step = step_of(given, warm=Warm(cheap))
    assert audit(X, rules.to_rows(step.labels), given, K).feasible


def test_no_room_and_no_round_before_is_no_assignment():
    linked = np.column_stack([np.arange(200), np.arange(1, 201)])
    rules = presolve([MustLink(linked)], N, K)
    rows = MemoryRows.of(X, None, rules.group, MemoryRows(X).distance)
    sizes = SizeBounds(np.zeros(K, np.int64), np.full(K, 180), ordered=True)
    with pytest.raises(NoAssignment):
        TiedFirst(replace(rules, sizes=sizes), rows)(X[:K], warm=None, **NOW)


@pytest.mark.parametrize("kind", RULES)
def test_a_fit_obeys_the_rules(kind):
    """The plan takes this way from some entries on, but for pins alone, which sizes allow."""
    with patch.multiple(many_thresholds, TIED_ENTRIES=1000, MOST_TIED=0.2):
        model = ConstrainedKMeans(K, random_state=0, n_init=1).fit(X, constraints=RULES[kind])
    assert (model.report_.plan.candidates > 0) == (kind != "pins")
    assert audit(X, model.labels_, RULES[kind], K).feasible
    plain = ConstrainedKMeans(K, random_state=0, n_init=1).fit(X, constraints=RULES[kind])
    assert model.report_.objective <= plain.report_.objective * 1.02
