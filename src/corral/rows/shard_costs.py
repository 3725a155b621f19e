"""Costs of rows in shards, and where prices put these rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from .costs import Near, reach_of
from .shard import Each, Shards, by_shard, starts
from .shard_passes import (
    Ask,
    border_rows,
    cluster_sums,
    costs_of,
    count_within,
    inertia_rows,
    labels_of,
    margin_sample,
    near_rows,
    placed_at,
    scan_rows,
)

#: Rows of a shard that are not in the cluster they prefer, and the clusters they are in.
Patch = tuple[IntArray, IntArray]

#: Rows whose margins give the quantiles of all margins of rows in shards.  More of them make the
#: reach of the prices more exact and send more numbers to this process (gpu.py part c and
#: dask_scale.py fit).
MARGINS = 200_000


@dataclass(frozen=True)
class ShardCosts:
    """Costs of the free rows; see :class:`.costs.Costs`.

    The deadline is asked before every pass that searches for an assignment.  Passes that read a
    known assignment (labels, sums, inertia) do not ask it.
    """

    shards: Shards
    centers: FloatArray  # (k, d), relative to the middle of the points
    offsets: FloatArray  # the clusters' part of the costs, (k,)
    free: IntArray  # numbers of the rows that are free
    deadline: Deadline = NEVER

    @property
    def eps(self) -> float:
        """Relative rounding of the points."""
        return float(np.finfo(self.shards.dtype).eps)

    @property
    def shape(self) -> tuple[int, int]:
        """Free rows and clusters."""
        return len(self.free), len(self.centers)

    def search(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """One pass over all shards; ``OutOfTime`` is raised after the deadline."""
        self.deadline.check()
        return self.shards.map(function, *args, each=each)

    def ask(self, prices: FloatArray) -> Ask:
        """The question which cluster each row prefers at the prices."""
        return Ask(self.centers, self.offsets, prices, uuid4().hex)

    def scan(self, prices: FloatArray) -> ShardScan:
        """As :class:`.costs.Costs`."""
        ask = self.ask(prices)
        counted, scale = zip(*self.search(scan_rows, ask), strict=True)
        none = np.empty(0, np.int64)
        patches = [(none, none)] * len(counted)
        return ShardScan(self, ask, patches, reduce(add, counted), max(scale))

    def sample(self, size: int) -> FloatArray:
        """As :class:`.costs.Costs`."""
        drawn = np.sort(np.random.default_rng(0).integers(0, len(self.free), size))
        return self.of(self.free[drawn])

    def of(self, rows: IntArray) -> FloatArray:
        """Costs of rows given by sorted numbers."""
        ask = self.ask(np.zeros(len(self.centers)))
        parts = self.search(costs_of, ask, each=[(r,) for r in by_shard(self.shards, rows)])
        return np.concatenate(parts)

    def cheapest(self, rows: IntArray, counts: IntArray, prices: FloatArray) -> IntArray:
        """Cheapest cluster of rows, given by sorted numbers, that count several points each."""
        own = by_shard(self.shards, rows)
        each = zip(own, _cut_like(own, counts), strict=True)
        return np.concatenate(self.search(placed_at, self.ask(prices), each=each))

    def dense(self) -> FloatArray:
        """As :class:`.costs.Costs`."""
        return self.of(self.free)


@dataclass(frozen=True)
class ShardScan:
    """An assignment of rows in shards; see :class:`.costs.Scan`."""

    costs: ShardCosts
    ask: Ask  # every row is in the cluster that it prefers by this question,
    patches: Sequence[Patch]  # except these rows of each shard
    counted: IntArray
    scale: float

    def within(self, reach: float) -> int:
        """As :class:`.costs.Scan`."""
        return sum(self.costs.search(count_within, self.ask, reach))

    def reach(self, number: int, each: IntArray) -> FloatArray:
        """As :class:`.costs.Scan`, estimated from a sample where there are many rows."""
        stride = max(1, self.costs.shape[0] // MARGINS)
        parts = self.costs.search(margin_sample, self.ask, stride)
        margins, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
        return reach_of(margins, labels, number // stride, each // stride)

    def border(self, reach: FloatArray) -> FloatArray:
        """As :class:`.costs.Scan`."""
        parts = self.costs.search(border_rows, self.ask, reach, each=self.patches)
        total: FloatArray = reduce(add, parts)
        return total

    def near(self, reach: FloatArray) -> Near:
        """As :class:`.costs.Scan`."""
        parts = self.costs.search(near_rows, self.ask, reach, each=self.patches)
        first = starts(self.costs.shards)
        rows = np.concatenate([own + start for (own, *_), start in zip(parts, first, strict=False)])
        labels, gap = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
        return Near(rows, labels, gap)

    def moved(self, near: Near, labels: IntArray) -> ShardScan:
        """As :class:`.costs.Scan`."""
        k = len(self.counted)
        change = np.bincount(labels, minlength=k) - np.bincount(near.labels, minlength=k)
        scan = self.patched(near.rows, labels)
        return replace(scan, counted=self.counted + change)

    def patched(self, rows: IntArray, labels: IntArray) -> ShardScan:
        """The same with rows, given by sorted numbers, in other clusters; counts stay as before."""
        shards = self.costs.shards
        own = by_shard(shards, rows)
        new = zip(own, _cut_like(own, labels), strict=True)
        return replace(self, patches=[*map(_joined, self.patches, new)])

    def labels(self) -> IntArray:
        """Labels of all rows, (m,)."""
        return np.concatenate(self.costs.shards.map(labels_of, self.ask, each=self.patches))

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """``sum w p`` (k, d) and ``sum w`` (k,) of the clusters."""
        parts = self.costs.shards.map(cluster_sums, self.ask, each=self.patches)
        sums, mass = (reduce(add, column) for column in zip(*parts, strict=True))
        return sums, mass

    def inertia(self, centers: FloatArray) -> float:
        """Weighted sum of the squared distances to centres in the shards' coordinates."""
        each = [(*patch, centers) for patch in self.patches]
        return float(sum(self.costs.shards.map(inertia_rows, self.ask, each=each)))


def _cut_like(parts: list[IntArray], a: IntArray) -> list[IntArray]:
    return np.split(a, np.cumsum([len(part) for part in parts])[:-1])


def _joined(old: Patch, new: Patch) -> Patch:
    """Both patches, the new one where they overlap."""
    keep = ~np.isin(old[0], new[0])
    rows = np.concatenate([old[0][keep], new[0]])
    labels = np.concatenate([old[1][keep], new[1]])
    order = np.argsort(rows, kind="stable")
    return rows[order], labels[order]
