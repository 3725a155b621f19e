"""Cluster sizes: bounds, multisets, and merging several of them."""

from __future__ import annotations

import tracemalloc
from itertools import permutations, product

import numpy as np
import pytest

from corral.constraints import ClusterSizes
from corral.constraints.sizes import merge_sizes


def least_violation(size, lower, upper, ordered):
    """Try every order of the bounds: the least amount, then the least count."""
    orders = [tuple(range(len(size)))] if ordered else permutations(range(len(size)))
    best = []
    for order in orders:
        gaps = [max(lower[o] - s, 0, s - upper[o]) for s, o in zip(size, order, strict=True)]
        best.append((sum(gaps), sum(gap > 0 for gap in gaps)))
    return min(best)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_violations_are_the_least_over_all_orders(seed, ordered):
    rng = np.random.default_rng(seed)
    k, n = 4, 15
    lower = rng.integers(0, 5, k)
    upper = lower + rng.integers(0, 4, k)
    labels = rng.integers(0, k, n)
    size = np.bincount(labels, minlength=k)
    rule = ClusterSizes(minimum=lower, maximum=upper, ordered=ordered)
    found = rule.violations(labels, k)
    assert (found.amount, found.count) == least_violation(size, lower, upper, ordered)
    exact = ClusterSizes(lower, ordered=ordered).violations(labels, k)
    assert (exact.amount, exact.count) == least_violation(size, lower, lower, ordered)


@pytest.mark.parametrize("moved", [0, 7], ids=["obeyed", "broken"])
def test_many_sizes_take_no_memory_for_all_pairs_of_clusters(moved):
    k = 4_000
    sizes = 1 + np.arange(k) % 3
    labels = np.repeat(np.random.default_rng(0).permutation(k), sizes)
    labels[:moved] = labels[-1]
    tracemalloc.start()
    found = ClusterSizes(sizes).violations(labels, k)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.count > 0) == (moved > 0)
    assert peak < k * k


def test_bounds_fill_in_what_is_not_given():
    lower, upper = ClusterSizes(minimum=2).bounds(10, 3)
    assert lower.tolist() == [2, 2, 2]
    assert upper.tolist() == [10, 10, 10]
    lower, upper = ClusterSizes(maximum=[1, 10**18, 5]).bounds(10, 3)
    assert lower.tolist() == [0, 0, 0]
    assert upper.tolist() == [1, 10, 5]
    assert ClusterSizes(maximum=1e300).bounds(10, 2)[1].tolist() == [10, 10]
    assert all(b.tolist() == [4, 6] for b in ClusterSizes([4, 6]).bounds(10, 2))


def test_an_empty_list_is_no_constraint():
    rule = ClusterSizes([])
    rule.check(5, 3)
    assert rule.violations([0, 0, 0, 0], 3).count == 0
    assert ClusterSizes(minimum=[]) == rule


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [1, -2]}, r"sizes\[1\] is -2; sizes cannot be negative"),
        ({"sizes": [1, 2.5]}, r"sizes\[1\] is 2.5; sizes must be whole numbers"),
        ({"sizes": [1, np.nan]}, r"sizes\[1\] is NaN"),
        ({"sizes": [1, np.inf]}, r"sizes\[1\] is inf; it must be finite"),
        ({"sizes": [True, False]}, "sizes must be numbers, but their type is bool"),
        ({"sizes": [[1, 2]]}, r"sizes has shape \(1, 2\)"),
        ({"sizes": 5}, "give one size per cluster"),
        ({"sizes": [1, 2], "minimum": 1}, "either sizes, or minimum and maximum"),
        ({"minimum": 3, "maximum": 2}, "minimum is 3, above maximum, which is 2"),
        ({"minimum": [1, 4], "maximum": 3}, r"minimum\[1\] is 4, above maximum\[1\]"),
        ({"minimum": [1, 4], "maximum": [4, 4, 4]}, "minimum has 2 entries, but maximum has 3"),
        ({"minimum": -1}, "minimum is -1; sizes cannot be negative"),
        ({"maximum": "x"}, "maximum must be numbers"),
    ],
)
def test_bad_sizes_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ClusterSizes(**options)


@pytest.mark.parametrize("name", ["sizes", "minimum", "maximum"])
def test_the_number_of_sizes_must_be_the_number_of_clusters(name):
    rule = ClusterSizes(**{name: [1, 2, 3]})
    rule.check(6, 3)
    with pytest.raises(ValueError, match=f"{name} has length 3, but n_clusters is 4"):
        rule.check(6, 4)


def test_exact_sizes_need_all_rows_and_bounds_do_not():
    exact = ClusterSizes([2, 3])
    assert exact.subset([4, 3, 2, 1, 0]) == exact
    with pytest.raises(ValueError, match=r"exact for 5 rows.*give sizes for the subset"):
        exact.subset([0, 1, 2])
    bounds = ClusterSizes(minimum=1, maximum=3)
    assert bounds.subset(np.array([True, False, True])) == bounds
    with pytest.raises(ValueError, match="rows holds 1 more than once"):
        bounds.subset([0, 1, 1])


def allowed(rules, n, k):
    """All sizes of k clusters with n rows that obey every rule."""
    found = set()
    for size in product(range(n + 1), repeat=k):
        labels = np.repeat(np.arange(k), size)
        if sum(size) == n and all(r.violations(labels, k).count == 0 for r in rules):
            found.add(size)
    return found


def allowed_by(lower, upper, ordered, n, k):
    if (lower > upper).any():
        return set()
    rule = ClusterSizes(minimum=lower, maximum=upper, ordered=ordered)
    return allowed([rule], n, k)


@pytest.mark.parametrize(
    "rules",
    [
        [ClusterSizes(minimum=1), ClusterSizes(maximum=3)],
        [ClusterSizes([1, 2, 3]), ClusterSizes(minimum=1)],
        [ClusterSizes([1, 2, 3]), ClusterSizes(maximum=[2, 3, 1])],
        [ClusterSizes([1, 2, 3]), ClusterSizes(maximum=2)],
        [ClusterSizes([1, 2, 3]), ClusterSizes(minimum=[0, 3, 3])],
        [ClusterSizes(minimum=[0, 3, 1]), ClusterSizes([1, 2, 3])],
        [ClusterSizes(minimum=[0, 2, 1]), ClusterSizes(minimum=[1, 0, 2])],
        [
            ClusterSizes(minimum=[0, 2, 1], ordered=True),
            ClusterSizes(maximum=[6, 2, 3], ordered=True),
        ],
        [ClusterSizes(minimum=[0, 2, 1], ordered=True), ClusterSizes(maximum=3)],
        [ClusterSizes([1, 2, 3]), ClusterSizes([3, 2, 1]), ClusterSizes(minimum=[2, 1, 0])],
        [ClusterSizes(minimum=[0, 2, 1]), ClusterSizes(minimum=[0, 0, 3])],
        [ClusterSizes(minimum=[0, 2, 1]), ClusterSizes(maximum=[5, 1, 3])],
        [ClusterSizes(minimum=[0, 2, 1]), ClusterSizes(minimum=[0, 3, 0], maximum=[1, 5, 2])],
        [ClusterSizes(minimum=[1, 0, 0], maximum=[2, 6, 6]), ClusterSizes([1, 2, 3])],
    ],
)
def test_merged_sizes_allow_what_all_of_them_allow(rules):
    lower, upper, ordered = merge_sizes(rules, 6, 3)
    assert allowed_by(lower, upper, ordered, 6, 3) == allowed(rules, 6, 3)


@pytest.mark.parametrize(
    "rules",
    [
        [ClusterSizes(minimum=[0, 2, 1], maximum=[6, 3, 4]), ClusterSizes(minimum=[0, 0, 3])],
        [ClusterSizes([1, 2, 3]), ClusterSizes(maximum=[1, 2, 3], ordered=True)],
    ],
)
def test_lists_that_cannot_be_merged_say_so(rules):
    with pytest.raises(ValueError, match="combine them into one ClusterSizes"):
        merge_sizes(rules, 6, 3)


def test_words():
    assert ClusterSizes([2, 1]).phrase() == "cluster sizes [2, 1]"
    assert ClusterSizes(minimum=1, maximum=[2, 3]).phrase() == (
        "minimum cluster size 1 and maximum cluster sizes [2, 3]"
    )
    assert repr(ClusterSizes([2, 1], ordered=True)) == "ClusterSizes([2, 1], ordered=True)"
    assert len(repr(ClusterSizes(range(1000)))) < 80
    messages = ClusterSizes(minimum=2, maximum=3).violations([0, 1, 1, 1, 1]).messages()
    assert messages == [
        "cluster 0 has 1 sample, but should have at least 2",
        "cluster 1 has 4 samples, but should have at most 3",
    ]
