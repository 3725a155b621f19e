"""What a shape of clusters offers, and the descent that works for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._typing import FloatArray, IntArray
from ..assign import assign_patiently, broken
from ..deadline import Deadline
from ..plan.shape_thresholds import DESCENT_PATIENCE, DESCENT_ROUNDS
from ..presolve import Rules
from ..search.descent import match_sizes


class Shape(Protocol):
    """How clusters are described, and what groups of rows cost in them."""

    def clusters(self, labels: IntArray) -> Any:
        """The best clusters for the labels of the groups."""

    def costs(self, clusters: Any) -> FloatArray:
        """What each group costs in each cluster, (m, k)."""

    def penalty(self, clusters: Any) -> float:
        """The part of the objective that depends on the clusters alone."""


@dataclass(frozen=True)
class Fitted:
    """Labels of the groups, their clusters, and the objective with the price of soft rules."""

    labels: IntArray
    clusters: Any
    objective: float

    @classmethod
    def of(cls, shape: Shape, rules: Rules, labels: IntArray) -> Fitted:
        """The best clusters of these labels."""
        clusters = shape.clusters(labels)
        own = shape.costs(clusters)[np.arange(len(labels)), labels].sum()
        return cls(labels, clusters, float(own + shape.penalty(clusters) + rules.soft_cost(labels)))


def descend(shape: Shape, rules: Rules, labels: IntArray, deadline: Deadline) -> Fitted:
    """Exact assignment and the best clusters in turn, while the objective falls.

    The clusters of the labels are the start; the labels need not obey the rules.  Sizes whose order
    is free are handed to the clusters by their size in the start.

    Raises
    ------
    NoAssignment, OutOfTime
        As :func:`corral.assign.assign_patiently`.
    """
    rules = match_sizes(rules, rules.sizes_of(labels).astype(float))
    return alternate(shape, rules, labels, deadline)


def alternate(shape: Shape, rules: Rules, labels: IntArray, deadline: Deadline) -> Fitted:
    """As :func:`descend`, with sizes in the order that they have."""
    step = _Step(shape, rules, deadline)
    best = step(shape.clusters(labels), None) if broken(rules, labels) else step.at(labels)
    for _ in range(DESCENT_ROUNDS):
        if deadline.passed:
            break
        found = step(best.clusters, best.labels)
        if found.objective >= best.objective - 1e-9 * abs(best.objective):
            break
        best = found
    return best


@dataclass
class _Step:
    """One round: exact assignment to clusters, and the best clusters of its labels."""

    shape: Shape
    rules: Rules
    deadline: Deadline
    warm: Any = None  # prices of the round before

    def __call__(self, clusters: Any, incumbent: IntArray | None) -> Fitted:
        cost = self.shape.costs(clusters)
        found = assign_patiently(
            self.rules, cost, incumbent, self.deadline, patience=DESCENT_PATIENCE, prices=self.warm
        )
        self.warm = found.warm
        return self.at(np.asarray(found.labels))

    def at(self, labels: IntArray) -> Fitted:
        """The best clusters of these labels."""
        return Fitted.of(self.shape, self.rules, labels)
