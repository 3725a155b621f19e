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
from .shard import Each, Patch, Shards, by_shard, patches_of, starts
from .shard_labels import ShardLabels
from .shard_passes import (
    Ask,
    border_rows,
    costs_of,
    count_within,
    margin_sample,
    near_rows,
    placed_at,
    scan_rows,
    settled,
)

#: Rows whose margins give the quantiles of all margins of rows in shards.  More of them make the
#: reach of the prices more exact and send more numbers to this process (gpu.py part c and
#: dask_scale.py fit).
MARGINS = 200_000


@dataclass(frozen=True)
class ShardCosts:
    """Costs of the free rows; see :class:`.costs.Costs`.

    The deadline is asked before every pass that searches for an assignment.
    """

    shards: Shards
    centers: FloatArray  # (k, d), relative to the middle of the points
    offsets: FloatArray  # the clusters' part of the costs, (k,)
    free: IntArray | None  # numbers of the rows that are free; None for all
    deadline: Deadline = NEVER

    @property
    def eps(self) -> float:
        """Relative rounding of the points."""
        return float(np.finfo(self.shards.dtype).eps)

    @property
    def shape(self) -> tuple[int, int]:
        """Free rows and clusters."""
        number = sum(self.shards.lengths) if self.free is None else len(self.free)
        return int(number), len(self.centers)

    @property
    def numbers(self) -> IntArray:
        """Numbers of the free rows."""
        return np.arange(self.shape[0]) if self.free is None else self.free

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
        drawn = np.sort(np.random.default_rng(0).integers(0, self.shape[0], size))
        return self.of(drawn if self.free is None else self.free[drawn])

    def of(self, rows: IntArray) -> FloatArray:
        """Costs of rows given by sorted numbers."""
        ask = self.ask(np.zeros(len(self.centers)))
        parts = self.search(costs_of, ask, each=[(r,) for r in by_shard(self.shards, rows)])
        return np.concatenate(parts)

    def cheapest(self, rows: IntArray, counts: IntArray, prices: FloatArray) -> IntArray:
        """Cheapest cluster of rows, given by sorted numbers, that count several points each."""
        each = patches_of(self.shards, rows, counts)
        return np.concatenate(self.search(placed_at, self.ask(prices), each=each))

    def dense(self) -> FloatArray:
        """As :class:`.costs.Costs`."""
        return self.of(self.numbers)


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
        new = patches_of(self.costs.shards, rows, labels)
        return replace(self, patches=[*map(_joined, self.patches, new)])

    def kept(self) -> ShardLabels:
        """The labels of all rows, kept where these are."""
        shards, k = self.costs.shards, len(self.counted)
        return ShardLabels.kept(shards, k, settled, (self.ask,), self.patches)


def _joined(old: Patch, new: Patch) -> Patch:
    """Both patches, the new one where they overlap."""
    keep = ~np.isin(old[0], new[0])
    rows = np.concatenate([old[0][keep], new[0]])
    labels = np.concatenate([old[1][keep], new[1]])
    order = np.argsort(rows, kind="stable")
    return rows[order], labels[order]
