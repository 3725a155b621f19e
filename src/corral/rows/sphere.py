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

from .._typing import BoolArray, FloatArray, IntArray, Matrix
from .algebra import row_lengths
from .distance import Side, SquaredEuclidean, Sums, SwapSide

#: Length of a sum, as a part of its weight times the radius, below which it is rounding and has no
#: direction.
NO_DIRECTION = 1e-12


@dataclass(frozen=True)
class OnSphere(SquaredEuclidean):
    """Centres on a sphere; squared Euclidean distance where nothing else is said.

    ``origin`` is the centre of the sphere in the coordinates that centres are held in; None for
    the zero of these.
    """

    radius: float
    origin: FloatArray | None = None

    def about(self, mean: FloatArray) -> OnSphere:
        """The sphere seen from this point."""
        return replace(self, origin=(0.0 if self.origin is None else self.origin) - mean)

    def centres(
        self, sums: FloatArray, mass: FloatArray, local: FloatArray, fallback: FloatArray | None
    ) -> FloatArray:
        """The points of the sphere in the direction of the sums.

        Where a sum has no direction it is the fallback, or the point in the direction of all.
        """
        sums = self._from_origin(sums, mass, local)
        length = np.sqrt((sums * sums).sum(axis=1))
        none = length <= NO_DIRECTION * self.radius * mass
        centers = self._placed(sums)
        if none.any():
            centers[none] = self._placed(-self._origin(sums)[None])[0]
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
        none = part <= NO_DIRECTION
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
        return self._placed(moved - self._origin(moved))

    def _origin(self, like: FloatArray) -> FloatArray:
        return np.zeros(like.shape[-1]) if self.origin is None else self.origin

    def _from_origin(self, sums: FloatArray, mass: FloatArray, local: FloatArray) -> FloatArray:
        """Sums of points as seen from the centre of the sphere."""
        seen: FloatArray = sums - mass[:, None] * (local + self._origin(sums))
        return seen

    def _placed(self, directions: FloatArray) -> FloatArray:
        """Points of the sphere in these directions; one without direction is on the first axis."""
        length = np.sqrt((directions * directions).sum(axis=-1, keepdims=True))
        none = length[..., 0] == 0.0
        placed: FloatArray = directions * (self.radius / np.where(length > 0.0, length, 1.0))
        placed[none, 0] = self.radius
        return placed + self._origin(placed)


class Chord(OnSphere):
    """Squared length of the chord; with the radius ``sqrt(1/2)`` it is one less the cosine.

    All gains are exact.  A cluster of stiffness sigma that a group of weight w joins at squared
    distance s has then ``sigma'^2 = (sigma + w)^2 - sigma w s / r^2``, with -w if it leaves.
    """

    def stiffness(self, sums: Sums, mass: FloatArray, local: FloatArray) -> FloatArray:
        """``|S| / r``."""
        seen = self._from_origin(sums(), mass, local)
        lengths: FloatArray = np.sqrt((seen * seen).sum(axis=1)) / self.radius
        return lengths

    def move_gains(
        self, weight: FloatArray, mass: FloatArray, labels: IntArray, squares: FloatArray
    ) -> FloatArray:
        """What leaving saves less what arriving costs."""
        own = squares[np.arange(len(labels)), labels]
        saved = -self._risen(mass[labels], -weight, own)
        gains: FloatArray = saved[:, None] - self.arrivals(weight[:, None], mass, squares)
        return gains

    def arrivals(self, weight: FloatArray, mass: FloatArray, squares: FloatArray) -> FloatArray:
        """``2 r^2 (w + sigma - sigma')``."""
        return self._risen(mass, weight, squares)

    def following(
        self, weight: FloatArray, mass: FloatArray, stays: BoolArray, squares: FloatArray
    ) -> FloatArray:
        """The rise of an arrival, or the fall of leaving, by the cost at a centre that stays."""
        sign = np.where(stays, -1.0, 1.0)
        rise = sign * self._risen(mass, sign * weight, squares)
        cost = weight * squares
        # A point that is its centre costs nothing, whatever the factor.
        return np.divide(rise, cost, out=np.ones_like(rise), where=(cost > 0) & np.isfinite(cost))

    def swap_gains(self, first: SwapSide, second: SwapSide, inner: FloatArray) -> FloatArray:
        """``2 r^2 (sigma_a' + sigma_b' - sigma_a - sigma_b)``; ``inner`` is written over.

        With ``p . q = r^2 - |p - q|^2 / 2`` it needs the squared distance of g and h, which their
        inner product about ``mu_a`` tells.
        """
        w_g, w_h = first.weight[:, None], second.weight[None, :]
        ga, gb, ha, hb = first.here[:, None], first.there[:, None], second.there, second.here
        inner *= -2.0
        inner += ga + ha  # |p_g - p_h|^2
        arriving, leaving = Side(w_h, ha), Side(w_g, ga)
        gain: FloatArray = -self._replaced(first.mass, arriving, leaving, inner)
        gain -= self._replaced(second.mass, Side(w_g, gb), Side(w_h, hb), inner)
        return gain

    def swap_limits(self, reach: FloatArray, rest: FloatArray) -> FloatArray:
        """``|w_h (p_h - mu_a) - w_g (p_g - mu_a)|^2`` by the part of ``S_a'`` along ``mu_a``."""
        own, along = np.diagonal(reach), rest - reach / self.radius
        with np.errstate(divide="ignore", invalid="ignore"):
            of_each = np.where(along > 0.0, (reach + own) ** 2 / along, np.inf)
        limits: FloatArray = of_each + of_each.T
        return limits

    def replaced(
        self, mass: FloatArray, arriving: Side, leaving: Side, apart: FloatArray | None = None
    ) -> FloatArray:
        """``2 r^2 (w_y - w_x + sigma - sigma')``, y arriving and x leaving.

        Without ``apart`` the two lie on opposite sides of the centre, on a great circle with it.
        """
        if apart is None:
            apart = self._farthest(arriving.square, leaving.square)
        return self._replaced(mass, arriving, leaving, apart)

    def _replaced(
        self, mass: FloatArray | float, arriving: Side, leaving: Side, apart: FloatArray
    ) -> FloatArray:
        x, y = leaving, arriving
        then = mass + (y.weight - x.weight)
        lost = mass * (y.weight * y.square - x.weight * x.square) - x.weight * y.weight * apart
        return self._rise(then, lost)

    def _risen(self, mass: FloatArray, weight: FloatArray, squares: FloatArray) -> FloatArray:
        """Rise when a group of this weight, negative if it leaves, joins at a squared distance."""
        with np.errstate(invalid="ignore"):  # infinite squares are no candidates
            return self._rise(mass + weight, mass * weight * squares)

    def _rise(self, then: FloatArray, lost: FloatArray) -> FloatArray:
        """``2 r^2 (then - sigma')`` with ``sigma'^2 = then^2 - lost / r^2``.

        Written as a quotient where the difference would lose its digits.
        """
        sigma = np.sqrt(np.maximum(then * then - lost / self.radius**2, 0.0))
        both = then + sigma
        # Where ``then`` is negative, the points that stay lie opposite and nothing cancels.
        direct = 2.0 * self.radius**2 * (then - sigma)
        safe = then > 0.0
        rise: FloatArray = np.where(safe, 2.0 * lost / np.where(safe, both, 1.0), direct)
        return rise

    def _farthest(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Largest squared distance of two points at these squared distances from a third."""
        x, y = (1.0 - square / (2.0 * self.radius**2) for square in (first, second))
        least = x * y - np.sqrt(np.maximum(1.0 - x * x, 0.0) * np.maximum(1.0 - y * y, 0.0))
        cosine = np.where(x + y < 0.0, -1.0, least)
        farthest: FloatArray = 2.0 * self.radius**2 * (1.0 - cosine)
        return farthest
