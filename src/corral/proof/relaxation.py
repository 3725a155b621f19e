"""The semidefinite relaxation of k-means under rules.

Groups g have weights w_g.  A clustering gives ``Y_gh = sqrt(w_g w_h) / (weight of the cluster)`` if
g and h are in one cluster, else 0, and its objective is ``constant + <C, Y>`` with ``C_gh =
sqrt(w_g w_h) |x_g - x_h|^2 / 2``.  Y belongs to the spectral set of :mod:`.spectrum` with ``v =
sqrt(w / sum of w)``, and to a box: cannot-links, pins and sizes bound its entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from .._arrays import namespace
from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from ..presolve import Rules
from .matrices import Matrices
from .spectrum import EPS, SpectralSet


@dataclass(frozen=True)
class Relaxation:
    """``constant + unit * min <cost, Y>`` over the spectral set, the box and the cuts.

    Attributes
    ----------
    groups : (m,) array
        The groups of the rules that have weight.
    cost : (m, m) array
        C divided by ``unit``, so that its largest entry is 1.
    lower, upper : (m, m) arrays
        The box; upper bounds may be infinite.
    weight : (m,) array
    spectral : SpectralSet
    unit, constant : float
    error : float
        Bound on the rounding errors of ``constant + unit * <cost, Y>``.
    """

    groups: IntArray
    cost: Any
    lower: Any
    upper: Any
    weight: FloatArray
    spectral: SpectralSet
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
        matrices: Matrices,
    ) -> Relaxation:
        """The relaxation of the groups; groups without weight are left out.

        ``constants`` are the scatter inside the groups, and a bound on the rounding errors of the
        objective.
        """
        heavy = np.flatnonzero(weight > 0.0)
        lower, upper = box(rules, weight, heavy)
        # A cluster of rows without weight counts as empty.
        full = len(heavy) == len(weight) and filled(rules)
        points, weight = points[heavy], weight[heavy]
        root = np.sqrt(weight)
        C = squareform(pdist(points, "sqeuclidean")) * np.outer(root, root) / 2.0
        unit = float(C.max(initial=0.0)) or 1.0
        v = matrices.put(root / np.linalg.norm(root))
        return cls(
            heavy,
            matrices.put(C / unit),
            matrices.put(lower),
            matrices.put(upper),
            weight,
            SpectralSet(v, rules.n_clusters, not full, matrices),
            unit,
            *constants,
        )

    def value(self, U: Any, pull: Any, slack: float = 0.0, deadline: Deadline = NEVER) -> float:
        """A number that is surely not above the objective of any clustering.

        ``U`` holds multipliers of the box: not negative where the upper bound is infinite.
        ``pull`` is ``A* multiplier`` of the cuts, and ``slack`` bounds its rounding errors.
        """
        M = self.cost - U + pull
        size = abs(self.cost) + abs(U) + abs(pull)
        rounding = 16 * EPS * float((size * size).sum()) ** 0.5 + slack
        xp = namespace(U)
        edge = xp.where(U > 0.0, self.lower, xp.where(U < 0.0, self.upper, 0.0 * U))
        terms = U * edge
        edges = float(terms.sum()) - 64 * EPS * float(abs(terms).sum())
        least = self.spectral.least(M, rounding, deadline) + edges
        return self.constant + self.unit * least - self.error - 4 * EPS * abs(self.unit * least)


def filled(rules: Rules) -> bool:
    """Whether the rules leave no cluster empty."""
    return rules.n_clusters == 1 or (
        rules.sizes is not None and bool((rules.sizes.lower > 0).all())
    )


def box(rules: Rules, weight: FloatArray, heavy: IntArray) -> tuple[FloatArray, FloatArray]:
    """Bounds on the entries of Y for the groups with weight.

    A cluster of at least s rows weighs at least as much as the s lightest rows, and one of at most
    S rows at most as much as the S heaviest.
    """
    least, most = weight_range(rules, weight)
    pairs, weight = rules.pairs.part(_places(heavy, len(weight)), len(heavy)), weight[heavy]
    rounding = 4 * (len(rules.count) + 2) * EPS  # of sums of weights
    lower, upper = np.diag(weight / most * (1.0 - rounding)), np.full((len(heavy),) * 2, np.inf)
    if least > 0.0:
        root = np.sqrt(weight)
        upper = np.outer(root, root) / least * (1.0 + rounding)
    a, b = pairs.apart.T
    upper[a, b] = upper[b, a] = 0.0
    np.fill_diagonal(upper, np.minimum(np.diag(upper), 1.0))
    return lower, np.maximum(upper, lower)


def _places(chosen: IntArray, m: int) -> IntArray:
    places = np.full(m, -1, np.int64)
    places[chosen] = np.arange(len(chosen))
    return places


def weight_range(rules: Rules, weight: FloatArray) -> tuple[float, float]:
    """Smallest and largest weight of a cluster whose number of rows obeys the sizes."""
    sizes, count = rules.sizes, rules.count
    if sizes is None:
        return 0.0, float(weight.sum())
    each = weight / count
    order = np.argsort(each)
    return (
        _first(each[order], count[order], int(sizes.lower.min())),
        _first(each[order[::-1]], count[order[::-1]], int(sizes.upper.max())),
    )


def _first(each: FloatArray, count: IntArray, rows: int) -> float:
    """Weight of the first rows, where group g has ``count[g]`` rows of weight ``each[g]``."""
    before = np.cumsum(count) - count
    taken = np.clip(rows - before, 0, count)
    return float(each @ taken)
