"""Strategies: which questions to ask next, the most useful first.

Each is a function of a :class:`~corral.active.scene.Scene` that gives pairs of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.metrics import pairwise_distances

from .._typing import FloatArray, IntArray
from .scene import Scene

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
