"""What moves of single groups ask of points in memory."""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import row_norms

from .._typing import FloatArray, IntArray, Matrix
from .algebra import as_dense
from .distance import Distance


class NearGroups:
    """Single groups of points in memory, and what changes when they move."""

    points: Matrix
    weight: FloatArray
    distance: Distance
    _square: FloatArray  # squared distances of the points to the middle, (m,)
    _local: FloatArray  # the point that centres are relative to, in the coordinates of the points

    def centres(self, sums: Matrix, mass: FloatArray, fallback: FloatArray | None) -> FloatArray:
        """Centres relative to the middle from sums of points and of weights."""
        return self.distance.centres(as_dense(sums), mass, self._local, fallback)

    def weighted(self, groups: IntArray) -> FloatArray:
        """Some of the points times their weights."""
        return self.weight[groups, None] * as_dense(self.points[groups])

    def arrivals(self, groups: IntArray, sums: FloatArray, mass: FloatArray) -> FloatArray:
        """How far the objective rises when a group joins a cluster, the centre moving along.

        Each row of ``groups``, (c, s), has clusters of its own: ``sums`` of points (c, k, d) and of
        weights (c, k).  The result is (c, s, k).
        """
        (c, s), (k, d) = groups.shape, sums.shape[1:]
        flat, of_each = sums.reshape(c * k, d), mass.ravel()
        centers = self.centres(flat, of_each, None).reshape(c, k, d)
        stiff = self.distance.stiffness(lambda: flat, of_each, self._local)
        held = stiff.reshape(c, 1, k)
        points = as_dense(self.points[groups.ravel()]).reshape(c, s, d) - self._local
        squares = self.distance.squares(points, centers)
        return self.distance.arrivals(self.weight[groups][:, :, None], held, squares)

    def follow_gains(self, change: Matrix, centers: FloatArray, mass: FloatArray) -> FloatArray:
        """How far the objective falls when centres follow changes of their clusters, (c,).

        Change c adds the weights of its row (c, m), negative for groups that leave, to a cluster
        with this centre and stiffness.
        """
        then = mass + np.asarray(change.sum(axis=1))
        sums = as_dense(change @ self.points) + mass[:, None] * (centers + self._local)
        means = self.centres(sums, then, centers)
        held = self.distance.stiffness(lambda: sums, then, self._local)
        return self.distance.gained(held, centers, means)

    def row(self, group: int) -> FloatArray:
        """One of the points, dense and relative to the middle."""
        row: FloatArray = as_dense(self.points[[group]])[0] - self._local
        return row

    def gram(self, groups: IntArray, others: IntArray, about: FloatArray) -> FloatArray:
        """Inner products ``(p_g - about) . (p_h - about)`` of some points with some others."""
        first, second = self.points[groups], self.points[others]
        origin = self._local + about
        products = as_dense(first @ second.T)
        products -= (first @ origin)[:, None]
        products -= (second @ origin)[None, :]
        products += origin @ origin
        return products

    def apart(self, groups: IntArray, others: IntArray) -> FloatArray:
        """Squared distances of points from others, one by one."""
        between = self.points[groups] - self.points[others]
        return np.asarray(row_norms(between, squared=True), np.float64)

    def halves(self, groups: IntArray, center: FloatArray) -> tuple[float, FloatArray]:
        """Cut a cluster across its longest axis: the inertia that saves, and the two centres."""
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
        means = self.centres(sums, mass, None)
        held = self.distance.stiffness(lambda: sums, mass, self._local)
        gained = self.distance.gained(held, np.stack([center, center]), means)
        return float(gained.sum()), means
