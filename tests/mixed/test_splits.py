"""Splits and folds: every row once, whole groups, classes as even as those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from corral import MixedKFold, split


def test_parts_have_the_sizes_and_hold_every_row_once():
    X = np.random.default_rng(0).normal(size=(50, 3))
    for parts, sizes in (
        (4, [13, 13, 12, 12]),
        ([0.5, 0.3, 0.2], [25, 15, 10]),
        ([40, 10], [40, 10]),
    ):
        found = split(X, parts, random_state=0)
        assert [len(part) for part in found] == sizes
        np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(50))


def test_groups_stay_whole_and_parts_are_near_their_sizes():
    rng = np.random.default_rng(1)
    groups = rng.choice(["a", "b", "c", "d", "e", "f", "g", "h"], 80)
    parts = split(rng.normal(size=(80, 2)), [0.5, 0.5], groups=groups, random_state=0)
    assert not set(groups[parts[0]]) & set(groups[parts[1]])
    sums = np.bincount(np.unique(groups, return_inverse=True)[1])
    reached = {0}
    for size in sums:
        reached |= {size + one for one in reached}
    assert abs(len(parts[0]) - 40) == min(abs(one - 40) for one in reached)


def test_classes_are_spread_and_targets_have_the_same_means():
    X, y = load_iris(return_X_y=True)
    for _, test in MixedKFold(5, random_state=0).split(X, y):
        assert np.bincount(y[test]).tolist() == [10, 10, 10]
    target = np.random.default_rng(0).normal(size=150)
    folds = [test for _, test in MixedKFold(3, random_state=0).split(X, target)]
    means = np.array([target[test].mean() for test in folds])
    np.testing.assert_allclose(means, target.mean(), atol=0.05)


def test_folds_work_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    folds = MixedKFold(4, random_state=0)
    model = LogisticRegression(max_iter=1000)
    groups = np.repeat(np.arange(30), 5)
    assert len(cross_val_score(model, X, y, cv=folds, groups=groups)) == 4
    search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=folds).fit(X, y)
    assert search.best_score_ > 0.8
    assert folds.get_n_splits(X, y) == 4


def test_sparse_rows_and_many_columns():
    rng = np.random.default_rng(2)
    wide = rng.normal(size=(60, 150))
    for X in (wide, sparse.csr_array(wide * (wide > 1.0))):
        parts = split(X, 3, random_state=0)
        assert [len(part) for part in parts] == [20, 20, 20]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (0, "must lie in"),
        ([30, 30], "adds up to 60"),
        ([1.5, 0.2], "adds up to 1.7"),
        ("half", "must be a number, or a list"),
        ([-1, 51], "not negative"),
    ],
)
def test_wrong_sizes_say_what_is_allowed(parts, words):
    with pytest.raises(ValueError, match=words):
        split(np.arange(50.0)[:, None], parts)


def test_wrong_folds_and_groups():
    X = np.arange(10.0)[:, None]
    with pytest.raises(ValueError, match="`n_splits` is 1"):
        next(MixedKFold(1).split(X))
    with pytest.raises(ValueError, match="`groups` has shape"):
        split(X, 2, groups=[1, 2])
