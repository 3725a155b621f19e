"""Labels whose clusters are connected: mended, grown, cut from spanning trees.

*Mend*: of each cluster its largest connected part is kept, with what is pinned there, and all other
groups join neighbouring clusters, the cheapest first.  *Cut*: a spanning tree of the groups of a
cluster is cut into two where that costs least (SKATER, Assuncao and others 2006; with random trees
recombination, as in redistricting).  *Balance*: two adjacent clusters are divided anew by a random
walk that comes past very many divisions, until one is within the bounds.
"""

from __future__ import annotations

import heapq

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from .. import numbers as at
from .._typing import BoolArray, FloatArray, IntArray
from ..deadline import Deadline
from ..rules import Adjacency, Rules
from .compiled import compiled, inlined
from .model import CHORDS, MEANS, MEDOIDS, TABLE, Model, Priced, spans
from .moves import Scratch, appraise, rare_of, state_of, wander


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
    for attempt in range(at.ITERATIONS if special.any() else 1):
        locked: IntArray | None = np.where(special, labels, -1)
        if special.any():
            locked = _joined(net, locked, cost, random_state.permutation(k))  # type: ignore[arg-type]
        if locked is not None:
            kept = _kept(rules, net, np.where(locked >= 0, locked, labels), locked, cost)
            if kept is not None:
                grow(net.ptr, net.near, net.group, cost, kept, *_heap(len(net.near)))
                if net.holds(kept) and not np.any(kept < 0):
                    return kept
        free = np.flatnonzero(special & (pinned < 0))
        if not len(free) and attempt >= 1:
            break
        noise = random_state.uniform(size=(len(free), k)) * (attempt + 1.0)
        spread = np.ptp(cost[free], axis=1, keepdims=True) / at.ITERATIONS
        labels[free] = (cost[free] + noise * spread).argmin(axis=1)
    return None


def _joined(net: Adjacency, locked: IntArray, cost: FloatArray, order: IntArray) -> IntArray | None:
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
    step = float(price.mean()) or 1.0
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
def push(key: FloatArray, item: IntArray, size: int, value: float, first: int, second: int) -> None:
    """Put an entry into a heap of so many."""
    here = size
    while here > 0 and key[(here - 1) // 2] > value:
        up = (here - 1) // 2
        key[here], item[0, here], item[1, here] = key[up], item[0, up], item[1, up]
        here = up
    key[here], item[0, here], item[1, here] = value, first, second


@inlined
def pop(key: FloatArray, item: IntArray, size: int) -> None:
    """Take the least entry out of a heap, which has so many then."""
    last, here = key[size], 0
    while 2 * here + 1 < size:
        down = 2 * here + 1
        if down + 1 < size and key[down + 1] < key[down]:
            down += 1
        if key[down] >= last:
            break
        key[here], item[0, here], item[1, here] = key[down], item[0, down], item[1, down]
        here = down
    key[here], item[0, here], item[1, here] = last, item[0, size], item[1, size]


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
    size, begin = 0, 0
    while begin < len(group) or size > 0:
        if begin < len(group):
            v, begin = begin, begin + 1
            if labels[group[v]] < 0:
                continue
        else:
            v, j = item[0, 0], item[1, 0]
            size -= 1
            pop(key, item, size)
            if labels[group[v]] >= 0:
                continue
            labels[group[v]] = j
        j = labels[group[v]]
        for z in range(ptr[v], ptr[v + 1]):
            g = group[near[z]]
            if labels[g] < 0:
                push(key, item, size, cost[g, j], near[z], j)
                size += 1


@compiled
def span(
    ptr: IntArray,
    near: IntArray,
    length: FloatArray,
    root: int,
    order: IntArray,
    before: IntArray,
    key: FloatArray,
    item: IntArray,
) -> int:
    """Find the shortest spanning tree (Prim): vertices in order, and the one before each.

    ``before`` is -1 everywhere at first.  The number of vertices that were reached.
    """
    count, size, v, last = 0, 1, root, root
    key[0], item[0, 0], item[1, 0] = 0.0, root, root
    while size > 0:
        v, last = item[0, 0], item[1, 0]
        size -= 1
        pop(key, item, size)
        if before[v] >= 0:
            continue
        before[v], order[count] = last, v
        count += 1
        for z in range(ptr[v], ptr[v + 1]):
            if before[near[z]] < 0:
                push(key, item, size, length[z], near[z], v)
                size += 1
    return count


@compiled
def sum_subtrees(order: IntArray, before: IntArray, values: FloatArray) -> None:
    """Add the values of each vertex of a tree to those of the one before it, from its leaves on."""
    for turn in range(len(order) - 1, 0, -1):
        v = order[turn]
        for f in range(values.shape[1]):
            values[before[v], f] += values[v, f]


class Merged:
    """Two adjacent clusters as one, to be cut anew by random spanning trees.

    The groups are all that the two clusters have, or shall have.
    """

    def __init__(self, model: Model, groups: IntArray, pair: tuple[int, int]) -> None:
        self.model, self.groups, self.pair = model, groups, pair
        self.values, self.start = _values(model, groups, pair)
        m = len(groups)
        place = np.full(len(model.amount), -1, np.int64)
        place[groups] = np.arange(m)
        nodes, number = spans(model.node, groups)
        edges, degree = spans(model.graph[0], nodes)
        here = np.repeat(np.repeat(np.arange(m), number), degree)
        there = place[model.graph[1, model.adjacent[edges]]]
        inside = (there >= 0) & (here != there)
        self.here, self.near = here[inside], there[inside]
        self.ptr = np.concatenate([[0], np.cumsum(np.bincount(self.here, minlength=m))])
        self.gap: FloatArray | None = None
        if len(model.points) and model.kind in (MEANS, CHORDS):
            step = model.points[groups[self.here]] - model.points[groups[self.near]]
            self.gap = np.sqrt(np.einsum("ij,ij->i", step, step)) + 1e-9

    def cut(self, random_state: np.random.RandomState) -> tuple[IntArray, float] | None:
        """Labels of the groups by the best cut of a tree, and what the two clusters cost then.

        But for a constant of the groups.  None if they are not connected, or if pins allow no cut.
        """
        model, m, q = self.model, len(self.groups), self.model.amount.shape[1]
        length = 1.0 + 2.0 * random_state.uniform(size=len(self.near))
        if self.gap is not None and random_state.randint(2):
            length *= self.gap
        order, before = np.empty(m, np.int64), np.full(m, -1, np.int64)
        sums, root = self.values.copy(), int(random_state.randint(max(m, 1)))
        heap = _heap(len(length))
        if m < 2 or span(self.ptr, self.near, length, root, order, before, *heap) < m:
            return None
        sum_subtrees(order, before, sums)
        whole, sub = sums[root], sums[order[1:]]
        rest, d = whole - sub, self.start
        best: tuple[float, int, int] | None = None
        for turn in (0, 1):
            pair = self.pair if turn == 0 else self.pair[::-1]  # the subtree is in the first
            total = _worth(model, sub, rest, turn, d)
            for side, j in zip((sub, rest), pair, strict=True):
                total = total + _outside(side[:, d : d + q], model.bound[:, j]) @ model.price[0]
            pins = sub[:, d + q + 1 - turn] + rest[:, d + q + turn]  # in the wrong one
            total = np.where(pins > 0.5, np.inf, total)
            least = int(np.argmin(total))
            if np.isfinite(total[least]) and (best is None or total[least] < best[0]):
                best = float(total[least]), least + 1, turn
        if best is None:
            return None
        inside = np.zeros(m, bool)
        inside[order[best[1]]] = True
        for v in order[best[1] + 1 :].tolist():  # from the root on
            inside[v] = inside[before[v]]
        a, b = self.pair if best[2] == 0 else self.pair[::-1]
        found = np.where(inside, a, b)
        return (found, best[0]) if _both_connected(model, self.groups, found) else None

    def cost(self, labels: IntArray) -> float:
        """What the two clusters cost, as :meth:`cut` counts it."""
        q, d, model = self.model.amount.shape[1], self.start, self.model
        sides = [self.values[labels == j].sum(axis=0, keepdims=True) for j in self.pair]
        total = float(_worth(model, sides[0], sides[1], 0, d)[0])
        for side, j in zip(sides, self.pair, strict=True):
            total += float(_outside(side[0, d : d + q], model.bound[:, j]) @ model.price[0])
        return total


def _outside(load: FloatArray, bound: FloatArray) -> FloatArray:
    """By how much loads miss lower and upper bounds."""
    missed: FloatArray = np.maximum(np.maximum(load - bound[1], bound[0] - load), 0.0)
    return missed


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
    elif model.kind == MEDOIDS:
        candidates, number = spans(model.first, groups)
        some = slice(None, None, 1 + len(groups) * len(candidates) // at.EXACT)
        home = np.repeat(np.arange(len(groups)), number)[some]
        members = home == np.arange(len(groups))[:, None]
        own = np.column_stack([model.points[np.ix_(groups, candidates[some])], members])
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
    if model.kind == MEDOIDS:  # the least of the sums at candidates that are members
        for side in (sub, rest):
            cost, members = side[:, : d // 2], side[:, d // 2 : d]
            total += np.where(members > 0.5, cost, np.inf).min(axis=1)
    if model.kind in (MEANS, CHORDS):
        for side in (sub, rest):
            length = np.einsum("ij,ij->i", side[:, 1:d], side[:, 1:d])
            if model.kind == MEANS:
                total -= length / np.where(side[:, 0] > 0.0, side[:, 0], 1.0)
            else:
                total -= 2.0 * model.radius * np.sqrt(length)
    return total


def recut(
    model: Model, labels: IntArray, some: BoolArray, random_state: np.random.RandomState
) -> int:
    """Cut some clusters anew, each with one that is adjacent, where that costs less; in place.

    The number of cuts that were tried.
    """
    pairs = adjacent_pairs(model, labels)
    pairs = pairs[some[pairs].any(axis=1)]
    for a, b in pairs[random_state.permutation(len(pairs))].tolist():
        groups = np.flatnonzero((labels == a) | (labels == b))
        merged = Merged(model, groups, (a, b))
        now, found = merged.cost(labels[groups]), merged.cut(random_state)
        if found is not None and found[1] < now - 1e-9 * abs(now):
            labels[groups] = found[0]
    return len(pairs)


def balance(
    priced: Priced,
    labels: IntArray,
    random_state: np.random.RandomState,
    until: Deadline,
    attempts: int,
) -> float:
    """Hand what clusters have outside their bounds on to others that have room; in place.

    Many clusters have one attempt each.  The work that it took.
    """
    model, work = priced.model, 0.0
    many = np.count_nonzero(_outside(_loads(model, labels), model.bound).any(axis=1)) > at.WIDTH
    for a in random_state.permutation(model.bound.shape[1] if model.amount.shape[1] else 0):
        for attempt in range(min(attempts, 1) if many else attempts):
            outside = _outside(_loads(model, labels), model.bound)[a] * model.price[0]
            if until.passed or not outside.any():
                break
            heat = float(at.GROWTH) ** (attempt - 1)
            work += _hand_on(priced, labels, int(a), heat, random_state, until)
    return work


def _loads(model: Model, labels: IntArray) -> FloatArray:
    """Bounded sums of the clusters, (k, q)."""
    load = np.zeros(model.bound.shape[1:])
    np.add.at(load, labels, model.amount)
    return load


def _hand_on(
    priced: Priced,
    labels: IntArray,
    a: int,
    heat: float,
    random_state: np.random.RandomState,
    until: Deadline,
) -> float:
    """Hand what cluster a has outside its bounds on, if less is outside then in all; in place.

    A cluster is divided anew with one that is adjacent, nearest to room first, so that it obeys its
    bounds, or with two where no one suffices; then these, until less is outside.  The work that it
    took.
    """
    model, work, trial = priced.model, 0.0, labels.copy()
    before = float((_outside(_loads(model, labels), model.bound) * model.price[0]).sum())
    touched = np.arange(model.bound.shape[1]) == a
    done = np.zeros(len(touched), bool)
    for _ in range(at.WIDTH):
        load = _loads(model, trial)
        outside = _outside(load, model.bound) * model.price[0]
        if outside.sum() < before * (1.0 - 1e-9):
            labels[:] = trial
            break
        c = int(np.where(touched & ~done, outside.sum(axis=1), -1.0).argmax())
        others = _nearest_room(model, trial, load, c, int(outside[c].argmax()), random_state)
        others = others[~done[others]]
        for some in [*others[:, None], *([others[:2]] if len(others) > 1 else [])]:
            done[c], more = _divided(priced, trial, np.append(c, some), heat, random_state)
            work, touched[some] = work + more, True
            if done[c] or until.passed:
                break
        if not done[c]:
            break
    return work


def _nearest_room(
    model: Model,
    labels: IntArray,
    load: FloatArray,
    c: int,
    r: int,
    random_state: np.random.RandomState,
) -> IntArray:
    """Clusters adjacent to one outside its bounds of sum r, the nearest to others with room first.

    About: those a step farther may come before.
    """
    (lower, upper), pairs = model.bound[:, :, r], adjacent_pairs(model, labels)
    room = (upper - load[:, r] if load[c, r] > upper[c] else load[:, r] - lower) > 0.0
    ends = np.ones(len(pairs)), tuple(pairs.T)
    graph = sparse.coo_array(ends, shape=(len(room), len(room))).tocsr()
    how = {"directed": False, "unweighted": True, "min_only": True}
    far = csgraph.dijkstra(graph, indices=np.flatnonzero(room), **how) if room.any() else room
    near = np.setdiff1d(pairs[(pairs == c).any(axis=1)], c)
    order = np.argsort(far[near] + random_state.uniform(0.0, 2.0, size=len(near)))
    return near[order]


def _divided(
    priced: Priced,
    labels: IntArray,
    some: IntArray,
    heat: float,
    random_state: np.random.RandomState,
) -> tuple[bool, float]:
    """Divide some clusters anew by a random walk, so that the first obeys its bounds; in place.

    The heat is in mean costs of their groups, and a unit outside bounds costs as much as makes the
    mean amount of a group cost that.  Whether the first obeys its bounds, and the work.
    """
    place = np.full(priced.model.bound.shape[1], -1, np.int64)
    place[some] = np.arange(len(some))
    groups = np.flatnonzero(place[labels] >= 0)
    model, now = priced.part(groups, some, labels).model, place[labels[groups]]
    cost, best = abs(appraise(model, state_of(model, now))[0]) / len(groups), now.copy()
    heat *= cost if cost > 0.0 else priced.scale
    price, mean = model.price.copy(), np.abs(model.amount).mean(axis=0)
    hard = (price[1] > 0.0) & (mean > 0.0)
    price[0, hard] = heat / mean[hard]
    model = model._replace(price=price)
    draws = random_state.uniform(size=(max(at.WALK, at.SAMPLED * len(groups)), 3))
    how = draws, heat, float(at.GROWTH), best
    work = wander(rare_of(model), model, state_of(model, now), Scratch.of(model), *how)
    labels[groups] = some[best]
    return not _outside(_loads(model, best)[0], model.bound[:, 0]).any(), work


def adjacent_pairs(model: Model, labels: IntArray) -> IntArray:
    """Pairs of clusters that have neighbours in each other, the smaller number first, (c, 2)."""
    own = labels[model.graph[1, :-1]]
    here = np.repeat(own, np.diff(model.graph[0]))
    there = own[model.adjacent]
    k = int(model.bound.shape[1])
    keys = np.unique(here[here < there] * k + there[here < there])
    return np.stack(np.divmod(keys, k), axis=1)
