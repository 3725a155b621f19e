"""Distances between points of a sphere, and centres on it.

All groups are points of the sphere: rows that must-links join are one point in the direction of
their sum, with the length of the sum as weight.  So each group costs ``w |p - c|^2``
in a cluster with centre c, up to a constant, and the best centre has the direction of the
cluster's sum ``S = sum w p``.  With the radius r and ``sigma = |S| / r``, a cluster of weight W
costs ``2 r^2 (W - sigma)``.  At another centre of the sphere it costs ``sigma |s|^2`` more, s the
difference of the centres: sigma is its stiffness.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray, Matrix
from .algebra import HALF_DIGITS, row_lengths
from .distance import Distance, Sums


@dataclass(frozen=True)
class OnSphere(Distance):
    """Centres on a sphere; squared Euclidean distance where nothing else is said.

    ``origin`` is the centre of the sphere in the coordinates that centres are held in.
    """

    radius: float
    origin: FloatArray | float = 0.0

    def about(self, mean: FloatArray) -> OnSphere:
        """The sphere seen from this point."""
        return replace(self, origin=self.origin - mean)

    def centres(
        self, sums: FloatArray, mass: FloatArray, local: FloatArray, fallback: FloatArray | None
    ) -> FloatArray:
        """The points of the sphere in the direction of the sums.

        Where a sum has no direction it is the fallback, or the point in the direction of all.
        """
        sums = self._from_origin(sums, mass, local)
        length = np.sqrt((sums * sums).sum(axis=1))
        none = length <= HALF_DIGITS * self.radius * mass  # it is rounding
        centers = self._placed(sums)
        if none.any():
            centers[none] = self._placed(np.zeros((1, sums.shape[1])) - self.origin)[0]
            if fallback is not None:
                centers[none] = fallback[none]
        return centers

    def joined(
        self, means: Matrix, weight: FloatArray, count: IntArray
    ) -> tuple[Matrix, FloatArray, float]:
        """Means, which are inside the sphere, as points of it with less weight.

        ``w |p - c|^2 = w' |p' - c|^2 + w (r - |p|)^2`` for every c of the sphere, with ``p'`` in
        the direction of p and ``w' = w |p| / r``.  A mean that is zero costs the same everywhere
        and has no weight.
        """
        part = np.where(count > 1, row_lengths(means) / self.radius, 1.0)
        none = part <= HALF_DIGITS
        factor = (1.0 / np.where(none, 1.0, part)).astype(means.dtype)
        part[none] = 0.0
        if sparse.issparse(means):
            moved = sparse.csr_array(sparse.diags_array(factor) @ means)
        else:
            moved = means * factor[:, None]
        return moved, weight * part, float(weight @ (self.radius * (1.0 - part)) ** 2)

    def beyond(self, centers: FloatArray, before: FloatArray, step: float) -> FloatArray:
        """The straight line beyond the centre, brought back to the sphere."""
        moved = centers + step * (centers - before)
        return self._placed(moved - self.origin)

    def _from_origin(self, sums: FloatArray, mass: FloatArray, local: FloatArray) -> FloatArray:
        """Sums of points as seen from the centre of the sphere."""
        seen: FloatArray = sums - mass[:, None] * (local + self.origin)
        return seen

    def _placed(self, directions: FloatArray) -> FloatArray:
        """Points of the sphere in these directions; one without direction is on the first axis."""
        length = np.sqrt((directions * directions).sum(axis=-1, keepdims=True))
        none = length[..., 0] == 0.0
        placed: FloatArray = directions * (self.radius / np.where(length > 0.0, length, 1.0))
        placed[none, 0] = self.radius
        return placed + self.origin


class Chord(OnSphere):
    """Squared length of the chord; with the radius ``sqrt(1/2)`` it is one less the cosine."""

    def stiffness(self, sums: Sums, mass: FloatArray, local: FloatArray) -> FloatArray:
        """``|S| / r``."""
        seen = self._from_origin(sums(), mass, local)
        lengths: FloatArray = np.sqrt((seen * seen).sum(axis=1)) / self.radius
        return lengths
