"""COP-KMEANS: it never breaks a pair, is greedy to the letter, and admits dead ends.

Compared once with the package active-semi-supervised-clustering 0.0.1 on wine and iris with 20
and 60 pairs of each kind, 8 draws: mean inertia 201.5, 204.3, 30.9 and 34.4 against its 199.7,
201.0, 30.2 and 32.1, whose labels broke some pairs in every one of the four settings.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances_argmin

from corral import CannotLink, ConstraintSet, InfeasibleConstraintsError, MustLink
from corral.baselines import COPKMeans, DeadEndError
from corral.baselines.kmeans import _Groups
from corral.datasets import load_iris, random_links
from corral.rules import presolve
from corral.rules.pairs import link_graph


def literal_pass(distance, order, must, cannot):
    """The paper's assignment step, with the closed links as boolean matrices."""
    labels = np.full(len(distance), -1)
    for i in order:
        placed = labels >= 0
        for cluster in np.argsort(distance[i], kind="stable"):
            torn = np.any(must[i] & placed & (labels != cluster))
            joined = np.any(cannot[i] & (labels == cluster))
            if not torn and not joined:
                labels[i] = cluster
                break
        else:
            return None
    return labels


def closed_links(rules):
    group = rules.row_groups
    barred = np.zeros((rules.n_groups, rules.n_groups), bool)
    barred[tuple(rules.apart.T)] = True
    barred |= barred.T
    return group[:, None] == group, barred[group][:, group]


@pytest.mark.parametrize("seed", range(40))
def test_a_pass_is_the_papers(seed):
    rng = np.random.default_rng(seed)
    n, k = 30, int(rng.integers(2, 5))
    hidden = rng.integers(0, k, n)
    X, centers = rng.normal(size=(n, 2)), rng.normal(size=(k, 2))
    rules = presolve(ConstraintSet(random_links(hidden, 10, 12, random_state=seed)), n, k)
    groups = _Groups(rules.row_groups, link_graph(rules.n_groups, rules.apart))
    order = rng.permutation(n)
    leader, linked = groups.visit(order)
    distance = ((X[:, None] - centers) ** 2).sum(axis=2)
    wanted = literal_pass(distance, order, *closed_links(rules))
    if wanted is None:
        with pytest.raises(DeadEndError):
            groups.place(distance[leader], linked)
    else:
        assert np.array_equal(groups.place(distance[leader], linked), wanted)


@pytest.mark.parametrize("seed", range(10))
def test_it_never_breaks_a_pair(seed):
    X, y = load_iris(return_X_y=True)
    rules = random_links(y, 40, 40, random_state=seed)
    model = COPKMeans(3, random_state=seed).fit(X, constraints=rules)
    assert model.report_.feasible
    assert 1 <= model.n_runs_ <= 1000


def test_without_links_it_ends_where_kmeans_cannot_move():
    X, _ = load_iris(return_X_y=True)
    model = COPKMeans(3, random_state=0).fit(X)
    assert np.array_equal(model.labels_, pairwise_distances_argmin(X, model.cluster_centers_))
    for j in range(3):
        assert np.allclose(model.cluster_centers_[j], X[model.labels_ == j].mean(axis=0))


def test_a_dead_end_is_not_called_a_proof():
    """A long chain of cannot-links has two colourings, which greed in random order misses."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    chain = CannotLink([(i, i + 1) for i in range(59)])
    with pytest.raises(DeadEndError, match="each of 20 runs"):
        COPKMeans(2, max_restarts=20, random_state=0).fit(X, constraints=chain)


def test_what_is_proven_is_called_so():
    triangle = [CannotLink([(0, 1), (1, 2)]), MustLink([(0, 3)]), CannotLink([(3, 2)])]
    with pytest.raises(InfeasibleConstraintsError):
        COPKMeans(2).fit(np.arange(4.0)[:, None], constraints=triangle)
