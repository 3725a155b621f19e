"""Constrained complete-link: SciPy's tree without links, and the paper's distances with them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from corral import CannotLink, ConstraintSet, MustLink
from corral.baselines import ConstrainedCompleteLink
from corral.baselines.base import Links
from corral.baselines.pairwise import linked_distances
from corral.datasets import load_wine, random_links


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_without_links_it_is_scipys(seed, k):
    X = np.random.default_rng(seed).normal(size=(40, 3))
    model = ConstrainedCompleteLink(k).fit(X)
    tree = linkage(X, "complete")
    assert np.array_equal(model.linkage_, tree)
    assert adjusted_rand_score(fcluster(tree, k, "maxclust"), model.labels_) == 1.0


@pytest.mark.parametrize("seed", range(10))
def test_distances_are_the_papers(seed):
    """All shortest paths by Floyd and Warshall over all points, and then the cannot-links."""
    rng = np.random.default_rng(seed)
    X, hidden = rng.normal(size=(25, 2)), rng.integers(0, 3, 25)
    rules = ConstraintSet(random_links(hidden, 8, 8, random_state=seed))
    wanted = squareform(pdist(X))
    for i, j in rules[0].pairs:
        wanted[i, j] = wanted[j, i] = 0.0
    for via in range(25):
        wanted = np.minimum(wanted, wanted[:, [via]] + wanted[[via]])
    most = wanted.max()
    for i, j in rules[1].pairs:
        wanted[i, j] = wanted[j, i] = most + 1.0
    assert np.allclose(linked_distances(X, Links.of(rules)), squareform(wanted, checks=False))


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_number_of_clusters_is_exact_although_heights_tie(k):
    X, y = load_wine(return_X_y=True)
    rules = random_links(y, 60, 200, random_state=0)
    labels = ConstrainedCompleteLink(k).fit(X, constraints=rules).labels_
    assert set(labels.tolist()) == set(range(k))


def test_a_must_link_draws_its_neighbours_along():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [18.0], [19.0]])
    free = ConstrainedCompleteLink(2).fit(X).labels_
    assert free[0] == free[1] != free[4]
    linked = ConstrainedCompleteLink(2).fit(X, constraints=MustLink([(0, 5)])).labels_
    assert linked[0] == linked[1] == linked[4] == linked[5] != linked[2]


def test_a_cannot_link_parts_clusters():
    X = np.array([[0.0], [1.0], [2.0], [50.0]])
    labels = ConstrainedCompleteLink(2).fit(X, constraints=CannotLink([(0, 2)])).labels_
    assert labels[0] != labels[2]
