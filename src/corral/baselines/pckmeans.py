"""PCKMeans: k-means with a price on broken pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from .base import COUNT, Answer, Baseline, Limit, Links, limits, means, squared_distances
from .neighbourhoods import Prices, Sweeper, first_centers


class PCKMeans(Baseline):
    r"""Pairwise constrained k-means of Basu, Banerjee and Mooney.

    .. math:: \min \sum_i |x_i - \mu_{z_i}|^2 + \sum_{ML} w_{ij} [z_i \ne z_j]
              + \sum_{CL} w_{ij} [z_i = z_j]

    by iterated conditional modes and means, from the centres of must-link neighbourhoods.

    Parameters
    ----------
    n_clusters : int, default=8
    weight : float or "auto", default="auto"
        Price of links that are hard; links with a finite weight of their own keep it.  "auto" is
        the mean squared distance of the points to their mean: what a point costs that is
        nowhere near a centre.
    n_init : int, default=10
        Restarts, of which the best is kept.
    max_iter : int, default=300
    random_state : int, RandomState or None, default=None
        Of the order in which points are placed, and of centres beyond the neighbourhoods.

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
    The paper halves the distances and takes unit weights.  Distances are whole here, so that
    with finite weights ``objective_`` is what the report calls objective.  Centres for which
    there is no neighbourhood are drawn as k-means++ does, where the paper perturbs the mean.  Each
    assignment is the better of a pass over the labels and one from scratch: in the first alone,
    must-linked points hold each other where they were put at the beginning.

    References
    ----------
    S. Basu, A. Banerjee, R. Mooney, "Active semi-supervision for pairwise constrained
    clustering", SDM 2004.
    S. Basu, M. Bilenko, R. Mooney, "A probabilistic framework for semi-supervised clustering",
    KDD 2004: the HMRF that it stems from.

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
    _limits = limits(
        weight=Limit(least=0.0, words=("auto",)),
        n_init=COUNT,
        max_iter=COUNT,
    )

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: float | str = "auto",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        price = float(X.var(axis=0).sum()) if isinstance(self.weight, str) else self.weight
        links = Links.of(rules, price)
        sweeper = Sweeper(links, len(X))
        runs = (self._run(X, links, sweeper, random_state) for _ in range(self.n_init))
        best = min(runs, key=lambda run: run.objective)
        attributes = {
            "cluster_centers_": best.centers,
            "objective_": best.objective,
            "n_iter_": best.n_iter,
        }
        return Answer(best.labels, attributes)

    def _run(
        self, X: FloatArray, links: Links, sweeper: Sweeper, random_state: np.random.RandomState
    ) -> _Run:
        k = self.n_clusters
        centers = first_centers(X, links, k, random_state, spread=False)
        prices = Prices(
            np.repeat(links.must_weight[:, None], k, axis=1),
            np.repeat(links.cannot_weight[:, None], k, axis=1),
        )
        labels = np.full(len(X), -1)
        for n_iter in range(1, self.max_iter + 1):  # noqa: B007 - kept as n_iter_
            found = sweeper.assign(squared_distances(X, centers), prices, labels, random_state)
            if np.array_equal(found, labels):
                break
            labels = found
            centers = means(X, labels, centers)
        total = sweeper.total(squared_distances(X, centers), prices, labels)
        return _Run(labels, centers, total, n_iter)


@dataclass(frozen=True)
class _Run:
    labels: IntArray
    centers: FloatArray
    objective: float
    n_iter: int
