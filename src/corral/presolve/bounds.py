"""Bounds on what the clusters hold: numbers of rows, sums of values, and linear rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by


def outside(value: Any, lower: Any, upper: Any) -> Any:
    """By how much each value misses its bounds."""
    return np.maximum(np.maximum(lower - value, value - upper), 0)


def _beyond(value: FloatArray, lower: FloatArray, upper: FloatArray, give: Any) -> FloatArray:
    """By how much values miss their bounds, 0 where that is at most ``give``."""
    inside = (lower - give <= value) & (value <= upper + give)
    return np.where(inside, 0.0, outside(value, lower, upper))


@dataclass(frozen=True)
class SizeBounds:
    """Bounds on the number of rows of each cluster, ``lower[j] <= size_j <= upper[j]``.

    With ``ordered=False`` the pairs ``(lower[j], upper[j])`` are a multiset: which cluster gets
    which pair is part of the problem, and the order held here is the present guess.
    """

    lower: IntArray
    upper: IntArray
    ordered: bool

    @property
    def interchangeable(self) -> bool:
        """Whether every cluster has the same bounds, so that their order means nothing."""
        return bool(np.ptp(self.lower) == 0 and np.ptp(self.upper) == 0)

    @property
    def exact(self) -> bool:
        """Whether every cluster has one size only."""
        return bool(np.all(self.lower == self.upper))

    def permuted(self, order: IntArray) -> SizeBounds:
        """Give cluster ``j`` the bounds that now stand at ``order[j]``."""
        return replace(self, lower=self.lower[order], upper=self.upper[order])

    def scaled(self, share: float, n_rows: int) -> SizeBounds:
        """Bounds for ``n_rows`` rows, a share of all; they add up if they did before."""
        if self.exact:
            both = scaled_bounds(self.lower, n_rows / float(self.lower.sum()))
            return replace(self, lower=both, upper=both)
        lower, upper = scaled_bounds(self.lower, share), scaled_bounds(self.upper, share)
        upper = np.maximum(lower, np.where(self.upper > self.lower, upper + 1, upper))
        return replace(self, lower=lower, upper=upper)

    def less(self, taken: IntArray) -> SizeBounds:
        """Bounds for the rows that are left when each cluster has taken some."""
        lower = np.maximum(self.lower - taken, 0)
        return SizeBounds(lower, self.upper - taken, ordered=True)

    def as_total(self, count: IntArray) -> TotalBounds:
        """The same bounds on the sums of the numbers of rows of the groups."""
        most = np.minimum(self.upper, count.sum())
        return TotalBounds(count.astype(float), self.lower.astype(float), most.astype(float))


def scaled_bounds(bound: IntArray, share: float) -> IntArray:
    """Each bound times the share, rounded so that the cumulative sums are rounded down."""
    sums = np.floor(np.cumsum(bound.astype(np.float64)) * share + 1e-9)
    scaled: FloatArray = np.diff(sums, prepend=0.0)
    return scaled.astype(np.int64)


@dataclass(frozen=True)
class TotalBounds:
    """Bounds on per-cluster sums, ``lower[j] <= sum_g values[g] x_gj <= upper[j]``.

    ``give`` is how far a sum may miss its bounds because of rounding.  Presolve sets it, 0 for
    whole numbers, and no solver allows anything else.
    """

    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    give: float = 0.0

    def part(self, groups: IntArray | BoolArray) -> TotalBounds:
        """The same bounds on the values of some groups."""
        return replace(self, values=self.values[groups])

    def scaled(self, share: float) -> TotalBounds:
        """Bounds times the share."""
        return replace(self, lower=self.lower * share, upper=self.upper * share)

    def excess(self, labels: IntArray) -> FloatArray:
        """By how much each cluster's sum misses its bounds, 0 within rounding."""
        sums = sums_by(labels, self.values, len(self.lower))
        return _beyond(sums, self.lower, self.upper, self.give)

    def less(self, taken: FloatArray) -> TotalBounds:
        """Bounds less what each cluster has taken."""
        return replace(self, lower=self.lower - taken, upper=self.upper - taken)


@dataclass(frozen=True)
class Sums:
    """Several bounded sums: ``lower[r, j] <= sum of values[r] over cluster j <= upper[r, j]``.

    The bounds include the rounding that is allowed.  ``signed`` says where they were different
    without it, (r, k).
    """

    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    signed: BoolArray

    @classmethod
    def of(cls, bounds: Sequence[TotalBounds], n_groups: int, n_clusters: int) -> Sums:
        """One row for each of the bounds."""
        shape = len(bounds), n_clusters
        return cls(
            np.array([each.values for each in bounds], float).reshape(len(bounds), n_groups),
            np.array([each.lower - each.give for each in bounds], float).reshape(shape),
            np.array([each.upper + each.give for each in bounds], float).reshape(shape),
            np.array([each.lower < each.upper for each in bounds], bool).reshape(shape),
        )

    def __len__(self) -> int:
        """Number of sums, r."""
        return len(self.values)

    @property
    def unit(self) -> FloatArray:
        """Mean absolute value of each sum, (r, 1); 1 where all values are 0."""
        mean = np.abs(self.values).mean(axis=1, keepdims=True)
        return np.where(mean > 0, mean, 1.0)

    def part(self, groups: IntArray) -> Sums:
        """The same bounds on the values of some groups."""
        return replace(self, values=self.values[:, groups])

    def scaled(self, share: float) -> Sums:
        """Bounds times the share."""
        return replace(self, lower=self.lower * share, upper=self.upper * share)

    def reached(self, labels: IntArray) -> FloatArray:
        """The sums that labels give, (r, k)."""
        k = self.lower.shape[1]
        sums = [sums_by(labels, value, k) for value in self.values]
        return np.array(sums).reshape(self.lower.shape)

    def outside(self, reached: FloatArray) -> FloatArray:
        """By how much each sum misses its bounds, (r, k)."""
        return np.asarray(outside(reached, self.lower, self.upper))


@dataclass(frozen=True)
class LinearRows:
    """Rows ``lower <= A vec(x) <= upper``; column ``g * k + j`` of ``A`` belongs to ``x_gj``.

    ``give`` is how far each row may miss its bounds because of rounding, as in
    :class:`TotalBounds`.
    """

    A: sparse.csr_array
    lower: FloatArray
    upper: FloatArray
    give: FloatArray | float = 0.0

    def excess(self, labels: IntArray) -> FloatArray:
        """By how much each row misses its bounds, 0 within rounding."""
        x = np.zeros(self.A.shape[1])
        x[np.arange(len(labels)) * (self.A.shape[1] // len(labels)) + labels] = 1.0
        return _beyond(self.A @ x, self.lower, self.upper, self.give)

    def part(self, groups: IntArray, n_clusters: int) -> LinearRows:
        """The same rows over some groups, what the others add left out."""
        columns = (groups[:, None] * n_clusters + np.arange(n_clusters)).ravel()
        return replace(self, A=sparse.csr_array(self.A[:, columns]))

    def less(self, columns: IntArray) -> LinearRows:
        """Bounds less what the chosen columns of ``A`` add."""
        taken = np.asarray(self.A[:, columns].sum(axis=1)).ravel()
        return replace(self, lower=self.lower - taken, upper=self.upper - taken)
