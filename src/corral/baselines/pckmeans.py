"""PCKMeans: k-means with a price on broken links.

The first centres and the assignment with prices are also those of MPCKMeans.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..rules.pairs import components
from ..settings import COUNT, NOT_NEGATIVE
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
