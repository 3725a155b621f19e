"""COP-COBWEB: incremental conceptual clustering that breaks no link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..rules import Contraction, presolve
from ..rules.pairs import link_graph
from ..settings import POSITIVE
from .base import Answer, DeadEndError, FirstSuccess, Run, parameter


@dataclass(eq=False, repr=False, kw_only=True)
class COPCobweb(FirstSuccess):
    r"""COP-COBWEB of Wagstaff and Cardie, for numeric features.

    Points are added one by one to a tree of concepts.  At each level there are four operators:
    add the point to a child, make it a new child, merge two children and add it there, or replace
    a child by its own children.  Among those that break no link, the one with the best category
    utility is applied.  The utility is that of CLASSIT,

    .. math:: \frac1K \sum_c \frac{n_c}{n} \sum_f
              \left(\frac1{\sigma_{cf}} - \frac1{\sigma_f}\right),

    and the clusters are the children of the root.

    Parameters
    ----------
    n_clusters : int, default=8
    acuity : float, default=0.25
        Smallest :math:`\sigma`, in units of the feature's standard deviation.
    max_restarts : int, default=10
        Random orders of the points to try; the first run that succeeds is the answer.
    random_state : int, RandomState or None, default=None
        Determines the order in which the points are added.
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    n_natural_ : int
        Number of clusters that COBWEB itself found.
    n_runs_ : int
        Number of runs up to the one that succeeded.
    report_ : Report
        No link is broken.

    Raises
    ------
    DeadEndError
        By ``fit``, if in every run too many clusters are left and cannot-links forbid to merge
        any two.
    InfeasibleConstraintsError
        By ``fit``, if presolve finds that the links contradict each other.

    Notes
    -----
    COBWEB itself chooses the number of clusters.  To get ``n_clusters``, the same operators are
    applied afterwards: while there are too few clusters, the best split is made; then, while
    there are too many, the best allowed merger is made.  The points of a must-link group are
    added together, as one unit.  There are fewer than ``n_clusters`` clusters only if there are
    fewer units.

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

    acuity: float = parameter(0.25, POSITIVE)

    def _prepare(self, X: FloatArray, rules: ConstraintSet) -> Run:
        joined = presolve(rules, len(X), self.n_clusters)
        spread = X.std(axis=0)
        scaled = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        units = _units(scaled, Contraction(joined.row_groups), joined.apart)

        def run(random_state: np.random.RandomState) -> Answer:
            tree = _Tree(self.acuity)
            for unit in random_state.permutation(len(units)).tolist():
                tree.insert(units[unit].alone())
            parts = tree.cut(self.n_clusters)
            if len(parts) > self.n_clusters:
                raise DeadEndError(
                    f"COP-COBWEB was left with more than {self.n_clusters} clusters, no two of "
                    "which the cannot-links allow to merge,"
                )
            labels = np.empty(len(units), np.int64)
            for label, concept in enumerate(parts):
                labels[sorted(concept.members)] = label
            return Answer(joined.to_rows(labels), {"n_natural_": len(tree.root.children)})

        return run


@dataclass
class _Concept:
    """A node: moments of its points, its units, units that it cannot contain, its children."""

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
    barred = np.split(graph.indices, graph.indptr[1:-1])
    return [
        _Concept(moment, {unit}, set(others.tolist()))
        for unit, (moment, others) in enumerate(zip(moments, barred, strict=True))
    ]


def _merged(first: _Concept, second: _Concept) -> _Concept:
    both = replace(first.alone(), children=[first, second])
    both.absorb(second)
    return both


def _without(concepts: list[_Concept], *left_out: _Concept) -> list[_Concept]:
    return [concept for concept in concepts if not any(concept is other for other in left_out)]


@dataclass(frozen=True)
class _Move:
    """An operator: the children after it, the child to descend to, whether to choose again."""

    utility: float
    children: list[_Concept]
    host: _Concept | None = None
    again: bool = False


class _Tree:
    """The tree of concepts, built by category utility."""

    def __init__(self, acuity: float) -> None:
        self._acuity = acuity
        self.root: _Concept

    def insert(self, unit: _Concept) -> None:
        """Add a unit, from the root down to a leaf."""
        if not hasattr(self, "root"):
            self.root = replace(unit.alone(), children=[unit])
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
        """Apply the best operator; give the child to descend to, or None if the unit is new."""
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
        rest = _without(children, best)
        if best.children:
            split = [*rest, *best.children]
            yield _Move(self._hosts(split, unit)[2], split, again=True)
        if second is not None and len(rest) > 1 and best.allows(second):
            others, both = _without(rest, second), _merged(best, second)
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
        """Split and merge the children of the root until there are ``n_clusters``, if possible."""
        parts = list(self.root.children)
        while len(parts) < n_clusters and any(part.children for part in parts):
            splits = [[*_without(parts, part), *part.children] for part in parts if part.children]
            parts = max(splits, key=self._utility)
        while len(parts) > n_clusters:
            mergers = [
                [*_without(parts, a, b), _merged(a, b)]
                for a, b in combinations(parts, 2)
                if a.allows(b)
            ]
            if not mergers:
                break
            parts = max(mergers, key=self._utility)
        return parts
