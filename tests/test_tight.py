"""Rules that are exactly tight: one tolerance in presolve, every solver and the audit.

Tiny problems with decimal numbers, must-links and bounds that some labels reach exactly are solved
and compared with all labels, the audit being the judge of these.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

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
from corral.assign import NoAssignment, assign, feasible
from corral.presolve import presolve


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
    x = np.zeros((len(labels), k))
    x[np.arange(len(labels)), labels] = 1.0
    reached = A @ x.ravel()
    lower = reached if rng.random() < 0.5 else -np.inf
    return LinearConstraint(A, lower, reached, n_clusters=k)


def tight_problem(seed):
    """Rules made from labels, which are then sometimes contradicted by another rule."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    labels = rng.integers(0, k, n)
    rules = [
        make(rng, labels, k)
        for make in (tight_total, tight_shares, tight_rows)
        if rng.random() < 0.5
    ]
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


@pytest.mark.parametrize("block", range(6))
def test_assignment_is_the_cheapest_of_all_labels_that_the_audit_accepts(block):
    for seed in range(50 * block, 50 * block + 50):
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


@pytest.mark.parametrize("block", range(3))
def test_fit_finds_the_best_of_all_labels_that_the_audit_accepts(block):
    for seed in range(15 * block, 15 * block + 15):
        X, k, rules = tight_problem(seed)
        allowed = obeying(rules, len(X), k)
        model = ConstrainedKMeans(k, random_state=0, max_iter=100)
        if not allowed:
            with pytest.raises(InfeasibleConstraintsError):
                model.fit(X, constraints=rules)
            continue
        model.fit(X, constraints=rules)
        best = min(audit(X, each, rules, k).inertia for each in allowed)
        assert model.inertia_ == pytest.approx(best), seed
