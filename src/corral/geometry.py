"""Costs, means and objective of the contracted points: the k-means part of the problem.

Everything is computed about the weighted mean of the points, so that a shift of the data changes
nothing, and without a centred copy of them, so that CSR input stays sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import row_norms

from ._typing import FloatArray, IntArray, Matrix
from .constraints._checks import sums_by
from .problem import Problem

#: Data whose middle is so far out, against their spread, are centred in a copy: the difference of
#: large squares would lose too many digits.
FAR = 1e3
#: Up to so many entries, an array of memberships is made faster than a sparse matrix.
FEW_ENTRIES = 10_000


class Geometry:
    """The points of a problem with what every step needs of them, computed once.

    Attributes
    ----------
    middle : (d,) array
        Weighted mean of all points; centres are held relative to it.
    total_weight : float
    spread : float
        Weighted sum of the squared distances to ``middle``.
    """

    def __init__(self, problem: Problem) -> None:
        self.points = problem.points
        self.weight = problem.weight.astype(np.float64, copy=False)
        self.n_clusters = problem.n_clusters
        self.total_weight = float(self.weight.sum())
        weight = self.weight if self.total_weight > 0.0 else np.ones_like(self.weight)
        self.middle = np.asarray(weight @ self.points, np.float64) / weight.sum()
        self._local = self.middle
        self._square = self._squares()
        self.spread = float(self.weight @ self._square)
        far = self.middle @ self.middle * self.total_weight > FAR * self.spread
        if far and not sparse.issparse(self.points):
            self.points = (self.points - self.middle).astype(self.points.dtype)
            self._local = np.zeros_like(self.middle)
            self._square = self._squares()
            self.spread = float(self.weight @ self._square)

    def _squares(self) -> FloatArray:
        """Squared distances to the middle, zero where rounding could have made them."""
        size = row_norms(self.points, squared=True).astype(np.float64) + self._local @ self._local
        squares = size - 2.0 * (self.points @ self._local)
        rounding = 8.0 * np.finfo(self.points.dtype).eps * size
        return np.where(squares > rounding, squares, 0.0)

    @property
    def farthest(self) -> float:
        """Largest squared distance to the middle."""
        return float(self._square.max(initial=0.0))

    def centred(self, dtype: Any) -> FloatArray:
        """Dense points relative to the middle, in another precision."""
        moved: FloatArray = np.empty(self.points.shape, dtype)
        np.subtract(self.points, self._local, out=moved, casting="same_kind")
        return moved

    def distances(self, centers: FloatArray) -> FloatArray:
        """Squared distances ``|p_g - mu_j|^2`` as an (m, k) array."""
        twice = (-2.0 * centers).astype(self.points.dtype, copy=False)
        squares: FloatArray = np.asarray(self.points @ twice.T, np.float64)
        squares += (centers * centers).sum(axis=1) + 2.0 * (centers @ self._local)
        squares += self._square[:, None]
        return np.maximum(squares, 0.0, out=squares)

    def costs(self, centers: FloatArray) -> FloatArray:
        """What it costs to put group g into cluster j: its weight times the squared distance."""
        distances = self.distances(centers)
        distances *= self.weight[:, None]
        return distances

    def means(self, labels: IntArray, fallback: FloatArray | None = None) -> FloatArray:
        """Weighted means of the clusters; a cluster without weight keeps its fallback."""
        mass = sums_by(labels, self.weight, self.n_clusters)
        return self.centres(self._members(labels) @ self.points, mass, fallback)

    def _members(self, labels: IntArray) -> Matrix:
        """Weights of the groups in their clusters, (k, m)."""
        m = len(labels)
        if m * self.n_clusters <= FEW_ENTRIES:
            members = np.zeros((self.n_clusters, m))
            members[labels, np.arange(m)] = self.weight
            return members
        # Each column has one entry, so its parts are at hand and nothing needs sorting.
        return sparse.csc_array((self.weight, labels, np.arange(m + 1)), shape=(self.n_clusters, m))

    def cost_norms(self, centers: FloatArray) -> FloatArray:
        """The clusters' part of the costs, (k,).

        ``norms - 2 points @ centers'`` are the squared distances less what does not depend on
        the cluster.
        """
        norms: FloatArray = (centers * centers).sum(axis=1) + 2.0 * (centers @ self._local)
        return norms

    def sample(self, size: int) -> Matrix:
        """About so many of the points, evenly spaced."""
        return self.points[:: max(1, self.points.shape[0] // size)]

    def inertia(self, labels: IntArray, centers: FloatArray) -> float:
        """Weighted sum of the squared distances to the centre of one's own cluster."""
        own = self._square - 2.0 * self._inner_own(labels, centers)
        own += (centers * centers).sum(axis=1)[labels]
        return float(self.weight @ np.maximum(own, 0.0))

    def leading_variance(self, n_steps: int = 20) -> float:
        """Largest eigenvalue of the weighted covariance, by power iteration."""
        if self.spread <= 0.0:
            return 0.0
        heaviest = int(np.argmax(self.weight * self._square))
        direction = self.row(heaviest)
        variance = 0.0
        for _ in range(n_steps):
            length = np.linalg.norm(direction)
            if length == 0.0:
                break
            direction = direction / length
            along = self.weight * (self.points @ direction - self._local @ direction)
            image = along @ self.points - along.sum() * self._local
            variance = float(direction @ image) / self.total_weight
            direction = image
        return variance

    def centres(self, sums: Matrix, mass: FloatArray, fallback: FloatArray | None) -> FloatArray:
        """Means relative to the middle from sums of points and of weights.

        A cluster without weight has its fallback, or the middle.
        """
        dense = _dense(sums)
        tiny = mass <= np.finfo(float).tiny
        centers: FloatArray = dense / np.where(tiny, 1.0, mass)[:, None] - self._local
        centers[tiny] = 0.0 if fallback is None else fallback[tiny]
        return centers

    def inner(self, centers: FloatArray) -> FloatArray:
        """``(p_g - middle) . mu_j`` as an (m, k) array, in the precision of the points."""
        wanted = centers.astype(self.points.dtype, copy=False)
        inner: FloatArray = np.asarray(self.points @ wanted.T, np.float64)
        inner -= centers @ self._local
        return inner

    def _inner_own(self, labels: IntArray, centers: FloatArray) -> FloatArray:
        if sparse.issparse(self.points):
            return self.inner(centers)[np.arange(len(labels)), labels]
        own = centers[labels]
        inner: FloatArray = np.einsum("gd,gd->g", self.points, own) - own @ self._local
        return inner

    def row(self, group: int) -> FloatArray:
        """One of the points, dense and relative to the middle."""
        row: FloatArray = _dense(self.points[[group]])[0] - self._local
        return row

    def gram(self, groups: IntArray, others: IntArray, about: FloatArray) -> FloatArray:
        """Inner products ``(p_g - about) . (p_h - about)`` of some points with some others."""
        first, second = self.points[groups], self.points[others]
        origin = self._local + about
        products = _dense(first @ second.T)
        products -= (first @ origin)[:, None]
        products -= (second @ origin)[None, :]
        products += origin @ origin
        return products

    def halves(self, groups: IntArray, center: FloatArray) -> tuple[float, FloatArray]:
        """Cut a cluster across its longest axis: the inertia that saves, and the two means."""
        unsplit = 0.0, np.stack([center, center])
        weight, part, origin = self.weight[groups], self.points[groups], self._local + center
        if len(groups) < 2:
            return unsplit
        axis = self.row(int(groups[np.argmax(weight * self._square[groups])])) - center
        for _ in range(5):
            along = weight * (part @ axis - origin @ axis)
            axis = along @ part - along.sum() * origin
            length = np.linalg.norm(axis)
            if length == 0.0:
                return unsplit
            axis = axis / length
        side = part @ axis > origin @ axis
        sums = np.stack([(weight * side) @ part, (weight * ~side) @ part])
        mass = np.array([weight[side].sum(), weight[~side].sum()])
        if mass.min() <= 0.0:
            return unsplit
        means = sums / mass[:, None] - self._local
        return float(mass @ ((means - center) ** 2).sum(axis=1)), means


def _dense(rows: Matrix) -> FloatArray:
    """A few rows as an array of float64."""
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64)


def distances_to(points: Matrix, centers: FloatArray) -> FloatArray:
    """Euclidean distances (n, k); a point that is its centre up to rounding is at distance 0."""
    squares: FloatArray = euclidean_distances(points, centers, squared=True)
    size = row_norms(points, squared=True)[:, None] + row_norms(centers, squared=True)
    squares[squares <= 8.0 * np.finfo(squares.dtype).eps * size] = 0.0
    return np.sqrt(squares, out=squares)
