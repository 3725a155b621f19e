"""Exact assignment under pairs alone: hard cannot-links, uncontracted must-links, soft pairs.

Without sizes or totals the problem falls apart into the connected components of the graph of
pairs, and most of each component has a closed form.  Every pair (a, b) costs ``same`` when the
labels agree and ``differ`` when they do not (infinite when hard), so a group b with a single
neighbour a can be eliminated exactly: whatever label j the neighbour takes, b answers best, at

    message_b(j) = min( c_b(j) + same, differ + min over l != j of c_b(l) ),

which is added to the costs of a.  Eliminating leaves until none is left solves every tree; what
remains of a component is its 2-core, the only part that needs a solver.

Only groups near a clash take part.  Without the pairs that leave them, they cost no more than in
any answer; so if their best labels clash with nobody outside, these are the best in all, and
otherwise those they clash with take part too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import BoolArray, FloatArray, IntArray
from ..problem import Problem, SoftPairs
from .check import sums_by
from .result import NoAssignment

#: Labelings of a component that are tried one by one rather than given to a solver.
ENUMERATED = 5000


@dataclass(frozen=True)
class PairGraph:
    """Pairs ``a[p] < b[p]``, each once, with what agreeing and differing cost."""

    a: IntArray
    b: IntArray
    same: FloatArray
    differ: FloatArray

    def of(self, keep: BoolArray | IntArray) -> PairGraph:
        """The pairs selected by a mask or by number."""
        return PairGraph(self.a[keep], self.b[keep], self.same[keep], self.differ[keep])

    def broken(self, labels: IntArray) -> BoolArray:
        """Which pairs cost something under these labels."""
        agree = labels[self.a] == labels[self.b]
        return np.where(agree, self.same, self.differ) > 0


@dataclass(frozen=True)
class Elimination:
    """Groups taken out in one sweep, each with its only neighbour, its pair and its costs."""

    leaf: IntArray
    neighbour: IntArray
    same: FloatArray
    differ: FloatArray
    cost: FloatArray


def pair_graph(problem: Problem) -> PairGraph:
    """All pairs of the problem in one list, parallel ones added up."""
    soft = problem.soft
    if not len(problem.together) and not len(soft.price):
        return _apart_alone(problem.apart)
    pairs = np.concatenate([problem.apart, problem.together, soft.pairs])
    hard = np.full(len(problem.apart) + len(problem.together), np.inf)
    price = np.concatenate([hard, soft.price])
    together = np.zeros(len(pairs), bool)
    together[len(problem.apart) : len(hard)] = True
    together[len(hard) :] = soft.together
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys, index = np.unique(low * problem.n_groups + high, return_inverse=True)
    same = sums_by(index[~together], price[~together], len(keys))
    differ = sums_by(index[together], price[together], len(keys))
    graph = PairGraph(keys // problem.n_groups, keys % problem.n_groups, same, differ)
    loop = graph.a == graph.b
    if np.isinf(graph.same[loop]).any():
        raise NoAssignment
    return graph.of(~loop)


def _apart_alone(apart: IntArray) -> PairGraph:
    """The same for hard cannot-links, of which no two are parallel."""
    a, b = apart.min(axis=1), apart.max(axis=1)
    if np.any(a == b):
        raise NoAssignment
    return PairGraph(a, b, np.full(len(a), np.inf), np.zeros(len(a)))


def solve_pairs(
    problem: Problem,
    cost: FloatArray,
    solve_core: Callable[[Problem, FloatArray], IntArray],
    graph: PairGraph | None = None,
) -> IntArray:
    """Cheapest labels under pairs alone.

    Parameters
    ----------
    problem : Problem
        Its sizes, totals and linear rows are not looked at.
    cost : (m, k) array
        Infinite where a group may not go.
    solve_core : callable
        Given the problem and the costs of what elimination leaves, its optimal labels.
    graph : PairGraph, optional
        That of the problem, if it is at hand.
    """
    labels: IntArray = cost.argmin(axis=1)
    graph = pair_graph(problem) if graph is None else graph
    active = np.zeros(len(cost), bool)
    while True:
        inside = active[graph.a] & active[graph.b]
        clash = graph.broken(labels) & ~inside
        if not clash.any():
            return labels
        active[graph.a[clash]] = active[graph.b[clash]] = True
        inside = active[graph.a] & active[graph.b]
        _solve_active(problem, cost, labels, graph.of(inside), solve_core)


def _solve_active(
    problem: Problem,
    cost: FloatArray,
    labels: IntArray,
    graph: PairGraph,
    solve_core: Callable[[Problem, FloatArray], IntArray],
) -> None:
    """Set the labels of all groups in the graph to the best ones, in place."""
    touched, ends = np.unique(np.concatenate([graph.a, graph.b]), return_inverse=True)
    a, b = ends[: len(graph.a)], ends[len(graph.a) :]
    graph = PairGraph(a, b, graph.same, graph.differ)
    work = cost[touched]
    core, sweeps = _eliminate(graph, work)
    found: IntArray = work.argmin(axis=1)
    core = _enumerate_small(core, work, found)
    if len(core.a):
        left = np.unique(np.concatenate([core.a, core.b]))
        part = _core_problem(problem, core, touched[left], left)
        found[left] = solve_core(part, work[left])
    for sweep in reversed(sweeps):
        found[sweep.leaf] = _best_answer(sweep, found[sweep.neighbour])
    chosen = cost[touched, found]
    if not np.isfinite(chosen).all() or _breaks_hard(graph, found):
        raise NoAssignment
    labels[touched] = found


def _components(graph: PairGraph, n_groups: int) -> IntArray:
    """The component of each pair."""
    ones = np.ones(len(graph.a), np.int8)
    adjacency = sparse.coo_array((ones, (graph.a, graph.b)), shape=(n_groups, n_groups))
    return np.asarray(connected_components(adjacency, directed=False)[1][graph.a])


def _enumerate_small(core: PairGraph, work: FloatArray, labels: IntArray) -> PairGraph:
    """Label the small components by trying everything; give the pairs of the others."""
    if not len(core.a):
        return core
    component = _components(core, len(work))
    order = np.argsort(component, kind="stable")
    starts = np.flatnonzero(np.diff(component[order], prepend=-1))
    large = np.zeros(len(core.a), bool)
    for chosen in np.split(order, starts[1:]):
        part = core.of(chosen)
        groups = np.unique(np.concatenate([part.a, part.b]))
        if len(groups) * np.log(work.shape[1]) > np.log(ENUMERATED):
            large[chosen] = True
        else:
            labels[groups] = _best_of_all(part, groups, work[groups])
    return core.of(large)


def _best_of_all(part: PairGraph, groups: IntArray, cost: FloatArray) -> IntArray:
    m, k = cost.shape
    ways = np.indices((k,) * m, np.int32).reshape(m, -1)
    total = cost[np.arange(m)[:, None], ways].sum(axis=0)
    ends = np.searchsorted(groups, part.a), np.searchsorted(groups, part.b)
    for a, b, same, differ in zip(*ends, part.same, part.differ, strict=True):
        total += np.where(ways[a] == ways[b], same, differ)
    return np.asarray(ways[:, total.argmin()])


def _eliminate(graph: PairGraph, work: FloatArray) -> tuple[PairGraph, list[Elimination]]:
    """Take out leaves sweep by sweep, adding their messages to ``work`` in place."""
    sweeps: list[Elimination] = []
    degree = np.bincount(np.concatenate([graph.a, graph.b]), minlength=len(work))
    while len(graph.a):
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


def _breaks_hard(graph: PairGraph, labels: IntArray) -> bool:
    agree = labels[graph.a] == labels[graph.b]
    return bool(np.isinf(np.where(agree, graph.same, graph.differ)).any())


def _core_problem(
    problem: Problem, core: PairGraph, groups: IntArray, numbers: IntArray
) -> Problem:
    """The 2-cores as a problem of their own: these groups, by these numbers in the core.

    Groups are renumbered and pins are in the costs.
    """
    pairs = np.searchsorted(numbers, np.column_stack([core.a, core.b]))
    apart, together = np.isinf(core.same), np.isinf(core.differ)
    soft_same, soft_differ = ~apart & (core.same > 0), ~together & (core.differ > 0)
    soft = SoftPairs(
        np.concatenate([pairs[soft_same], pairs[soft_differ]]),
        np.concatenate([core.same[soft_same], core.differ[soft_differ]]),
        np.repeat([False, True], [soft_same.sum(), soft_differ.sum()]),
    )
    return replace(
        problem,
        points=problem.points[groups],
        weight=problem.weight[groups],
        count=problem.count[groups],
        group=np.arange(len(groups)),
        pins=np.empty((0, 2), np.int64),
        apart=pairs[apart],
        together=pairs[together],
        soft=soft,
        sizes=None,
        totals=(),
        linear=None,
    )
