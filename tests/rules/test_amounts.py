"""Amounts that no labels can meet are found without a solver, and told with their numbers."""

from __future__ import annotations

import itertools
from itertools import product

import numpy as np
import pytest
from conflicts import AllLabels
from scipy import sparse

from corral import InfeasibleConstraintsError, check
from corral.constraints import (
    ClusterSizes,
    ClusterTotals,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)
from corral.infeasible import explain
from corral.rules import presolve
from corral.rules.amounts import crowd, reach
from corral.rules.pairs import components

LETTERS = list("abcdefgh")


def clash(rules, n, k, names=None):
    """What presolve raises; for few rows it is compared with all labels."""
    with pytest.raises(InfeasibleConstraintsError) as error:
        presolve(ConstraintSet(rules), n, k, names=names)
    if n <= 10:
        every = AllLabels(n, k)
        assert not every.feasible(error.value.conflict)
        assert not error.value.irreducible or every.faults(error.value.conflict) == []
    return error.value


@pytest.mark.parametrize(
    ("rules", "conflict", "sentence"),
    [
        (
            ClusterTotals([1, 9, 2, 3], minimum=0, maximum=8),
            ClusterTotals([1, 9, 2, 3], maximum=8),
            "sample b has the value 9, but no cluster may have more than 8 "
            "(cluster totals of at most 8).",
        ),
        (
            ClusterTotals([1, 5, 5, 5], maximum=[8, 9]),
            ClusterTotals([1, 5, 5, 5], maximum=[8, 9]),
            "samples b, c, d have the values 5, 5, 5, but the clusters have room for at most 2 of "
            "these (cluster totals of at most [8, 9]).",
        ),
        (
            [ClusterTotals([1, 4, 5, 2], maximum=[8, 7]), MustLink([(0, 3), (1, 2)])],
            [ClusterTotals([1, 4, 5, 2], maximum=[8, 7]), MustLink([(1, 2)])],
            "must-links join samples b, c, whose values add up to 9, but no cluster may have more "
            "than 8 (cluster totals of at most [8, 7]).",
        ),
        (
            ClusterTotals([3, 4, 5, 3], minimum=1, maximum=[8, 6]),
            ClusterTotals([3, 4, 5, 3], maximum=[8, 6]),
            "the values of all samples add up to 15, but the clusters must have at most 14 in all "
            "(cluster totals of at most [8, 6]).",
        ),
        (
            ClusterTotals([3, -4, 5, 3], minimum=4, maximum=9),
            ClusterTotals([3, -4, 5, 3], minimum=4),
            "the values of all samples add up to 7, but the clusters must have at least 8 in all "
            "(cluster totals of at least 4).",
        ),
    ],
)
def test_totals(rules, conflict, sentence):
    found = clash(rules, 4, 2, LETTERS)
    assert str(found) == sentence
    assert set(found.conflict) == set(ConstraintSet(conflict))
    assert AllLabels(4, 2).faults(found.conflict) == []


def test_a_share_that_all_rows_together_do_not_have():
    sex = ["m"] * 15 + ["f"] * 16
    rules = GroupShares(sex, minimum={"f": 0.3, "m": 0.5}, maximum={"f": 0.6})
    found = clash(rules, 31, 4)
    assert str(found) == (
        "15 of 31 samples are 'm', 48.4 %, so not every cluster can have at least 50 %."
    )
    assert found.conflict == ConstraintSet(GroupShares(sex, minimum={"m": 0.5}))
    assert found.irreducible
    found = clash(GroupShares([1, 1, 0], maximum={1: 0.66}), 3, 2)
    assert "2 of 3 samples are of group 1, 66.7 %, so not every cluster can have at most 66 %" in (
        str(found)
    )
    # More digits where three would not tell the shares apart.
    found = clash(GroupShares(np.arange(10_000) < 5001, maximum={True: 0.5}), 10_000, 2)
    assert "are of group True, 50.01 %, so not every cluster can have at most 50 %" in str(found)
    # Exactly the share that all rows have can be met, by one cluster.
    presolve(GroupShares([1, 1, 0, 0, 0, 0, 0, 0, 0, 0], minimum={1: 0.2}, maximum={0: 0.8}), 10, 3)


@pytest.mark.parametrize(
    ("share", "sizes", "kept", "sentence"),
    [
        (
            {"minimum": {"f": 0.5}},
            ClusterSizes([5, 5]),
            ClusterSizes(minimum=[5, 5]),
            "with minimum cluster sizes [5, 5], at least 50 % 'f' in every cluster needs 6 such "
            "samples in all, but X has 5.",
        ),
        (
            {"maximum": {"f": 0.5}},
            ClusterSizes([5, 5], ordered=True),
            ClusterSizes(minimum=[5, 5], ordered=True),
            "with minimum cluster sizes [5, 5], at most 50 % 'f' in every cluster needs 6 other "
            "samples in all, but X has 5.",
        ),
        (
            {"minimum": {"f": 0.45}},
            ClusterSizes(maximum=[7, 1, 3]),
            ClusterSizes(maximum=[7, 1, 3]),
            "with maximum cluster sizes [7, 1, 3], at least 45 % 'f' in every cluster leaves room "
            "for 4 other samples in all, but X has 5.",
        ),
    ],
)
def test_shares_of_given_sizes_are_whole_numbers(share, sizes, kept, sentence):
    groups, k = ["f", "m"] * 5, len(sizes.bounds(10, 3)[0]) if sizes.sizes is None else 2
    found = clash([GroupShares(groups, **share), sizes], 10, k)
    assert str(found) == sentence
    assert found.conflict == ConstraintSet([GroupShares(groups, **share), kept])
    assert AllLabels(10, k).faults(found.conflict) == []


def chains(n, length):
    """Must-links that join the rows to chains of one length; the last rows are single."""
    ends = [i for i in range(n - n % length) if (i + 1) % length]
    return MustLink(np.column_stack([ends, np.array(ends) + 1]))


def test_sizes_that_no_set_of_groups_adds_up_to():
    """5,000 rows in chains of 37 have 135 of them and 5 single rows."""
    found = clash([chains(5000, 37), ClusterSizes([250] * 20)], 5000, 20)
    assert all(37 * a + b != 250 for a in range(8) for b in range(6))
    assert "into 135 groups of 37 and 5 single samples; no set of these has 250" in str(found)
    assert str(found).endswith("the nearest sums are 227 and 259.")
    presolve([chains(5000, 37), ClusterSizes([259] * 15 + [223] * 5)], 5000, 20)
    found = clash([chains(9, 3), ClusterSizes(minimum=[4, 0, 0], maximum=[5, 9, 9])], 9, 3)
    assert "into 3 groups of 3; no set of these has 4 to 5 samples in all" in str(found)
    assert str(found).endswith("the nearest sums are 3 and 6.")
    smaller = explain(9, 3, found.conflict)
    assert AllLabels(9, 3).faults(smaller.conflict) == []


def test_groups_of_which_no_two_have_room_together():
    found = clash([chains(9, 3), MustLink([(0, 2)]), ClusterSizes(maximum=5, minimum=2)], 9, 2)
    assert str(found) == (
        "must-links join samples (0, 1, 2, 3, 4, 5, 6, 7, 8) into 3 groups of 3, but the clusters "
        "have room for at most 2 of these (maximum cluster size 5)."
    )
    # Links that close a circle are not needed.
    assert sum(len(links.pairs) for links in found.conflict.of_kind(MustLink)) == 6


@pytest.mark.parametrize("seed", range(40))
def test_a_crowd_has_fewer_places_than_values(seed):
    rng = np.random.default_rng(seed)
    values, room = rng.integers(0, 7, 6), rng.integers(0, 12, 2)
    number, fit = crowd(values, room)

    def most(chosen):
        """How many of the values fit, by trying all places; the last place is outside."""
        ways = product(range(3), repeat=len(chosen))
        loads = ((way, np.bincount(way, chosen, 3)) for way in ways)
        return max(sum(j < 2 for j in way) for way, load in loads if (load[:2] <= room).all())

    if number:
        largest = np.sort(values)[::-1][:number]
        assert most(largest) <= fit < number
    assert (number == 1) == (values.max() > room.max())


def test_conflicts_of_many_rows_hold_the_rows_they_name():
    """Keys of pairs among 60,000 rows need more than 32 bits."""
    n = 60_000
    links = MustLink(np.column_stack([np.arange(n - 1), np.arange(1, n)])[n - 50 :])
    found = clash([links, ClusterSizes(maximum=40)], n, 2_000)
    (kept,) = found.conflict.of_kind(MustLink)
    assert len(kept.pairs) == 40
    assert np.bincount(components(n, kept.pairs)).max() == 41


def test_pinned_values_above_a_maximum_are_named():
    values = ClusterTotals([5, 1, 4, 3, 2, 1], maximum=[7, 20], name="demand")
    pins, link = Pin([(0, 0), (1, 0), (2, 0), (3, 1)]), MustLink([(1, 4)])
    found = clash([values, pins, link], 6, 2, names=LETTERS)
    assert str(found).startswith(
        "pins put samples (a, c) into cluster 0, whose values add up to 9, but it may have at most "
        "7 (cluster totals of 'demand', at most [7, 20])."
    )
    tight = ClusterTotals([5, 1, 1, 3, 2, 1], maximum=[7, 20])
    found = clash([tight, Pin([(0, 0), (1, 0)]), link], 6, 2, names=LETTERS)
    assert "pins and must-links put samples (a, b, e) into cluster 0" in str(found)
    presolve([tight, Pin([(0, 0), (1, 0)])], 6, 2)


@pytest.mark.parametrize("seed", range(30))
def test_the_reach_is_that_of_all_labels(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    A = sparse.random_array((3, n * k), density=0.6, rng=rng, data_sampler=rng.standard_normal)
    group = np.unique(rng.integers(0, n, n), return_inverse=True)[1]
    m = int(group.max()) + 1
    pinned = np.where(rng.random(m) < 0.3, rng.integers(0, k, m), -1)
    values = []
    for of_group in itertools.product(range(k), repeat=m):
        if all(pin in (-1, own) for pin, own in zip(pinned, of_group, strict=True)):
            x = np.zeros((n, k))
            x[np.arange(n), np.array(of_group)[group]] = 1.0
            values.append(A @ x.ravel())
    least, most = reach(sparse.csr_array(A), k, group, pinned)
    np.testing.assert_allclose(least, np.min(values, axis=0), atol=1e-12)
    np.testing.assert_allclose(most, np.max(values, axis=0), atol=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_presolve_finds_a_row_that_links_and_pins_keep_from_its_bound(seed):
    """The bound lies just inside, or just outside, of what all labels reach."""
    rng = np.random.default_rng(seed)
    n, k = 5, 2
    A = rng.integers(-3, 4, (1, n * k))
    others = [MustLink([(0, 1), (3, 4)]), Pin({1: 1})][: seed % 3]
    every = AllLabels(n, k)
    obeyed = [labels for labels in every.labels.T if not broken(others, labels)]
    x = np.eye(k)[np.array(obeyed)].reshape(len(obeyed), -1)
    most = int((x @ A[0]).max())
    assert presolve([*others, LinearConstraint(A, lower=most)], n, k) is not None
    with pytest.raises(InfeasibleConstraintsError, match=rf"at least {most + 1}, but is at most"):
        presolve([*others, LinearConstraint(A, lower=most + 1)], n, k)
    with pytest.raises(InfeasibleConstraintsError, match=rf"at most {-most - 1}, but is at least"):
        presolve([*others, LinearConstraint(-A, upper=-most - 1)], n, k)
    found = check(n, [*others, LinearConstraint(A, lower=most + 1)], k)
    assert every.faults(found.conflict) == []


def broken(rules, labels):
    return any(found.count for found in ConstraintSet(rules).violations(labels, 2))


def test_other_conflicts_of_linear_rows_say_the_sums():
    rules = [ClusterSizes([1, 3], ordered=True), LinearConstraint([[1, 0, 2, 0, 0, 0, 0, 0]], 3)]
    found = check(4, rules, 2)
    assert found.message.endswith("at least 3. By itself the linear row reaches 0 to 3.")
