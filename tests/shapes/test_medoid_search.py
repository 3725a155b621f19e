"""Medoids as a shape of the search: medoids of labels, moves that they follow, variations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from corral import ClusterTotals, ConstrainedKMeans, ConstrainedKMedoids, MustLink
from corral.deadline import NEVER
from corral.exact import broken
from corral.rules import presolve
from corral.search.budget import Budget
from corral.search.descent import Descender
from corral.search.vary import Variation
from corral.shapes.medoid_search import Medoids, MedoidShape

N, K = 24, 4


def scene(seed, inside=True, linked=True):
    """A shape of asymmetric distances with weights, and rules on groups of several rows."""
    rng = np.random.default_rng(seed)
    distance = rng.uniform(size=(N, N if inside else 9))
    if inside:
        np.fill_diagonal(distance, 0.0)
    values = rng.integers(1, 9, N)
    rules = [ClusterTotals(values, maximum=int(values.sum() / K) + 6)]
    rules += [MustLink([(0, 5), (5, 9), (2, 3)])] if linked else []
    given = presolve(rules, N, K)
    return MedoidShape(distance, rng.uniform(0.5, 2.0, N), given, inside), given


def literal(shape, labels):
    """What labels cost at the best medoids among the members, by definition."""
    total = 0.0
    for j in np.unique(labels):
        sums = shape.cost[labels == j].sum(axis=0)
        total += sums[labels[shape.home] == j].min()
    return total


@pytest.mark.parametrize("seed", range(3))
def test_clusters_have_the_best_medoid_among_their_members(seed):
    shape, rules = scene(seed)
    labels = np.random.default_rng(seed).integers(K - seed % 2, size=rules.n_groups)
    clusters = shape.clusters(labels)
    assert shape.objective(labels, clusters) == pytest.approx(literal(shape, labels))
    used = np.unique(labels)
    assert np.array_equal(labels[shape.home[clusters.at[used]]], used)
    assert len(set(clusters.at)) == K


def descended(shape, rules, seed):
    budget = Budget.of(shape.shape, K, 1.0, NEVER)
    descender = Descender(rules, shape, budget, np.random.RandomState(seed))
    start = np.random.default_rng(seed).integers(K, size=rules.n_groups)
    return descender.from_labels(start)


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_no_shift_pays_after_a_descent(seed, linked):
    """With the medoids that follow, by trying all that the rules allow."""
    shape, rules = scene(seed, linked=linked)
    found = descended(shape, rules, seed)
    assert found.objective == pytest.approx(literal(shape, found.labels))
    others = []
    for g in range(rules.n_groups):
        for j in range(K):
            other = found.labels.copy()
            other[g] = j
            others.append(other)
    allowed = [other for other in others if not broken(rules, other)]
    least = min(literal(shape, other) for other in allowed)
    assert found.objective <= least + 1e-9


@pytest.mark.parametrize("inside", [False, True])
def test_variations_have_different_medoids_and_keep_what_sleeps(inside):
    shape, rules = scene(5, inside)
    answers = [descended(shape, rules, seed) for seed in (1, 2)]
    variation = Variation(rules, shape, np.random.RandomState(0))
    for _ in range(30):
        assert len(set(variation.crossed(*answers).at)) == K
        varied = variation.local(answers[0])
        for j in np.flatnonzero(~varied.awake):
            assert np.array_equal(varied.labels == j, answers[0].labels == j)
        assert len(set(shape.clusters(varied.labels).at)) == K


def test_seeds_are_in_clusters_of_their_own():
    shape, rules = scene(6)
    groups = np.arange(3, rules.n_groups)
    labels = shape.seeded(groups, 5, np.random.RandomState(0))
    assert set(labels) == set(range(5))
    same = MedoidShape(np.zeros((8, 8)), np.ones(8), presolve([], 8, 3), inside=True)
    assert set(same.seeded(np.arange(8), 3, np.random.RandomState(0))) == {0, 1, 2}


def test_a_medoid_moves_only_to_a_candidate_that_is_none():
    shape, _ = scene(7, linked=False)
    clusters = Medoids(np.arange(K))
    assert np.array_equal(shape.moved(clusters, 1, 2).at, clusters.at)
    assert np.array_equal(shape.moved(clusters, 1, 9).at, [0, 9, 2, 3])


def test_many_clusters_are_no_worse_than_those_of_k_means():
    rng = np.random.default_rng(8)
    X, demand = rng.random((300, 2)), rng.lognormal(0.0, 0.4, 300)
    rules = ClusterTotals(demand, maximum=demand.sum() / 60 / 0.8)
    labels = ConstrainedKMeans(60, random_state=0).fit(X, constraints=rules).labels_
    distance = cdist(X, X)
    members = [np.flatnonzero(labels == j) for j in np.unique(labels)]
    known = sum(distance[np.ix_(own, own)].sum(axis=0).min() for own in members)
    model = ConstrainedKMedoids(60, random_state=0).fit(X, constraints=rules)
    assert model.report_.feasible
    assert model.inertia_ <= known * (1.0 + 1e-9)
    assert "k-means" in model.report_.how()


def test_the_same_seed_gives_the_same_answer_and_effort_is_checked():
    rng = np.random.default_rng(9)
    X, demand = rng.random((80, 2)), rng.integers(1, 9, 80)
    rules = ClusterTotals(demand, maximum=int(demand.sum() / 8) + 3)
    one, two = (ConstrainedKMedoids(8, random_state=3).fit(X, constraints=rules) for _ in "ab")
    assert np.array_equal(one.labels_, two.labels_)
    with pytest.raises(ValueError, match="`effort` is 0"):
        ConstrainedKMedoids(8, effort=0).fit(X)
