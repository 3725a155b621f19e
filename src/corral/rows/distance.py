"""What depends on the distance: centres, costs, and how the objective changes.

Everything else sees costs of rows in clusters and nothing of how they are made.  A distance whose
costs are linear in the features, ``offset_j - 2 p . c_j`` up to a constant of the row, runs through
every solver, the kernels of ADMM included; it is one new class of :class:`Distance`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from .._typing import FloatArray, IntArray, Matrix
from .algebra import as_dense, row_lengths

#: Sums of the points of clusters, (k, d), computed only where they are needed.
Sums = Callable[[], FloatArray]


class Distance:
    """Squared Euclidean distance to the mean: k-means; others say what is different about theirs.

    Costs are linear in the features.  Centres make them least and are held relative to an origin,
    the mean of all points; ``local`` is that origin in the coordinates of the points at hand.
    ``mass`` is the weight of a cluster where sums of points come with it.  Where squared distances
    come with it, it is what :meth:`stiffness` gives.
    """

    def about(self, mean: FloatArray) -> Distance:
        """The same distance in coordinates about this point; a shift changes nothing here."""
        return self

    def stiffness(self, sums: Sums, mass: FloatArray, local: FloatArray) -> FloatArray:
        """How stiff clusters hold their centres, (k,), from sums of points and of weights.

        A centre that is off by s costs the cluster ``stiffness * |s|^2`` more than its best one:
        here by its weight (Huygens).
        """
        return mass

    def joined(
        self, means: Matrix, weight: FloatArray, count: IntArray
    ) -> tuple[Matrix, FloatArray, float]:
        """Means of so many rows each as points with weights, and what these leave out of the costs.

        In every cluster, the rows of a group cost what the point does and a constant.
        """
        return means, weight, 0.0

    def beyond(self, centers: FloatArray, before: FloatArray, step: float) -> FloatArray:
        """Centres moved on, by this part of their way from where they were before."""
        return centers + step * (centers - before)

    def offsets(self, centers: FloatArray, local: FloatArray) -> FloatArray:
        """The clusters' part of the costs, (k,): ``|mu_j|^2 + 2 mu_j . local``."""
        norms: FloatArray = (centers * centers).sum(axis=1) + 2.0 * (centers @ local)
        return norms

    def centres(
        self, sums: FloatArray, mass: FloatArray, local: FloatArray, fallback: FloatArray | None
    ) -> FloatArray:
        """Best centres from sums of points and of weights; without weight, the fallback or 0."""
        tiny = mass <= np.finfo(float).tiny
        centers: FloatArray = sums / np.where(tiny, 1.0, mass)[:, None] - local
        centers[tiny] = 0.0 if fallback is None else fallback[tiny]
        return centers

    def between(self, centers: FloatArray, others: FloatArray) -> FloatArray:
        """Squared distances between centres, (k, l)."""
        squares: FloatArray = cdist(centers, others, "sqeuclidean")
        return squares

    def gained(self, mass: FloatArray, centers: FloatArray, means: FloatArray) -> FloatArray:
        """How far the objective falls when each centre moves to the mean of its cluster, (k,)."""
        gains: FloatArray = mass * ((means - centers) ** 2).sum(axis=1)
        return gains


#: The distance of k-means.
EUCLIDEAN = Distance()


def plus_plus(
    points: Matrix,
    weight: FloatArray,
    n_seeds: int,
    random_state: np.random.RandomState,
    known: FloatArray | None = None,
) -> FloatArray:
    """Seeds of points in memory by greedy k-means++, beside those that are known.

    Of a few candidates, drawn in proportion to weight and squared distance to the seeds so far, the
    one that leaves the smallest sum of these is taken.  Where all points are seeds, points are
    drawn again.
    """
    m, seeds = points.shape[0], np.empty((n_seeds, points.shape[1]))
    weight = weight if weight.any() else np.ones(m)
    # Dense points are centred: differences of large squares lose digits.
    middle = points.mean(axis=0, dtype=np.float64) if isinstance(points, np.ndarray) else 0.0
    about = points - middle if isinstance(points, np.ndarray) else points
    norms, begun, number = row_lengths(about) ** 2, known is not None, n_seeds
    closest: FloatArray = np.ones(m)
    if known is not None:
        closest, number = _squares(about, norms, known - middle).min(axis=1), n_seeds + len(known)
    trials = 2 + int(np.log(max(number, 1)))
    for j in range(n_seeds):
        chance = np.cumsum(weight * closest)
        chance = chance if chance[-1] > 0.0 else np.cumsum(weight)
        drawn = random_state.uniform(size=trials if begun else 1) * chance[-1]
        chosen = as_dense(about[np.minimum(np.searchsorted(chance, drawn, side="right"), m - 1)])
        left = _squares(about, norms, chosen)
        left = np.minimum(left, closest[:, None]) if begun else left
        best = int((weight @ left).argmin())
        closest, seeds[j], begun = left[:, best], chosen[best] + middle, True
    return seeds


def _squares(points: Matrix, norms: FloatArray, others: FloatArray) -> FloatArray:
    """Squared distances of points, with squared lengths, to a few others."""
    product = np.asarray(points @ others.T, np.float64)
    squares: FloatArray = norms[:, None] - 2.0 * product + (others * others).sum(axis=1)
    return np.maximum(squares, 0.0)
