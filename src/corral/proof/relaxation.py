"""The semidefinite relaxation of k-means under rules.

Groups g have weights w_g.  A clustering gives ``Y_gh = sqrt(w_g w_h) / (weight of the cluster)`` if
g and h are in one cluster, else 0, and its objective is ``constant + <C, Y>`` with ``C_gh =
sqrt(w_g w_h) |x_g - x_h|^2 / 2``.  Y belongs to the spectral set of :mod:`.spectrum` with ``v =
sqrt(w / sum of w)``, and to a box: cannot-links, pins and sizes bound its entries.

With several kinds of clusters (:mod:`.kinds`) there is one such matrix for each kind.  They are in
spectral sets without v; :class:`.kinds.Balance` ties them together.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from .._arrays import namespace
from .._scale import times
from .._typing import FloatArray, IntArray, Matrix
from ..constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Connected,
    Constraint,
    ConstraintSet,
    LinearConstraint,
    MustLink,
    Pin,
)
from ..deadline import NEVER, Deadline
from ..rows import MemoryTable
from ..rules import Contraction, Pairs, Rules, presolve
from .kinds import Balance, Kind, kinds_of
from .numbers import DEVICE_PART_GROUPS, LANCZOS_FROM, PART_GROUPS, SETUP_SECONDS
from .spectrum import EPS, InMemory, Matrices, OnDevice, SpectralSet


@dataclass(frozen=True)
class Relaxation:
    """``constant + unit * min sum_c <cost, Y_c>`` over spectral sets, box, row sums and cuts.

    Attributes
    ----------
    groups : (m,) array
        The groups of the rules that have weight.
    cost : (m, m) array
        C divided by ``unit``, so that its largest entry is 1.
    lower, upper : (kinds, m, m) arrays
        The box; upper bounds may be infinite.
    weight : (m,) array
    kinds : sequence of Kind
    spectral : sequence of SpectralSet
        One for each kind.
    balance : Balance or None
        None if there is one kind.
    cliques : list of arrays
        Sets of groups that are all apart.
    matrices : Matrices
    unit, constant : float
    error : float
        Bound on the rounding errors of ``constant + unit * <cost, Y>``.
    """

    groups: IntArray
    cost: Any
    lower: Any
    upper: Any
    weight: FloatArray
    kinds: Sequence[Kind]
    spectral: Sequence[SpectralSet]
    balance: Balance | None
    cliques: list[IntArray]
    matrices: Matrices
    unit: float
    constant: float
    error: float

    @classmethod
    def of(
        cls,
        points: FloatArray,
        weight: FloatArray,
        constants: tuple[float, float],
        rules: Rules,
        pinned: IntArray,
        matrices: Matrices,
    ) -> Relaxation:
        """The relaxation of the groups; groups without weight are left out.

        ``constants`` are the scatter inside the groups, and a bound on the rounding errors of the
        objective.  ``pinned`` is the cluster of each group that is pinned, and -1 for the others.
        """
        heavy = np.flatnonzero(weight > 0.0)
        kinds = kinds_of(rules, weight)
        pairs = rules.pairs.part(_places(heavy, len(weight)), len(heavy))
        lower, upper = box(kinds, weight[heavy], pairs.apart, pinned[heavy])
        points, weight = points[heavy], weight[heavy]
        root = np.sqrt(weight)
        C = squareform(pdist(points, "sqeuclidean")) * np.outer(root, root) / 2.0
        unit = float(C.max(initial=0.0)) or 1.0
        v = matrices.put(root / np.linalg.norm(root)) if len(kinds) == 1 else None
        return cls(
            heavy,
            matrices.put(C / unit),
            matrices.put(lower),
            matrices.put(upper),
            weight,
            kinds,
            [SpectralSet(v, kind.number, not kind.filled, matrices) for kind in kinds],
            Balance(kinds, weight, matrices) if len(kinds) > 1 else None,
            cliques(pairs),
            matrices,
            unit,
            *constants,
        )

    def start(self) -> Any:
        """Matrices in the spectral sets to start from: all groups alike."""
        most = np.array([kind.most for kind in self.kinds])
        number = np.array([kind.number for kind in self.kinds])
        share = number * most / float(number @ most)
        like = np.outer(np.sqrt(self.weight), np.sqrt(self.weight)) / self.weight.sum()
        return self.matrices.put(share[:, None, None] * like)

    def project(self, T: Any, deadline: Deadline) -> Any:
        """The nearest matrices of the spectral sets."""
        each = zip(self.spectral, T, strict=True)
        return namespace(T).stack([known.project(one, deadline) for known, one in each])

    def value(
        self, U: Any, pull: Any, slack: float, price: float, deadline: Deadline = NEVER
    ) -> float:
        """A number that is surely not above the objective of any clustering.

        ``U`` holds multipliers of the box: not negative where the upper bound is infinite.
        ``pull`` is ``A* multiplier`` of row sums and cuts, ``slack`` bounds its rounding errors,
        and ``price`` is the product of the multipliers and the right sides.
        """
        least = -price
        xp = namespace(U)
        for known, u, p, lower, upper in zip(
            self.spectral, U, pull, self.lower, self.upper, strict=True
        ):
            size = abs(self.cost) + abs(u) + abs(p)
            rounding = 16 * EPS * float((size * size).sum()) ** 0.5 + slack
            edge = xp.where(u > 0.0, lower, xp.where(u < 0.0, upper, 0.0 * u))
            terms = u * edge
            least += float(terms.sum()) - 64 * EPS * float(abs(terms).sum())
            least += known.least(self.cost - u + p, rounding, deadline)
        return self.constant + self.unit * least - self.error - 8 * EPS * self.unit * abs(least)


def box(
    kinds: Sequence[Kind], weight: FloatArray, apart: IntArray, pinned: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds on the entries of the Y of each kind."""
    m, root = len(weight), np.sqrt(weight)
    lower, upper = np.zeros((len(kinds), m, m)), np.full((len(kinds), m, m), np.inf)
    for c, kind in enumerate(kinds):
        if kind.least > 0.0:
            upper[c] = np.outer(root, root) / kind.least * (1.0 + 8 * EPS)
        np.fill_diagonal(upper[c], np.minimum(np.diag(upper[c]), 1.0))
        within = np.isin(pinned, kind.clusters) & (pinned >= 0)
        sure = np.flatnonzero(within) if len(kinds) > 1 else np.arange(m)
        lower[c, sure, sure] = weight[sure] / kind.most * (1.0 - 8 * EPS)
        elsewhere = (pinned >= 0) & ~within & bool(kind.clusters)
        upper[c, elsewhere] = upper[c, :, elsewhere] = 0.0
    a, b = apart.T
    upper[:, a, b] = upper[:, b, a] = 0.0
    return lower, np.maximum(upper, lower)


def cliques(pairs: Pairs) -> list[IntArray]:
    """Sets of three or more groups that are all apart, at most as many as groups."""
    sets = np.split(pairs.cliques.members, pairs.cliques.start[1:-1])
    return [each for each in sets if len(each) > 2][: pairs.n_groups]


def _places(chosen: IntArray, m: int) -> IntArray:
    places = np.full(m, -1, np.int64)
    places[chosen] = np.arange(len(chosen))
    return places


#: Bytes that the search needs for each pair of groups: some matrices of doubles.
BYTES_EACH = 150

USED: dict[type[Constraint], str] = {
    MustLink: "must-links",
    CannotLink: "cannot-links",
    Pin: "pins",
    ClusterSizes: "sizes",
}
LEFT_OUT: dict[type[Constraint], str] = {
    ClusterTotals: "totals",
    LinearConstraint: "linear rows",
    Connected: "connected clusters",
}
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
        return Relaxation.of(self.points, self.weight, constants, self.rules, self.pinned, matrices)


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
