"""Exact assignment of groups to clusters: least cost under all hard rules.

:func:`assign` takes the cheapest method that the rules allow: nearest centre (``nearest``),
elimination over the graph of pairs (``components``), prices and min-cost flow (``transport``,
``flow``), or integer programming (``milp``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import FloatArray, IntArray
from ..problem import Problem
from .check import broken, matching_order
from .components import pair_graph, solve_pairs
from .contested import solve_contested
from .crowded import solve_crowded
from .descent import descend
from .feasibility import feasible
from .flow import prices
from .greedy import solve_greedily
from .milp import solve_milp
from .nearest import nearest, with_pins
from .relaxed import assign_relaxed, violation
from .result import Assignment, NoAssignment, OutOfTime
from .transport import solve_sizes

#: Tangles of pairs with more entries than this in their costs are solved well, not exactly.
LARGE = 20_000

#: Above so many entries of the costs, prices first tell which groups need a program at all.
MANY_ENTRIES = 10_000

__all__ = [
    "Assignment",
    "NoAssignment",
    "OutOfTime",
    "assign",
    "assign_relaxed",
    "broken",
    "feasible",
    "matching_order",
    "prices",
    "solve_crowded",
    "solve_greedily",
    "violation",
]


def assign(
    problem: Problem,
    cost: FloatArray,
    *,
    incumbent: IntArray | None = None,
    deadline: float | None = None,
    match_sizes: bool = False,
    prices: FloatArray | None = None,
) -> Assignment:
    """Assign every group to a cluster at least cost under all hard rules, exactly.

    Parameters
    ----------
    problem : Problem
    cost : (m, k) array
        Finite; what group g costs in cluster j, its weight included.
    incumbent : (m,) array, optional
        Labels that obey the rules, from an earlier round; they speed up the search and do not
        change the least cost.
    deadline : float, optional
        An instant of :func:`time.monotonic`.
    match_sizes : bool
        Choose also which cluster gets which size bounds, where the problem leaves it open;
        otherwise they stay in the order of ``problem.sizes``.
    prices : array, optional
        :attr:`Assignment.prices` of an earlier round; they speed up the search and do not
        change the least cost.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the rules.
    OutOfTime
        The deadline came before an answer or a proof.

    Examples
    --------
    >>> import numpy as np
    >>> from corral.problem import Problem, SizeBounds
    >>> problem = Problem(
    ...     points=np.zeros((3, 1)),
    ...     weight=np.ones(3),
    ...     count=np.ones(3, int),
    ...     scatter=0.0,
    ...     group=np.arange(3),
    ...     n_clusters=2,
    ...     sizes=SizeBounds(np.array([2, 1]), np.array([2, 1]), ordered=True),
    ... )
    >>> assign(problem, np.array([[4.0, 0.0], [3.0, 0.0], [9.0, 0.0]]))
    Assignment(labels=array([0, 0, 1]), cost=7.0, optimal=True, order=None)
    """
    pinned = with_pins(problem, cost)
    if problem.sizes is None and not problem.totals and problem.linear is None:
        labels, proven = _pairs(problem, pinned, deadline)
        return replace(_answer(problem, cost, labels, match=False), optimal=proven)
    match = match_sizes and problem.sizes_vary
    priced = problem.sizes is not None and not match and np.ptp(problem.count) == 0
    if prices is None or not priced:
        labels = nearest(pinned)
        if not broken(problem, labels) and problem.soft.cost(labels) == 0:
            return _answer(problem, cost, labels, match)
    if priced and problem.sizes is not None:
        start = None if prices is None else np.atleast_2d(prices)[0]
        labels, found = solve_sizes(pinned, problem.count, problem.sizes, start)
        if not broken(problem, labels) and problem.soft.cost(labels) == 0:
            return replace(_answer(problem, cost, labels, match), prices=found)
        prices = found if prices is None else prices
    if cost.size > MANY_ENTRIES and not match and problem.linear is None:
        return _contested(problem, pinned, incumbent, deadline, prices)
    return solve_milp(problem, pinned, incumbent=incumbent, deadline=deadline, match_sizes=match)


def _contested(
    problem: Problem,
    cost: FloatArray,
    incumbent: IntArray | None,
    deadline: float | None,
    prices: FloatArray | None,
) -> Assignment:
    def exact(
        part: Problem, part_cost: FloatArray, known: IntArray | None, until: float | None
    ) -> Assignment:
        return solve_milp(part, part_cost, incumbent=known, deadline=until)

    return solve_contested(
        problem, cost, exact, incumbent=incumbent, deadline=deadline, prices=prices
    )


def _answer(problem: Problem, cost: FloatArray, labels: IntArray, match: bool) -> Assignment:
    total = float(cost[np.arange(len(labels)), labels].sum()) + problem.soft.cost(labels)
    return Assignment(labels, total, order=np.arange(problem.n_clusters) if match else None)


def _pairs(problem: Problem, cost: FloatArray, deadline: float | None) -> tuple[IntArray, bool]:
    """Best labels under pairs, and whether they are proven to be."""
    proven = True

    def core(part: Problem, part_cost: FloatArray) -> IntArray:
        nonlocal proven
        known = descend(pair_graph(part), part_cost) if part_cost.size > LARGE else None
        if known is not None:
            proven = False
            return known
        found = solve_milp(part, part_cost, deadline=deadline)
        proven = proven and found.optimal
        return found.labels

    return solve_pairs(problem, cost, core), proven
