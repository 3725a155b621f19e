"""Prices of the clusters: those that explain an assignment, and Newton's steps towards them.

A price is paid for every point that a cluster takes.  Prices explain an assignment if every group
is where it costs least, price included.
"""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...constraints._checks import sums_by
from ...deadline import NEVER, Deadline
from ...rules import SizeBounds
from .room import Room


def prices(
    labels: IntArray,
    cost: FloatArray,
    sizes: SizeBounds | None = None,
    count: IntArray | None = None,
    deadline: Deadline = NEVER,
) -> FloatArray:
    r"""Price per point of each cluster at which no group would rather be elsewhere.

    If the labels are optimal for their sizes there are prices :math:`\lambda` with
    ``labels[g]`` in ``argmin_j cost[g, j] + count[g] * lambda[j]``.  Exchanging the sizes
    ``u_j`` and ``u_l`` of two clusters changes the cost by about
    ``(u_j - u_l) * (lambda[j] - lambda[l])``.  Where other rules keep groups from their best
    cluster no such prices exist; then the largest violation is as small as possible.

    Where a cluster has an interval of sizes, its price is 0 strictly inside the interval, at least
    0 at the upper end and at most 0 at the lower end.  Without intervals prices are determined up
    to a constant; their mean is then 0.  They are midway between the lowest and the highest.
    OutOfTime is raised after the deadline.
    """
    m, k = cost.shape
    count = np.ones(m, np.int64) if count is None else count
    held = np.zeros((m, k), bool)
    held[np.arange(m), labels] = True
    return flow_prices(held, cost / count[:, None], sums_by(labels, count, k), sizes, deadline)


def flow_prices(
    held: BoolArray,
    unit_cost: FloatArray,
    counted: FloatArray | IntArray,
    sizes: SizeBounds | None,
    deadline: Deadline = NEVER,
) -> FloatArray:
    """Prices for a flow: ``held[g, j]`` where group g sends something to cluster j."""
    cluster, group = np.nonzero(held.T)
    moves = cheapest_moves(unit_cost[group], cluster)
    if sizes is None:
        return settle(moves, anchored=False, deadline=deadline)[0]
    add_outside(moves, counted, Room.of_sizes(sizes), np.zeros(unit_cost.shape[1]))
    anchored = bool(np.any(sizes.lower < sizes.upper))
    return settle(moves, anchored=anchored, deadline=deadline)[0]


def cheapest_moves(gap: FloatArray, labels: IntArray) -> FloatArray:
    """Least ``gap[i, b] - gap[i, a]`` over the rows i of each cluster a, (k + 1, k + 1).

    The last node stands for the outside of all clusters; no row is there.
    """
    k = gap.shape[1]
    moves = np.full((k + 1, k + 1), np.inf)
    order = np.argsort(labels, kind="stable")
    filled, starts = np.unique(labels[order], return_index=True)
    change = gap[order]
    change -= change[np.arange(len(order)), labels[order]][:, None]
    if len(order):
        moves[filled, :k] = np.minimum.reduceat(change, starts, axis=0)
    return moves


def add_outside(
    moves: FloatArray, counted: FloatArray | IntArray, room: Room, prices: FloatArray
) -> None:
    """Write the moves from and to the outside, whose price is 0, in place.

    A cluster's price is between the slopes before and after its size: of hard bounds, not positive
    with fewer points than the upper one and not negative with more than the lower one.
    """
    before, after = room.around(counted)
    moves[:-1, -1], moves[-1, :-1] = after - prices, prices - before


def settle(
    moves: FloatArray, *, anchored: bool, deadline: Deadline = NEVER
) -> tuple[FloatArray, float]:
    """Prices with ``prices[a] <= prices[b] + moves[a, b]``, and by how much a move can still pay.

    They are the mean of those that shortest paths to and from every cluster give.  Anchored, the
    price of the outside, which is the last node, is 0; otherwise the mean of the prices is 0.  A
    move still pays only if some cycle of moves does.  The diagonal is overwritten.  OutOfTime is
    raised after the deadline.
    """
    np.fill_diagonal(moves, 0.0)
    missed = 0.0
    (high, ended), (low, ended_too) = (_bellman_ford(a, deadline) for a in (moves, moves.T))
    if not (ended and ended_too):
        missed = -_least_mean_cycle(moves, deadline)
        lifted = moves + missed * (1.0 + 1e-9)
        np.fill_diagonal(lifted, 0.0)
        high, low = (_bellman_ford(a, deadline)[0] for a in (lifted, lifted.T))
    result = (high - low) / 2
    return np.asarray(result[:-1] - (result[-1] if anchored else result[:-1].mean())), missed


def _bellman_ford(moves: FloatArray, deadline: Deadline) -> tuple[FloatArray, bool]:
    """Highest prices ``p <= 0`` with ``p[a] <= p[b] + moves[a, b]``, and whether there are any."""
    price = np.zeros(len(moves))
    for _ in range(len(moves) + 1):
        deadline.check()
        lower = (moves + price).min(axis=1)
        if np.array_equal(lower, price):
            return price, True
        price = lower
    return price, False


def _least_mean_cycle(moves: FloatArray, deadline: Deadline) -> float:
    """Least mean length of a cycle, by Karp; the zero loops make it at most 0."""
    size = len(moves)
    walks = np.zeros((size + 1, size))
    for step in range(size):
        deadline.check()
        walks[step + 1] = (walks[step][:, None] + moves).min(axis=0)
    steps = size - np.arange(size)
    means = (walks[size] - walks[:size]) / steps[:, None]
    return float(means.max(axis=0).min())


def newton_step(
    system: FloatArray,
    excess: FloatArray,
    prices: FloatArray,
    signed: BoolArray,
    fixed: BoolArray,
    deadline: Deadline = NEVER,
) -> FloatArray:
    """One step of Newton's method, ``system @ change = excess``, with a semidefinite system.

    Signed prices end at 0 rather than change their sign; fixed prices stay.  OutOfTime is raised
    after the deadline.
    """
    step = np.zeros(len(system))
    scale = np.diag(system)
    # A price that moves no group nearby is taken to move as many as the others do on average.
    idle = float(scale[scale > 0].mean()) if np.any(scale > 0) else 1.0
    regular = system + np.diag(np.where(scale > 0, 1e-9 * scale, idle))
    for _ in range(len(system)):
        deadline.check()
        free = np.flatnonzero(~fixed)
        right = excess[free] - regular[np.ix_(free, np.flatnonzero(fixed))] @ step[fixed]
        step[free] = np.linalg.solve(regular[np.ix_(free, free)], right)
        crossed = ~fixed & signed & (prices != 0) & ((prices + step) * prices < 0)
        if not crossed.any():
            break
        step[crossed] = -prices[crossed]
        fixed = fixed | crossed
    return step


def signed_prices(
    before: FloatArray, after: FloatArray, excess: FloatArray, signed: BoolArray
) -> FloatArray:
    """Prices after a step, with 0 for those whose sign would be wrong.

    A price that would change its sign stops at 0.  A price of 0 rises only where the sum is too
    large and falls only where it is too small.
    """
    wrong = np.where(before != 0, after * before, after * excess)
    return np.where(signed & (wrong <= 1e-12 * before**2), 0.0, after)
