"""Costs of rows in clusters, and the cheapest cluster of every row at given prices."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from joblib import cpu_count

from .._typing import FloatArray, IntArray

#: Rows of one block of a scan; the work arrays of a block of this size stay in the cache of a core.
BLOCK = 8192

#: Clusters from which a scan reduces along the rows of the costs; with fewer, a loop over the
#: clusters is faster.
LONG_ROWS = 24

#: Entries of costs from which passes over them run in threads.  With fewer, starting threads takes
#: longer than it saves.
THREAD_ENTRIES = 1_000_000


@dataclass(frozen=True)
class Dense:
    """Costs as a matrix in memory, infinite where a row may not go."""

    matrix: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and clusters."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def dense(self) -> FloatArray:
        """The matrix."""
        return self.matrix


def scan(cost: FloatArray, prices: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Cheapest cluster of each row at the prices, that least cost, and the margin.

    The cluster is the first of equals.  The margin is what the next best cluster costs more, and
    infinite if there is none.
    """
    m, k = cost.shape
    labels, best, margin = np.zeros(m, np.int64), np.empty(m), np.full(m, np.inf)
    look = _along_rows if k >= LONG_ROWS else _across_clusters

    def pass_over(begin: int, end: int) -> None:
        for start in range(begin, end, BLOCK):
            part = slice(start, min(start + BLOCK, end))
            look(cost[part], prices, labels[part], best[part], margin[part])

    _shared_out(pass_over, m, m * k)
    with np.errstate(invalid="ignore"):  # a row that may go nowhere: infinity less infinity
        margin -= best
    return labels, best, margin


def _shared_out(work: Callable[[int, int], None], m: int, entries: int) -> None:
    """Work on rows from ``begin`` to ``end``, in threads if there are many entries."""
    threads = cpu_count() if entries > THREAD_ENTRIES else 1
    if threads == 1:
        work(0, m)
        return
    edges = [m * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, edges[:-1], edges[1:]))


def _along_rows(
    cost: FloatArray, prices: FloatArray, labels: IntArray, best: FloatArray, second: FloatArray
) -> None:
    priced = cost + prices
    rows = np.arange(len(cost))
    np.argmin(priced, axis=1, out=labels)
    best[:] = priced[rows, labels]
    priced[rows, labels] = np.inf
    np.min(priced, axis=1, out=second)


def _across_clusters(
    cost: FloatArray, prices: FloatArray, labels: IntArray, best: FloatArray, second: FloatArray
) -> None:
    priced = np.empty(cost.shape[::-1])
    np.add(cost.T, prices[:, None], out=priced)
    best[:] = priced[0]
    larger = np.empty(len(cost))
    for j in range(1, len(prices)):
        np.maximum(best, priced[j], out=larger)
        np.minimum(second, larger, out=second)
        labels[priced[j] < best] = j
        np.minimum(best, priced[j], out=best)
