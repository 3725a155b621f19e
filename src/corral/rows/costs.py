"""Costs of rows in clusters, and the cheapest cluster of every row at given prices.

Prices settle sizes (:mod:`corral.exact.sizes`).  That takes a few passes over all rows and a
closer look at few of them.  :class:`Dense` makes the passes over a matrix in memory; rows that are
elsewhere offer the same interface.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

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
class Near:
    """Rows of small margin, and where they are.

    ``gap``, (r, k), is what each cluster costs more than the cheapest, at the prices.
    """

    rows: IntArray
    labels: IntArray
    gap: FloatArray


class Scan(Protocol):
    """Rows in their cheapest clusters at some prices, or where they were moved from there."""

    @property
    def counted(self) -> IntArray:
        """Rows in each cluster, (k,)."""

    @property
    def scale(self) -> float:
        """The largest cost of a row in its cluster, prices included, in absolute value."""

    def within(self, reach: float) -> int:
        """Number of rows whose next best cluster costs at most ``reach`` more."""

    def reach(self, number: int, each: IntArray) -> FloatArray:
        """Margins, (k,), within which are ``number`` rows in all and ``each`` of every cluster.

        The margin of a row is what its next best cluster costs more.
        """

    def border(self, reach: FloatArray) -> FloatArray:
        """Rows in cluster a, (k, k), for which b costs at most ``reach[a]`` more than the best."""

    def near(self, reach: FloatArray) -> Near:
        """The rows within the reach of their clusters."""

    def moved(self, near: Near, labels: IntArray) -> Scan:
        """The same with some rows elsewhere."""


class Costs(Protocol):
    """What rows cost in each cluster."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and clusters."""

    @property
    def eps(self) -> float:
        """Relative rounding of the costs."""

    def scan(self, prices: FloatArray) -> Any:
        """Put all rows into their cheapest clusters at the prices, a :class:`Scan`."""

    def sample(self, size: int) -> FloatArray:
        """Costs of ``size`` rows drawn at random."""

    def dense(self) -> FloatArray:
        """All costs as a matrix."""


@dataclass(frozen=True)
class Dense:
    """Costs as a matrix in memory, infinite where a row may not go."""

    matrix: FloatArray
    eps: ClassVar[float] = float(np.finfo(np.float64).eps)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and clusters."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def scan(self, prices: FloatArray) -> DenseScan:
        """As :class:`Costs`."""
        return DenseScan(self.matrix, prices, *scan(self.matrix, prices))

    def sample(self, size: int) -> FloatArray:
        """As :class:`Costs`."""
        rows = np.sort(np.random.default_rng(0).integers(0, len(self.matrix), size))
        return self.matrix[rows]

    def dense(self) -> FloatArray:
        """As :class:`Costs`."""
        return self.matrix


@dataclass(frozen=True)
class DenseScan:
    """As :class:`Scan`, for a matrix."""

    matrix: FloatArray
    prices: FloatArray
    labels: IntArray
    best: FloatArray
    margin: FloatArray

    @cached_property
    def counted(self) -> IntArray:
        """Rows in each cluster."""
        return np.bincount(self.labels, minlength=len(self.prices))

    @cached_property
    def scale(self) -> float:
        """Infinite if a row may go nowhere."""
        return float(np.abs(self.best).max())

    def within(self, reach: float) -> int:
        """As :class:`Scan`."""
        return int(np.count_nonzero(self.margin <= reach))

    def reach(self, number: int, each: IntArray) -> FloatArray:
        """As :class:`Scan`."""
        return reach_of(self.margin, self.labels, number, each)

    def border(self, reach: FloatArray) -> FloatArray:
        """As :class:`Scan`."""
        near, k = self.near(reach), len(reach)
        row, to = np.nonzero(near.gap <= reach[near.labels][:, None])
        counts = np.bincount(near.labels[row] * k + to, minlength=k * k)
        return counts.reshape(k, k).astype(float)

    def near(self, reach: FloatArray) -> Near:
        """As :class:`Scan`."""
        rows = np.flatnonzero(self.margin <= reach[self.labels])
        gap = self.matrix[rows] + self.prices
        gap -= gap.min(axis=1, keepdims=True)
        return Near(rows, self.labels[rows], gap)

    def moved(self, near: Near, labels: IntArray) -> DenseScan:
        """As :class:`Scan`."""
        changed = self.labels.copy()
        changed[near.rows] = labels
        return replace(self, labels=changed)


def reach_of(margin: FloatArray, labels: IntArray, number: int, each: IntArray) -> FloatArray:
    """Reaches as :meth:`Scan.reach` gives them."""
    reach = np.full(len(each), _ranked(margin, number))
    within = np.bincount(labels[margin <= reach[0]], minlength=len(each))
    for a in np.flatnonzero(within <= each):
        own = margin[labels == a]
        if len(own) > within[a]:
            reach[a] = max(reach[a], _ranked(own, int(each[a])))
    return reach


def _ranked(margin: FloatArray, rank: int) -> float:
    """Margin of that rank, or the largest finite one if that is infinite."""
    rank = min(rank, len(margin) - 1)
    found = float(np.partition(margin, rank)[rank])
    return found if np.isfinite(found) else float(margin[np.isfinite(margin)].max(initial=0.0))


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
