"""Exact sizes for many clusters: tied groups first, all others over their candidates.

No array of all groups and all clusters is made.  In an exact round, if nothing ties groups and all
have the same number of rows, the labels are the cheapest there are; otherwise those of the free
rows are, given where the tied groups went.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from ..presolve import Rules, SizeBounds
from ..presolve.graphs import link_graph
from ..rows import MemoryRows
from ..rows.candidates import Candidates
from .result import Assignment
from .sizes.candidates import Look, Shipped, ship_among
from .sizes.shares import swept_prices
from .tied import Tied, TiedCosts, Warm


@dataclass(frozen=True)
class FewCosts:
    """Costs of some groups at centres; see :class:`.tied.TiedCosts`."""

    rows: MemoryRows
    centers: FloatArray
    deadline: Deadline = NEVER

    def of(self, rows: IntArray) -> FloatArray:
        """As :class:`.tied.TiedCosts`."""
        k = len(self.centers)
        every: Any = self.rows.candidates(
            self.centers, np.zeros(k), k, groups=rows, deadline=self.deadline
        )
        cost: FloatArray = every.cost  # of as many candidates as clusters, in their order
        return cost

    def cheapest(self, rows: IntArray, counts: IntArray, prices: FloatArray) -> IntArray:
        """As :class:`.tied.TiedCosts`."""
        count = np.ones(self.rows.shape[0], np.int64)
        count[rows] = counts
        found: Any = self.rows.candidates(
            self.centers, prices, 1, groups=rows, count=count, deadline=self.deadline
        )
        first: IntArray = found.cluster[:, 0].astype(np.int64)
        return first


class AmongCandidates:
    """Assigns groups to many clusters under sizes, pins, pairs and must-links."""

    def __init__(self, rules: Rules, rows: MemoryRows, number: int, exact: bool = True) -> None:
        self.rules, self.rows, self.number, self.exact = rules, rows, number, exact
        alike = not (len(rules.pins) or rules.paired) and np.ptp(rules.count) == 0
        self.tied = None if alike else Tied(rules)

    def with_rules(self, rules: Rules) -> AmongCandidates:
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
        """Assign all groups.

        NoAssignment says that no room was found for the tied groups; it is a proof if there are
        none.  OutOfTime says that the deadline came before the end of the search.
        """
        sizes = self.rules.sizes
        if sizes is None:
            raise TypeError("candidates settle sizes; there are none")
        until = deadline.first if incumbent is None else deadline
        if self.tied is None:
            return self._alike(centers, sizes, warm, until, incumbent)
        tied, costs = self.tied, self._few_costs(centers, until)
        prices = None if warm is None else warm.prices
        if prices is None:
            prices = self._first_prices(centers, tied, sizes, until)
        where = tied.assign(costs, prices, until, patience)
        where = make_room(tied, where, sizes, costs, prices, until)
        known = None if warm is None else warm.tied
        if known is not None and not tied.leaves_room(where, sizes):
            where = known
        taken = tied.taken(where)
        look = self._look(centers, tied.free, warm, until)
        low, high = sizes.lower - taken, sizes.upper - taken
        found = ship_among(look, low, high, self.number, prices, until, exact=self.exact)
        soft = tied.rules.soft.cost(where)
        return Assignment(
            self._labels(found, where), np.nan, soft=soft, warm=self._warm(found, where)
        )

    def exchange(
        self, labels: IntArray, centers: FloatArray, warm: Warm | None, deadline: Deadline
    ) -> Assignment:
        """Labels that are cheapest at the costs of moves, by which centres follow.

        An assignment to fixed centres does not see that these follow the groups that they gain.
        Each group's costs are those of its own move, so that all moves together may gain less than
        they promise; tied groups stay.  Clusters outside the candidates are not looked at.
        """
        k, tied, sizes = len(centers), self.tied, self.rules.sizes
        if sizes is None:
            raise TypeError("candidates settle sizes; there are none")
        free = np.arange(self.rules.n_groups) if tied is None else tied.free
        where = None if tied is None else labels[tied.groups]
        taken = 0 if tied is None or where is None else tied.taken(where)
        each = int(self.rules.count[0]) if tied is None else 1
        weight, mass = self.rows.weight, self.rows.stiffness(labels, k)
        row_weight = np.maximum(weight / each, np.finfo(float).tiny)
        plain = self._look(centers, free, warm, deadline, labels)

        def look(prices: FloatArray, number: int, among: IntArray | None) -> Candidates:
            table: Candidates = plain(prices, number, among)
            stays = table.cluster == labels[free, None]
            squares, held = table.cost / row_weight[free, None], mass[table.cluster]
            factor = self.rows.distance.following(weight[free, None], held, stays, squares)
            # A candidate that is missing has an infinite cost, and an empty cluster the factor 0.
            cost = np.multiply(
                table.cost,
                factor,
                out=np.full_like(table.cost, np.inf),
                where=np.isfinite(table.cost),
            )
            return replace(table, cost=cost)

        lower, upper = -(-(sizes.lower - taken) // each), (sizes.upper - taken) // each
        start = None if warm is None else warm.prices
        found = ship_among(look, lower, upper, self.number, start, deadline, exact=False)
        moved = labels.copy()
        moved[free] = found.where.labels
        return Assignment(moved, np.nan, warm=self._warm(found, where))

    def _few_costs(self, centers: FloatArray, until: Deadline) -> TiedCosts:
        """Costs of the tied groups."""
        return FewCosts(self.rows, centers, until)

    def _labels(self, found: Shipped, tied: IntArray | None) -> Any:
        """Labels of all groups, where the tied ones are and the free ones went."""
        if self.tied is None or tied is None:
            return found.where.labels
        labels = np.empty(self.rules.n_groups, np.int64)
        labels[self.tied.groups], labels[self.tied.free] = tied, found.where.labels
        return labels

    def _warm(self, found: Shipped, tied: IntArray | None) -> Warm:
        """What the next round starts from."""
        return Warm(found.prices, tied, found.table)

    def _look(
        self,
        centers: FloatArray,
        groups: IntArray | None,
        warm: Warm | None,
        until: Deadline,
        known: IntArray | None = None,
    ) -> Look:
        """Where the candidates of these groups come from.

        The cluster that ``known`` labels give a group is one of them, so that there is room: these
        labels obey the sizes.
        """
        # Groups in play have one row each, or all the same number; prices are for a row.
        count = self.rules.count if self.tied is None else None
        some = None if self.tied is None else groups
        like = None if warm is None else warm.table

        def look(prices: FloatArray, number: int, among: IntArray | None) -> Any:
            some_of: Any = {"groups": some, "count": count, "deadline": until}
            if among is not None:
                own = centers[among], prices[among], number
                return self.rows.candidates(*own, **some_of).named(among)
            found: Any = self.rows.candidates(centers, prices, number, like=like, **some_of)
            if isinstance(found, Candidates):  # prices and sizes count groups here
                found = replace(found, count=None)
            if known is None:
                return found
            cost = self.rows.own_costs(known, centers)
            cost = cost if count is None else cost / count
            return found.including(*(a if some is None else a[some] for a in (known, cost)))

        return look

    def _alike(
        self,
        centers: FloatArray,
        sizes: SizeBounds,
        warm: Warm | None,
        until: Deadline,
        known: IntArray | None,
    ) -> Assignment:
        """All groups have the same number of rows, and nothing else ties them."""
        each = int(self.rules.count[0])
        look = self._look(centers, None, warm, until, known)
        start = None if warm is None else warm.prices
        lower, upper = -(-sizes.lower // each), sizes.upper // each
        found = ship_among(look, lower, upper, self.number, start, until, exact=self.exact)
        cost = each * float(found.where.cost.sum())
        return Assignment(self._labels(found, None), cost, soft=0.0, warm=self._warm(found, None))

    def _first_prices(
        self, centers: FloatArray, tied: Tied, sizes: SizeBounds, until: Deadline
    ) -> FloatArray:
        """Prices of the free rows, which stand for all: bounds are in proportion."""
        zero = np.zeros(len(centers))
        if not len(tied.free):
            return zero
        bounds = sizes.scaled(len(tied.free) / float(self.rules.n_rows), len(tied.free))
        table = self._look(centers, tied.free, None, until)(zero, self.number, None)
        return swept_prices(table, bounds, zero, deadline=until)


def make_room(
    tied: Tied,
    labels: IntArray,
    sizes: SizeBounds,
    costs: TiedCosts,
    prices: FloatArray,
    deadline: Deadline,
) -> IntArray:
    """Move tied groups out of clusters that hold more than they may, those that lose least first.

    A group without pins and must-links moves to the cheapest cluster that has room and none of its
    cannot-links.  Groups that find none stay.
    """
    rules, taken = tied.rules, tied.taken(labels)
    if np.all(taken <= sizes.upper):
        return labels
    labels, fixed = labels.copy(), np.zeros(len(labels), bool)
    fixed[rules.pins[:, 0]] = fixed[rules.together.ravel()] = True
    movable = np.flatnonzero((taken > sizes.upper)[labels] & ~fixed)
    if not len(movable):
        return labels
    count, graph = rules.count, link_graph(rules.n_groups, rules.apart)
    priced = costs.of(tied.groups[movable]) + count[movable][:, None] * prices
    own = priced[np.arange(len(movable)), labels[movable]]
    loss = np.partition(priced, 1, axis=1)[:, 1] - own if priced.shape[1] > 1 else own
    for place in np.argsort(loss, kind="stable"):
        deadline.check()
        g, here = movable[place], labels[movable[place]]
        if taken[here] <= sizes.upper[here]:
            continue
        fits = taken + count[g] <= sizes.upper
        fits[labels[graph.indices[graph.indptr[g] : graph.indptr[g + 1]]]] = False
        if fits.any():
            labels[g] = to = int(np.argmin(np.where(fits, priced[place], np.inf)))
            taken[here] -= count[g]
            taken[to] += count[g]
    return labels
