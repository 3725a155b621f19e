"""k-means: plain, with links that no assignment breaks, and with sizes by min-cost flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from .._typing import FloatArray, IntArray
from ..constraints import ClusterSizes, Constraint, ConstraintSet
from ..exact import assign
from ..inputs import check_magnitude
from ..rows import MemoryRows
from ..rules import presolve
from ..rules.pairs import link_graph
from ..search.descent import match_sizes
from ..search.starts import make_start
from ..settings import COUNT, Limit, check_centers
from .base import (
    Answer,
    Baseline,
    BestOfRuns,
    DeadEndError,
    FirstSuccess,
    Run,
    alternate,
    means,
    parameter,
    squared_distances,
)


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
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

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
            centers, n_iter = found.cluster_centers_, found.n_iter_
            return Answer(found.labels_, {"cluster_centers_": centers, "n_iter_": n_iter})

        return run


@dataclass(eq=False, repr=False, kw_only=True)
class COPKMeans(FirstSuccess):
    """COP-KMEANS of Wagstaff et al.: greedy, with hard links.

    The points are visited one after the other.  Each is assigned to the nearest cluster where it
    breaks no link with the points assigned before it.  If there is none, the run fails, and
    another one starts from other centres.

    Parameters
    ----------
    n_clusters : int, default=8
    max_restarts : int, default=1000
        Runs to try; the first that succeeds is the answer.
    max_iter : int, default=300
    random_state : int, RandomState or None, default=None
        Determines the initial centres, which are rows of X, and the order of the points.
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    cluster_centers_ : (n_clusters, n_features) array
    n_iter_ : int
        Iterations of the run that succeeded.
    n_runs_ : int
        Number of runs up to the one that succeeded.
    report_ : Report

    Raises
    ------
    DeadEndError
        By ``fit``, if every run fails.
    InfeasibleConstraintsError
        By ``fit``, if presolve finds that the links contradict each other.

    Notes
    -----
    The transitive closure of the links is taken first, as in the paper.  The member of a
    must-link group that is visited first decides for the group, and the group is not assigned to
    a cluster with a group that has a cannot-link with any of its members.

    References
    ----------
    K. Wagstaff, C. Cardie, S. Rogers, S. Schroedl, "Constrained k-means clustering with
    background knowledge", ICML 2001.

    Examples
    --------
    >>> from corral import CannotLink
    >>> from corral.baselines import COPKMeans
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> model = COPKMeans(n_clusters=2, random_state=0).fit(X, constraints=CannotLink([(2, 3)]))
    >>> bool(model.labels_[2] != model.labels_[3])
    True
    """

    max_restarts: int = parameter(1000, COUNT)
    max_iter: int = parameter(300, COUNT)

    def _prepare(self, X: FloatArray, rules: ConstraintSet) -> Run:
        joined = presolve(rules, len(X), self.n_clusters)
        groups = _Groups(joined.row_groups, link_graph(joined.n_groups, joined.apart))

        def run(random_state: np.random.RandomState) -> Answer:
            first = X[random_state.choice(len(X), self.n_clusters, replace=False)]
            leader, linked = groups.visit(random_state.permutation(len(X)))
            labels, centers, n_iter = alternate(
                lambda centers, _: groups.place(squared_distances(X[leader], centers), linked),
                lambda labels, centers: means(X, labels, centers),
                first,
                len(X),
                self.max_iter,
            )
            return Answer(labels, {"cluster_centers_": centers, "n_iter_": n_iter})

        return run


class _Groups:
    """Must-link groups: the group of each row, and the cannot-linked groups of each group."""

    def __init__(self, group: IntArray, barred: sparse.csr_array) -> None:
        self._group = group
        self._barred = [part.tolist() for part in np.split(barred.indices, barred.indptr[1:-1])]
        self._linked = np.flatnonzero(np.diff(barred.indptr))

    def visit(self, order: IntArray) -> tuple[IntArray, IntArray]:
        """The first member of each group, and the groups with cannot-links in visiting order."""
        _, first = np.unique(self._group[order], return_index=True)
        return order[first], self._linked[np.argsort(first[self._linked])]

    def place(self, distance: FloatArray, linked: IntArray) -> IntArray:
        """Labels of the rows, from the distances of the first members of the groups.

        ``DeadEndError`` if a group has a cannot-link into every cluster.
        """
        # Groups without cannot-links are independent and take the nearest centre at once.
        labels = distance.argmin(axis=1)
        placed = [-1] * len(self._barred)
        nearest_first = np.argsort(distance[linked], axis=1, kind="stable").tolist()
        for group, clusters in zip(linked.tolist(), nearest_first, strict=True):
            taken = {placed[other] for other in self._barred[group]}
            home = next((cluster for cluster in clusters if cluster not in taken), None)
            if home is None:
                raise DeadEndError("COP-KMEANS met a point that fits no cluster")
            placed[group] = home
        labels[linked] = [placed[group] for group in linked.tolist()]
        return np.asarray(labels[self._group])


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
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

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
        init: str | FloatArray = self.init
        if isinstance(init, str):
            Limit(None, words=("k-means++",)).check("init", init)
        else:
            init = check_centers(init, (k, X.shape[1]))
            check_magnitude(init, type(self).__name__, "`init`")

        def run(random_state: np.random.RandomState) -> Answer:
            start = make_start(sized, rows, init, random_state)
            counts = np.bincount(start.labels, minlength=k).astype(float)
            matched = match_sizes(sized, counts)
            labels, centers, n_iter = alternate(
                lambda centers, _: assign(matched, rows.costs(centers).dense()).labels,
                lambda labels, centers: rows.means(labels, k, centers),
                start.centers,
                len(X),
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
