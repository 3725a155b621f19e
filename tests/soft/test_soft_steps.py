"""The steps behind soft rules: each compared with a literal computation of its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint as Rows
from scipy.optimize import linprog, milp

from corral import ClusterTotals, ConstrainedKMeans, MustLink, Pin
from corral.exact import assign, sizes
from corral.exact.sizes import Room, solve_units
from corral.rules import SoftSizes, presolve

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
    for sampled in (1_000, 4):  # at prices of 0, and at those of a sample
        monkeypatch.setattr(sizes, "SAMPLED", sampled)
        labels, prices = solve_units(cost, Room.of(lower, upper, soft))
        size = np.bincount(labels, minlength=K)
        total = cost[np.arange(M), labels].sum() + np.trace(soft.cost(size))
        np.testing.assert_allclose(total, least, rtol=1e-9)
        paid = cost + prices
        assert (paid[np.arange(M), labels] - paid.min(axis=1)).max() <= 1e-9


@pytest.mark.parametrize("opened", [1, 10_000])
def test_soft_totals_cost_as_little_as_in_an_integer_program(opened, monkeypatch):
    monkeypatch.setattr("corral.exact.sums.FEW_GROUPS", opened)
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


def test_labels_of_joined_rows_pay_for_every_pin():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    rules = [MustLink([(0, 1)]), Pin({0: 1, 1: 1, 2: 1}, weight=1.0)]
    report = ConstrainedKMeans(2, random_state=0).fit(X, constraints=rules).report_
    assert report.soft_cost == pytest.approx(1.0)
