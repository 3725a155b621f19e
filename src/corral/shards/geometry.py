"""The geometry of points that live in shards, from sums over them."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..geometry import FAR, Geometry
from ..problem import Problem
from .holder import Holder, starts
from .passes import moments, rows_of
from .transforms import shifted


class ShardGeometry(Geometry):
    """What :class:`~corral.geometry.Geometry` knows that does not need the points at hand.

    Parameters
    ----------
    holder : Holder
        Of the problem's groups.
    problem : Problem

    Attributes
    ----------
    holder : Holder
        The same, or one of points about their middle where that is far from the origin.
    """

    def __init__(self, holder: Holder, problem: Problem) -> None:
        self.weight = problem.weight.astype(np.float64, copy=False)
        self.n_clusters = problem.n_clusters
        origin = np.zeros(holder.n_features)
        total, sums, *_ = _added(holder, origin)
        self.total_weight = total
        self.middle = sums / total
        self._local = self.middle
        _, _, self.spread, self._gram, self._heaviest = _added(holder, self.middle)
        if self.middle @ self.middle * total > FAR * self.spread:
            holder = holder.transform(shifted, self.middle)
            self._local = origin
        self.holder = holder

    @property
    def local(self) -> FloatArray:
        """The middle in the coordinates of the shards."""
        local: FloatArray = self._local
        return local

    def sample(self, size: int) -> FloatArray:
        """About so many of the points, evenly spaced."""
        m = sum(self.holder.lengths)
        return self.rows(np.arange(0, m, max(1, m // size)))

    def rows(self, rows: IntArray) -> FloatArray:
        """Some of the points, given by sorted numbers."""
        parts = self.holder.map(rows_of, each=[(own,) for own in by_shard(self.holder, rows)])
        return np.concatenate(parts)

    def leading_variance(self, n_steps: int = 20) -> float:
        """Largest eigenvalue of the weighted covariance, by power iteration."""
        if self.spread <= 0.0:
            return 0.0
        direction, variance = self._heaviest, 0.0
        for _ in range(n_steps):
            length = np.linalg.norm(direction)
            if length == 0.0:
                break
            direction = direction / length
            image = self._gram @ direction
            variance = float(direction @ image) / self.total_weight
            direction = image
        return variance


def by_shard(holder: Holder, rows: IntArray) -> list[IntArray]:
    """Sorted numbers of rows, cut by shard and counted from its first row."""
    first = starts(holder)
    cuts = np.searchsorted(rows, first)
    return [rows[a:b] - start for a, b, start in zip(cuts[:-1], cuts[1:], first[:-1], strict=True)]


def _added(
    holder: Holder, about: FloatArray
) -> tuple[float, FloatArray, float, FloatArray, FloatArray]:
    """Moments of all shards, and the heaviest row of all."""
    parts: list[Any] = holder.map(moments, about)
    total, sums, spread, gram, heaviest = zip(*parts, strict=True)
    top = max(heaviest, key=lambda found: found[0])[1]
    return sum(total), reduce(add, sums), sum(spread), reduce(add, gram), top
