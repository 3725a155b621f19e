"""Plain k-means, and k-means with cluster sizes by min-cost flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from .._typing import FloatArray
from ..assign import assign
from ..constraints import ClusterSizes, Constraint, ConstraintSet
from ..presolve import presolve
from ..rows import MemoryRows
from ..start import make_start, match_sizes
from .base import COUNT, Answer, Baseline, BestOfRuns, Run, alternate, parameter


@dataclass(eq=False, repr=False, kw_only=True)
class PlainKMeans(Baseline):
    """k-means of scikit-learn with the interface of the other baselines.

    Constraints of any kind are accepted and ignored; ``report_`` says which ones are broken.

    Parameters
    ----------
    n_clusters : int, default=8
    n_init : int, default=10
        Restarts from k-means++ seeds, of which the best is kept.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : (n_samples,) int array
    cluster_centers_ : (n_clusters, n_features) array
    n_iter_ : int
    report_ : Report

    Examples
    --------
    >>> from corral import MustLink
    >>> from corral.baselines import PlainKMeans
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> model = PlainKMeans(n_clusters=2, random_state=0).fit(X, constraints=MustLink([(1, 2)]))
    >>> model.report_.inertia, model.report_.feasible
    (1.0, False)
    """

    _kinds = (Constraint,)
    _soft = True

    n_init: int = parameter(10, COUNT)

    def _prepare(self, X: FloatArray, rules: ConstraintSet) -> Run:
        def run(random_state: np.random.RandomState) -> Answer:
            found = KMeans(self.n_clusters, n_init=self.n_init, random_state=random_state).fit(X)
            attributes = {"cluster_centers_": found.cluster_centers_, "n_iter_": found.n_iter_}
            return Answer(found.labels_, attributes)

        return run


@dataclass(eq=False, repr=False, kw_only=True)
class MinSizeKMeans(BestOfRuns):
    """Constrained k-means of Bradley, Bennett and Demiriz, with minimum cluster sizes.

    The means and the cheapest assignment with the minimum sizes are computed in turn, until
    nothing changes.  The assignment is a min-cost flow, solved exactly.

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
        The sizes are obeyed.

    Notes
    -----
    The paper has minimum sizes only; the same flow handles maximum and exact sizes, so they are
    accepted too.  Sizes that differ and are not ``ordered`` are assigned to the clusters once per
    run: the largest size to the largest cluster of the start, and so on.

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

    init: Any = "k-means++"
    max_iter: int = parameter(300, COUNT)

    def _prepare(self, X: FloatArray, rules: ConstraintSet) -> Run:
        k = self.n_clusters
        sized, rows = presolve(rules, len(X), k), MemoryRows(X)
        init = self._checked_init(X)

        def run(random_state: np.random.RandomState) -> Answer:
            start = make_start(sized, rows, init, random_state)
            counts = np.bincount(start.labels, minlength=k).astype(float)
            matched = match_sizes(sized, counts)
            labels, centers, n_iter = alternate(
                lambda centers, _: assign(matched, rows.costs(centers).dense()).labels,
                lambda labels, centers: rows.means(labels, k, centers),
                np.full(matched.n_groups, -1),
                start.centers,
                self.max_iter,
            )
            inertia = rows.inertia(labels, centers)
            attributes = {
                "cluster_centers_": centers + rows.middle,
                "inertia_": inertia,
                "n_iter_": n_iter,
            }
            return Answer(labels, attributes, inertia)

        return run

    def _repeat(self, run: Run, random_state: np.random.RandomState) -> Answer:
        # Runs from given centres are all the same.
        once = not isinstance(self.init, str)
        return run(random_state) if once else super()._repeat(run, random_state)

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
