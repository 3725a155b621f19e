"""The neighbourhood, compiled: moves of groups between clusters by closed-form gains.

A cluster of weight W whose points add up to S costs, but for a constant of its members,
``-|S|^2 / W`` with means and ``-2 r |S|`` with centres on a sphere of radius r.  So the gain of any
move follows from how S and W change, and the centres move along.  A cluster around a medoid costs
the least of the sums of its members' costs at its own candidates; these sums are kept, so that a
change of one or two members is worth a look at each member.  What is outside the bounds of a
sum, a broken pair and a linear row outside its bounds cost their prices (:mod:`.model`), so a move
is worth its gain less the prices that it adds.

The moves are: *shift* a group, *swap* two groups, an *ejection chain* (a group enters a cluster
and another leaves it for a third), and a *Kempe chain* (a group and all that cannot-links then
force change sides between two clusters).  Only clusters that changed are searched again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from .compiled import compiled, part
from .model import CHORDS, MEANS, MEDOIDS, TABLE, Model

#: Most groups of a Kempe chain.  Longer chains are rarely worth their length.
LONGEST_CHAIN = 24
#: Clusters beyond the first that a group thrown out of a full cluster may go to.
EJECTED_TO = 3
#: Groups of a full cluster that are tried as partners of one that finds no room there.  More find
#: better swaps in large clusters of groups that are alike, and take longer.
PARTNERS = 30
#: Most members of a cluster whose medoid follows a move while it is valued.  In larger clusters a
#: move is valued at the present medoid, which is never too low; the medoid follows when it is made.
#: More find more moves and take longer for each.
FOLLOWED = 64
#: Most members of two clusters whose swaps are all valued with other medoids; between larger ones
#: only swaps that do not cost much at the present medoids are.  More take longer.
FEW = 16


class State(NamedTuple):
    """Labels of the groups, and what the clusters are made of; the moves keep it up to date."""

    labels: IntArray  # (m,)
    sums: FloatArray  # weighted sums of the points, (k, d)
    mass: FloatArray  # weights, (k,)
    length: FloatArray  # squared length of the sums, (k,)
    scale: FloatArray  # the centre is the sum times this, (k,)
    number: IntArray  # groups, (k,)
    load: FloatArray  # bounded sums, (k, q)
    excess: FloatArray  # price of what is outside the bounds, (k,)
    rows: FloatArray  # linear rows, (r,)
    head: IntArray  # first member, (k,)
    after: IntArray  # next member of the same cluster, (m,)
    before: IntArray  # and the one before, (m,)
    at: FloatArray  # what the members of its cluster cost at each candidate, (c,)
    medoid: IntArray  # candidate that is the medoid, (k,)
    cost: FloatArray  # what the cluster costs there, (k,)


class Scratch(NamedTuple):
    """Arrays that the moves write into; they are made once for a problem."""

    near: IntArray  # clusters that are looked at for each group, (m, width)
    ranked: BoolArray  # whether these are known, (m,)
    regret: FloatArray  # rise at the prices if the group went to the best other cluster, (m,)
    mark: IntArray  # last chain that a group was in, (m,)
    stamp: IntArray  # number of that chain, (1,)
    members: IntArray
    best_chain: IntArray
    clusters: IntArray  # (width,)
    costs: FloatArray  # (width,)
    rises: FloatArray  # rise of each shift to a near cluster, (width,)
    step: FloatArray  # (d,)
    moved: FloatArray  # (q,)
    now: BoolArray  # (k,)
    needy: IntArray  # (k,)
    reach: BoolArray  # (k,)
    changed: BoolArray  # (k,)
    gap: FloatArray  # (k,)

    @classmethod
    def of(cls, model: Model, width: int) -> Scratch:
        """For a model, and so many clusters that are looked at for each group."""
        m, (k, q), d = len(model.weight), model.lower.shape, model.points.shape[1]
        return cls(
            near=np.zeros((m, width), np.int64),
            ranked=np.zeros(m, np.bool_),
            regret=np.zeros(m),
            mark=np.zeros(m, np.int64),
            stamp=np.zeros(1, np.int64),
            members=np.zeros(LONGEST_CHAIN, np.int64),
            best_chain=np.zeros(LONGEST_CHAIN, np.int64),
            clusters=np.zeros(width, np.int64),
            costs=np.zeros(width),
            rises=np.zeros(width),
            step=np.zeros(d),
            moved=np.zeros(q),
            now=np.zeros(k, np.bool_),
            needy=np.zeros(k, np.int64),
            reach=np.zeros(k, np.bool_),
            changed=np.zeros(k, np.bool_),
            gap=np.zeros(k),
        )


def state_of(model: Model, labels: IntArray) -> State:
    """The state of labels, which are copied."""
    m, (k, q) = len(labels), model.lower.shape
    state = State(
        labels=labels.astype(np.int64),
        sums=np.zeros((k, model.points.shape[1])),
        mass=np.zeros(k),
        length=np.zeros(k),
        scale=np.zeros(k),
        number=np.zeros(k, np.int64),
        load=np.zeros((k, q)),
        excess=np.zeros(k),
        rows=np.zeros(len(model.row_lower)),
        head=np.full(k, -1, np.int64),
        after=np.full(m, -1, np.int64),
        before=np.full(m, -1, np.int64),
        at=np.zeros(len(model.home)),
        medoid=np.zeros(k, np.int64),
        cost=np.zeros(k),
    )
    count(model, state)
    return state


@compiled
def count(model: Model, state: State) -> None:
    """Fill the state from its labels."""
    k, m = len(state.mass), len(state.labels)
    for i in range(m):
        add(model, state, i, state.labels[i])
    for j in range(k):
        measure(model, state, j, True)


@part
def add(model: Model, state: State, i: int, j: int) -> None:
    """Put group i into cluster j; :func:`measure` follows when all are there."""
    w = model.weight[i]
    state.labels[i] = j
    state.mass[j] += w
    state.number[j] += 1
    change_sum(model, state, i, j, w)
    for q in range(model.amount.shape[1]):
        state.load[j, q] += model.amount[i, q]
    if len(model.column) > 1:
        e = i * len(state.mass) + j
        for z in range(model.column[e], model.column[e + 1]):
            state.rows[model.row[z]] += model.value[z]
    first = state.head[j]
    state.after[i] = first
    state.before[i] = -1
    if first >= 0:
        state.before[first] = i
    state.head[j] = i


@part
def remove(model: Model, state: State, i: int, j: int) -> None:
    """Take group i out of cluster j."""
    w = model.weight[i]
    state.mass[j] -= w
    state.number[j] -= 1
    change_sum(model, state, i, j, -w)
    for q in range(model.amount.shape[1]):
        state.load[j, q] -= model.amount[i, q]
    if len(model.column) > 1:
        e = i * len(state.mass) + j
        for z in range(model.column[e], model.column[e + 1]):
            state.rows[model.row[z]] -= model.value[z]
    behind, front = state.after[i], state.before[i]
    if front >= 0:
        state.after[front] = behind
    else:
        state.head[j] = behind
    if behind >= 0:
        state.before[behind] = front


@part
def change_sum(model: Model, state: State, i: int, j: int, w: float) -> None:
    """Add a weight of group i to the sum of cluster j."""
    if model.kind == TABLE:
        return
    if model.kind == MEDOIDS:
        change_costs(model, state, i, j, w)
        return
    if model.points.shape[0] > 0:
        for f in range(state.sums.shape[1]):
            state.sums[j, f] += w * model.points[i, f]
        return
    state.length[j] += 2.0 * w * inner(model, state, i, j) + w * w * model.square[i]
    for z in range(model.indptr[i], model.indptr[i + 1]):
        state.sums[j, model.indices[z]] += w * model.data[z]


@part
def change_costs(model: Model, state: State, i: int, j: int, sign: float) -> None:
    """Add the costs of group i to those of cluster j at its candidates, or take them out.

    The group is not among the members yet, or still among them.
    """
    table, candidate, first = model.table, model.candidate, model.first
    o = state.head[j]
    while o >= 0:
        for z in range(first[o], first[o + 1]):
            state.at[candidate[z]] += sign * table[i, candidate[z]]
        o = state.after[o]
    if sign < 0.0:
        return
    for z in range(first[i], first[i + 1]):
        c = candidate[z]
        state.at[c] = table[i, c]
    o = state.head[j]
    while o >= 0:
        for z in range(first[i], first[i + 1]):
            state.at[candidate[z]] += table[o, candidate[z]]
        o = state.after[o]


@part
def find_medoid(model: Model, state: State, j: int) -> None:
    """The candidate among the members of cluster j where they cost least."""
    best, o = np.inf, state.head[j]
    while o >= 0:
        for z in range(model.first[o], model.first[o + 1]):
            c = model.candidate[z]
            if state.at[c] < best:
                best, state.medoid[j] = state.at[c], c
        o = state.after[o]
    state.cost[j] = best if state.number[j] > 0 else 0.0


@part
def measure(model: Model, state: State, j: int, anew: bool) -> None:
    """What follows from the members of cluster j; ``anew`` also renews a sparse sum's length."""
    dense = model.points.shape[0] > 0
    if model.kind == MEDOIDS:
        find_medoid(model, state, j)
    elif dense or anew:
        length = 0.0
        for f in range(state.sums.shape[1]):
            length += state.sums[j, f] * state.sums[j, f]
        state.length[j] = length
    if model.kind == CHORDS:
        length = state.length[j]
        state.scale[j] = model.radius / np.sqrt(length) if length > 0.0 else 0.0
    else:
        state.scale[j] = 1.0 / state.mass[j] if state.mass[j] > 0.0 else 0.0
    paid = 0.0
    for q in range(state.load.shape[1]):
        paid += sum_price(model, state.load[j, q], j, q)
    state.excess[j] = paid


@part
def sum_price(model: Model, load: float, j: int, q: int) -> float:
    """Price of what a load of cluster j misses the bounds of sum q by."""
    if load > model.upper[j, q]:
        return (load - model.upper[j, q]) * model.price[q]
    if load < model.lower[j, q]:
        return (model.lower[j, q] - load) * model.price[q]
    return 0.0


@part
def outside_with(model: Model, state: State, j: int, i: int, sign: float) -> float:
    """Price of the loads of cluster j with group i added, or taken out of it."""
    paid = 0.0
    for q in range(model.amount.shape[1]):
        paid += sum_price(model, state.load[j, q] + sign * model.amount[i, q], j, q)
    return paid


@part
def inner(model: Model, state: State, i: int, j: int) -> float:
    """Inner product of point i with the sum of cluster j."""
    found = 0.0
    if model.points.shape[0] > 0:
        for f in range(state.sums.shape[1]):
            found += model.points[i, f] * state.sums[j, f]
    else:
        for z in range(model.indptr[i], model.indptr[i + 1]):
            found += model.data[z] * state.sums[j, model.indices[z]]
    return found


@part
def inner_of(model: Model, i: int, o: int) -> float:
    """Inner product of two points."""
    found = 0.0
    if model.points.shape[0] > 0:
        for f in range(model.points.shape[1]):
            found += model.points[i, f] * model.points[o, f]
        return found
    z, end = model.indptr[i], model.indptr[i + 1]
    y, stop = model.indptr[o], model.indptr[o + 1]
    while z < end and y < stop:
        if model.indices[z] == model.indices[y]:
            found += model.data[z] * model.data[y]
            z += 1
            y += 1
        elif model.indices[z] < model.indices[y]:
            z += 1
        else:
            y += 1
    return found


@part
def squared(model: Model, state: State, i: int, j: int) -> float:
    """Squared distance of group i to the centre of cluster j; its cost there, if in a table.

    The centre of an empty cluster is wherever its first group is.
    """
    if model.kind == TABLE:
        return model.table[i, j]
    if state.number[j] == 0:
        return 0.0
    if model.kind == MEDOIDS:
        return model.table[i, state.medoid[j]]
    scale, found = state.scale[j], 0.0
    if model.points.shape[0] > 0:
        for f in range(state.sums.shape[1]):
            gap = model.points[i, f] - scale * state.sums[j, f]
            found += gap * gap
        return found
    found = model.square[i] - 2.0 * scale * inner(model, state, i, j)
    return max(found + scale * scale * state.length[j], 0.0)


@part
def joining(model: Model, state: State, i: int, j: int, square: float) -> float:
    """Rise of the objective when group i joins cluster j, at this squared distance."""
    if model.kind == TABLE:
        return square
    if model.kind == MEDOIDS:
        return renewed(model, state, j, i, -1) - state.cost[j]
    w = model.weight[i]
    if model.kind == MEANS:
        mass = state.mass[j]
        return mass * w / (mass + w) * square if mass > 0.0 else 0.0
    stiff = np.sqrt(state.length[j]) / model.radius
    then, lost = stiff + w, stiff * w * square
    now = np.sqrt(max(then * then - lost / (model.radius * model.radius), 0.0))
    return 2.0 * lost / (then + now) if then > 0.0 else 0.0


@part
def leaving(model: Model, state: State, i: int, j: int, square: float) -> float:
    """Fall of the objective when group i leaves cluster j, at this squared distance."""
    if model.kind == TABLE:
        return square
    if model.kind == MEDOIDS:
        return state.cost[j] - renewed(model, state, j, -1, i)
    w = model.weight[i]
    if model.kind == MEANS:
        mass = state.mass[j]
        rest = mass - w
        return mass * w / rest * square if rest > 1e-12 * mass else w * square
    square_radius = model.radius * model.radius
    stiff = np.sqrt(state.length[j]) / model.radius
    then, lost = stiff - w, stiff * w * square
    now = np.sqrt(max(then * then + lost / square_radius, 0.0))
    if then > 0.0:
        return 2.0 * lost / (then + now)
    return 2.0 * square_radius * (now - then)


@part
def renewed(model: Model, state: State, j: int, into: int, out: int) -> float:
    """Cost of cluster j with one more group and without another, either of them -1 for none.

    It is that at the best medoid, or at the present one if members are many and it stays.
    """
    table, candidate, first = model.table, model.candidate, model.first
    c, best = state.medoid[j], np.inf
    if state.number[j] > FOLLOWED and (out < 0 or model.home[c] != out):
        cost = state.at[c]
        if into >= 0:
            cost += table[into, c]
        return cost - table[out, c] if out >= 0 else cost
    if state.number[j] == 1 and out >= 0 and into < 0:
        return 0.0
    o = state.head[j]
    while o >= 0:
        if o != out:
            for z in range(first[o], first[o + 1]):
                c = candidate[z]
                cost = state.at[c]
                if into >= 0:
                    cost += table[into, c]
                if out >= 0:
                    cost -= table[out, c]
                best = min(best, cost)
        o = state.after[o]
    if into < 0:
        return best
    for z in range(first[into], first[into + 1]):
        c = candidate[z]
        cost, o = table[into, c], state.head[j]
        while o >= 0 and cost < best:
            if o != out:
                cost += table[o, c]
            o = state.after[o]
        best = min(best, cost)
    return best


@part
def chain_cost(model: Model, state: State, j: int, found: int, scratch: Scratch) -> float:
    """Cost of cluster j at its best medoid when the groups of a chain change sides."""
    table, candidate, first = model.table, model.candidate, model.first
    members, mark, stamp = scratch.members, scratch.mark, scratch.stamp[0]
    best, o = np.inf, state.head[j]
    while o >= 0:
        for z in range(first[o], first[o + 1] if mark[o] != stamp else first[o]):
            c = candidate[z]
            cost = state.at[c]
            for y in range(found):
                g = members[y]
                cost += -table[g, c] if state.labels[g] == j else table[g, c]
            best = min(best, cost)
        o = state.after[o]
    for x in range(found):
        g = members[x]
        for z in range(first[g], first[g + 1] if state.labels[g] != j else first[g]):
            c = candidate[z]
            cost, o = 0.0, state.head[j]
            while o >= 0:
                if mark[o] != stamp:
                    cost += table[o, c]
                o = state.after[o]
            for y in range(found):
                if state.labels[members[y]] != j:
                    cost += table[members[y], c]
            best = min(best, cost)
    return best


@part
def worth(model: Model, mass: float, length: float) -> float:
    """What a cluster costs but for a constant of its members."""
    if model.kind == CHORDS:
        return -2.0 * model.radius * np.sqrt(max(length, 0.0))
    return -length / mass if mass > 0.0 else 0.0


@part
def pin_price(model: Model, i: int, a: int, b: int) -> float:
    """What group i pays more for soft pins in cluster b than in a."""
    at = model.paid_at[i]
    return model.paid[at, b] - model.paid[at, a] if at >= 0 else 0.0


@part
def row_price(model: Model, value: float, r: int) -> float:
    """Price of a value of linear row r."""
    if value > model.row_upper[r]:
        return (value - model.row_upper[r]) * model.row_price[r]
    if value < model.row_lower[r]:
        return (model.row_lower[r] - value) * model.row_price[r]
    return 0.0


@part
def rows_rise(model: Model, state: State, i: int, a: int, b: int, o: int, c: int) -> float:
    """Rise of the price of linear rows when group i goes from a to b, and o from b to c.

    Without the second group, o is -1.
    """
    k, rise, half = len(state.mass), 0.0, 4 if o >= 0 else 2
    for step in range(2 * half):
        # Out of one cluster and into the next for each group; then everything back.
        back, into = step >= half, step % 2 == 1
        group, here, there = (o, b, c) if step % half >= 2 else (i, a, b)
        cluster = there if into else here
        sign = 1.0 if into != back else -1.0
        change = entry_changed(model, state, group * k + cluster, sign)
        rise += 0.0 if back else change
    return rise


@part
def entry_changed(model: Model, state: State, entry: int, sign: float) -> float:
    """Add an entry of x to the linear rows, or take it out; how far their price rises."""
    rise = 0.0
    for z in range(model.column[entry], model.column[entry + 1]):
        r = model.row[z]
        rise -= row_price(model, state.rows[r], r)
        state.rows[r] += sign * model.value[z]
        rise += row_price(model, state.rows[r], r)
    return rise


@part
def pair_price(model: Model, state: State, i: int, b: int) -> float:
    """How far the price of the pairs of group i rises when it goes to cluster b."""
    a, rise = state.labels[i], 0.0
    for z in range(model.ptr[i], model.ptr[i + 1]):
        at = state.labels[model.other[z]]
        if at == b:
            rise += model.tie[z]
        elif at == a:
            rise -= model.tie[z]
    return rise


@part
def tie_of(model: Model, i: int, o: int) -> float:
    """What agreeing costs groups i and o more than differing."""
    for z in range(model.ptr[i], model.ptr[i + 1]):
        if model.other[z] == o:
            return model.tie[z]
    return 0.0


@part
def shift(model: Model, state: State, i: int, b: int) -> None:
    """Move group i to cluster b."""
    a = state.labels[i]
    remove(model, state, i, a)
    add(model, state, i, b)
    measure(model, state, a, False)
    measure(model, state, b, False)


@part
def rank(model: Model, state: State, i: int, prices: FloatArray, scratch: Scratch) -> None:
    """Note the clusters where group i costs least at the prices, (k, q), in order."""
    clusters, costs = scratch.clusters, scratch.costs
    k, t = len(state.mass), len(clusters)
    w = 1.0 if model.kind >= TABLE else model.weight[i]
    dense = model.points.shape[0] > 0
    found = 0
    for j in range(k):
        top = costs[found - 1] if found == t else np.inf
        cost = 0.0
        for q in range(prices.shape[1]):
            cost += prices[j, q] * model.amount[i, q]
        if cost >= top:
            continue
        if dense and state.number[j] > 0:
            scale = state.scale[j]
            for f in range(state.sums.shape[1]):
                gap = model.points[i, f] - scale * state.sums[j, f]
                cost += w * gap * gap
                if cost >= top:
                    break
        else:
            cost += w * squared(model, state, i, j)
        if cost >= top:
            continue
        found = min(found + 1, t)
        p = found - 1
        while p > 0 and costs[p - 1] > cost:
            costs[p], clusters[p] = costs[p - 1], clusters[p - 1]
            p -= 1
        costs[p], clusters[p] = cost, j
    for p in range(t):
        scratch.near[i, p] = clusters[p]
    scratch.ranked[i] = True
    own = state.labels[i]
    if t == 1:
        scratch.regret[i] = np.inf
    elif clusters[0] == own:
        scratch.regret[i] = costs[1] - costs[0]
    else:
        here = w * squared(model, state, i, own)
        for q in range(prices.shape[1]):
            here += prices[own, q] * model.amount[i, q]
        scratch.regret[i] = costs[0] - here


@part
def chain(model: Model, state: State, i: int, b: int, scratch: Scratch) -> int:
    """Group i and all that hard cannot-links then force to change sides with cluster b.

    The number of groups, 0 if they are too many or one of them is pinned.
    """
    members, mark = scratch.members, scratch.mark
    scratch.stamp[0] += 1
    a, stamp = state.labels[i], scratch.stamp[0]
    members[0], mark[i], found, done = i, stamp, 1, 0
    while done < found:
        g = members[done]
        done += 1
        there = b if state.labels[g] == a else a
        for z in range(model.ptr[g], model.ptr[g + 1]):
            o = model.other[z]
            if model.bar[z] and state.labels[o] == there and mark[o] != stamp:
                if found == len(members) or model.pin[o] >= 0:
                    return 0
                mark[o], members[found] = stamp, o
                found += 1
    return found


@part
def chain_rise(model: Model, state: State, a: int, b: int, found: int, scratch: Scratch) -> float:
    """Rise of objective and prices when the groups of a chain change sides between a and b."""
    d, n_sums, rise = state.sums.shape[1], model.amount.shape[1], 0.0
    step, moved, members = scratch.step, scratch.moved, scratch.members
    mark, stamp = scratch.mark, scratch.stamp[0]
    for f in range(d):
        step[f] = 0.0
    for q in range(n_sums):
        moved[q] = 0.0
    weight, number = 0.0, 0
    for y in range(found):
        g = members[y]
        here = state.labels[g]
        there = b if here == a else a
        sign = 1.0 if here == a else -1.0
        number += 1 if here == a else -1
        rise += pin_price(model, g, here, there)
        for z in range(model.ptr[g], model.ptr[g + 1]):
            o = model.other[z]
            if mark[o] == stamp:
                continue  # two groups of the chain stay apart, or stay together
            if state.labels[o] == there:
                rise += model.tie[z]
            elif state.labels[o] == here:
                rise -= model.tie[z]
        for q in range(n_sums):
            moved[q] += sign * model.amount[g, q]
        if model.kind == TABLE:
            rise += model.table[g, there] - model.table[g, here]
        if model.kind >= TABLE:
            continue
        w = sign * model.weight[g]
        weight += w
        if model.points.shape[0] > 0:
            for f in range(d):
                step[f] += w * model.points[g, f]
        else:
            for z in range(model.indptr[g], model.indptr[g + 1]):
                step[model.indices[z]] += w * model.data[z]
    if number == state.number[a] or number == -state.number[b]:
        return np.inf
    if model.kind == MEDOIDS:
        rise += chain_cost(model, state, a, found, scratch) - state.cost[a]
        rise += chain_cost(model, state, b, found, scratch) - state.cost[b]
    elif model.kind != TABLE:
        out, into = 0.0, 0.0
        for f in range(d):
            out += step[f] * (step[f] - 2.0 * state.sums[a, f])
            into += step[f] * (step[f] + 2.0 * state.sums[b, f])
        rise += worth(model, state.mass[a] - weight, state.length[a] + out)
        rise += worth(model, state.mass[b] + weight, state.length[b] + into)
        rise -= worth(model, state.mass[a], state.length[a])
        rise -= worth(model, state.mass[b], state.length[b])
    for q in range(n_sums):
        rise += sum_price(model, state.load[a, q] - moved[q], a, q)
        rise += sum_price(model, state.load[b, q] + moved[q], b, q)
    rise -= state.excess[a] + state.excess[b]
    k = len(state.mass)
    for y in range(4 * found if len(model.column) > 1 else 0):
        # Every group out of its cluster and into the other one; then everything back.
        g, back, into = members[y // 2 % found], y >= 2 * found, y % 2 == 1
        here = state.labels[g]
        there = b if here == a else a
        sign = 1.0 if into != back else -1.0
        change = entry_changed(model, state, g * k + (there if into else here), sign)
        rise += 0.0 if back else change
    return rise


@part
def shift_rise(model: Model, state: State, i: int, b: int, out: float, less: float) -> float:
    """Rise of objective and prices when group i goes to cluster b.

    ``out`` is what its leaving saves, and ``less`` how far the excess of its own cluster rises.
    """
    a = state.labels[i]
    rise = joining(model, state, i, b, squared(model, state, i, b)) - out + less
    rise += outside_with(model, state, b, i, 1.0) - state.excess[b]
    rise += pin_price(model, i, a, b)
    if model.ptr[i] < model.ptr[i + 1]:
        rise += pair_price(model, state, i, b)
    if len(model.column) > 1:
        rise += rows_rise(model, state, i, a, b, -1, -1)
    return rise


@part
def exchange_rise(model: Model, state: State, i: int, o: int, c: int) -> float:
    """Rise of objective and prices when group i takes the place of o, which goes to cluster c.

    It is a swap if c is the cluster of i, and an ejection chain otherwise.
    """
    a, b = state.labels[i], state.labels[o]
    swapped, rise = c == a, 0.0
    if model.kind == TABLE:
        rise = model.table[i, b] - model.table[i, a] + model.table[o, c] - model.table[o, b]
    elif model.kind == MEDOIDS:
        rise = exchange_cost(model, state, i, o, c)
    else:
        # How the squared lengths of the sums change, from inner products.
        w, v = model.weight[i], model.weight[o]
        own, other = w * w * model.square[i], v * v * model.square[o]
        cross = 2.0 * w * v * inner_of(model, i, o)
        into = own + other - cross + 2.0 * w * inner(model, state, i, b)
        into -= 2.0 * v * inner(model, state, o, b)
        out = own - 2.0 * w * inner(model, state, i, a)
        gained = 2.0 * v * inner(model, state, o, c) + other
        if swapped:
            out += gained - cross
            rise = changed_worth(model, state, a, v - w, out)
        else:
            rise = changed_worth(model, state, a, -w, out)
            rise += changed_worth(model, state, c, v, gained)
        rise += changed_worth(model, state, b, w - v, into)
    for q in range(model.amount.shape[1]):
        mine, theirs = model.amount[i, q], model.amount[o, q]
        rise += sum_price(model, state.load[b, q] + mine - theirs, b, q)
        if swapped:
            rise += sum_price(model, state.load[a, q] + theirs - mine, a, q)
        else:
            rise += sum_price(model, state.load[a, q] - mine, a, q)
            rise += sum_price(model, state.load[c, q] + theirs, c, q)
    rise -= state.excess[a] + state.excess[b] + (0.0 if swapped else state.excess[c])
    rise += pin_price(model, i, a, b) + pin_price(model, o, b, c)
    tied = model.ptr[i] < model.ptr[i + 1]
    if tied:
        rise += pair_price(model, state, i, b)
    if model.ptr[o] < model.ptr[o + 1]:
        rise += pair_price(model, state, o, c)
        if tied:
            # The sums count the pair of i and o as if the other one stayed.
            rise -= (2.0 if swapped else 1.0) * tie_of(model, i, o)
    if len(model.column) > 1:
        rise += rows_rise(model, state, i, a, b, o, c)
    return rise


@part
def exchange_cost(model: Model, state: State, i: int, o: int, c: int) -> float:
    """Rise of the costs at medoids when group i takes the place of o, which goes to cluster c."""
    a, b, table = state.labels[i], state.labels[o], model.table
    at, to = state.medoid[a], state.medoid[b]
    if c != a:
        rise = renewed(model, state, a, -1, i) + renewed(model, state, c, o, -1)
        rise += renewed(model, state, b, i, o)
        return rise - state.cost[a] - state.cost[b] - state.cost[c]
    many = state.number[a] + state.number[b] > FEW
    if many and model.home[at] != i and model.home[to] != o:
        # With the medoids that they have; others hardly make up for much more.
        rise = table[i, to] - table[i, at] + table[o, at] - table[o, to]
        if rise > state.cost[a] / state.number[a] + state.cost[b] / state.number[b]:
            return rise
    rise = renewed(model, state, b, i, o) + renewed(model, state, a, o, i)
    return rise - state.cost[a] - state.cost[b]


@part
def changed_worth(model: Model, state: State, j: int, weight: float, length: float) -> float:
    """Rise of the worth of cluster j when its weight and the squared length of its sum change."""
    mass, now = state.mass[j], state.length[j]
    if model.kind == MEANS and weight == 0.0:
        return -length / mass if mass > 0.0 else 0.0
    return worth(model, mass + weight, now + length) - worth(model, mass, now)


@part
def mark_reach(model: Model, state: State, scratch: Scratch) -> None:
    """Note the clusters that are awake, or among the nearest of one that is."""
    k, reach, number = len(state.mass), len(scratch.costs), 0
    nearest, gaps = scratch.clusters, scratch.costs
    for j in range(k):
        scratch.reach[j] = scratch.now[j]
        number += scratch.now[j]
    if number * reach >= k:
        for j in range(k):
            scratch.reach[j] = True
        return
    for a in range(k):
        if not scratch.now[a]:
            continue
        have = 0
        if model.kind == TABLE:
            least_rises(model, state, a, scratch.gap)
        for j in range(k):
            top = gaps[have - 1] if have == reach else np.inf
            gap = scratch.gap[j] if model.kind == TABLE else gap_of(model, state, a, j, top)
            if gap >= top:
                continue
            have = min(have + 1, reach)
            p = have - 1
            while p > 0 and gaps[p - 1] > gap:
                gaps[p], nearest[p] = gaps[p - 1], nearest[p - 1]
                p -= 1
            gaps[p], nearest[p] = gap, j
        for p in range(have):
            scratch.reach[nearest[p]] = True


@part
def gap_of(model: Model, state: State, a: int, j: int, top: float) -> float:
    """Squared distance of two centres, or what the medoid of a costs at that of j.

    Anything from ``top`` on may stand for more.
    """
    if model.kind == MEDOIDS:
        return model.table[model.home[state.medoid[a]], state.medoid[j]]
    gap = 0.0
    for f in range(state.sums.shape[1]):
        step = state.scale[a] * state.sums[a, f] - state.scale[j] * state.sums[j, f]
        gap += step * step
        if gap >= top:
            break
    return gap


@part
def least_rises(model: Model, state: State, a: int, gap: FloatArray) -> None:
    """Write how much more than now a group of each cluster costs in cluster a, at least."""
    for j in range(len(gap)):
        gap[j] = np.inf
    for i in range(len(state.labels)):
        j = state.labels[i]
        gap[j] = min(gap[j], model.table[i, a] - model.table[i, j])


@part
def find_needy(model: Model, state: State, scratch: Scratch) -> int:
    """Note the clusters below a bound, which groups anywhere may help; their number."""
    k, number = len(state.mass), 0
    for j in range(k):
        for q in range(state.load.shape[1]):
            if state.load[j, q] < model.lower[j, q]:
                scratch.needy[number] = j
                number += 1
                break
    for j in range(k if number > 0 else 0):
        scratch.reach[j] = True
    return number


@compiled
def descend(
    model: Model,
    state: State,
    order: IntArray,
    awake: BoolArray,
    prices: FloatArray,
    scratch: Scratch,
    sweeps: int,
    least: float,
    margin: float,
    urgent: float,
    allowance: float,
    fresh: bool,
) -> tuple[int, float]:
    """Take the best move of each group in turn until none pays; the state changes in place.

    Parameters
    ----------
    model, state
    order : (m,) array
        In which groups are looked at.
    awake : (k,) array
        Clusters that may have changed; moves between two others are not looked for.
    prices : (k, q) array
        Of the sums: they tell which clusters are worth a look.
    scratch : Scratch
    sweeps : int
    least : float
        Rise below minus this is a gain.
    margin, urgent : float
        Rise at the prices up to which a group that finds no room is worth a swap, and the same for
        groups of a cluster that is outside its bounds.
    allowance : float
        Work, in numbers read, after which it ends early; ``scratch.now`` has the clusters that are
        still awake then.
    fresh : bool
        Whether near clusters are to be found anew.

    Returns
    -------
    moves, work
    """
    m, (k, d) = len(state.labels), state.sums.shape
    near, ranked, now, changed = scratch.near, scratch.ranked, scratch.now, scratch.changed
    width = near.shape[1]
    moves, work, unit = 0, 0.0, d + 4.0
    if model.points.shape[0] == 0 and d > 0:
        unit = len(model.data) / m + 4.0
    if model.kind == MEDOIDS:
        unit += 2.0 * m / k if m <= k * FOLLOWED else 4.0
    for i in range(m if fresh else 0):
        ranked[i] = False
    for j in range(k):
        now[j] = awake[j]
    for _ in range(sweeps):
        needy = find_needy(model, state, scratch)
        if needy == 0:
            mark_reach(model, state, scratch)
        for j in range(k):
            changed[j] = False
        for i in range(m):
            if scratch.reach[state.labels[i]] and not ranked[i]:
                rank(model, state, i, prices, scratch)
                work += k * (d + 4.0)
        moved = 0
        for place in range(m):
            if work > allowance:
                return moves + moved, work
            i = order[place]
            a = state.labels[i]
            if not scratch.reach[a] or model.pin[i] >= 0:
                continue
            linked = model.ptr[i] < model.ptr[i + 1]
            out = leaving(model, state, i, a, squared(model, state, i, a))
            less = outside_with(model, state, a, i, -1.0) - state.excess[a]
            best, to, partner, third, links = -least, -1, -1, -1, 0
            wide = state.excess[a] > 0.0 or (linked and _clash(model, state, i))
            others = k if wide else needy
            for r in range(width + others):
                # First the near clusters; then, if the group has to go, all others.
                if r < width:
                    b = near[i, r]
                elif to >= 0:
                    break
                else:
                    b = r - width if wide else scratch.needy[r - width]
                if b == a or not (now[a] or now[b]):
                    continue
                rise = shift_rise(model, state, i, b, out, less)
                work += unit
                if r < width:
                    scratch.rises[r] = rise
                if rise < best:
                    best, to, links = rise, b, 0
                if linked and r < width and _barred(model, state, i, b):
                    found = chain(model, state, i, b, scratch)
                    if found > 0:
                        rise = chain_rise(model, state, a, b, found, scratch)
                        work += found * unit
                        if rise < best:
                            best, to, links = rise, b, found
                            for y in range(found):
                                scratch.best_chain[y] = scratch.members[y]
            # Where a shift is held back by full clusters, somebody else has to make room.
            limit = urgent if state.excess[a] > 0.0 else margin
            for r in range(width if model.amount.shape[1] > 0 else 0):
                b = near[i, r]
                if b == a or not (now[a] or now[b]):
                    continue
                added = outside_with(model, state, b, i, 1.0) - state.excess[b]
                blocked, free = less + added > 0.0, 0.0
                if blocked:
                    # Only if the shift is worth while at the prices of the sums.
                    free = scratch.rises[r] - less - added
                    for q in range(prices.shape[1]):
                        free += model.amount[i, q] * (prices[b, q] - prices[a, q])
                    blocked = free < limit
                if not blocked:
                    continue
                o, work, tried = state.head[b], work + 0.1 * state.number[b], 0
                while o >= 0 and tried < PARTNERS:
                    worse = scratch.regret[o] + free > 2.0 * limit
                    if worse or not ranked[o] or model.pin[o] >= 0:
                        o = state.after[o]
                        continue
                    tried += 1
                    for y in range(min(EJECTED_TO, width) + 1):
                        # First the swap, then the clusters near to the other group.
                        c = a if y == 0 else near[o, y - 1]
                        if y > 0 and c in (a, b):
                            continue
                        if y > 0 and outside_with(model, state, c, o, 1.0) > state.excess[c]:
                            continue
                        rise = exchange_rise(model, state, i, o, c)
                        work += 3.0 * unit
                        if rise < best:
                            best, to, partner, third, links = rise, b, o, c, 0
                    o = state.after[o]
            if to < 0:
                continue
            if links == 0:
                scratch.best_chain[0], scratch.best_chain[1] = i, partner
                links = 1 if partner < 0 else 2
            for y in range(links):
                g = scratch.best_chain[y]
                other = to if state.labels[g] == a else a
                shift(model, state, g, third if g == partner else other)
            moved += 1
            changed[a] = changed[to] = now[a] = now[to] = True
            if third >= 0:
                changed[third] = now[third] = True
        moves += moved
        for j in range(k):
            now[j] = changed[j]
        if moved == 0 or work > allowance:
            break
    return moves, work


@part
def _clash(model: Model, state: State, i: int) -> bool:
    """Whether group i shares its cluster with one that a hard cannot-link keeps apart."""
    return _barred(model, state, i, state.labels[i])


@part
def _barred(model: Model, state: State, i: int, b: int) -> bool:
    """Whether a hard cannot-link keeps group i out of cluster b."""
    for z in range(model.ptr[i], model.ptr[i + 1]):
        if model.bar[z] and state.labels[model.other[z]] == b:
            return True
    return False


@compiled
def appraise(model: Model, state: State) -> tuple[float, float, float]:
    """The objective of the state, the price of soft rules, and how far hard rules are broken."""
    objective, soft, hard = 0.0, 0.0, 0.0
    for i in range(len(state.labels)):
        a = state.labels[i]
        square = squared(model, state, i, a)
        objective += square if model.kind >= TABLE else model.weight[i] * square
        if model.paid_at[i] >= 0:
            soft += model.paid[model.paid_at[i], a]
        for z in range(model.ptr[i], model.ptr[i + 1]):
            if model.other[z] > i and state.labels[model.other[z]] == a:
                if model.bar[z]:
                    hard += 1.0
                else:
                    soft += model.tie[z]
    for j in range(len(state.mass)):
        for q in range(state.load.shape[1]):
            paid = sum_price(model, state.load[j, q], j, q)
            if model.hard[q]:
                hard += paid
            else:
                soft += paid
    for r in range(len(state.rows)):
        hard += row_price(model, state.rows[r], r)
    return objective, soft, hard


@compiled
def restless(model: Model, state: State, awake: BoolArray) -> None:
    """Mark the clusters that break a rule: outside their bounds, or with a broken pair.

    Linear rows belong to no cluster; where one is outside its bounds, all clusters are marked.
    """
    every = False
    for r in range(len(state.rows)):
        every = every or row_price(model, state.rows[r], r) > 0.0
    for j in range(len(state.mass)):
        awake[j] = every or state.excess[j] > 0.0
    for i in range(len(state.labels)):
        if not awake[state.labels[i]] and _clash(model, state, i):
            awake[state.labels[i]] = True
