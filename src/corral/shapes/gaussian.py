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

import numpy as np
from scipy.linalg import solve_triangular

from .._typing import FloatArray, IntArray
from ..plan.shape_thresholds import CORRELATION_SHRINKAGE, LEAST_VARIANCE
from ..presolve import Rules

#: Kinds of covariance, from the fewest parameters to the most.
COVARIANCES = ("spherical", "diag", "tied", "full")


@dataclass(frozen=True)
class Gaussians:
    """Clusters: weights (k,), means (k, d) and the lower Cholesky factors of the covariances.

    There is one factor, (1, d, d), if all clusters share it, and otherwise one for each.
    """

    weights: FloatArray
    means: FloatArray
    factors: FloatArray

    def covariances(self, kind: str) -> FloatArray:
        """Covariances in the shape that scikit-learn's mixtures give that kind."""
        matrices: FloatArray = self.factors @ self.factors.transpose(0, 2, 1)
        if kind == "full":
            return matrices
        if kind == "tied":
            return np.asarray(matrices[0])
        variances: FloatArray = np.diagonal(matrices, axis1=1, axis2=2).copy()
        return variances if kind == "diag" else variances[:, 0]

    def densities(self, points: FloatArray) -> FloatArray:
        """Logarithm of ``pi_j`` times the density of each point in each cluster, (n, k)."""
        d = points.shape[1]
        log = np.empty((len(points), len(self.weights)))
        for j, mean in enumerate(self.means):
            factor = self.factors[j % len(self.factors)]
            z = solve_triangular(factor, (points - mean).T, lower=True, check_finite=False)
            log[:, j] = -0.5 * (z * z).sum(axis=0) - np.log(np.diag(factor)).sum()
        log += np.log(self.weights) - 0.5 * d * np.log(2.0 * np.pi)
        return log


@dataclass(frozen=True)
class GaussianShape:
    """Gaussian clusters with covariances of one kind; a :class:`.shape.Shape`.

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

    def clusters(self, labels: IntArray) -> Gaussians:
        """Weights, means and shrunk covariances."""
        rows, k = self.rules.to_rows(labels), self.rules.n_clusters
        mass, means, scatter = moments(self.points, self.weight, rows, k)
        nu = self.strength
        weights = (mass + 1.0) / (mass.sum() + k)
        if self.kind == "tied":
            mass, scatter = mass.sum(keepdims=True), scatter.sum(axis=0, keepdims=True)
        raised = (scatter + nu * self.target) / (mass + nu)[:, None, None]
        covariances = np.stack([_shaped(each, self.kind) for each in raised])
        return Gaussians(weights, means, np.linalg.cholesky(covariances))

    def costs(self, clusters: Gaussians) -> FloatArray:
        """Minus twice the weighted log densities, summed over the rows of each group."""
        cost = -2.0 * self.weight[:, None] * clusters.densities(self.points)
        if self.rules.group is None:
            return cost
        summed = np.zeros((self.rules.n_groups, cost.shape[1]))
        np.add.at(summed, self.rules.group, cost)
        return summed

    def penalty(self, clusters: Gaussians) -> float:
        """The priors of covariances and weights."""
        target = _shaped(self.target, self.kind)
        prior = 0.0
        for factor in clusters.factors:
            z = solve_triangular(factor, target, lower=True)
            trace = np.trace(solve_triangular(factor, z.T, lower=True))
            prior += float(2.0 * np.log(np.diag(factor)).sum() + trace)
        return self.strength * prior - 2.0 * float(np.log(clusters.weights).sum())


def moments(
    points: FloatArray, weight: FloatArray, labels: IntArray, n_clusters: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight (k,), mean (k, d) and scatter (k, d, d) of each cluster; without rows all are 0."""
    d = points.shape[1]
    mass, means = np.zeros(n_clusters), np.zeros((n_clusters, d))
    scatter = np.zeros((n_clusters, d, d))
    for j in range(n_clusters):
        own = labels == j
        mass[j] = weight[own].sum()
        if mass[j] > 0.0:
            means[j] = weight[own] @ points[own] / mass[j]
            centred = points[own] - means[j]
            scatter[j] = (centred * weight[own, None]).T @ centred
    return mass, means, scatter


def target_of(
    points: FloatArray, weight: FloatArray, labels: IntArray, n_clusters: int
) -> FloatArray:
    """The pooled covariance of the clusters, with correlations shrunk as the plan says.

    Variances are at least ``LEAST_VARIANCE`` of the feature's variance over all rows, so that a
    feature that is constant inside the clusters decides no more than a sharp one does.  A feature
    that is constant everywhere has the variance 1, which changes nothing.
    """
    mass, _, scatter = moments(points, weight, labels, n_clusters)
    pooled = scatter.sum(axis=0) / mass.sum()
    total = np.diag(moments(points, weight, np.zeros_like(labels), 1)[2][0]) / mass.sum()
    least = np.where(total > 0.0, LEAST_VARIANCE * total, 1.0)
    target: FloatArray = (1.0 - CORRELATION_SHRINKAGE) * pooled
    np.fill_diagonal(target, np.maximum(np.diag(pooled), least))
    return target


def parameters_of(kind: str, n_clusters: int, n_features: int) -> int:
    """Free parameters of weights, means and covariances."""
    k, d = n_clusters, n_features
    full = d * (d + 1) // 2
    covariances = {"spherical": k, "diag": k * d, "tied": full, "full": k * full}
    return k - 1 + k * d + covariances[kind]


def _shaped(covariance: FloatArray, kind: str) -> FloatArray:
    """The best covariance of that kind: its diagonal, or the mean of that."""
    if kind == "diag":
        return np.diag(np.diag(covariance))
    if kind == "spherical":
        covariance = np.eye(len(covariance)) * (np.trace(covariance) / len(covariance))
    return covariance
