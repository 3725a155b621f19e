"""Branch and bound: the best clustering of small data, with its proof.

A node is the problem with more links.  Its two children decide about one pair of groups: together
or apart.  The relaxation bounds each node from below and starts from the multipliers of its parent;
the solver of corral finds answers.  The bound of the whole is the least bound of the open nodes.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import FloatArray, Matrix
from ..constraints import CannotLink, ConstraintSet, MustLink
from ..deadline import Deadline, OutOfTime
from ..exceptions import InfeasibleConstraintsError
from .ascent import CLOSED, Ascent
from .numbers import NODE_ITERATIONS, ROOT_ITERATIONS
from .relaxation import Grouped, memory_at, memory_of

log = logging.getLogger(__name__)

#: Largest relative rounding error of an objective.
ROUNDING = 1e-12
#: An answer in any form, and its objective.
Answer = tuple[Any, float]
Solver = Callable[[ConstraintSet], Answer | None]


@dataclass(order=True)
class Node:
    """A problem with more links, its bound, and the relaxation that proved it."""

    bound: float
    number: int
    links: ConstraintSet = field(compare=False)
    grouped: Grouped = field(compare=False)
    ascent: Ascent = field(compare=False)


@dataclass
class Tree:
    """The open nodes and the best answer so far.

    ``solve`` gives an answer under the rules and more links with its objective, or None if none
    obeys them.
    """

    points: Matrix
    weight: FloatArray | None
    given: ConstraintSet
    n_clusters: int
    solve: Solver
    best: Answer
    deadline: Deadline
    nodes: list[Node] = field(default_factory=list)
    n_nodes: int = 0
    #: The least bound of the nodes that were given up because they hold no better answer.
    pruned: float = np.inf
    _numbers: count[int] = field(default_factory=count)

    @property
    def bound(self) -> float:
        """What no clustering can be below; 0 before the first node is bounded."""
        if not self.n_nodes:
            return 0.0
        opened = self.nodes[0].bound if self.nodes else np.inf
        # The objective of the best answer has rounding errors of its own.
        return min(opened, self.pruned, self.best[1] * (1.0 - ROUNDING))

    @property
    def closed(self) -> float:
        """Bound from which a node cannot hold a better answer."""
        return self.best[1] * (1.0 - CLOSED)

    def grow(self) -> float:
        """Branch until the best answer is proven optimal or the time is over; gives the bound."""
        told = "proof: %d nodes, %d of them open, bound %.8g, best %.8g"
        with suppress(OutOfTime):
            self._open(ConstraintSet(), None)
            while self.nodes and self.nodes[0].bound < self.closed and self._fits():
                self._branch(self.nodes[0])
                # The children are not below their parent, which is still the first.
                heapq.heappop(self.nodes)
                log.info(told, self.n_nodes, len(self.nodes), self.bound, self.best[1])
        return self.bound

    def _fits(self) -> bool:
        """Whether the open nodes leave room in memory for more."""
        n_kinds, m, _ = self.nodes[0].ascent.Y.shape
        return memory_of(m, n_kinds) * len(self.nodes) < memory_at()

    def _branch(self, node: Node) -> None:
        """Open the two children of a node, or none if all of its pairs are decided."""
        pair = undecided(node.ascent)
        if pair is None:
            return
        firsts = node.grouped.rules.first_rows[node.ascent.relaxation.groups]
        rows = [tuple(firsts[list(pair)].tolist())]
        for link in (MustLink(rows), CannotLink(rows)):
            self._open(node.links + link, node)

    def _open(self, links: ConstraintSet, parent: Node | None) -> None:
        """Bound a node, look for an answer in it, and keep it if it can hold a better one."""
        try:
            grouped = Grouped.of(self.points, self.weight, self.given + links, self.n_clusters)
        except InfeasibleConstraintsError:
            return
        ascent, bound, most = Ascent(grouped.relaxation()), 0.0, ROOT_ITERATIONS
        if parent is not None:
            bound, most = parent.bound, NODE_ITERATIONS
            ascent.start_from(parent.ascent, merged(parent, grouped, ascent))
        bound = max(bound, ascent.run(self.deadline, self.best[1], most=most, hurry=True))
        self.n_nodes += 1
        if bound >= self.closed:
            self.pruned = min(self.pruned, bound)
        else:
            node = Node(bound, next(self._numbers), links, grouped, ascent)
            heapq.heappush(self.nodes, node)
            answer = self.solve(links)
            if answer is None:  # no answer obeys the rules and the links
                self.nodes.remove(node)
                heapq.heapify(self.nodes)
            else:
                self.best = min(self.best, answer, key=lambda one: one[1])
        self.deadline.check()


def undecided(ascent: Ascent) -> tuple[int, int] | None:
    """The pair of groups about which the relaxation is most in doubt; None if all are decided."""
    Y = ascent.Y.sum(axis=0)
    root = np.sqrt(np.diag(Y))
    share = np.abs(Y) / np.outer(root, root)
    doubt = np.where(
        ascent.relaxation.upper.max(axis=0) > 0.0, np.minimum(share, np.abs(1.0 - share)), -1.0
    )
    np.fill_diagonal(doubt, -1.0)
    g, h = np.unravel_index(int(np.argmax(doubt)), doubt.shape)
    return (int(g), int(h)) if doubt[g, h] >= 0.0 else None


def merged(parent: Node, grouped: Grouped, ascent: Ascent) -> sparse.csr_array:
    """What turns matrices of the parent's groups into those of the child's.

    The entry of a group g and the group G that holds it is ``sqrt(w_g / w_G)``.
    """
    old, new = parent.ascent.relaxation, ascent.relaxation
    firsts = parent.grouped.rules.first_rows[old.groups]
    place = np.full(grouped.rules.n_groups, -1, np.int64)
    place[new.groups] = np.arange(len(new.groups))
    home = place[grouped.rules.row_groups[firsts]]
    values = np.sqrt(old.weight / new.weight[home])
    shape = (len(new.groups), len(home))
    return sparse.csr_array((values, (home, np.arange(len(home)))), shape=shape)
