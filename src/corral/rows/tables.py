"""The rows of X as the user gave them: in memory, or in shards elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self
from uuid import uuid4

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances, pairwise_distances_argmin
from sklearn.utils.extmath import row_norms

from .._scale import Scale, exponent_of, largest, times
from .._typing import FloatArray, IntArray, Matrix
from .memory import MemoryRows, contracted
from .shard import Each, Shards, multiplied
from .shard_passes import Ask, labels_of, on_points
from .shards import ShardRows, contracted_shards, fetch


class MemoryTable:
    """Rows in this process's memory, dense or CSR; see :class:`.protocol.Table`.

    ``reach`` is a magnitude besides those of the points that the scale has to suit.
    """

    place = "memory"

    def __init__(
        self, points: Matrix, weight: FloatArray | None = None, reach: float = 0.0
    ) -> None:
        self.points, self.weight, self.reach = points, weight, reach
        self.lengths: Sequence[int] = [int(points.shape[0])]
        self.n_features, self.dtype = int(points.shape[1]), points.dtype

    @cached_property
    def scale(self) -> Scale:
        """The units of the solvers."""
        return Scale.of(max(largest(self.points), self.reach), self.weight, self.dtype)

    def rows(self, group: IntArray | None) -> MemoryRows:
        """The contracted points."""
        weight = None if self.weight is None else times(self.weight, -self.scale.weight)
        return contracted(times(self.points, -self.scale.points), weight, group)

    def home(self) -> Self:
        """The same: it is in memory already."""
        return self

    def beside(self, centers: FloatArray) -> MemoryTable:
        """The same with a scale that suits the centres, too."""
        return MemoryTable(self.points, self.weight, largest(centers))

    def map_points(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """The result for the one piece."""
        (own,) = [()] if each is None else each
        return [function(self.points, *args, *own)]

    def nearest(self, centers: FloatArray) -> IntArray:
        """Nearest centre of each row."""
        unit = -self.beside(centers).scale.points
        found = pairwise_distances_argmin(times(self.points, unit), times(centers, unit))
        return np.asarray(found, np.int32)


class ShardTable:
    """Rows that a backend keeps in shards; see :class:`.protocol.Table`."""

    def __init__(self, shards: Shards, weight: FloatArray | None, place: str) -> None:
        self.shards, self.weight, self.place = shards, weight, place
        self.lengths, self.n_features, self.dtype = shards.lengths, shards.n_features, shards.dtype

    @cached_property
    def _largest(self) -> float:
        return float(max(self.shards.map(on_points, largest)))

    @cached_property
    def scale(self) -> Scale:
        """The units of the solvers."""
        return Scale.of(self._largest, self.weight, self.dtype)

    def _multiplied(self, power: int) -> Shards:
        return self.shards.transform(multiplied, power) if power else self.shards

    def rows(self, group: IntArray | None) -> ShardRows:
        """The points, contracted where they are."""
        weight = None if self.weight is None else times(self.weight, -self.scale.weight)
        return contracted_shards(self._multiplied(-self.scale.points), weight, group)

    def home(self) -> MemoryTable:
        """All rows in this process's memory, in their precision."""
        points = fetch(self.shards, np.arange(sum(self.lengths)))
        return MemoryTable(points.astype(self.dtype, copy=False), self.weight)

    def map_points(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """The results for the shards, computed where these are."""
        return self.shards.map(on_points, function, *args, each=each)

    def nearest(self, centers: FloatArray) -> IntArray:
        """Nearest centre of each row, found where it is."""
        unit = -exponent_of(max(self._largest, largest(centers)), self.dtype)
        centers = times(centers, unit)
        middle = centers.mean(axis=0, dtype=np.float64)
        # Centres less their middle: single precision then keeps its digits far from the origin.
        local = centers - middle
        norms = (local * local).sum(axis=1) + 2.0 * (local @ middle)
        ask = Ask(local, norms, np.zeros(len(centers)), key=uuid4().hex)
        none = np.empty(0, np.int64)
        return np.concatenate(self._multiplied(unit).map(labels_of, ask, none, none))


def distances_to(points: Matrix, centers: FloatArray) -> FloatArray:
    """Euclidean distances (n, k); a point that is its centre up to rounding is at distance 0."""
    unit = exponent_of(max(largest(points), largest(centers)), points.dtype)
    points, centers = times(points, -unit), times(centers, -unit)
    squares: FloatArray = euclidean_distances(points, centers, squared=True)
    size = row_norms(points, squared=True)[:, None] + row_norms(centers, squared=True)
    squares[squares <= 8.0 * np.finfo(squares.dtype).eps * size] = 0.0
    distances: FloatArray = times(np.sqrt(squares, out=squares), unit)
    return distances
