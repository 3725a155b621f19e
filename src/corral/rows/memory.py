"""Rows in this process's memory, dense or CSR.

Everything is computed about the weighted mean of the points, so that a shift of the data changes
nothing, and without a centred copy of them, so that CSR input stays sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from .._typing import FloatArray, IntArray, Matrix
from ..constraints._checks import sums_by
from ..deadline import NEVER, Deadline
from ..numbers import BLOCK_ENTRIES, FAR
from ..rules import Contraction
from .algebra import as_dense, rounded_off
from .distance import EUCLIDEAN, Distance, plus_plus


@dataclass(frozen=True)
class Dense:
    """Costs as a matrix in memory."""

    matrix: FloatArray

    def dense(self) -> FloatArray:
        """The matrix."""
        return self.matrix


class MemoryRows:
    """Contracted points with what every step needs of them; see :class:`.protocol.Rows`."""

    far = False

    def __init__(
        self,
        points: Matrix,
        weight: FloatArray | None = None,
        scatter: float = 0.0,
        distance: Distance = EUCLIDEAN,
    ) -> None:
        if isinstance(points, np.ndarray):
            points = np.ascontiguousarray(points)  # other orders make every product slower
        elif not points.has_canonical_format:
            points = points.copy()
            points.sum_duplicates()  # and sort: inner products of two rows walk along both
        self.points, self.scatter = points, scatter
        self._given, self._given_distance = points, distance
        self.shape, self.dtype = (points.shape[0], points.shape[1]), points.dtype
        given = np.ones(points.shape[0]) if weight is None else weight
        self.weight: FloatArray = given.astype(np.float64, copy=False)
        self.total_weight = float(self.weight.sum())
        some = self.weight if self.total_weight > 0.0 else np.ones_like(self.weight)
        self.middle: FloatArray = np.asarray(some @ self.points, np.float64) / some.sum()
        self.distance, self._local = distance.about(self.middle), self.middle
        self._square = self._squares()
        self.spread = float(self.weight @ self._square)
        far = self.off_centre
        given_points: Any = points
        if far and sparse.issparse(points) and 2 * given_points.nnz > np.prod(self.shape):
            self.points = self._given = given_points.toarray()  # few of its entries are zero
        if far and not sparse.issparse(self.points):
            self.points = (self.points - self.middle).astype(self.dtype)
            self._local = np.zeros_like(self.middle)
            self._square = self._squares()
            self.spread = float(self.weight @ self._square)

    @classmethod
    def of(
        cls, points: Matrix, weight: FloatArray | None, group: IntArray | None, distance: Distance
    ) -> MemoryRows:
        """Join the rows of each group into one weighted point; with None none are joined."""
        if group is None:
            return MemoryRows(points, weight, distance=distance)
        means, total, count, scatter = Contraction(group).apply(points, weight)
        means, total, constant = distance.joined(means, total, count)
        return MemoryRows(means, total, scatter + constant, distance=distance)

    @property
    def off_centre(self) -> bool:
        """Whether the middle is so far from the origin that squares lose their digits."""
        return bool(self.middle @ self.middle * self.total_weight > FAR * self.spread)

    def _squares(self) -> FloatArray:
        """Squared distances to the middle, zero where rounding could have made them."""
        size = row_norms(self.points, squared=True).astype(np.float64) + self._local @ self._local
        return rounded_off(size - 2.0 * (self.points @ self._local), size, self.points.dtype)

    def single(self) -> MemoryRows:
        """The same in single precision, about their middle.

        Sparse rows stay as they are, and so do those whose squares would leave its range.
        """
        dense = isinstance(self.points, np.ndarray) and self.points.dtype == np.float64
        single, farthest = np.finfo(np.float32), float(self._square.max(initial=0.0))
        least, most = float(single.tiny / single.eps), float(single.max * single.eps)
        if not (dense and self.spread > least * self.total_weight and farthest < most):
            return self
        moved: FloatArray = np.empty(self.points.shape, np.float32)
        np.subtract(self.points, self._local, out=moved, casting="same_kind")
        return MemoryRows(moved, self.weight, self.scatter, self.distance)

    def part(self, groups: IntArray) -> MemoryRows:
        """As :meth:`take`: the rows are here."""
        return self.take(groups)

    def take(self, groups: IntArray) -> MemoryRows:
        """Without the scatter inside groups."""
        return MemoryRows(self._given[groups], self.weight[groups], distance=self._given_distance)

    def home(self) -> Self:
        """They are here."""
        return self

    @property
    def given(self) -> tuple[Matrix, Distance]:
        """Points and distance as they were given."""
        return self._given, self._given_distance

    def seeds(
        self,
        n_clusters: int,
        rows: IntArray,
        random_state: np.random.RandomState,
        known: FloatArray | None = None,
    ) -> FloatArray:
        """By k-means++; seeds that are known are given with the middle."""
        points, weight = self._given, self.weight
        if len(rows) < len(weight):
            points, weight = points[rows], weight[rows]
        return plus_plus(points, weight, n_clusters, random_state, known) - self.middle

    def distances(self, centers: FloatArray, deadline: Deadline = NEVER) -> FloatArray:
        """Squared distances ``|p_g - mu_j|^2`` as an (m, k) array; raises OutOfTime."""
        if self.shape[0] * len(centers) <= BLOCK_ENTRIES:
            return next(self._blocks(centers, deadline))
        found, done = np.empty((self.shape[0], len(centers))), 0
        for part in self._blocks(centers, deadline):
            found[done : done + len(part)] = part
            done += len(part)
        return found

    def _blocks(self, centers: FloatArray, deadline: Deadline) -> Iterator[FloatArray]:
        """Squared distances of some groups at a time."""
        twice = (-2.0 * centers).astype(self.points.dtype, copy=False).T
        offsets = self.distance.offsets(centers, self._local)
        for part in self._parts(len(centers), deadline):
            squares: FloatArray = np.asarray(self.points[part] @ twice, np.float64)
            squares += offsets
            squares += self._square[part, None]
            yield np.maximum(squares, 0.0, out=squares)

    def _parts(self, n_clusters: int, deadline: Deadline) -> Iterator[slice]:
        """The groups of each block; the deadline is asked between blocks."""
        m, step = self.shape[0], max(BLOCK_ENTRIES // n_clusters, 1)
        for start in range(0, m, step):
            if start:
                deadline.check()
            yield slice(start, min(start + step, m))

    def costs(self, centers: FloatArray, deadline: Deadline = NEVER) -> Dense:
        """Weight times squared distance."""
        distances = self.distances(centers, deadline)
        if not np.all(self.weight == 1.0):
            distances *= self.weight[:, None]
        return Dense(distances)

    def cost_blocks(self, centers: FloatArray, deadline: Deadline = NEVER) -> Iterator[FloatArray]:
        """Costs of some groups at a time, (b, k)."""
        start, alike = 0, bool(np.all(self.weight == 1.0))
        for block in self._blocks(centers, deadline):
            if not alike:
                block *= self.weight[start : start + len(block), None]
            start += len(block)
            yield np.ascontiguousarray(block, np.float64)

    def nearest(self, centers: FloatArray, deadline: Deadline = NEVER) -> IntArray:
        """The nearest centre of each group."""
        parts = [part.argmin(axis=1) for part in self._blocks(centers, deadline)]
        return np.concatenate(parts)

    def offsets(self, centers: FloatArray) -> FloatArray:
        """``offsets - 2 points @ centers'`` are the costs but for a constant of each row."""
        return self.distance.offsets(centers, self._local)

    def means(
        self, labels: IntArray, n_clusters: int, fallback: FloatArray | None = None
    ) -> FloatArray:
        """Centres of the clusters; one without weight keeps its fallback."""
        return self.centres(self.sums(labels, n_clusters), self.mass(labels, n_clusters), fallback)

    def centres(self, sums: Matrix, mass: FloatArray, fallback: FloatArray | None) -> FloatArray:
        """Centres relative to the middle from sums of points and of weights."""
        return self.distance.centres(as_dense(sums), mass, self._local, fallback)

    def measured(
        self, labels: IntArray, n_clusters: int, centers: FloatArray
    ) -> tuple[FloatArray, float]:
        """Means, and the inertia there."""
        means = self.means(labels, n_clusters, centers)
        return means, self.inertia(labels, means)

    def sums(self, labels: IntArray, n_clusters: int) -> FloatArray:
        """Weighted sums of the points of each cluster, (k, d)."""
        m = len(labels)
        # Each column has one entry, so its parts are at hand and nothing needs sorting.
        entries = self.weight, labels, np.arange(m + 1)
        return as_dense(sparse.csc_array(entries, shape=(n_clusters, m)) @ self.points)

    def mass(self, labels: IntArray, n_clusters: int) -> FloatArray:
        """Weight of each cluster."""
        return sums_by(labels, self.weight, n_clusters)

    def inertia(self, labels: IntArray, centers: FloatArray) -> float:
        """Weighted sum of the squared distances to the centre of the own cluster."""
        return float(self.own_costs(labels, centers).sum())

    def own_costs(self, labels: IntArray, centers: FloatArray) -> FloatArray:
        """What each group costs in its own cluster, (m,)."""
        own = self._square - 2.0 * self._inner_own(labels, centers)
        own += self.distance.offsets(centers, np.zeros_like(self._local))[labels]
        return self.weight * np.maximum(own, 0.0)

    def _inner_own(self, labels: IntArray, centers: FloatArray) -> FloatArray:
        """``(p_g - middle) . mu_j`` of the own cluster j, (m,)."""
        if sparse.issparse(self.points):
            stored: Any = self.points  # a product with all centres would be an (m, k) array
            row = np.repeat(np.arange(len(labels)), np.diff(stored.indptr))
            products = stored.data * centers[labels[row], stored.indices]
            inner: FloatArray = sums_by(row, products, len(labels))
            inner -= (centers @ self._local)[labels]
            return inner
        own = centers[labels]
        alone: FloatArray = np.einsum("gd,gd->g", self.points, own) - own @ self._local
        return alone

    def row(self, group: int) -> FloatArray:
        """One of the points, dense and relative to the middle."""
        row: FloatArray = as_dense(self.points[[group]])[0] - self._local
        return row

    def sample(self, size: int) -> Matrix:
        """About so many of the points, evenly spaced."""
        return self.points[:: max(1, self.points.shape[0] // size)]

    def separation_scale(self) -> float:
        """About the largest eigenvalue of the weighted covariance, by power iteration."""
        value, moved = 0.0, self.row(int(np.argmax(self.weight * self._square)))
        if self.spread <= 0.0:
            return value
        for _ in range(20):
            length = np.linalg.norm(moved)
            if length == 0.0:
                break
            direction = moved / length
            along = self.weight * (self.points @ direction - self._local @ direction)
            moved = along @ self.points - along.sum() * self._local
            value = float(direction @ moved)
        return value / self.total_weight
