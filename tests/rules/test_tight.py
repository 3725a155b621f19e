"""Rules that are exactly tight: one allowance for rounding in presolve, solvers and audit.

Tiny problems with decimal numbers, must-links and bounds that some labels reach exactly are solved
and compared with all labels, the audit being the judge of these.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from corral import (
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    ConstraintSet,
    GroupShares,
    InfeasibleConstraintsError,
    LinearConstraint,
    MustLink,
    audit,
)
from corral.exact import NoAssignment, assign, broken, feasible
from corral.rules import presolve


def tight_total(rng, labels, k):
    """Decimal values whose sums some labels reach to the last digit, on either side."""
    values = rng.choice([0.1, 0.2, -0.3, 0.7, 1.1, 1 / 3, 2 / 3], len(labels))
    reached = np.array([sum(values[labels == j]) for j in range(k)])
    sides = rng.choice(["minimum", "maximum"], rng.integers(1, 3), replace=False)
    return ClusterTotals(values, **dict.fromkeys(sides, reached))


def tight_shares(rng, labels, k):
    """Shares that are the least, or the largest, of all clusters."""
    groups = rng.choice(["a", "b", "c"], len(labels))
    has = [np.mean(groups[labels == j] == "a") for j in range(k) if np.any(labels == j)]
    sides = {"minimum": min(has), "maximum": max(has)}
    side = str(rng.choice(list(sides)))
    return GroupShares(groups, **{side: {"a": sides[side]} if "a" in groups else {}})


def tight_rows(rng, labels, k):
    """Linear rows of decimals in any unit that the labels fulfil with equality."""
    unit = 10.0 ** rng.choice([0, -9, 15, 60])
    A = rng.choice([0.0, 0.1, 0.2, -0.3, 0.7], (2, len(labels) * k)) * unit
    reached = A @ np.eye(k)[labels].ravel()
    lower = reached if rng.random() < 0.5 else -np.inf
    return LinearConstraint(A, lower, reached, n_clusters=k)


def tight_problem(seed):
    """Rules that some labels obey exactly, and sometimes a must-link that contradicts them."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    n = min(n, 12 // k)
    labels = rng.integers(0, k, n)
    makers = (tight_total, tight_shares, tight_rows)
    rules = [make(rng, labels, k) for make in makers if rng.random() < 0.5]
    same = [(a, b) for a, b in itertools.combinations(range(n), 2) if labels[a] == labels[b]]
    if same:
        rules.append(MustLink(rng.permutation(same)[: rng.integers(1, 4)]))
    if rng.random() < 0.5:
        rules.append(ClusterSizes(np.bincount(labels, minlength=k), ordered=True))
    if rng.random() < 0.3:
        rules.append(MustLink(rng.choice(n, (1, 2), replace=False)))
    return np.round(10 * rng.normal(size=(n, 2)), 2), k, ConstraintSet(rules)


def obeying(rules, n, k):
    """All labels that the audit accepts."""
    every = map(np.array, itertools.product(range(k), repeat=n))
    return [each for each in every if not any(rule.violations(each, k).count for rule in rules)]


@pytest.mark.parametrize("block", range(4))
def test_assignment_is_the_cheapest_of_all_labels_that_the_audit_accepts(block):
    for seed in range(20 * block, 20 * block + 20):
        X, k, rules = tight_problem(seed)
        n = len(X)
        cost = np.random.default_rng(seed).random((n, k))
        allowed = obeying(rules, n, k)
        try:
            groups = presolve(rules, n, k)
            total = np.zeros((groups.n_groups, k))
            np.add.at(total, groups.row_groups, cost)
            known = feasible(groups)
            found = assign(groups, total)
        except (NoAssignment, InfeasibleConstraintsError):
            assert not allowed, seed
            continue
        assert known is not None, seed
        best = min(cost[np.arange(n), each].sum() for each in allowed)
        assert found.cost == pytest.approx(best), seed


@pytest.mark.parametrize("seed", [2, 8, 42])
def test_fit_finds_the_best_of_all_labels_that_the_audit_accepts(seed):
    X, k, rules = tight_problem(seed)
    allowed = obeying(rules, len(X), k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of empty clusters
        model = ConstrainedKMeans(k, n_init=5, random_state=0).fit(X, constraints=rules)
    best = min(audit(X, each, rules, k).inertia for each in allowed)
    assert model.inertia_ == pytest.approx(best)


ROWS = np.zeros((1, 12))
ROWS[0, ::2] = [0.1, 0.2, -0.3] * 2


@pytest.mark.parametrize(
    ("n", "rule"),
    [
        (10, GroupShares(["f", "f", "m", "m", "m"] * 2, minimum={"f": 0.4})),
        (10, GroupShares(["f", "f", "m", "m", "m"] * 2, maximum={"m": 0.6})),
        (6, GroupShares(["f", "m", "m"] * 2, minimum={"f": 1 / 3}, maximum={"m": 2 / 3})),
        (6, ClusterTotals([0.1, 0.2, -0.3] * 2, maximum=0)),
        (6, ClusterTotals([1 / 7, 2 / 7, -3 / 7] * 2, minimum=0)),
        (6, LinearConstraint(ROWS, 0, 0)),
        (6, LinearConstraint(1e-30 * ROWS, upper=0)),
    ],
)
def test_joined_rows_that_fill_a_bound_exactly_obey_it(n, rule):
    half = n // 2
    rules = [
        MustLink([(row, row + 1) for row in range(half - 1)]),
        ClusterSizes([half, half]),
        rule,
    ]
    model = ConstrainedKMeans(2, random_state=0).fit(np.arange(n)[:, None], constraints=rules)
    assert model.report_.feasible
    assert len(set(model.labels_[:half])) == len(set(model.labels_[half:])) == 1


# --- units ------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-300, 1e-9, 1e15, 1e200])
@pytest.mark.parametrize("whole", [True, False])
def test_the_unit_of_totals_and_linear_rows_does_not_matter(unit, whole):
    rng = np.random.default_rng(0)
    values = rng.integers(1, 9, 30).astype(float) if whole else rng.random(30)
    A = np.zeros((1, 90))
    A[0, ::3] = values
    cost, third = rng.random((30, 3)), values.sum() / 3

    def labels(unit):
        rules = [
            ClusterTotals(unit * values, minimum=unit * 0.9 * third, maximum=unit * 1.1 * third),
            LinearConstraint(unit * A, upper=unit * third),
        ]
        made = presolve(rules, 30, 3)
        found = assign(made, cost).labels
        assert not broken(made, found)
        assert not any(rule.violations(found, 3).count for rule in rules)
        return found

    np.testing.assert_array_equal(labels(unit), labels(1.0))


@pytest.mark.parametrize("seed", range(20))
def test_presolve_and_audit_judge_labels_alike(seed):
    rng = np.random.default_rng(seed)
    X, k, rules = tight_problem(seed)
    made = presolve(rules, len(X), k, contract=False)
    for _ in range(50):
        labels = rng.integers(0, k, len(X))
        obeyed = not any(rule.violations(labels, k).count for rule in rules)
        assert obeyed == (not broken(made, labels))


@pytest.mark.parametrize(
    ("values", "whole"),
    [
        ([0.1, 0.2, -0.3], [1, 2, -3]),
        ([12.5, 7.25, 0.0], [50, 29, 0]),
        ([3e15, 6e15, 9e15], [1, 2, 3]),
        ([1e-200, 3e-200, 2e-200], [1, 3, 2]),
    ],
)
def test_decimals_become_whole_numbers(values, whole):
    (total,) = presolve([ClusterTotals(values, maximum=sum(values))], 3, 2).totals
    np.testing.assert_array_equal(total.values, whole)
    np.testing.assert_array_equal(total.upper, [sum(whole)] * 2)
    assert total.give == 0


def test_a_whole_number_too_much_is_a_violation_however_large_the_sum():
    values = np.full(2_000, 1e6)
    values[0] += 1.0
    rule = ClusterTotals(values, maximum=1e9)
    labels = np.arange(2_000) % 2
    assert rule.violations(labels, 2).where.tolist() == [0]
    assert broken(presolve([rule], 2_000, 2), labels) == ("totals",)


@pytest.mark.parametrize("make", [ClusterTotals, LinearConstraint])
def test_numbers_whose_sum_no_float_can_hold_are_refused(make):
    with pytest.raises(ValueError, match="larger unit"):
        make([1e308, 1e308])


def test_numpy_integers_are_numbers_of_clusters():
    rule = LinearConstraint(np.ones((1, 300)), upper=200.0, n_clusters=np.uint8(3))
    assert rule.violations(np.zeros(100, int), np.uint8(3)).count == 0
    rule.check(100, np.uint8(3))
