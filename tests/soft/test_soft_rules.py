"""Soft rules: the objective counts their prices, and no labels are better."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    Constraint,
    ConstraintSet,
    GroupShares,
    MustLink,
    Pin,
    lower_bound,
)

N = 6


def priced(labels, rules, k):
    """What soft rules cost by hand; None if a hard rule is broken.  One formula for each kind."""
    size, cost = np.bincount(labels, minlength=k), 0.0
    for rule in rules:
        if isinstance(rule, Pin):
            missed = (labels[rule.rows] != rule.clusters).astype(float)
            weight = rule.weight
        elif isinstance(rule, MustLink | CannotLink):
            same = labels[rule.pairs[:, 0]] == labels[rule.pairs[:, 1]]
            missed, weight = (same != isinstance(rule, MustLink)).astype(float), rule.weight
        elif isinstance(rule, ClusterSizes):
            lower, upper = rule.bounds(len(labels), k)
            orders = [range(k)] if rule.ordered else permutations_of(k)
            missed = min(
                (distance(size, lower[list(o)], upper[list(o)]) for o in orders), key=np.sum
            )
            weight = np.full(k, rule.weight)
        elif isinstance(rule, ClusterTotals):
            total = np.array([rule.values[labels == j].sum() for j in range(k)])
            missed, weight = distance(total, *rule.bounds(k)), np.full(k, rule.weight)
        else:
            groups = np.unique(rule.groups)
            counts = np.array(
                [[np.sum((labels == j) & (rule.groups == g)) for j in range(k)] for g in groups]
            )
            low = np.array([[rule.minimum.get(g, 0.0)] for g in groups.tolist()]) * size
            high = np.array([[rule.maximum.get(g, 1.0)] for g in groups.tolist()]) * size
            missed, weight = (
                distance(counts, low, high).ravel(),
                np.full(k * len(groups), rule.weight),
            )
        broken = missed > 1e-9
        if np.isinf(weight[broken]).any():
            return None
        cost += float((weight[broken] * missed[broken]).sum())
    return cost


def permutations_of(k):
    return [order for order in product(range(k), repeat=k) if len(set(order)) == k]


def distance(value, lower, upper):
    return np.maximum(np.maximum(lower - value, value - upper), 0.0)


def least_objective(X, rules, k):
    """The least objective over all labels, each with its own means."""
    every = np.array(list(product(range(k), repeat=len(X))))
    member = (every[:, :, None] == np.arange(k)).astype(float)
    mass = np.maximum(member.sum(axis=1), 1.0)
    sums = np.einsum("lnk,nd->lkd", member, X)
    inertia = (X**2).sum() - ((sums**2).sum(axis=2) / mass).sum(axis=1)
    best = np.inf
    for value, labels in sorted(zip(inertia, every, strict=True), key=lambda pair: pair[0]):
        if value >= best:
            break
        cost = priced(labels, rules, k)
        if cost is not None:
            best = min(best, value + cost)
    return best


SIZES = ClusterSizes(minimum=3, maximum=3, weight=0.3)
CASES = {
    "sizes": (2, [SIZES]),
    "sizes in any order": (3, [ClusterSizes([4, 1, 1], weight=0.4)]),
    "sizes in order": (3, [ClusterSizes([1, 1, 4], weight=0.4, ordered=True)]),
    "two prices of sizes": (2, [SIZES, ClusterSizes(minimum=2, weight=2.0)]),
    "totals": (2, [ClusterTotals([5, 1, 2, 8, 1, 3], maximum=10, weight=0.2)]),
    "totals of clusters": (2, [ClusterTotals([5, 1, 2, 8, 1, 3], minimum=[3, 15], weight=0.3)]),
    "fractions": (2, [ClusterTotals([0.5, 0.1, 0.2, 0.8, 0.1, 0.3], maximum=0.95, weight=3.0)]),
    "shares": (2, [GroupShares(list("aababb"), minimum=0.4, weight=0.6)]),
    "pins": (2, [Pin(np.array([0, 1, 0, 1, 0, -1]), weight=[0.2, 0.9, 0.4, 3.0, 0.1])]),
    "links and sizes": (2, [SIZES, MustLink([(0, 5)]), CannotLink([(1, 2)])]),
    "soft links and sizes": (2, [SIZES, MustLink([(0, 5)], weight=0.5)]),
    "joined pairs and sizes": (2, [SIZES, MustLink([(0, 1), (2, 3), (4, 5)])]),
    "hard and soft sizes": (3, [ClusterSizes(maximum=4), ClusterSizes([4, 1, 1], weight=0.7)]),
    "hard totals": (2, [SIZES, ClusterTotals([5, 1, 2, 8, 1, 3], maximum=12)]),
    "pins and totals": (
        2,
        [Pin({0: 1, 3: 0}, weight=0.7), ClusterTotals([5, 1, 2, 8, 1, 3], maximum=11)],
    ),
    "all": (
        2,
        [
            SIZES,
            Pin({0: 1, 3: 0}, weight=0.7),
            Pin({1: 0}),
            CannotLink([(4, 5)]),
            ClusterTotals([5, 1, 2, 8, 1, 3], maximum=9, weight=0.1),
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_no_labels_are_better(case):
    k, rules = CASES[case]
    X = np.random.default_rng(list(CASES).index(case)).normal(size=(N, 2))
    model = ConstrainedKMeans(k, random_state=0, n_init=4).fit(X, constraints=rules)
    report = model.report_
    assert report.feasible
    cost = priced(model.labels_, rules, k)
    np.testing.assert_allclose(report.soft_cost, cost, atol=1e-12)
    np.testing.assert_allclose(report.objective, least_objective(X, rules, k), rtol=1e-9)


def of_weight(weight):
    """One constraint of each kind that may be soft, on 18 rows."""
    values, groups = np.arange(18) % 7, np.arange(18) % 3
    return {
        "sizes": ClusterSizes([3, 6, 9], weight=weight),
        "totals": ClusterTotals(values, maximum=22, weight=weight),
        "shares": GroupShares(groups, minimum=0.3, weight=weight),
        "pins": Pin({3: 0, 7: 1, 10: 2, 11: 0}, weight=weight),
    }


POINTS = np.random.default_rng(3).normal(size=(18, 2))


def fit(rules, X=POINTS):
    return ConstrainedKMeans(3, random_state=0, n_init=2).fit(X, constraints=rules)


@pytest.mark.parametrize("kind", of_weight(1.0))
def test_weight_zero_is_no_rule(kind):
    one, none = fit(of_weight(0.0)[kind]), fit(None)
    np.testing.assert_array_equal(one.labels_, none.labels_)
    assert one.report_.objective == none.inertia_


@pytest.mark.parametrize("kind", of_weight(1.0))
def test_a_very_high_weight_is_a_hard_rule(kind):
    soft, hard = (fit(of_weight(weight)[kind]) for weight in (1e9, np.inf))
    assert soft.report_.soft_cost == 0.0
    np.testing.assert_allclose(soft.inertia_, hard.inertia_)
    assert of_weight(np.inf)[kind].hard
    assert not of_weight(1e9)[kind].hard


def test_soft_rules_that_contradict_each_other_have_an_answer():
    rules = [ClusterSizes([6, 0], weight=1.0), ClusterSizes(minimum=2, weight=2.0)]
    model = ConstrainedKMeans(2, random_state=0, n_init=4).fit(POINTS[:N], constraints=rules)
    least = least_objective(POINTS[:N], rules, 2)
    np.testing.assert_allclose(model.report_.objective, least)


def test_a_refit_changes_fewer_labels_at_a_higher_price():
    before = fit(None).labels_
    moved = POINTS + np.random.default_rng(0).normal(scale=0.5, size=POINTS.shape)
    changed = []
    for weight in (0.0, 0.3, 3.0, 1e4):
        again = fit(Pin(before, weight=weight), moved)
        changed.append(int(np.sum(again.labels_ != before)) if weight else len(before))
        assert again.report_.soft_cost == pytest.approx(weight * np.sum(again.labels_ != before))
    assert changed == sorted(changed, reverse=True)
    assert changed[-1] == 0


@pytest.mark.parametrize("kind", of_weight(1.0))
def test_json_keeps_weights(kind):
    for weight in (1.5, np.inf):
        rule = of_weight(weight)[kind]
        values = rule.to_dict()
        assert ("weight" in values) == np.isfinite(weight)
        assert Constraint.from_dict(values) == rule
        assert rule.subset(np.arange(18)) == rule or kind == "pins"
        hard, soft = ConstraintSet(rule).hard, ConstraintSet(rule).soft
        assert (len(hard), len(soft)) == ((0, 1) if np.isfinite(weight) else (1, 0))


@pytest.mark.parametrize("weight", [-1.0, np.nan, "dear", [[1.0]], None])
@pytest.mark.parametrize("kind", of_weight(1.0))
def test_bad_weights_are_refused(kind, weight):
    with pytest.raises(ValueError, match="weight"):
        of_weight(weight)[kind]


def test_lists_of_sizes_that_cannot_be_matched_are_refused():
    rules = [ClusterSizes([3, 6, 9]), ClusterSizes([2, 7, 9], weight=1.0)]
    with pytest.raises(ValueError, match="ordered=True"):
        fit(rules)
    with pytest.raises(ValueError, match="ordered=True"):
        fit([ClusterSizes([3, 6, 9], ordered=True), rules[1]])


def test_the_report_lists_units_and_prices():
    report = fit(ClusterSizes([18, 0, 0], weight=0.01)).report_
    (entry,) = report.entries
    assert entry.violations.units == 2 * (18 - max(report.sizes))
    assert f"{entry.violations.units:g} outside" in str(report)
    assert report.to_dict()["constraints"][0]["units"] == entry.violations.units


def test_the_paper_s_algorithm_refuses_soft_rules():
    with pytest.raises(ValueError, match="no soft pins, sizes"):
        ConstrainedKMeans(3, solver="algorithm1").fit(POINTS, constraints=of_weight(1.0)["sizes"])


def test_a_lower_bound_leaves_prices_out_and_says_so():
    rules = list(of_weight(0.1).values())
    bound = lower_bound(POINTS, 3, constraints=rules, time_limit=0.5)
    assert bound.value <= fit(rules).report_.objective
    assert {"soft sizes", "soft totals", "soft pins"} <= set(bound.rules_left_out)


def test_new_rows_are_placed_at_least_price():
    model = fit(None)
    X = np.random.default_rng(5).normal(size=(N, 2))
    rules = [ClusterSizes([4, 1, 1], weight=0.8)]
    labels = model.assign(X, constraints=rules)
    cost = model.transform(X) ** 2
    every = np.array(list(product(range(3), repeat=N)))
    values = cost[np.arange(N), every].sum(axis=1)
    best = min(v + priced(one, rules, 3) for v, one in zip(values, every, strict=True))
    found = cost[np.arange(N), labels].sum() + priced(labels, rules, 3)
    np.testing.assert_allclose(found, best)
