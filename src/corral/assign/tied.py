"""Groups that rules tie: they are assigned first, at the prices of the sizes.

A group is *tied* if it has several rows, a pin or a pair, hard or soft; all others are *free*.
Tied groups are assigned first, at the prices of the round before: each to its cheapest cluster,
then every component of pairs that this breaks is solved again.  Free rows then fill the rest of
the sizes exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline
from ..presolve import Rules, SizeBounds
from ..rows.candidates import Candidates
from .exact import assign_patiently


@dataclass(frozen=True)
class Warm:
    """What the next round starts from, as far as it is known."""

    prices: FloatArray | None  # of the sizes
    tied: IntArray | None = None  # labels of the tied groups, which leave room for the others
    table: Candidates | None = None  # candidates of the free groups


class TiedCosts(Protocol):
    """What tied groups need to know of the costs."""

    def of(self, rows: IntArray) -> FloatArray:
        """Costs of some groups in all clusters, up to a constant of each group."""

    def cheapest(self, rows: IntArray, counts: IntArray, prices: FloatArray) -> IntArray:
        """Cheapest clusters of some groups, each row of which pays the price."""


class Tied:
    """The tied groups of some rules."""

    def __init__(self, rules: Rules) -> None:
        self.groups, self.free = np.flatnonzero(rules.tied), np.flatnonzero(~rules.tied)
        self.rules = rules.pairs_only().part(self.groups)

    def __len__(self) -> int:
        """Number of tied groups."""
        return len(self.groups)

    def assign(
        self, costs: TiedCosts, prices: FloatArray, deadline: Deadline, patience: float
    ) -> IntArray:
        """Labels of the tied groups: the cheapest that break no pair, sizes apart."""
        if not len(self):
            return np.empty(0, np.int64)
        labels = costs.cheapest(self.groups, self.rules.count, prices)
        labels[self.rules.pins[:, 0]] = self.rules.pins[:, 1]
        return self._apart(costs, prices, labels, deadline, patience)

    def taken(self, labels: IntArray) -> IntArray:
        """Rows that the tied groups put into each cluster."""
        return self.rules.sizes_of(labels)

    def leaves_room(self, labels: IntArray, sizes: SizeBounds) -> bool:
        """Whether the free rows fit into the sizes that the tied groups leave."""
        taken = self.taken(labels)
        lower, upper = np.maximum(sizes.lower - taken, 0), sizes.upper - taken
        return bool(np.all(upper >= 0) and lower.sum() <= len(self.free) <= upper.sum())

    def _apart(
        self,
        costs: TiedCosts,
        prices: FloatArray,
        labels: IntArray,
        deadline: Deadline,
        patience: float,
    ) -> IntArray:
        """The labels, with every component that has a broken pair, hard or soft, solved again."""
        graph = self.rules.pairs.graph
        broken = graph.broken(labels)
        if not broken.any():
            return labels
        bad = np.zeros(int(graph.component.max()) + 1, bool)
        bad[graph.component[graph.a[broken]]] = True
        rows = np.flatnonzero(bad[graph.component])
        part = self.rules.part(rows)
        cost = costs.of(self.groups[rows]) + part.count[:, None] * prices
        labels = labels.copy()
        labels[rows] = assign_patiently(part, cost, None, deadline, patience=patience).labels
        return labels
