"""Audit: what labels are worth and which rules they break, recomputed from the labels alone.

It knows labels, rules and points, and nothing of solvers.  Text, pages and pictures of what it
finds are made in :mod:`corral.report`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import Constraint, ConstraintSet, Violations
from .distances import arc_inertia, cosine_inertia, geographic_centres, mean_directions
from .inertia import InMemory, PointPieces, cluster_means, inertia_at

__all__ = ["Entry", "Findings", "InMemory", "PointPieces", "centres_of", "examine"]

#: How centres and inertia are computed by each metric.
MEASURES: dict[str, tuple[Callable[..., FloatArray], Callable[..., float]]] = {
    "euclidean": (cluster_means, inertia_at),
    "cosine": (mean_directions, cosine_inertia),
    "haversine": (geographic_centres, arc_inertia),
}
#: What the inertia is counted in, where that has a name.
UNITS = {"cosine": "in cosine distance", "haversine": "square kilometres"}


@dataclass(frozen=True)
class Entry:
    """One constraint and what the labels break of it.

    Attributes
    ----------
    constraint : Constraint
    violations : Violations
    hard_count : int
        How many of the broken rules are hard.
    soft_cost : float
        Price of those that are soft.
    """

    constraint: Constraint
    violations: Violations
    hard_count: int
    soft_cost: float

    @classmethod
    def of(cls, constraint: Constraint, labels: IntArray, n_clusters: int) -> Entry:
        """Ask the constraint, and its hard and soft parts where it has both."""
        hard, soft = constraint.part(hard=True), constraint.part(hard=False)
        found = constraint.violations(labels, n_clusters)
        # Most constraints are hard or soft as a whole.
        of_hard, of_soft = (
            found
            if part is constraint
            else None
            if part is None
            else part.violations(labels, n_clusters)
            for part in (hard, soft)
        )
        return cls(
            constraint,
            found,
            hard_count=0 if of_hard is None else of_hard.count,
            soft_cost=0.0 if of_soft is None else float(of_soft.amount),
        )


@dataclass(frozen=True)
class Findings:
    """What the audit finds in labels: inertia, sizes, and what is broken of each constraint.

    The inertia is the sum of w |x - mu|^2 over the points x of weight w; mu is the centre of their
    cluster.  By cosine it is the sum of w (1 - cos(x, mu)), and by haversine that of w times the
    squared great-circle distance.  ``outside`` counts the rules that do not apply because they name
    rows outside X, and ``unit`` says what the inertia is counted in, where that has a name.
    """

    inertia: float
    sizes: tuple[int, ...]
    entries: tuple[Entry, ...]
    outside: int = 0
    metric: str = "euclidean"
    unit: str = ""

    @property
    def soft_cost(self) -> float:
        """Price of all the soft rules broken."""
        return sum(entry.soft_cost for entry in self.entries)

    @property
    def objective(self) -> float:
        """Inertia plus the price of the soft rules broken: what the solvers minimise."""
        return self.inertia + self.soft_cost

    @property
    def broken(self) -> tuple[Entry, ...]:
        """The entries of which a hard rule is broken."""
        return tuple(entry for entry in self.entries if entry.hard_count)

    @property
    def feasible(self) -> bool:
        """Whether no hard rule is broken."""
        return not self.broken

    def to_dict(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """Give the findings as plain numbers, strings, lists and dicts, ready for JSON.

        Parameters
        ----------
        names : sequence, optional
            What to call the rows, such as the index of a data frame.
        """
        return {
            "feasible": self.feasible,
            "metric": self.metric,
            "inertia": self.inertia,
            "soft_cost": self.soft_cost,
            "objective": self.objective,
            "sizes": list(self.sizes),
            "outside": self.outside,
            "constraints": [
                {
                    "constraint": entry.constraint.phrase(names),
                    "hard": entry.constraint.hard,
                    "broken": entry.violations.count,
                    "amount": float(entry.violations.amount),
                    "units": entry.violations.units,
                    "soft_cost": entry.soft_cost,
                    "where": entry.violations.where.tolist(),
                }
                for entry in self.entries
            ],
        }


def examine(
    points: PointPieces,
    labels: IntArray,
    constraints: Constraint | Iterable[Constraint] | None,
    n_clusters: int,
    sample_weight: FloatArray | None = None,
    centers: FloatArray | None = None,
    metric: str = "euclidean",
) -> Findings:
    """Recompute what labels are worth and which rules they break.

    The arguments are those of :func:`corral.audit`, which checks them; here they are taken as they
    are, and the points may be anywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from corral import MustLink
    >>> from corral.audit import InMemory, examine
    >>> points = InMemory(np.array([[0.0], [2.0]]), np.array([[10.0], [12.0]]))
    >>> found = examine(points, np.array([0, 0, 1, 1]), MustLink([(1, 2)]), n_clusters=2)
    >>> found.inertia, found.sizes, found.feasible
    (4.0, (2, 2), False)
    """
    if centers is None:
        centers = centres_of(points, labels, n_clusters, sample_weight, metric)
    return Findings(
        inertia=MEASURES[metric][1](points, labels, centers, sample_weight),
        sizes=tuple(np.bincount(labels, minlength=n_clusters).tolist()),
        entries=tuple(Entry.of(rule, labels, n_clusters) for rule in ConstraintSet(constraints)),
        metric=metric,
        unit=UNITS.get(metric, ""),
    )


def centres_of(
    points: PointPieces,
    labels: IntArray,
    n_clusters: int,
    sample_weight: FloatArray | None,
    metric: str = "euclidean",
) -> FloatArray:
    """The best centres of labels by a metric, (k, d)."""
    return MEASURES[metric][0](points, labels, n_clusters, sample_weight)


def __getattr__(name: str) -> Any:
    """Names that were here before reports had a package of their own."""
    if name not in ("Report", "audit"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"`from corral.audit import {name}` is deprecated; write `from corral import {name}`.",
        DeprecationWarning,
        stacklevel=2,
    )
    # By name, so that this package imports nothing that stands on it.
    return getattr(import_module("corral.report"), name)
