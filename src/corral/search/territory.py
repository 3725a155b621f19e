"""Labels whose clusters are connected: mended, grown, cut from spanning trees.

*Mend*: of each cluster its largest connected part is kept, with what is pinned there, and all other
groups join neighbouring clusters, the cheapest first.  *Cut*: a spanning tree of the groups of a
cluster is cut into two where that costs least (SKATER, Assuncao and others 2006; with random trees
recombination, as in redistricting).
"""

from __future__ import annotations

import heapq
import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from .._typing import BoolArray, FloatArray, IntArray
from ..rules import Adjacency, Rules
from .compiled import compiled, inlined
from .model import CHORDS, MEANS, TABLE, Model, spans


def mended(
    rules: Rules, labels: IntArray, cost: FloatArray, random_state: np.random.RandomState
) -> IntArray | None:
    """Labels near the given ones whose clusters are connected; None if this method finds none.

    ``cost`` is what groups cost in clusters, (m, k).  Groups that are pinned keep their labels.
    """
    net, k = rules.adjacency, rules.n_clusters
    if net is None or net.holds(labels):
        return labels
    pinned = np.full(rules.n_groups, -1, np.int64)
    pinned[rules.pins[:, 0]] = rules.pins[:, 1]
    labels = np.where(pinned >= 0, pinned, labels)
    special = net.scattered | (pinned >= 0)
    for attempt in range(ATTEMPTS if special.any() else 1):
        locked: IntArray | None = np.where(special, labels, -1)
        if special.any():
            locked = _joined(net, locked, cost, random_state.permutation(k))  # type: ignore[arg-type]
        if locked is not None:
            kept = _kept(rules, net, np.where(locked >= 0, locked, labels), locked, cost)
            if kept is not None:
                grow(net.ptr, net.near, net.group, cost, kept, *_heap(len(net.near) + len(kept)))
                if net.holds(kept) and not np.any(kept < 0):
                    return kept
        free = np.flatnonzero(special & (pinned < 0))
        if not len(free) and attempt >= 1:
            break
        noise = random_state.uniform(size=(len(free), k)) * (attempt + 1.0)
        spread = np.ptp(cost[free], axis=1, keepdims=True) / ATTEMPTS
        labels[free] = (cost[free] + noise * spread).argmin(axis=1)
    return None


#: Attempts to connect pinned groups, and those in several pieces.
ATTEMPTS = 8


def _joined(
    net: Adjacency, locked: IntArray, cost: FloatArray, order: IntArray
) -> IntArray | None:
    """Lock also groups on the cheapest paths that connect the locked groups of each cluster.

    Clusters come one after another in an order; None if all paths of one are blocked.
    """
    locked = locked.copy()
    for j in order.tolist():
        nodes = np.flatnonzero(locked[net.group] == j)
        if not len(nodes):
            continue
        least = float(cost[:, j].min())
        part = net.parts(np.where(locked == j, 0, -1))
        while len(set(part[nodes].tolist())) > 1:
            start = np.flatnonzero((locked[net.group] == j) & (part == part[nodes[0]]))
            path = _path(net, locked, j, start, cost[:, j] - least)
            if path is None:
                return None
            locked[net.group[path]] = j
            part = net.parts(np.where(locked == j, 0, -1))
    return locked


def _path(
    net: Adjacency, locked: IntArray, j: int, start: IntArray, price: FloatArray
) -> list[int] | None:
    """The cheapest path from some nodes to another locked node of the cluster (Dijkstra)."""
    begun = set(start.tolist())
    step = 1e-9 + float(price.mean())
    queue = [(0.0, v, -1) for v in begun]
    before: dict[int, int] = {}
    while queue:
        far, v, last = heapq.heappop(queue)
        if v in before:
            continue
        before[v] = last
        if locked[net.group[v]] == j and v not in begun:
            path = [v]
            while before[path[-1]] >= 0:
                path.append(before[path[-1]])
            return path
        for u in net.near[net.ptr[v] : net.ptr[v + 1]].tolist():
            g = int(net.group[u])
            if u not in before and (locked[g] == j or (locked[g] < 0 and not net.scattered[g])):
                heapq.heappush(queue, (far + step + float(price[g]), u, v))
    return None


def _kept(
    rules: Rules, net: Adjacency, labels: IntArray, locked: IntArray, cost: FloatArray
) -> IntArray | None:
    """Labels of the part that is kept of each cluster, -1 elsewhere.

    Each component of the graph gets a cluster at least; None if there are too few.
    """
    k, own = rules.n_clusters, labels[net.group]
    part = net.parts(labels)
    number = int(part.max()) + 1
    size = np.bincount(part, rules.count[net.group] / np.diff(net.first)[net.group], number)
    held = np.zeros(number, bool)
    held[part[locked[net.group] >= 0]] = True
    label_of, component_of = np.zeros(number, np.int64), np.zeros(number, np.int64)
    label_of[part], component_of[part] = own, net.component
    kept = np.full(k, -1)
    for p in np.lexsort((size, held)).tolist():  # the last one counts
        kept[label_of[p]] = p
    covered = np.zeros(int(net.component.max()) + 1, np.int64)
    np.add.at(covered, component_of[kept[kept >= 0]], 1)
    single = {}
    for c in np.flatnonzero(covered == 0).tolist():
        free = [
            j
            for j in range(k)
            if kept[j] < 0 or (not held[kept[j]] and covered[component_of[kept[j]]] > 1)
        ]
        if not free:
            return None
        inside = np.flatnonzero(component_of == c)
        j, best = free[0], -1
        overlap = [p for p in inside.tolist() if label_of[p] in free]
        if overlap:
            best = max(overlap, key=lambda p: size[p])
            j = int(label_of[best])
        else:
            j = min(free, key=lambda each: 0.0 if kept[each] < 0 else float(size[kept[each]]))
        if kept[j] >= 0:
            covered[component_of[kept[j]]] -= 1
        kept[j] = best
        covered[c] += 1
        if best < 0:
            groups = np.unique(net.group[net.component == c])
            single[j] = int(groups[cost[groups, j].argmin()])
    found = np.full(rules.n_groups, -1, np.int64)
    for j in range(k):
        if kept[j] >= 0:
            found[net.group[part == kept[j]]] = j
    for j, group in single.items():
        found[group] = j
    return np.where(locked >= 0, locked, found)


def _heap(size: int) -> tuple[FloatArray, IntArray]:
    """Room for a queue of so many entries."""
    return np.empty(size + 1), np.empty((2, size + 1), np.int64)


@inlined
def push(
    ptr: IntArray,
    near: IntArray,
    group: IntArray,
    cost: FloatArray,
    labels: IntArray,
    key: FloatArray,
    item: IntArray,
    v: int,
    size: int,
) -> int:
    """Put the neighbours of node v that have no label into the heap; its size."""
    j = labels[group[v]]
    for z in range(ptr[v], ptr[v + 1]):
        g, at = group[near[z]], size
        if labels[g] >= 0:
            continue
        while at > 0 and key[(at - 1) // 2] > cost[g, j]:
            up = (at - 1) // 2
            key[at], item[0, at], item[1, at] = key[up], item[0, up], item[1, up]
            at = up
        key[at], item[0, at], item[1, at] = cost[g, j], near[z], j
        size += 1
    return size


@compiled
def grow(
    ptr: IntArray,
    near: IntArray,
    group: IntArray,
    cost: FloatArray,
    labels: IntArray,
    key: FloatArray,
    item: IntArray,
) -> None:
    """Give groups without a label that of a neighbour, the cheapest first; in place.

    ``key`` and ``item`` are a heap of what groups cost, the node and the cluster.
    """
    size = 0
    for begin in range(len(group)):
        if labels[group[begin]] >= 0:
            size = push(ptr, near, group, cost, labels, key, item, begin, size)
    while size > 0:
        v, j = item[0, 0], item[1, 0]
        size -= 1
        last, at = key[size], 0
        while 2 * at + 1 < size:
            down = 2 * at + 1
            if down + 1 < size and key[down + 1] < key[down]:
                down += 1
            if key[down] >= last:
                break
            key[at], item[0, at], item[1, at] = key[down], item[0, down], item[1, down]
            at = down
        key[at], item[0, at], item[1, at] = last, item[0, size], item[1, size]
        if labels[group[v]] < 0:
            labels[group[v]] = j
            size = push(ptr, near, group, cost, labels, key, item, v, size)


@compiled
def sum_subtrees(order: IntArray, before: IntArray, values: FloatArray) -> None:
    """Add the values of each vertex of a tree to those of the one before it, from its leaves on."""
    for at in range(len(order) - 1, 0, -1):
        v = order[at]
        for f in range(values.shape[1]):
            values[before[v], f] += values[v, f]


def cut(
    model: Model,
    groups: IntArray,
    pair: tuple[int, int],
    random_state: np.random.RandomState,
) -> tuple[IntArray, float] | None:
    """Labels of some groups, in two clusters, by the best cut of a random spanning tree.

    And what the two clusters cost then, but for a constant of the groups.  The groups are all that
    the two clusters have.  None if the groups are not connected, or if pins allow no cut.
    """
    tree = _tree(model, groups, random_state)
    if tree is None:
        return None
    order, before = tree
    values, start = _values(model, groups, pair)
    sums = values.copy()
    sum_subtrees(order, before, sums)
    whole, sub = values.sum(axis=0), sums[order[1:]]
    rest = whole - sub
    q, d = model.amount.shape[1], start
    best: tuple[float, int, int] | None = None
    for turn in (0, 1):
        a, b = pair if turn == 0 else pair[::-1]  # the subtree is in the first of them
        total = _worth(model, sub, rest, turn, d)
        for side, j in ((sub, a), (rest, b)):
            load = side[:, d : d + q]
            lower, upper = model.bound[:, j]
            total = total + (np.maximum(load - upper, lower - load).clip(0.0) @ model.price[0])
        pins = sub[:, d + q + (1 - turn)] + rest[:, d + q + turn]  # in the wrong one
        total = np.where(pins > 0.5, np.inf, total)
        at = int(np.argmin(total))
        if np.isfinite(total[at]) and (best is None or total[at] < best[0]):
            best = float(total[at]), at + 1, turn
    if best is None:
        return None
    inside = np.zeros((len(groups), 1))
    inside[order[best[1]]] = 1.0
    for v in order[best[1] + 1 :].tolist():  # from the root on
        inside[v] = max(inside[v, 0], inside[before[v], 0])
    a, b = pair if best[2] == 0 else pair[::-1]
    found = np.where(inside[:, 0] > 0.0, a, b)
    return (found, best[0]) if _both_connected(model, groups, found) else None


def _both_connected(model: Model, groups: IntArray, labels: IntArray) -> bool:
    """Whether the pieces of the groups are, too: the tree joins the pieces of a group."""
    nodes, number = spans(model.node, groups)
    if number.max() == 1:
        return True
    place = np.full(model.graph.shape[1], -1, np.int64)
    place[nodes] = np.arange(len(nodes))
    edges, degree = spans(model.graph[0], nodes)
    near, own = place[model.adjacent[edges]], np.repeat(labels, number)
    here = np.repeat(np.arange(len(nodes)), degree)[near >= 0]
    near = near[near >= 0]
    same = own[here] == own[near]
    ends, shape = (here[same], near[same]), (len(nodes), len(nodes))
    graph = sparse.coo_array((np.ones(same.sum()), ends), shape=shape)
    parts: int = csgraph.connected_components(graph, directed=False)[0]
    return parts == len(np.unique(labels))


def _tree(
    model: Model, groups: IntArray, random_state: np.random.RandomState
) -> tuple[IntArray, IntArray] | None:
    """A random spanning tree of some groups: vertices from the root on, and the one before each."""
    m = len(groups)
    if m < 2:
        return None
    place = np.full(len(model.amount), -1, np.int64)
    place[groups] = np.arange(m)
    nodes, number = spans(model.node, groups)
    edges, degree = spans(model.graph[0], nodes)
    here = np.repeat(np.repeat(np.arange(m), number), degree)
    there = place[model.graph[1, model.adjacent[edges]]]
    inside = (there >= 0) & (here < there)
    a, b = here[inside], there[inside]
    length = random_state.uniform(0.5, 1.5, size=len(a))
    if len(model.points) and model.kind in (MEANS, CHORDS) and random_state.randint(2):
        gap = model.points[groups[a]] - model.points[groups[b]]
        length *= np.sqrt(np.einsum("ij,ij->i", gap, gap)) + 1e-9
    graph = sparse.csr_array((length, (a.astype(np.int32), b.astype(np.int32))), shape=(m, m))
    spanning = csgraph.minimum_spanning_tree(graph)
    root = int(random_state.randint(m))
    order, before = csgraph.breadth_first_order(spanning, root, directed=False)
    if len(order) < m:
        return None
    return order.astype(np.int64), before.astype(np.int64)


def _values(model: Model, groups: IntArray, pair: tuple[int, int]) -> tuple[FloatArray, int]:
    """What is summed over subtrees: for the cost, the bounded sums, and pins to each of the two.

    And how many columns are for the cost.
    """
    w = model.group[0, groups]
    if model.kind in (MEANS, CHORDS):
        points = model.points[groups] if len(model.points) else np.zeros((len(groups), 0))
        own = np.column_stack([w, w[:, None] * points])
    elif model.kind == TABLE:
        own = model.points[np.ix_(groups, np.array(pair))]
    else:
        own = np.zeros((len(groups), 1))
    pins = np.stack([model.pin[0, groups] == j for j in pair], axis=1)
    values = np.column_stack([own, model.amount[groups], pins])
    return np.ascontiguousarray(values, np.float64), own.shape[1]


def _worth(
    model: Model,
    sub: FloatArray,
    rest: FloatArray,
    turn: int,
    d: int,
) -> FloatArray:
    """What the two sides of each cut cost, but for a constant of the groups."""
    if model.kind == TABLE:
        table: FloatArray = sub[:, turn] + rest[:, 1 - turn]
        return table
    total = np.zeros(len(sub))
    if model.kind in (MEANS, CHORDS):
        for side in (sub, rest):
            length = np.einsum("ij,ij->i", side[:, 1:d], side[:, 1:d])
            if model.kind == MEANS:
                total -= length / np.maximum(side[:, 0], 1e-300)
            else:
                total -= 2.0 * model.radius * np.sqrt(length)
    return total


def recut(
    model: Model, labels: IntArray, some: BoolArray, random_state: np.random.RandomState
) -> bool:
    """Cut some clusters anew, each with one that is adjacent, where that costs less; in place.

    Whether a cut was made.
    """
    pairs = adjacent_pairs(model, labels)
    pairs = pairs[some[pairs].any(axis=1)]
    done = False
    for a, b in pairs[random_state.permutation(len(pairs))].tolist():
        groups = np.flatnonzero((labels == a) | (labels == b))
        now = _cost_of(model, groups, labels[groups], (a, b))
        found = cut(model, groups, (a, b), random_state)
        if found is not None and found[1] < now - 1e-9 * abs(now):
            labels[groups] = found[0]
            done = True
    return done


def _cost_of(model: Model, groups: IntArray, labels: IntArray, pair: tuple[int, int]) -> float:
    """What two clusters cost, but for a constant of their groups, as :func:`cut` counts it."""
    values, d = _values(model, groups, pair)
    sides = [values[labels == j].sum(axis=0, keepdims=True) for j in pair]
    total, q = float(_worth(model, sides[0], sides[1], 0, d)[0]), model.amount.shape[1]
    for side, j in zip(sides, pair, strict=True):
        lower, upper = model.bound[:, j]
        load = side[0, d : d + q]
        total += float(np.maximum(load - upper, lower - load).clip(0.0) @ model.price[0])
    return total


def adjacent_pairs(model: Model, labels: IntArray) -> IntArray:
    """Pairs of clusters that have neighbours in each other, the smaller number first, (c, 2)."""
    own = labels[model.graph[1, :-1]]
    here = np.repeat(own, np.diff(model.graph[0]))
    there = own[model.adjacent]
    k = int(model.bound.shape[1])
    keys = np.unique(here[here < there] * k + there[here < there])
    return np.stack(np.divmod(keys, k), axis=1)
