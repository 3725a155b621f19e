"""Assignment of some groups with the others fixed: a feasible answer near given labels."""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...deadline import NEVER, Deadline, OutOfTime
from ...rules import Rules, Sums
from ...rules.sums import outside
from ..result import NoAssignment
from ..sizes import ship_units
from .duals import View

#: Most groups that a repair of totals may move, and most moves.  They bound the work of a repair to
#: their product times the clusters; no difference was measured from 300 groups on.
REPAIR_GROUPS, REPAIR_MOVES = 3_000, 400


def restricted(
    rules: Rules, cost: FloatArray, labels: IntArray, chosen: BoolArray
) -> tuple[Rules, FloatArray]:
    """Rules and costs of the chosen groups, the others being where the labels have them.

    Bounds are reduced by what the others take; their pairs with chosen groups become costs.
    """
    left, number, graph = cost[chosen], np.cumsum(chosen) - 1, rules.pairs.graph
    for a, b in ((graph.a, graph.b), (graph.b, graph.a)):
        half = chosen[a] & ~chosen[b]
        extra = np.repeat(graph.differ[half, None], left.shape[1], axis=1)
        extra[np.arange(len(extra)), labels[b[half]]] = graph.same[half]
        np.add.at(left, number[a[half]], extra)
    return rules.less(labels, chosen), left


def repaired(
    rules: Rules, cost: FloatArray, sums: Sums, view: View, deadline: Deadline = NEVER
) -> IntArray | None:
    """Labels that keep all sums, made from those of the view; None if that fails or time ends.

    Only groups move that share no pair with each other, and only where their pairs allow it.  If
    only sizes are bounded, the groups of one row are assigned again.  Otherwise groups move one at
    a time, each time the move that corrects most for its cost.
    """
    if rules.sizes is not None and not rules.totals:
        return share_out(rules, cost, view.labels, view.margin, view.prices[0], deadline)
    chosen = _unrelated(rules, view.margin, np.isfinite(view.margin))
    if np.count_nonzero(chosen) > REPAIR_GROUPS:
        most = np.partition(view.margin[chosen], REPAIR_GROUPS)[REPAIR_GROUPS]
        chosen &= view.margin <= most
    if not chosen.any():
        return None
    _, part_cost = restricted(rules, cost, view.labels, chosen)
    return _moved(part_cost, sums, view, np.flatnonzero(chosen), deadline)


def share_out(
    rules: Rules,
    cost: FloatArray,
    labels: IntArray,
    margin: FloatArray,
    prices: FloatArray,
    deadline: Deadline = NEVER,
) -> IntArray | None:
    """Assign groups of one row again so that the sizes are kept; None if that fails or time ends.

    Sizes are the only sums, the labels obey the pairs, and prices are those to start from.  The
    margin is what the next best cluster of a group costs more: of two groups in a pair, that of the
    smaller margin may move.
    """
    chosen = _unrelated(rules, margin, rules.count == 1)
    part, part_cost = restricted(rules, cost, labels, chosen)
    if part.sizes is None or not chosen.any():
        return None
    try:
        low, high, soft = part.sizes.lower, part.sizes.upper, part.sizes.soft
        found = ship_units(part_cost, low, high, prices, deadline, soft)[0]
    except (NoAssignment, OutOfTime):
        return None
    labels = labels.copy()
    labels[chosen] = found
    return labels


def _unrelated(rules: Rules, margin: FloatArray, able: BoolArray) -> BoolArray:
    """Some of the able groups, no two in a pair, those of smaller margin first."""
    rank = np.empty(len(margin), np.int64)
    rank[np.argsort(np.where(able, margin, np.inf), kind="stable")] = np.arange(len(margin))
    pairs = np.concatenate([rules.apart, rules.together, rules.soft.pairs])
    first = np.full(len(margin), len(margin))
    np.minimum.at(first, pairs[:, 0], rank[pairs[:, 1]])
    np.minimum.at(first, pairs[:, 1], rank[pairs[:, 0]])
    return np.asarray(able & (rank < first))


def _moved(
    cost: FloatArray, sums: Sums, view: View, pool: IntArray, deadline: Deadline
) -> IntArray | None:
    """Move groups of the pool, which have these costs, until all sums are kept."""
    labels = view.labels.copy()
    moves = Moves(cost, sums.part(pool), labels[pool], sums.reached(labels), sums.unit)
    for _ in range(REPAIR_MOVES):
        if not sums.outside(moves.reached).any():
            labels[pool] = moves.own
            return labels
        row = int(moves.rate.argmin())
        if not np.isfinite(moves.rate[row]) or deadline.passed:
            return None
        moves.make(row)
    return None


class Moves:
    """The move of each group that corrects most for its cost, kept up to date as groups move.

    Attributes
    ----------
    own : (p,) array
        Clusters of the groups.
    reached : (r, k) array
        What the sums of the clusters are.
    to, rate : (p,) arrays
        The cluster that each group should move to, and what that costs for what it corrects;
        infinite if no move of the group corrects anything.
    """

    def __init__(
        self, cost: FloatArray, sums: Sums, own: IntArray, reached: FloatArray, unit: FloatArray
    ) -> None:
        self._cost, self._sums, self._unit = cost, sums, unit
        self.own, self.reached = own.copy(), reached.copy()
        self.to, self.rate = own.copy(), np.full(len(own), np.inf)
        self._renew(np.arange(len(own)))

    def make(self, row: int) -> None:
        """Make the move of one group.

        It changes two clusters.  Groups in these, and those that were about to move to them, look
        at all clusters anew; the others look at these two.
        """
        changed = np.array([self.own[row], self.to[row]])
        self.reached[:, changed] += np.outer(self._sums.values[:, row], [-1.0, 1.0])
        self.own[row] = self.to[row]
        stale = np.isin(self.own, changed) | np.isin(self.to, changed)
        self._renew(np.flatnonzero(stale))
        others = np.flatnonzero(~stale)
        rate = self._rates(others, changed)
        place = rate.argmin(axis=1)
        least = rate[np.arange(len(others)), place]
        better = least < self.rate[others]
        self.to[others[better]], self.rate[others[better]] = changed[place[better]], least[better]

    def _renew(self, rows: IntArray) -> None:
        """Look at all clusters."""
        rate = self._rates(rows, np.arange(self._cost.shape[1]))
        self.to[rows] = rate.argmin(axis=1)
        self.rate[rows] = rate[np.arange(len(rows)), self.to[rows]]

    def _rates(self, rows: IntArray, to: IntArray) -> FloatArray:
        """What moves of groups into clusters cost for what they correct, infinite if nothing."""
        own, sums = self.own[rows], self._sums
        rise = self._cost[np.ix_(rows, to)] - self._cost[rows, own][:, None]
        corrected = np.zeros(rise.shape)
        for r, value in enumerate(sums.values[:, rows]):
            low, high, now = sums.lower[r], sums.upper[r], self.reached[r]
            missed = outside(now, low, high)
            then = outside(now[to] + value[:, None], low[to], high[to])
            gone = outside(now[own] - value, low[own], high[own])
            corrected += (missed[to] - then + (missed[own] - gone)[:, None]) / self._unit[r]
        possible = (corrected > 1e-12) & np.isfinite(rise) & (own[:, None] != to)
        return np.where(possible, rise / np.where(possible, corrected, 1.0), np.inf)
