"""Cluster totals and group shares."""

from __future__ import annotations

import copy
import math

import numpy as np
import pandas as pd
import pytest

from corral.constraints import ClusterTotals, Constraint, GroupShares
from corral.exceptions import InfeasibleConstraintsError
from corral.rules import presolve


@pytest.mark.parametrize("seed", range(5))
def test_totals_are_those_of_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    values, labels = rng.normal(size=30), rng.integers(0, 4, 30)
    low = rng.normal(-2, 1, 4)
    high = low + rng.uniform(0, 3, 4)
    where, amount = [], 0.0
    for j in range(4):
        total = math.fsum(v for v, label in zip(values, labels, strict=True) if label == j)
        over = max(low[j] - total, total - high[j], 0)
        amount += over
        where += [j] if over > 0 else []
    found = ClusterTotals(values, minimum=low, maximum=high).violations(labels, 4)
    assert found.where.tolist() == where
    assert found.amount == pytest.approx(amount)


def test_rounding_is_no_violation_but_more_is():
    values = np.full(10, 0.1)
    assert ClusterTotals(values, minimum=1.0, maximum=1.0).violations(np.zeros(10, int)).count == 0
    assert ClusterTotals(values, maximum=0.9999).violations(np.zeros(10, int)).count == 1
    # the scale is that of the values, however small
    assert ClusterTotals(values * 1e-12, maximum=9e-13).violations(np.zeros(10, int)).count == 1


def test_an_empty_cluster_has_a_total_of_zero():
    rule = ClusterTotals([1, 1], minimum=1)
    assert rule.violations([0, 0], 3).where.tolist() == [1, 2]
    assert rule.violations([0, 0]).count == 0


def test_bounds_are_infinite_where_not_given():
    lower, upper = ClusterTotals([1, 2], maximum=[3, math.inf]).bounds(2)
    assert lower.tolist() == [-math.inf, -math.inf]
    assert upper.tolist() == [3, math.inf]


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1, math.nan], {}, r"values\[1\] is NaN"),
        ([1, math.inf], {}, r"values\[1\] is inf; each must be finite"),
        ([[1, 2]], {}, r"values has shape \(1, 2\)"),
        (["a", "b"], {}, "values must be numbers"),
        ([True, "a"], {}, "values must be numbers"),
        (None, {}, "values must be numbers, not None"),
        ([1, [2, 3]], {}, "values must have a regular shape"),
        ([1, 2], {"minimum": math.nan}, "minimum is NaN"),
        ([1, 2], {"minimum": math.inf}, "minimum is inf; no total can reach it"),
        ([1, 2], {"maximum": -math.inf}, "maximum is -inf"),
        ([1, 2], {"minimum": 2, "maximum": 1}, "minimum is 2, above maximum, which is 1"),
        ([1, 2], {"minimum": [[1]]}, r"minimum has shape \(1, 1\)"),
    ],
)
def test_bad_totals_are_refused(values, options, message):
    with pytest.raises(ValueError, match=message):
        ClusterTotals(values, **options)


def test_booleans_count_rows():
    rule = ClusterTotals([True, False, True], minimum=1)
    assert rule == ClusterTotals([1, 0, 1], minimum=1)
    assert rule.violations([0, 1, 0], 2).where.tolist() == [1]
    with pytest.raises(ValueError, match="maximum must be numbers, but their type is bool"):
        ClusterTotals([1, 2], maximum=True)


def test_totals_must_fit_the_data():
    rule = ClusterTotals([1, 2, 3], maximum=[1, 2])
    rule.check(3, 2)
    with pytest.raises(ValueError, match="values has length 3, but X has 4 samples"):
        rule.check(4, 2)
    with pytest.raises(ValueError, match="maximum has length 2, but n_clusters is 3"):
        rule.check(3, 3)
    with pytest.raises(ValueError, match="labels has 2 entries, but the constraint is on 3"):
        rule.violations([0, 1])
    with pytest.raises(ValueError, match=r"labels must lie in \[0, 1\]"):
        rule.violations([0, 1, 2])


@pytest.mark.parametrize("empty", [ClusterTotals([], minimum=1), GroupShares([], minimum=0.5)])
def test_no_values_are_no_constraint(empty):
    empty.check(5, 2)
    assert empty.violations([0, 1, 1], 2).count == 0
    assert empty.expand(5, 2) == ()


def test_a_subset_keeps_values_and_bounds():
    rule = ClusterTotals([1, 2, 3], maximum=2)
    assert rule.subset([2, 0]) == ClusterTotals([3, 1], maximum=2)
    with pytest.raises(ValueError, match="rows holds 3, but values has 3 entries"):
        rule.subset([3])
    with pytest.raises(ValueError, match="mask of 2 entries, but values has 3"):
        rule.subset(np.array([True, False]))


def test_words():
    assert ClusterTotals([1], minimum=1, maximum=[2]).phrase() == (
        "cluster totals of at least 1 and at most [2]"
    )
    assert repr(ClusterTotals([1, 2], maximum=3)) == "ClusterTotals(2 values, at most 3)"
    assert repr(ClusterTotals([1], maximum=3)) == "ClusterTotals(1 value, at most 3)"


@pytest.mark.parametrize(
    "rule",
    [
        ClusterTotals([3, 4, 5], minimum=1, maximum=8, name="demand"),
        ClusterTotals(pd.Series([3, 4, 5], name="demand"), minimum=1, maximum=8),
    ],
)
def test_values_have_a_name_wherever_the_rule_goes(rule):
    """In parts, on other rows, in JSON and in the sentence of a contradiction."""
    copies = [rule, rule.take([1]), rule.subset([0, 2]), Constraint.from_dict(rule.to_dict())]
    assert all("cluster totals of 'demand', at " in copy.phrase() for copy in copies)
    assert repr(rule) == "ClusterTotals('demand', 3 values, at least 1 and at most 8)"
    with pytest.raises(
        InfeasibleConstraintsError, match=r"\(cluster totals of 'demand', at most 5"
    ):
        presolve(ClusterTotals(rule.values, maximum=5, name=rule.name), 3, 2)


def test_a_name_is_text():
    with pytest.raises(ValueError, match="name is 3; it must be text or None"):
        ClusterTotals([1], maximum=1, name=3)


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_those_of_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    groups, labels = rng.choice(["a", "b", "c"], 40), rng.integers(0, 5, 40)
    rule = GroupShares(groups, minimum={"a": 0.3, "c": 0.2}, maximum=0.4)
    rules = [("a", 0.3, 1), ("c", 0.2, 1), ("a", 0.4, -1), ("b", 0.4, -1), ("c", 0.4, -1)]
    where = []
    for r, (group, share, sign) in enumerate(rules):
        for j in range(5):
            inside = groups[labels == j]
            # counts against shares in tenths: exact
            if sign * (10 * (inside == group).sum() - round(10 * share) * len(inside)) < 0:
                where.append(r * 5 + j)
    assert rule.violations(labels, 5).where.tolist() == where
    totals = [t.violations(labels, 5).where + 5 * r for r, t in enumerate(rule.expand(40, 5))]
    assert np.concatenate(totals).tolist() == where


def test_an_empty_cluster_obeys_all_shares():
    rule = GroupShares(["a", "b"], minimum=0.5, maximum=0.5)
    assert rule.violations([0, 0], 3).count == 0


@pytest.mark.parametrize("share", [1 / 3, 0.1, 0.7])
def test_shares_that_are_met_exactly_hold_in_spite_of_rounding(share):
    groups = np.repeat([0, 1], [round(share * 30), 30 - round(share * 30)])
    rule = GroupShares(groups, minimum={0: share}, maximum={0: share})
    assert rule.violations(np.zeros(30, int)).count == 0


@pytest.mark.parametrize("make", [lambda rule: rule, copy.deepcopy, lambda rule: rule.subset([1])])
def test_bounds_on_shares_cannot_be_changed(make):
    wanted = {"a": 0.5}
    rule = make(GroupShares(["a", "b"], minimum=wanted))
    wanted["a"] = 0.1
    assert rule.minimum == {"a": 0.5}
    with pytest.raises(TypeError):
        rule.minimum["a"] = 0.1
    with pytest.raises(TypeError):
        rule.maximum["a"] = 0.1


def test_groups_of_several_types():
    assert GroupShares(np.array(["x", "y"], object), minimum=0.1).groups.dtype.kind == "U"
    assert GroupShares([True, False], minimum={True: 0.1}).minimum == {True: 0.1}
    assert GroupShares([3, 5], minimum={5: 0.1}).violations([0, 1]).messages() == [
        "cluster 0 has a share 0 of 5, but should have at least 0.1"
    ]


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        (["a", None], {}, r"groups\[1\] is None"),
        ([1.0, math.nan], {}, "type float64; they must be strings"),
        ([["a"]], {}, r"groups has shape \(1, 1\)"),
        (["a", "b"], {"minimum": {"z": 0.1}}, "group 'z'; the groups are 'a', 'b'"),
        (["men", "women"], {"maximum": {"wmen": 1}}, r"'wmen' \(did you mean 'women'\?\); the g"),
        (["a", "b"], {"minimum": 1.2}, r"1.2; a share must lie in \[0, 1\]"),
        (["a", "b"], {"maximum": {"a": -0.1}}, "maximum of group 'a' is -0.1"),
        (["a", "b"], {"maximum": math.nan}, "maximum share is NaN"),
        (["a", "b"], {"minimum": 0.5, "maximum": {"b": 0.4}}, "minimum of group 'b' is 0.5, above"),
    ],
)
def test_bad_shares_are_refused(groups, options, message):
    with pytest.raises(ValueError, match=message):
        GroupShares(groups, **options)


def test_shares_must_fit_the_data():
    with pytest.raises(ValueError, match="groups has length 2, but X has 3 samples"):
        GroupShares(["a", "b"], minimum=0.1).check(3, 2)


def test_a_subset_keeps_the_bound_of_a_group_that_is_gone():
    rule = GroupShares(["a", "b", "b"], minimum={"a": 0.5})
    rest = rule.subset([1, 2])
    assert rest.groups.tolist() == ["b", "b"]
    assert rest.violations([0, 1]).count == 2
    assert rule.subset([0, 1]).violations([0, 0]).count == 0
    assert rule.phrase() == "shares of at least 0.5 of 'a'"
    assert repr(rule) == "GroupShares(3 rows, 1 bound)"
