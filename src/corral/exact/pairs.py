"""Assignment under pairs alone: hard cannot-links, uncontracted must-links, soft pairs.

Without sizes or totals the problem separates into the connected components of the graph of
pairs, and most of each component has a closed form.  Every pair (a, b) costs ``same`` when the
labels agree and ``differ`` when they do not (infinite when hard), so a group b with a single
neighbour a can be eliminated exactly: whatever label j the neighbour takes, b answers best, at

    message_b(j) = min( c_b(j) + same, differ + min over l != j of c_b(l) ),

which is added to the costs of a.  Eliminating leaves until none is left solves every tree; what
remains of a component is its 2-core, the only part that needs a solver.  A component that is a
clique of cannot-links is a linear assignment; so is what is left of it.

Only groups near a broken pair take part.  Without their pairs with other groups they cost no more
than in any answer; so if their best labels break none of these pairs, they are part of a best
answer, and otherwise the groups at the other end take part too.

:func:`descend` is for 2-cores that are too large: it moves one group at a time and proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._typing import FloatArray, IntArray
from ..constraints._checks import sums_by
from ..deadline import NEVER, Deadline
from ..numbers import PROGRAM_ENTRIES
from ..rules import Cliques, PairGraph, Pairs, Rules, SoftPairs
from .check import NoAssignment
from .feasible import peel, search
from .program import solve_program


@dataclass(frozen=True)
class Elimination:
    """Groups eliminated in one sweep, each with its only neighbour, its pair and its costs."""

    leaf: IntArray
    neighbour: IntArray
    same: FloatArray
    differ: FloatArray
    cost: FloatArray


def pair_graph(rules: Rules) -> PairGraph:
    """The graph of pairs; raises NoAssignment if a group must be apart from itself."""
    graph = rules.pairs.graph
    if graph.impossible:
        raise NoAssignment
    return graph


def solve_pairs(
    rules: Rules, cost: FloatArray, deadline: Deadline = NEVER, programs: Deadline = NEVER
) -> tuple[IntArray, bool]:
    """Cheapest labels under pairs alone, and whether they are proven; no other rule is looked at.

    Costs are infinite where a group may not go.  ``programs`` is the deadline of programs.

    Raises
    ------
    NoAssignment, OutOfTime
    """
    labels: IntArray = cost.argmin(axis=1)
    graph, proven = pair_graph(rules), True
    if not len(graph.a):
        return labels, True
    cliques, graph = graph.complete(2)
    _match_cliques(cliques, cost, labels, deadline)
    active = np.zeros(len(cost), bool)
    while True:
        inside = active[graph.a] & active[graph.b]
        clash = graph.broken(labels) & ~inside
        if not clash.any():
            return labels, proven
        active[graph.a[clash]] = active[graph.b[clash]] = True
        inside = active[graph.a] & active[graph.b]
        proven = _solve_active(rules, cost, labels, graph.of(inside), deadline, programs)


def _solve_active(
    rules: Rules,
    cost: FloatArray,
    labels: IntArray,
    graph: PairGraph,
    deadline: Deadline,
    programs: Deadline,
) -> bool:
    """Set the labels of all groups in the graph to the best ones in place; whether proven."""
    touched, ends = np.unique(np.concatenate([graph.a, graph.b]), return_inverse=True)
    a, b = ends[: len(graph.a)], ends[len(graph.a) :]
    graph = PairGraph(len(touched), a, b, graph.same, graph.differ)
    work = cost[touched]
    core, sweeps = _eliminate(graph, work, deadline)
    found: IntArray = work.argmin(axis=1)
    cliques, core = core.complete(2)
    _match_cliques(cliques, work, found, deadline)
    proven = True
    if len(core.a):
        left = np.unique(np.concatenate([core.a, core.b]))
        part = _core_rules(rules, core, touched[left], left)
        found[left], proven = _solve_core(part, work[left], deadline, programs)
    for sweep in reversed(sweeps):
        found[sweep.leaf] = _best_answer(sweep, found[sweep.neighbour])
    if not (np.isfinite(cost[touched, found]).all() and np.isfinite(graph.paid(found)).all()):
        raise NoAssignment
    labels[touched] = found
    return proven


def _solve_core(
    part: Rules, cost: FloatArray, deadline: Deadline, programs: Deadline
) -> tuple[IntArray, bool]:
    """Labels of a 2-core, by a program or, if it is large, by a descent; whether they are best."""
    if not np.isfinite(cost.min(axis=1)).all():
        raise NoAssignment
    graph = part.pairs.graph
    known = descend(graph, cost, deadline)
    if cost.size > PROGRAM_ENTRIES:
        if known is None:
            coloured = search(part, deadline) if len(part.together) else peel(part, deadline)
            if coloured is None:
                raise NoAssignment
            known = descend(graph, cost, deadline, coloured)
        if known is not None:
            return known, False
    found = solve_program(part, cost, incumbent=known, deadline=programs)
    return found.labels, found.optimal


def _match_cliques(
    cliques: Cliques, cost: FloatArray, labels: IntArray, deadline: Deadline
) -> None:
    """Label the cliques of which two groups share a label, in place.

    No two groups of a clique share a cluster, so that its best labels are a linear assignment,
    which the Hungarian method finds.
    """
    k = cost.shape[1]
    if cliques.size.max(initial=0) > k:
        raise NoAssignment
    places = cliques.of_member * k + labels[cliques.members]
    taken = np.bincount(places, minlength=len(cliques) * k).reshape(-1, k)
    for c in np.flatnonzero(taken.max(axis=1, initial=0) > 1):
        deadline.check()
        members = cliques.members[cliques.start[c] : cliques.start[c + 1]]
        try:
            labels[members] = linear_sum_assignment(cost[members])[1]
        except ValueError:  # infinite costs leave no labels
            raise NoAssignment from None


def _eliminate(
    graph: PairGraph, work: FloatArray, deadline: Deadline
) -> tuple[PairGraph, list[Elimination]]:
    """Eliminate leaves sweep by sweep, adding their messages to ``work`` in place."""
    sweeps: list[Elimination] = []
    degree = np.bincount(np.concatenate([graph.a, graph.b]), minlength=len(work))
    while len(graph.a):
        deadline.check()
        leaf_a, leaf_b = degree[graph.a] == 1, degree[graph.b] == 1
        out = leaf_a | leaf_b
        if not out.any():
            break
        edges = graph.of(out)
        leaf = np.where(leaf_a[out], edges.a, edges.b)
        neighbour = np.where(leaf_a[out], edges.b, edges.a)
        sweep = Elimination(leaf, neighbour, edges.same, edges.differ, work[leaf])
        np.add.at(work, neighbour, _message(sweep))
        sweeps.append(sweep)
        degree -= np.bincount(np.concatenate([edges.a, edges.b]), minlength=len(work))
        graph = graph.of(~out)
    return graph, sweeps


def _message(sweep: Elimination) -> FloatArray:
    """Least cost of each leaf for every label of its neighbour."""
    rows = np.arange(len(sweep.leaf))
    best = sweep.cost.argmin(axis=1)
    others = sweep.cost.copy()
    others[rows, best] = np.inf
    # Least cost among labels other than j: the second best where j is the best itself.
    elsewhere = np.repeat(sweep.cost[rows, best][:, None], sweep.cost.shape[1], axis=1)
    elsewhere[rows, best] = others.min(axis=1)
    return np.minimum(sweep.cost + sweep.same[:, None], elsewhere + sweep.differ[:, None])


def _best_answer(sweep: Elimination, neighbour_label: IntArray) -> IntArray:
    """Best label of each leaf now that its neighbour's is known."""
    total = sweep.cost + sweep.differ[:, None]
    rows = np.arange(len(sweep.leaf))
    total[rows, neighbour_label] = sweep.cost[rows, neighbour_label] + sweep.same
    return np.asarray(total.argmin(axis=1))


def _core_rules(rules: Rules, core: PairGraph, groups: IntArray, numbers: IntArray) -> Rules:
    """The pairs of the 2-cores: these groups, by these numbers in the core.

    Groups are renumbered; pins are in the costs.
    """
    pairs = np.searchsorted(numbers, np.column_stack([core.a, core.b]))
    apart, together = np.isinf(core.same), np.isinf(core.differ)
    soft_same, soft_differ = ~apart & (core.same > 0), ~together & (core.differ > 0)
    soft = SoftPairs(
        np.concatenate([pairs[soft_same], pairs[soft_differ]]),
        np.concatenate([core.same[soft_same], core.differ[soft_differ]]),
        np.repeat([False, True], [soft_same.sum(), soft_differ.sum()]),
    )
    return Rules(
        n_clusters=rules.n_clusters,
        count=rules.count[groups],
        pairs=Pairs(len(groups), pairs[apart], pairs[together], soft),
    )


def descend(
    graph: PairGraph, cost: FloatArray, deadline: Deadline = NEVER, start: IntArray | None = None
) -> IntArray | None:
    """Labels that no single move improves, or None if they break a hard pair.

    Without a start every group begins in its cheapest cluster.

    In every sweep the groups move that gain more than all their neighbours: no two of them share
    a pair, so the gains add up.  Sweeps end with the deadline.
    """
    m, k = cost.shape
    least = cost.min(axis=1)
    spread = np.where(np.isfinite(cost), cost - least[:, None], 0.0)
    # Price of a broken hard pair: more than any single move can gain by breaking it.
    wall = 4.0 * float(spread.max(initial=0.0)) + 1.0
    same, differ = np.minimum(graph.same, wall), np.minimum(graph.differ, wall)
    # Of two groups of a pair with equal gains one has to move first.
    jitter = 1.0 + 1e-6 * np.random.default_rng(0).random(m)
    labels: IntArray = cost.argmin(axis=1) if start is None else start.copy()
    ends, others = np.concatenate([graph.a, graph.b]), np.concatenate([graph.b, graph.a])
    bonus, base = np.tile(same - differ, 2), sums_by(ends, np.tile(differ, 2), m)
    rows = np.arange(m)
    while True:
        paid = sums_by(ends * k + labels[others], bonus, m * k).reshape(m, k)
        paid += base[:, None]
        paid += cost
        to = paid.argmin(axis=1)
        gain = (paid[rows, labels] - paid[rows, to]) * jitter
        rival = np.zeros(m)
        np.maximum.at(rival, ends, gain[others])
        moving = (gain > 1e-12 * wall) & (gain > rival)
        if not moving.any() or deadline.passed:
            break
        labels[moving] = to[moving]
    broken = np.isinf(graph.paid(labels)).any()
    return None if broken or not np.isfinite(cost[rows, labels]).all() else labels
