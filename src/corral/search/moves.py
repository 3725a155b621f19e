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

Where clusters are connected in a graph, a group looks at the clusters that its neighbours are in,
and a move that would be the best one is made only if the clusters that it touches stay connected.
Of mixed groups the first two costs have their sign turned, and no cluster is near another: groups
look at some of all clusters, and at a sample of their members to swap with.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..numbers import LONGEST, WIDTH
from .compiled import compiled, inlined, part, spliced
from .model import CHORDS, DIVERSE, MEANS, MEDOIDS, MIXED, TABLE, Model

#: Numbers of groups in a move; numba would compile again for plain literals.
ONE, TWO = cast(int, np.int64(1)), cast(int, np.int64(2))
# Rows of the arrays of a model, a state and the scratch.
WEIGHT, SQUARE = 0, 1
LOWER, UPPER, ROW_PRICE = 0, 1, 2
PRICE, HARD = 0, 1
ALL, SOFT = 0, 1
NUMBER, HEAD, MEDOID = 0, 1, 2
MASS, LENGTH, SCALE, EXCESS, COST = 0, 1, 2, 3, 4
AFTER, BEFORE = 0, 1
WHO, TO, BEST_WHO, BEST_TO = 0, 1, 2, 3
NOW, REACH, CHANGED = 0, 1, 2
NEAR, READY, NEEDY = 0, 1, 2
EDGES, OWNER = 0, 1
SEEN, QUEUE = 0, 1

#: None if the model is not rare (:class:`.Model`): numba then leaves out what only rare models
#: need, before it infers types, which takes half as long to compile and runs faster.
Rare = bool | None


class State(NamedTuple):
    """Labels of the groups, and what the clusters are made of; the moves keep it up to date."""

    labels: IntArray  # (m,)
    link: IntArray  # the next and the last member of the same cluster, (2, m)
    place: IntArray  # number of groups, first member, candidate that is the medoid, (3, k)
    figure: FloatArray  # mass, squared length of the sum, centre by sum, excess, cost, (5, k)
    sums: FloatArray  # weighted sums of the points, (k, d)
    load: FloatArray  # bounded sums, (k, q)
    rows: FloatArray  # linear rows, (r,)
    at: FloatArray  # costs of the members of its cluster at each candidate; distances to members


class Scratch(NamedTuple):
    """Arrays that the moves write into; they are made once for a problem."""

    near: IntArray  # clusters that groups of each cluster look at, (k, slots)
    gap: FloatArray  # distances of their centres, (k, slots)
    partner: IntArray  # groups that leave each cluster at the least rise, (k, LONGEST)
    regret: FloatArray  # rise at the prices if the group went to the best other cluster, (m,)
    best: IntArray  # that cluster, (m,)
    rise: FloatArray  # rise at the prices in each near cluster, (slots,)
    mark: IntArray  # last move that a group was in, (m + 1,); at the end, the number of moves
    move: IntArray  # groups of a move and where they go, and those of the best one, (4, longest)
    step: FloatArray  # always 0 between two uses, (d,)
    tied: FloatArray  # price of a group's pairs with each cluster, of all and of soft ones, (2, k)
    bar: IntArray  # a group of each cluster that a cannot-link keeps it apart from, or -1, (k,)
    flag: BoolArray  # clusters that are awake, are looked at, have changed, (3, k)
    tally: IntArray  # near clusters, partners that are ready, clusters below a bound, (3, k)
    seen: IntArray  # last search that a node of the graph was in, and its queue, (2, p + 2)
    touch: IntArray  # last group that had a neighbour in each cluster, (k + 1,)

    @classmethod
    def of(cls, model: Model) -> Scratch:
        """For a model."""
        m, (k, q), d = len(model.amount), model.bound.shape[1:], _n_features(model)
        slots = 2 * min(WIDTH, max(k - 1, 1))
        return cls(
            near=np.zeros((k, slots), np.int64),
            gap=np.zeros((k, slots)),
            partner=np.zeros((k, LONGEST if q else 1), np.int64),
            regret=np.zeros(m),
            best=np.zeros(m, np.int64),
            rise=np.zeros(slots),
            mark=np.zeros(m + 1, np.int64),
            move=np.zeros((4, max(LONGEST, 2)), np.int64),
            step=np.zeros(d),
            tied=np.zeros((2, k)),
            bar=np.full(k, -1, np.int64),
            flag=np.zeros((3, k), np.bool_),
            tally=np.zeros((3, k), np.int64),
            seen=np.zeros((2, model.graph.shape[1] + 1), np.int64),
            touch=np.zeros(k + 1, np.int64),
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
        at=np.zeros(m * k if model.kind == DIVERSE else len(model.home)),
    )
    state.place[HEAD] = -1
    count(rare_of(model), model, state)
    return state


def rare_of(model: Model) -> Rare:
    """Whether a kernel needs the code for what few problems have."""
    return True if model.rare else None


@compiled
def count(rare: Rare, model: Model, state: State) -> None:
    """Fill the state from its labels."""
    for i in range(len(state.labels)):
        change(rare, model, state, i, state.labels[i], 1.0)
    for j in range(len(state.load)):
        measure(rare, model, state, j)


@part
def change(rare: Rare, model: Model, state: State, i: int, j: int, sign: float) -> None:
    """Put group i into cluster j, or take it out; :func:`measure` follows when all are there."""
    link, place, load, sums, points = state.link, state.place, state.load, state.sums, model.points
    w, first = sign * model.group[WEIGHT, i], place[HEAD, j]
    state.figure[MASS, j] += w
    for q in range(load.shape[1]):
        load[j, q] += sign * model.amount[i, q]
    if rare is not None and len(model.column) > 1:
        entry_changed(model, state, i * len(load) + j, sign)
    if rare is None or (model.kind < TABLE and len(points) > 0):
        for f in range(sums.shape[1]):
            sums[j, f] += w * points[i, f]
    elif model.kind == MEDOIDS:
        change_costs(points, model.first, link[AFTER], state.at, i, first, sign)
    elif model.kind == DIVERSE:
        start = j * len(points)
        for o in range(len(points)):
            state.at[start + o] += sign * points[i, o]
    elif model.kind != TABLE:
        length = w * w * model.group[SQUARE, i]
        for z in range(model.indptr[i], model.indptr[i + 1]):
            f, step = model.indices[z], w * model.data[z]
            length += 2.0 * step * sums[j, f]
            sums[j, f] += step
        state.figure[LENGTH, j] += length
    if sign > 0.0:
        state.labels[i] = j
        place[NUMBER, j] += 1
        link[AFTER, i], link[BEFORE, i] = first, -1
        place[HEAD, j], behind, front = i, first, i
    else:
        place[NUMBER, j] -= 1
        behind, front = link[AFTER, i], link[BEFORE, i]
        if front >= 0:
            link[AFTER, front] = behind
        else:
            place[HEAD, j] = behind
    if behind >= 0:
        link[BEFORE, behind] = front


@part
def change_costs(
    table: FloatArray,
    first: IntArray,
    after: IntArray,
    at: FloatArray,
    i: int,
    head: int,
    sign: float,
) -> None:
    """Add the costs of group i to those of a cluster at its candidates, or take them out.

    The members of the cluster begin with the head.  The group is not among them yet, or still.
    """
    o = head
    while o >= 0:
        for c in range(first[o], first[o + 1]):
            at[c] += sign * table[i, c]
        o = after[o]
    if sign < 0.0:
        return
    for c in range(first[i], first[i + 1]):
        cost, o = table[i, c], head
        while o >= 0:
            cost += table[o, c]
            o = after[o]
        at[c] = cost


@part
def measure(rare: Rare, model: Model, state: State, j: int) -> None:
    """What follows from the members of cluster j."""
    place, figure, sums, load, at = state.place, state.figure, state.sums, state.load, state.at
    length, mass, scale, excess = figure[LENGTH, j], figure[MASS, j], 0.0, 0.0
    if rare is not None and model.kind == MEDOIDS:  # the candidate where members cost least
        best, o = np.inf, place[HEAD, j]
        while o >= 0:
            for c in range(model.first[o], model.first[o + 1]):
                if at[c] < best:
                    best, place[MEDOID, j] = at[c], c
            o = state.link[AFTER, o]
        figure[COST, j] = best if place[NUMBER, j] > 0 else 0.0
    if rare is None or len(model.points) > 0:  # the length of a sparse sum follows the changes
        length = 0.0
        for f in range(sums.shape[1]):
            length += sums[j, f] * sums[j, f]
        figure[LENGTH, j] = length
    if rare is not None and model.kind == CHORDS:
        scale = model.radius / np.sqrt(length) if length > 0.0 else 0.0
    elif mass > 0.0:
        scale = 1.0 / mass
    for q in range(load.shape[1]):
        excess += sum_price(model.bound, model.price, load[j, q], j, q)
    figure[SCALE, j], figure[EXCESS, j] = scale, excess


@inlined
def sum_price(bound: FloatArray, price: FloatArray, load: float, j: int, q: int) -> float:
    """Price of what a load of cluster j misses the bounds of sum q by."""
    lower, upper = bound[LOWER, j, q], bound[UPPER, j, q]
    if lower <= load <= upper:
        return 0.0
    return (load - upper if load > upper else lower - load) * price[PRICE, q]


@inlined
def squared(rare: Rare, model: Model, state: State, i: int, j: int) -> float:
    """Squared distance of group i to the centre of cluster j; its cost there, if in a table.

    The centre of an empty cluster is wherever its first group is.
    """
    points, sums, found, scale = model.points, state.sums, 0.0, state.figure[SCALE, j]
    if rare is not None and model.kind == TABLE:
        return points[i, j]
    if rare is not None and model.kind == DIVERSE:
        return -state.at[j * len(points) + i]
    if state.place[NUMBER, j] == 0:
        return 0.0
    if rare is not None and model.kind == MEDOIDS:
        return points[i, state.place[MEDOID, j]]
    for f in range(sums.shape[1] if rare is None or len(points) > 0 else 0):
        gap = points[i, f] - scale * sums[j, f]
        found += gap * gap
    if rare is not None and len(points) == 0:
        for z in range(model.indptr[i], model.indptr[i + 1]):
            found += model.data[z] * sums[j, model.indices[z]]
        found = model.group[SQUARE, i] - 2.0 * scale * found
        found += scale * scale * state.figure[LENGTH, j]
        found = found if found > 0.0 else 0.0
    return found


@inlined
def centre_rise(
    rare: Rare, model: Model, mass: float, length: float, w: float, square: float
) -> float:
    """Rise of the objective when weight w at this squared distance joins a cluster.

    If w is negative, it leaves.
    """
    if rare is None or model.kind <= MEANS:
        after = mass + w
        rise = mass * w / after * square if after > 1e-12 * mass else w * square
        return rise if rare is None or model.kind == MEANS else -rise
    stiff, square_radius = np.sqrt(length) / model.radius, model.radius * model.radius
    after, gone = stiff + w, stiff * w * square
    rest = after * after - gone / square_radius
    now = np.sqrt(rest) if rest > 0.0 else 0.0
    return 2.0 * gone / (after + now) if after > 0.0 else 2.0 * square_radius * (after - now)


@inlined
def half_shift(
    rare: Rare, model: Model, state: State, scratch: Scratch, i: int, j: int, sign: float
) -> tuple[float, float, float]:
    """What cluster j feels of a shift of group i: it joins, or leaves if the sign is negative.

    The squared distance, the rise of the objective and that of the price of the sums.  The shift
    is in the scratch; clusters around medoids look there.
    """
    square, figure = squared(rare, model, state, i, j), state.figure
    if rare is None or model.kind < TABLE:
        mass, length, w = figure[MASS, j], figure[LENGTH, j], sign * model.group[WEIGHT, i]
        rise = centre_rise(rare, model, mass, length, w, square)
        if rare is not None and model.kind == MIXED:
            square = sign * rise
    elif model.kind != MEDOIDS:
        rise = sign * square
    else:
        marked(scratch.mark, scratch.move, ONE)
        rise = medoid_cost(model, state, scratch, j, ONE) - figure[COST, j]
    paid = -figure[EXCESS, j]
    for q in range(state.load.shape[1]):
        load = state.load[j, q] + sign * model.amount[i, q]
        paid += sum_price(model.bound, model.price, load, j, q)
    return square, rise, paid


@inlined
def side(labels: IntArray, move: IntArray, y: int, j: int) -> float:
    """1 if the y-th group of the move goes to cluster j, -1 if it leaves it, else 0."""
    if move[TO, y] == j:
        return 1.0
    return -1.0 if labels[move[WHO, y]] == j else 0.0


@inlined
def marked(mark: IntArray, move: IntArray, n: int) -> None:
    """Begin a move of n groups."""
    mark[-1] += 1
    for y in range(n):
        mark[move[WHO, y]] = mark[-1]


@spliced
def cost_change(rare: Rare, model: Model, state: State, scratch: Scratch, j: int, n: int) -> float:
    """Rise of the objective of cluster j by the n groups of the move."""
    kind, points, sums, move = model.kind, model.points, state.sums, scratch.move
    step, rise, weight, number, length = scratch.step, 0.0, 0.0, state.place[NUMBER, j], 0.0
    mass, now, dense = state.figure[MASS, j], state.figure[LENGTH, j], len(points) > 0
    for y in range(n if rare is None or kind != MEDOIDS else 0):
        sign, g = side(state.labels, move, y, j), move[WHO, y]
        if sign == 0.0:
            continue
        if rare is not None and kind == TABLE:
            rise += sign * points[g, j]
            continue
        if rare is not None and kind == DIVERSE:
            rise -= sign * state.at[j * len(points) + g]
            for x in range(y):
                rise -= sign * side(state.labels, move, x, j) * points[g, move[WHO, x]]
            continue
        w = sign * model.group[WEIGHT, g]
        weight += w
        number += 1 if sign > 0.0 else -1
        if rare is None or dense:
            for f in range(len(step)):
                step[f] += w * points[g, f]
        else:
            for z in range(model.indptr[g], model.indptr[g + 1]):
                step[model.indices[z]] += w * model.data[z]
    if rare is not None and kind in (TABLE, DIVERSE):
        return rise
    if rare is not None and kind == MEDOIDS:
        return medoid_cost(model, state, scratch, j, n) - state.figure[COST, j]
    if rare is None or dense:
        for f in range(len(step)):
            length += step[f] * (step[f] + 2.0 * sums[j, f])
            step[f] = 0.0
    for y in range(0 if rare is None or dense else n):
        g = move[WHO, y]
        for z in range(model.indptr[g], model.indptr[g + 1]):
            f = model.indices[z]
            length += step[f] * (step[f] + 2.0 * sums[j, f])
            step[f] = 0.0
    if (rare is None or kind == MEANS) and weight == 0.0 and mass > 0.0:
        return -length / mass
    if rare is not None and kind == MIXED and weight == 0.0 and mass > 0.0:
        return length / mass
    rise = -worth(rare, model, mass, now)
    if number > 0:
        rise += worth(rare, model, mass + weight, now + length)
    return rise


@inlined
def medoid_cost(model: Model, state: State, scratch: Scratch, j: int, n: int) -> float:
    """Cost of cluster j at its best medoid after the move.

    In clusters of many members it is that at the present medoid, if that stays.
    """
    table, first, mark, at, move = model.points, model.first, scratch.mark, state.at, scratch.move
    after, labels, stamp, c = state.link[AFTER], state.labels, mark[-1], state.place[MEDOID, j]
    head, best = state.place[HEAD, j], np.inf
    # Only the present medoid, or all that are members and stay.
    one = state.place[NUMBER, j] > model.followed and mark[model.home[c]] != stamp
    o = model.home[c] if one else head
    while o >= 0:
        begin, end = (c, c + 1) if one else (first[o], first[o + 1])
        for c in range(begin, end if mark[o] != stamp else begin):
            cost = at[c]
            for y in range(n):
                cost += side(labels, move, y, j) * table[move[WHO, y], c]
            best = cost if cost < best else best
        o = -1 if one else after[o]
    for x in range(0 if one else n):
        g = move[WHO, x]
        for c in range(first[g], first[g + 1] if move[TO, x] == j else first[g]):
            cost, o = 0.0, head
            for y in range(n):
                if move[TO, y] == j:
                    cost += table[move[WHO, y], c]
            while o >= 0 and cost < best:
                if mark[o] != stamp:
                    cost += table[o, c]
                o = after[o]
            best = cost if cost < best else best
    return best if best < np.inf else 0.0


@inlined
def worth(rare: Rare, model: Model, mass: float, length: float) -> float:
    """What a cluster costs but for a constant of its members."""
    if rare is not None and model.kind == CHORDS:
        return -2.0 * model.radius * np.sqrt(length) if length > 0.0 else 0.0
    if rare is not None and model.kind == MIXED:
        return length / mass if mass > 0.0 else 0.0
    return -length / mass if mass > 0.0 else 0.0


@inlined
def pin_price(pin: IntArray, paid: FloatArray, i: int, a: int, b: int) -> float:
    """What group i pays more for soft pins in cluster b than in a."""
    at = pin[1, i]
    return paid[at, b] - paid[at, a] if at >= 0 else 0.0


@inlined
def row_price(row_bound: FloatArray, value: float, r: int) -> float:
    """Price of a value of linear row r."""
    lower, upper = row_bound[LOWER, r], row_bound[UPPER, r]
    if lower <= value <= upper:
        return 0.0
    return (value - upper if value > upper else lower - value) * row_bound[ROW_PRICE, r]


@part
def entry_changed(model: Model, state: State, entry: int, sign: float) -> float:
    """Add an entry of x to the linear rows, or take it out; how far their price rises."""
    rows, rise = state.rows, 0.0
    for z in range(model.column[entry], model.column[entry + 1]):
        r = model.row[z]
        before, after = rows[r], rows[r] + sign * model.value[z]
        rise += row_price(model.row_bound, after, r) - row_price(model.row_bound, before, r)
        rows[r] = after
    return rise


@part
def rows_rise(model: Model, state: State, move: IntArray, n: int) -> float:
    """Rise of the price of linear rows by the n groups of the move."""
    k, rise = len(state.load), 0.0
    for y in range(4 * n):  # there and back again, each group out of its cluster and into another
        g, joins = move[WHO, y // 2 % n], y % 2
        j = move[TO, y // 2 % n] if joins else state.labels[g]
        sign = 1.0 if joins == (y < 2 * n) else -1.0
        risen = entry_changed(model, state, g * k + j, sign)
        rise += risen if y < 2 * n else 0.0
    return rise


@inlined
def touched(labels: IntArray, move: IntArray, x: int) -> int:
    """The cluster that a group of the move leaves (x is even) or enters (x is odd)."""
    return move[TO, x // 2] if x % 2 else labels[move[WHO, x // 2]]


@part
def move_rise(rare: Rare, model: Model, state: State, scratch: Scratch, n: int) -> float:
    """Rise of objective and prices by a move of n groups: a swap, or a chain of any kind."""
    move, mark, labels, load, rise = scratch.move, scratch.mark, state.labels, state.load, 0.0
    marked(mark, move, n)
    for x in range(2 * n):
        # Each cluster that a group leaves or enters, once.
        j, known = touched(labels, move, x), False
        for y in range(x):
            if j == touched(labels, move, y):
                known = True
                break
        if known:
            continue
        rise += cost_change(rare, model, state, scratch, j, n) - state.figure[EXCESS, j]
        for q in range(load.shape[1]):
            then = load[j, q]
            for y in range(n):
                then += side(labels, move, y, j) * model.amount[move[WHO, y], q]
            rise += sum_price(model.bound, model.price, then, j, q)
    return rise + ties_rise(model, state, scratch, n)


@part
def ties_rise(model: Model, state: State, scratch: Scratch, n: int) -> float:
    """Rise of the prices of pins, pairs and linear rows by a move of n groups."""
    move, mark, labels, rise = scratch.move, scratch.mark, state.labels, 0.0
    for y in range(n):
        g, b = move[WHO, y], move[TO, y]
        a = labels[g]
        rise += pin_price(model.pin, model.paid, g, a, b)
        for z in range(model.ptr[g], model.ptr[g + 1]):
            o = model.other[z]
            then_at, weight = labels[o], 1.0
            if mark[o] == mark[-1]:  # the pair is seen from both ends
                weight = 0.5
                for x in range(n):
                    then_at = move[TO, x] if move[WHO, x] == o else then_at
            agree = (1.0 if then_at == b else 0.0) - (1.0 if labels[o] == a else 0.0)
            rise += weight * agree * model.tie[PRICE, z]
    if len(model.column) > 1:
        rise += rows_rise(model, state, move, n)
    return rise


@inlined
def exchange_rise(
    rare: Rare,
    model: Model,
    state: State,
    i: int,
    g: int,
    a: int,
    b: int,
    c: int,
    leave: float,
    best: float,
) -> float:
    """Rise of objective and sums where i goes from a to b, and g from b to c; a swap if c is a.

    With means or distances, in closed form.  ``leave`` is what cluster a feels where i leaves it.
    Infinite where it is not below the best one, which is often known before the sums.
    """
    points, sums, figure, load = model.points, state.sums, state.figure, state.load
    w, v, n_features = model.group[WEIGHT, i], model.group[WEIGHT, g], sums.shape[1]
    mass, other, square, along, far = figure[MASS, b], figure[MASS, c], 0.0, 0.0, 0.0
    if rare is not None and model.kind == DIVERSE:
        m = len(points)
        rise = points[i, g] - state.at[b * m + i] + state.at[b * m + g] - state.at[c * m + g]
        rise += state.at[c * m + i] + points[i, g] if c == a else leave
    elif c == a:
        for f in range(n_features):
            step = v * points[g, f] - w * points[i, f]
            square += step * step
            along += step * sums[b, f]
            far += step * sums[a, f]
        rise = (figure[LENGTH, b] * (w - v) / mass + 2.0 * along - square) / (mass + w - v)
        rise += (figure[LENGTH, a] * (v - w) / other - 2.0 * far - square) / (other + v - w)
        if rare is not None and model.kind == MIXED:
            rise = -rise
    else:
        for f in range(n_features):
            centre = figure[SCALE, b] * sums[b, f]
            into, out = points[i, f] - centre, points[g, f] - centre
            along += w * into * into - v * out * out
            step = w * into - v * out
            square += step * step
            step = points[g, f] - figure[SCALE, c] * sums[c, f]
            far += step * step
        far = other * v / (other + v) * far if other > 0.0 else 0.0
        rise = along - square / (mass + w - v) + far
        if rare is not None and model.kind == MIXED:
            rise = -rise
        rise += leave
    rise -= figure[EXCESS, b] + figure[EXCESS, c]
    if rise >= best:
        return np.inf
    for q in range(load.shape[1]):
        into, out = model.amount[i, q], model.amount[g, q]
        rise += sum_price(model.bound, model.price, load[b, q] + into - out, b, q)
        then = load[c, q] + out
        if c == a:
            then -= into
        rise += sum_price(model.bound, model.price, then, c, q)
    return rise


@spliced
def make_move(rare: Rare, model: Model, state: State, scratch: Scratch, n: int) -> None:
    """Make the best move that was found, of n groups; its clusters are awake then."""
    for y in range(2 * n):
        g = scratch.move[BEST_WHO, y // 2]
        j = scratch.move[BEST_TO, y // 2] if y % 2 else state.labels[g]
        change(rare, model, state, g, j, 1.0 if y % 2 else -1.0)
        measure(rare, model, state, j)
        scratch.flag[NOW, j] = scratch.flag[CHANGED, j] = True


@inlined
def keep_move(move: IntArray, n: int) -> None:
    """Note the move of n groups as the best one."""
    for y in range(n):
        move[BEST_WHO, y], move[BEST_TO, y] = move[WHO, y], move[TO, y]


@part
def kempe_chain(
    model: Model, labels: IntArray, mark: IntArray, move: IntArray, i: int, b: int
) -> int:
    """Group i and all that hard cannot-links then force to change sides with cluster b.

    The number of groups, 0 if they are too many or one of them is pinned.
    """
    move[WHO, 0], move[TO, 0], found, done, a = i, b, 1, 0, labels[i]
    marked(mark, move, ONE)
    while done < found:
        g, there = move[WHO, done], move[TO, done]
        done += 1
        for z in range(model.ptr[g], model.ptr[g + 1]):
            o = model.other[z]
            barred = model.tie[HARD, z] > 0.0 and labels[o] == there
            if barred and mark[o] != mark[-1]:
                if found == move.shape[1] or model.pin[0, o] >= 0:
                    return 0
                mark[o], move[WHO, found] = mark[-1], o
                move[TO, found] = a if there == b else b
                found += 1
    return found


@inlined
def barring(
    ptr: IntArray, other: IntArray, tie: FloatArray, labels: IntArray, i: int, b: int
) -> int:
    """A group of cluster b that a hard cannot-link keeps i apart from; -1 if there is none."""
    for z in range(ptr[i], ptr[i + 1]):
        if labels[other[z]] == b and tie[HARD, z] > 0.0:
            return other[z]
    return -1


@inlined
def gather_pairs(model: Model, labels: IntArray, scratch: Scratch, i: int) -> bool:
    """Write what the pairs of group i say of each cluster; whether some are soft."""
    ptr, other, tie, softly = model.ptr, model.other, model.tie, False
    tied, bar = scratch.tied, scratch.bar
    for z in range(ptr[i], ptr[i + 1]):
        at = labels[other[z]]
        tied[ALL, at] += tie[PRICE, z]
        if tie[HARD, z] > 0.0:
            bar[at] = other[z]
        else:
            softly, tied[SOFT, at] = True, tied[SOFT, at] + tie[PRICE, z]
    return softly


@inlined
def forget_pairs(model: Model, labels: IntArray, scratch: Scratch, i: int) -> None:
    """Take out what the pairs of group i say."""
    for z in range(model.ptr[i], model.ptr[i + 1]):
        at = labels[model.other[z]]
        scratch.tied[ALL, at], scratch.tied[SOFT, at], scratch.bar[at] = 0.0, 0.0, -1


@part
def find_touched(model: Model, labels: IntArray, touch: IntArray, i: int) -> bool:
    """Mark the clusters that neighbours of group i are in; whether one of them is not its own."""
    graph, outside = model.graph, False
    for v in range(model.node[i], model.node[i + 1]):
        for z in range(graph[EDGES, v], graph[EDGES, v + 1]):
            j = labels[graph[OWNER, model.adjacent[z]]]
            touch[j] = touch[-1]
            outside |= j != labels[i]
    return outside


@inlined
def held(rare: Rare, model: Model, state: State, scratch: Scratch, n: int) -> bool:
    """Whether clusters stay connected, where they have to be."""
    found = True
    if rare is not None and len(model.node) > 1:
        found = stays_connected(model, state, scratch, n)
    return found


@inlined
def belongs(
    owner: IntArray, labels: IntArray, mark: IntArray, move: IntArray, u: int, j: int, n: int
) -> bool:
    """Whether node u is in cluster j after the move of n groups, which are marked."""
    g = owner[u]
    found = mark[g] != mark[-1] and labels[g] == j
    for y in range(n if mark[g] == mark[-1] else 0):
        found |= move[WHO, y] == g and move[TO, y] == j
    return found


@part
def stays_connected(model: Model, state: State, scratch: Scratch, n: int) -> bool:
    """Whether the clusters that a move of n groups touches stay connected.

    They were before.  So a cluster is after the move if these are connected with each other: the
    nodes that enter it, and the neighbours there of nodes that enter or leave it.  The nodes looked
    at are counted at the end of the queue.
    """
    edges, owner, labels = model.graph[EDGES], model.graph[OWNER], state.labels
    move, mark, seen, queue = scratch.move, scratch.mark, scratch.seen[SEEN], scratch.seen[QUEUE]
    marked(mark, move, n)
    for x in range(2 * n):
        j, known = touched(labels, move, x), False
        for y in range(x):
            known |= j == touched(labels, move, y)
        if known:
            continue
        seen[-1] += 2
        stamp, wanted, stay, start = seen[-1], 0, state.place[NUMBER, j], -1
        for y in range(n):
            g, sign = move[WHO, y], side(labels, move, y, j)
            stay -= 1 if sign < 0.0 else 0
            for v in range(model.node[g], model.node[g + 1] if sign != 0.0 else model.node[g]):
                if sign > 0.0 and seen[v] != stamp:
                    seen[v], wanted, start = stamp, wanted + 1, v
                for z in range(edges[v], edges[v + 1]):
                    u = model.adjacent[z]
                    if seen[u] != stamp and labels[owner[u]] == j and mark[owner[u]] != mark[-1]:
                        seen[u], wanted, stay = stamp, wanted + 1, -len(labels)
                        start = u if start < 0 else start
        if stay > 0:  # there are others, and none of them is a neighbour
            return False
        head, tail = 0, 0
        if wanted > 1:
            seen[start], queue[0], tail, wanted = stamp + 1, start, 1, wanted - 1
        while head < tail and wanted > 0:
            v = queue[head]
            head += 1
            for z in range(edges[v], edges[v + 1]):
                u = model.adjacent[z]
                if seen[u] > stamp or not belongs(owner, labels, mark, move, u, j, n):
                    continue
                wanted -= 1 if seen[u] == stamp else 0
                seen[u], queue[tail] = stamp + 1, u
                tail += 1
        queue[-1] += tail
        if wanted > 0 and tail > 0:
            return False
    return True


@part
def least_rises(table: FloatArray, labels: IntArray, a: int, gap: FloatArray) -> None:
    """Write how much more than now a group of each cluster costs in cluster a, at least."""
    for j in range(len(gap)):
        gap[j] = np.inf
    for i in range(len(labels)):
        j = labels[i]
        rise = table[i, a] - table[i, j]
        if rise < gap[j]:
            gap[j] = rise


@part
def find_near(rare: Rare, model: Model, state: State, scratch: Scratch, gaps: FloatArray) -> float:
    """Find the clusters whose groups are looked at, and the clusters that they look at; the work.

    These are the nearest of each cluster that is awake, and for others those awake ones that they
    are near to.
    """
    near, gap, flag, number = scratch.near, scratch.gap, scratch.flag, scratch.tally[NEAR]
    kind, points, place, sums = model.kind, model.points, state.place, state.sums
    scale, (k, slots), work = state.figure[SCALE], near.shape, 0.0
    width = slots // 2
    for a in range(k):
        flag[REACH, a] = flag[NOW, a]
        number[a] = 0
    for a in range(k):
        if not flag[NOW, a]:
            continue
        if rare is not None and kind == TABLE:
            least_rises(points, state.labels, a, gaps)
            work += len(state.labels)
        else:
            work += k * (sums.shape[1] + 2.0)
        have, linked = 0, rare is not None and len(model.node) > 1
        if rare is not None and linked:
            scratch.touch[-1] += 1
            o = place[HEAD, a]
            while o >= 0:
                find_touched(model, state.labels, scratch.touch, o)
                o = state.link[AFTER, o]
        for j in range(k):
            top, found = gap[a, have - 1] if have == width else np.inf, 0.0
            if j == a:
                continue
            if linked and place[NUMBER, j] > 0 and scratch.touch[j] != scratch.touch[-1]:
                continue
            if place[NUMBER, j] == 0:
                found = 0.0  # an empty cluster is near everywhere
            elif rare is not None and kind == TABLE:
                found = gaps[j]
            elif rare is not None and kind == MEDOIDS:
                found = points[model.home[place[MEDOID, a]], place[MEDOID, j]]
            else:
                for f in range(sums.shape[1]):
                    step = scale[a] * sums[a, f] - scale[j] * sums[j, f]
                    found += step * step
                    if found >= top:
                        break
            if found >= top:
                continue
            have += 1 if have < width else 0
            p = have - 1
            while p > 0 and gap[a, p - 1] > found:
                gap[a, p], near[a, p] = gap[a, p - 1], near[a, p - 1]
                p -= 1
            gap[a, p], near[a, p] = found, j
        number[a] = have
        for p in range(have if rare is None or kind < TABLE else 0):
            gap[a, p] = np.sqrt(gap[a, p])
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


@inlined
def mixes(model: Model) -> bool:
    """Whether groups are to be mixed, so that no cluster is near another."""
    return model.kind in (MIXED, DIVERSE)


@part
def find_others(
    near: IntArray, number: IntArray, now: BoolArray, reach: BoolArray, turn: int
) -> None:
    """Find the clusters that members of mixed groups look at: all, or some at equal steps.

    Other turns begin elsewhere.
    """
    k, slots = near.shape
    width = min(slots // 2, k - 1)
    for a in range(k):
        reach[a], number[a] = now[a], 0
    for a in range(k):
        begin = (turn + 7919 * a) % max(k - 1, 1)
        for p in range(width if now[a] else 0):
            near[a, p] = (a + 1 + (begin + p * (k - 1) // width) % (k - 1)) % k
        number[a] = width if now[a] else 0
    for a in range(k):
        for p in range(width if now[a] else 0):
            b, known = near[a, p], False
            reach[b] = True
            for q in range(number[b]):
                known |= near[b, q] == a
            if not known and number[b] < slots:
                near[b, number[b]] = a
                number[b] += 1


@part
def find_members(
    pin: IntArray, labels: IntArray, partner: IntArray, ready: IntArray, turn: int
) -> None:
    """Note a sample of the members of each cluster, another one in other turns."""
    most, seen = partner.shape[1], ready
    for j in range(len(seen)):
        seen[j] = 0
    for i in range(len(labels)):
        if pin[0, i] >= 0:
            continue
        j = labels[i]
        seen[j] += 1
        # Each member so far is in the sample with the same chance (reservoir sampling).
        p = seen[j] - 1
        if p >= most:
            p = (i * 40503 + turn * 7919 + (i >> 4)) % seen[j]
        if p < most:
            partner[j, p] = i
    for j in range(len(seen)):
        ready[j] = min(seen[j], most)


@part
def find_partners(
    pin: IntArray,
    labels: IntArray,
    reach: BoolArray,
    regret: FloatArray,
    partner: IntArray,
    ready: IntArray,
) -> None:
    """Note the groups of each cluster that leave it at the least rise, the least first."""
    most = partner.shape[1]
    for j in range(len(ready)):
        ready[j] = 0
    for i in range(len(regret)):
        j, own = labels[i], regret[i]
        if not reach[j] or pin[0, i] >= 0 or own == np.inf:
            continue
        if ready[j] == most and regret[partner[j, most - 1]] <= own:
            continue
        ready[j] += 1 if ready[j] < most else 0
        p = ready[j] - 1
        while p > 0 and regret[partner[j, p - 1]] > own:
            partner[j, p] = partner[j, p - 1]
            p -= 1
        partner[j, p] = i


@part
def find_needy(
    lower: FloatArray, hard: FloatArray, load: FloatArray, needy: IntArray, reach: BoolArray
) -> int:
    """Note the clusters below a bound, which groups anywhere may help; their number."""
    (k, n_sums), number = load.shape, 0
    for j in range(k):
        for q in range(n_sums):
            if load[j, q] < lower[j, q] and hard[q] > 0.0:
                needy[number] = j
                number += 1
                break
    for j in range(k if number > 0 else 0):
        reach[j] = True
    return number


@part
def room_at_prices(bound: FloatArray, load: FloatArray, prices: FloatArray, j: int) -> float:
    """What the loads of cluster j leave of the bounds that have prices."""
    left = 0.0
    for q in range(prices.shape[1]):
        price, upper = prices[j, q], prices[j, q] > 0.0
        room = bound[UPPER, j, q] - load[j, q] if upper else bound[LOWER, j, q] - load[j, q]
        if price != 0.0 and price * room > 0.0:
            left += price * room
    return left


@inlined
def chain_limit(
    bound: FloatArray, state: State, prices: FloatArray, a: int, b: int, own: float
) -> float:
    """Rise at the prices up to which a chain between two clusters may pay.

    What the bounds of both leave, and how far centres follow a group that costs so much now.
    """
    left = room_at_prices(bound, state.load, prices, a)
    left += room_at_prices(bound, state.load, prices, b)
    return left + centres_follow(state, a, b, own)


@inlined
def centres_follow(state: State, a: int, b: int, own: float) -> float:
    """How far two centres follow a group that costs so much now, at most about."""
    number_a, number_b = state.place[NUMBER, a], state.place[NUMBER, b]
    return 2.0 * own * (1.0 / max(number_a, 1) + 1.0 / max(number_b, 1))


@part
def unit_of(rare: Rare, model: Model, state: State, a: int) -> float:
    """Work of valuing one shift of a group of cluster a."""
    read: float = state.sums.shape[1]
    if rare is not None and model.kind == MEDOIDS:  # entries far apart, unless the medoid stays
        number = state.place[NUMBER, a]
        read = 8.0 * number if number <= model.followed else 8.0
    elif rare is not None and len(model.points) == 0:
        read = len(model.data) / len(state.labels)
    unit = 6.0 + read + 2.0 * state.load.shape[1]
    return unit if rare is None else 1.5 * unit


@spliced
def best_exchange(
    rare: Rare,
    model: Model,
    state: State,
    scratch: Scratch,
    i: int,
    clash: bool,
    prices: FloatArray,
    least: float,
    margin: float,
    scans: bool,
    own: float,
    leave: float,
    unit: float,
) -> tuple[int, float, float]:
    """Find the best swap or ejection chain of group i where full clusters hold a shift back.

    Somebody else has to make room.  At the prices the rises of both groups add up, but for what
    centres follow, what the bounds leave, and what the prices are wrong by (the margin).  To mend a
    broken rule all members of a cluster may be tried.  The number of groups, 0 if none pays, the
    rise, and the work.
    """
    labels, figure, move, partner = state.labels, state.figure, scratch.move, scratch.partner
    a, work, best, links, place = labels[i], 0.0, -least, 0, state.place
    ptr, other, tie, mixed = model.ptr, model.other, model.tie, False
    if rare is not None:
        mixed = mixes(model)
    quick = (model.kind == MEANS or mixed) and len(model.points) > 0
    for r in range(scratch.tally[NEAR, a]):
        b, paid = scratch.near[a, r], scratch.rise[r]
        if paid == np.inf:
            continue
        broken = clash or figure[EXCESS, a] > 0.0 or figure[EXCESS, b] > 0.0
        members, ready = place[NUMBER, b], scratch.tally[READY, b]
        saved = np.inf if clash or mixed else figure[EXCESS, a] + figure[EXCESS, b]
        saved += centres_follow(state, a, b, own)
        limit = margin + saved + room_at_prices(model.bound, state.load, prices, a)
        limit += room_at_prices(model.bound, state.load, prices, b)
        stride, at = max(members // (2 * partner.shape[1]), 1), 0
        o, p, end = place[HEAD, b], 0, ready + (members if broken and scans else 0)
        work += unit
        while p < end:
            if p < ready:
                g = partner[b, p]
                if paid + scratch.regret[g] > limit and not mixed:
                    p = ready
                    continue
            else:
                g, o, at = o, state.link[AFTER, o], at + 1
                if (at + i) % stride > 0:
                    p += 1
                    continue
            p += 1
            work += 2.0 + 2.0 * prices.shape[1]
            if labels[g] != b or model.pin[0, g] >= 0:
                continue
            swaps = True
            if rare is not None:
                bar = barring(ptr, other, tie, labels, g, a)
                swaps = bar < 0 or bar == i
            for turn in range(2 if p <= ready and (broken or not mixed) else 1):
                c = a if turn == 0 else scratch.best[g]
                if not (swaps if turn == 0 else c >= 0 and c != a and c != b):
                    continue
                # The bounds bind the loads; what prices say of these is none of the rise.
                alone = paid + scratch.regret[g]
                for q in range(prices.shape[1]):
                    into, out = model.amount[i, q], model.amount[g, q]
                    alone += prices[a, q] * into - prices[b, q] * (into - out) - prices[c, q] * out
                if saved < np.inf and alone - saved >= best:
                    continue
                move[WHO, 0], move[TO, 0], move[WHO, 1], move[TO, 1] = i, b, g, c
                if rare is None:
                    rise = exchange_rise(rare, model, state, i, g, a, b, c, leave, best)
                    work += unit
                elif quick:
                    most = best if mixed and not clash else np.inf
                    rise = exchange_rise(rare, model, state, i, g, a, b, c, leave, most)
                    work += unit
                    if rise < np.inf:
                        marked(scratch.mark, move, TWO)
                        rise += ties_rise(model, state, scratch, TWO)
                        work += unit
                else:
                    rise = move_rise(rare, model, state, scratch, TWO)
                    work += 4.0 * unit
                if rise < best and held(rare, model, state, scratch, TWO):
                    best, links = rise, 2
                    keep_move(move, TWO)
    return links, best, work


def descend(model: Model, *arguments: Any) -> tuple[int, float, float]:
    """Descend with the kernel that the model needs: :func:`descended` has the parameters."""
    return descended(rare_of(model), model, *arguments)


@compiled
def descended(
    rare: Rare,
    model: Model,
    state: State,
    scratch: Scratch,
    order: IntArray,  # in which groups are looked at, (m,)
    awake: BoolArray,  # clusters that may have changed, (k,)
    prices: FloatArray,  # of the sums: they tell which clusters are worth a look, (k, q)
    gaps: FloatArray,  # is written over, (k,)
    sweeps: int,
    least: float,  # a rise below minus this is a gain
    margin: float,  # error of the prices up to which an exchange is tried
    scans: bool,  # whether all members of a cluster may be tried to mend a broken rule
    allowance: float,  # work after which it ends early, or as much as that of setting up
    fresh: bool,  # whether it begins anew, and does not go on after an early end
) -> tuple[int, float, float]:
    """Take the best move of each group in turn until none pays; the state changes in place.

    The best shift of a group, Kempe chain or ejection of a group that a cannot-link bars; if none
    pays, the best exchange.  Moves between two clusters that are not awake are not looked for.  The
    rise of each shift at the prices is noted for it where bounds hold the shift back.  After an
    early end ``scratch.flag`` has the clusters that are still awake.  The result is the number of
    groups that it came past in all sweeps if it ended early, else 0, by how much moves lowered the
    objective and what broken rules pay, and the work.
    """
    labels, figure, flag, tally = state.labels, state.figure, scratch.flag, scratch.tally
    ptr, amount, kind = model.ptr, model.amount, model.kind
    near, gap, move, rises = scratch.near, scratch.gap, scratch.move, scratch.rise
    m, k, seen, bounded = len(labels), len(awake), 0, amount.shape[1] > 0
    gain, work, mixed = 0.0, 0.0, False
    if rare is not None:
        mixed = mixes(model)
    quick = (kind == MEANS or mixed) and len(model.points) > 0
    for j in range(k):
        flag[NOW, j], tally[READY, j] = awake[j], 0
    for i in range(m if fresh else 0):
        scratch.regret[i], scratch.best[i] = np.inf, -1
    for sweep in range(sweeps):
        # The first sweep has no partners for exchanges yet: its clusters stay awake.
        first, moved, done = bounded and fresh and sweep == 0 and not mixed, 0, 0.0
        if rare is not None and mixed:
            find_others(near, tally[NEAR], flag[NOW], flag[REACH], scratch.mark[-1])
            setup = 1.0 * k
        else:
            setup = find_near(rare, model, state, scratch, gaps)
        work, allowance = work + setup, setup + max(allowance, setup) if sweep == 0 else allowance
        needy = find_needy(
            model.bound[LOWER], model.price[HARD], state.load, tally[NEEDY], flag[REACH]
        )
        if bounded and not first:
            pin, regrets, partner = model.pin, scratch.regret, scratch.partner
            if rare is not None and mixed:
                find_members(pin, labels, partner, tally[READY], scratch.mark[-1])
            else:
                find_partners(pin, labels, flag[REACH], regrets, partner, tally[READY])
            work += m
        for j in range(k):
            flag[CHANGED, j] = False
        hollow = 0  # clusters without members
        for j in range(k):
            hollow += 1 if state.place[NUMBER, j] == 0 else 0
        for turn, i in enumerate(order):
            a, w = labels[i], model.group[WEIGHT, i]
            if not flag[REACH, a] or model.pin[0, i] >= 0:
                continue
            if rare is not None and len(model.node) > 1:
                scratch.touch[-1] += 1
                if not find_touched(model, labels, scratch.touch, i) and hollow == 0:
                    scratch.regret[i], scratch.best[i] = np.inf, -1
                    done += 4.0
                    continue
            number, now, clash, linked, pins = tally[NEAR, a], flag[NOW, a], False, False, False
            softly = False
            if rare is not None:
                linked, pins = ptr[i] < ptr[i + 1], model.pin[1, i] >= 0
                if linked:
                    softly = gather_pairs(model, labels, scratch, i)
                    clash = scratch.bar[a] >= 0
                    done += 4.0 * (ptr[i + 1] - ptr[i])
            wide, unit = clash or figure[EXCESS, a] > 0.0, unit_of(rare, model, state, a)
            pays = softly or pins or clash or len(model.column) > 1  # for ties that moves change
            prunes, per = not (wide or softly), w
            if rare is not None and (mixed or kind >= TABLE):
                prunes, per = False, 1.0
            best, links, own, radius, leave, less = -least, 0, 0.0, 0.0, 0.0, 0.0
            regret, target = np.inf, -1
            for r in range(-1, number + (k if wide else needy)):
                # It leaves its own cluster; then come the near ones; then, if it must go, all.
                b, is_near = a, False
                if r >= number:
                    if links > 0:
                        break
                    b = r - number if wide else tally[NEEDY, r - number]
                elif r >= 0:
                    b, is_near = near[a, r], True
                    rises[r] = np.inf
                if r >= 0 and (b == a or not (now or flag[NOW, b])):
                    continue
                if rare is not None and r >= 0 and len(model.node) > 1:
                    touches = scratch.touch[b] == scratch.touch[-1]
                    if not touches and state.place[NUMBER, b] > 0:
                        continue
                pinned = 0.0
                if rare is not None and pins:
                    pinned = pin_price(model.pin, model.paid, i, a, b)
                paid = pinned
                for q in range(prices.shape[1]):
                    paid += amount[i, q] * (prices[b, q] - prices[a, q])
                if prunes and is_near and state.place[NUMBER, b] > 0:
                    # The triangle inequality: it cannot be nearer than this.
                    away = gap[a, r] - radius
                    if away > radius and w * (away * away - own) + paid > margin:
                        mass, saved = figure[MASS, b], figure[EXCESS, b] - leave
                        if mass * w * away * away > (mass + w) * saved:
                            done += 2.0
                            continue
                sign = 1.0 if r >= 0 else -1.0
                move[WHO, 0], move[TO, 0] = i, b if r >= 0 else -1
                square, rise, more = half_shift(rare, model, state, scratch, i, b, sign)
                done += unit
                if r < 0:
                    own, leave, less = square, rise + more, more
                    radius = np.sqrt(square) if prunes else 0.0
                    continue
                rise += leave + more + pinned
                bar, soft = -1, 0.0
                if rare is not None and linked:
                    tied, bar = scratch.tied, scratch.bar[b]
                    rise += tied[ALL, b] - tied[ALL, a]
                    soft = tied[SOFT, b] - tied[SOFT, a]
                if rare is not None and len(model.column) > 1:
                    rise += rows_rise(model, state, move, ONE)
                paid += per * (square - own)
                if is_near and (wide or mixed or figure[EXCESS, b] > 0.0 or less + more > 0.0):
                    rises[r] = paid
                if bar < 0 and paid < regret:
                    regret, target = paid, b
                if rise < best and held(rare, model, state, scratch, ONE):
                    best, links = rise, 1
                    keep_move(move, ONE)
                if rare is None:
                    continue
                if bar < 0 or not is_near:
                    continue
                # One group of a chain that pays has a gain of its own at the prices, as those of
                # an exchange have together.
                alone, limit = paid + soft, np.inf
                if not (wide or mixed or figure[EXCESS, b] > 0.0):
                    limit = chain_limit(model.bound, state, prices, a, b, per * own) + margin
                for way in range(2 if alone <= limit else 0):
                    if way == 0:
                        n = kempe_chain(model, labels, scratch.mark, move, i, b)
                    else:  # the group in the way goes to a third cluster
                        c, n = scratch.best[bar], 0
                        if model.pin[0, bar] < 0 and c >= 0 and c != a and c != b:
                            n = TWO if alone + scratch.regret[bar] <= limit else 0
                        move[WHO, 0], move[TO, 0], move[WHO, 1], move[TO, 1] = i, b, bar, c
                    done += unit
                    if n == 0:
                        continue
                    if n == 2 and quick:
                        g, c = move[WHO, 1], move[TO, 1]
                        most = np.inf if pays else best
                        rise = exchange_rise(rare, model, state, i, g, a, b, c, leave, most)
                        done += unit
                        if not (rise < best or pays):
                            continue
                        marked(scratch.mark, move, TWO)
                        rise += ties_rise(model, state, scratch, TWO)
                        done += unit
                    else:
                        rise = move_rise(rare, model, state, scratch, n)
                        done += 2.0 * n * unit
                    if rise < best and held(rare, model, state, scratch, n):
                        best, links = rise, n
                        keep_move(move, n)
            scratch.regret[i], scratch.best[i] = regret, target
            if rare is not None and linked:
                forget_pairs(model, labels, scratch, i)
            if links == 0 and bounded and not first:
                links, best, tried = best_exchange(
                    rare,
                    model,
                    state,
                    scratch,
                    i,
                    clash,
                    prices,
                    least,
                    margin,
                    scans,
                    per * own,
                    leave,
                    unit,
                )
                done += tried
            if rare is not None:
                done += 4.0 * scratch.seen[QUEUE, -1]
                scratch.seen[QUEUE, -1] = 0
            if links > 0:
                make_move(rare, model, state, scratch, links)
                moved, gain = moved + 1, gain - best
                if rare is not None and kind == DIVERSE:
                    done += 2.0 * links * m
            if done > allowance - work:
                seen = sweep * m + turn + 1
                break
        work, ended = work + done, seen > 0
        for j in range(k):
            flag[NOW, j] = flag[CHANGED, j] or ((first or ended) and flag[NOW, j])
        if ended or (moved == 0 and not first):
            break
    return seen, gain, work


@compiled
def wander(
    rare: Rare,
    model: Model,
    state: State,
    scratch: Scratch,
    draws: FloatArray,  # in [0, 1), (steps, 3)
    heat: float,
    factor: float,
    best: IntArray,
) -> float:
    """Shift groups between connected clusters at random until all obey their bounds.

    A shift is made by Metropolis' rule, if the clusters stay connected; rises above the heat are
    rare.  ``best`` has the labels whose sums cost least outside the bounds, where the first cluster
    counts so many times.  The result is the work.
    """
    labels, figure, move, least = state.labels, state.figure, scratch.move, np.inf
    edges, unit, work = model.graph[EDGES], unit_of(rare, model, state, 0), 0.0
    for step in range(len(draws) + 1):
        outside = factor * figure[EXCESS, 0]
        for j in range(1, len(state.load)):
            outside += figure[EXCESS, j]
        if outside < least:
            least = outside
            for i in range(len(labels)):
                best[i] = labels[i]
        if least == 0.0 or step == len(draws):
            break
        i = int(draws[step, 0] * len(labels))
        first, last = edges[model.node[i]], edges[model.node[i + 1]]
        work += 4.0
        if model.pin[0, i] >= 0 or first == last:
            continue
        near = model.adjacent[first + int(draws[step, 1] * (last - first))]
        a, b = labels[i], labels[model.graph[OWNER, near]]
        if a == b or state.place[NUMBER, a] < 2:
            continue
        move[WHO, 0], move[TO, 0] = i, b
        rise = move_rise(rare, model, state, scratch, ONE)
        work += 2.0 * unit
        if draws[step, 2] < np.exp(-rise / heat) and held(rare, model, state, scratch, ONE):
            keep_move(move, ONE)
            make_move(rare, model, state, scratch, ONE)
    work += 4.0 * scratch.seen[QUEUE, -1]
    scratch.seen[QUEUE, -1] = 0
    return work


def appraise(model: Model, state: State) -> tuple[float, float, float]:
    """The objective of the state, the price of soft rules, and how far hard rules are broken."""
    return appraised(rare_of(model), model, state)


@compiled
def appraised(rare: Rare, model: Model, state: State) -> tuple[float, float, float]:
    """The same, by the kernel that the model needs."""
    labels, load, tie, objective, soft, hard = state.labels, state.load, model.tie, 0.0, 0.0, 0.0
    for i in range(len(labels)):
        a, at, square = labels[i], model.pin[1, i], squared(rare, model, state, i, labels[i])
        if rare is None:
            objective += square * model.group[WEIGHT, i]
            continue
        if model.kind == DIVERSE:
            objective += 0.5 * square
        elif model.kind != MIXED:
            objective += square * (1.0 if model.kind >= TABLE else model.group[WEIGHT, i])
        soft += model.paid[at, a] if at >= 0 else 0.0
        for z in range(model.ptr[i], model.ptr[i + 1]):
            o = model.other[z]
            if o > i and labels[o] == a:
                if tie[HARD, z] > 0.0:
                    hard += 1.0
                else:
                    soft += tie[PRICE, z]
    for j in range(len(load)):
        if rare is not None and model.kind == MIXED:
            objective += worth(rare, model, state.figure[MASS, j], state.figure[LENGTH, j])
        for q in range(load.shape[1]):
            paid = sum_price(model.bound, model.price, load[j, q], j, q)
            if model.price[HARD, q] > 0.0:
                hard += paid
            else:
                soft += paid
    for r in range(0 if rare is None else len(state.rows)):
        hard += row_price(model.row_bound, state.rows[r], r)
    return objective, soft, hard


def restless(model: Model, state: State, awake: BoolArray) -> None:
    """Mark the clusters that break a rule: outside their bounds, or with a broken pair.

    Linear rows belong to no cluster; where one is outside its bounds, all clusters are marked.
    """
    labels, rows, (lower, upper, price) = state.labels, state.rows, model.row_bound
    outside = np.maximum(rows - upper, lower - rows) > 0.0
    awake[:] = (state.figure[EXCESS] > 0.0) | bool((outside & (price > 0.0)).any())
    end = np.repeat(labels, np.diff(model.ptr))
    awake[end[(labels[model.other] == end) & (model.tie[HARD] > 0.0)]] = True
