"""MPCKMeans: k-means with a price on broken links and a learnt metric for each cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..settings import COUNT, NOT_NEGATIVE, POSITIVE
from .base import Answer, BestOfRuns, Links, Run, means, parameter
from .pckmeans import Prices, Sweeper, first_centers


@dataclass(eq=False, repr=False, kw_only=True)
class MPCKMeans(BestOfRuns):
    r"""Metric pairwise constrained k-means of Bilenko, Basu and Mooney, with diagonal metrics.

    Cluster h has the metric :math:`|v|_h^2 = \sum_f a_{hf} v_f^2`; the cost of point i there is
    :math:`|x_i - \mu_h|_h^2 - \sum_f \log a_{hf}`.  A broken must-link costs more if its points
    are far apart, a broken cannot-link if they are near:

    .. math:: f_M = \tfrac12 |x_i - x_j|_{z_i}^2 + \tfrac12 |x_i - x_j|_{z_j}^2, \qquad
              f_C = |x' - x''|_h^2 - |x_i - x_j|_h^2

    times their weights, with (x', x'') the two points farthest apart.  Assignment, means and
    metrics are computed in turn.

    Parameters
    ----------
    n_clusters : int, default=8
    weight : float, default=1.0
        Weight of hard links; links with a finite weight keep it.
    floor : float, default=0.01
        Smallest variance that a metric divides by, as a share of the feature's variance in all
        the data; without it, broken links can make the variance negative.
    n_init : int, default=10
        Restarts, of which the best is kept.
    max_iter : int, default=100
    random_state : int, RandomState or None, default=None
        Determines the order of the assignment, and the centres that are drawn at random.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    cluster_centers_ : (n_clusters, n_features) array
    metrics_ : (n_clusters, n_features) array
        The weights a.
    objective_ : float
    n_iter_ : int
    report_ : Report
        Links may be broken.

    References
    ----------
    M. Bilenko, S. Basu, R. Mooney, "Integrating constraints and metric learning in
    semi-supervised clustering", ICML 2004.

    Examples
    --------
    >>> from corral import MustLink
    >>> from corral.baselines import MPCKMeans
    >>> X = [[0.0, 1.0], [0.1, -1.0], [0.0, 0.0], [5.0, 1.0], [5.1, -1.0], [5.0, 0.0]]
    >>> model = MPCKMeans(n_clusters=2, random_state=0)
    >>> labels = model.fit(X, constraints=MustLink([(0, 1), (3, 4)])).labels_
    >>> bool(labels[0] == labels[2] != labels[5])
    True
    >>> (model.metrics_[:, 0] > model.metrics_[:, 1]).all()
    np.True_
    """

    _soft = True

    weight: float = parameter(1.0, NOT_NEGATIVE)
    floor: float = parameter(0.01, POSITIVE)
    max_iter: int = parameter(100, COUNT)

    def _prepare(self, X: FloatArray, rules: ConstraintSet) -> Run:
        links = Links.of(rules, self.weight)
        sweeper, pairs = Sweeper(links, len(X)), _Pairs(X, links)
        variance = X.var(axis=0)
        least = self.floor * np.where(variance > 0.0, variance, 1.0)

        def run(random_state: np.random.RandomState) -> Answer:
            centers = first_centers(X, links, self.n_clusters, random_state, spread=True)
            metrics = np.ones_like(centers)
            labels = np.full(len(X), -1)
            for n_iter in range(1, self.max_iter + 1):
                cost, prices = _costs(X, centers, metrics), pairs.prices(metrics)
                found = sweeper.assign(cost, prices, labels, random_state)
                total = sweeper.total(cost, prices, found)
                attributes = {
                    "cluster_centers_": centers,
                    "metrics_": metrics,
                    "objective_": total,
                    "n_iter_": n_iter,
                }
                if np.array_equal(found, labels):
                    break
                labels = found
                centers = means(X, labels, centers)
                metrics = pairs.learn(labels, centers, metrics, least)
            return Answer(found, attributes, total)

        return run


def _costs(X: FloatArray, centers: FloatArray, metrics: FloatArray) -> FloatArray:
    """``|x_i - mu_h|_h^2 - log det A_h`` as an (n, k) array."""
    parts = [((X - center) ** 2) @ a for center, a in zip(centers, metrics, strict=True)]
    return np.asarray(np.stack(parts, axis=1) - np.log(metrics).sum(axis=1))


class _Pairs:
    """Squared differences of linked points, per feature; prices and metrics computed from them."""

    def __init__(self, X: FloatArray, links: Links) -> None:
        self._X = X
        self._links = links
        self._must = (X[links.must[:, 0]] - X[links.must[:, 1]]) ** 2
        self._cannot = (X[links.cannot[:, 0]] - X[links.cannot[:, 1]]) ** 2

    def prices(self, metrics: FloatArray) -> Prices:
        """The weights times f_M and f_C of each pair in each cluster."""
        widest = (self._farthest(metrics) * metrics).sum(axis=1)
        nearness = np.maximum(widest - self._cannot @ metrics.T, 0.0)
        must, cannot = self._links.must_weight[:, None], self._links.cannot_weight[:, None]
        return Prices(must * (self._must @ metrics.T), cannot * nearness)

    def learn(
        self, labels: IntArray, centers: FloatArray, metrics: FloatArray, least: FloatArray
    ) -> FloatArray:
        """The best metrics for these labels; an empty cluster keeps its metric."""
        links, learnt = self._links, metrics.copy()
        ends, both = labels[links.must], labels[links.cannot]
        far = self._farthest(metrics)
        torn = ends[:, 0] != ends[:, 1]
        joined = both[:, 0] == both[:, 1]
        for h in range(len(metrics)):
            members = self._X[labels == h]
            if not len(members):
                continue
            scatter = ((members - centers[h]) ** 2).sum(axis=0)
            here = torn & (ends == h).any(axis=1)
            scatter += 0.5 * links.must_weight[here] @ self._must[here]
            here = joined & (both[:, 0] == h)
            scatter += links.cannot_weight[here] @ (far[h] - self._cannot[here])
            learnt[h] = 1.0 / np.maximum(scatter / len(members), least)
        return learnt

    def _farthest(self, metrics: FloatArray) -> FloatArray:
        """Squared differences (k, d) of the two points that are farthest apart in each metric."""
        if not len(self._cannot):
            return np.zeros_like(metrics)
        return np.stack([_widest(self._X, metric) for metric in metrics])


def _widest(X: FloatArray, metric: FloatArray) -> FloatArray:
    """Squared differences of the two points farthest apart.

    A first pair gives a lower bound of their distance.  By the triangle inequality, points near
    the mean cannot reach it, and are left out.
    """
    points = X * np.sqrt(metric)
    radius = np.linalg.norm(points - points.mean(axis=0), axis=1)
    found = cdist(points[radius.argmax()][None], points).max()
    outer = np.flatnonzero(radius + radius.max() >= found * (1.0 - 1e-9))
    apart = cdist(points[outer], points[outer], "sqeuclidean")
    i, j = np.unravel_index(apart.argmax(), apart.shape)
    return np.asarray((X[outer[i]] - X[outer[j]]) ** 2)
