"""Partitions that are lost between passes: labels and sums are computed again where they go."""

from __future__ import annotations

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from corral.backends.dask import hold  # noqa: E402
from corral.rows import ShardTable  # noqa: E402

N, D, K = 3000, 4, 5


def source():
    """An array that workers make themselves, and can make again."""
    rng = da.random.default_rng(0)
    return rng.normal(size=(N, D), chunks=(500, D))


def test_labels_of_a_killed_worker_are_the_same(mortal, kill_one):
    points = source().compute()
    amounts = np.stack([np.ones(N), np.arange(N) % 7.0])
    with hold(source()) as shards:
        rows = ShardTable(shards, None, "dask").rows(None).with_amounts(amounts)
        at = rows.at(points[:K] - rows.middle)
        prices = np.random.default_rng(0).normal(size=(K, 2))
        found = at.place(prices)
        moved = np.arange(0, N, 7)
        labels = found.labels.patched(moved, moved % K)
        before, sums, loads = labels(), labels.amounts(), at.soft_loads(prices, 0.5).load
        kill_one()
        np.testing.assert_array_equal(labels(), before)
        np.testing.assert_array_equal(labels.amounts(), sums)
        np.testing.assert_array_equal(at.soft_loads(prices, 0.5).load, loads)
        np.testing.assert_array_equal(labels.of(moved), moved % K)
        some = found.least(20, np.zeros(K), np.zeros(K))
        np.testing.assert_array_equal(rows.take(some).given[0], points[some])
