"""What a shape of clusters offers, and the descent that works for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._typing import FloatArray, IntArray
from ..assign import assign_patiently, broken
from ..deadline import Deadline
from ..presolve import Rules
from ..start import match_sizes

#: Rounds of one descent at most; it ends when the objective stops falling, usually after ten.
MOST_ROUNDS = 100

#: Seconds that the integer programs of one round may take.
PATIENCE = 2.0


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
    """Labels of the groups, their clusters, and the objective with the price of soft pairs."""

    labels: IntArray
    clusters: Any
    objective: float

    @classmethod
    def of(cls, shape: Shape, rules: Rules, labels: IntArray) -> Fitted:
        """The best clusters of these labels."""
        clusters = shape.clusters(labels)
        own = shape.costs(clusters)[np.arange(len(labels)), labels].sum()
        return cls(labels, clusters, float(own + shape.penalty(clusters) + rules.soft.cost(labels)))


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
    best = None if broken(rules, labels) else Fitted.of(shape, rules, labels)
    clusters = shape.clusters(labels) if best is None else best.clusters
    warm = None
    for _ in range(MOST_ROUNDS):
        if best is not None and deadline.passed:
            return best
        incumbent = None if best is None else best.labels
        step = assign_patiently(
            rules, shape.costs(clusters), incumbent, deadline, patience=PATIENCE, prices=warm
        )
        found, warm = Fitted.of(shape, rules, np.asarray(step.labels)), step.warm
        if best is not None and found.objective >= best.objective - 1e-9 * abs(best.objective):
            return best
        best, clusters = found, found.clusters
    return best
