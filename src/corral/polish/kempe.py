"""Chains of cannot-links: groups of two clusters that have to change sides together.

A group that moves from cluster a to cluster b pushes out its neighbours there; they go to a and
push out theirs.  The groups that move in the end are a *Kempe chain*: a connected component of the
cannot-links between a and b.  Exchanging its two sides breaks no cannot-link, and no smaller
exchange between a and b that moves one of its groups does.

The node ``g * k + j`` stands for group g moving to cluster j.  A cannot-link (g, h) joins the node
of g moving to the cluster of h and the node of h moving to that of g, and no others; so the
components of one graph over all nodes are the chains between all two clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..assign import Assignment, assign_patiently
from ..assign.check import with_pins
from ..assign.greedy import solve_greedily
from ..constraints._checks import sums_by
from ..deadline import NEVER, Deadline
from ..presolve import Pairs, Rules
from ..rows import MemoryRows

#: Most sweeps of :func:`settle`; every sweep lowers the cost.  Few problems need ten.
SWEEPS = 100


@dataclass(frozen=True)
class Chains:
    """Chains of two groups or more.

    ``group`` and ``to`` say which group goes where, and ``number`` in which chain.
    """

    group: IntArray
    to: IntArray
    number: IntArray

    @classmethod
    def of(cls, apart: IntArray, labels: IntArray, n_clusters: int) -> Chains:
        """All of them, for labels that break none of the cannot-links.

        Examples
        --------
        >>> import numpy as np
        >>> found = Chains.of(np.array([[0, 1], [1, 2]]), np.array([0, 1, 0]), 3)
        >>> found.group, found.to
        (array([0, 1, 2]), array([1, 0, 1]))
        """
        g, h = apart.T
        ends = np.concatenate([g * n_clusters + labels[h], h * n_clusters + labels[g]])
        nodes, place = np.unique(ends, return_inverse=True)
        first = _least_joined(len(nodes), *place.reshape(2, -1))
        number = np.unique(first, return_inverse=True)[1]
        return cls(nodes // n_clusters, nodes % n_clusters, number)

    def __len__(self) -> int:
        """Number of chains."""
        return int(self.number.max(initial=-1)) + 1

    def total(self, values: FloatArray) -> FloatArray:
        """Sums over each chain of one value for each of its groups."""
        return sums_by(self.number, values, len(self))

    def split(self) -> tuple[IntArray, IntArray]:
        """Members in the order of their chains, and where each chain ends among them."""
        order = np.argsort(self.number, kind="stable")
        return order, np.cumsum(np.bincount(self.number, minlength=len(self)))


def _least_joined(n_nodes: int, a: IntArray, b: IntArray) -> IntArray:
    """The least node of each component of a graph with edges from a to b.

    Small graphs take a fifth of the time of SciPy's routine, which checks and converts its input.
    """
    least = np.arange(n_nodes)
    while True:
        one, other = least[a], least[b]
        if np.array_equal(one, other):
            return least
        both = np.minimum(one, other)
        np.minimum.at(least, one, both)
        np.minimum.at(least, other, both)
        least = least[least]


@dataclass(frozen=True)
class ChainAssignment:
    """Assigns groups with cannot-links to centres by moves and chains, without a proof.

    It is called as :class:`.assign.NearAssignment` is.  Without an incumbent it begins with greedy
    labels, and where these fail it does the same.
    """

    rules: Rules
    rows: MemoryRows

    def __call__(
        self,
        centers: FloatArray,
        *,
        incumbent: IntArray | None,
        warm: Any,
        deadline: Deadline,
        patience: float,
    ) -> Assignment:
        """Labels at the centres that no move and no chain makes cheaper."""
        until = deadline.first if incumbent is None else deadline
        cost = self.rows.costs(centers, until).dense()
        pinned = with_pins(self.rules, cost)
        if incumbent is None:
            incumbent = solve_greedily(self.rules, pinned, None, until)
        if incumbent is None:
            return assign_patiently(self.rules, cost, None, deadline, patience=patience)
        labels = settle(self.rules.pairs, pinned, incumbent, deadline)
        return Assignment(labels, float(cost[np.arange(len(labels)), labels].sum()), optimal=False)


@dataclass(frozen=True)
class Change:
    """Groups that go to new clusters together, and how far the objective falls."""

    gain: float
    groups: IntArray
    to: IntArray


def paying(chains: Chains, gain: FloatArray, least: float) -> list[Change]:
    """The chains whose gain is above the least, as changes."""
    order, ends = chains.split()
    starts = np.concatenate([[0], ends[:-1]])
    found = []
    for c in np.flatnonzero(gain > least):
        members = order[starts[c] : ends[c]]
        found.append(Change(float(gain[c]), chains.group[members], chains.to[members]))
    return found


def settle(
    pairs: Pairs, cost: FloatArray, labels: IntArray, deadline: Deadline = NEVER
) -> IntArray:
    """Labels that no move and no chain makes cheaper, from labels that break no cannot-link.

    Cannot-links are the only pairs that are looked at.  Costs are infinite where a group may not
    go.  In every sweep the changes that save most are made, but none beside another: a change is
    valid as long as no neighbour moves.
    """
    m, graph, labels = len(cost), pairs.links, labels.copy()
    linked = np.diff(graph.indptr) > 0
    labels[~linked] = cost[~linked].argmin(axis=1)
    least = 1e-12 * float(np.abs(cost[np.arange(m), labels]).sum())
    for _ in range(SWEEPS):
        changes = _cheaper(pairs.apart, cost, labels, linked, least)
        if not changes or deadline.passed:
            break
        near = np.zeros(m, bool)
        for change in sorted(changes, key=lambda change: -change.gain):
            if near[change.groups].any():
                continue
            labels[change.groups] = change.to
            near[change.groups] = True
            for g in change.groups:
                near[graph.indices[graph.indptr[g] : graph.indptr[g + 1]]] = True
    return labels


def _cheaper(
    apart: IntArray, cost: FloatArray, labels: IntArray, linked: BoolArray, least: float
) -> list[Change]:
    """Moves and chains that save more than the least at these costs."""
    m, k = cost.shape
    chains = Chains.of(apart, labels, k)
    saved = cost[np.arange(m), labels][:, None] - cost
    found = paying(chains, chains.total(saved[chains.group, chains.to]), least)
    saved[chains.group, chains.to] = -np.inf
    to = saved.argmax(axis=1)
    best = saved[np.arange(m), to]
    movers = np.flatnonzero((best > least) & linked)
    return found + [Change(float(best[g]), np.array([g]), to[[g]]) for g in movers]


def shaken(
    rules: Rules, labels: IntArray, flips: int, random_state: np.random.RandomState
) -> IntArray:
    """Labels in which random groups went to random clusters, each with its chain."""
    k, near, new = rules.n_clusters, rules.pairs.neighbours, labels.copy()
    pinned = set(rules.pins[:, 0].tolist())
    linked = np.flatnonzero(np.diff(rules.pairs.links.indptr))
    for g in random_state.choice(linked, flips).tolist():
        here = int(new[g])
        there = (here + random_state.randint(1, k)) % k
        chain = _chain(near, new, g, there)
        if pinned.isdisjoint(chain):
            members = np.array(chain)
            new[members] = here + there - new[members]
    return new


def _chain(near: list[list[int]], labels: IntArray, group: int, there: int) -> list[int]:
    """The groups that have to change sides if a group goes to another cluster."""
    here = int(labels[group])
    chain, met = [group], {group}
    for g in chain:
        other = there if labels[g] == here else here
        pushed = [h for h in near[g] if labels[h] == other and h not in met]
        chain += pushed
        met.update(pushed)
    return chain
