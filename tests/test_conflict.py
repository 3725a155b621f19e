"""Conflicts are infeasible and irreducible, and are given as the user's rules."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

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
from corral.deadline import Deadline, OutOfTime
from corral.infeasible.conflict import explain


def possible(n: int, k: int, rules) -> bool:
    """Whether any of all labelings breaks nothing, by the constraints' own count."""
    rules = ConstraintSet(rules)
    ways = map(np.array, itertools.product(range(k), repeat=n))
    return any(all(v.count == 0 for v in rules.violations(labels, k)) for labels in ways)


def without_one(rules: ConstraintSet):
    """The rules with one pair, pin, row, share or side left out, in every way."""
    for place, item in enumerate(rules):
        others = [*rules[:place], *rules[place + 1 :]]
        for smaller in smaller_by_one(item):
            yield [*others, smaller]


def smaller_by_one(item: Constraint):
    if isinstance(item, (MustLink, CannotLink, Pin)):
        size = len(item.rows if isinstance(item, Pin) else item.pairs)
        return [item.take(np.delete(np.arange(size), i)) for i in range(size)]
    if isinstance(item, LinearConstraint) and item.A.shape[0] > 1:
        rows = [np.delete(np.arange(item.A.shape[0]), i) for i in range(item.A.shape[0])]
        return [LinearConstraint(item.A[r], item.lower[r], item.upper[r]) for r in rows]
    if isinstance(item, ClusterTotals) and item.minimum is not None and item.maximum is not None:
        sides = ("minimum", "maximum")
        return [ClusterTotals(item.values, **{side: getattr(item, side)}) for side in sides]
    return [None]


def random_rules(seed: int):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 7)), int(rng.integers(2, 4))
    pairs = np.array(list(itertools.combinations(range(n), 2)))

    def some(p):
        return rng.permutation(pairs)[: rng.integers(0, p)]

    rules: list[Constraint] = [CannotLink(some(2 * n)), MustLink(some(4))]
    if rng.random() < 0.5:
        rules.append(ClusterSizes(np.bincount(rng.integers(0, k, n), minlength=k)))
    if rng.random() < 0.3:
        rules.append(ClusterSizes(minimum=1, maximum=n - k))
    if rng.random() < 0.4:
        rows = rng.permutation(n)[: rng.integers(0, 4)]
        rules.append(Pin(np.column_stack([rows, rng.integers(0, k, len(rows))])))
    if rng.random() < 0.4:
        values = rng.integers(1, 6, n)
        limit = values.sum() / k + rng.integers(-1, 3)
        rules.append(ClusterTotals(values, minimum=1, maximum=max(limit, 1)))
    if rng.random() < 0.3:
        rules.append(GroupShares(rng.integers(0, 2, n), minimum=0.3))
    if rng.random() < 0.3:
        rules.append(LinearConstraint(rng.integers(-1, 2, (2, n * k)), upper=[0, 1]))
    return n, k, ConstraintSet(rules)


@pytest.mark.parametrize("block", range(6))
def test_contradictory_and_irreducible(block):
    for seed in range(20 * block, 20 * block + 20):
        n, k, rules = random_rules(seed)
        error = explain(n, k, rules)
        assert (error is None) == possible(n, k, rules), seed
        if error is not None:
            assert not possible(n, k, error.conflict), seed
            for fewer in without_one(error.conflict):
                assert possible(n, k, fewer), (seed, error.conflict)


def test_an_odd_cycle_in_the_users_names():
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (4, 5), (5, 6)]
    error = explain(7, 2, ConstraintSet(CannotLink(pairs)), names=list("abcdefg"))
    expected = (
        "No assignment to 2 clusters obeys these together: cannot-links a-b, b-c, c-d, d-e, e-a."
    )
    assert str(error) == expected
    assert pickle.loads(pickle.dumps(error)).conflict == error.conflict


def test_must_link_groups_that_do_not_fit_the_sizes():
    triples = [(3 * i + j, 3 * i + j + 1) for i in range(4) for j in range(2)]
    rules = ConstraintSet([MustLink(triples), ClusterSizes([4, 4, 4]), CannotLink([(0, 5)])])
    error = explain(12, 3, rules)
    assert {type(item) for item in error.conflict} == {MustLink, ClusterSizes}


def test_shares_are_reported_as_the_user_gave_them():
    shares = GroupShares([0, 0, 1, 1, 1, 1], minimum={0: 0.3, 1: 0.2}, maximum={1: 0.7})
    rules = ConstraintSet([shares, ClusterSizes([1, 5]), MustLink([(2, 3)])])
    error = explain(6, 2, rules)
    (kept,) = error.conflict.of_kind(GroupShares)
    assert len(kept.minimum) + len(kept.maximum) == 1
    assert not error.conflict.of_kind(MustLink)


def test_quotas_against_capacities():
    groups, weight = [0] * 3 + [1] * 9, [5.0] * 3 + [1.0] * 9
    rules = ConstraintSet(
        [
            GroupShares(groups, maximum={1: 0.8}),
            ClusterTotals(weight, minimum=0.5, maximum=9.0),
            CannotLink([(0, 1)]),
        ]
    )
    error = explain(12, 2, rules)
    assert not possible(12, 2, error.conflict)
    (capacity,) = error.conflict.of_kind(ClusterTotals)
    assert capacity.minimum is None


def test_soft_pairs_have_no_part_in_it():
    rules = ConstraintSet([CannotLink([(0, 1), (1, 2), (0, 2)], [np.inf, np.inf, 3.0])])
    assert explain(3, 2, rules) is None


def test_a_past_deadline_is_no_proof():
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
    with pytest.raises(OutOfTime):
        explain(5, 2, ConstraintSet(CannotLink(pairs)), deadline=Deadline.after(-1.0))
