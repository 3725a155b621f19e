"""The neighbourhood, compiled: moves of groups between clusters by closed-form gains.

A cluster of weight W whose points add up to S costs, but for a constant of its members,
``-|S|^2 / W`` with means and ``-2 r |S|`` with centres on a sphere of radius r.  So the gain of any
move follows from how S and W change, and the centres move along.  A cluster around a medoid costs
the least of the sums of its members' costs at its own candidates; these sums are kept.  What is
outside the bounds of a sum, a broken pair and a linear row outside its bounds cost their prices
(:mod:`.model`), so a move is worth its gain less the prices that it adds.

The moves are: *shift* a group, *swap* two groups, an *ejection chain* (a group enters a cluster
and another leaves it for a third), and a *Kempe chain* (a group and all that cannot-links then
force change sides between two clusters).  A group looks at the clusters whose centres are near that
of its own; the triangle inequality leaves most of them out.  Only clusters that changed are
searched again.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from .compiled import compiled, inlined, part
from .model import CHORDS, MEANS, MEDOIDS, TABLE, Model
from .numbers import LONGEST_CHAIN, PARTNERS, WIDTH

#: Partners of an exchange that are tried: the first that no cannot-link keeps out.  With 24 a
#: descent in clusters of 20 takes twice as long, and the answers of a search are worse.
TRIED = 4
#: Numbers of groups in a move; numba would compile again for plain literals.
ONE, TWO = cast(int, np.int64(1)), cast(int, np.int64(2))
# Rows of the arrays of a model, a state and the scratch.
WEIGHT, SQUARE = 0, 1
LOWER, UPPER, ROW_PRICE = 0, 1, 2
PRICE, HARD = 0, 1
NUMBER, HEAD, MEDOID = 0, 1, 2
MASS, LENGTH, SCALE, EXCESS, COST = 0, 1, 2, 3, 4
AFTER, BEFORE = 0, 1
WHO, TO, BEST_WHO, BEST_TO = 0, 1, 2, 3
NOW, REACH, CHANGED = 0, 1, 2
NEAR, READY, NEEDY = 0, 1, 2


class State(NamedTuple):
    """Labels of the groups, and what the clusters are made of; the moves keep it up to date."""

    labels: IntArray  # (m,)
    link: IntArray  # the next and the last member of the same cluster, (2, m)
    place: IntArray  # number of groups, first member, candidate that is the medoid, (3, k)
    figure: FloatArray  # mass, squared length of the sum, centre by sum, excess, cost, (5, k)
    sums: FloatArray  # weighted sums of the points, (k, d)
    load: FloatArray  # bounded sums, (k, q)
    rows: FloatArray  # linear rows, (r,)
    at: FloatArray  # what the members of its cluster cost at each candidate, (c,)


class Scratch(NamedTuple):
    """Arrays that the moves write into; they are made once for a problem."""

    near: IntArray  # clusters that groups of each cluster look at, (k, slots)
    gap: FloatArray  # distances of their centres, (k, slots)
    partner: IntArray  # groups that leave each cluster at the least rise, (k, PARTNERS)
    regret: FloatArray  # rise at the prices if the group went to the best other cluster, (m,)
    best: IntArray  # that cluster, (m,)
    rise: FloatArray  # rise at the prices in each near cluster, (slots,)
    mark: IntArray  # last move that a group was in, (m + 1,); at the end, the number of moves
    move: IntArray  # groups of a move and where they go, and those of the best one, (4, longest)
    step: FloatArray  # always 0 between two uses, (d,)
    flag: BoolArray  # clusters that are awake, are looked at, have changed, (3, k)
    tally: IntArray  # near clusters, partners that are ready, clusters below a bound, (3, k)

    @classmethod
    def of(cls, model: Model) -> Scratch:
        """For a model."""
        m, (k, q), d = len(model.amount), model.bound.shape[1:], _n_features(model)
        slots = 2 * min(WIDTH, max(k - 1, 1))
        return cls(
            near=np.zeros((k, slots), np.int64),
            gap=np.zeros((k, slots)),
            partner=np.zeros((k, PARTNERS if q else 1), np.int64),
            regret=np.zeros(m),
            best=np.zeros(m, np.int64),
            rise=np.zeros(slots),
            mark=np.zeros(m + 1, np.int64),
            move=np.zeros((4, max(LONGEST_CHAIN, 2)), np.int64),
            step=np.zeros(d),
            flag=np.zeros((3, k), np.bool_),
            tally=np.zeros((3, k), np.int64),
        )


def _n_features(model: Model) -> int:
    return model.points.shape[1] if model.kind < TABLE else 0


def state_of(model: Model, labels: IntArray) -> State:
    """The state of labels, which are copied."""
    m, (k, q) = len(labels), model.bound.shape[1:]
    state = State(
        labels=labels.astype(np.int64),
        link=np.full((2, m), -1, np.int64),
        place=np.zeros((3, k), np.int64),
        figure=np.zeros((5, k)),
        sums=np.zeros((k, _n_features(model))),
        load=np.zeros((k, q)),
        rows=np.zeros(model.row_bound.shape[1]),
        at=np.zeros(len(model.home)),
    )
    state.place[HEAD] = -1
    count(model, state)
    return state


@compiled
def count(model: Model, state: State) -> None:
    """Fill the state from its labels."""
    for i in range(len(state.labels)):
        add(model, state, i, state.labels[i])
    for j in range(len(state.load)):
        measure(model, state, j)


@part
def add(model: Model, state: State, i: int, j: int) -> None:
    """Put group i into cluster j; :func:`measure` follows when all are there."""
    change(model, state, i, j, 1.0)
    state.labels[i] = j
    first = state.place[HEAD, j]
    state.link[AFTER, i] = first
    state.link[BEFORE, i] = -1
    if first >= 0:
        state.link[BEFORE, first] = i
    state.place[HEAD, j] = i


@part
def remove(model: Model, state: State, i: int, j: int) -> None:
    """Take group i out of cluster j."""
    change(model, state, i, j, -1.0)
    behind, front = state.link[AFTER, i], state.link[BEFORE, i]
    if front >= 0:
        state.link[AFTER, front] = behind
    else:
        state.place[HEAD, j] = behind
    if behind >= 0:
        state.link[BEFORE, behind] = front


@part
def change(model: Model, state: State, i: int, j: int, sign: float) -> None:
    """Add group i to the sums of cluster j, or take it out of them."""
    w, k = sign * model.group[WEIGHT, i], len(state.load)
    state.figure[MASS, j] += w
    state.place[NUMBER, j] += 1 if sign > 0.0 else -1
    for q in range(model.amount.shape[1]):
        state.load[j, q] += sign * model.amount[i, q]
    if len(model.column) > 1:
        entry_changed(model, state, i * k + j, sign)
    if model.kind == MEDOIDS:
        change_costs(model, state, i, j, sign)
    elif model.kind != TABLE and len(model.points) > 0:
        for f in range(state.sums.shape[1]):
            state.sums[j, f] += w * model.points[i, f]
    elif model.kind != TABLE:
        length = w * w * model.group[SQUARE, i]
        for z in range(model.indptr[i], model.indptr[i + 1]):
            f = model.indices[z]
            length += 2.0 * w * model.data[z] * state.sums[j, f]
            state.sums[j, f] += w * model.data[z]
        state.figure[LENGTH, j] += length


@part
def change_costs(model: Model, state: State, i: int, j: int, sign: float) -> None:
    """Add the costs of group i to those of cluster j at its candidates, or take them out.

    The group is not among the members yet, or still among them.
    """
    table, first = model.points, model.first
    o = state.place[HEAD, j]
    while o >= 0:
        for c in range(first[o], first[o + 1]):
            state.at[c] += sign * table[i, c]
        o = state.link[AFTER, o]
    if sign < 0.0:
        return
    for c in range(first[i], first[i + 1]):
        state.at[c] = table[i, c]
        o = state.place[HEAD, j]
        while o >= 0:
            state.at[c] += table[o, c]
            o = state.link[AFTER, o]


@part
def measure(model: Model, state: State, j: int) -> None:
    """What follows from the members of cluster j."""
    if model.kind == MEDOIDS:
        find_medoid(model, state, j)
    length, mass = state.figure[LENGTH, j], state.figure[MASS, j]
    if len(model.points) > 0:  # the length of a sparse sum follows the changes
        length = 0.0
        for f in range(state.sums.shape[1]):
            length += state.sums[j, f] * state.sums[j, f]
        state.figure[LENGTH, j] = length
    if model.kind == CHORDS:
        state.figure[SCALE, j] = model.radius / np.sqrt(length) if length > 0.0 else 0.0
    else:
        state.figure[SCALE, j] = 1.0 / mass if mass > 0.0 else 0.0
    state.figure[EXCESS, j] = 0.0
    for q in range(state.load.shape[1]):
        state.figure[EXCESS, j] += sum_price(model, state.load[j, q], j, q)


@part
def find_medoid(model: Model, state: State, j: int) -> None:
    """The candidate among the members of cluster j where they cost least."""
    best, o = np.inf, state.place[HEAD, j]
    while o >= 0:
        for c in range(model.first[o], model.first[o + 1]):
            if state.at[c] < best:
                best, state.place[MEDOID, j] = state.at[c], c
        o = state.link[AFTER, o]
    state.figure[COST, j] = best if state.place[NUMBER, j] > 0 else 0.0


@inlined
def sum_price(model: Model, load: float, j: int, q: int) -> float:
    """Price of what a load of cluster j misses the bounds of sum q by."""
    if load > model.bound[UPPER, j, q]:
        return (load - model.bound[UPPER, j, q]) * model.price[PRICE, q]
    if load < model.bound[LOWER, j, q]:
        return (model.bound[LOWER, j, q] - load) * model.price[PRICE, q]
    return 0.0


@inlined
def outside_with(model: Model, state: State, j: int, i: int, sign: float) -> float:
    """Rise of the price of the loads of cluster j with group i added, or taken out of it."""
    paid = -state.figure[EXCESS, j]
    for q in range(model.amount.shape[1]):
        paid += sum_price(model, state.load[j, q] + sign * model.amount[i, q], j, q)
    return paid


@inlined
def squared(model: Model, state: State, i: int, j: int) -> float:
    """Squared distance of group i to the centre of cluster j; its cost there, if in a table.

    The centre of an empty cluster is wherever its first group is.
    """
    if model.kind == TABLE:
        return model.points[i, j]
    if state.place[NUMBER, j] == 0:
        return 0.0
    if model.kind == MEDOIDS:
        return model.points[i, state.place[MEDOID, j]]
    scale, found = state.figure[SCALE, j], 0.0
    if len(model.points) > 0:
        for f in range(state.sums.shape[1]):
            gap = model.points[i, f] - scale * state.sums[j, f]
            found += gap * gap
        return found
    for z in range(model.indptr[i], model.indptr[i + 1]):
        found += model.data[z] * state.sums[j, model.indices[z]]
    found = model.group[SQUARE, i] - 2.0 * scale * found
    return max(found + scale * scale * state.figure[LENGTH, j], 0.0)


@inlined
def joining(model: Model, state: State, i: int, j: int, square: float) -> float:
    """Rise of the objective when group i joins cluster j, at this squared distance.

    Clusters around medoids follow by :func:`cost_change`.
    """
    w, mass = model.group[WEIGHT, i], state.figure[MASS, j]
    if model.kind == MEANS:
        return mass * w / (mass + w) * square if mass > 0.0 else 0.0
    if model.kind == TABLE:
        return square
    stiff = np.sqrt(state.figure[LENGTH, j]) / model.radius
    then, lost = stiff + w, stiff * w * square
    now = np.sqrt(max(then * then - lost / (model.radius * model.radius), 0.0))
    return 2.0 * lost / (then + now) if then > 0.0 else 0.0


@inlined
def leaving(model: Model, state: State, i: int, j: int, square: float) -> float:
    """Fall of the objective when group i leaves cluster j, at this squared distance."""
    w, mass = model.group[WEIGHT, i], state.figure[MASS, j]
    if model.kind == MEANS:
        rest = mass - w
        return mass * w / rest * square if rest > 1e-12 * mass else w * square
    if model.kind == TABLE:
        return square
    square_radius = model.radius * model.radius
    stiff = np.sqrt(state.figure[LENGTH, j]) / model.radius
    then, lost = stiff - w, stiff * w * square
    now = np.sqrt(max(then * then + lost / square_radius, 0.0))
    if then > 0.0:
        return 2.0 * lost / (then + now)
    return 2.0 * square_radius * (now - then)


@inlined
def side(state: State, scratch: Scratch, y: int, j: int) -> float:
    """1 if the y-th group of the move goes to cluster j, -1 if it leaves it, else 0."""
    if scratch.move[TO, y] == j:
        return 1.0
    return -1.0 if state.labels[scratch.move[WHO, y]] == j else 0.0


@part
def cost_change(model: Model, state: State, scratch: Scratch, j: int, n: int) -> float:
    """Rise of the objective of cluster j by the n groups of the move."""
    if model.kind == MEDOIDS:
        return medoid_cost(model, state, scratch, j, n) - state.figure[COST, j]
    step, rise, weight, number, length = scratch.step, 0.0, 0.0, state.place[NUMBER, j], 0.0
    dense = len(model.points) > 0
    for y in range(n):
        sign, g = side(state, scratch, y, j), scratch.move[WHO, y]
        if sign == 0.0:
            continue
        if model.kind == TABLE:
            rise += sign * model.points[g, j]
            continue
        w = sign * model.group[WEIGHT, g]
        weight += w
        number += 1 if sign > 0.0 else -1
        if dense:
            for f in range(len(step)):
                step[f] += w * model.points[g, f]
        else:
            for z in range(model.indptr[g], model.indptr[g + 1]):
                step[model.indices[z]] += w * model.data[z]
    if model.kind == TABLE:
        return rise
    if dense:
        for f in range(len(step)):
            length += step[f] * (step[f] + 2.0 * state.sums[j, f])
            step[f] = 0.0
    for y in range(0 if dense else n):
        g = scratch.move[WHO, y]
        for z in range(model.indptr[g], model.indptr[g + 1]):
            f = model.indices[z]
            length += step[f] * (step[f] + 2.0 * state.sums[j, f])
            step[f] = 0.0
    mass, now = state.figure[MASS, j], state.figure[LENGTH, j]
    if model.kind == MEANS and weight == 0.0 and mass > 0.0:
        return -length / mass
    after = worth(model, mass + weight, now + length) if number > 0 else 0.0
    return after - worth(model, mass, now)


@part
def medoid_cost(model: Model, state: State, scratch: Scratch, j: int, n: int) -> float:
    """Cost of cluster j at its best medoid after the move.

    In clusters of many members it is that at the present medoid, if that stays.
    """
    table, first, mark = model.points, model.first, scratch.mark
    stamp, c = mark[-1], state.place[MEDOID, j]
    if state.place[NUMBER, j] > model.followed and mark[model.home[c]] != stamp:
        cost = state.at[c]
        for y in range(n):
            cost += side(state, scratch, y, j) * table[scratch.move[WHO, y], c]
        return cost
    best, o = np.inf, state.place[HEAD, j]
    while o >= 0:
        for c in range(first[o], first[o + 1] if mark[o] != stamp else first[o]):
            cost = state.at[c]
            for y in range(n):
                cost += side(state, scratch, y, j) * table[scratch.move[WHO, y], c]
            best = min(best, cost)
        o = state.link[AFTER, o]
    for x in range(n):
        g = scratch.move[WHO, x]
        for c in range(first[g], first[g + 1] if scratch.move[TO, x] == j else first[g]):
            cost, o = 0.0, state.place[HEAD, j]
            for y in range(n):
                if scratch.move[TO, y] == j:
                    cost += table[scratch.move[WHO, y], c]
            while o >= 0 and cost < best:
                if mark[o] != stamp:
                    cost += table[o, c]
                o = state.link[AFTER, o]
            best = min(best, cost)
    return best if best < np.inf else 0.0


@inlined
def worth(model: Model, mass: float, length: float) -> float:
    """What a cluster costs but for a constant of its members."""
    if model.kind == CHORDS:
        return -2.0 * model.radius * np.sqrt(max(length, 0.0))
    return -length / mass if mass > 0.0 else 0.0


@inlined
def pin_price(model: Model, i: int, a: int, b: int) -> float:
    """What group i pays more for soft pins in cluster b than in a."""
    at = model.pin[1, i]
    return model.paid[at, b] - model.paid[at, a] if at >= 0 else 0.0


@part
def pair_price(model: Model, state: State, i: int, b: int) -> float:
    """How far the price of the pairs of group i rises when it goes to cluster b."""
    a, rise = state.labels[i], 0.0
    for z in range(model.ptr[i], model.ptr[i + 1]):
        at = state.labels[model.other[z]]
        if at == b:
            rise += model.tie[PRICE, z]
        elif at == a:
            rise -= model.tie[PRICE, z]
    return rise


@part
def row_price(model: Model, value: float, r: int) -> float:
    """Price of a value of linear row r."""
    if value > model.row_bound[UPPER, r]:
        return (value - model.row_bound[UPPER, r]) * model.row_bound[ROW_PRICE, r]
    if value < model.row_bound[LOWER, r]:
        return (model.row_bound[LOWER, r] - value) * model.row_bound[ROW_PRICE, r]
    return 0.0


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
def rows_rise(model: Model, state: State, scratch: Scratch, n: int) -> float:
    """Rise of the price of linear rows by the n groups of the move."""
    k, rise = len(state.load), 0.0
    for back in range(2):
        sign = 1.0 if back == 0 else -1.0
        for y in range(n):
            g = scratch.move[WHO, y]
            change = entry_changed(model, state, g * k + state.labels[g], -sign)
            change += entry_changed(model, state, g * k + scratch.move[TO, y], sign)
            rise += change if back == 0 else 0.0
    return rise


@part
def shift_rise(
    model: Model,
    state: State,
    scratch: Scratch,
    i: int,
    b: int,
    square: float,
    out: float,
    less: float,
) -> float:
    """Rise of objective and prices when group i goes to cluster b, at this squared distance.

    ``out`` is what its leaving saves, and ``less`` how far the excess of its own cluster rises.
    """
    a = state.labels[i]
    if model.kind == MEDOIDS or len(model.column) > 1:
        scratch.move[WHO, 0], scratch.move[TO, 0] = i, b
        marked(scratch, ONE)
    if model.kind == MEDOIDS:
        rise = cost_change(model, state, scratch, b, ONE) - out + less
    else:
        rise = joining(model, state, i, b, square) - out + less
    rise += outside_with(model, state, b, i, 1.0) + pin_price(model, i, a, b)
    if model.ptr[i] < model.ptr[i + 1]:
        rise += pair_price(model, state, i, b)
    if len(model.column) > 1:
        rise += rows_rise(model, state, scratch, ONE)
    return rise


@inlined
def marked(scratch: Scratch, n: int) -> None:
    """Begin a move of n groups."""
    scratch.mark[-1] += 1
    for y in range(n):
        scratch.mark[scratch.move[WHO, y]] = scratch.mark[-1]


@part
def move_rise(model: Model, state: State, scratch: Scratch, n: int) -> float:
    """Rise of objective and prices by a move of n groups: a swap, or a chain of any kind."""
    marked(scratch, n)
    move, labels, stamp, rise = scratch.move, state.labels, scratch.mark[-1], 0.0
    for x in range(2 * n):
        # Each cluster that a group leaves or enters, once.
        j = labels[move[WHO, x // 2]] if x % 2 == 0 else move[TO, x // 2]
        known = False
        for y in range(x):
            known |= j == (labels[move[WHO, y // 2]] if y % 2 == 0 else move[TO, y // 2])
        if known:
            continue
        rise += cost_change(model, state, scratch, j, n) - state.figure[EXCESS, j]
        for q in range(model.amount.shape[1]):
            load = state.load[j, q]
            for y in range(n):
                load += side(state, scratch, y, j) * model.amount[move[WHO, y], q]
            rise += sum_price(model, load, j, q)
    for y in range(n):
        g, b = move[WHO, y], move[TO, y]
        a = labels[g]
        rise += pin_price(model, g, a, b)
        for z in range(model.ptr[g], model.ptr[g + 1]):
            o = model.other[z]
            then, weight = labels[o], 1.0
            if scratch.mark[o] == stamp:  # the pair is seen from both ends
                weight = 0.5
                for x in range(n):
                    then = move[TO, x] if move[WHO, x] == o else then
            if then == b:
                rise += weight * model.tie[PRICE, z]
            if labels[o] == a:
                rise -= weight * model.tie[PRICE, z]
    if len(model.column) > 1:
        rise += rows_rise(model, state, scratch, n)
    return rise


@part
def make_move(model: Model, state: State, scratch: Scratch, n: int) -> None:
    """Make the best move that was found, of n groups; its clusters are awake then."""
    for y in range(n):
        g, b = scratch.move[BEST_WHO, y], scratch.move[BEST_TO, y]
        a = state.labels[g]
        remove(model, state, g, a)
        add(model, state, g, b)
        measure(model, state, a)
        measure(model, state, b)
        for row in (NOW, CHANGED):
            scratch.flag[row, a] = True
            scratch.flag[row, b] = True


@part
def keep_move(scratch: Scratch, n: int) -> None:
    """Note the move of n groups as the best one."""
    for y in range(n):
        scratch.move[BEST_WHO, y] = scratch.move[WHO, y]
        scratch.move[BEST_TO, y] = scratch.move[TO, y]


@part
def kempe_chain(model: Model, state: State, scratch: Scratch, i: int, b: int) -> int:
    """Group i and all that hard cannot-links then force to change sides with cluster b.

    The number of groups, 0 if they are too many or one of them is pinned.
    """
    move, mark, a = scratch.move, scratch.mark, state.labels[i]
    move[WHO, 0], move[TO, 0], found, done = i, b, 1, 0
    marked(scratch, ONE)
    while done < found:
        g, there = move[WHO, done], move[TO, done]
        done += 1
        for z in range(model.ptr[g], model.ptr[g + 1]):
            o = model.other[z]
            barred = model.tie[HARD, z] > 0.0 and state.labels[o] == there
            if barred and mark[o] != mark[-1]:
                if found == move.shape[1] or model.pin[0, o] >= 0:
                    return 0
                mark[o], move[WHO, found] = mark[-1], o
                move[TO, found] = a if there == b else b
                found += 1
    return found


@inlined
def barring(model: Model, state: State, i: int, b: int) -> int:
    """A group of cluster b that a hard cannot-link keeps i apart from; -1 if there is none."""
    for z in range(model.ptr[i], model.ptr[i + 1]):
        if model.tie[HARD, z] > 0.0 and state.labels[model.other[z]] == b:
            return model.other[z]
    return -1


@inlined
def centre_gap(sums: FloatArray, scale: FloatArray, a: int, j: int, top: float) -> float:
    """Squared distance of two centres; anything from ``top`` on may stand for more."""
    gap, own, other = 0.0, scale[a], scale[j]
    for f in range(sums.shape[1]):
        step = own * sums[a, f] - other * sums[j, f]
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
        gap[j] = min(gap[j], model.points[i, a] - model.points[i, j])


@part
def find_near(model: Model, state: State, scratch: Scratch, gaps: FloatArray) -> float:
    """Find the clusters whose groups are looked at, and the clusters that they look at; the work.

    These are the nearest of each cluster that is awake, and for others those awake ones that they
    are near to.
    """
    k, slots = scratch.near.shape
    width, near, gap, flag = slots // 2, scratch.near, scratch.gap, scratch.flag
    number, work = scratch.tally[NEAR], 0.0
    for a in range(k):
        flag[REACH, a] = flag[NOW, a]
        number[a] = 0
    for a in range(k):
        if not flag[NOW, a]:
            continue
        if model.kind == TABLE:
            least_rises(model, state, a, gaps)
        work += len(state.labels) if model.kind == TABLE else k * (state.sums.shape[1] + 2.0)
        have = 0
        for j in range(k):
            top = gap[a, have - 1] if have == width else np.inf
            if j == a:
                continue
            if state.place[NUMBER, j] == 0:
                found = 0.0  # an empty cluster is near everywhere
            elif model.kind == TABLE:
                found = gaps[j]
            elif model.kind == MEDOIDS:
                found = model.points[model.home[state.place[MEDOID, a]], state.place[MEDOID, j]]
            else:
                found = centre_gap(state.sums, state.figure[SCALE], a, j, top)
            if found >= top:
                continue
            have = min(have + 1, width)
            p = have - 1
            while p > 0 and gap[a, p - 1] > found:
                gap[a, p], near[a, p] = gap[a, p - 1], near[a, p - 1]
                p -= 1
            gap[a, p], near[a, p] = found, j
        number[a] = have
    for a in range(k):
        for p in range(min(number[a], width) if flag[NOW, a] else 0):
            b, known = near[a, p], False
            flag[REACH, b] = True
            for q in range(number[b]):
                known |= near[b, q] == a
            if not known and number[b] < slots:
                near[b, number[b]], gap[b, number[b]] = a, gap[a, p]
                number[b] += 1
    return work


@part
def find_partners(model: Model, state: State, scratch: Scratch) -> None:
    """Note the groups of each cluster that leave it at the least rise, the least first."""
    partner, ready, regret = scratch.partner, scratch.tally[READY], scratch.regret
    most = partner.shape[1]
    for j in range(len(ready)):
        ready[j] = 0
    for i in range(len(regret)):
        j = state.labels[i]
        if not scratch.flag[REACH, j] or model.pin[0, i] >= 0 or regret[i] == np.inf:
            continue
        if ready[j] == most and regret[partner[j, most - 1]] <= regret[i]:
            continue
        ready[j] = min(ready[j] + 1, most)
        p = ready[j] - 1
        while p > 0 and regret[partner[j, p - 1]] > regret[i]:
            partner[j, p] = partner[j, p - 1]
            p -= 1
        partner[j, p] = i


@part
def find_needy(model: Model, state: State, scratch: Scratch) -> int:
    """Note the clusters below a bound, which groups anywhere may help; their number."""
    k, number = len(state.load), 0
    for j in range(k):
        for q in range(state.load.shape[1]):
            if state.load[j, q] < model.bound[LOWER, j, q] and model.price[HARD, q] > 0.0:
                scratch.tally[NEEDY, number] = j
                number += 1
                break
    for j in range(k if number > 0 else 0):
        scratch.flag[REACH, j] = True
    return number


@inlined
def room_at_prices(model: Model, state: State, prices: FloatArray, j: int) -> float:
    """What the loads of cluster j leave of the bounds that have prices."""
    left = 0.0
    for q in range(prices.shape[1]):
        if prices[j, q] > 0.0:
            left += prices[j, q] * max(model.bound[UPPER, j, q] - state.load[j, q], 0.0)
        elif prices[j, q] < 0.0:
            left -= prices[j, q] * max(state.load[j, q] - model.bound[LOWER, j, q], 0.0)
    return left


@inlined
def unit_of(model: Model, state: State, a: int) -> float:
    """Work of valuing one shift of a group of cluster a."""
    if model.kind == MEDOIDS:
        return 6.0 + min(2.0 * state.place[NUMBER, a], 2.0 * model.followed)
    if len(model.points) == 0:
        return 6.0 + 2.0 * len(model.data) / len(state.labels)
    return 6.0 + state.sums.shape[1]


@inlined
def best_shift(
    model: Model,
    state: State,
    scratch: Scratch,
    i: int,
    needy: int,
    prices: FloatArray,
    least: float,
    limit: float,
) -> tuple[float, int, float]:
    """The best shift or Kempe chain of group i: its rise, its number of groups, and the work.

    It is noted as the best move; the number is 0 if none pays.  The rise of each shift at the
    prices is noted as well; those above the limit only roughly.
    """
    a, w, k = state.labels[i], model.group[WEIGHT, i], len(state.load)
    near, number, flag, kind = scratch.near, scratch.tally[NEAR, a], scratch.flag, model.kind
    linked = model.ptr[i] < model.ptr[i + 1]
    plain = kind == MEANS and len(model.points) > 0 and not linked and len(model.column) <= 1
    plain = plain and model.pin[1, i] < 0
    clash = linked and barring(model, state, i, a) >= 0
    own, unit = squared(model, state, i, a), unit_of(model, state, a)
    if kind == MEDOIDS:
        scratch.move[WHO, 0], scratch.move[TO, 0] = i, -1
        marked(scratch, ONE)
        out = -cost_change(model, state, scratch, a, ONE)
    else:
        out = leaving(model, state, i, a, own)
    less = outside_with(model, state, a, i, -1.0)
    radius = np.sqrt(own) if kind < TABLE else 0.0
    best, links, work = -least, 0, unit
    wide = clash or state.figure[EXCESS, a] > 0.0
    scratch.regret[i], scratch.best[i] = np.inf, -1
    for r in range(number + (k if wide else needy)):
        # First the near clusters; then, if the group has to go, all others.
        if r < number:
            b = near[a, r]
            scratch.rise[r] = np.inf
        elif links > 0:
            break
        else:
            b = r - number if wide else scratch.tally[NEEDY, r - number]
        if b == a or not (flag[NOW, a] or flag[NOW, b]):
            continue
        paid = pin_price(model, i, a, b)
        for q in range(prices.shape[1]):
            paid += model.amount[i, q] * (prices[b, q] - prices[a, q])
        if r < number and kind < TABLE and not wide and state.place[NUMBER, b] > 0:
            # The triangle inequality: it cannot be nearer than this.
            away = np.sqrt(scratch.gap[a, r]) - radius
            if away > radius:
                away *= away
                mass = state.figure[MASS, b]
                rise = mass * w / (mass + w) * away - out + less - state.figure[EXCESS, b]
                if not linked and w * (away - own) + paid > limit and rise > 0.0:
                    work += 2.0
                    continue
        if plain:
            square, scale = 0.0, state.figure[SCALE, b]
            for f in range(state.sums.shape[1]):
                gap = model.points[i, f] - scale * state.sums[b, f]
                square += gap * gap
            mass = state.figure[MASS, b]
            rise = mass * w / (mass + w) * square - out + less - state.figure[EXCESS, b]
            for q in range(prices.shape[1]):
                load = state.load[b, q] + model.amount[i, q]
                if load > model.bound[UPPER, b, q]:
                    rise += (load - model.bound[UPPER, b, q]) * model.price[PRICE, q]
                elif load < model.bound[LOWER, b, q]:
                    rise += (model.bound[LOWER, b, q] - load) * model.price[PRICE, q]
        else:
            square = squared(model, state, i, b)
            rise = shift_rise(model, state, scratch, i, b, square, out, less)
        work += unit
        if rise < best:
            best, links = rise, 1
            scratch.move[BEST_WHO, 0], scratch.move[BEST_TO, 0] = i, b
        paid += (square - own) if kind >= TABLE else w * (square - own)
        other = barring(model, state, i, b) if linked else -1
        if r < number:
            scratch.rise[r] = paid
        if other < 0 and paid < scratch.regret[i]:
            scratch.regret[i], scratch.best[i] = paid, b
        if other < 0 or r >= number:
            continue
        n = kempe_chain(model, state, scratch, i, b)
        if n > 0:
            rise = move_rise(model, state, scratch, n)
            work += 1.5 * n * unit
            if rise < best:
                best, links = rise, n
                keep_move(scratch, n)
        c = scratch.best[other]
        if model.pin[0, other] < 0 and c >= 0 and c != a and c != b:
            # The group in the way goes to a third cluster.
            scratch.move[WHO, 0], scratch.move[TO, 0] = i, b
            scratch.move[WHO, 1], scratch.move[TO, 1] = other, c
            rise = move_rise(model, state, scratch, TWO)
            work += 3.0 * unit
            if rise < best:
                best, links = rise, 2
                keep_move(scratch, TWO)
    return best, links, work


@inlined
def best_exchange(
    model: Model,
    state: State,
    scratch: Scratch,
    i: int,
    prices: FloatArray,
    least: float,
    margin: float,
    scans: bool,
) -> tuple[float, int, float]:
    """The best swap or ejection chain of group i where a shift is held back by full clusters.

    Somebody else has to make room.  At the prices the rises of both groups add up, but for what
    centres follow, what the bounds leave, and what the prices are wrong by (the margin).  To mend a
    broken rule all members of a cluster may be tried.
    """
    a, number = state.labels[i], scratch.tally[NEAR, state.labels[i]]
    less, work, best, links = outside_with(model, state, a, i, -1.0), 0.0, -least, 0
    unit = unit_of(model, state, a)
    own = squared(model, state, i, a) * (1.0 if model.kind >= TABLE else model.group[WEIGHT, i])
    room = room_at_prices(model, state, prices, a)
    clash = model.ptr[i] < model.ptr[i + 1] and barring(model, state, i, a) >= 0
    for r in range(number):
        b, paid = scratch.near[a, r], scratch.rise[r]
        if paid == np.inf or b == a:
            continue
        broken = clash or state.figure[EXCESS, a] > 0.0 or state.figure[EXCESS, b] > 0.0
        if not broken and less + outside_with(model, state, b, i, 1.0) <= 0.0:
            continue
        limit = margin + room + room_at_prices(model, state, prices, b)
        members = state.place[NUMBER, b]
        limit += 2.0 * own * (1.0 / max(state.place[NUMBER, a], 1) + 1.0 / max(members, 1))
        scanned = members if broken and scans else 0
        ready = scratch.tally[READY, b]
        stride, at = max(members // (2 * scratch.partner.shape[1]), 1), 0
        o, tried = state.place[HEAD, b], 0
        for p in range(ready + scanned):
            if p < ready:
                g = scratch.partner[b, p]
                if tried == TRIED or (not broken and paid + scratch.regret[g] > limit):
                    continue
            else:
                g, o, at = o, state.link[AFTER, o], at + 1
                if (at + i) % stride > 0:
                    continue
            work += 2.0
            if state.labels[g] != b or model.pin[0, g] >= 0:
                continue
            swaps = True
            if model.ptr[g] < model.ptr[g + 1]:
                other = barring(model, state, g, a)
                swaps = other in (-1, i)
            tried += swaps
            for turn in range(2 if p < ready else 1):
                c = a if turn == 0 else scratch.best[g]
                if (turn == 0 and not swaps) or (turn == 1 and (c < 0 or c in (a, b))):
                    continue
                scratch.move[WHO, 0], scratch.move[TO, 0] = i, b
                scratch.move[WHO, 1], scratch.move[TO, 1] = g, c
                rise = move_rise(model, state, scratch, TWO)
                work += 3.0 * unit
                if rise < best:
                    best, links = rise, 2
                    keep_move(scratch, TWO)
    return best, links, work


@compiled
def descend(
    model: Model,
    state: State,
    scratch: Scratch,
    order: IntArray,
    awake: BoolArray,
    prices: FloatArray,
    gaps: FloatArray,
    sweeps: int,
    least: float,
    margin: float,
    scans: bool,
    allowance: float,
    fresh: bool,
) -> tuple[int, float]:
    """Take the best move of each group in turn until none pays; the state changes in place.

    Parameters
    ----------
    model, state, scratch
    order : (m,) array
        In which groups are looked at.
    awake : (k,) array
        Clusters that may have changed; moves between two others are not looked for.
    prices : (k, q) array
        Of the sums: they tell which clusters are worth a look.
    gaps : (k,) array
        Is written over.
    sweeps : int
    least : float
        Rise below minus this is a gain.
    margin : float
        Error of the prices up to which an exchange is tried.
    scans : bool
        Whether all members of a cluster may be tried for an exchange that mends a broken rule.
    allowance : float
        Work after which it ends early; ``scratch.flag`` has the clusters that are still awake then.
    fresh : bool
        Whether it begins anew; if not, it goes on where such an end came.

    Returns
    -------
    moves, work
    """
    m, k, moves, work = len(state.labels), len(state.load), 0, 0.0
    flag, bounded = scratch.flag, model.amount.shape[1] > 0
    for j in range(k):
        flag[NOW, j] = awake[j]
        scratch.tally[READY, j] = 0
    for i in range(m if fresh else 0):
        scratch.regret[i], scratch.best[i] = np.inf, -1
    for sweep in range(sweeps):
        # The first sweep has no partners for exchanges yet: its clusters stay awake.
        first = bounded and fresh and sweep == 0
        work += find_near(model, state, scratch, gaps)
        needy = find_needy(model, state, scratch)
        if bounded and not first:
            find_partners(model, state, scratch)
            work += m
        for j in range(k):
            flag[CHANGED, j] = False
        moved = 0
        for place in range(m):
            i = order[place]
            if not flag[REACH, state.labels[i]] or model.pin[0, i] >= 0:
                continue
            _, links, done = best_shift(model, state, scratch, i, needy, prices, least, margin)
            work += done
            if links == 0 and bounded and not first:
                _, links, done = best_exchange(
                    model, state, scratch, i, prices, least, margin, scans
                )
                work += done
            if links > 0:
                make_move(model, state, scratch, links)
                moved += 1
            if work > allowance:
                return moves + moved, work
        moves += moved
        for j in range(k):
            flag[NOW, j] = flag[CHANGED, j] or (first and flag[NOW, j])
        if moved == 0 and not first:
            break
    return moves, work


@compiled
def appraise(model: Model, state: State) -> tuple[float, float, float]:
    """The objective of the state, the price of soft rules, and how far hard rules are broken."""
    objective, soft, hard = 0.0, 0.0, 0.0
    for i in range(len(state.labels)):
        a = state.labels[i]
        square = squared(model, state, i, a)
        objective += square if model.kind >= TABLE else model.group[WEIGHT, i] * square
        if model.pin[1, i] >= 0:
            soft += model.paid[model.pin[1, i], a]
        for z in range(model.ptr[i], model.ptr[i + 1]):
            if model.other[z] > i and state.labels[model.other[z]] == a:
                if model.tie[HARD, z] > 0.0:
                    hard += 1.0
                else:
                    soft += model.tie[PRICE, z]
    for j in range(len(state.load)):
        for q in range(state.load.shape[1]):
            paid = sum_price(model, state.load[j, q], j, q)
            if model.price[HARD, q] > 0.0:
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
    for j in range(len(state.load)):
        awake[j] = every or state.figure[EXCESS, j] > 0.0
    for i in range(len(state.labels)):
        a = state.labels[i]
        if not awake[a] and barring(model, state, i, a) >= 0:
            awake[a] = True
