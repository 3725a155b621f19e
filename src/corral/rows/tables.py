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
from ..settings import LIMITS
from .algebra import rounded_off
from .memory import MemoryRows
from .metrics import METRICS, Metric
from .passes import Ask, Where, brought, on_points
from .protocol import Table
from .shard import Each, Shards, moved
from .shards import ShardRows, contracted_shards, fetch


class MemoryTable:
    """Rows in this process's memory, dense or CSR; see :class:`.protocol.Table`.

    ``reach`` is a magnitude besides those of the points that the scale has to suit.
    """

    place = "memory"

    def __init__(
        self,
        points: Matrix,
        weight: FloatArray | None = None,
        reach: float = 0.0,
        metric: Metric = METRICS["euclidean"],
    ) -> None:
        self.points, self.weight, self.reach, self.metric = points, weight, reach, metric
        self.lengths: Sequence[int] = [int(points.shape[0])]
        self.n_features, self.dtype = int(points.shape[1]), points.dtype

    @cached_property
    def scale(self) -> Scale:
        """The units of the solvers."""
        size = 1.0 if self.metric.bounded else max(largest(self.points), self.reach)
        return Scale.of(size, self.weight, self.dtype)

    def measured(self, metric: Metric) -> MemoryTable:
        """The same by another metric."""
        return MemoryTable(self.points, self.weight, self.reach, metric)

    def rows(self, group: IntArray | None) -> MemoryRows:
        """The contracted points."""
        weight = None if self.weight is None else times(self.weight, -self.scale.weight)
        points = self.metric.embedded(times(self.points, -self.scale.points))
        return self.metric.rows.of(points, weight, group, self.metric.distance)

    def home(self) -> Self:
        """The same: it is in memory already."""
        return self

    def beside(self, centers: FloatArray) -> MemoryTable:
        """The same with a scale that suits the centres, too."""
        return MemoryTable(self.points, self.weight, largest(centers), self.metric)

    def map_points(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """The result for the one piece."""
        (own,) = [()] if each is None else each
        return [function(self.points, *args, *own)]

    def nearest(self, centers: FloatArray) -> IntArray:
        """Nearest centre of each row."""
        unit = -self.beside(centers).scale.points
        points, centers = times(self.points, unit), times(centers, unit)
        found = pairwise_distances_argmin(self.metric.embedded(points), self.metric.taken(centers))
        return np.asarray(found, np.int32)


class ShardTable:
    """Rows that a backend keeps in shards; see :class:`.protocol.Table`."""

    def __init__(
        self,
        shards: Shards,
        weight: FloatArray | None,
        place: str,
        metric: Metric = METRICS["euclidean"],
    ) -> None:
        self.shards, self.weight, self.place, self.metric = shards, weight, place, metric
        self.lengths, self.n_features, self.dtype = shards.lengths, shards.n_features, shards.dtype

    @cached_property
    def _largest(self) -> float:
        return 1.0 if self.metric.bounded else float(max(self.shards.map(on_points, largest)))

    def measured(self, metric: Metric) -> ShardTable:
        """The same by another metric."""
        return ShardTable(self.shards, self.weight, self.place, metric)

    @cached_property
    def scale(self) -> Scale:
        """The units of the solvers."""
        return Scale.of(self._largest, self.weight, self.dtype)

    def _embedded(self, power: int) -> Shards:
        """Points as the solvers see them, in units of a power of two."""
        if self.metric.bounded:
            return self.shards.transform(moved, self.metric.embedded)
        return self.shards.transform(moved, times, power) if power else self.shards

    def rows(self, group: IntArray | None) -> ShardRows:
        """The points, contracted where they are."""
        weight = None if self.weight is None else times(self.weight, -self.scale.weight)
        points = self._embedded(-self.scale.points)
        return contracted_shards(points, weight, group, self.metric.distance)

    def home(self) -> MemoryTable:
        """All rows in this process's memory, in their precision."""
        points = fetch(self.shards, np.arange(sum(self.lengths)))
        points = points.astype(self.dtype, copy=False)
        return MemoryTable(points, self.weight, metric=self.metric)

    def map_points(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """The results for the shards, computed where these are."""
        return self.shards.map(on_points, function, *args, each=each)

    def nearest(self, centers: FloatArray) -> IntArray:
        """Nearest centre of each row, found where it is."""
        reach = 1.0 if self.metric.bounded else max(self._largest, largest(centers))
        unit = -exponent_of(reach, self.dtype)
        centers = self.metric.taken(times(centers, unit))
        middle = centers.mean(axis=0, dtype=np.float64)
        # Centres less their middle: single precision then keeps its digits far from the origin.
        local = centers - middle
        norms, none = (local * local).sum(axis=1) + 2.0 * (local @ middle), np.empty(0, np.int64)
        ask = Ask(local, norms, np.zeros((0, len(centers))), np.zeros(0), uuid4().hex)
        found = self._embedded(unit).map(brought, Where(ask, ask.key), (none, none))
        return np.concatenate(found)


def distances_to(
    points: Matrix, centers: FloatArray, metric: Metric = METRICS["euclidean"]
) -> FloatArray:
    """Distances (n, k); a point that is its centre up to rounding is at distance 0."""
    reach = 1.0 if metric.bounded else max(largest(points), largest(centers))
    dtype, unit = points.dtype, exponent_of(reach, points.dtype)
    points = metric.embedded(times(points, -unit))
    centers = metric.taken(times(centers, -unit))
    squares: FloatArray = euclidean_distances(points, centers, squared=True)
    size = row_norms(points, squared=True)[:, None] + row_norms(centers, squared=True)
    squares = rounded_off(squares, size, squares.dtype)
    distances: FloatArray = times(metric.lengths(squares), unit)
    return distances.astype(dtype, copy=False) if metric.bounded else distances


def measured(table: Table, name: str, names: Any, columns: Any) -> Table:
    """The rows by the metric of that name; ValueError if they have no place in it.

    ``names`` are those of the rows and ``columns`` those of the features, None where there are
    only numbers.
    """
    LIMITS["metric"].check("metric", name)
    metric = METRICS[name]
    if not metric.bounded:
        return table
    metric.check_table(table, columns)
    start = 0
    for length, fault in zip(table.lengths, table.map_points(metric.fault), strict=True):
        if fault is not None:
            row = start + fault[0]
            called = "" if names is None else f" ({names[row]!r})"
            raise ValueError(f"row {row}{called} of X has {fault[1]}.")
        start += length
    return table.measured(metric)  # type: ignore[no-any-return]
