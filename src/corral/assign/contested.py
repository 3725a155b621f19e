"""Large problems with sums and pairs: prices settle most groups, a small program the rest.

At the prices of :mod:`.duals` a group whose next best cluster costs more than what separates the
best known answer from the bound is where every better answer has it.  Those groups are fixed;
what they take is taken off the bounds, their pairs become costs of their partners, and the
contested groups are left as a small problem of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import BoolArray, FloatArray, IntArray
from ..problem import Problem, SoftPairs, TotalBounds
from .check import broken, sums_by
from .components import PairGraph, pair_graph, solve_pairs
from .duals import Sums, View, alone, ascend
from .repair import repaired
from .result import Assignment, NoAssignment, OutOfTime

#: Groups in the sample that gives the first prices, and steps towards them.
SAMPLE = 2000
SAMPLE_ROUNDS = 40
ROUNDS = 12

#: Contested groups in the first program; so many times more in the next, if need be.
FIRST_CONTESTED = 300
WIDEN = 4

#: Tangles of pairs larger than this are not solved again at every look at prices.
LARGEST_TANGLE = 60

#: Solves a problem exactly, given its costs, labels to beat and a deadline.
Exact = Callable[[Problem, FloatArray, IntArray | None, float | None], Assignment]


class Tangled(Exception):  # noqa: N818 - an outcome, not a fault
    """The pairs are too entangled for prices to split the problem."""


def solve_contested(
    problem: Problem,
    cost: FloatArray,
    exact: Exact,
    *,
    incumbent: IntArray | None = None,
    deadline: float | None = None,
    prices: FloatArray | None = None,
) -> Assignment:
    """Cheapest labels under sizes, totals and pairs, in the order of the sizes given.

    Parameters
    ----------
    problem : Problem
        Without linear rows; its pins are not looked at.
    cost : (m, k) array
        Infinite where a group may not go.
    exact : callable
        For the contested groups.
    incumbent, deadline, prices
        As for :func:`corral.assign.assign`.

    Raises
    ------
    Tangled
        Large parts of the graph of pairs have cycles and clash.
    NoAssignment, OutOfTime
    """
    sums = Sums.of(problem)
    pairs = _Pairs.of(problem)
    start = _first_prices(cost, sums) if prices is None else prices.reshape(sums.lower.shape)
    view = ascend(cost, sums, start, pairs.place, ROUNDS)
    best = _Best(problem, cost)
    best.offer(incumbent)
    best.offer(repaired(problem, cost, sums, view))
    try:
        optimal = _narrow(problem, cost, exact, sums, view, best, deadline)
    except OutOfTime:
        optimal = False
    if best.labels is None:
        raise OutOfTime
    return Assignment(best.labels, best.cost, optimal, prices=view.prices.squeeze(0)
                      if len(view.prices) == 1 else view.prices)


def _first_prices(cost: FloatArray, sums: Sums) -> FloatArray:
    rows = np.sort(np.random.default_rng(0).integers(0, len(cost), min(SAMPLE, len(cost))))
    nothing = np.zeros_like(sums.lower)
    return ascend(cost[rows], sums.sample(rows), nothing, alone, SAMPLE_ROUNDS).prices


def _narrow(
    problem: Problem,
    cost: FloatArray,
    exact: Exact,
    sums: Sums,
    view: View,
    best: _Best,
    deadline: float | None,
) -> bool:
    """Solve for more and more contested groups until the answer proves itself."""
    slack = view.margin - view.repair
    number = max(FIRST_CONTESTED, int(3 * view.misplaced(sums)))
    while True:
        room = best.cost - view.bound
        reach = np.inf
        if number < len(slack):
            reach = max(float(np.partition(slack, number)[number]), 0.0)
        reach = min(reach, room * (1 + 1e-9))
        contested = slack <= reach
        contested |= slack <= 0
        try:
            part, part_cost = restricted(problem, cost, view.labels, contested)
            known = best.labels
            same = known is not None and np.array_equal(known[~contested], view.labels[~contested])
            found = exact(part, part_cost, known[contested] if same and known is not None else None, deadline)
            labels = view.labels.copy()
            labels[contested] = found.labels
            best.offer(labels)
            if not found.optimal:
                return False
        except NoAssignment:
            if contested.all():
                raise
        if contested.all() or best.cost - view.bound <= reach + 1e-9 * abs(best.cost):
            return True
        number *= WIDEN


class _Best:
    """The best labels so far."""

    def __init__(self, problem: Problem, cost: FloatArray) -> None:
        self.problem, self._cost = problem, cost
        self.labels: IntArray | None = None
        self.cost = np.inf

    def offer(self, labels: IntArray | None) -> None:
        """Keep labels that break nothing and cost less."""
        if labels is None or broken(self.problem, labels):
            return
        total = float(self._cost[np.arange(len(labels)), labels].sum())
        total += self.problem.soft.cost(labels)
        if total < self.cost:
            self.labels, self.cost = labels, total


@dataclass(frozen=True)
class _Pairs:
    """The graph of pairs with its components, to find best labels for many costs."""

    problem: Problem
    graph: PairGraph
    component: IntArray

    @classmethod
    def of(cls, problem: Problem) -> _Pairs:
        graph, m = pair_graph(problem), problem.n_groups
        links = sparse.coo_array((np.ones(len(graph.a), np.int8), (graph.a, graph.b)), shape=(m, m))
        return cls(problem, graph, connected_components(links, directed=False)[1])

    def place(self, priced: FloatArray, own: IntArray) -> tuple[IntArray, FloatArray, float]:
        """Best labels under the pairs, as :data:`.duals.Placing`."""
        if not self.graph.broken(own).any():
            return own, np.zeros(len(own)), 0.0
        labels = solve_pairs(self.problem, priced, _small_core, self.graph)
        rows = np.flatnonzero(labels != own)
        dearer = priced[rows, labels[rows]] - priced[rows, own[rows]]
        repair = sums_by(self.component[rows], dearer, len(own))
        agree = labels[self.graph.a] == labels[self.graph.b]
        paid = np.where(agree, self.graph.same, self.graph.differ)
        repair += sums_by(self.component[self.graph.a], paid, len(own))
        return labels, repair[self.component], float(repair.sum())


def _small_core(part: Problem, cost: FloatArray) -> IntArray:
    from .milp import solve_milp

    if part.n_groups > LARGEST_TANGLE:
        raise Tangled
    return solve_milp(part, cost).labels


def restricted(
    problem: Problem, cost: FloatArray, labels: IntArray, chosen: BoolArray
) -> tuple[Problem, FloatArray]:
    """The problem of some groups, the others being where the labels have them; and its costs."""
    number = np.cumsum(chosen) - 1
    left = cost[chosen]
    for pairs, price, together in (
        (problem.apart, np.full(len(problem.apart), np.inf), False),
        (problem.together, np.full(len(problem.together), np.inf), True),
        (problem.soft.pairs[~problem.soft.together], problem.soft.price[~problem.soft.together], False),
        (problem.soft.pairs[problem.soft.together], problem.soft.price[problem.soft.together], True),
    ):
        for a, b in (pairs.T, pairs.T[::-1]):
            half = chosen[a] & ~chosen[b]
            row, cluster = number[a[half]], labels[b[half]]
            if not together:
                np.add.at(left, (row, cluster), price[half])
            elif half.any():
                extra = np.repeat(price[half][:, None], left.shape[1], axis=1)
                extra[np.arange(len(row)), cluster] = 0.0
                np.add.at(left, row, extra)
    inside = chosen[problem.soft.pairs].all(axis=1)
    soft = SoftPairs(
        number[problem.soft.pairs[inside]], problem.soft.price[inside], problem.soft.together[inside]
    )
    return (
        replace(
            problem,
            points=np.zeros((int(chosen.sum()), 1)),
            weight=problem.weight[chosen],
            count=problem.count[chosen],
            group=np.arange(int(chosen.sum())),
            pins=np.empty((0, 2), np.int64),
            apart=number[problem.apart[chosen[problem.apart].all(axis=1)]],
            together=number[problem.together[chosen[problem.together].all(axis=1)]],
            soft=soft,
            **_remaining(problem, labels, chosen),
        ),
        left,
    )


def _remaining(problem: Problem, labels: IntArray, chosen: BoolArray) -> dict[str, object]:
    """Bounds less what the fixed groups take."""
    rest, k = ~chosen, problem.n_clusters
    sizes = problem.sizes
    if sizes is not None:
        taken = sums_by(labels[rest], problem.count[rest], k).astype(np.int64)
        sizes = replace(sizes, lower=np.maximum(sizes.lower - taken, 0), upper=sizes.upper - taken, ordered=True)
    totals = []
    for total in problem.totals:
        taken_total = sums_by(labels[rest], total.values[rest], k)
        totals.append(
            TotalBounds(total.values[chosen], total.lower - taken_total, total.upper - taken_total)
        )
    return {"sizes": sizes, "totals": tuple(totals)}
