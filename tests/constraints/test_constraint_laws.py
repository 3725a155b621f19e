"""Laws that every kind of constraint obeys."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from corral.constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Constraint,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)

KINDS = [MustLink, CannotLink, ClusterSizes, ClusterTotals, GroupShares, Pin, LinearConstraint]


def random_constraint(kind, n, k, rng):
    """Draw a constraint of a kind that fits n rows and k clusters."""
    if kind in (MustLink, CannotLink):
        pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(rng.integers(0, 8))])
        weight = np.where(rng.random(len(pairs)) < 0.5, math.inf, rng.uniform(0.1, 5, len(pairs)))
        return kind(pairs, weight, n_samples=rng.choice([None, n]))
    if kind is ClusterSizes:
        low = rng.integers(0, 4, k)
        options = {"minimum": low, "maximum": low + rng.integers(0, 4, k)}
        return ClusterSizes(**options, ordered=bool(rng.integers(2)))
    if kind is ClusterTotals:
        return ClusterTotals(rng.normal(size=n), minimum=rng.normal(-1, 1, k), maximum=math.inf)
    if kind is GroupShares:
        shares = {"a": 0.25, "b": 0.1}
        return GroupShares([*"ab", *rng.choice(["a", "b", "c"], n - 2)], minimum=shares)
    if kind is Pin:
        rows = rng.choice(n, rng.integers(0, n), replace=False)
        pins = np.column_stack([rows, rng.integers(0, k, len(rows))])
        return Pin(pins, n_samples=rng.choice([None, n]))
    A = sparse.random_array((5, n * k), density=0.2, rng=rng)
    return LinearConstraint(A, -math.inf, rng.uniform(-0.5, 2, 5), n_clusters=k)


@st.composite
def cases(draw, kinds=KINDS):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, k = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    rule = random_constraint(draw(st.sampled_from(kinds)), n, k, rng)
    return rule, n, k, rng


few = settings(max_examples=60, deadline=None)


def outcome(found):
    return found.count, pytest.approx(found.amount, abs=1e-9)


@few
@given(cases())
def test_copies_are_equal_and_read_only(case):
    rule, *_ = case
    for twin in (
        pickle.loads(pickle.dumps(rule)),
        copy.deepcopy(rule),
        Constraint.from_dict(json.loads(json.dumps(rule.to_dict(), allow_nan=False))),
    ):
        assert twin == rule
        assert hash(twin) == hash(rule)
        assert type(twin) is type(rule)
        for value in vars(twin).values():
            if isinstance(value, np.ndarray):
                assert not value.flags.writeable
            if sparse.issparse(value):
                assert not value.data.flags.writeable


@few
@given(cases())
def test_reports_pickle_and_have_a_line_for_every_rule(case):
    rule, n, k, rng = case
    rule.check(n, k)
    found = rule.violations(rng.integers(0, k, n), k)
    twin = pickle.loads(pickle.dumps(found))
    assert len(twin.messages(limit=1000)) == found.count == len(found.where)
    assert (found.amount > 0) == (found.count > 0)
    assert twin.messages(limit=1) == found.messages(limit=1)


@few
@given(cases())
def test_permuting_rows_permutes_the_rule(case):
    rule, n, k, rng = case
    labels, order = rng.integers(0, k, n), rng.permutation(n)
    moved = rule.subset(order)
    before = rule.violations(labels, k)
    if moved is None:
        assert before.count == 0
    else:
        after = moved.violations(labels[order], k)
        assert outcome(after) == (before.count, before.amount)


@few
@given(cases([MustLink, CannotLink, Pin]))
def test_a_subset_breaks_what_the_whole_breaks_inside(case):
    rule, n, k, rng = case
    labels = rng.integers(0, k, n)
    rows = rng.choice(n, rng.integers(1, n + 1), replace=False)
    ends = rule.rows[:, None] if isinstance(rule, Pin) else rule.pairs
    inside = np.isin(ends, rows).all(axis=1)
    broken = rule.violations(labels, k).where
    part = rule.subset(rows)
    if part is None:
        assert not inside.any()
        return
    assert part.violations(labels[rows], k).count == inside[broken].sum()
    # rule number p of the subset is the p-th rule that is inside
    assert np.flatnonzero(inside)[part.violations(labels[rows], k).where].tolist() == [
        rule_number for rule_number in broken if inside[rule_number]
    ]
    mask = np.zeros(n, bool)
    mask[rows] = True
    assert rule.subset(mask) == rule.subset(np.flatnonzero(mask))


@few
@given(cases([MustLink, CannotLink]))
def test_hard_and_soft_parts_add_up(case):
    rule, n, k, rng = case
    labels = rng.integers(0, k, n)
    rules = ConstraintSet(rule)
    parts = [*rules.hard.violations(labels), *rules.soft.violations(labels)]
    whole = rule.violations(labels)
    assert sum(part.count for part in parts) == whole.count
    assert sum(part.amount for part in parts) == pytest.approx(whole.amount)
    assert all(item.hard for item in rules.hard)
    assert not any(item.hard for item in rules.soft)


@few
@given(cases([MustLink, CannotLink, ClusterSizes, GroupShares]))
def test_relabelling_clusters_changes_nothing(case):
    rule, n, k, rng = case
    if isinstance(rule, ClusterSizes):
        rule = ClusterSizes(minimum=rule.minimum, maximum=rule.maximum)
    labels, order = rng.integers(0, k, n), rng.permutation(k)
    before, after = rule.violations(labels, k), rule.violations(order[labels], k)
    assert outcome(after) == (before.count, before.amount)


@few
@given(cases())
def test_expansion_says_the_same(case):
    rule, n, k, rng = case
    labels = rng.integers(0, k, n)
    parts = [part.violations(labels, k) for part in rule.expand(n, k)]
    whole = rule.violations(labels, k)
    assert sum(part.count for part in parts) == whole.count
    if isinstance(rule, GroupShares):
        assert whole.amount == pytest.approx(rows_missing(rule, labels, k))
    else:
        assert sum(part.amount for part in parts) == pytest.approx(whole.amount)


def rows_missing(rule, labels, k):
    """Rows of the groups by which the clusters miss their shares, by definition."""
    size = np.bincount(labels, minlength=k)
    missing = 0.0
    for sign, shares in ((1, rule.minimum), (-1, rule.maximum)):
        for group, share in shares.items():
            has = np.bincount(labels[rule.groups == group], minlength=k)
            missing += np.maximum(sign * (share * size - has), 0.0).sum()
    return missing


def nested(rule):
    """Whether sizes without order hold an interval inside another one.

    Their minimum and maximum say more together than each alone.
    """
    if not isinstance(rule, ClusterSizes) or rule.ordered:
        return False
    low, high = rule.minimum, rule.maximum
    return bool(((low[:, None] < low) & (high[:, None] > high)).any())


@few
@given(cases())
def test_labels_obey_a_constraint_if_and_only_if_they_obey_each_part(case):
    rule, n, k, rng = case
    labels = rng.integers(0, k, n)
    parts = [rule.take([number]) for number in range(rule.n_parts)]
    assert all(part.n_parts == 1 for part in parts)
    obeyed = [part.violations(labels, k).count == 0 for part in parts]
    whole = rule.violations(labels, k).count == 0
    assert whole == all(obeyed) or (nested(rule) and all(obeyed))
    some = np.flatnonzero(rng.random(rule.n_parts) < 0.5)
    if len(some):
        chosen = rule.take(some).violations(labels, k).count == 0
        each = all(obeyed[number] for number in some)
        assert chosen == each or (nested(rule) and each)


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        (
            ClusterSizes(minimum=1, maximum=3),
            [ClusterSizes(minimum=1), ClusterSizes(maximum=3)],
        ),
        (
            ClusterSizes(minimum=[1, 2], maximum=3, ordered=True),
            [ClusterSizes(minimum=[1, 2], ordered=True), ClusterSizes(maximum=3, ordered=True)],
        ),
        (
            ClusterSizes(minimum=[1, 2], maximum=[2, 3]),
            [ClusterSizes(minimum=[1, 2]), ClusterSizes(maximum=[2, 3])],
        ),
        (ClusterSizes([1, 2]), [ClusterSizes(minimum=[1, 2]), ClusterSizes(maximum=[1, 2])]),
        (ClusterSizes(), []),
        (
            ClusterTotals([1, 2], minimum=1, maximum=2),
            [ClusterTotals([1, 2], minimum=1), ClusterTotals([1, 2], maximum=2)],
        ),
        (
            GroupShares(["a", "b"], minimum={"a": 0.1, "b": 0.2}, maximum={"a": 0.5}),
            [
                GroupShares(["a", "b"], minimum={"a": 0.1}),
                GroupShares(["a", "b"], minimum={"b": 0.2}),
                GroupShares(["a", "b"], maximum={"a": 0.5}),
            ],
        ),
        (
            LinearConstraint([[1, 0], [0, 1]], [-np.inf, -1], [1, 0], n_clusters=2),
            [
                LinearConstraint([[1, 0]], upper=1, n_clusters=2),
                LinearConstraint([[0, 1]], lower=-1, n_clusters=2),
                LinearConstraint([[0, 1]], upper=0, n_clusters=2),
            ],
        ),
        (MustLink([(0, 1), (1, 2)], [1, 2]), [MustLink([(0, 1)], 1), MustLink([(1, 2)], 2)]),
        (Pin({0: 1, 1: 0}), [Pin({0: 1}), Pin({1: 0})]),
    ],
)
def test_the_parts_of_each_kind(rule, parts):
    assert [rule.take([number]) for number in range(rule.n_parts)] == parts
    if parts:
        assert rule.take(np.arange(rule.n_parts)) == rule


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 1, 0], "rows holds 0 more than once"),
        ([0, -1], r"rows\[1\] is -1; positions count from 0"),
        ([0.0, 1.0], "rows must be integers"),
        ([[0, 1]], "rows must be 1-D"),
    ],
)
def test_bad_rows_are_refused(kind, rows, message):
    rule = random_constraint(kind, 6, 2, np.random.default_rng(1))
    with pytest.raises(ValueError, match=message):
        rule.subset(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_frozen_and_differ(kind):
    rule = random_constraint(kind, 6, 2, np.random.default_rng(1))
    with pytest.raises(AttributeError):
        rule.anything = 1
    assert rule != "something else"
    for other in set(KINDS) - {kind}:
        assert rule != random_constraint(other, 6, 2, np.random.default_rng(1))
    assert len(repr(rule)) < 100
