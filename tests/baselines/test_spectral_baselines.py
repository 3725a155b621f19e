"""E2CP and constrained normalised cuts: spectral clustering without links, and their algebra."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from corral import CannotLink, ConstraintSet, MustLink
from corral.baselines import E2CP, ConstrainedNCut
from corral.baselines.base import Links
from corral.baselines.pairwise import (
    link_signs,
    moved,
    neighbour_graph,
    normalised,
    path_distances,
    propagate,
    reach,
)
from corral.datasets import load_iris, load_wine, random_links

BOTH = pytest.mark.parametrize("kind", [E2CP, ConstrainedNCut])
LOADERS = pytest.mark.parametrize("load", [load_wine, load_iris])


@BOTH
@LOADERS
def test_without_links_it_is_plain_spectral_clustering(kind, load):
    X, _ = load(return_X_y=True)
    model = kind(3, random_state=0).fit(X)
    plain = SpectralClustering(3, affinity="precomputed", random_state=0)
    assert adjusted_rand_score(plain.fit(model.affinity_matrix_).labels_, model.labels_) == 1.0


@LOADERS
def test_the_graph_is_that_of_the_neighbours(load):
    X, _ = load(return_X_y=True)
    model = E2CP(3, n_neighbors=7, random_state=0).fit(X)
    graph = kneighbors_graph(X, 7, mode="distance")
    graph.data = np.exp(-0.5 * (graph.data / graph.data.mean()) ** 2)
    wanted = (graph + graph.T).toarray() / 2
    # Where neighbours tie, either may be taken; the weights are the same.
    assert np.allclose(np.sort(model.affinity_matrix_.ravel()), np.sort(wanted.ravel()))


@BOTH
@LOADERS
def test_links_help(kind, load):
    X, y = load(return_X_y=True)
    free = kind(3, random_state=0).fit(X)
    scores = []
    for seed in range(3):
        rules = random_links(y, 100, 100, random_state=seed)
        held = kind(3, random_state=0).fit(X, constraints=rules)
        broken = sum(entry.hard_count for entry in held.report_.entries)
        assert broken < sum(rule.violations(free.labels_).count for rule in rules)
        scores.append(adjusted_rand_score(y, held.labels_))
    assert np.mean(scores) > adjusted_rand_score(y, free.labels_)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.8])
def test_propagation_is_the_limit_of_the_two_recursions(alpha):
    rng = np.random.default_rng(0)
    X, hidden = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    signs = link_signs(30, Links.of(ConstraintSet(random_links(hidden, 6, 6, random_state=1))))
    apart = path_distances(X, np.empty((0, 2), int))
    similarity = neighbour_graph(apart, 5, reach(apart, 5))
    smooth = normalised(similarity)
    vertical = np.zeros_like(signs)
    for _ in range(400):
        vertical = alpha * smooth @ vertical + (1 - alpha) * signs
    both = np.zeros_like(signs)
    for _ in range(400):
        both = alpha * both @ smooth + (1 - alpha) * vertical
    assert np.allclose(propagate(signs, similarity, alpha), both)


def test_moved_similarities():
    rng = np.random.default_rng(0)
    similarity = rng.uniform(size=(20, 20))
    similarity = (similarity + similarity.T) / 2
    score = rng.uniform(-1, 1, size=(20, 20))
    score = (score + score.T) / 2
    result = moved(similarity, score)
    off = ~np.eye(20, dtype=bool)
    assert (result[off] >= 0).all()
    assert (result[off] <= 1).all()
    assert np.array_equal((result > similarity)[off], (score > 0)[off])
    assert np.allclose(moved(similarity, np.ones_like(score))[off], 1.0)
    assert np.allclose(moved(similarity, -np.ones_like(score))[off], 0.0)
    assert np.allclose(moved(similarity, np.zeros_like(score))[off], similarity[off])


def test_cut_similarities_follow_the_consequences_of_the_links():
    X = np.random.default_rng(0).normal(size=(12, 2))
    rules = [MustLink([(0, 1), (1, 2), (3, 4)]), CannotLink([(2, 3)])]
    W = ConstrainedNCut(2, n_neighbors=4, random_state=0).fit(X, constraints=rules).affinity_matrix_
    assert np.array_equal(W, W.T)
    for i, j in ((0, 1), (0, 2), (1, 2), (3, 4)):
        assert W[i, j] == 1.0
    assert not W[np.ix_([0, 1, 2], [3, 4])].any()
    assert not W.diagonal().any()
