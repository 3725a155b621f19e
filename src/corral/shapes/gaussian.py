"""Gaussian clusters: each row costs minus twice the logarithm of its density.

A row x costs ``-2 log pi_j + log det S_j + (x - m_j)' S_j^-1 (x - m_j) + d log 2 pi`` in cluster j
(hard expectation maximisation).  Covariances are shrunk towards a target T, so that they stay
positive definite where a cluster has few rows in many features::

    S_j = (A_j + nu T) / (W_j + nu)

with the scatter A_j and the weight W_j of the cluster.  That is the best S_j if the prior
``nu (log det S_j + tr(T S_j^-1))`` is added to the objective, so every round lowers it.  The
weights are ``pi_j = (W_j + 1) / (W + k)``, the best with one more row in each cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, solve_triangular
from scipy.spatial.distance import cdist

from .._typing import BoolArray, FloatArray, IntArray
from ..deadline import NEVER, Deadline
from ..rows.distance import plus_plus
from ..rules import Rules
from ..search.model import Priced, table_model
from ..search.prices import DenseCosts

#: Part by which the correlations of the target are shrunk.  A larger part makes the clusters of few
#: rows less oblique.  With 0.02, 0.1 and 0.5 the ARI is 100, 100 and 99 on wine, 98 on iris, 79 on
#: ionosphere, and 35, 35 and 42 on Hepatitis, two draws each.
CORRELATION_SHRINKAGE = 0.1
#: Least variance of a feature inside the clusters, as a part of its variance over all rows.  A
#: larger part lets a feature that is constant inside the clusters decide less.  1e-5, 1e-3 and 1e-2
#: give the same ARI on wine, iris, ionosphere and Hepatitis.
LEAST_VARIANCE = 1e-3
#: Kinds of covariance, from the fewest parameters to the most.
COVARIANCES = ("spherical", "diag", "tied", "full")


@dataclass(frozen=True)
class Gaussians:
    """Clusters: weights (k,), means (k, d) and the lower Cholesky factors of the covariances.

    There is one factor, (1, d, d), if all clusters share it, and otherwise one for each.  Factors
    of diagonal covariances are their diagonals, (k, d), but matrices in pickles before 0.7.0.
    """

    weights: FloatArray
    means: FloatArray
    factors: FloatArray

    def covariances(self, kind: str) -> FloatArray:
        """Covariances in the shape that scikit-learn's mixtures give that kind."""
        if kind in ("diag", "spherical"):
            variances: FloatArray = self.diagonals**2
            return variances if kind == "diag" else variances[:, 0].copy()
        matrices: FloatArray = self.factors @ self.factors.transpose(0, 2, 1)
        return matrices if kind == "full" else np.asarray(matrices[0])

    @property
    def diagonals(self) -> FloatArray:
        """The diagonals of the factors, (k, d) or (1, d)."""
        return self.factors if self.factors.ndim == 2 else np.diagonal(self.factors, 0, 1, 2)

    def precisions(self, kind: str) -> FloatArray:
        """Inverses of the covariances, in the same shape."""
        if kind in ("diag", "spherical"):
            return 1.0 / self.covariances(kind)
        one = np.eye(self.means.shape[1])
        inverse = np.stack([cho_solve((factor, True), one) for factor in self.factors])
        return inverse if kind == "full" else np.asarray(inverse[0])

    def drawn(
        self, number: int, random_state: np.random.RandomState
    ) -> tuple[FloatArray, IntArray]:
        """Rows of the mixture, cluster by cluster, and their clusters."""
        share = self.weights / self.weights.sum()
        labels = np.repeat(np.arange(len(share)), random_state.multinomial(number, share))
        noise = random_state.normal(size=(number, self.means.shape[1]))
        for j in range(len(share)):
            factor, own = self.factors[j % len(self.factors)], labels == j
            noise[own] = noise[own] * factor if self.factors.ndim == 2 else noise[own] @ factor.T
        return self.means[labels] + noise, labels

    def densities(self, points: FloatArray) -> FloatArray:
        """Logarithm of ``pi_j`` times the density of each point in each cluster, (n, k)."""
        log: FloatArray = -0.5 * self._distances(points) - np.log(self.diagonals).sum(axis=1)
        log += np.log(self.weights) - 0.5 * points.shape[1] * np.log(2.0 * np.pi)
        return log

    def _distances(self, points: FloatArray) -> FloatArray:
        """Squared distances of Mahalanobis of each point and each mean, (n, k)."""
        if len(self.factors) == 1 and self.factors.ndim == 3:  # all points in the same coordinates
            middle, factor = self.means.mean(axis=0), self.factors[0]
            here, there = whitened(points - middle, factor), whitened(self.means - middle, factor)
            return np.asarray(cdist(here, there, "sqeuclidean"))
        found = np.empty((len(points), len(self.means)))
        for j, mean in enumerate(self.means):
            if self.factors.ndim == 2:
                found[:, j] = cdist(points, mean[None], "seuclidean", V=self.factors[j] ** 2)[:, 0]
                found[:, j] **= 2
            else:
                z = whitened(points - mean, self.factors[j])
                found[:, j] = np.einsum("ij,ij->i", z, z)
        return found


def whitened(points: FloatArray, factor: FloatArray) -> FloatArray:
    """Points in coordinates in which the covariance with this factor is the identity."""
    return np.asarray(solve_triangular(factor, points.T, lower=True, check_finite=False).T)


@dataclass(frozen=True)
class GaussianShape:
    """Gaussian clusters with covariances of one kind; a :class:`corral.search.shape.Shape`.

    Attributes
    ----------
    points : (n, d) array
    weight : (n,) array
    rules : Rules
        What groups the rows.
    kind : str
        One of :data:`COVARIANCES`.
    target : (d, d) array
        T.
    """

    points: FloatArray
    weight: FloatArray
    rules: Rules
    kind: str
    target: FloatArray

    @property
    def strength(self) -> float:
        """``nu``: rows that the target counts for, one a parameter of a row of the covariance."""
        return float(self.points.shape[1]) if self.kind == "full" else 1.0

    @property
    def follows(self) -> bool:
        """Moves see the costs in a table: covariances follow in the next round."""
        return False

    @property
    def among_groups(self) -> bool:
        """Means are no groups."""
        return False

    @property
    def mixes(self) -> bool:
        """Rows that are near each other belong together."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """Groups, and numbers that a cost depends on."""
        d = self.points.shape[1]
        return self.rules.n_groups, d + (d * (d + 1) // 2 if self.kind in ("full", "tied") else 0)

    @property
    def making(self) -> float:
        """Work of making all clusters from labels, in about nanoseconds."""
        return float(np.prod(self.shape))

    def priced(self, rules: Rules) -> Priced:
        """A table that every descent fills."""
        return table_model(rules)

    def clusters(self, labels: IntArray, known: Gaussians | None = None) -> Gaussians:
        """Weights, means and shrunk covariances; an empty one is at its known mean.

        Without known means it is at the row that is farthest from its own one.
        """
        rows, k = self.rules.to_rows(labels), self.rules.n_clusters
        mass, means = mass_and_means(self.points, self.weight, rows, k)
        scatter = self._scatter(rows, means)
        for j in np.flatnonzero(np.bincount(rows, minlength=k) == 0):
            gap = self._white - whitened(means, self._factor)[rows]
            far = self.weight * (gap**2).sum(axis=1)
            means[j] = self.points[far.argmax()] if known is None else known.means[j]
        nu = self.strength
        weights = (mass + 1.0) / (mass.sum() + k)
        if self.kind == "tied":
            mass = mass.sum(keepdims=True)
        if self.kind in ("tied", "full"):
            raised = (scatter + nu * self.target) / (mass + nu)[:, None, None]
            return Gaussians(weights, means, np.linalg.cholesky(raised))
        variances = (scatter + nu * np.diag(self.target)) / (mass + nu)[:, None]
        if self.kind == "spherical":
            variances = np.repeat(variances.mean(axis=1, keepdims=True), len(self.target), axis=1)
        return Gaussians(weights, means, np.sqrt(variances))

    def _scatter(self, rows: IntArray, means: FloatArray) -> FloatArray:
        """What the covariances need of the scatter of each cluster, by labels of the rows.

        Matrices (k, d, d) for "full", their sum (1, d, d) for "tied", and otherwise diagonals.
        """
        if self.kind == "full":
            return scatter_of(self.points, self.weight, rows, means)
        centred = means[rows]
        np.subtract(self.points, centred, out=centred)
        if self.kind == "tied":
            return np.asarray((centred * self.weight[:, None]).T @ centred)[None]
        return sums_by(rows, np.square(centred, out=centred), self.weight, len(means))

    def costs(self, clusters: Gaussians, deadline: Deadline = NEVER) -> DenseCosts:
        """Minus twice the weighted log densities, summed over the rows of each group."""
        return DenseCosts(self.table(clusters))

    def table(self, clusters: Gaussians) -> FloatArray:
        """The same as one array."""
        return self.some_costs(np.arange(self.rules.n_groups), clusters)

    def some_costs(self, groups: IntArray, clusters: Gaussians) -> FloatArray:
        """The same of some groups."""
        group, m = self.rules.row_groups, self.rules.n_groups
        place = np.full(m, -1)
        place[groups] = np.arange(len(groups))
        rows = slice(None) if len(groups) == m else np.flatnonzero(place[group] >= 0)
        cost = -2.0 * self.weight[rows, None] * clusters.densities(self.points[rows])
        summed = np.zeros((len(groups), cost.shape[1]))
        np.add.at(summed, place[group[rows]], cost)
        return summed

    def objective(self, labels: IntArray, clusters: Gaussians) -> float:
        """Costs and priors."""
        own = self.table(clusters)[np.arange(len(labels)), labels].sum()
        return float(own + self.penalty(clusters))

    def penalty(self, clusters: Gaussians) -> float:
        """The priors of covariances and weights."""
        prior = 2.0 * float(np.log(clusters.diagonals).sum())
        for factor in clusters.factors:
            if clusters.factors.ndim == 2:
                z = np.sqrt(np.diag(self.target)) / factor
            else:
                z = solve_triangular(factor, self._factor, lower=True, check_finite=False)
            prior += float((z * z).sum())
        return self.strength * prior - 2.0 * float(np.log(clusters.weights).sum())

    # Variations compare clusters by their means, in units of the target covariance.

    @cached_property
    def _factor(self) -> FloatArray:
        return np.asarray(np.linalg.cholesky(self.target))

    @cached_property
    def _white(self) -> FloatArray:
        """The rows, whitened."""
        return whitened(self.points, self._factor)

    @cached_property
    def _groups(self) -> tuple[FloatArray, FloatArray]:
        """Weights of the groups, and their means; without weight that of the rows."""
        group, m = self.rules.row_groups, self.rules.n_groups
        mass: FloatArray = np.bincount(group, self.weight, m).astype(np.float64)
        weight = np.where(mass[group] > 0.0, self.weight, 1.0)
        member = sparse.csr_array((weight, (group, np.arange(len(group)))), shape=(m, len(group)))
        return mass, np.asarray(member @ self.points) / member.sum(axis=1)[:, None]

    @cached_property
    def _white_groups(self) -> FloatArray:
        """The means of the groups, whitened."""
        return whitened(self._groups[1], self._factor)

    def own_costs(self, labels: IntArray, clusters: Gaussians) -> FloatArray:
        """Weight times squared distance to the own mean."""
        mass, _ = self._groups
        gap = self._white_groups - whitened(clusters.means, self._factor)[labels]
        return np.asarray(mass * (gap * gap).sum(axis=1))

    def gaps(self, clusters: Gaussians, others: Gaussians) -> FloatArray:
        """Squared distances of means."""
        here, there = whitened(clusters.means, self._factor), whitened(others.means, self._factor)
        return np.asarray(cdist(here, there, "sqeuclidean"))

    def some(self, clusters: Gaussians, chosen: IntArray) -> Gaussians:
        """Some of the clusters."""
        factors = clusters.factors if self.kind == "tied" else clusters.factors[chosen]
        return Gaussians(clusters.weights[chosen], clusters.means[chosen], factors)

    def seeded(
        self, groups: IntArray, number: int, random_state: np.random.RandomState
    ) -> IntArray:
        """By k-means++ and squared distances of the means of the groups."""
        mass, points = self._groups[0], self._white_groups[groups]
        seeds = plus_plus(points, mass[groups], number, random_state)
        return np.asarray(cdist(points, seeds, "sqeuclidean").argmin(axis=1))

    def mixed(self, first: Gaussians, second: Gaussians, mine: BoolArray) -> Gaussians:
        """Clusters of both; the covariance of all is that of the first."""
        weights = np.where(mine, first.weights, second.weights)
        means = np.where(mine[:, None], first.means, second.means)
        factors = first.factors
        if self.kind != "tied":
            mine = mine.reshape(-1, *(1,) * (factors.ndim - 1))
            factors = np.where(mine, factors, second.factors)
        return Gaussians(weights / weights.sum(), means, factors)

    def moved(self, clusters: Gaussians, cluster: int, group: int) -> Gaussians:
        """A mean on that of a group."""
        means = clusters.means.copy()
        means[cluster] = self._groups[1][group]
        return Gaussians(clusters.weights, means, clusters.factors)

    def part(self, groups: IntArray, n_clusters: int) -> None:
        """No rounds of a part: single moves are enough."""


def sums_by(
    labels: IntArray, values: FloatArray, weight: FloatArray, n_clusters: int
) -> FloatArray:
    """Weighted sum of the rows of values in each cluster, (k, d)."""
    n = len(labels)
    member = sparse.csr_array((weight, (labels, np.arange(n))), shape=(n_clusters, n))
    return np.asarray(member @ values)


def mass_and_means(
    points: FloatArray, weight: FloatArray, labels: IntArray, n_clusters: int
) -> tuple[FloatArray, FloatArray]:
    """Weight (k,) and mean (k, d) of each cluster; without weight both are 0."""
    mass = np.bincount(labels, weight, n_clusters).astype(np.float64)
    total = sums_by(labels, points, weight, n_clusters)
    return mass, total / np.where(mass > 0.0, mass, 1.0)[:, None]


def scatter_of(
    points: FloatArray, weight: FloatArray, labels: IntArray, means: FloatArray
) -> FloatArray:
    """Scatter (k, d, d) of each cluster around its mean."""
    d = points.shape[1]
    scatter = np.zeros((len(means), d, d))
    for j, mean in enumerate(means):
        own = labels == j
        centred = points[own] - mean
        scatter[j] = (centred * weight[own, None]).T @ centred
    return scatter


def target_of(
    points: FloatArray, weight: FloatArray, labels: IntArray, n_clusters: int
) -> FloatArray:
    """The pooled covariance of the clusters, with correlations shrunk.

    Variances are at least ``LEAST_VARIANCE`` of the feature's variance over all rows, so that a
    feature that is constant inside the clusters decides no more than a sharp one does.  A feature
    that is constant everywhere has the variance 1, which changes nothing.
    """
    mass, means = mass_and_means(points, weight, labels, n_clusters)
    centred = points - means[labels]
    pooled = (centred * weight[:, None]).T @ centred / mass.sum()
    middle = weight @ points / mass.sum()
    total = weight @ (points - middle) ** 2 / mass.sum()
    varies = (total > 0.0) & (points != points[0]).any(axis=0)
    least = np.where(varies, LEAST_VARIANCE * total, 1.0)
    target: FloatArray = (1.0 - CORRELATION_SHRINKAGE) * pooled
    np.fill_diagonal(target, np.maximum(np.diag(pooled), least))
    return target


def parameters_of(kind: str, n_clusters: int, n_features: int) -> int:
    """Free parameters of weights, means and covariances."""
    k, d = n_clusters, n_features
    full = d * (d + 1) // 2
    covariances = {"spherical": k, "diag": k * d, "tied": full, "full": k * full}
    return k - 1 + k * d + covariances[kind]
