"""Prices by soft loads: loads keep their bounds, on data whose regions no row lies between too."""

from __future__ import annotations

import numpy as np
import pytest
from local_shards import cut

from corral.rows import ShardRows
from corral.search.balance import GOOD, Balance, Bounds, Mixed

N, D, K = 6_000, 8, 24
RNG = np.random.default_rng(0)
POPULATION = 1.0 / np.arange(1, K + 1)
CLUMPS = 4.0 * RNG.normal(size=(K, D))[RNG.choice(K, N, p=POPULATION / POPULATION.sum())]
DATA = {
    "normal": RNG.normal(size=(N, D)),
    "heavy tails": RNG.standard_t(2, size=(N, D)),
    "clumps of Zipf populations": CLUMPS + RNG.normal(size=(N, D)),
}
VALUES = RNG.lognormal(0.0, 0.7, N)
INDICATOR = (RNG.random(N) < 0.4) - 0.35


def bounds_of(values, lower, upper):
    total = np.abs(values).sum(axis=1, keepdims=True)
    return Bounds(lower, upper, total / N, total, (values < 0).any(axis=1))


def every(*numbers):
    return np.repeat(np.array(numbers, float)[:, None], K, axis=1)


RULES = {
    "equal sizes": (np.ones((1, N)), every(N / K), every(N / K)),
    "maximum": (np.ones((1, N)), every(0.0), every(1.1 * N / K)),
    "band": (VALUES[None], every(0.95 * VALUES.sum() / K), every(1.05 * VALUES.sum() / K)),
    "sizes and shares": (
        np.stack([np.ones(N), INDICATOR]),
        every(0.8 * N / K, 0.0),
        every(1.2 * N / K, np.inf),
    ),
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("rule", RULES)
def test_loads_keep_their_bounds(data, rule):
    points, (values, lower, upper) = DATA[data], RULES[rule]
    rows = ShardRows(cut(points, 2), np.ones(N)).with_amounts(values)
    at = rows.at(points[:K] - rows.middle)
    bounds = bounds_of(values, lower, upper)
    balance = Balance(bounds, rows.spread / N)
    none = np.zeros(lower.shape)
    balance.seen(at.place(none).middle_margin())
    prices = balance.found(at, none)
    load, _ = at.soft_loads(prices, balance.temperature)
    assert bounds.missed(load) <= 2 * GOOD
    # A price is paid at a bound only, and of the right sign.
    assert np.all(load[(prices > 0) & (lower < upper)] > np.mean([lower, upper], axis=0).min())
    assert bounds.missed(at.place(prices).sums) < 0.05


def test_mixed_steps_solve_what_single_ones_take_long_for():
    """A chain of masses, whose ends are held: diagonal steps go one mass at a time."""
    n = 30
    matrix = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    wanted = np.linspace(1.0, 2.0, n)

    def step(x):
        return x + (matrix @ wanted - matrix @ x) / 3.0

    alone, mixed, mixing = np.zeros(n), np.zeros(n), Mixed()
    for _ in range(60):
        alone, mixed = step(alone), mixing.next(mixed, step(mixed))
    assert np.abs(mixed - wanted).max() < 0.2 * np.abs(alone - wanted).max()
