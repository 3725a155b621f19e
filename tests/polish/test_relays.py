"""Relays of cannot-links: what they promise holds, and no short one is missed."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from corral.polish.relays import Relays
from corral.presolve import Pairs
from corral.rows import MemoryRows


def scene(seed, n=10, k=4):
    """Weighted points, labels, cannot-links that the labels obey, and which groups may move."""
    rng = np.random.default_rng(seed)
    points, weight = rng.normal(size=(n, 2)), rng.integers(1, 4, n).astype(float)
    labels = rng.permutation(np.arange(n) % k)
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    pairs = pairs[(labels[pairs[:, 0]] != labels[pairs[:, 1]]) & (rng.random(len(pairs)) < 0.3)]
    return MemoryRows(points, weight), labels, pairs, rng.random(n) < 0.9


def inertia(rows, labels):
    """By its definition, about the weighted means."""
    total = 0.0
    for j in np.unique(labels):
        points, weight = rows.points[labels == j], rows.weight[labels == j]
        mean = weight @ points / weight.sum()
        total += weight @ ((points - mean) ** 2).sum(axis=1)
    return total


def relays(seed, least):
    rows, labels, pairs, mobile = scene(seed)
    k = labels.max() + 1
    squares = rows.distances(rows.means(labels, k))
    search = Relays(rows, Pairs(len(labels), pairs), mobile)
    return search.paying(labels, rows.stiffness(labels, k), squares, least)


def obeys(pairs, labels):
    return bool(np.all(labels[pairs[:, 0]] != labels[pairs[:, 1]]))


@pytest.mark.parametrize("seed", range(20))
def test_relays_keep_cannot_links_and_gain_what_they_say(seed):
    rows, labels, pairs, mobile = scene(seed)
    for change in relays(seed, -1e9):
        new = labels.copy()
        new[change.groups] = change.to
        assert obeys(pairs, new)
        assert mobile[change.groups].all()
        np.testing.assert_allclose(change.gain, inertia(rows, labels) - inertia(rows, new))


@pytest.mark.parametrize("seed", range(20))
def test_the_best_relay_of_two_groups_is_found(seed):
    """Compared with all ways to send a group to a neighbour's cluster and that one elsewhere."""
    rows, labels, pairs, mobile = scene(seed)
    best, linked = 0.0, {frozenset(pair) for pair in pairs.tolist()}
    for g, h in permutations(np.flatnonzero(mobile).tolist(), 2):
        if frozenset((g, h)) not in linked:
            continue
        for c in set(range(labels.max() + 1)) - {int(labels[g]), int(labels[h])}:
            new = labels.copy()
            new[[g, h]] = labels[h], c
            if obeys(pairs, new):
                best = max(best, inertia(rows, labels) - inertia(rows, new))
    found = max((change.gain for change in relays(seed, 1e-9)), default=0.0)
    assert found >= best - 1e-9
