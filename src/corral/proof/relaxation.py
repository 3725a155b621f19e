"""The semidefinite relaxation of k-means under rules.

Groups g have weights w_g.  A clustering gives ``Y_gh = sqrt(w_g w_h) / (weight of the cluster)`` if
g and h are in one cluster, else 0, and its objective is ``constant + <C, Y>`` with ``C_gh =
sqrt(w_g w_h) |x_g - x_h|^2 / 2``.  Y belongs to the spectral set of :mod:`.spectrum` with ``v =
sqrt(w / sum of w)``, and to a box: cannot-links, pins and sizes bound its entries.

With several kinds of clusters (:mod:`.kinds`) there is one such matrix for each kind.  They are in
spectral sets without v; :mod:`.balance` ties them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from .._arrays import namespace
from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from ..rules import Rules
from .balance import Balance
from .kinds import Kind, kinds_of
from .matrices import Matrices
from .separation import cliques
from .spectrum import EPS, SpectralSet


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
        deadline: Deadline = NEVER,
    ) -> Relaxation:
        """The relaxation of the groups; groups without weight are left out.

        ``constants`` are the scatter inside the groups, and a bound on the rounding errors of the
        objective.  ``pinned`` is the cluster of each group that is pinned, and -1 for the others.
        """
        heavy = np.flatnonzero(weight > 0.0)
        kinds = kinds_of(rules, weight)
        apart = rules.pairs.part(_places(heavy, len(weight)), len(heavy)).apart
        lower, upper = box(kinds, weight[heavy], apart, pinned[heavy])
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
            cliques(len(heavy), apart, deadline),
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


def _places(chosen: IntArray, m: int) -> IntArray:
    places = np.full(m, -1, np.int64)
    places[chosen] = np.arange(len(chosen))
    return places
