"""Prices of bounded sums: soft loads, the bound that they give, and sizes that they balance."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from sklearn.datasets import make_blobs

from corral import numbers as at
from corral.deadline import NEVER
from corral.numbers import DECIDED
from corral.search.prices import (
    DenseCosts,
    Found,
    Sums,
    _add_curvature,
    _look,
    find_prices,
    place,
    scale_of,
)

M, K, Q = 7, 3, 2


def problem(seed, m=M, k=K, q=Q):
    """Costs, and amounts with bounds that some labels keep."""
    rng = np.random.default_rng(seed)
    cost, amount = rng.random((m, k)), rng.uniform(-0.3, 1.0, (m, q))
    loads = np.array([amount[np.arange(m) % k == j].sum(axis=0) for j in range(k)])
    return rng, cost, Sums(amount, loads - 0.1, loads + 0.2)


def soft(cost, sums, prices, eps):
    """Shares and the soft dual by their definitions, over the clusters that have a share."""
    priced = cost + sums.amount @ prices.T
    priced[priced > priced.min(axis=1, keepdims=True) + at.NO_SHARE * eps] = np.inf
    held = np.where(prices > 0, prices * sums.upper, prices * sums.lower)
    value = float((-eps * logsumexp(-priced / eps, axis=1)).sum() - held.sum())
    return softmax(-priced / eps, axis=1), value


@pytest.mark.parametrize("eps", [0.05, 0.3, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_soft_loads_are_those_of_the_dense_softmax(seed, eps):
    rng, cost, sums = problem(seed, 40, 5)
    prices = rng.normal(size=(5, Q))
    share, value = soft(cost, sums, prices, eps)
    look = _look(DenseCosts(cost), sums, prices, eps, NEVER)
    np.testing.assert_allclose(look.load, share.T @ sums.amount, rtol=1e-9, atol=1e-9)
    assert look.value == pytest.approx(value)
    others = 1.0 / share.max(axis=1) - 1.0
    assert look.undecided == np.count_nonzero(others > DECIDED)


@pytest.mark.parametrize("seed", range(3))
def test_loads_and_curvature_are_the_derivatives_of_the_dual(seed):
    rng, cost, sums = problem(seed, 12)
    prices, eps, step = rng.uniform(0.2, 1.0, (K, Q)), 0.4, 1e-5
    look = _look(DenseCosts(cost), sums, prices, eps, NEVER)
    for e in range(K * Q):
        ahead, back = (prices.ravel().copy() for _ in range(2))
        ahead[e] += step
        back[e] -= step
        pair = [_look(DenseCosts(cost), sums, p.reshape(K, Q), eps, NEVER) for p in (ahead, back)]
        slope = (pair[0].value - pair[1].value) / (2 * step)
        assert slope == pytest.approx((look.load - sums.upper).ravel()[e], abs=1e-6)
        bend = (pair[0].load - pair[1].load).ravel() / (2 * step)
        np.testing.assert_allclose(-eps * bend, look.curvature[e], atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_curvature_in_factors_is_that_of_the_large_shares(seed, monkeypatch):
    m, k = 200, 12
    rng, cost, sums = problem(seed, m, k)
    prices, eps = rng.uniform(-0.2, 0.2, (k, Q)), 0.05
    share, _ = soft(cost, sums, prices, eps)
    large = np.where(share > DECIDED**2 * share.max(axis=1, keepdims=True), share, 0.0)
    large /= large.sum(axis=1, keepdims=True)
    wanted = np.zeros((k * Q, k * Q))
    _add_curvature(wanted, large, sums.amount, 1.0)
    monkeypatch.setattr(at, "CURVED", 1)
    monkeypatch.setattr(at, "BENT", 1 << 20)
    found = _look(DenseCosts(cost), sums, prices, eps, NEVER).curvature
    dense = np.array([found @ one for one in np.eye(k * Q)])
    np.testing.assert_allclose(dense, wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.diagonal(), np.diag(wanted), atol=1e-9)
    both = found + found
    np.testing.assert_allclose([both @ one for one in np.eye(k * Q)], 2.0 * wanted, atol=1e-9)


def test_prices_keep_sizes_with_the_curvature_in_factors(monkeypatch):
    monkeypatch.setattr(at, "CURVED", 1)
    points = np.random.default_rng(0).standard_t(3, size=(4_000, 3))
    costs = DenseCosts(((points[:, None] - points[:100]) ** 2).sum(axis=2))
    sums = Sums(np.ones((4_000, 1)), np.full((100, 1), 40.0), np.full((100, 1), 40.0))
    found = find_prices(costs, sums, scale_of(costs))
    load = _look(costs, sums, found.prices, found.eps, NEVER).load
    assert sums.size(sums.miss(load, found.prices)) <= at.PRICE_ACCURACY


@pytest.mark.parametrize("seed", range(10))
def test_the_soft_dual_is_below_the_least_cost(seed):
    rng, cost, sums = problem(seed)
    least = np.inf
    for labels in product(range(K), repeat=M):
        chosen = np.eye(K)[list(labels)]
        if sums.size(sums.miss(chosen.T @ sums.amount)) == 0.0:
            least = min(least, float((chosen * cost).sum()))
    assert np.isfinite(least)
    found = find_prices(DenseCosts(cost), sums, scale_of(DenseCosts(cost)))
    for prices in (found.prices, np.zeros((K, Q)), rng.normal(size=(K, Q))):
        for eps in (1e-3, 0.1, 1.0):
            look = _look(DenseCosts(cost), sums, prices, eps, NEVER)
            # Soft least costs are below the least ones.
            assert look.value <= least + 1e-9


@pytest.mark.parametrize("unequal", [False, True])
def test_prices_balance_equal_sizes_of_separated_blobs(unequal):
    """Also where blobs have too many rows: their surplus goes over to others."""
    sizes = [20, 60, 100, 20] if unequal else [50] * 4
    X, _ = make_blobs(sizes, 3, centers=12.0 * np.eye(4, 3), random_state=0)
    centers = 12.0 * np.eye(4, 3)
    costs = DenseCosts(((X[:, None] - centers) ** 2).sum(axis=2))
    sums = Sums(np.ones((200, 1)), np.full((4, 1), 50.0), np.full((4, 1), 50.0))
    found = find_prices(costs, sums, scale_of(costs))
    labels = place(costs, sums.amount, found)
    np.testing.assert_allclose(np.bincount(labels, minlength=4), 50, atol=3)
    if not unequal:
        np.testing.assert_array_equal(labels, costs.cost.argmin(axis=1))
    again = find_prices(costs, sums, scale_of(costs), found)
    assert again.work <= found.work


def test_rows_that_are_alike_are_spread_as_the_prices_want():
    costs = DenseCosts(np.zeros((100, 4)))
    sums = Sums(np.ones((100, 1)), np.array([[10.0], [20], [30], [40]]), np.full((4, 1), 100.0))
    found = find_prices(costs, sums, scale_of(costs))
    labels = place(costs, sums.amount, found)
    np.testing.assert_allclose(np.bincount(labels, minlength=4), [10, 20, 30, 40], atol=2)


def test_without_sums_there_are_no_prices():
    costs = DenseCosts(np.random.default_rng(0).random((5, 3)))
    sums = Sums(np.zeros((5, 0)), np.zeros((3, 0)), np.zeros((3, 0)))
    found = find_prices(costs, sums, 1.0)
    assert isinstance(found, Found)
    assert found.prices.shape == (3, 0)
    assert found.work == 0.0
