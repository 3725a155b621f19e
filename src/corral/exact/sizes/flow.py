"""Cluster sizes by min-cost flow.

A group is a source of as many units as it has members and every cluster a sink; a unit from
group g to cluster j costs ``cost[g, j] / count[g]``.  With equal counts the flow is an
assignment; with unequal ones it may split a group and is the linear relaxation.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray
from ...rules import SoftSizes
from ..result import NoAssignment
from .room import Room

#: Costs become integers between 0 and at most this many levels.  Each unit of flow is then
#: known to half a level, so the flow found costs at most ``units / 2**44`` times the largest
#: cost (after the least of its row is subtracted) more than the best one.  Finer levels would only
#: resolve the rounding errors of the costs themselves, and make equal costs unequal.
LEVELS = 2.0**44
#: Seconds that a flow takes for each of its arcs, about.  It cannot be interrupted, so that it does
#: not begin where that is more than the time left.  Measured: 3e-7 to 5e-7 from 200,000 arcs on.
FLOW_SECONDS = 5e-7


def fitting(lower: IntArray, upper: IntArray, total: int) -> tuple[IntArray, IntArray]:
    """The bounds between 0 and the total; raises NoAssignment if the total does not fit."""
    lower, upper = np.maximum(lower, 0), np.minimum(upper, total)
    if np.any(lower > upper) or not lower.sum() <= total <= upper.sum():
        raise NoAssignment
    return lower, upper


def transport(
    unit_cost: FloatArray,
    supply: IntArray,
    lower: IntArray,
    upper: IntArray,
    soft: SoftSizes | None = None,
) -> IntArray:
    """Cheapest flow (m, k) of the supplies into clusters that take ``lower`` to ``upper``.

    With soft sizes their prices are part of the cost.

    Raises
    ------
    NoAssignment
        When the supplies do not fit.
    """
    lower, upper = fitting(lower, upper, int(supply.sum()))
    arcs = np.flatnonzero(np.isfinite(unit_cost))
    least = unit_cost.min(axis=1, keepdims=True)
    if not np.isfinite(least).all():
        raise NoAssignment
    cost = (unit_cost - least).ravel()[arcs]
    room = Room.of(lower, upper, soft)
    tolls = room.tolls(float(cost.max(initial=0.0)))
    return flow_over(cost, arcs, supply, lower, room.breaks[:, 1:], tolls)


def flow_over(
    cost: FloatArray,
    arcs: IntArray,
    supply: IntArray,
    lower: IntArray,
    upper: IntArray,
    toll: FloatArray | float = 0.0,
) -> IntArray:
    """Cheapest flow (m, k) over some arcs, ``row * k + cluster`` each, whose least cost is 0.

    Cluster j takes at least ``lower[j]`` units and up to ``upper[j]``, the further ones for a toll.
    With several columns in ``upper`` and ``toll``, (k, t), the units up to each of them pay its
    toll; tolls rise from column to column.
    """
    m, k = len(supply), len(lower)
    upper = upper.reshape(k, -1)
    toll = np.broadcast_to(np.reshape(toll, (-1, upper.shape[1])), upper.shape)
    spare = np.diff(np.column_stack([lower, upper]), axis=1)
    largest = max(float(cost.max(initial=0.0)), float(toll.max(initial=0.0)))
    # OR-Tools multiplies the costs by the number of nodes and refuses those that overflow.
    levels = min(LEVELS, 2.0**60 / (m + k + 2))
    row, cluster = np.divmod(arcs, k)
    ends = row.astype(np.int32), cluster.astype(np.int32)
    while True:
        scale = levels / largest if largest > 0 else 0.0
        whole, tolls = (np.rint(value * scale).astype(np.int64) for value in (cost, toll))
        flow = _whole_flow(whole, ends, supply, lower, spare, tolls)
        if flow is not None:
            found = np.zeros(m * k, np.int64)
            found[arcs] = flow
            return found.reshape(m, k)
        levels /= 2.0**6


def _whole_flow(
    cost: IntArray,
    ends: tuple[IntArray, IntArray],
    supply: IntArray,
    lower: IntArray,
    spare: IntArray,
    toll: IntArray,
) -> IntArray | None:
    """Flow of the arcs for whole costs, or None if they are too large for the solver.

    A lower bound is met by the standard transformation: cluster j takes ``lower[j]`` for good,
    and up to ``spare[j]`` more, (k, t), go on to a common sink for their tolls.
    """
    from ortools.graph.python import min_cost_flow  # 40 ms that most imports never need

    m, k = len(supply), len(lower)
    solver = min_cost_flow.SimpleMinCostFlow()
    row, cluster = ends
    links = solver.add_arcs_with_capacity_and_unit_cost(
        row, cluster + np.int32(m), supply[row], cost
    )
    if spare.any():
        filled = np.repeat(np.arange(m, m + k, dtype=np.int32), spare.shape[1])
        sink = np.full(len(filled), m + k, np.int32)
        solver.add_arcs_with_capacity_and_unit_cost(filled, sink, spare.ravel(), toll.ravel())
    nodes = np.arange(m + k + 1, dtype=np.int32)
    solver.set_nodes_supplies(nodes, np.concatenate([supply, -lower, [lower.sum() - supply.sum()]]))
    status = solver.solve()
    if status == solver.BAD_COST_RANGE:
        return None
    if status != solver.OPTIMAL:
        raise NoAssignment
    flow: IntArray = solver.flows(links)
    return flow
