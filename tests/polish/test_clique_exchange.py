"""A clique placed anew, centres moving along: the best of all its places."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from problems import problem_of

from corral import CannotLink, ClusterSizes, Pin
from corral.assign import broken
from corral.polish.cliques import CliqueExchange

N, K = 13, 4


def pairs_of(*cliques):
    return [(int(a), int(b)) for clique in cliques for a in clique for b in clique if a < b]


def inertia(problem, labels):
    """Weighted squares about the weighted means, by their definition."""
    total = 0.0
    for j in np.unique(labels):
        points, weight = problem.rows.points[labels == j], problem.rows.weight[labels == j]
        mean = np.average(points, axis=0, weights=weight)
        total += float(weight @ ((points - mean) ** 2).sum(axis=1))
    return total


def scene(seed, *rules, cliques):
    rng = np.random.default_rng(seed)
    points, weight = rng.normal(size=(N, 2)) + 3.0, rng.uniform(0.5, 2.0, N)
    problem = problem_of(points, [CannotLink(pairs_of(*cliques)), *rules], K, weight)
    labels = rng.integers(0, K, N)
    for clique in cliques:
        labels[clique] = rng.permutation(K)[: len(clique)]
    return problem, labels


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_one_clique_goes_to_the_best_of_all_places(seed, size):
    clique = np.arange(size) + seed
    problem, labels = scene(seed, cliques=[clique])
    found = CliqueExchange(problem).improve(labels, 1e-9)
    found = labels if found is None else found
    every = []
    for places in permutations(range(K), size):
        tried = labels.copy()
        tried[clique] = places
        every.append(inertia(problem, tried))
    assert inertia(problem, found) == pytest.approx(min(every))
    np.testing.assert_array_equal(np.delete(found, clique), np.delete(labels, clique))


@pytest.mark.parametrize("seed", range(8))
def test_sizes_and_pins_are_kept(seed):
    cliques = [np.arange(4), np.arange(4, 8), np.arange(8, 11)]
    pin = Pin({0: seed % K})
    problem, labels = scene(seed, pin, cliques=cliques)
    labels[:4] = (seed + np.arange(4)) % K
    counted = np.bincount(labels, minlength=K)
    sizes = ClusterSizes(minimum=counted.tolist(), maximum=(counted + seed % 2).tolist())
    problem, _ = scene(seed, pin, sizes, cliques=cliques)
    found = CliqueExchange(problem).improve(labels, 1e-9)
    if found is not None:
        assert not broken(problem.rules, found, any_order=True)
        assert inertia(problem, found) < inertia(problem, labels)
