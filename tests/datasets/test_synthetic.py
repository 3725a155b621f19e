"""The generators of the paper's synthetic sets: what its text says of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from corral import ClusterSizes, ConstrainedKMeans
from corral.datasets import make_balanced, make_imbalanced


def kmeans_scores(X, y, starts):
    """ARI of k-means from single random starts."""
    fits = (KMeans(2, init="random", n_init=1, random_state=s).fit(X) for s in range(starts))
    return np.array([adjusted_rand_score(y, fit.labels_) for fit in fits])


def test_balanced_has_four_groups_with_the_gaps_asked_for():
    X, y = make_balanced(3, 2, random_state=0)
    assert np.bincount(y).tolist() == [350, 350]
    left, upper = X[:, 0] < 2.5, X[:, 1] > 2
    np.testing.assert_array_equal(left, y == 0)
    assert X[~left, 0].min() - X[left, 0].max() == pytest.approx(3, abs=0.1)
    assert X[upper, 1].min() - X[~upper, 1].max() == pytest.approx(2, abs=0.1)
    counts = [np.sum(left & upper), np.sum(~left & upper), np.sum(left & ~upper)]
    assert counts == [250, 250, 100]


@pytest.mark.parametrize("gap", [2, 3, 4])
def test_kmeans_finds_balanced_or_misses_it_altogether(gap):
    X, y = make_balanced(gap, gap, random_state=0)
    scores = kmeans_scores(X, y, 60)
    assert set(np.round(scores, 1)) == {0.0, 1.0}
    assert 0.5 < scores.mean() < 0.9


@pytest.mark.parametrize("gap", [0.1, 0.3])
@pytest.mark.parametrize("sample", range(4))
def test_kmeans_mixes_imbalanced(gap, sample):
    X, y = make_imbalanced(gap, random_state=sample)
    assert 0.2 < kmeans_scores(X, y, 10).mean() < 0.45


@pytest.mark.parametrize("make", [make_balanced, make_imbalanced])
def test_sizes_solve_both(make):
    X, y = make(random_state=1)
    sizes = ClusterSizes(np.bincount(y).tolist())
    model = ConstrainedKMeans(2, init="random", n_init=1, random_state=0).fit(X, constraints=sizes)
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_imbalanced_discs_keep_the_gap():
    X, y = make_imbalanced(0.3, random_state=0)
    assert np.bincount(y).tolist() == [600, 100]
    large, small = X[y == 0], X[y == 1]
    assert np.linalg.norm(large, axis=1).max() <= 3.0
    assert np.linalg.norm(small - [0.0, 3.0 + 0.3 + 1.65], axis=1).max() <= 1.65
    apart = np.linalg.norm(large[:, None] - small[None], axis=2).min()
    assert apart >= 0.3


@pytest.mark.parametrize("make", [make_balanced, make_imbalanced])
def test_same_seed_same_points(make):
    first, again, other = (make(random_state=seed)[0] for seed in (4, 4, 5))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("gap", [-0.1, np.inf, np.nan])
def test_bad_gaps_are_refused(gap):
    with pytest.raises(ValueError, match=r"`x_gap` is .*; it must be a finite number"):
        make_balanced(gap, 2)
    with pytest.raises(ValueError, match="`gap` is"):
        make_imbalanced(gap)
