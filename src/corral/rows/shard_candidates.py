"""Candidates of rows in shards: they stay where the rows are.

Every method is one pass over all shards, made of the functions in :mod:`.candidate_passes`.  A
shard keeps the candidates, and the rows' places among them, in its memo; a pass that does not find
them makes them again from the same centres and prices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline
from .candidate_passes import (
    Asked,
    Joined,
    Merged,
    astray_part,
    beyond_part,
    brought_part,
    labels_part,
    near_part,
    of_table,
    reach_part,
    soft_sums,
    stand,
)
from .choices import Border, Open
from .shard import Patch, Shards, patches_of, starts
from .shard_labels import ShardLabels


@dataclass(frozen=True)
class ShardCandidates:
    """Candidates of all rows, or of the free ones; see :class:`.choices.Choices`."""

    shards: Shards
    asked: Asked
    counts: Sequence[tuple[Any]]  # rows of each group, by shard; None for one each
    n_free: int
    deadline: Deadline

    far, home = True, None

    @property
    def prices(self) -> FloatArray:
        """Prices at which the candidates were chosen."""
        return self.asked.ask.prices

    @property
    def eps(self) -> float:
        """Relative rounding of the costs."""
        return self.asked.eps

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and candidates of each."""
        return int(sum(self.shards.lengths)), min(self.asked.number, len(self.prices))

    def _map(self, function: Any, *args: Any) -> list[Any]:
        self.deadline.check()
        return self.shards.map(function, self.asked, *args, each=self.counts)

    def mean_margin(self, prices: FloatArray) -> float:
        """As :class:`.choices.Choices`."""
        parts = self._map(of_table, "margins", prices)
        total, number = (sum(column) for column in zip(*parts, strict=True))
        return total / number if number else 0.0

    def held(self, prices: FloatArray, temperature: float) -> FloatArray:
        """As :class:`.choices.Choices`."""
        held: FloatArray = reduce(add, self._map(of_table, "held", prices, temperature))
        return held

    def borders(self, prices: FloatArray, temperature: float) -> tuple[FloatArray, Border]:
        """As :class:`.choices.Choices`."""
        parts = self._map(of_table, "borders", prices, temperature)
        borders = [border for _, border in parts]
        ends = [(border.one, border.other, border.weight) for border in borders]
        joined = Border(*(np.concatenate(column) for column in zip(*ends, strict=True)))
        return reduce(add, [held for held, _ in parts]), joined

    def spent(self) -> float:
        """What all rows cost in the cheapest of their candidates, without prices."""
        return float(sum(self._map(of_table, "spent")))

    def soft_sums(
        self, prices: FloatArray, temperature: float
    ) -> tuple[FloatArray, FloatArray, float]:
        """``sum w p`` and ``sum w`` of clusters that hold shares, and what these cost."""
        parts = self._map(soft_sums, prices, temperature)
        sums, mass, cost = (reduce(add, column) for column in zip(*parts, strict=True))
        return sums, mass, cost

    def merged(self, part: IntArray, prices: FloatArray) -> ShardCandidates:
        """As :class:`.choices.Choices`."""
        zero = np.zeros(int(part.max()) + 1)
        ask = replace(self.asked.ask, prices=zero, key=uuid4().hex)
        return replace(
            self, asked=replace(self.asked, ask=ask, merged=Merged(self.asked, part, prices))
        )

    def named(self, clusters: IntArray) -> ShardCandidates:
        """As :class:`.choices.Choices`."""
        return replace(self, asked=replace(self.asked, names=clusters))

    def beside(self, others: Any) -> ShardCandidates:
        """As :class:`.choices.Choices`."""
        number = self.shape[1] + others.shape[1]
        ask = replace(self.asked.ask, key=uuid4().hex)
        joined = Joined(self.asked, others.asked)
        return replace(self, asked=replace(self.asked, ask=ask, number=number, joined=joined))

    def at(self, prices: FloatArray) -> ShardStanding:
        """As :class:`.choices.Choices`."""
        none: IntArray = np.empty(0, np.int64)
        return ShardStanding(self, prices, uuid4().hex, [(none, none)] * len(self.shards.lengths))


@dataclass(frozen=True)
class ShardStanding:
    """Rows in candidates of theirs; see :class:`.choices.Standing`."""

    table: ShardCandidates
    prices: FloatArray
    key: str  # of the places at these prices
    patches: Sequence[Patch]  # rows of each shard that are elsewhere, and their clusters

    def _map(self, function: Any, *args: Any) -> list[Any]:
        table = self.table
        table.deadline.check()
        given = (table.asked, self.prices, self.key)
        each = [(*own, *patch) for own, patch in zip(table.counts, self.patches, strict=True)]
        return table.shards.map(function, *given, *args, each=each)

    @cached_property
    def _stand(self) -> tuple[IntArray, float]:
        counted, scale = zip(*self._map(stand), strict=True)
        return reduce(add, counted), max(scale)

    @property
    def counted(self) -> IntArray:
        """As :class:`.choices.Standing`."""
        return self._stand[0]

    @property
    def scale(self) -> float:
        """As :class:`.choices.Standing`."""
        return self._stand[1]

    def brought(self) -> IntArray:
        """As :class:`.choices.Standing`."""
        return np.concatenate(self._map(brought_part))

    def reach(self, number: int, each: IntArray) -> FloatArray:
        """As :class:`.choices.Standing`; the largest of those of the shards' parts."""
        parts = self._map(reach_part, number / self.table.shape[0], each / self.table.shape[0])
        reach: FloatArray = np.max(parts, axis=0)
        return reach

    def near(self, reach: FloatArray) -> Open:
        """As :class:`.choices.Standing`."""
        parts = self._map(near_part, reach)
        first = starts(self.table.shards)
        rows = [part.rows + start for part, start in zip(parts, first, strict=False)]
        others = [(part.slot, part.cluster, part.cost) for part in parts]
        return Open(
            np.concatenate(rows), *(np.concatenate(column) for column in zip(*others, strict=True))
        )

    def moved(self, opened: Open, slot: IntArray) -> ShardStanding:
        """As :class:`.choices.Standing`."""
        where = replace(opened, slot=slot).labels
        return replace(self, patches=patches_of(self.table.shards, opened.rows, where))

    def astray(self, prices: FloatArray) -> float:
        """As :class:`.choices.Standing`."""
        return float(max(self._map(astray_part, prices)))

    def renewed(self, prices: FloatArray, number: int) -> tuple[ShardCandidates, float]:
        """As :class:`.choices.Standing`; all rows get new candidates where one saves."""
        table = self.table
        saved = max(self._map(beyond_part, prices))
        ask = replace(table.asked.ask, prices=prices, key=uuid4().hex)
        asked = replace(table.asked, ask=ask, number=number, like=None, joined=None)
        return replace(table, asked=asked), saved

    def labels(self, places: Sequence[Patch]) -> ShardLabels:
        """The clusters of the rows, kept where these are; ``places`` are those of other rows."""
        table = self.table
        each = [
            (*own, patch, placed)
            for own, patch, placed in zip(table.counts, self.patches, places, strict=True)
        ]
        given = (table.asked, self.prices, self.key)
        return ShardLabels.kept(table.shards, len(self.prices), labels_part, given, each)
