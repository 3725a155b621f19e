"""Exact sizes for rows in shards: tied groups first, all others by prices and a flow.

If the tied groups (:mod:`.tied`) would leave the free rows too little room, they keep the clusters
of the round before.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline
from ..presolve import Rules
from ..presolve.bounds import scaled_bounds
from ..rows import ShardRows
from ..rows.shard_costs import ShardCosts, ShardScan
from .result import Assignment
from .sizes import first_prices, ship
from .tied import Tied, Warm


class FarAssignment:
    """Assigns rows in shards to centres under rules without totals and linear rows."""

    def __init__(self, rules: Rules, rows: ShardRows) -> None:
        self.rules, self.tied = rules, Tied(rules)
        self.rows = rows.marked(self.tied.free) if len(self.tied) else rows

    def with_rules(self, rules: Rules) -> FarAssignment:
        """The same rows under rules whose sizes are in another order."""
        same = copy(self)
        same.rules = rules
        return same

    def __call__(
        self,
        centers: FloatArray,
        *,
        incumbent: Any,
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
            part = len(self.tied.free) / float(self.rules.n_rows)
            lower, upper = scaled_bounds(sizes.lower, part), scaled_bounds(sizes.upper, part)
            prices = first_prices(costs, lower, upper, deadline)
        price = np.zeros(k) if prices is None else prices
        labels = self.tied.assign(costs, price, deadline, patience)
        if sizes is None:
            scan = costs.scan(np.zeros(k))
        else:
            known = None if warm is None else warm.tied
            if known is not None and not self.tied.leaves_room(labels, sizes):
                labels = known
            taken = self.tied.taken(labels)
            low, high = sizes.lower - taken, sizes.upper - taken
            found, price = ship(costs, low, high, prices, deadline)
            scan = found if isinstance(found, ShardScan) else _all_placed(costs, found)
        return Assignment(
            scan.patched(self.tied.groups, labels).kept(),
            np.nan,
            soft=self.tied.rules.soft.cost(labels),
            warm=Warm(price, labels),
        )


def _all_placed(costs: ShardCosts, labels: IntArray) -> ShardScan:
    """The assignment that gives the free rows these labels."""
    scan = costs.scan(np.zeros(costs.shape[1])).patched(costs.numbers, labels)
    return replace(scan, counted=np.bincount(labels, minlength=costs.shape[1]))
