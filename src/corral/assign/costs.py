"""Rows with their costs, and what prices make of them: the part of assignment that is wide.

Sizes are settled by prices (:mod:`.transport`), which look at all rows in a few passes and at few
rows closely.  :class:`Dense` does so for a matrix in memory; rows that live elsewhere offer the
same passes.
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

    def reach(self, number: int) -> float:
        """What the next best cluster costs more, of the row that is ``number``-th by that."""
        ...

    def border(self, reach: float) -> FloatArray:
        """Rows in cluster a, (k, k), for which b costs at most ``reach`` more than the best."""
        ...

    def near(self, reach: float) -> Near:
        """The rows within reach."""
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

    def reach(self, number: int) -> float:
        """As :class:`Scan`; the rows beyond any number may go to one cluster only."""
        reach = float(np.partition(self.margin, number)[number])
        return reach if np.isfinite(reach) else self._largest()

    def _largest(self) -> float:
        return float(self.margin[np.isfinite(self.margin)].max(initial=0.0))

    def border(self, reach: float) -> FloatArray:
        """As :class:`Scan`."""
        return border(self.near(reach), reach)

    def near(self, reach: float) -> Near:
        """As :class:`Scan`."""
        rows = np.flatnonzero(self.margin <= reach)
        gap = self.matrix[rows] + self.prices
        gap -= gap.min(axis=1, keepdims=True)
        return Near(rows, self.labels[rows], gap)

    def moved(self, near: Near, labels: IntArray) -> DenseScan:
        """As :class:`Scan`."""
        changed = self.labels.copy()
        changed[near.rows] = labels
        return replace(self, labels=changed)


def border(near: Near, reach: float) -> FloatArray:
    """Count the rows of each cluster, (k, k), for which another is within reach."""
    k = near.gap.shape[1]
    row, to = np.nonzero(near.gap <= reach)
    counts = np.bincount(near.labels[row] * k + to, minlength=k * k)
    return counts.reshape(k, k).astype(float)
