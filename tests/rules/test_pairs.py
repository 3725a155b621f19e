"""Cliques of cannot-links and labelled groups in presolve, and fits with them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from local_shards import cut, fit_shards
from problems import problem_of
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import euclidean_distances

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, MustLink, Pin
from corral.rules import presolve
from corral.rules.pairs import clique_cover, labelled_groups
from corral.search.starts import labelled_means, make_start


def inside(cover):
    """All pairs inside the cliques of a cover."""
    cliques = np.split(cover.members, cover.start[1:-1])
    return {tuple(pair) for clique in cliques for pair in combinations(clique.tolist(), 2)}


@pytest.mark.parametrize("density", [0.0, 0.1, 0.5, 1.0])
def test_a_cover_has_every_pair_and_no_other(density):
    rng = np.random.default_rng(1)
    pairs = np.argwhere(np.triu(rng.random((25, 25)) < density, 1))
    cover = clique_cover(25, rng.permutation(pairs))
    assert inside(cover) == set(map(tuple, pairs.tolist()))
    assert len(cover) <= len(pairs)


def test_disjoint_cliques_are_found_whole():
    rows = np.random.default_rng(0).permutation(60).reshape(10, 6)
    pairs = np.array([pair for row in rows for pair in combinations(row, 2)])
    cover = clique_cover(60, pairs)
    found = {frozenset(each) for each in np.split(cover.members, cover.start[1:-1])}
    assert found == {frozenset(row) for row in rows}


def labelled(n, k, classes):
    """All pairs of labelled rows, given as a class or -1 for each row."""
    rows = np.flatnonzero(classes >= 0)
    pairs = np.array(list(combinations(rows, 2)))
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return presolve([MustLink(pairs[same]), CannotLink(pairs[~same])], n, k)


def test_all_pairs_of_labelled_rows_name_the_clusters():
    classes = np.full(40, -1)
    classes[::3] = np.arange(14) % 4
    rules = labelled(40, 5, classes)
    groups, clusters = rules.labelled.T
    assert len(np.unique(clusters)) == len(groups) == 4
    members = [frozenset(np.flatnonzero(rules.group == g)) for g in groups]
    assert set(members) == {frozenset(np.flatnonzero(classes == c)) for c in range(4)}


def test_labelled_groups_are_apart_from_each_other_and_from_pins():
    rng = np.random.default_rng(2)
    for _ in range(30):
        m, k = 12, 4
        apart = np.argwhere(np.triu(rng.random((m, m)) < 0.6, 1))
        pins = np.array([[int(rng.integers(m)), int(rng.integers(k))]])
        found = labelled_groups(k, rng.integers(1, 4, m), pins, apart)
        assert len(np.unique(found[:, 1])) == len(found)
        linked = set(map(tuple, apart.tolist()))
        assert all(tuple(sorted(pair)) in linked for pair in combinations(found[:, 0].tolist(), 2))


@pytest.mark.parametrize("pinned", [False, True])
def test_seeds_are_the_means_of_labelled_rows(pinned):
    X, y = make_blobs(200, 3, centers=5, random_state=0)
    rows = np.flatnonzero((np.arange(200) % 7 == 0) & (y < 4))
    if pinned:
        rules = [Pin({int(row): int(y[row]) for row in rows})]
    else:
        pairs = np.array(list(combinations(rows, 2)))
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        rules = [MustLink(pairs[same]), CannotLink(pairs[~same])]
    problem, rng = problem_of(X, rules, 5), np.random.RandomState(0)
    known = labelled_means(problem.rules, problem.rows, rng)
    start = make_start(problem.rules, problem.rows, "k-means++", rng, labelled=known)
    centers = start.centers + problem.rows.middle
    means = np.array([X[rows[y[rows] == c]].mean(axis=0) for c in range(4)])
    gaps = euclidean_distances(means, centers)
    order = np.arange(4) if pinned else gaps.argmin(axis=1)
    np.testing.assert_allclose(centers[order], means, atol=1e-9)
    # The other seed is a row, drawn far from these.
    (rest,) = set(range(5)) - set(order.tolist())
    assert euclidean_distances(X, centers[[rest]]).min() < 1e-9


def lloyd(X, centers, cliques):
    """Assignment of each clique by the Hungarian method and means, while the inertia falls."""
    centers, best = centers.copy(), np.inf
    while True:
        cost = euclidean_distances(X, centers, squared=True)
        labels = cost.argmin(axis=1)
        for clique in cliques:
            labels[clique] = linear_sum_assignment(cost[clique])[1]
        for j in np.unique(labels):
            centers[j] = X[labels == j].mean(axis=0)
        inertia = float(np.square(X - centers[labels]).sum())
        if inertia >= best * (1 - 1e-12):
            return best
        best = inertia


@pytest.mark.parametrize("sized", [False, True])
def test_full_cliques_end_no_higher_than_lloyd_from_the_same_centres(sized):
    X, _ = make_blobs(640, 3, centers=10, cluster_std=2.0, random_state=3)
    cliques = np.random.default_rng(3).permutation(640).reshape(-1, 10)
    rules = [CannotLink([pair for clique in cliques for pair in combinations(clique, 2)])]
    if sized:  # which full cliques imply
        rules.append(ClusterSizes(np.full(10, 64)))
    start = kmeans_plusplus(X, 10, random_state=1)[0]
    model = ConstrainedKMeans(10, init=start, random_state=0).fit(X, constraints=rules)
    assert model.inertia_ <= lloyd(X, start, cliques) * (1 + 1e-9)
    assert (np.sort(model.labels_[cliques], axis=1) == np.arange(10)).all()


def test_labels_steer_the_start_wherever_the_rows_are():
    X, y = make_blobs(3000, 4, centers=6, cluster_std=4.0, random_state=4)
    rows = np.arange(0, 3000, 30)
    pins = [Pin({int(row): int(y[row]) for row in rows})]
    shards = cut(X, 3)
    options = {"n_init": 1, "max_samples": 800}
    far = fit_shards(X, shards, pins, 6, **options)
    near = ConstrainedKMeans(6, random_state=0, **options).fit(X, constraints=pins)
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-5)
    assert (far.labels_[rows] == y[rows]).all()
