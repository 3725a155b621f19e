"""Repair of sums by single moves: what is kept up to date equals what is computed anew."""

from __future__ import annotations

import numpy as np
import pytest

from corral.exact.sums.repair import Moves
from corral.rules import Sums, TotalBounds


@pytest.mark.parametrize("seed", range(5))
def test_moves_kept_up_to_date(seed):
    rng = np.random.default_rng(seed)
    m, k = 30, 5
    bounds = [
        TotalBounds(rng.integers(1, 9, m).astype(float), np.full(k, 10.0), np.full(k, 32.0)),
        TotalBounds(rng.normal(size=m), np.full(k, -2.0), np.full(k, 2.0)),
    ]
    sums, cost, own = Sums.of(bounds, m, k), rng.random((m, k)), rng.integers(2, size=m)
    moves = Moves(cost, sums, own, sums.reached(own), sums.unit)
    for _ in range(6):
        row = int(moves.rate.argmin())
        assert np.isfinite(moves.rate[row])
        moves.make(row)
        fresh = Moves(cost, sums, moves.own, sums.reached(moves.own), sums.unit)
        np.testing.assert_allclose(moves.reached, fresh.reached, atol=1e-12)
        np.testing.assert_allclose(moves.rate, fresh.rate)
