"""COP-KMEANS: k-means whose assignment step never breaks a pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..presolve import presolve
from ..presolve.graphs import link_graph
from .base import COUNT, Answer, Baseline, DeadEndError, limits, means, squared_distances


class COPKMeans(Baseline):
    """COP-KMEANS of Wagstaff et al.: greedy, with hard pairs.

    The points are visited one after the other; each goes to the nearest cluster where it breaks
    no link with the points placed before it.  If a point finds none, the run has failed, and
    another starts from other centres.

    Parameters
    ----------
    n_clusters : int, default=8
    max_restarts : int, default=1000
        Runs to try; the first that does not fail is the answer.
    max_iter : int, default=300
    random_state : int, RandomState or None, default=None
        Of the initial centres, which are rows of X, and of the order of the visit.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    cluster_centers_ : (n_clusters, n_features) array
    n_iter_ : int
        Iterations of the run that is the answer.
    n_runs_ : int
        Runs until then.
    report_ : Report

    Raises
    ------
    DeadEndError
        By ``fit``, if every run fails.
    InfeasibleConstraintsError
        By ``fit``, if the links contradict each other in a way that can be seen at once.

    Notes
    -----
    The links are closed under their consequences first, as the paper does: a must-link group
    goes where the first of its members visited is put, and is barred from all clusters that hold
    a group with which one of its members cannot be.

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

    _limits = limits(max_restarts=COUNT, max_iter=COUNT)

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_restarts: int = 1000,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_restarts = max_restarts
        self.max_iter = max_iter
        self.random_state = random_state

    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        problem = presolve(X, rules, self.n_clusters)
        groups = _Groups.of(problem.group, problem.apart, problem.n_groups)
        for run in range(1, self.max_restarts + 1):
            answer = self._run(X, groups, random_state)
            if answer is not None:
                return Answer(answer.labels, {**answer.attributes, "n_runs_": run})
        raise DeadEndError(
            f"COP-KMEANS met a point that fits no cluster in each of {self.max_restarts} runs; "
            "labels that obey the links may exist all the same."
        )

    def _run(
        self, X: FloatArray, groups: _Groups, random_state: np.random.RandomState
    ) -> Answer | None:
        centers = X[random_state.choice(len(X), self.n_clusters, replace=False)]
        visit = groups.visit(random_state.permutation(len(X)))
        labels: IntArray = np.full(len(X), -1)
        for n_iter in range(1, self.max_iter + 1):  # noqa: B007 - kept as n_iter_
            found = groups.place(squared_distances(X[visit.speaker], centers), visit.linked)
            if found is None:
                return None
            if np.array_equal(found, labels):
                break
            labels = found
            centers = means(X, labels, centers)
        return Answer(labels, {"cluster_centers_": centers, "n_iter_": n_iter})


@dataclass(frozen=True)
class _Visit:
    """Who decides for each group, and the groups with cannot-links in the order of the visit."""

    speaker: IntArray
    linked: IntArray


@dataclass(frozen=True)
class _Groups:
    """Must-link groups: of each row, and the groups that each cannot be with."""

    group: IntArray
    foes: list[list[int]]
    has_foes: IntArray

    @classmethod
    def of(cls, group: IntArray, apart: IntArray, n_groups: int) -> _Groups:
        graph = link_graph(n_groups, apart)
        foes = [part.tolist() for part in np.split(graph.indices, graph.indptr[1:-1])]
        return cls(group, foes, np.flatnonzero(np.diff(graph.indptr)))

    def visit(self, order: IntArray) -> _Visit:
        _, first = np.unique(self.group[order], return_index=True)
        return _Visit(order[first], self.has_foes[np.argsort(first[self.has_foes])])

    def place(self, distance: FloatArray, linked: IntArray) -> IntArray | None:
        """Labels of the rows, from the distances of the speakers; None at a dead end."""
        # All that is in no cannot-link goes to the nearest centre; only the rest is one by one.
        labels = distance.argmin(axis=1)
        placed = [-1] * len(self.foes)
        nearest_first = np.argsort(distance[linked], axis=1, kind="stable").tolist()
        for group, clusters in zip(linked.tolist(), nearest_first, strict=True):
            barred = {placed[foe] for foe in self.foes[group]}
            home = next((cluster for cluster in clusters if cluster not in barred), None)
            if home is None:
                return None
            placed[group] = home
        labels[linked] = [placed[group] for group in linked.tolist()]
        return np.asarray(labels[self.group])
