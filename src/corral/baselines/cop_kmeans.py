"""COP-KMEANS: k-means whose assignment step never breaks a link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..presolve import presolve
from ..presolve.graphs import link_graph
from .base import (
    COUNT,
    Answer,
    DeadEndError,
    FirstSuccess,
    Run,
    alternate,
    means,
    parameter,
    squared_distances,
)


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
        groups = _Groups.of(joined.row_groups, joined.apart, joined.n_groups)

        def run(random_state: np.random.RandomState) -> Answer:
            first = X[random_state.choice(len(X), self.n_clusters, replace=False)]
            visit = groups.visit(random_state.permutation(len(X)))
            labels, centers, n_iter = alternate(
                lambda centers, _: groups.place(
                    squared_distances(X[visit.leader], centers), visit.linked
                ),
                lambda labels, centers: means(X, labels, centers),
                np.full(len(X), -1),
                first,
                self.max_iter,
            )
            return Answer(labels, {"cluster_centers_": centers, "n_iter_": n_iter})

        return run


@dataclass(frozen=True)
class _Visit:
    """The member that decides for each group; the groups with cannot-links, in visiting order."""

    leader: IntArray
    linked: IntArray


@dataclass(frozen=True)
class _Groups:
    """Must-link groups: the group of each row, and the cannot-linked groups of each group."""

    group: IntArray
    barred: list[list[int]]
    linked: IntArray

    @classmethod
    def of(cls, group: IntArray, apart: IntArray, n_groups: int) -> _Groups:
        graph = link_graph(n_groups, apart)
        barred = [part.tolist() for part in np.split(graph.indices, graph.indptr[1:-1])]
        return cls(group, barred, np.flatnonzero(np.diff(graph.indptr)))

    def visit(self, order: IntArray) -> _Visit:
        _, first = np.unique(self.group[order], return_index=True)
        return _Visit(order[first], self.linked[np.argsort(first[self.linked])])

    def place(self, distance: FloatArray, linked: IntArray) -> IntArray:
        """Labels of the rows, from the distances of the members that decide.

        Raises
        ------
        DeadEndError
            If a group has a cannot-link into every cluster.
        """
        # Groups without cannot-links are independent and take the nearest centre at once.
        labels = distance.argmin(axis=1)
        placed = [-1] * len(self.barred)
        nearest_first = np.argsort(distance[linked], axis=1, kind="stable").tolist()
        for group, clusters in zip(linked.tolist(), nearest_first, strict=True):
            taken = {placed[other] for other in self.barred[group]}
            home = next((cluster for cluster in clusters if cluster not in taken), None)
            if home is None:
                raise DeadEndError("COP-KMEANS met a point that fits no cluster")
            placed[group] = home
        labels[linked] = [placed[group] for group in linked.tolist()]
        return np.asarray(labels[self.group])
