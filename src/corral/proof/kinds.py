"""Kinds of clusters: those whose sizes have the same bounds, and the row sums that tie them.

A clustering has one matrix Y for each kind, made from the clusters of that kind alone.  Where sizes
differ, the relaxation has these matrices and not only their sum: it knows that a group in a small
cluster has a large entry on the diagonal, and how many groups there are of each kind.

Let r be the roots of the weights.  In a clustering, ``(Y_c r)_g`` is ``r_g`` if g is in a cluster
of kind c, and 0 otherwise; ``y_gg`` is then ``w_g`` over the weight of the cluster.  So

- ``sum_c Y_c r = r``: every group has a cluster, and
- ``least_c y_gg / r_g <= (Y_c r)_g <= most_c y_gg / r_g``: sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import namespace
from .._typing import FloatArray, IntArray
from ..rules import Rules, SizeBounds
from .numbers import MOST_KINDS
from .spectrum import EPS, Matrices, diagonals


@dataclass(frozen=True)
class Kind:
    """Some clusters: how many, their least and largest weight, and whether all of them have rows.

    ``clusters`` are their numbers, if sizes belong to numbers.
    """

    number: int
    least: float
    most: float
    filled: bool
    clusters: tuple[int, ...] = ()


def kinds_of(rules: Rules, weight: FloatArray) -> list[Kind]:
    """The kinds of clusters of the relaxation.

    There is one kind if all sizes are the same or there are too many different ones.  Sizes count
    rows, so that with weights of the rows there is one kind, too.  So there is for sizes that are
    intervals: with a matrix for each, the bound rises too slowly to close small gaps.
    """
    sizes, all_weigh = rules.sizes, bool((weight > 0.0).all())
    if sizes is None:
        filled = rules.n_clusters == 1 and all_weigh
        return [Kind(rules.n_clusters, 0.0, float(weight.sum()), filled)]
    bounds, kind, number = np.unique(
        np.column_stack([sizes.lower, sizes.upper]), axis=0, return_inverse=True, return_counts=True
    )
    counted = np.array_equal(weight, rules.count)
    if len(bounds) > MOST_KINDS or not (counted and sizes.exact):
        # A cluster of rows without weight counts as empty.
        filled = all_weigh and (rules.n_clusters == 1 or bool((sizes.lower > 0).all()))
        return [Kind(rules.n_clusters, *_weights(sizes, rules.count, weight), filled)]
    most = np.minimum(bounds[:, 1], rules.n_rows)
    return [
        Kind(
            int(number[c]),
            float(bounds[c, 0]),
            float(most[c]),
            bool(bounds[c, 0] > 0) or rules.n_clusters == 1,
            tuple(np.flatnonzero(kind.ravel() == c).tolist()) if sizes.ordered else (),
        )
        for c in range(len(bounds))
    ]


def _weights(sizes: SizeBounds, count: IntArray, weight: FloatArray) -> tuple[float, float]:
    """Smallest and largest weight of a cluster whose number of rows obeys the sizes.

    A cluster of at least s rows weighs at least as much as the s lightest rows, and one of at most
    S rows at most as much as the S heaviest.
    """
    each = weight / count
    order = np.argsort(each)
    rounding = 4 * (len(count) + 2) * EPS
    least = _first(each[order], count[order], int(sizes.lower.min()))
    most = _first(each[order[::-1]], count[order[::-1]], int(sizes.upper.max()))
    return least * (1.0 - rounding), most * (1.0 + rounding)


def _first(each: FloatArray, count: IntArray, rows: int) -> float:
    """Weight of the first rows, where group g has ``count[g]`` rows of weight ``each[g]``."""
    before = np.cumsum(count) - count
    taken = np.clip(rows - before, 0, count)
    return float(each @ taken)


#: Steps of the projection in each iteration.  More make it more accurate and slower.
STEPS = 3


class Balance:
    """The equations and inequalities above, with one multiplier each.

    ``along`` are the multipliers of the equations, (m,); ``each`` are those of the sizes, one row
    for each bound: not negative for a largest size, not positive for a least size, and free for
    both in one.
    """

    def __init__(self, kinds: Sequence[Kind], weight: FloatArray, matrices: Matrices) -> None:
        put, root, self.total = matrices.put, np.sqrt(weight), float(weight.sum())
        kind, size, low, high = _bounds(kinds, self.total)
        self.n_kinds, self.root, self.kind = len(kinds), put(root), put(kind)
        self.low, self.high = put(low[:, None]), put(high[:, None])
        self.slope = put(size[:, None] / root)
        # Adds up the bounds of each kind.
        member = np.arange(len(kinds))[:, None] == kind
        self.member = put(member.astype(np.float64))
        # A A* of one bound is a diagonal matrix plus r r' / 2, where A maps Y to the row sums.
        diagonal = self.total / 2.0 - 2.0 * size[:, None] + size[:, None] ** 2 / weight
        self.scale = put(np.maximum(diagonal, self.total / 8.0))
        self.along, self.each = put(np.zeros(len(root))), put(np.zeros((len(size), len(root))))
        # Bounds of one kind share their steps, and the equations take part.
        self.part = 1.0 / (1 + int(member.sum(axis=1).max()))

    def project(self, V: Any, lower: Any, upper: Any) -> None:
        """Better multipliers for the projection of V onto the box and the row sums.

        They make a few accelerated gradient steps of the dual problem, with ``A A*`` as the metric.
        """
        xp, last = namespace(V), (self.along, self.each)
        ahead, momentum = last, 1.0
        for _ in range(STEPS):
            point = xp.clip(V - self.adjoint(*ahead), lower, upper)
            sums = (point * self.root).sum(axis=2)
            over = sums[self.kind] - self.slope * diagonals(point)[self.kind]
            missing = sums.sum(axis=0) - self.root
            along = ahead[0] + self.part * self._solved(missing, self.n_kinds * self.total / 2.0)
            each = ahead[1] + self.part * self._shared(over)
            new = along, xp.clip(each, self.low, self.high)
            grown = (1.0 + (1.0 + 4.0 * momentum**2) ** 0.5) / 2.0
            push = (momentum - 1.0) / grown
            ahead = tuple(a + push * (a - b) for a, b in zip(new, last, strict=True))
            last, momentum = new, grown
        self.along, self.each = last

    def _solved(self, x: Any, scale: float) -> Any:
        """``A A*`` of the equations applied inversely: scale (I + r r' / total)."""
        r = self.root
        return (x - (r * x).sum() / (2.0 * self.total) * r) / scale

    def _shared(self, x: Any) -> Any:
        """``A A*`` of each bound applied inversely: the diagonal matrix plus r r' / 2."""
        x, r = x / self.scale, self.root / self.scale
        inner = 1.0 + (self.root * r).sum(axis=1) / 2.0
        return x - ((self.root * x).sum(axis=1) / 2.0 / inner)[:, None] * r

    def adjoint(self, along: Any, each: Any, sign: float = -1.0) -> Any:
        """``A* multiplier``, one matrix for each kind; the diagonal parts with a sign."""
        rows = self.member @ each + along
        half = rows[:, :, None] * (self.root / 2.0)
        made = half + namespace(along).permute_dims(half, (0, 2, 1))
        diagonals(made)[...] += sign * (self.member @ (self.slope * each))
        return made

    def pull(self, factor: float) -> tuple[Any, float, float]:
        """``factor * A* multiplier``, a bound on its rounding errors, and the price of the rules.

        The price is ``factor`` times the product of the multipliers and the right sides, rounded
        up.
        """
        along, each = factor * self.along, factor * self.each
        terms = along * self.root
        price = float(terms.sum()) + 4 * len(terms) * EPS * float(abs(terms).sum())
        size = self.adjoint(abs(along), abs(each), 1.0)
        error = 4 * (len(self.kind) + 8) * EPS * float((size * size).sum()) ** 0.5
        return self.adjoint(along, each), error, price


def _bounds(
    kinds: Sequence[Kind], total: float
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """The bounds that say something: kind, size, and the range of the multipliers."""
    found = []
    for c, kind in enumerate(kinds):
        if kind.least == kind.most:
            found.append((c, kind.most, -np.inf, np.inf))
            continue
        if kind.most < total:
            found.append((c, kind.most, 0.0, np.inf))
        if kind.least > 0.0:
            found.append((c, kind.least, -np.inf, 0.0))
    number, size, low, high = np.array(found).reshape(-1, 4).T
    return number.astype(np.int64), size, low, high
