"""Cluster sizes by min-cost flow.

A group is a source of as many units as it has members and every cluster a sink; a unit from
group g to cluster j costs ``cost[g, j] / count[g]``.  With equal counts the flow is an
assignment; with unequal ones it may split a group and is the linear relaxation.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray
from ..result import NoAssignment

#: Costs become integers between 0 and at most this many levels.  Each unit of flow is then
#: known to half a level, so the flow found costs at most ``units / 2**44`` times the largest
#: cost (after the least of its row is subtracted) more than the best one.  Finer levels would only
#: resolve the rounding errors of the costs themselves, and make equal costs unequal.
LEVELS = 2.0**44


def transport(
    unit_cost: FloatArray, supply: IntArray, lower: IntArray, upper: IntArray
) -> IntArray:
    """Cheapest flow (m, k) of the supplies into clusters that take ``lower`` to ``upper``.

    Raises
    ------
    NoAssignment
        When the supplies do not fit.
    """
    total = int(supply.sum())
    lower, upper = np.maximum(lower, 0), np.minimum(upper, total)
    if np.any(lower > upper) or not lower.sum() <= total <= upper.sum():
        raise NoAssignment
    arcs = np.flatnonzero(np.isfinite(unit_cost))
    least = unit_cost.min(axis=1, keepdims=True)
    if not np.isfinite(least).all():
        raise NoAssignment
    shifted = (unit_cost - least).ravel()[arcs]
    largest = float(shifted.max(initial=0.0))
    # OR-Tools multiplies the costs by the number of nodes and refuses those that overflow.
    levels = min(LEVELS, 2.0**60 / (unit_cost.shape[0] + unit_cost.shape[1] + 2))
    while True:
        whole = np.rint(shifted * (levels / largest if largest > 0 else 0.0))
        flow = ship(whole.astype(np.int64), arcs, supply, lower, upper)
        if flow is not None:
            return flow
        levels /= 2.0**6


def ship(
    whole_cost: IntArray,
    arcs: IntArray,
    supply: IntArray,
    lower: IntArray,
    upper: IntArray,
    toll: IntArray | None = None,
) -> IntArray | None:
    """Flow for whole costs, or None if they are too large for the solver.

    A lower bound is met by the standard transformation: cluster j takes ``lower[j]`` for good,
    and up to ``upper[j] - lower[j]`` more go on to a common sink, each for ``toll[j]``.

    Raises
    ------
    NoAssignment
        When the supplies do not fit.
    """
    from ortools.graph.python import min_cost_flow  # 40 ms that most imports never need

    m, k = len(supply), len(lower)
    solver = min_cost_flow.SimpleMinCostFlow()
    tail, cluster = np.divmod(arcs.astype(np.int32), np.int32(k))
    links = solver.add_arcs_with_capacity_and_unit_cost(
        tail, cluster + np.int32(m), supply[tail], whole_cost
    )
    spare = upper - lower
    if spare.any():
        ends = np.arange(m, m + k, dtype=np.int32)
        solver.add_arcs_with_capacity_and_unit_cost(
            ends,
            np.full(k, m + k, np.int32),
            spare,
            np.zeros(k, np.int64) if toll is None else toll,
        )
    nodes = np.arange(m + k + 1, dtype=np.int32)
    solver.set_nodes_supplies(nodes, np.concatenate([supply, -lower, [lower.sum() - supply.sum()]]))
    status = solver.solve()
    if status == solver.BAD_COST_RANGE:
        return None
    if status != solver.OPTIMAL:
        raise NoAssignment
    flow = np.zeros(m * k, np.int64)
    flow[arcs] = solver.flows(links)
    return flow.reshape(m, k)


def ship_some(
    gap: FloatArray,
    arcs: IntArray,
    shape: tuple[int, int],
    least: IntArray,
    most: IntArray,
    toll: FloatArray,
) -> IntArray:
    """Flow of one unit a row over some arcs, at least cost plus a toll for each unit above least.

    Parameters
    ----------
    gap : (n_arcs,) array
        Cost of each arc.
    arcs : (n_arcs,) array
        ``row * k + cluster`` of each arc.
    shape : (m, k)
    least, most : (k,) arrays of int
    toll : (k,) array
    """
    largest = max(float(gap.max(initial=0.0)), float(toll.max(initial=0.0)))
    levels = min(LEVELS, 2.0**60 / (sum(shape) + 2))
    while True:
        scale = levels / largest if largest > 0 else 0.0
        whole, tolls = (np.rint(value * scale).astype(np.int64) for value in (gap, toll))
        flow = ship(whole, arcs, np.ones(shape[0], np.int64), least, most, tolls)
        if flow is not None:
            return flow
        levels /= 2.0**6
