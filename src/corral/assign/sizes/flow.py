"""Cluster sizes by min-cost flow, and the prices that explain the answer.

A group is a source of as many units as it has members and every cluster a sink; a unit from
group g to cluster j costs ``cost[g, j] / count[g]``.  With equal counts the flow is an
assignment; with unequal ones it may split a group and is the linear relaxation.
"""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...presolve import SizeBounds
from ..check import sums_by
from ..result import NoAssignment

#: Costs become integers between 0 and at most this many levels.  Each unit of flow is then
#: known to half a level, so the flow found costs at most ``units / 2**44`` times the largest
#: cost (after its row's least is taken off) more than the best one.  Finer levels would only
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


def prices(
    labels: IntArray,
    cost: FloatArray,
    sizes: SizeBounds | None = None,
    count: IntArray | None = None,
) -> FloatArray:
    r"""Price per point of each cluster that makes every group content where it is.

    If the labels are optimal for their sizes there are prices :math:`\lambda` with
    ``labels[g]`` in ``argmin_j cost[g, j] + count[g] * lambda[j]``.  Exchanging the sizes
    ``u_j`` and ``u_l`` of two clusters changes the cost by about
    ``(u_j - u_l) * (lambda[j] - lambda[l])``.  Where other rules keep groups from their best
    cluster no such prices exist; then these miss the law by as little as possible.

    Parameters
    ----------
    labels : (m,) array
    cost : (m, k) array
    sizes : SizeBounds, optional
        With bounds that are intervals a cluster strictly inside its own has price 0, one at
        its upper end a price of at least 0, one at its lower end at most 0.  Without them, and
        with exact sizes, prices are known up to a constant and have mean 0.
    count : (m,) array, optional
        Members of each group, 1 unless given.

    Returns
    -------
    (k,) array
        Midway between the lowest and the highest such prices.
    """
    m, k = cost.shape
    count = np.ones(m, np.int64) if count is None else count
    held = np.zeros((m, k), bool)
    held[np.arange(m), labels] = True
    return flow_prices(held, cost / count[:, None], sums_by(labels, count, k), sizes)


def flow_prices(
    held: BoolArray, unit_cost: FloatArray, counted: FloatArray | IntArray, sizes: SizeBounds | None
) -> FloatArray:
    """Prices for a flow: ``held[g, j]`` where group g sends something to cluster j."""
    k = unit_cost.shape[1]
    moves = np.full((k + 1, k + 1), np.inf)
    cluster, group = np.nonzero(held.T)
    filled, starts = np.unique(cluster, return_index=True)
    change = unit_cost[group] - unit_cost[group, cluster][:, None]
    moves[filled, :k] = np.minimum.reduceat(change, starts, axis=0)
    if sizes is not None:
        # The last node is the world outside, at price 0: room above allows no positive
        # price, and room below no negative one.
        inside = sizes.lower < sizes.upper
        moves[:k, k][inside & (counted < sizes.upper)] = 0.0
        moves[k, :k][inside & (counted > sizes.lower)] = 0.0
    anchored = sizes is not None and np.any(sizes.lower < sizes.upper)
    return settle(moves, anchored=bool(anchored))[0]


def settle(moves: FloatArray, *, anchored: bool) -> tuple[FloatArray, float]:
    """Prices at which no move pays.

    Parameters
    ----------
    moves : (k + 1, k + 1) array
        What the cheapest move from cluster a to b costs; the last node is the world outside.
        Its diagonal is overwritten.
    anchored : bool
        Whether the price of the world outside, 0, means anything; otherwise the mean is 0.

    Returns
    -------
    prices : (k,) array
        ``prices[a] <= prices[b] + moves[a, b]``: the mean of those that shortest paths to and
        from every cluster give.
    missed : float
        By how much a move can still pay: 0 unless some cycle of moves does.
    """
    np.fill_diagonal(moves, 0.0)
    missed = 0.0
    high, low = _potentials(moves), _potentials(moves.T)
    if high is None or low is None:
        missed = -_least_mean_cycle(moves)
        lifted = moves + missed * (1.0 + 1e-9)
        np.fill_diagonal(lifted, 0.0)
        high, low = _bellman_ford(lifted)[0], _bellman_ford(lifted.T)[0]
    result = (high - low) / 2
    return np.asarray(result[:-1] - (result[-1] if anchored else result[:-1].mean())), missed


def _potentials(moves: FloatArray) -> FloatArray | None:
    """Highest prices ``p <= 0`` with ``p[a] <= p[b] + moves[a, b]``, None if there are none."""
    price, done = _bellman_ford(moves)
    return price if done else None


def _bellman_ford(moves: FloatArray) -> tuple[FloatArray, bool]:
    price = np.zeros(len(moves))
    for _ in range(len(moves) + 1):
        lower = (moves + price).min(axis=1)
        if np.array_equal(lower, price):
            return price, True
        price = lower
    return price, False


def _least_mean_cycle(moves: FloatArray) -> float:
    """Least mean length of a cycle, by Karp; the zero loops make it at most 0."""
    size = len(moves)
    walks = np.zeros((size + 1, size))
    for step in range(size):
        walks[step + 1] = (walks[step][:, None] + moves).min(axis=0)
    steps = size - np.arange(size)
    means = (walks[size] - walks[:size]) / steps[:, None]
    return float(means.max(axis=0).min())
