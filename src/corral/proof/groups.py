"""The groups of the relaxation: rows that must-links or pins put into one cluster.

Pins give links: rows pinned to one cluster belong together, and rows pinned to different clusters
apart.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .._scale import times
from .._typing import FloatArray, IntArray, Matrix
from ..constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Constraint,
    ConstraintSet,
    LinearConstraint,
    MustLink,
    Pin,
)
from ..deadline import NEVER, Deadline
from ..rows import MemoryTable
from ..rules import Contraction, Rules, presolve
from .kinds import kinds_of
from .matrices import InMemory, OnDevice
from .numbers import DEVICE_PART_GROUPS, LANCZOS_FROM, PART_GROUPS, SETUP_SECONDS
from .relaxation import Relaxation
from .spectrum import EPS

#: Bytes that the search needs for each pair of groups: some matrices of doubles.
BYTES_EACH = 150

USED: dict[type[Constraint], str] = {
    MustLink: "must-links",
    CannotLink: "cannot-links",
    Pin: "pins",
    ClusterSizes: "sizes",
}
LEFT_OUT: dict[type[Constraint], str] = {ClusterTotals: "totals", LinearConstraint: "linear rows"}
#: Prices of soft rules are never negative, so a bound without them holds.
SOFT: dict[str, tuple[type[Constraint], ...]] = {
    "soft links": (MustLink, CannotLink),
    "soft pins": (Pin,),
    "soft sizes": (ClusterSizes,),
    "soft totals": (ClusterTotals,),
}


@dataclass(frozen=True)
class Grouped:
    """Points of the groups, their weights, the rules between them, and the kinds of rules.

    ``error`` bounds the rounding errors of the objective of any clustering of the points.
    ``pinned`` is the cluster of each group that is pinned, and -1 for the others.
    """

    points: FloatArray
    weight: FloatArray
    scatter: float
    error: float
    rules: Rules
    pinned: IntArray
    used: tuple[str, ...]
    left_out: tuple[str, ...]

    @classmethod
    def of(
        cls,
        points: Matrix,
        weight: FloatArray | None,
        given: ConstraintSet,
        k: int,
        device: str | None = None,
    ) -> Grouped:
        """Contract the rows; MemoryError if the matrices of the relaxation would not fit."""
        n = points.shape[0]
        kinds = given.expand(n, k).hard
        taken = ConstraintSet([kinds.of_kind(kind) for kind in (MustLink, CannotLink)])
        sizes = ConstraintSet(kinds.of_kind(ClusterSizes))
        rules = presolve([taken, sizes, *pin_links(kinds)], n, k)
        weighs = np.bincount(rules.row_groups, weight, rules.n_groups).astype(np.float64)
        largest = int(min(rules.n_groups, most_together(rules, device)))
        check_memory(largest, len(kinds_of(rules, weighs)), device)
        given_points: Any = points
        dense = given_points.toarray() if sparse.issparse(points) else given_points
        # About the middle and in double precision, so that the scatter has no cancellation.
        local = np.asarray(dense, np.float64)
        local = local - np.average(local, axis=0, weights=weight)
        joined = Contraction(rules.row_groups)
        means, total, count, scatter = joined.apply(local, weight)
        # Sums over a group and over the features add up so many roundings.
        terms = int(count.max()) + points.shape[1]
        far = float(np.square(local).sum(axis=1).max()) * float(total.sum())
        error = 16 * (terms + 8) * EPS * (far + scatter)
        used = tuple(name for kind, name in USED.items() if kinds.of_kind(kind))
        others = [name for kind, name in LEFT_OUT.items() if kinds.of_kind(kind)]
        soft = given.expand(n, k).soft
        others += [name for name, each in SOFT.items() if any(map(soft.of_kind, each))]
        pinned = np.full(rules.n_groups, -1)
        for pin in kinds.of_kind(Pin):
            pinned[rules.row_groups[pin.rows]] = pin.clusters
        return cls(means, total, scatter, error, rules, pinned, used, tuple(others))

    def part(self, groups: IntArray) -> Grouped:
        """The same for some of the groups."""
        return replace(
            self,
            points=self.points[groups],
            weight=self.weight[groups],
            rules=self.rules.part(groups),
            pinned=self.pinned[groups],
        )

    def relaxation(self, device: str | None = None, deadline: Deadline = NEVER) -> Relaxation:
        """The semidefinite relaxation of these groups, with its matrices in memory or on a GPU."""
        n_kinds = len(kinds_of(self.rules, self.weight))
        deadline.check(SETUP_SECONDS * n_kinds * len(self.weight) ** 2)
        matrices = InMemory(LANCZOS_FROM) if device is None else OnDevice(device)
        constants = self.scatter, self.error
        return Relaxation.of(
            self.points, self.weight, constants, self.rules, self.pinned, matrices, deadline
        )


def most_together(rules: Rules, device: str | None) -> float:
    """Groups of which more are bounded in parts; least sizes say nothing about a part."""
    if rules.sizes is not None and rules.sizes.lower.any():
        return math.inf
    return PART_GROUPS if device is None else DEVICE_PART_GROUPS


def in_solver_units(table: MemoryTable) -> tuple[Matrix, FloatArray | None]:
    """Points and weights of a table in the units of its scale."""
    weight = table.weight
    scaled = None if weight is None else times(weight, -table.scale.weight)
    return times(table.points, -table.scale.points), scaled


def pin_links(kinds: ConstraintSet) -> list[MustLink | CannotLink]:
    """Links that follow from pins."""
    rows_of: dict[int, list[int]] = {}
    for pin in kinds.of_kind(Pin):
        for row, cluster in zip(pin.rows.tolist(), pin.clusters.tolist(), strict=True):
            rows_of.setdefault(cluster, []).append(row)
    together = [pair for rows in rows_of.values() for pair in pairwise(rows) if pair[0] != pair[1]]
    apart = list(combinations([rows[0] for rows in rows_of.values()], 2))
    return [MustLink(together), CannotLink(apart)]


def memory_of(m: int, n_kinds: int = 1) -> int:
    """Bytes that the relaxation of so many groups needs, about."""
    return BYTES_EACH * n_kinds * m * m


def memory_at(device: str | None = None) -> int:
    """Bytes of this machine's memory, or of the device's."""
    if device is None:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    import torch

    there = torch.device(device)
    return torch.cuda.mem_get_info(there)[1] if there.type == "cuda" else memory_at()


def check_memory(m: int, n_kinds: int, device: str | None) -> None:
    """Refuse a relaxation that does not fit into memory."""
    needed, there = memory_of(m, n_kinds), memory_at(device)
    if needed > there:
        raise MemoryError(
            f"a bound for {m:,} groups needs about {needed / 2**30:.1f} GiB of memory, and "
            f"{'this machine' if device is None else device} has {there / 2**30:.1f}; take a "
            "sample of the rows, or join more of them."
        )
