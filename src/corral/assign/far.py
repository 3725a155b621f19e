"""Exact sizes for rows in shards: tied groups first, all others by prices and a flow.

A group is *tied* if it has several rows, a pin or a pair, hard or soft; all others are *free*.
Tied groups are assigned first, at the prices of the round before: each to its cheapest cluster,
then every component of pairs that this breaks is solved again.  Free rows then fill the rest of
the sizes, by prices and a flow, exactly.  If the tied groups would leave them too little room, the
tied groups keep the clusters of the round before.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline
from ..presolve import Rules, SizeBounds
from ..presolve.bounds import scaled_bounds
from ..rows import ShardRows
from ..rows.shard_costs import ShardCosts, ShardScan
from .patient import assign_patiently
from .result import Assignment
from .sizes import first_prices, ship


@dataclass(frozen=True)
class Warm:
    """Prices of the sizes and labels of the tied groups; the next round starts from them."""

    prices: FloatArray | None
    tied: IntArray


class FarAssignment:
    """Assigns rows in shards to centres under rules without totals and linear rows."""

    def __init__(self, rules: Rules, rows: ShardRows) -> None:
        alone = rules.count == 1
        pairs = rules.pairs
        bound = [rules.pins[:, 0], pairs.apart.ravel(), pairs.together.ravel()]
        alone[np.concatenate([*bound, pairs.soft.pairs.ravel()]).astype(np.int64)] = False
        self.rules = rules
        self.tied, self.free = np.flatnonzero(~alone), np.flatnonzero(alone)
        self.rows = rows.marked(self.free) if len(self.tied) else rows
        self.tied_rules = rules.pairs_only().part(self.tied)

    def with_rules(self, rules: Rules) -> FarAssignment:
        """The same rows under rules whose sizes are in another order."""
        same = copy(self)
        same.rules = rules
        return same

    def __call__(
        self,
        centers: FloatArray,
        *,
        incumbent: ShardScan | None,
        warm: Warm | None,
        deadline: Deadline,
        patience: float,
    ) -> Assignment:
        """Assign all groups, tied ones first.

        NoAssignment says that the tied groups leave no room for the others, and that there was no
        round before; OutOfTime that the deadline came before the end of the search.
        """
        k, sizes = self.rules.n_clusters, self.rules.sizes
        costs = self.rows.costs(centers, deadline)
        prices = None if warm is None else warm.prices
        if prices is None and sizes is not None and len(self.tied):
            part = len(self.free) / float(self.rules.n_rows)
            lower, upper = scaled_bounds(sizes.lower, part), scaled_bounds(sizes.upper, part)
            prices = first_prices(costs, lower, upper, deadline)
        price = np.zeros(k) if prices is None else prices
        labels = self._apart(costs, price, self._preferred(costs, price), deadline, patience)
        if sizes is None:
            scan = costs.scan(np.zeros(k))
        else:
            if warm is not None and not self._leaves_room(labels, sizes):
                labels = warm.tied
            taken = self.tied_rules.sizes_of(labels)
            low, high = sizes.lower - taken, sizes.upper - taken
            found, price = ship(costs, low, high, prices, deadline)
            scan = found if isinstance(found, ShardScan) else _all_placed(costs, found)
        return Assignment(
            scan.patched(self.tied, labels),
            np.nan,
            soft=self.tied_rules.soft.cost(labels),
            warm=Warm(price, labels),
        )

    def _leaves_room(self, labels: IntArray, sizes: SizeBounds) -> bool:
        """Whether the free rows fit into the sizes that the tied groups leave."""
        taken = self.tied_rules.sizes_of(labels)
        lower, upper = np.maximum(sizes.lower - taken, 0), sizes.upper - taken
        return bool(np.all(upper >= 0) and lower.sum() <= len(self.free) <= upper.sum())

    def _preferred(self, costs: ShardCosts, prices: FloatArray) -> IntArray:
        """The cheapest cluster of each tied group; every row of a group pays the price."""
        if not len(self.tied):
            return np.empty(0, np.int64)
        labels = costs.cheapest(self.tied, self.tied_rules.count, prices)
        pins = self.tied_rules.pins
        labels[pins[:, 0]] = pins[:, 1]
        return labels

    def _apart(
        self,
        costs: ShardCosts,
        prices: FloatArray,
        labels: IntArray,
        deadline: Deadline,
        patience: float,
    ) -> IntArray:
        """The labels, with every component that has a broken pair, hard or soft, solved again."""
        graph = self.tied_rules.pairs.graph
        broken = graph.broken(labels)
        if not broken.any():
            return labels
        bad = np.zeros(int(graph.component.max()) + 1, bool)
        bad[graph.component[graph.a[broken]]] = True
        rows = np.flatnonzero(bad[graph.component])
        part = self.tied_rules.part(rows)
        cost = costs.of(self.tied[rows]) + part.count[:, None] * prices
        labels = labels.copy()
        labels[rows] = assign_patiently(part, cost, None, deadline, patience=patience).labels
        return labels


def _all_placed(costs: ShardCosts, labels: IntArray) -> ShardScan:
    """The assignment that gives the free rows these labels."""
    scan = costs.scan(np.zeros(costs.shape[1])).patched(costs.free, labels)
    return replace(scan, counted=np.bincount(labels, minlength=costs.shape[1]))
