"""Any labels that obey the hard rules, without regard to costs, or the proof that there are none.

Groups placed one after another where there is room are often an answer at once, and never a proof.
Of cannot-links and pins alone, :func:`peel` first removes the groups that can be placed last.
What is left is for CP-SAT: without costs, integer programming is slow at colouring graphs and
packing sizes; the clause learning of CP-SAT solves most such problems in milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import BoolArray, FloatArray, IntArray
from ..deadline import NEVER, Deadline, OutOfTime
from ..numbers import GROWTH, ITERATIONS, PIECE, PROGRAM_SECONDS
from ..rules import Adjacency, Rules
from ..rules.sums import Sums
from ..search.compiled import compiled
from .check import broken
from .program import interruptible

#: Sum of the absolute values of a sum of floats after it is turned into a sum of integers.  It and
#: its bounds have 32 bits: with more the presolve of CP-SAT 9.15 finds feasible sums infeasible, 18
#: of 150 tight ones.
WHOLE = float(np.iinfo(np.int32).max // 2)


def search(
    rules: Rules, deadline: Deadline = NEVER, near: IntArray | None = None
) -> IntArray | None:
    """As :func:`corral.exact.feasible`, by CP-SAT alone; it tries the labels ``near`` first."""
    from ortools.sat.python import cp_model  # imports pandas

    model, x = _model(rules, cp_model, deadline)
    for row, label in zip(x, [] if near is None else near.tolist(), strict=False):
        model.add_hint(row[label], True)
    while True:
        labels = _solve(rules, model, x, deadline)
        if labels is None or not broken(rules, labels, any_order=True):
            return labels
        # Bounds on sums of floats are rounded outwards: forbid labels that break the exact ones.
        _forbid(rules, model, x, labels)


def _solve(rules: Rules, model: Any, x: list[list[Any]], deadline: Deadline) -> IntArray | None:
    from ortools.sat.python import cp_model

    for workers, patience in ((1, PROGRAM_SECONDS), (os.cpu_count() or 1, np.inf)):
        limit = min(patience, deadline.check())
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = workers
        solver.parameters.catch_sigint_signal = False  # Python handles Ctrl-C
        if np.isfinite(limit):
            solver.parameters.max_time_in_seconds = limit
        status = interruptible(partial(solver.solve, model), stop=solver.stop_search)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            values = np.array([solver.boolean_value(var) for row in x for var in row])
            x_values = values.reshape(rules.n_groups, rules.n_clusters)
            return np.asarray(x_values.argmax(axis=1))
        if status == cp_model.INFEASIBLE:
            return None
    raise OutOfTime


def _forbid(rules: Rules, model: Any, x: list[list[Any]], labels: IntArray) -> None:
    """Forbid the members of every cluster, and the choice in every row, that break a sum."""
    chosen = np.zeros((rules.n_groups, rules.n_clusters), bool)
    chosen[np.arange(len(labels)), labels] = True

    def change(places: list[tuple[int, int]]) -> None:
        model.add_bool_or([~x[g][j] if chosen[g, j] else x[g][j] for g, j in places])

    for total in rules.totals:
        for j in np.flatnonzero(total.excess(labels)):
            change([(int(g), int(j)) for g in np.flatnonzero(total.values)])
    if rules.linear is not None:
        A = rules.linear.A
        for r in np.flatnonzero(rules.linear.excess(labels)):
            columns = A.indices[A.indptr[r] : A.indptr[r + 1]]
            change([divmod(int(c), rules.n_clusters) for c in columns])


def _model(rules: Rules, cp_model: Any, deadline: Deadline) -> tuple[Any, list[list[Any]]]:
    m, k = rules.n_groups, rules.n_clusters
    model = cp_model.CpModel()
    x: list[list[Any]] = []
    for _ in range(m):
        deadline.check()
        x.append([model.new_bool_var("") for _ in range(k)])
        model.add_exactly_one(x[-1])
    for g, j in rules.pins.tolist():
        model.add_bool_or([x[g][j]])
    cliques = rules.pairs.cliques
    for clique in np.split(cliques.members, cliques.start[1:-1]) if len(cliques) else ():
        deadline.check()
        for j in range(k):
            model.add_at_most_one([x[g][j] for g in clique.tolist()])
    for a, b in rules.together.tolist():
        deadline.check()
        for u, v in zip(x[a], x[b], strict=True):
            model.add_implication(u, v)
    _add_sizes(rules, cp_model, model, x)
    if rules.adjacency is not None:
        _connect(rules.adjacency, model, x, deadline)
    flat = [var for row in x for var in row]
    linear = [] if rules.linear is None else [rules.linear]
    for rows in [*(total.as_rows(k) for total in rules.totals), *linear]:
        least, most = rows.lower - rows.give, rows.upper + rows.give
        for r in range(rows.A.shape[0]):
            deadline.check()
            part = slice(rows.A.indptr[r], rows.A.indptr[r + 1])
            chosen = [flat[c] for c in rows.A.indices[part]]
            _add_sum(model, chosen, rows.A.data[part], float(least[r]), float(most[r]))
    return model, x


def _connect(net: Adjacency, model: Any, x: list[list[Any]], deadline: Deadline) -> None:
    """Every cluster has a tree: each node is its root, or has a neighbour there as its parent.

    Ranks that rise along the tree leave no circles.
    """
    p, k = net.n_nodes, len(x[0])
    rank = [model.new_int_var(0, max(p - 1, 0), "") for _ in range(p)]
    roots: list[list[Any]] = [[] for _ in range(k)]
    for v in range(p):
        deadline.check()
        own, root = x[int(net.group[v])], model.new_bool_var("")
        options = [root]
        for u in net.near[net.ptr[v] : net.ptr[v + 1]].tolist():
            options.append(model.new_bool_var(""))
            model.add(rank[v] >= rank[u] + 1).only_enforce_if(options[-1])
            for mine, theirs in zip(own, x[int(net.group[u])], strict=True):
                model.add_bool_or([~options[-1], ~mine, theirs])
        model.add_exactly_one(options)
        for j in range(k):
            roots[j].append(model.new_bool_var(""))
            model.add_bool_or([~root, ~own[j], roots[j][-1]])
    for each in roots:
        model.add_at_most_one(each)


def _add_sizes(rules: Rules, cp_model: Any, model: Any, x: list[list[Any]]) -> None:
    sizes, k = rules.sizes, rules.n_clusters
    if sizes is None:
        return
    total = cp_model.LinearExpr.weighted_sum
    size = [total([row[j] for row in x], rules.count.tolist()) for j in range(k)]
    if not rules.sizes_vary:
        for j in range(k):
            model.add_linear_constraint(size[j], int(sizes.lower[j]), int(sizes.upper[j]))
        return
    y = [[model.new_bool_var("") for _ in range(k)] for _ in range(k)]
    for j in range(k):
        model.add_exactly_one(y[j])
        model.add_exactly_one([row[j] for row in y])
        model.add(size[j] >= total(y[j], sizes.lower.tolist()))
        model.add(size[j] <= total(y[j], sizes.upper.tolist()))


def _add_sum(
    model: Any, variables: list[Any], values: FloatArray, lower: float, upper: float
) -> None:
    """Add ``lower <= values @ variables <= upper`` in whole numbers.

    Floats are rounded and the bounds moved outwards by the largest possible error of rounding.  So
    what is infeasible in whole numbers is infeasible; what is feasible has to be checked.
    """
    from ortools.sat.python import cp_model

    whole = np.array_equal(values, np.rint(values)) and np.abs(values).sum() < WHOLE
    limit = int(4 * WHOLE)
    if whole:
        # A whole sum of at least 2.5 is at least 3.
        scale = 1.0
        low = -limit if lower < -limit else int(np.ceil(lower))
        high = limit if upper > limit else int(np.floor(upper))
    else:
        scale, give = WHOLE / float(np.abs(values).sum()), len(values) / 2
        low = -limit if lower * scale < -limit else int(np.floor(lower * scale - give))
        high = limit if upper * scale > limit else int(np.ceil(upper * scale + give))
    if low > high:
        model.add_bool_or([])
        return
    coefficients = np.rint(values * scale).astype(np.int64).tolist()
    total = cp_model.LinearExpr.weighted_sum(variables, coefficients)
    model.add_linear_constraint(total, low, high)


def peel(rules: Rules, deadline: Deadline = NEVER) -> IntArray | None:
    """As :func:`search`, for rules with hard cannot-links and pins only, one pin for a group.

    A group with fewer neighbours than clusters open to it can always be placed last.  Such groups
    are removed in sweeps, and only the others are searched.
    """
    a, b = rules.apart.T
    if np.any(a == b):
        return None
    options = np.full(rules.n_groups, rules.n_clusters)
    options[rules.pins[:, 0]] = 1
    alive = np.ones(rules.n_groups, bool)
    sweeps: list[IntArray] = []
    while True:
        inside = alive[a] & alive[b]
        ends = np.concatenate([a[inside], b[inside]])
        out = alive & (np.bincount(ends, minlength=rules.n_groups) < options)
        if not out.any():
            break
        if sweeps:
            deadline.check()
        sweeps.append(np.flatnonzero(out))
        alive &= ~out
    labels = np.full(rules.n_groups, -1)
    left = np.flatnonzero(alive)
    if len(left):
        found = search(rules.part(left), deadline)
        if found is None:
            return None
        labels[left] = found
    last = np.concatenate([*sweeps[::-1], np.empty(0, np.int64)])
    graph, k = rules.pairs.links, rules.n_clusters
    first, none, no_sums = (
        np.arange(float(k))[None],
        np.zeros((rules.n_groups, 0)),
        np.zeros((k, 0)),
    )
    places = none, no_sums, no_sums, no_sums, none[0]
    place_groups(last, *places, *_links(graph), _pins(rules), first, labels)
    return labels


def place_by_room(
    rules: Rules, deadline: Deadline = NEVER, cost: FloatArray | None = None
) -> IntArray | None:
    """Labels that obey all hard rules, or None if this method finds none.

    Groups are placed from the largest to the smallest, which answers most of the questions in the
    search for a smaller conflict in a millisecond.  With costs each group goes to the cheapest
    cluster with room, and sizes hold in their order.  If that fails, groups are dealt so that all
    clusters come near even shares of the sums, and then so that these count less and costs more;
    if that fails too, to the first cluster with room, or to as many clusters as can have their
    shares.  OutOfTime is raised at the deadline.
    """
    k, dealt = rules.n_clusters, partial(_dealt, rules, deadline)
    every, first = np.ones(k, bool), np.arange(float(k))[None]
    if cost is not None and (labels := dealt(every, cost)) is not None:
        return labels
    if (labels := dealt(every)) is not None:
        return labels if cost is None else _nearer(partial(dealt, every), labels, cost)
    best, sums, pinned = dealt(every, first), rules.sums(), np.zeros(k, bool)
    pinned[rules.pins[:, 1]] = True
    needed = pinned | np.any((sums.lower > 0.0) | (sums.upper < 0.0), axis=0)
    if not len(sums) or needed.all():
        return best
    # Clusters that must have groups come first, then those that may hold most.
    order = np.lexsort((-(sums.upper / sums.unit).sum(axis=0), ~needed))
    least, most = int(needed.sum()), k
    while most - least > 1:
        some, middle = np.zeros(k, bool), (least + most) // 2
        some[order[:middle]] = True
        labels = dealt(some)
        if labels is None:
            most = middle
            continue
        least = middle
        if best is None or len(np.unique(labels)) > len(np.unique(best)):
            best = labels
    return best


def _nearer(
    dealt: Callable[[FloatArray, float], IntArray | None], labels: IntArray, cost: FloatArray
) -> IntArray:
    """Labels dealt by costs and even shares, these for as little as keeps the rules."""
    spread = float((cost.mean(axis=1) - cost.min(axis=1)).mean())
    if spread <= 0.0:
        return labels
    with suppress(OutOfTime):
        for step in range(ITERATIONS, 0, -1):
            found = dealt(cost, spread * GROWTH**step)
            if found is None:
                break
            labels = found
    return labels


def _dealt(
    rules: Rules,
    deadline: Deadline,
    some: BoolArray,
    cost: FloatArray | None = None,
    even: float = 0.0,
) -> IntArray | None:
    """Labels of groups placed where they cost least in some clusters; None if they break a rule.

    Without costs, where they bring the sums nearest to even shares; with costs these have a price.
    """
    graph, sums, k = rules.pairs.links, rules.sums(), rules.n_clusters
    amount = np.ascontiguousarray(sums.values.T)
    heavy = (np.abs(sums.values) / sums.unit).sum(axis=0) + np.diff(graph.indptr)
    heavy[rules.pins[:, 0]] = np.inf
    order = np.argsort(-heavy, kind="stable")
    load, aim = np.zeros((k, len(sums))), _even_shares(sums, some)
    # Sums with little room between aims and bounds matter most.
    room = np.where(some, np.minimum(aim.T - sums.lower, sums.upper - aim.T), np.inf)
    price = 1.0 / np.maximum(room.min(axis=1, initial=np.inf), sums.unit[:, 0]) ** 2
    # Amounts of both signs may come back within the bounds.
    signed = np.any(sums.values < 0.0, axis=1, keepdims=True)
    upper = np.where(signed, np.inf, sums.upper)
    upper = np.where(some, upper, -np.inf).T.copy()
    table = np.zeros((1, k)) if cost is None else np.ascontiguousarray(cost, np.float64)
    places = load, upper, aim, price if cost is None else even * price
    labels, links, pin = np.full(rules.n_groups, -1), _links(graph), _pins(rules)
    step = max(int(PIECE) // (k * (1 + len(sums))), 1)
    for begin in range(0, rules.n_groups, step):
        deadline.check()
        groups = order[begin : begin + step]
        if not place_groups(groups, amount, *places, *links, pin, table, labels):
            return None
    return None if broken(rules, labels, any_order=cost is None or len(cost) == 1) else labels


def _even_shares(sums: Sums, some: BoolArray) -> FloatArray:
    """Loads of some clusters that are as far between their bounds as those of the others, (k, s).

    Where a bound is infinite, the mean load within the bounds.
    """
    total = sums.values.sum(axis=1, keepdims=True)
    lower, upper = (np.where(some, each, 0.0) for each in (sums.lower, sums.upper))
    aim = np.clip(total / max(np.count_nonzero(some), 1), lower, upper)
    between = np.isfinite(lower).all(axis=1) & np.isfinite(upper).all(axis=1)
    low, room = lower[between], upper[between] - lower[between]
    wide = room.sum(axis=1, keepdims=True)
    part = (total[between] - low.sum(axis=1, keepdims=True)) / np.where(wide > 0.0, wide, 1.0)
    aim[between] = low + part * room
    return np.ascontiguousarray(aim.T)


def _links(graph: sparse.csr_array) -> tuple[IntArray, IntArray]:
    """Where the neighbours of each group begin, and the neighbours."""
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)


def _pins(rules: Rules) -> IntArray:
    """The cluster of each group that is pinned, -1 of others."""
    pin = np.full(rules.n_groups, -1)
    pin[rules.pins[:, 0]] = rules.pins[:, 1]
    return pin


@compiled
def place_groups(
    groups: IntArray,  # in the order in which they are placed
    amount: FloatArray,  # (m, s)
    load: FloatArray,  # of the groups placed, (k, s); kept up to date
    upper: FloatArray,  # (k, s)
    aim: FloatArray,  # loads that are wanted, (k, s)
    price: FloatArray,  # of the square of what a load is away from that, (s,)
    indptr: IntArray,  # cannot-links by group
    indices: IntArray,
    pin: IntArray,  # (m,), -1 where free
    cost: FloatArray,  # (m, k), or one row for all groups
    labels: IntArray,  # (m,), -1 where not placed yet; filled in
) -> bool:
    """Place groups one after another where they cost least; False if one finds no room."""
    k, s = load.shape
    for g in groups:
        best, least = -1, np.inf
        for j in range(k):
            fits, value = pin[g] < 0 or pin[g] == j, cost[g if len(cost) > 1 else 0, j]
            for t in range(s):
                fits = fits and load[j, t] + amount[g, t] <= upper[j, t]
                value += price[t] * amount[g, t] * (load[j, t] - aim[j, t])
            if not fits or value >= least:
                continue
            for e in range(indptr[g], indptr[g + 1]):
                fits = fits and labels[indices[e]] != j
            if fits:
                best, least = j, value
        if best < 0:
            return False
        labels[g] = best
        for t in range(s):
            load[best, t] += amount[g, t]
    return True
