"""Prices by soft loads: loads keep their bounds, on data whose regions no row lies between too."""

from __future__ import annotations

import numpy as np
import pytest
from local_shards import cut

from corral.deadline import NEVER
from corral.numbers import PRICE_ACCURACY
from corral.rows import ShardRows
from corral.search.far import _FarCosts
from corral.search.prices import Sums, find_prices

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
@pytest.mark.parametrize("few", [False, True])
def test_loads_keep_their_bounds(data, rule, few, monkeypatch):
    if few:  # shares over a few clusters of each row
        monkeypatch.setattr("corral.rows.shards.CURVED", 1)
        monkeypatch.setattr("corral.rows.passes.CHEAPEST", 12)
    points, (values, lower, upper) = DATA[data], RULES[rule]
    rows = ShardRows(cut(points, 2), np.ones(N)).with_amounts(values)
    at = rows.at(points[:K] - rows.middle)
    sums = Sums(values.T, lower.T, upper.T)
    found = find_prices(_FarCosts(at, 0.0), sums, rows.spread / N)
    prices, load = found.prices, at.soft_loads(found.prices, found.eps).load
    assert sums.size(sums.miss(load)) <= 1.2 * PRICE_ACCURACY
    # A price is paid at a bound only, and of the right sign.
    middle = np.mean([lower.T, upper.T], axis=0).min()
    assert np.all(load[(prices > 0) & (lower < upper).T] > middle)
    assert sums.size(sums.miss(at.place(prices).sums)) < 0.05


def test_nothing_is_undecided_below_the_rounding_of_costs():
    points = np.zeros((N, 2))
    rows = ShardRows(cut(points, 1), np.ones(N)).with_amounts(np.ones((1, N)))
    at, sums = rows.at(np.eye(2)), Sums(np.ones((N, 1)), np.zeros((2, 1)), np.full((2, 1), N))
    for rounding, undecided in ((0.0, N), (1.0, 0)):
        look = _FarCosts(at, rounding).look(sums, np.zeros((2, 1)), 0.5, NEVER)
        assert look.undecided == undecided
