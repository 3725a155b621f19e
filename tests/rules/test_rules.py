"""Rules: restricting, scaling and fixing groups, against brute force on tiny problems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tiny_problems import labelings, make_rules, misses, obeys, random_problem, value

from corral.exact.check import NoAssignment, with_pins
from corral.exact.sums import restricted
from corral.rules import SizeBounds, TotalBounds

SEEDS = range(60)


def some_groups(rng, rules):
    """A few groups in any order."""
    return rng.permutation(rules.n_groups)[: rng.integers(1, rules.n_groups + 1)]


def misses_among(rules, labels, groups):
    """Violation of the rules by the labels of some groups, as if there were no others."""
    inside = np.isin(np.arange(rules.n_groups), groups)
    amount = sum(float(inside[g] and labels[g] != j) for g, j in rules.pins)
    amount += sum(inside[a] and inside[b] and labels[a] == labels[b] for a, b in rules.apart)
    amount += sum(inside[a] and inside[b] and labels[a] != labels[b] for a, b in rules.together)
    count = np.where(inside, rules.count, 0)
    alone = make_rules(rules.count, rules.n_clusters, sizes=rules.sizes, linear=rules.linear)
    alone = replace(alone, count=count)
    if rules.linear is not None:
        x = np.zeros((rules.n_groups, rules.n_clusters))
        x[groups, labels[groups]] = 1.0
        sums, rows = rules.linear.A @ x.ravel(), rules.linear
        amount += np.maximum(np.maximum(rows.lower - sums, sums - rows.upper), 0.0).sum()
    amount += misses(replace(alone, linear=None), labels)
    for total in rules.totals:
        values = np.where(inside, total.values, 0.0)
        sums = np.bincount(labels, values, rules.n_clusters)
        missed = np.maximum(np.maximum(total.lower - sums, sums - total.upper), 0.0).sum()
        amount += missed / (np.abs(total.values[groups]).mean() or 1.0)
    return amount


@pytest.mark.parametrize("seed", SEEDS)
def test_a_part_breaks_what_its_groups_break_among_themselves(seed):
    rules, _ = random_problem(seed)
    rng = np.random.default_rng(seed)
    groups = some_groups(rng, rules)
    part = rules.part(groups)
    assert part.n_groups == len(groups)
    for labels in list(labelings(rules))[:: max(1, rules.n_clusters**rules.n_groups // 60)]:
        expected = misses_among(rules, labels, groups)
        assert misses(part, labels[groups]) == pytest.approx(expected, abs=1e-9)
        inside = np.isin(rules.soft.pairs, groups).all(axis=1)
        broken = labels[rules.soft.pairs[:, 0]] == labels[rules.soft.pairs[:, 1]]
        paid = rules.soft.price[inside & (broken != rules.soft.together)].sum()
        assert part.soft.cost(labels[groups]) == pytest.approx(paid)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_part_of_a_part_is_a_part(seed):
    rules, _ = random_problem(seed)
    rng = np.random.default_rng(seed)
    groups = some_groups(rng, rules)
    once = rules.part(groups)
    again = some_groups(rng, once)
    direct, twice = rules.part(groups[again]), once.part(again)
    for labels in labelings(direct):
        assert misses(direct, labels) == pytest.approx(misses(twice, labels), abs=1e-9)
        assert direct.soft.cost(labels) == pytest.approx(twice.soft.cost(labels))


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_obey_what_is_left_if_and_only_if_the_whole_is_obeyed(seed):
    rules, cost = random_problem(seed)
    try:
        pinned = with_pins(rules, cost)
    except NoAssignment:
        return
    chosen = np.random.default_rng(seed).random(rules.n_groups) < 0.5
    chosen[0] = True
    rest = np.flatnonzero(~chosen)
    among = replace(rules, sizes=None, totals=(), linear=None)
    for labels in labelings(rules):
        part, part_cost = restricted(rules, pinned, labels, chosen)
        own = labels[chosen]
        paid = part_cost[np.arange(len(own)), own]
        fits = obeys(part, own) and np.isfinite(paid).all()
        fits = fits and misses_among(among, labels, rest) == 0
        assert fits == obeys(rules, labels)
        if fits:
            inside = rules.part(rest)
            fixed = value(inside, cost[rest], labels[rest])
            total = value(part, part_cost, own) + fixed
            assert total == pytest.approx(value(rules, cost, labels))


def repeated(rules, times):
    """Every group several times, and bounds on sums so many times as large."""
    sizes = rules.sizes
    if sizes is not None:
        sizes = SizeBounds(times * sizes.lower, times * sizes.upper, sizes.ordered)
    totals = tuple(
        TotalBounds(np.tile(total.values, times), times * total.lower, times * total.upper)
        for total in rules.totals
    )
    return make_rules(np.tile(rules.count, times), rules.n_clusters, sizes=sizes, totals=totals)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_copy_of_repeated_groups_obeys_the_scaled_bounds(seed):
    rules, _ = random_problem(seed)
    rules = make_rules(rules.count, rules.n_clusters, sizes=rules.sizes, totals=rules.totals)
    copy = repeated(rules, 3).part(np.arange(rules.n_groups)).scaled(1 / 3)
    for labels in labelings(rules):
        if obeys(rules, labels):
            assert obeys(copy, labels)
        # Intervals of sizes become wider by rounding; exact sizes that add up stay exact.
        elif rules.sizes is None or (rules.sizes.exact and rules.sizes.lower.sum() == rules.n_rows):
            assert not obeys(copy, labels)


@pytest.mark.parametrize("seed", range(30))
def test_scaled_sizes_are_nearly_in_proportion_and_can_be_filled(seed):
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(1, 8)), int(rng.integers(20, 400))
    size = np.bincount(rng.integers(0, k, n), minlength=k)
    room = rng.integers(0, 9, (2, k)) * (rng.random() < 0.5)
    sizes = SizeBounds(np.maximum(size - room[0], 0), size + room[1], ordered=True)
    rules = make_rules(np.ones(n, int), k, sizes=sizes)
    part = rules.part(np.sort(rng.choice(n, n // 3 + 1, replace=False)))
    share = part.n_rows / n
    found = part.scaled(share).sizes
    assert found.lower.sum() <= part.n_rows <= found.upper.sum()
    assert np.all(found.lower <= found.upper)
    assert np.all(np.abs(found.lower - share * sizes.lower) <= 1 + 1e-9)
    assert np.all(np.abs(found.upper - share * sizes.upper) <= 2 + 1e-9)
    assert found.exact == sizes.exact or not sizes.exact


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_miss_their_bounds_where_sizes_and_totals_do(seed):
    rules, _ = random_problem(seed)
    sums = rules.sums()
    assert len(sums) == len(rules.totals) + (rules.sizes is not None)
    summed = make_rules(rules.count, rules.n_clusters, sizes=rules.sizes, totals=rules.totals)
    for labels in labelings(rules):
        reached = sums.reached(labels)
        rows = [rules.count] * (rules.sizes is not None) + [t.values for t in rules.totals]
        for row, values in zip(reached, rows, strict=True):
            assert row == pytest.approx([values[labels == j].sum() for j in range(len(row))])
        assert bool(np.all(sums.outside(reached) < 1e-9)) == obeys(summed, labels)
