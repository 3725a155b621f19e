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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._typing import FloatArray, IntArray
from ..constraints._checks import sums_by
from ..deadline import NEVER, Deadline
from ..rules import Cliques, PairGraph, Pairs, Rules, SoftPairs
from .result import NoAssignment

#: Labelings of a component of pairs up to which all are tried; above, a program finds the best.
#: Sizes and 4,000 cannot-links of 8,000 rows in 5 clusters take 0.08 s, and 0.13 s with programs.
ENUMERATED = 5_000
#: Labelings tried at once, over all components; a cost of 8 bytes each makes one megabyte, which
#: the cache of a core can hold.
AT_ONCE = 125_000

#: Cliques that are matched between two looks at the deadline; 100 of 10 groups take 1 ms.
CHECK_EVERY = 100

#: Most sweeps of the descent; each moves every group that gains more than its neighbours.
SWEEPS = 300

#: Finds the best labels of the rules and costs of a 2-core.
SolveCore = Callable[[Rules, FloatArray], IntArray]


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
    rules: Rules, cost: FloatArray, solve_core: SolveCore, deadline: Deadline = NEVER
) -> IntArray:
    """Cheapest labels under pairs alone; no other rule is looked at.

    Costs are infinite where a group may not go; ``solve_core`` is given what elimination leaves.

    Raises
    ------
    NoAssignment, OutOfTime
    """
    labels: IntArray = cost.argmin(axis=1)
    graph = pair_graph(rules)
    if not len(graph.a):
        return labels
    cliques, graph = graph.complete(_few(cost.shape[1]))
    _match_cliques(cliques, cost, labels, deadline)
    active = np.zeros(len(cost), bool)
    while True:
        inside = active[graph.a] & active[graph.b]
        clash = graph.broken(labels) & ~inside
        if not clash.any():
            return labels
        active[graph.a[clash]] = active[graph.b[clash]] = True
        inside = active[graph.a] & active[graph.b]
        _solve_active(rules, cost, labels, graph.of(inside), solve_core, deadline)


def _solve_active(
    rules: Rules,
    cost: FloatArray,
    labels: IntArray,
    graph: PairGraph,
    solve_core: SolveCore,
    deadline: Deadline,
) -> None:
    """Set the labels of all groups in the graph to the best ones, in place."""
    touched, ends = np.unique(np.concatenate([graph.a, graph.b]), return_inverse=True)
    a, b = ends[: len(graph.a)], ends[len(graph.a) :]
    graph = PairGraph(len(touched), a, b, graph.same, graph.differ)
    work = cost[touched]
    core, sweeps = _eliminate(graph, work, deadline)
    found: IntArray = work.argmin(axis=1)
    core = _enumerate_small(core, work, found, deadline)
    cliques, core = core.complete(_few(work.shape[1]))
    _match_cliques(cliques, work, found, deadline)
    if len(core.a):
        left = np.unique(np.concatenate([core.a, core.b]))
        part = _core_rules(rules, core, touched[left], left)
        found[left] = solve_core(part, work[left])
    for sweep in reversed(sweeps):
        found[sweep.leaf] = _best_answer(sweep, found[sweep.neighbour])
    if not (np.isfinite(cost[touched, found]).all() and np.isfinite(graph.paid(found)).all()):
        raise NoAssignment
    labels[touched] = found


def _enumerate_small(
    core: PairGraph, work: FloatArray, labels: IntArray, deadline: Deadline
) -> PairGraph:
    """Label the small components by trying all labelings; give the pairs of the others."""
    k = work.shape[1]
    if not len(core.a) or k == 1:  # a single cluster leaves nothing to try
        return core.of(np.zeros(len(core.a), bool))
    component = core.component
    groups = np.unique(np.concatenate([core.a, core.b]))
    groups = groups[np.argsort(component[groups], kind="stable")]
    pairs = core.of(np.argsort(component[core.a], kind="stable"))
    size = np.bincount(component[groups])
    small = size <= _few(k)
    for m in np.unique(size[small & (size > 0)]):
        alike = groups[size[component[groups]] == m].reshape(-1, m)
        of_alike = pairs.of(size[component[pairs.a]] == m)
        for some, of_some in _batches(alike, of_alike, component, max(AT_ONCE // k ** int(m), 1)):
            deadline.check()
            labels[some] = _best_of_all(some, of_some, work)
    return core.of(~small[component[core.a]])


def _few(k: int) -> int:
    """Most groups of a component whose labels are enumerated."""
    return int(np.log(ENUMERATED) / np.log(max(k, 2)))


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
    for number, c in enumerate(np.flatnonzero(taken.max(axis=1, initial=0) > 1)):
        if number % CHECK_EVERY == 0:
            deadline.check()
        members = cliques.members[cliques.start[c] : cliques.start[c + 1]]
        try:
            labels[members] = linear_sum_assignment(cost[members])[1]
        except ValueError:  # infinite costs leave no labels
            raise NoAssignment from None


def _batches(
    groups: IntArray, pairs: PairGraph, component: IntArray, most: int
) -> Iterator[tuple[IntArray, PairGraph]]:
    """At most ``most`` components at a time, a row of groups each, with their pairs.

    Groups and pairs come sorted by their components.
    """
    starts = np.arange(0, len(groups), most)
    first = np.searchsorted(component[pairs.a], component[groups[starts, 0]])
    last = np.append(first[1:], len(pairs.a))
    for start, low, high in zip(starts, first, last, strict=True):
        yield groups[start : start + most], pairs.of(np.arange(low, high))


def _best_of_all(groups: IntArray, pairs: PairGraph, work: FloatArray) -> IntArray:
    """The best labels of components with m groups each, a row each; the first among equals.

    A component has at most one pair between its i-th and its j-th group, so what these pairs
    cost is added for all components together.
    """
    m, k = groups.shape[1], work.shape[1]
    ways = np.indices((k,) * m, np.int32).reshape(m, -1)
    total = np.zeros((len(groups), ways.shape[1]))
    for i in range(m):
        total += work[groups[:, i]][:, ways[i]]
    number = np.empty(len(work), np.int64)
    number[groups] = np.arange(groups.size).reshape(groups.shape)
    (row, a), b = np.divmod(number[pairs.a], m), number[pairs.b] % m
    for i, j in combinations(range(m), 2):
        here = (a == i) & (b == j)
        same, differ = pairs.same[here, None], pairs.differ[here, None]
        total[row[here]] += np.where(ways[i] == ways[j], same, differ)
    return ways[:, total.argmin(axis=1)].T


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


def descend(graph: PairGraph, cost: FloatArray, deadline: Deadline = NEVER) -> IntArray | None:
    """Labels that no single move improves, or None if they break a hard pair.

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
    labels: IntArray = cost.argmin(axis=1)
    ends, others = np.concatenate([graph.a, graph.b]), np.concatenate([graph.b, graph.a])
    bonus, base = np.tile(same - differ, 2), sums_by(ends, np.tile(differ, 2), m)
    rows = np.arange(m)
    for _ in range(SWEEPS):
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
