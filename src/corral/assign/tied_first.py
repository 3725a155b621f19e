"""Sizes with few tied groups in memory: these first, all others by prices and a flow.

The costs of all rows are one matrix, and prices settle the sizes in a few passes over it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline
from ..presolve import Rules
from ..presolve.bounds import scaled_bounds
from ..rows import MemoryRows
from ..rows.costs import Dense
from .many import make_room
from .result import Assignment
from .sizes import first_prices, ship_units
from .tied import Tied, Warm


@dataclass(frozen=True)
class TiedMatrix:
    """Costs of the tied groups as a matrix; see :class:`.tied.TiedCosts`."""

    groups: IntArray  # in order
    matrix: FloatArray

    def of(self, rows: IntArray) -> FloatArray:
        """As :class:`.tied.TiedCosts`."""
        return self.matrix[np.searchsorted(self.groups, rows)]

    def cheapest(self, rows: IntArray, counts: IntArray, prices: FloatArray) -> IntArray:
        """As :class:`.tied.TiedCosts`."""
        priced = self.of(rows) + counts[:, None] * prices
        return np.asarray(priced.argmin(axis=1))


class TiedFirst:
    """Assigns groups in memory to few clusters under sizes, pins, pairs and must-links."""

    def __init__(self, rules: Rules, rows: MemoryRows) -> None:
        self.rules, self.rows, self.tied = rules, rows, Tied(rules)
        self._tied_rows, self._free_rows = rows.take(self.tied.groups), rows.take(self.tied.free)

    def with_rules(self, rules: Rules) -> TiedFirst:
        """The same rows under rules whose sizes are in another order."""
        same = copy(self)
        same.rules = rules
        return same

    def __call__(
        self,
        centers: FloatArray,
        *,
        incumbent: IntArray | None,
        warm: Warm | None,
        deadline: Deadline,
        patience: float,
    ) -> Assignment:
        """Assign all groups, tied ones first.

        NoAssignment says that the tied groups leave no room for the others, and that there was no
        round before; OutOfTime that the deadline came before the end of the search.
        """
        tied, sizes = self.tied, self.rules.sizes
        if sizes is None:
            raise TypeError("tied groups come first where sizes are to be kept; there are none")
        until = deadline.first if incumbent is None else deadline
        near = TiedMatrix(tied.groups, self._costs(self._tied_rows, centers, until))
        cost = self._costs(self._free_rows, centers, until)
        prices = None if warm is None else warm.prices
        if prices is None:
            part = len(tied.free) / float(self.rules.n_rows)
            lower, upper = scaled_bounds(sizes.lower, part), scaled_bounds(sizes.upper, part)
            prices = first_prices(Dense(cost), lower, upper, until)
        where = tied.assign(near, prices, until, patience)
        where = make_room(tied, where, sizes, near, prices, until)
        known = None if warm is None else warm.tied
        if known is not None and not tied.leaves_room(where, sizes):
            where = known
        taken = tied.taken(where)
        free, prices = ship_units(cost, sizes.lower - taken, sizes.upper - taken, prices, until)
        labels = np.empty(self.rules.n_groups, np.int64)
        labels[tied.groups], labels[tied.free] = where, free
        total = near.matrix[np.arange(len(where)), where].sum()
        total += cost[np.arange(len(free)), free].sum() + tied.rules.soft.cost(where)
        return Assignment(labels, float(total), warm=Warm(prices, where))

    def _costs(self, part: MemoryRows, centers: FloatArray, until: Deadline) -> FloatArray:
        """Costs of a part of the rows, whose middle is its own."""
        return part.costs(centers + (self.rows.middle - part.middle), until).dense()
