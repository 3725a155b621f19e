"""The steps behind soft rules: each compared with a literal computation of its own."""

from __future__ import annotations

import numpy as np
import pytest
from problems import plan_of, problem_of
from scipy.optimize import LinearConstraint as Rows
from scipy.optimize import linprog, milp

from corral import ClusterSizes, ClusterTotals, ConstrainedKMeans, MustLink, Pin
from corral.assign import assign, sizes
from corral.assign.sizes import preferences
from corral.assign.sizes.flow import transport
from corral.polish.chains import chains, shifts
from corral.polish.partition import MeansPartition
from corral.polish.tolls import Tolls
from corral.presolve import SoftSizes, presolve
from corral.search.far import why_home

M, K = 60, 4


def some_sizes(rng, n_rules=2):
    lower = rng.integers(0, 2 * M // K, (n_rules, K))
    upper = lower + rng.integers(0, M // K, (n_rules, K)) * rng.integers(0, 2)
    return SoftSizes(lower, upper, 10.0 ** rng.uniform(-2, 1, n_rules))


def least_by_linear_program(cost, lower, upper, soft):
    """Shares x of rows in clusters, and what sizes miss of each soft bound: all of it linear."""
    m, k = cost.shape
    s = len(soft.price)
    n_miss = s * k
    c = np.concatenate([cost.ravel(), np.repeat(soft.price, k)])
    size = np.kron(np.ones(m), np.eye(k))
    rows, bounds = [], []
    for sign, side in ((1.0, soft.upper), (-1.0, -soft.lower)):
        for r in range(s):
            miss = np.zeros((k, n_miss))
            miss[:, r * k : (r + 1) * k] = -np.eye(k)
            rows.append(np.hstack([sign * size, miss]))
            bounds.append(side[r])
    for sign, side in ((1.0, upper), (-1.0, -lower)):
        rows.append(np.hstack([sign * size, np.zeros((k, n_miss))]))
        bounds.append(side)
    one = np.hstack([np.kron(np.eye(m), np.ones(k)), np.zeros((m, n_miss))])
    found = linprog(c, np.vstack(rows), np.concatenate(bounds), one, np.ones(m))
    return found.fun


@pytest.mark.parametrize("seed", range(4))
def test_sizes_cost_as_little_as_in_a_linear_program(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    cost, soft = rng.random((M, K)) + rng.random(K), some_sizes(rng)
    lower, upper = np.zeros(K, int), np.full(K, M if seed % 2 else M // 2)
    least = least_by_linear_program(cost, lower, upper, soft)
    labels = transport(cost, np.ones(M, int), lower, upper, soft).argmax(axis=1)
    # Everything that is meant for many rows happens with few.
    for name, value in {"FLOW_COLD": 0, "FLOW_ROWS_EACH": 0, "LEAST_ROWS": 9}.items():
        monkeypatch.setattr(sizes, name, value)
    monkeypatch.setattr(sizes, "FEW_MISPLACED", 2)
    monkeypatch.setattr(preferences, "MANY_TIES", 4)
    others, prices = sizes.ship_units(cost, lower, upper, None, soft=soft)
    for found in (labels, others):
        size = np.bincount(found, minlength=K)
        total = cost[np.arange(M), found].sum() + np.trace(soft.cost(size))
        np.testing.assert_allclose(total, least, rtol=1e-9)
    paid = cost + prices
    assert (paid[np.arange(M), others] - paid.min(axis=1)).max() <= 1e-9


@pytest.mark.parametrize("contested", [0, 10_000])
def test_soft_totals_cost_as_little_as_in_an_integer_program(contested, monkeypatch):
    monkeypatch.setattr("corral.plan.facts.at.CONTESTED_ENTRIES", contested)
    rng = np.random.default_rng(1)
    m, k, price = 24, 3, 0.02
    cost, values = rng.random((m, k)), rng.integers(1, 9, m).astype(float)
    rules = presolve([ClusterTotals(values, maximum=30, weight=price)], m, k)
    size = np.kron(values, np.eye(k))
    one = np.hstack([np.kron(np.eye(m), np.ones(k)), np.zeros((m, k))])
    capacity = np.hstack([size, -np.eye(k)])
    whole = np.concatenate([np.ones(m * k), np.zeros(k)])
    c = np.concatenate([cost.ravel(), np.full(k, price)])
    system = [Rows(one, 1, 1), Rows(capacity, -np.inf, 30)]
    least = milp(c, integrality=whole, bounds=(0, np.inf), constraints=system).fun
    found = assign(rules, cost)
    assert found.optimal
    np.testing.assert_allclose(found.cost, least, rtol=1e-6)


RULES = [
    ClusterSizes([20, 10, 5, 5], weight=0.3, ordered=True),
    ClusterTotals(np.arange(40) % 5, maximum=15, weight=0.2),
    Pin({0: 1, 5: 2, 9: 0}, weight=[0.1, 0.4, 2.0]),
]


def a_problem():
    return problem_of(np.random.default_rng(0).normal(size=(40, 2)), RULES, K)


def test_tolls_are_differences_of_prices():
    problem, rng = a_problem(), np.random.default_rng(1)
    rules, labels = problem.rules, rng.integers(K, size=40)
    tolls = Tolls.of(rules)
    now, moves = rules.soft_cost(labels), tolls.moves(labels)
    for g, j in rng.integers([40, K], size=(30, 2)):
        after = labels.copy()
        after[g] = j
        expected = 0.0 if j == labels[g] else rules.soft_cost(after) - now
        if j != labels[g]:
            np.testing.assert_allclose(moves[g, j], expected, atol=1e-12)
    from_a, from_b = np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)
    swaps = tolls.swaps(tolls.sums.reached(labels), (0, 1), from_a, from_b)
    for p, q in rng.integers([len(from_a), len(from_b)], size=(20, 2)):
        after = labels.copy()
        after[from_a[p]], after[from_b[q]] = 1, 0
        np.testing.assert_allclose(swaps[p, q], rules.soft_cost(after) - now, atol=1e-12)


@pytest.mark.parametrize("kind", [shifts, chains])
def test_rises_of_shifts_and_chains_are_differences_of_the_objective(kind):
    problem = a_problem()
    part = MeansPartition(problem, np.random.default_rng(2).integers(K, size=40), np.zeros((K, 2)))
    steps, rise = kind(part, np.ones(K, bool), 1.0, 0.0)
    assert len(steps) > 5
    before, labels = part.valued(1.0), part.labels.copy()
    for i in range(0, len(steps), max(len(steps) // 10, 1)):
        part.put(*steps.take(np.array([i])).moved())
        np.testing.assert_allclose(part.valued(1.0) - before, rise[i], atol=1e-9)
        part.restore(labels)


def test_rows_come_home_and_have_no_candidates():
    soft = ClusterSizes(np.full(300, 100), weight=1.0)
    rules = presolve([soft], 30_000, 300)
    assert why_home(rules) == "soft pins, sizes, totals and shares are solved in memory"
    assert plan_of([soft], 30_000, 300).candidates == 0
    assert plan_of([ClusterSizes(np.full(300, 100))], 30_000, 300).candidates > 0


def test_labels_of_joined_rows_pay_for_every_pin():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    rules = [MustLink([(0, 1)]), Pin({0: 1, 1: 1, 2: 1}, weight=1.0)]
    report = ConstrainedKMeans(2, random_state=0).fit(X, constraints=rules).report_
    assert report.soft_cost == pytest.approx(1.0)
