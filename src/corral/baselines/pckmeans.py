"""PCKMeans and MPCKMeans: links as penalties, without and with metrics that are learned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..rules.pairs import components
from ..settings import COUNT, NOT_NEGATIVE, POSITIVE
from .base import Answer, BestOfRuns, Links, Run, alternate, means, parameter, squared_distances


@dataclass(eq=False, repr=False, kw_only=True)
class PCKMeans(BestOfRuns):
    r"""Pairwise constrained k-means of Basu, Banerjee and Mooney.

    .. math:: \min \sum_i |x_i - \mu_{z_i}|^2 + \sum_{ML} w_{ij} [z_i \ne z_j]
              + \sum_{CL} w_{ij} [z_i = z_j]

    by iterated conditional modes and means, from the centres of must-link neighbourhoods.

    Parameters
    ----------
    n_clusters : int, default=8
    weight : float or "auto", default="auto"
        Price of hard links; links with a finite weight keep it.  "auto" is the mean squared
        distance of the points to their mean, which is the cost of a point far from all centres.
    n_init : int, default=10
        Restarts, of which the best is kept.
    max_iter : int, default=300
    random_state : int, RandomState or None, default=None
        Determines the order of the assignment, and the centres that are drawn at random.
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    cluster_centers_ : (n_clusters, n_features) array
    objective_ : float
    n_iter_ : int
    report_ : Report
        Links may be broken.

    Notes
    -----
    The paper multiplies the distances by 1/2 and takes unit weights.  Here they are not
    multiplied, so that with finite weights ``objective_`` is the objective of the report.
    Centres for which there is no neighbourhood are drawn as in k-means++; the paper perturbs the
    mean.  Each assignment is the better of two passes: one that starts from the labels and one
    that starts from none.  With the first pass alone, must-linked points would rarely leave
    their first cluster, because moving one of them breaks the link.

    References
    ----------
    S. Basu, A. Banerjee, R. Mooney, "Active semi-supervision for pairwise constrained
    clustering", SDM 2004.
    S. Basu, M. Bilenko, R. Mooney, "A probabilistic framework for semi-supervised clustering",
    KDD 2004: the hidden Markov random field behind the method.

    Examples
    --------
    >>> from corral import MustLink
    >>> from corral.baselines import PCKMeans
    >>> X = [[0.0], [1.0], [4.0], [8.0], [9.0]]
    >>> model = PCKMeans(n_clusters=2, random_state=0).fit(X, constraints=MustLink([(2, 3)]))
    >>> bool(model.labels_[1] != model.labels_[2] == model.labels_[3])
    True
    """

    _soft = True

    weight: float | str = parameter("auto", replace(NOT_NEGATIVE, words=("auto",)))
    max_iter: int = parameter(300, COUNT)

    def _prepare(self, X: FloatArray, rules: ConstraintSet) -> Run:
        k = self.n_clusters
        price = float(X.var(axis=0).sum()) if isinstance(self.weight, str) else self.weight
        links = Links.of(rules, price)
        sweeper = Sweeper(links, len(X))
        weights = links.must_weight, links.cannot_weight
        prices = Prices(*(np.repeat(weight[:, None], k, axis=1) for weight in weights))

        def run(random_state: np.random.RandomState) -> Answer:
            labels, centers, n_iter = alternate(
                lambda centers, labels: sweeper.assign(
                    squared_distances(X, centers), prices, labels, random_state
                ),
                lambda labels, centers: means(X, labels, centers),
                first_centers(X, links, k, random_state, spread=False),
                len(X),
                self.max_iter,
            )
            total = sweeper.total(squared_distances(X, centers), prices, labels)
            attributes = {"cluster_centers_": centers, "objective_": total, "n_iter_": n_iter}
            return Answer(labels, attributes, total)

        return run


def first_centers(
    X: FloatArray, links: Links, k: int, random_state: np.random.RandomState, *, spread: bool
) -> FloatArray:
    """Centres of must-link neighbourhoods, and further ones if these are too few.

    If there are too many, the largest are taken; with ``spread`` they are chosen one by one by
    size and distance to those chosen (weighted farthest-first).  If there are too few, a point
    with cannot-links to all neighbourhoods comes next, and the others are drawn as in k-means++.
    """
    group = components(len(X), links.must)
    count = np.bincount(group)
    hoods = np.flatnonzero(count > 1)
    hoods = hoods[np.argsort(-count[hoods], kind="stable")]
    centers = np.array([X[group == hood].mean(axis=0) for hood in hoods]).reshape(-1, X.shape[1])
    if len(hoods) >= k:
        chosen = _farthest_first(centers, count[hoods].astype(float), k) if spread else slice(k)
        return np.asarray(centers[chosen])
    outsider = _outsider(links.cannot, group, hoods)
    if outsider is not None:
        centers = np.concatenate([centers, X[outsider : outsider + 1]])
    while len(centers) < k:
        chance = squared_distances(X, centers).min(axis=1) if len(centers) else np.ones(len(X))
        chance = chance / chance.sum() if chance.any() else np.full(len(X), 1.0 / len(X))
        centers = np.concatenate([centers, X[random_state.choice(len(X), 1, p=chance)]])
    return centers


def _farthest_first(centers: FloatArray, size: FloatArray, n_clusters: int) -> IntArray:
    """Start with the largest; then repeatedly take the largest size times distance."""
    chosen = [0]
    away = squared_distances(centers, centers[:1])[:, 0]
    while len(chosen) < n_clusters:
        score = size * np.sqrt(away)
        score[chosen] = -1.0
        chosen.append(int(score.argmax()))
        away = np.minimum(away, squared_distances(centers, centers[chosen[-1:]])[:, 0])
    return np.array(chosen)


def _outsider(cannot: IntArray, group: IntArray, hoods: IntArray) -> int | None:
    """The first point with cannot-links to every neighbourhood, if there is one."""
    ends = np.concatenate([cannot, cannot[:, ::-1]])
    barred = np.column_stack([ends[:, 0], group[ends[:, 1]]])
    barred = np.unique(barred[np.isin(barred[:, 1], hoods)], axis=0)
    point, met = np.unique(barred[:, 0], return_counts=True)
    outside = point[(met == len(hoods)) & ~np.isin(group[point], hoods)]
    return int(outside[0]) if len(outside) else None


@dataclass(frozen=True)
class Prices:
    """Cost of each broken pair.

    A must-link p with ends in clusters h and l costs ``(must[p, h] + must[p, l]) / 2``, and a
    cannot-link p with both ends in h costs ``cannot[p, h]``.
    """

    must: FloatArray
    cannot: FloatArray


class Sweeper:
    """Assignment with prices: linked points one by one in random order, the others at once."""

    def __init__(self, links: Links, n_samples: int) -> None:
        self._links = links
        self._must = _partners(links.must, n_samples)
        self._cannot = _partners(links.cannot, n_samples)
        self._linked = np.unique(np.concatenate([links.must, links.cannot]))

    def assign(
        self, cost: FloatArray, prices: Prices, labels: IntArray, rng: np.random.RandomState
    ) -> IntArray:
        """The better of two passes: one from these labels (-1: none yet), and one from none."""
        order = rng.permutation(self._linked).tolist()
        fresh = self._sweep(cost, prices, np.full_like(labels, -1), order)
        if (labels < 0).all():
            return fresh
        moved = self._sweep(cost, prices, labels, order)
        return min(moved, fresh, key=lambda found: self.total(cost, prices, found))

    def total(self, cost: FloatArray, prices: Prices, labels: IntArray) -> float:
        """Cost of the points and of the broken pairs."""
        own = float(cost[np.arange(len(labels)), labels].sum())
        h, l_ = labels[self._links.must].T
        p = np.arange(len(h))
        torn = np.where(h != l_, (prices.must[p, h] + prices.must[p, l_]) / 2.0, 0.0).sum()
        h, l_ = labels[self._links.cannot].T
        joined = np.where(h == l_, prices.cannot[np.arange(len(h)), h], 0.0).sum()
        return own + float(torn + joined)

    def _sweep(
        self, cost: FloatArray, prices: Prices, labels: IntArray, order: list[int]
    ) -> IntArray:
        """Assign each linked point to its cheapest cluster, given the points assigned so far."""
        result = cost.argmin(axis=1)
        result[self._linked] = labels[self._linked]
        for point in order:
            own = cost[point].copy()
            for pair, other in self._must[point]:
                home = result[other]
                if home >= 0:
                    own += (prices.must[pair] + prices.must[pair, home]) / 2.0
                    own[home] -= prices.must[pair, home]
            for pair, other in self._cannot[point]:
                home = result[other]
                if home >= 0:
                    own[home] += prices.cannot[pair, home]
            result[point] = own.argmin()
        return np.asarray(result)


def _partners(pairs: IntArray, n_samples: int) -> list[list[tuple[int, int]]]:
    """For each point, the numbers of its pairs and their other ends."""
    partners: list[list[tuple[int, int]]] = [[] for _ in range(n_samples)]
    for pair, (i, j) in enumerate(pairs.tolist()):
        partners[i].append((pair, j))
        partners[j].append((pair, i))
    return partners


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
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

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
