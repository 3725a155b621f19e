"""Rows with their costs, and what prices make of them: the part of assignment that is wide.

Sizes are settled by prices (:mod:`corral.assign.sizes`), which look at all rows in a few passes
and at few rows closely.  :class:`Dense` does so for a matrix in memory; rows that live elsewhere
offer the same passes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from .._typing import FloatArray, IntArray
from .scan import scan


@dataclass(frozen=True)
class Near:
    """Rows that hardly prefer one cluster to another.

    Attributes
    ----------
    rows : (r,) array
    labels : (r,) array
        Where they are.
    gap : (r, k) array
        What each cluster costs more than the cheapest, at the prices.
    """

    rows: IntArray
    labels: IntArray
    gap: FloatArray


class Scan(Protocol):
    """Rows where they prefer to be at some prices, or where they were moved from there."""

    @property
    def counted(self) -> IntArray:
        """Rows in each cluster, (k,)."""
        ...

    @property
    def scale(self) -> float:
        """The largest cost of a row in its cluster, prices included, in absolute value."""
        ...

    def within(self, reach: float) -> int:
        """Number of rows whose next best cluster costs at most ``reach`` more."""
        ...

    def reach(self, number: int, each: IntArray) -> FloatArray:
        """Margins, (k,), within which are ``number`` rows in all and ``each`` of every cluster.

        The margin of a row is what its next best cluster costs more.
        """
        ...

    def border(self, reach: FloatArray) -> FloatArray:
        """Rows in cluster a, (k, k), for which b costs at most ``reach[a]`` more than the best."""
        ...

    def near(self, reach: FloatArray) -> Near:
        """The rows within the reach of their clusters."""
        ...

    def moved(self, near: Near, labels: IntArray) -> Scan:
        """The same with some rows elsewhere."""
        ...


class Costs(Protocol):
    """What rows cost in each cluster."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and clusters."""
        ...

    @property
    def eps(self) -> float:
        """Relative rounding of the costs."""
        ...

    def scan(self, prices: FloatArray) -> Any:
        """Put all rows where they prefer to be, a :class:`Scan`.

        Raises
        ------
        NoAssignment
            If a row may go nowhere.
        """
        ...

    def sample(self, size: int) -> FloatArray:
        """Costs of so many rows drawn at random."""
        ...

    def dense(self) -> FloatArray:
        """All costs as a matrix."""
        ...


@dataclass(frozen=True)
class Dense:
    """Costs as a matrix in memory, infinite where a row may not go."""

    matrix: FloatArray

    @property
    def eps(self) -> float:
        """Of double precision."""
        return float(np.finfo(np.float64).eps)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and clusters."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def scan(self, prices: FloatArray) -> DenseScan:
        """As :class:`Costs`."""
        return DenseScan(self.matrix, prices, *scan(self.matrix, prices))

    def sample(self, size: int) -> FloatArray:
        """As :class:`Costs`."""
        rows = np.sort(np.random.default_rng(0).integers(0, len(self.matrix), size))
        return self.matrix[rows]

    def dense(self) -> FloatArray:
        """As :class:`Costs`."""
        return self.matrix


@dataclass(frozen=True)
class DenseScan:
    """As :class:`Scan`, for a matrix."""

    matrix: FloatArray
    prices: FloatArray
    labels: IntArray
    best: FloatArray
    margin: FloatArray

    @property
    def counted(self) -> IntArray:
        """Rows in each cluster."""
        return np.bincount(self.labels, minlength=len(self.prices))

    @property
    def scale(self) -> float:
        """Infinite if a row may go nowhere."""
        return float(np.abs(self.best).max())

    def within(self, reach: float) -> int:
        """As :class:`Scan`."""
        return int(np.count_nonzero(self.margin <= reach))

    def reach(self, number: int, each: IntArray) -> FloatArray:
        """As :class:`Scan`."""
        return reach_of(self.margin, self.labels, number, each)

    def border(self, reach: FloatArray) -> FloatArray:
        """As :class:`Scan`."""
        return border(self.near(reach), reach)

    def near(self, reach: FloatArray) -> Near:
        """As :class:`Scan`."""
        rows = np.flatnonzero(self.margin <= reach[self.labels])
        gap = self.matrix[rows] + self.prices
        gap -= gap.min(axis=1, keepdims=True)
        return Near(rows, self.labels[rows], gap)

    def moved(self, near: Near, labels: IntArray) -> DenseScan:
        """As :class:`Scan`."""
        changed = self.labels.copy()
        changed[near.rows] = labels
        return replace(self, labels=changed)


def reach_of(margin: FloatArray, labels: IntArray, number: int, each: IntArray) -> FloatArray:
    """Reaches as :meth:`Scan.reach` gives them.

    Examples
    --------
    >>> import numpy as np
    >>> reach_of(np.array([1.0, 2.0, 7.0, 9.0]), np.array([0, 0, 1, 1]), 1, np.array([1, 1]))
    array([2., 9.])
    """
    reach = np.full(len(each), _ranked(margin, number))
    within = np.bincount(labels[margin <= reach[0]], minlength=len(each))
    for a in np.flatnonzero(within <= each):
        own = margin[labels == a]
        if len(own) > within[a]:
            reach[a] = max(reach[a], _ranked(own, int(each[a])))
    return reach


def _ranked(margin: FloatArray, rank: int) -> float:
    """Margin of that rank; the rows beyond it may go to one cluster only if it is infinite."""
    rank = min(rank, len(margin) - 1)
    found = float(np.partition(margin, rank)[rank])
    return found if np.isfinite(found) else float(margin[np.isfinite(margin)].max(initial=0.0))


def border(near: Near, reach: FloatArray) -> FloatArray:
    """Count the rows of each cluster, (k, k), for which another is within reach."""
    k = near.gap.shape[1]
    row, to = np.nonzero(near.gap <= reach[near.labels][:, None])
    counts = np.bincount(near.labels[row] * k + to, minlength=k * k)
    return counts.reshape(k, k).astype(float)
