"""K-means with cluster sizes by min-cost flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..assign import assign
from ..constraints import ClusterSizes, ConstraintSet
from ..geometry import Geometry
from ..initialise import initialise, match_sizes
from ..presolve import presolve
from ..problem import Problem
from .base import COUNT, Answer, Baseline, limits


class MinSizeKMeans(Baseline):
    """Constrained k-means of Bradley, Bennett and Demiriz: clusters of a least size.

    The means, and the cheapest assignment in which every cluster has its least number of
    points, take turns until nothing changes.  The assignment is a min-cost flow, solved exactly.

    Parameters
    ----------
    n_clusters : int, default=8
    init : "k-means++" or (n_clusters, n_features) array, default="k-means++"
    n_init : int, default=10
        Restarts, of which the best is kept; one if ``init`` is an array.
    max_iter : int, default=300
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : (n_samples,) int array
    cluster_centers_ : (n_clusters, n_features) array
    inertia_ : float
    n_iter_ : int
    report_ : Report
        Nothing is broken.

    Notes
    -----
    The paper has least sizes; the same flow takes largest and exact ones, so they are accepted.
    Sizes that differ and are not ``ordered`` are given to the clusters once, the largest to the
    start's largest cluster.

    References
    ----------
    P. Bradley, K. Bennett, A. Demiriz, "Constrained k-means clustering", Microsoft Research
    report MSR-TR-2000-65, 2000.

    Examples
    --------
    >>> from corral import ClusterSizes
    >>> from corral.baselines import MinSizeKMeans
    >>> X = [[0.0], [1.0], [2.0], [30.0]]
    >>> model = MinSizeKMeans(n_clusters=2, random_state=0)
    >>> sorted(model.fit(X, constraints=ClusterSizes(minimum=2)).report_.sizes)
    [2, 2]
    """

    _kinds = (ClusterSizes,)
    _limits = limits(n_init=COUNT, max_iter=COUNT)

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        problem = presolve(X, rules, self.n_clusters)
        geometry = Geometry(problem)
        init = self._checked_init(X)
        runs = self.n_init if isinstance(init, str) else 1
        found = [_run(problem, geometry, init, self.max_iter, random_state) for _ in range(runs)]
        best = min(found, key=lambda run: run.inertia)
        attributes = {
            "cluster_centers_": best.centers + geometry.middle,
            "inertia_": best.inertia,
            "n_iter_": best.n_iter,
        }
        return Answer(best.labels, attributes)

    def _checked_init(self, X: FloatArray) -> str | FloatArray:
        if isinstance(self.init, str):
            if self.init == "k-means++":
                return self.init
            raise ValueError(f"`init` is {self.init!r}; it must be 'k-means++' or an array.")
        centers = np.asarray(self.init, np.float64)
        shape = (self.n_clusters, X.shape[1])
        if centers.shape != shape:
            raise ValueError(f"`init` has shape {centers.shape}; centres must have shape {shape}.")
        return centers


@dataclass(frozen=True)
class _Run:
    labels: IntArray
    centers: FloatArray
    inertia: float
    n_iter: int


def _run(
    problem: Problem,
    geometry: Geometry,
    init: str | FloatArray,
    max_iter: int,
    random_state: np.random.RandomState,
) -> _Run:
    """Assignment and means in turn; no step raises the inertia."""
    start = initialise(problem, geometry, init, random_state)
    k = problem.n_clusters
    problem = match_sizes(problem, np.bincount(start.labels, minlength=k).astype(float))
    centers = start.centers
    labels = np.full(problem.n_groups, -1)
    for n_iter in range(1, max_iter + 1):  # noqa: B007 - kept as n_iter_
        found = assign(problem, geometry.costs(centers)).labels
        if np.array_equal(found, labels):
            break
        labels = found
        centers = geometry.means(labels, centers)
    return _Run(labels, centers, geometry.inertia(labels, centers), n_iter)
