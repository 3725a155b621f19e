"""What depends on the distance: centres, costs, and how the objective changes.

Everything else sees costs of rows in clusters and nothing of how they are made.  A distance whose
costs are linear in the features, ``offset_j - 2 p . c_j`` up to a constant of the row, runs through
every solver, the kernels of ADMM included; it is one new class with these methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import kmeans_plusplus

from .._typing import BoolArray, FloatArray, IntArray, Matrix

#: Sums of the points of clusters, (k, d), computed only where they are needed.
Sums = Callable[[], FloatArray]
#: Least stiffness of a cluster of all points, as a part of their weight.  Points that lie around
#: the centre of a sphere have none; a smaller number starts ADMM with a larger ridge for them.
LEAST_STIFFNESS = 0.1


class Distance(Protocol):
    """Costs linear in the features, and the centres that make them least.

    Centres are held relative to an origin, the mean of all points; ``local`` is that origin in the
    coordinates of the points at hand.  ``mass`` is the weight of a cluster where sums of points
    come with it.  Where squared distances come with it, it is what :meth:`stiffness` gives.
    """

    def about(self, mean: FloatArray) -> Distance:
        """The same distance in coordinates about this point."""

    def stiffness(self, sums: Sums, mass: FloatArray, local: FloatArray) -> FloatArray:
        """How stiff clusters hold their centres, (k,), from sums of points and of weights.

        A centre that is off by s costs the cluster ``stiffness * |s|^2`` more than its best one.
        """

    def joined(
        self, means: Matrix, weight: FloatArray, count: IntArray
    ) -> tuple[Matrix, FloatArray, float]:
        """Means of so many rows each as points with weights, and what these leave out of the costs.

        In every cluster, the rows of a group cost what the point does and a constant.
        """

    def beyond(self, centers: FloatArray, before: FloatArray, step: float) -> FloatArray:
        """Centres moved on, by this part of their way from where they were before."""

    def offsets(self, centers: FloatArray, local: FloatArray) -> FloatArray:
        """The part of the costs that depends on the cluster alone, (k,)."""

    def centres(
        self, sums: FloatArray, mass: FloatArray, local: FloatArray, fallback: FloatArray | None
    ) -> FloatArray:
        """Best centres from sums of points and of weights; without weight, the fallback."""

    def between(self, centers: FloatArray, others: FloatArray) -> FloatArray:
        """Squared distances between centres, (k, l)."""

    def gained(self, mass: FloatArray, centers: FloatArray, means: FloatArray) -> FloatArray:
        """How far the objective falls when each centre moves to the mean of its cluster, (k,)."""

    def move_gains(
        self, weight: FloatArray, mass: FloatArray, labels: IntArray, squares: FloatArray
    ) -> FloatArray:
        """How far the objective falls when group g moves to cluster j, (m, k)."""

    def squares(self, points: FloatArray, centers: FloatArray) -> FloatArray:
        """Squared distances of points (c, s, d) to centres (c, k, d), (c, s, k)."""

    def arrivals(self, weight: FloatArray, mass: FloatArray, squares: FloatArray) -> FloatArray:
        """How far the objective rises when a group joins a cluster at this squared distance."""

    def following(
        self, weight: FloatArray, mass: FloatArray, stays: BoolArray, squares: FloatArray
    ) -> FloatArray:
        """Factors of costs that tell how the objective changes when groups move, centres following.

        ``mass`` is that of the cluster, which holds the group already where it ``stays``.
        """

    def swap_gains(self, first: SwapSide, second: SwapSide, inner: FloatArray) -> FloatArray:
        """How far it falls when groups of two clusters change places, (g, h).

        ``inner`` has their inner products about the centre of the first cluster.
        """

    def swap_limits(self, reach: FloatArray, rest: FloatArray) -> FloatArray:
        """The most that centres can gain by following a swap of two clusters, (k, k).

        ``reach[a, b]`` is the largest weight times distance of a group of a to the centre of b,
        and ``rest`` is the least mass that a swap leaves each cluster.
        """

    def replaced(
        self, mass: FloatArray, arriving: Side, leaving: Side, apart: FloatArray | None = None
    ) -> FloatArray:
        """How far the inertia of clusters rises when one group arrives and another leaves.

        ``apart`` has the squared distances between the two; without it, a lower bound is given.
        """


@dataclass(frozen=True)
class Side:
    """Groups that arrive at clusters or leave them, one a cluster."""

    weight: FloatArray
    square: FloatArray  # squared distances to the centres of these clusters


#: No group at all.
NOBODY = Side(np.zeros(1), np.zeros(1))


@dataclass(frozen=True)
class SwapSide:
    """Some groups of one cluster that may change places with groups of another."""

    weight: FloatArray  # (g,)
    mass: float  # of their cluster
    here: FloatArray  # squared distances to the centre of their own cluster, (g,)
    there: FloatArray  # and to that of the other, (g,)


class SquaredEuclidean:
    """Squared Euclidean distance to the mean: k-means."""

    def about(self, mean: FloatArray) -> Distance:
        """The same: a shift of the data changes nothing."""
        return self

    def stiffness(self, sums: Sums, mass: FloatArray, local: FloatArray) -> FloatArray:
        """The weight of the cluster (Huygens)."""
        return mass

    def joined(
        self, means: Matrix, weight: FloatArray, count: IntArray
    ) -> tuple[Matrix, FloatArray, float]:
        """As they are."""
        return means, weight, 0.0

    def beyond(self, centers: FloatArray, before: FloatArray, step: float) -> FloatArray:
        """On the straight line."""
        return centers + step * (centers - before)

    def offsets(self, centers: FloatArray, local: FloatArray) -> FloatArray:
        """``|mu_j|^2 + 2 mu_j . local``: what ``|p - mu_j|^2`` has besides ``p``."""
        norms: FloatArray = (centers * centers).sum(axis=1) + 2.0 * (centers @ local)
        return norms

    def centres(
        self, sums: FloatArray, mass: FloatArray, local: FloatArray, fallback: FloatArray | None
    ) -> FloatArray:
        """Weighted means; the origin where there is neither weight nor a fallback."""
        tiny = mass <= np.finfo(float).tiny
        centers: FloatArray = sums / np.where(tiny, 1.0, mass)[:, None] - local
        centers[tiny] = 0.0 if fallback is None else fallback[tiny]
        return centers

    def between(self, centers: FloatArray, others: FloatArray) -> FloatArray:
        """Squared Euclidean distances."""
        squares: FloatArray = cdist(centers, others, "sqeuclidean")
        return squares

    def gained(self, mass: FloatArray, centers: FloatArray, means: FloatArray) -> FloatArray:
        """``W_j |mu_j' - mu_j|^2`` (Huygens)."""
        gains: FloatArray = mass * ((means - centers) ** 2).sum(axis=1)
        return gains

    def move_gains(
        self, weight: FloatArray, mass: FloatArray, labels: IntArray, squares: FloatArray
    ) -> FloatArray:
        """``w W_a / (W_a - w) |p - mu_a|^2 - w W_b / (W_b + w) |p - mu_b|^2`` (Hartigan)."""
        rest = mass[labels] - weight
        # A group alone in its cluster gains nothing by leaving it.
        leave = np.where(rest > 0, weight * mass[labels] / np.where(rest > 0, rest, 1.0), 0.0)
        own = squares[np.arange(len(labels)), labels]
        gains: FloatArray = (leave * own)[:, None] - self.arrivals(weight[:, None], mass, squares)
        return gains

    def squares(self, points: FloatArray, centers: FloatArray) -> FloatArray:
        """``|p|^2 - 2 p . mu + |mu|^2``."""
        squares: FloatArray = -2.0 * (points @ centers.swapaxes(1, 2))
        squares += np.square(points).sum(axis=2)[:, :, None]
        squares += np.square(centers).sum(axis=2)[:, None, :]
        return np.maximum(squares, 0.0, out=squares)

    def arrivals(self, weight: FloatArray, mass: FloatArray, squares: FloatArray) -> FloatArray:
        """``w W / (W + w) |p - mu|^2``."""
        rise: FloatArray = weight * mass / (mass + weight + 1e-300) * squares
        return rise

    def following(
        self, weight: FloatArray, mass: FloatArray, stays: BoolArray, squares: FloatArray
    ) -> FloatArray:
        """``W / (W - w)`` of the own cluster and ``W / (W + w)`` of others (Hartigan).

        A group alone in its cluster costs nothing there.
        """
        other = np.where(stays, mass - weight, mass + weight)
        return np.divide(mass, other, out=np.ones_like(mass), where=other > 0)

    def swap_gains(self, first: SwapSide, second: SwapSide, inner: FloatArray) -> FloatArray:
        """``|S_a'|^2/W_a' + |S_b'|^2/W_b' - |S_a|^2/W_a - |S_b|^2/W_b``, g of a and h of b.

        Written about ``mu_a`` and ``mu_b``, where ``S_a`` and ``S_b`` vanish: then
        ``S_j' = +-(w_h (p_h - mu_j) - w_g (p_g - mu_j))``.  ``inner``, which is
        ``(p_g - mu_a) . (p_h - mu_a)``, is written over.
        """
        w_g, w_h = first.weight[:, None], second.weight[None, :]
        ga, gb, ha, hb = first.here[:, None], first.there[:, None], second.there, second.here
        gain: FloatArray = (ga - gb) * w_g + (hb - ha) * w_h
        shift = w_g**2 * ga + w_h**2 * ha - 2.0 * w_g * w_h * inner
        gain += _quotient(shift, first.mass + (w_h - w_g))
        # The inner product about mu_b follows from the distances.
        inner += 0.5 * ((gb - ga) + (hb - ha))
        shift = w_g**2 * gb + w_h**2 * hb - 2.0 * w_g * w_h * inner
        gain += _quotient(shift, second.mass - (w_h - w_g))
        return gain

    def swap_limits(self, reach: FloatArray, rest: FloatArray) -> FloatArray:
        """``|w_h (p_h - mu_a) - w_g (p_g - mu_a)|^2 / W_a'`` by the triangle inequality."""
        own = np.diagonal(reach)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_each = np.where(rest > 0.0, (reach + own) ** 2 / rest, np.inf)
        limits: FloatArray = of_each + of_each.T
        return limits

    def replaced(
        self, mass: FloatArray, arriving: Side, leaving: Side, apart: FloatArray | None = None
    ) -> FloatArray:
        """``w_y |y|^2 - w_x |x|^2 - |w_y y - w_x x|^2 / (W + w_y - w_x)`` about the centre.

        The last term is what the centre gains by moving.  It is largest where x and y lie on
        opposite sides of the centre.
        """
        x, y = leaving, arriving
        if apart is None:
            inner = -np.sqrt(x.square * y.square)
        else:
            inner = 0.5 * (x.square + y.square - apart)
        out, into = x.weight * x.square, y.weight * y.square
        shift = x.weight * out + y.weight * into - 2.0 * x.weight * y.weight * inner
        rise: FloatArray = into - out - _quotient(shift, mass + (y.weight - x.weight))
        return rise


def _quotient(shift: FloatArray, rest: FloatArray) -> FloatArray:
    """``shift / rest``, 0 where no weight is left."""
    return np.divide(shift, rest, out=np.zeros_like(shift), where=rest > 0)


#: The distance of k-means.
EUCLIDEAN = SquaredEuclidean()


def stiffness_of_all(distance: Distance, weight: float, local: FloatArray) -> float:
    """The stiffness of one cluster of all points, given their weight and their mean."""
    held = distance.stiffness(lambda: weight * local[None], np.array([weight]), local)
    return max(float(held[0]), LEAST_STIFFNESS * weight)


def plus_plus(
    points: Matrix, weight: FloatArray, n_clusters: int, random_state: np.random.RandomState
) -> FloatArray:
    """k-means++ seeds of points in memory; with fewer points than clusters, some occur twice."""
    k, m = n_clusters, points.shape[0]
    if m >= k:
        given = weight if weight.any() else np.ones(m)
        seeds, _ = kmeans_plusplus(points, k, sample_weight=given, random_state=random_state)
    else:
        seeds = points[np.concatenate([np.arange(m), random_state.randint(m, size=k - m)])]
    dense = seeds if isinstance(seeds, np.ndarray) else seeds.toarray()
    return dense.astype(np.float64)
