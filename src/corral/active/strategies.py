"""Strategies: which questions to ask next, the most useful first.

Each is a function of a :class:`Scene` that gives pairs of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from .._typing import BoolArray, FloatArray, IntArray, Matrix
from ..rules.pairs import pair_keys
from .known import Known

#: Neighbour whose distance is the local scale of a row: the usual choice for such kernels
#: (Zelnik-Manor and Perona 2004).  A later neighbour spreads an answer over more rows.
SCALE_NEIGHBOUR = 7
#: Rows among which these neighbours are looked for; of more rows a random part is used.  More make
#: the scales finer and their search longer.  It is a limit on time and no measured optimum.
MOST_REFERENCES = 5_000
#: Weight of the model's own opinion of a row, in answers about rows at the same place.  More lets
#: the answers change less.  With 1, one answer counts as much as the model; it is not measured.
OWN_WEIGHT = 1.0
#: Least weight of a cluster in the model's opinion of a row, whose nearest cluster has weight 1: no
#: cluster is impossible because it is far.
LEAST_WEIGHT = 1e-12


@dataclass(frozen=True, eq=False)
class Scene:
    """The points, the fitted clusters, and what is known of pairs.

    Attributes
    ----------
    X : (n, d) array or CSR array
    squares : (n, k) array
        Squared distances of the rows to the centres.
    labels : (n,) int array
    known : Known
    skip : (p, 2) int array
        Pairs of rows that must not be asked, though nothing is known of them.
    rng : RandomState

    Notes
    -----
    The anchor of a cluster is the largest group of rows that is known to be together and lies in
    the cluster; where nothing is known, it is the row nearest to the centre.  A question compares a
    row with an anchor.  Its answer holds for all rows of both groups.
    """

    X: Matrix
    squares: FloatArray
    labels: IntArray
    known: Known
    skip: IntArray
    rng: np.random.RandomState

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.squares.shape[1])

    @cached_property
    def group_size(self) -> IntArray:
        """Number of rows of each row's group."""
        size: IntArray = np.bincount(self.known.group)[self.known.group]
        return size

    @cached_property
    def anchors(self) -> IntArray:
        """The group of each cluster's anchor; -1 for an empty cluster."""
        found = np.full(self.n_clusters, -1)
        own = self.squares[np.arange(len(self.labels)), self.labels]
        order = np.lexsort([own, -self.group_size, self.labels])
        clusters, first = np.unique(self.labels[order], return_index=True)
        found[clusters] = self.known.group[order[first]]
        return found

    @cached_property
    def home(self) -> IntArray:
        """The cluster whose anchor each row belongs to; -1 for other rows."""
        used = np.flatnonzero(self.anchors >= 0)
        of_group = np.full(self.known.n_groups, -1)
        of_group[self.anchors[used]] = used
        return of_group[self.known.group]

    @cached_property
    def possible(self) -> BoolArray:
        """Whether each row may be together with each cluster's anchor; (n, k)."""
        return self._not_in(self.known.apart)

    @cached_property
    def askable(self) -> BoolArray:
        """Whether a question about each row and each cluster's anchor may be asked; (n, k)."""
        open_ = self.possible & self._not_in(self.known.group[self.skip])
        inside = np.flatnonzero(self.home >= 0)
        open_[inside, self.home[inside]] = False
        return open_

    def _not_in(self, pairs: IntArray) -> BoolArray:
        """Whether each row's group and each anchor are not one of these pairs of groups."""
        m = self.known.n_groups
        keys, open_ = pair_keys(pairs, m), np.empty(self.squares.shape, bool)
        for cluster, anchor in enumerate(self.anchors):
            ends = np.column_stack([self.known.group, np.full(len(self.labels), anchor)])
            open_[:, cluster] = (anchor >= 0) & ~np.isin(pair_keys(ends, m), keys)
        return open_

    @cached_property
    def scale(self) -> FloatArray:
        """Local scale of each row: the distance of one of its nearest neighbours."""
        n = self.X.shape[0]
        many = n > MOST_REFERENCES
        rows = self.rng.choice(n, MOST_REFERENCES, replace=False) if many else np.arange(n)
        near = NearestNeighbors(n_neighbors=min(SCALE_NEIGHBOUR + 1, len(rows)))
        far = near.fit(self.X[np.sort(rows)]).kneighbors(self.X)[0][:, -1]
        least = max(1e-6 * float(far.max()), np.finfo(float).tiny ** 0.5)
        return np.asarray(np.maximum(far, least))

    def nearness(self, rows: IntArray) -> FloatArray:
        """How much an answer about each of some rows (m) says about each row (n), from 0 to 1.

        ``exp(-|x - y|^2 / (s t))`` with the local scales s and t of both.
        """
        distance = pairwise_distances(self.X, self.X[rows])
        scaled = np.square(distance) / np.outer(self.scale, self.scale[rows])
        return np.asarray(np.exp(-scaled))

    @cached_property
    def opinion(self) -> FloatArray:
        """Probability of each cluster for each row by the model: ``exp(-|x - mu|^2 / s)``; (n, k).

        The scale s is the mean squared distance of the rows to their own centres.
        """
        own = self.squares[np.arange(len(self.labels)), self.labels]
        scale = max(float(own.mean()), np.finfo(float).tiny)
        weight = np.exp((self.squares.min(axis=1, keepdims=True) - self.squares) / scale)
        weight = np.maximum(weight, LEAST_WEIGHT)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    @cached_property
    def belief(self) -> FloatArray:
        """Probability of each cluster for each row by the model and the answers; (n, k).

        A row whose cluster was answered counts for the rows around it by their nearness.  What is
        known to be impossible has probability 0.
        """
        answered = np.flatnonzero((self.home >= 0) & (self.group_size > 1))
        votes = np.zeros_like(self.squares)
        if len(answered):
            votes = self.nearness(answered) @ np.eye(self.n_clusters)[self.home[answered]]
        found = (OWN_WEIGHT * self.opinion + votes) * self.possible
        total = found.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(found, total, out=np.zeros_like(found), where=total > 0))

    def question(self, row: int, cluster: int) -> tuple[int, int]:
        """The row, and the row of the cluster's anchor that is nearest to it."""
        members = np.flatnonzero(self.known.group == self.anchors[cluster])
        distance = pairwise_distances(self.X[[row]], self.X[members])[0]
        return row, int(members[np.argmin(distance)])


Questions = Iterator[tuple[int, int]]

#: Pairs that are drawn at once, and how often at most; few of them are known already, except at
#: the very end.
DRAWN, MOST_DRAWS = 100, 50


def uncertainty(scene: Scene) -> Questions:
    """Rows that are most probably in a wrong cluster, each against its most probable cluster.

    The gain of a question is the number of rows in its group times the largest probability of a
    cluster that is not theirs: with that probability the answer moves them to the right cluster.
    An anchor counts as one row, since its rows agree with each other.  A row near one that was
    chosen just before would tell little more, so its gain is lowered.
    """
    chance, n = scene.belief, len(scene.labels)
    others = chance.copy()
    others[np.arange(n), scene.labels] = 0.0
    size = np.where(scene.home < 0, scene.group_size, 1)
    return _by_gain(scene, others.max(axis=1) * size, chance)


def margin(scene: Scene) -> Questions:
    """Rows between two centres, each against the nearest cluster that is possible.

    The gain is the ratio of the probabilities of the second and the first cluster, by the model
    alone.
    """
    chance = scene.opinion * scene.possible
    if scene.n_clusters < 2:
        return iter(())
    second, first = np.sort(chance, axis=1)[:, -2:].T
    return _by_gain(scene, second / np.maximum(first, np.finfo(float).tiny), chance)


def _by_gain(scene: Scene, gain: FloatArray, chance: FloatArray) -> Questions:
    """One question for each row, in the order of their gains; they are lowered near chosen rows."""
    wanted = np.where(scene.askable, chance, -1.0)
    left = wanted.max(axis=1) >= 0.0
    while left.any():
        row = int(np.argmax(np.where(left, gain, -1.0)))
        yield scene.question(row, int(np.argmax(wanted[row])))
        gain = gain * (1.0 - scene.nearness(np.array([row]))[:, 0])
        left = left & (scene.known.group != scene.known.group[row])


def explore(scene: Scene) -> Questions:
    """Explore and consolidate (Basu, Banerjee and Mooney 2004), on the clusters' anchors.

    Rows that were asked about and have no group yet come first.  Then, while fewer than k groups
    are known to be apart from each other, the row farthest from all rows that were asked about;
    then rows at random.  Each is asked against the nearest anchor that is possible.
    """
    linked = np.zeros(scene.known.n_groups, bool)
    linked[scene.known.apart] = True
    asked = linked[scene.known.group] | (scene.group_size > 1)
    begun = np.flatnonzero(asked & scene.askable.any(axis=1) & (scene.group_size == 1))
    yield from (_nearest(scene, int(row)) for row in begun)
    if _n_apart(scene) >= scene.n_clusters:
        rest = np.flatnonzero(~asked & scene.askable.any(axis=1))
        yield from (_nearest(scene, int(row)) for row in scene.rng.permutation(rest))
        return
    first = np.flatnonzero(asked) if asked.any() else np.flatnonzero(scene.home >= 0)[:1]
    far = pairwise_distances(scene.X, scene.X[first]).min(axis=1)
    far[asked | ~scene.askable.any(axis=1)] = -np.inf
    while np.isfinite(far).any():
        row = int(np.argmax(far))
        yield _nearest(scene, row)
        far = np.minimum(far, pairwise_distances(scene.X, scene.X[[row]])[:, 0])
        far[row] = -np.inf


def _nearest(scene: Scene, row: int) -> tuple[int, int]:
    open_ = np.where(scene.askable[row], scene.squares[row], np.inf)
    return scene.question(row, int(np.argmin(open_)))


def _n_apart(scene: Scene) -> int:
    """Number of anchors that are known to be apart from all other anchors."""
    rows = np.array([int(np.argmax(scene.known.group == a)) for a in scene.anchors if a >= 0])
    closed: IntArray = (~scene.possible[rows]).sum(axis=1)
    return int((closed >= scene.n_clusters - 1).sum())


def at_random(scene: Scene) -> Questions:
    """Pairs of rows at random, of which nothing is known; for comparison."""
    n = len(scene.labels)
    for _ in range(MOST_DRAWS):
        row = scene.rng.randint(n, size=DRAWN)
        pairs = np.column_stack([row, (row + scene.rng.randint(1, n, size=DRAWN)) % n])
        yield from map(tuple, pairs[~scene.known.implied(pairs)].tolist())


STRATEGIES: dict[str, Callable[[Scene], Questions]] = {
    "uncertainty": uncertainty,
    "margin": margin,
    "explore": explore,
    "random": at_random,
}
