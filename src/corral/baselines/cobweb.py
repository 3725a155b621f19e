"""COP-COBWEB: incremental conceptual clustering that breaks no pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..presolve import Contraction, presolve
from ..presolve.graphs import link_graph
from .base import COUNT, POSITIVE, Answer, Baseline, DeadEndError, limits


class COPCobweb(Baseline):
    r"""COP-COBWEB of Wagstaff and Cardie, for numeric features.

    Points come one by one into a tree of concepts.  At each level the point is added to a child,
    becomes a new child, or joins two children merged, or a child is split into its own; what
    gives the best category utility is done, among what breaks no link.  The utility is
    CLASSIT's,

    .. math:: \frac1K \sum_c \frac{n_c}{n} \sum_f
              \left(\frac1{\sigma_{cf}} - \frac1{\sigma_f}\right),

    and the clusters are the children of the root.

    Parameters
    ----------
    n_clusters : int, default=8
    acuity : float, default=0.25
        Least :math:`\sigma`, in units of the feature's standard deviation.
    max_restarts : int, default=10
        Orders of the points to try; the first that does not end in a dead end is the answer.
    random_state : int, RandomState or None, default=None
        Of the order in which the points come.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    n_natural_ : int
        Number of clusters that COBWEB itself found.
    n_runs_ : int
        Runs until one succeeded.
    report_ : Report
        No link is broken.

    Raises
    ------
    DeadEndError
        By ``fit``, if in every run too many clusters are left and cannot-links forbid to merge
        any two.
    InfeasibleConstraintsError
        By ``fit``, if the links contradict each other in a way that can be seen at once.

    Notes
    -----
    COBWEB chooses the number of clusters.  To get ``n_clusters`` the operators go on afterwards:
    as long as there are too few, the cluster whose split is best is split, and then, as long as
    there are too many, the two clusters whose merger is best, and allowed, are merged.
    Must-linked points come as one.  Fewer than ``n_clusters`` are left only if there are fewer
    such units.

    References
    ----------
    K. Wagstaff, C. Cardie, "Clustering with instance-level constraints", ICML 2000.
    D. Fisher, "Knowledge acquisition via incremental conceptual clustering", Machine Learning
    2, 1987.  J. Gennari, P. Langley, D. Fisher, "Models of incremental concept formation",
    Artificial Intelligence 40, 1989: CLASSIT.

    Examples
    --------
    >>> from corral import CannotLink
    >>> from corral.baselines import COPCobweb
    >>> X = [[0.0], [0.2], [0.4], [9.0], [9.2], [9.4]]
    >>> model = COPCobweb(n_clusters=2, random_state=0)
    >>> labels = model.fit(X, constraints=CannotLink([(0, 5)])).labels_
    >>> bool(labels[0] == labels[2] != labels[3])
    True
    """

    _limits = limits(acuity=POSITIVE, max_restarts=COUNT)

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        acuity: float = 0.25,
        max_restarts: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.acuity = acuity
        self.max_restarts = max_restarts
        self.random_state = random_state

    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        problem = presolve(X, rules, self.n_clusters)
        spread = X.std(axis=0)
        scaled = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        units = _units(scaled, Contraction(problem.group, problem.n_groups), problem.apart)
        for run in range(1, self.max_restarts + 1):  # noqa: B007 - kept as n_runs_
            tree = _Tree(self.acuity)
            for unit in random_state.permutation(len(units)).tolist():
                tree.insert(units[unit].alone())
            parts = tree.cut(self.n_clusters)
            if len(parts) <= self.n_clusters:
                break
        else:
            raise DeadEndError(
                f"COP-COBWEB was left with more than {self.n_clusters} clusters, no two of which "
                f"the cannot-links allow to merge, in each of {self.max_restarts} runs; labels "
                "that obey the links may exist all the same."
            )
        labels = np.empty(len(units), np.int64)
        for label, concept in enumerate(parts):
            labels[sorted(concept.members)] = label
        attributes = {"n_natural_": len(tree.root.children), "n_runs_": run}
        return Answer(labels[problem.group], attributes)


@dataclass
class _Concept:
    """Sums over its points, the units in it, the units that must stay out, its children."""

    moments: FloatArray  # (1 + 2 d,): count, sums, sums of squares
    members: set[int]
    barred: set[int]
    children: list[_Concept] = field(default_factory=list)

    def allows(self, other: _Concept) -> bool:
        return self.barred.isdisjoint(other.members)

    def absorb(self, other: _Concept) -> None:
        self.moments = self.moments + other.moments
        self.members |= other.members
        self.barred |= other.barred

    def alone(self) -> _Concept:
        """The same without children."""
        return _Concept(self.moments, set(self.members), set(self.barred))


def _units(X: FloatArray, joined: Contraction, apart: IntArray) -> list[_Concept]:
    """A concept for each must-link group."""
    moments = np.zeros((joined.n_groups, 1 + 2 * X.shape[1]))
    np.add.at(moments, joined.group, np.column_stack([np.ones(len(X)), X, X**2]))
    graph = link_graph(joined.n_groups, apart)
    foes = np.split(graph.indices, graph.indptr[1:-1])
    return [
        _Concept(moment, {unit}, set(foe.tolist()))
        for unit, (moment, foe) in enumerate(zip(moments, foes, strict=True))
    ]


def _merged(first: _Concept, second: _Concept) -> _Concept:
    both = first.alone()
    both.absorb(second)
    both.children = [first, second]
    return both


@dataclass(frozen=True)
class _Move:
    """The children after an operator, where the unit goes on, and whether to choose again."""

    utility: float
    children: list[_Concept]
    host: _Concept | None = None
    again: bool = False


class _Tree:
    """The tree of concepts, and the utility by which it grows."""

    def __init__(self, acuity: float) -> None:
        self._acuity = acuity
        self.root: _Concept

    def insert(self, unit: _Concept) -> None:
        """Let a unit find its way down the tree."""
        if not hasattr(self, "root"):
            self.root = _Concept(unit.moments, set(unit.members), set(unit.barred), [unit])
            return
        node: _Concept | None = self.root
        while node is not None:
            if not node.children:
                node.children = [node.alone(), unit]
                node.absorb(unit)
                return
            node.absorb(unit)
            node = self._descend(node, unit)

    def _descend(self, node: _Concept, unit: _Concept) -> _Concept | None:
        """Do the best operator; the child that the unit goes on into, or None if it is new."""
        while True:
            move = max(self._moves(node.children, unit), key=lambda move: move.utility)
            node.children = move.children
            if not move.again:
                return move.host

    def _moves(self, children: list[_Concept], unit: _Concept) -> Iterator[_Move]:
        """The operators that break no link."""
        best, second, added = self._hosts(children, unit)
        new = [*children, unit]
        yield _Move(self._utility(new), new)
        if best is None:
            return
        yield _Move(added, children, best)
        rest = [child for child in children if child is not best]
        if best.children:
            split = [*rest, *best.children]
            yield _Move(self._hosts(split, unit)[2], split, again=True)
        if second is not None and len(rest) > 1 and best.allows(second):
            others = [child for child in rest if child is not second]
            both = _merged(best, second)
            utility = self._utility([*others, _merged(both, unit)])
            yield _Move(utility, [*others, both], both)

    def _hosts(
        self, children: list[_Concept], unit: _Concept
    ) -> tuple[_Concept | None, _Concept | None, float]:
        """The two best children to add the unit to, and the utility with the first."""
        allowed = [place for place, child in enumerate(children) if child.allows(unit)]
        if not allowed:
            return None, None, -np.inf
        moments = np.array([child.moments for child in children])
        worth = self._worth(moments)
        gain = self._worth(moments[allowed] + unit.moments) - worth[allowed]
        order = np.argsort(-gain, kind="stable")
        best = children[allowed[order[0]]]
        second = children[allowed[order[1]]] if len(allowed) > 1 else None
        whole = self._worth(moments.sum(axis=0) + unit.moments)
        return best, second, float(worth.sum() + gain[order[0]] - whole) / len(children)

    def _utility(self, children: list[_Concept]) -> float:
        """Category utility of a partition, times the number of its points."""
        moments = np.array([child.moments for child in children])
        inner = self._worth(moments).sum() - self._worth(moments.sum(axis=0))
        return float(inner) / len(children)

    def _worth(self, moments: FloatArray) -> FloatArray:
        """``n sum_f 1 / sigma_f`` of concepts, from their moments."""
        count = moments[..., 0]
        mean, square = np.split(moments[..., 1:] / count[..., None], 2, axis=-1)
        deviation = np.sqrt(np.maximum(square - mean**2, self._acuity**2))
        return np.asarray(count * (1.0 / deviation).sum(axis=-1))

    def cut(self, n_clusters: int) -> list[_Concept]:
        """Split and merge the children of the root until there are ``n_clusters``.

        More are left if cannot-links part them all, and fewer if there are not so many units.
        """
        parts = list(self.root.children)
        while len(parts) < n_clusters and any(part.children for part in parts):
            splits = [
                [*(other for other in parts if other is not part), *part.children]
                for part in parts
                if part.children
            ]
            parts = max(splits, key=self._utility)
        while len(parts) > n_clusters:
            mergers = [
                [*(part for part in parts if part is not a and part is not b), _merged(a, b)]
                for a, b in combinations(parts, 2)
                if a.allows(b)
            ]
            if not mergers:
                break
            parts = max(mergers, key=self._utility)
        return parts
