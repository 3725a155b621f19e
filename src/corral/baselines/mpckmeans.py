"""MPCKMeans: prices on pairs, and a metric learnt for each cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from .base import COUNT, NOT_NEGATIVE, POSITIVE, Answer, Baseline, Links, limits, means
from .neighbourhoods import Prices, Sweeper, first_centers


class MPCKMeans(Baseline):
    r"""Metric pairwise constrained k-means of Bilenko, Basu and Mooney, with diagonal metrics.

    Cluster h has the metric :math:`|v|_h^2 = \sum_f a_{hf} v_f^2`; the cost of point i there is
    :math:`|x_i - \mu_h|_h^2 - \sum_f \log a_{hf}`.  A broken must-link costs more the farther
    its ends lie apart, a broken cannot-link the nearer they are:

    .. math:: f_M = \tfrac12 |x_i - x_j|_{z_i}^2 + \tfrac12 |x_i - x_j|_{z_j}^2, \qquad
              f_C = |x' - x''|_h^2 - |x_i - x_j|_h^2

    times their weights, with (x', x'') the two points farthest apart.  Assignment, means and
    metrics take turns.

    Parameters
    ----------
    n_clusters : int, default=8
    weight : float, default=1.0
        Weight of links that are hard; links with a finite weight of their own keep it.
    floor : float, default=0.01
        The variance that a metric divides by is at least this share of the feature's variance in
        the whole data; broken links can make it negative otherwise.
    n_init : int, default=10
        Restarts, of which the best is kept.
    max_iter : int, default=100
    random_state : int, RandomState or None, default=None
        Of the order in which points are placed, and of centres beyond the neighbourhoods.

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
    _limits = limits(
        weight=NOT_NEGATIVE,
        floor=POSITIVE,
        n_init=COUNT,
        max_iter=COUNT,
    )

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: float = 1.0,
        floor: float = 0.01,
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
        self.floor = floor
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        links = Links.of(rules, self.weight)
        sweeper = Sweeper(links, len(X))
        runs = (self._run(X, links, sweeper, random_state) for _ in range(self.n_init))
        best = min(runs, key=lambda run: run.objective)
        attributes = {
            "cluster_centers_": best.centers,
            "metrics_": best.metrics,
            "objective_": best.objective,
            "n_iter_": best.n_iter,
        }
        return Answer(best.labels, attributes)

    def _run(
        self, X: FloatArray, links: Links, sweeper: Sweeper, random_state: np.random.RandomState
    ) -> _Run:
        centers = first_centers(X, links, self.n_clusters, random_state, spread=True)
        metrics = np.ones_like(centers)
        variance = X.var(axis=0)
        least = self.floor * np.where(variance > 0.0, variance, 1.0)
        pairs = _Pairs(X, links)
        labels = np.full(len(X), -1)
        for n_iter in range(1, self.max_iter + 1):
            cost, prices = _costs(X, centers, metrics), pairs.prices(metrics)
            found = sweeper.assign(cost, prices, labels, random_state)
            run = _Run(found, centers, metrics, sweeper.total(cost, prices, found), n_iter)
            if np.array_equal(found, labels):
                break
            labels = found
            centers = means(X, labels, centers)
            metrics = pairs.learn(labels, centers, metrics, least)
        return run


@dataclass(frozen=True)
class _Run:
    labels: IntArray
    centers: FloatArray
    metrics: FloatArray
    objective: float
    n_iter: int


def _costs(X: FloatArray, centers: FloatArray, metrics: FloatArray) -> FloatArray:
    """``|x_i - mu_h|_h^2 - log det A_h`` as an (n, k) array."""
    parts = [((X - center) ** 2) @ a for center, a in zip(centers, metrics, strict=True)]
    return np.asarray(np.stack(parts, axis=1) - np.log(metrics).sum(axis=1))


class _Pairs:
    """Squared differences of linked points, feature by feature, and what metrics make of them."""

    def __init__(self, X: FloatArray, links: Links) -> None:
        self._X = X
        self._links = links
        self._must = (X[links.must[:, 0]] - X[links.must[:, 1]]) ** 2
        self._cannot = (X[links.cannot[:, 0]] - X[links.cannot[:, 1]]) ** 2

    def prices(self, metrics: FloatArray) -> Prices:
        """The weights times f_M and f_C of each pair in each cluster."""
        links = self._links
        widest = (self._farthest(metrics) * metrics).sum(axis=1)
        return Prices(
            links.must_weight[:, None] * (self._must @ metrics.T),
            links.cannot_weight[:, None] * np.maximum(widest - self._cannot @ metrics.T, 0.0),
        )

    def learn(
        self, labels: IntArray, centers: FloatArray, metrics: FloatArray, least: FloatArray
    ) -> FloatArray:
        """The metrics that are best for these labels; an empty cluster keeps its own."""
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
        """Squared differences (k, d) of the two points that each metric sees farthest apart."""
        if not len(self._cannot):
            return np.zeros_like(metrics)
        return np.stack([_widest(self._X, metric) for metric in metrics])


def _widest(X: FloatArray, metric: FloatArray) -> FloatArray:
    """Squared differences of the two points farthest apart.

    They lie at least as far apart as any pair found, so points too near the middle for that,
    by the triangle inequality, are left out first.
    """
    points = X * np.sqrt(metric)
    radius = np.linalg.norm(points - points.mean(axis=0), axis=1)
    found = cdist(points[radius.argmax()][None], points).max()
    outer = np.flatnonzero(radius + radius.max() >= found * (1.0 - 1e-9))
    apart = cdist(points[outer], points[outer], "sqeuclidean")
    i, j = np.unravel_index(apart.argmax(), apart.shape)
    return np.asarray((X[outer[i]] - X[outer[j]]) ** 2)
