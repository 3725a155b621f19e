"""Sums and pairs of groups of any count: dual prices, reduced-cost fixing, a small program.

With prices in place of the bounds on sums only the pairs are left, and the best labels under them
give a lower bound on the cost of every answer (Lagrangian duality, at any prices p):

    L(p) = min over labels of cost + sum_rj p_rj s_rj  -  sum_rj max over allowed s of p_rj s.

A group whose reduced cost in a cluster exceeds the difference between the best known answer and the
bound is not there in any better answer.  Groups that have one cluster left are fixed: the bounds
are reduced by what they take, and their pairs become costs of their partners.  The *open* groups
are left as a small program.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by
from ..deadline import NEVER, Deadline, OutOfTime
from ..numbers import FEW_GROUPS, GROWTH, PROGRAM_SECONDS
from ..rules import Rules
from ..search import prices as soft
from .check import Assignment, NoAssignment, broken, cost_of
from .feasible import place_by_room
from .pairs import descend, pair_graph, solve_pairs
from .program import solve_program
from .sizes import Room, scan, solve_units


@dataclass(frozen=True)
class View:
    """The best labels under the pairs at some prices, (r, k), and the bound.

    ``own`` and ``margin`` are the cheapest cluster of each group without pairs, and what its next
    best costs more; ``repair`` is what its component costs more because of its pairs.
    """

    prices: FloatArray
    labels: IntArray
    own: IntArray
    margin: FloatArray
    repair: FloatArray
    bound: float


def solve_sums(
    rules: Rules,
    cost: FloatArray,
    *,
    incumbent: IntArray | None = None,
    deadline: Deadline = NEVER,
    until: Deadline = NEVER,
    prices: FloatArray | None = None,
    first: bool = False,
) -> Assignment:
    """Cheapest labels under all rules, in the order of the sizes given.

    With ``first`` the search ends with the first labels that obey the rules.

    Arguments and errors are those of :func:`corral.exact.assign`, but pins are infinite costs, and
    ``until`` is the deadline for prices and the first answer.
    """
    if cost.size <= 2 * FEW_GROUPS:
        return solve_program(rules, cost, incumbent=incumbent, deadline=deadline)
    search = _Search(rules, cost)
    view = search.prices(prices, until)
    search.offer(incumbent)
    search.offer(view.labels)
    if search.labels is None:
        search.offer(_shared_out(rules, cost, view, until))
    if search.labels is None:
        with suppress(OutOfTime):
            search.offer(place_by_room(rules, until, cost + search.sums.values.T @ view.prices))
    optimal = search.close(view, deadline, first)
    if search.labels is None:
        raise OutOfTime
    return Assignment(search.labels, search.value, optimal, warm=view.prices)


class _Search:
    """The rules, the costs and the best labels so far."""

    def __init__(self, rules: Rules, cost: FloatArray) -> None:
        self.rules, self.cost = rules, cost
        self.sums = rules.sums().and_(rules.soft_sums)
        self.labels: IntArray | None = None
        self.value, self.least = np.inf, float(cost.min(axis=1).sum())
        self.rough = False  # a 2-core was too large: bounds leave out what the pairs cost

    def offer(self, labels: IntArray | None) -> None:
        """Keep labels that break nothing and cost less."""
        if labels is None or broken(self.rules, labels):
            return
        total = cost_of(self.rules, self.cost, labels)
        if total < self.value:
            self.labels, self.value = labels, total

    @property
    def tolerance(self) -> float:
        """Difference between the value and the bound up to which the labels count as proven."""
        if self.labels is None:
            return 0.0
        return 1e-9 * (self.value - self.least) + 1e-13 * abs(self.value)

    def prices(self, known: FloatArray | None, until: Deadline) -> View:
        """The view of the highest bound among those of prices at falling temperatures."""
        sums = self.sums
        start = np.zeros_like(sums.lower)
        if known is not None:
            known = np.atleast_2d(known)[: len(start)]
            start[: len(known)] = known
        view = self.look(start, until)
        if not len(sums):
            return view
        bounds = soft.Sums(np.ascontiguousarray(sums.values.T), sums.lower.T, sums.upper.T)
        scale = _typical(self.cost)
        found = soft.Found(start.T, scale if known is None else 1e-2 * scale, 0.0)
        cost, before = self.cost, np.inf
        try:
            while True:
                found = soft.find_prices(soft.DenseCosts(cost), bounds, scale, found, until, until)
                trial = self.look(found.prices.T, until)
                colder = found.eps < before  # it rises again where the bounds cannot be kept
                if not colder or (trial.bound <= view.bound and found.eps < 1e-3 * scale):
                    break
                view = max(view, trial, key=lambda each: each.bound)
                cost, before = self._pinned(trial), found.eps
                found = replace(found, eps=0.2 * found.eps)
            number = FEW_GROUPS
            while number <= GROWTH**2 * FEW_GROUPS:
                prices = self._open_prices(view, number, until)
                if prices is None:
                    number *= GROWTH
                    continue
                trial = self.look(prices, until)
                if trial.bound <= view.bound + 1e-12 * abs(view.bound):
                    break
                view = trial
        except OutOfTime:
            pass
        return view

    def _open_prices(self, view: View, number: int, until: Deadline) -> FloatArray | None:
        """Dual prices of the linear program over groups of small margin; None if it has none.

        All other groups, and those that pairs have moved, stay where they are.
        """
        sums, k = self.sums, self.cost.shape[1]
        margin = np.where(view.labels == view.own, view.margin, np.inf)
        rows = np.argsort(margin, kind="stable")[:number]
        rows = rows[np.isfinite(margin[rows])]
        if not len(rows):
            return None
        priced = self.cost[rows] + sums.values[:, rows].T @ view.prices
        priced -= priced.min(axis=1, keepdims=True)
        group, cluster = np.nonzero(priced <= 4.0 * margin[rows[-1]])
        values = sums.values[:, rows[group]]
        own = [sums_by(view.labels[rows], value, k) for value in sums.values[:, rows]]
        used = sums.reached(view.labels) - np.array(own)
        row = (np.arange(len(sums))[:, None] * k + cluster).ravel()
        entries = values.ravel(), (row, np.tile(np.arange(len(group)), len(sums)))
        A = sparse.csr_array(entries, shape=(used.size, len(group)))
        sides = np.concatenate([(sums.upper - used).ravel(), (used - sums.lower).ravel()])
        both, kept = sparse.vstack([A, -A], format="csr"), np.isfinite(sides)
        one = sparse.csr_array((np.ones(len(group)), (group, np.arange(len(group)))))
        below = both[np.flatnonzero(kept)], sides[kept]
        limit = {"time_limit": min(until.check(), PROGRAM_SECONDS)}
        found = linprog(priced[group, cluster], *below, one, np.ones(len(rows)), options=limit)
        if found.status != 0:
            return None
        dual = np.zeros(len(sides))
        dual[kept] = -found.ineqlin.marginals
        upper, lower = dual.reshape(2, *used.shape)
        return np.asarray(view.prices + upper - lower)

    def _pinned(self, view: View) -> FloatArray:
        """Costs with the groups that pairs moved kept where these are."""
        rows = np.flatnonzero(view.labels != view.own)
        if not len(rows):
            return self.cost
        cost = self.cost.copy()
        cost[rows] = np.inf
        cost[rows, view.labels[rows]] = self.cost[rows, view.labels[rows]]
        return cost

    def look(self, prices: FloatArray, until: Deadline) -> View:
        """Best labels and bound at given prices, of which those of missing bounds count as 0.

        Prices of soft sums are at most that of a unit outside the bounds.
        """
        until.check()
        sums, cost = self.sums, self.cost
        prices = np.clip(prices, -sums.price, sums.price)
        prices = np.where(np.isinf(sums.upper), np.minimum(prices, 0.0), prices)
        prices = np.where(np.isinf(sums.lower), np.maximum(prices, 0.0), prices)
        priced = cost + sums.values.T @ prices
        own, best, margin = scan(priced, np.zeros(cost.shape[1]))
        labels, repair = self._place(priced, own, until)
        held = np.where(prices > 0, sums.upper, sums.lower)
        paid = float((prices[prices != 0] * held[prices != 0]).sum())
        bound = float(best.sum() + repair.sum()) - paid
        component = pair_graph(self.rules).component
        return View(prices, labels, own, margin, repair[component], bound)

    def _place(
        self, priced: FloatArray, own: IntArray, until: Deadline
    ) -> tuple[IntArray, FloatArray]:
        """Best labels under the pairs, and what each component costs more because of them."""
        graph, repair = pair_graph(self.rules), np.zeros(len(own))
        if not graph.broken(own).any():
            return own, repair
        if not self.rough:
            try:
                labels, proven = solve_pairs(self.rules, priced, until)
                self.rough = not proven
            except OutOfTime:
                self.rough = True
        if self.rough:
            good = descend(graph, priced, until)
            return own if good is None else good, repair
        rows = np.flatnonzero(labels != own)
        rise = priced[rows, labels[rows]] - priced[rows, own[rows]]
        repair += sums_by(graph.component[rows], rise, len(own))
        repair += sums_by(graph.component[graph.a], graph.paid(labels), len(own))
        return labels, repair

    def close(self, view: View, deadline: Deadline, first: bool) -> bool:
        """Solve for more and more open groups until the answer is proven; whether it is."""
        slack, number = view.margin - view.repair, FEW_GROUPS
        while True:
            room = self.value - view.bound
            if room <= self.tolerance:
                return True
            if deadline.passed or (first and self.labels is not None):
                return False
            reach = room
            if number < len(slack):
                reach = min(room, max(float(np.partition(slack, number)[number]), 0.0))
            last, soon = reach >= room, deadline
            if first or (self.labels is not None and not last):
                soon = deadline.within(PROGRAM_SECONDS)
            try:
                solved = self._solve(view, slack <= reach, reach, soon)
            except NoAssignment:
                if last and self.labels is None:
                    raise
                solved = last  # every group that could be better elsewhere took part
            if last or (solved and self.value - view.bound <= reach + self.tolerance):
                return solved
            number *= GROWTH

    def _solve(self, view: View, opened: BoolArray, reach: float, deadline: Deadline) -> bool:
        """Offer the best labels with reduced costs within reach; whether they are proven.

        Raises NoAssignment if there are none.
        """
        labels = np.where(opened, view.labels, view.own)
        if opened.any():
            part, cost = restricted(self.rules, self.cost, labels, opened)
            gap = self.cost[opened] + self.sums.values[:, opened].T @ view.prices
            gap -= gap.min(axis=1, keepdims=True)
            cost[gap > reach + view.repair[opened][:, None]] = np.inf
            try:
                found = solve_program(part, cost, deadline=deadline)
            except OutOfTime:
                return False
            labels[opened] = found.labels
        if broken(self.rules, labels):
            raise NoAssignment  # two groups that are not open break a pair
        self.offer(labels)
        return found.optimal if opened.any() else True


def _typical(cost: FloatArray) -> float:
    """Mean of the costs above the least one of each group; 1 if all are equal."""
    above = cost - cost.min(axis=1, keepdims=True)
    above = above[np.isfinite(above)]
    return float(above.mean()) if above.any() else 1.0


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


def _shared_out(rules: Rules, cost: FloatArray, view: View, deadline: Deadline) -> IntArray | None:
    """Labels with groups of one row assigned again so that sizes are kept; None if that fails.

    No two of these groups share a pair: of each pair the one of smaller margin may move.
    """
    if rules.sizes is None or rules.totals or rules.linear is not None:
        return None
    able, m = rules.count == 1, rules.n_groups
    rank = np.empty(m, np.int64)
    rank[np.argsort(np.where(able, view.margin, np.inf), kind="stable")] = np.arange(m)
    pairs = np.concatenate([rules.apart, rules.together, rules.soft.pairs])
    first = np.full(m, m)
    np.minimum.at(first, pairs.ravel(), rank[pairs[:, ::-1].ravel()])
    chosen = np.asarray(able & (rank < first))
    part, part_cost = restricted(rules, cost, view.labels, chosen)
    if part.sizes is None or not chosen.any():
        return None
    try:
        found = solve_units(part_cost, Room.of_sizes(part.sizes), view.prices[0], deadline)[0]
    except (NoAssignment, OutOfTime):
        return None
    labels = view.labels.copy()
    labels[chosen] = found
    return labels
