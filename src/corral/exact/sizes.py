"""Sizes of groups that count alike: dual prices, and shortest paths for the rows they misplace.

At prices p every row prefers ``argmin_j cost[i, j] + p[j]``.  Prices of a sample, or of the round
before, misplace few rows.  Each of these goes by the shortest path of moves from a cluster with too
many rows to one with too few, at reduced costs.  The lengths of the paths correct the prices
(successive shortest paths on k + 1 nodes), so that labels and prices prove each other at the end.

Sizes together with disjoint cliques of cannot-links are one min-cost flow (:func:`cheapest_flow`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..deadline import NEVER, Deadline
from ..numbers import FLOW_SECONDS, SAMPLED
from ..rules import Rules, SizeBounds, SoftSizes
from ..rules.sums import scaled_bounds
from ..search.compiled import compiled, part, spliced
from .check import NoAssignment

#: No node, and no cluster yet; numba would compile again for plain literals.
NONE, ZERO = cast(int, np.int64(-1)), cast(int, np.int64(0))


@dataclass(frozen=True)
class Room:
    """What the sizes of k clusters cost: hard bounds, and soft ones at their prices.

    The cost of each size is convex and linear between its breaks.  ``breaks``, (k, t + 1), are
    sizes in increasing order, from the least to the largest.  ``slopes``, (k, t), is what a
    further row costs between two breaks.  Hard bounds alone are one interval of slope 0.
    """

    breaks: IntArray
    slopes: FloatArray

    @classmethod
    def of(cls, lower: IntArray, upper: IntArray, soft: SoftSizes | None = None) -> Room:
        """The costs of sizes between hard bounds; NoAssignment if these contradict each other.

        Examples
        --------
        >>> soft = SoftSizes(np.array([[2]]), np.array([[5]]), np.array([1.5]))
        >>> Room.of(np.array([0]), np.array([9]), soft)
        Room(breaks=array([[0, 2, 5, 9]]), slopes=array([[-1.5,  0. ,  1.5]]))
        """
        if np.any(lower > upper):
            raise NoAssignment
        ends = np.column_stack([lower, upper])
        if soft is None:
            return cls(ends, np.zeros((len(lower), 1)))
        inner = np.concatenate([soft.lower, soft.upper]).T
        inner = np.clip(inner, lower[:, None], upper[:, None])
        breaks = np.sort(np.column_stack([ends, inner]), axis=1)
        at = breaks[:, :-1, None]
        over = (at >= soft.upper.T[:, None]).astype(float)
        return cls(breaks, ((over - (at < soft.lower.T[:, None])) * soft.price).sum(axis=2))

    @classmethod
    def of_sizes(cls, sizes: SizeBounds, each: int = 1) -> Room:
        """The costs of the numbers of groups, of so many rows each; of one if sizes are soft."""
        return cls.of(-(-sizes.lower // each), sizes.upper // each, sizes.soft)

    def fitting(self, rows: int) -> Room:
        """With sizes between 0 and the number of rows; NoAssignment if the rows do not fit."""
        lower, upper = np.maximum(self.breaks[:, 0], 0), self.breaks[:, -1]
        if np.any(upper < 0) or not lower.sum() <= rows <= upper.sum():
            raise NoAssignment
        return replace(self, breaks=np.clip(self.breaks, 0, rows))

    def best_sizes(self, counted: IntArray, prices: FloatArray) -> IntArray:
        """The sizes nearest to those counted that are best at the prices.

        Of hard bounds, a positive price asks for the upper one and a negative price for the lower.
        """
        rows, price = np.arange(len(counted)), prices[:, None]
        least = self.breaks[rows, (self.slopes < price).sum(axis=1)]
        most = self.breaks[rows, (self.slopes <= price).sum(axis=1)]
        return np.clip(counted, least, most)

    def sample(self, rows: int, size: int) -> Room:
        """In proportion for a sample of the rows."""
        breaks = np.column_stack([scaled_bounds(each, size / rows) for each in self.breaks.T])
        return replace(self, breaks=np.maximum.accumulate(breaks, axis=1))


def solve_units(
    cost: FloatArray, room: Room, prices: FloatArray | None = None, deadline: Deadline = NEVER
) -> tuple[IntArray, FloatArray]:
    """Cheapest labels under the sizes, every row counting one, and prices that prove it.

    Costs are infinite where a row may not go.  Prices to start from do not change the least cost.
    Row i is in ``argmin_j cost[i, j] + prices[j]`` up to rounding.  A price is between the slopes
    before and after the size: of hard bounds, at least 0 above the lower one and at most 0 below
    the upper one.  Where every size is fixed, the mean of the prices is 0.

    Raises
    ------
    NoAssignment, OutOfTime

    Examples
    --------
    >>> import numpy as np
    >>> cost = np.array([[0.0, 2.0], [0.0, 3.0], [0.0, 7.0]])
    >>> solve_units(cost, Room.of(np.array([1, 2]), np.array([1, 2])))[0]
    array([1, 1, 0])
    """
    m, k = cost.shape
    room = room.fitting(m)
    if prices is not None:
        labels, margin, prices, misplaced = _placed(cost, room, prices, deadline)
        if not misplaced:
            return labels, prices
        if SAMPLED * misplaced > m:
            prices = None
    if prices is None:
        prices = _first_prices(cost, room, deadline)
        labels, margin, prices, _ = _placed(cost, room, prices, deadline)
    cost = np.ascontiguousarray(cost)
    counted = np.bincount(labels, minlength=k)
    size = room.best_sizes(counted, prices)
    # The last node is the outside of all clusters: it has what the sizes do not add up to.
    excess = np.append(counted - size, size.sum() - m)
    price, paths = np.append(prices, 0.0), Paths.of(k)
    # A path looks at all rows that came since they were put in order; so many paths take as long as
    # that order.
    most = math.isqrt(m)
    arrays = room.breaks, room.slopes
    cheapest_moves(cost, labels, paths.move, paths.who)
    reach = float(np.partition(margin, m // SAMPLED)[m // SAMPLED])
    base = reach + prices[:, None] - prices  # the cheapest moves of the rows that are not near
    while excess.any():
        deadline.check()
        kind = 2 * labels + (margin > reach)
        order = np.argsort(kind.astype(np.min_scalar_type(2 * k)), kind="stable")
        start = np.append(0, np.cumsum(np.bincount(kind, minlength=2 * k)))
        members = Members(order, start, base, np.empty(most * k, np.int64), np.zeros(1, np.int64))
        if not augment(cost, labels, members, size, excess, price, *arrays, paths, most):
            raise NoAssignment
        margin[members.came[: members.number[0]]] = 0.0
    fixed = np.all(room.breaks[:, 0] == room.breaks[:, -1])
    return labels, price[:-1] - (price[:-1].mean() if fixed else price[-1])


def _placed(
    cost: FloatArray, room: Room, prices: FloatArray, deadline: Deadline
) -> tuple[IntArray, FloatArray, FloatArray, int]:
    """Rows where they cost least, their margins, the prices, and about how many are misplaced."""
    deadline.check()
    # A price that differs from 0 by rounding alone must not demand a full or an empty cluster.
    prices = np.where(np.abs(prices) > 1e-13 * np.abs(prices).max(initial=0.0), prices, 0.0)
    labels, best, margin = scan(cost, prices)
    if not np.isfinite(best).all():
        raise NoAssignment
    counted = np.bincount(labels, minlength=len(prices))
    return labels, margin, prices, int(np.abs(counted - room.best_sizes(counted, prices)).sum())


def _first_prices(cost: FloatArray, room: Room, deadline: Deadline) -> FloatArray:
    """Prices of a sample of the rows, with sizes in proportion; 0 where it has too few."""
    m, k = cost.shape
    if m <= SAMPLED * k:
        return np.zeros(k)
    rows = np.sort(np.random.default_rng(0).choice(m, m // SAMPLED, replace=False))
    try:
        return solve_units(cost[rows], room.sample(m, len(rows)), None, deadline)[1]
    except NoAssignment:
        return np.zeros(k)


def scan(cost: FloatArray, prices: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Cheapest cluster of each row at the prices, that least cost, and the margin.

    The cluster is the first of equals.  The margin is what the next best cluster costs more, and
    infinite if there is none.
    """
    m = len(cost)
    labels, best, margin = np.zeros(m, np.int64), np.full(m, np.inf), np.full(m, np.inf)
    two_least(cost, prices, labels, best, margin)
    with np.errstate(invalid="ignore"):  # a row that may go nowhere: infinity less infinity
        margin -= best
    return labels, best, margin


@compiled
def two_least(
    cost: FloatArray, prices: FloatArray, labels: IntArray, best: FloatArray, second: FloatArray
) -> None:
    """Write the cheapest cluster of each row at the prices, its cost and the next least one."""
    for i in range(len(cost)):
        for j in range(cost.shape[1]):
            here = cost[i, j] + prices[j]
            if here < best[i]:
                labels[i], second[i], best[i] = j, best[i], here
            elif here < second[i]:
                second[i] = here


class Paths(NamedTuple):
    """Arrays of the search for shortest paths.

    ``move`` is the least ``cost[i, b] - cost[i, a]`` over the rows i of cluster a, (k, k), and
    ``who`` the row that has it, -1 for none.  The next three, (k + 1,), are those of Dijkstra's
    method; ``stale``, (k,), are clusters to which the cheapest move of another has gone.
    """

    move: FloatArray
    who: IntArray
    length: FloatArray
    came_from: IntArray
    done: BoolArray
    stale: IntArray

    @classmethod
    def of(cls, k: int) -> Paths:
        """Arrays for k clusters."""
        whole = np.empty(k + 1, np.int64), np.empty(k + 1, np.bool_), np.empty(k, np.int64)
        return cls(np.full((k, k), np.inf), np.full((k, k), -1), np.empty(k + 1), *whole)


class Members(NamedTuple):
    """Rows ordered by their clusters, those of small margin first, and rows that came since.

    Both parts of each cluster begin at ``start``, (2 k + 1,).  Moves of the second part cost at
    least ``base``, (k, k).  Rows that have gone are still in the order; ``number``, (1,), is how
    many came.
    """

    order: IntArray
    start: IntArray
    base: FloatArray
    came: IntArray
    number: IntArray


@compiled
def cheapest_moves(cost: FloatArray, labels: IntArray, move: FloatArray, who: IntArray) -> None:
    """Write the cheapest moves from each cluster to every other."""
    for i in range(len(labels)):
        a = labels[i]
        for b in range(cost.shape[1]):
            rise = cost[i, b] - cost[i, a]
            if rise < move[a, b]:
                move[a, b], who[a, b] = rise, i


@compiled
def augment(
    cost: FloatArray,
    labels: IntArray,
    members: Members,
    size: IntArray,
    excess: IntArray,
    price: FloatArray,
    breaks: IntArray,
    slopes: FloatArray,
    paths: Paths,
    most: int,
) -> bool:
    """Send rows along at most so many shortest paths, from nodes with an excess to others.

    False if there is no path.  An arc from cluster to cluster moves a row; one to the outside (the
    last node) lets the cluster keep one more, at the slope of its size; one from there takes one
    back.  Labels, sizes, excess and prices are written over.
    """
    k, t = len(breaks), slopes.shape[1]
    length, came_from, done = paths.length, paths.came_from, paths.done
    for _ in range(most):
        for v in range(k + 1):
            length[v] = 0.0 if excess[v] > 0 else np.inf
            came_from[v], done[v] = -1, False
        end = NONE
        while True:
            u, least = NONE, np.inf
            for v in range(k + 1):
                if not done[v] and length[v] < least:
                    u, least = v, length[v]
            if u < 0:
                break
            done[u] = True
            if excess[u] < 0:
                end = u
                break
            for v in range(k + 1):
                if done[v]:
                    continue
                if u < k and v < k:
                    arc = paths.move[u, v]
                elif u < k:  # the slope after the size of u
                    arc = np.inf
                    for s in range(t):
                        if breaks[u, s] <= size[u] < breaks[u, s + 1]:
                            arc = slopes[u, s]
                else:  # minus the slope before the size of v
                    arc = np.inf
                    for s in range(t):
                        if breaks[v, s] < size[v] <= breaks[v, s + 1]:
                            arc = -slopes[v, s]
                there = least + max(arc + price[v] - price[u], 0.0)
                if there < length[v]:
                    length[v], came_from[v] = there, u
        if end < 0:
            left = False
            for v in range(k + 1):
                left |= excess[v] != 0
            return not left
        for v in range(k + 1):
            price[v] -= min(length[v], length[end])
        excess[end] += 1
        v = end
        while came_from[v] >= 0:
            u = came_from[v]
            if u == k:
                size[v] -= 1
            elif v == k:
                size[u] += 1
            else:
                shift(cost, labels, members, paths.who[u, v], v, paths)
            v = u
        excess[v] -= 1
    return True


@spliced
def shift(
    cost: FloatArray, labels: IntArray, members: Members, row: int, to: int, paths: Paths
) -> None:
    """Move a row to another cluster, and look for the cheapest moves that the two have now."""
    move, who, own, number = paths.move, paths.who, labels[row], ZERO
    labels[row] = to
    for b in range(cost.shape[1]):
        rise = cost[row, b] - cost[row, to]
        if rise < move[to, b]:
            move[to, b], who[to, b] = rise, row
        if who[own, b] == row:
            move[own, b], who[own, b] = np.inf, -1
            paths.stale[number] = b
            number += 1
    members.came[members.number[0]] = row
    members.number[0] += 1
    first, far, end = members.start[2 * own], members.start[2 * own + 1], members.start[2 * own + 2]
    renew(cost, labels, members.order, first, far, own, number, paths)
    renew(cost, labels, members.came, ZERO, members.number[0], own, number, paths)
    left = ZERO
    for y in range(number):
        if move[own, paths.stale[y]] > members.base[own, paths.stale[y]]:
            paths.stale[left] = paths.stale[y]
            left += 1
    if left:
        renew(cost, labels, members.order, far, end, own, left, paths)


@part
def renew(
    cost: FloatArray,
    labels: IntArray,
    rows: IntArray,
    begin: int,
    end: int,
    own: int,
    number: int,
    paths: Paths,
) -> None:
    """Look at some rows of a cluster for its cheapest moves to so many stale clusters."""
    for z in range(begin, end):  # a slice would take longer to compile
        i = rows[z]
        if labels[i] == own:
            for y in range(number):
                b = paths.stale[y]
                rise = cost[i, b] - cost[i, own]
                if rise < paths.move[own, b]:
                    paths.move[own, b], paths.who[own, b] = rise, i


def solve_nested(
    rules: Rules, cost: FloatArray, sizes: SizeBounds, deadline: Deadline = NEVER
) -> IntArray:
    """Cheapest labels under sizes of groups of equal count and disjoint cliques, the only rules.

    Costs are infinite where a group may not go.  Raises NoAssignment or OutOfTime.
    """
    if rules.pairs.graph.impossible:
        raise NoAssignment
    cliques, _ = rules.pairs.graph.complete(1)
    clique = np.full(rules.n_groups, -1)
    clique[cliques.members] = cliques.of_member
    return cheapest_flow(cost, Room.of_sizes(sizes, int(rules.count[0])), clique, deadline)


def cheapest_flow(
    cost: FloatArray, room: Room, clique: IntArray, deadline: Deadline = NEVER
) -> IntArray:
    """Cheapest labels under hard sizes and disjoint cliques, by one min-cost flow.

    Costs are infinite where a row may not go.  No two rows of the same clique, (m,), share a
    cluster; -1 is no clique.  A row of a clique goes to its place in a cluster, which has room for
    one.  The two kinds of bounds are nested, so that a flow of least cost is whole.

    Raises
    ------
    NoAssignment, OutOfTime

    Examples
    --------
    >>> import numpy as np
    >>> room = Room.of(np.array([2, 2]), np.array([2, 2]))
    >>> cost = np.array([[0.0, 9], [0, 8], [0, 5], [3, 0]])
    >>> cheapest_flow(cost, room, np.array([0, 0, -1, -1]))
    array([0, 1, 0, 1])
    """
    m, k = cost.shape
    deadline.check(2.0 * FLOW_SECONDS * cost.size)
    lower, upper = room.fitting(m).breaks.T
    least = cost.min(axis=1, keepdims=True)
    if not np.isfinite(least).all():
        raise NoAssignment
    row, cluster = np.nonzero(np.isfinite(cost))
    shifted = (cost - least)[row, cluster]
    places = np.arange(k * (int(clique.max(initial=-1)) + 1))
    place = m + k + 1 + clique[row] * k + cluster
    head = np.where(clique[row] >= 0, place, m + cluster)
    largest = float(shifted.max(initial=0.0))
    # OR-Tools multiplies the costs by the number of nodes and refuses those that overflow.
    levels = 2.0**60 / (m + k + 2 + len(places))
    while True:
        scale = levels / largest if largest > 0 else 0.0
        arcs = row, head, np.rint(shifted * scale).astype(np.int64)
        flow = _flow(arcs, (m + k + 1 + places, m + places % k), lower, upper, m)
        if flow is not None:
            labels = np.zeros(m, np.int64)
            labels[row[flow > 0]] = cluster[flow > 0]
            return labels
        levels /= 4.0


def _flow(
    arcs: tuple[IntArray, IntArray, IntArray],
    places: tuple[IntArray, IntArray],
    lower: IntArray,
    upper: IntArray,
    m: int,
) -> IntArray | None:
    """Flow of the arcs (tail, head, cost), or None if the costs are too large for the solver.

    Nodes are rows, clusters, the sink, then the places.  A cluster takes its least size for good;
    more, up to the largest one, goes on to the sink.
    """
    from ortools.graph.python import min_cost_flow  # 40 ms that most imports never need

    solver, k = min_cost_flow.SimpleMinCostFlow(), len(lower)

    def add(tail: IntArray, head: IntArray, capacity: IntArray, cost: IntArray) -> IntArray:
        ends = tail.astype(np.int32), head.astype(np.int32)
        added: IntArray = solver.add_arcs_with_capacity_and_unit_cost(*ends, capacity, cost)
        return added

    one, none = np.ones(len(places[0]), np.int64), np.zeros(len(places[0]), np.int64)
    links = add(*arcs[:2], np.ones(len(arcs[0]), np.int64), arcs[2])
    add(*places, one, none)
    add(np.arange(m, m + k), np.full(k, m + k), upper - lower, np.zeros(k, np.int64))
    supply = np.concatenate([np.ones(m, np.int64), -lower, [lower.sum() - m]])
    solver.set_nodes_supplies(np.arange(m + k + 1, dtype=np.int32), supply)
    status = solver.solve()
    if status == solver.BAD_COST_RANGE:
        return None
    if status != solver.OPTIMAL:
        raise NoAssignment
    flow: IntArray = solver.flows(links)
    return flow
