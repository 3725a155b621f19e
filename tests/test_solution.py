"""The numbers of clusters with ordered sizes, which are solved in any order."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from corral import ClusterSizes, ConstrainedKMeans, Pin

SIZES = [40, 40, 80]
CENTERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
X, CLASSES = make_blobs(SIZES, 2, centers=CENTERS, cluster_std=0.5, random_state=0)
RULE = ClusterSizes(SIZES, ordered=True)


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2]])
@pytest.mark.parametrize("as_labels", [False, True])
def test_equal_sizes_follow_the_start(order, as_labels):
    start = np.argsort(order)[CLASSES] if as_labels else CENTERS[order]
    labels = ConstrainedKMeans(3, init=start).fit_predict(X, constraints=RULE)
    np.testing.assert_array_equal(labels, np.argsort(order)[CLASSES])


def test_sizes_come_before_the_start():
    labels = ConstrainedKMeans(3, init=CENTERS[[2, 1, 0]]).fit_predict(X, constraints=RULE)
    np.testing.assert_array_equal(np.bincount(labels), SIZES)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("low", "high"), [([60, 0, 30], [90, 45, 50]), ([0, 70, 0], None)])
def test_bounds_in_order(low, high, seed):
    rule = ClusterSizes(minimum=low, maximum=high, ordered=True)
    labels = ConstrainedKMeans(3, random_state=seed).fit_predict(X, constraints=rule)
    sizes = np.bincount(labels, minlength=3)
    assert np.all(sizes >= low)
    assert high is None or np.all(sizes <= high)
    assert sorted(sizes) == SIZES


def test_pins_tie_numbers_too():
    last = int(np.flatnonzero(CLASSES == 1)[0])
    rules = [RULE, Pin({last: 0})]
    labels = ConstrainedKMeans(3, random_state=0).fit_predict(X, constraints=rules)
    np.testing.assert_array_equal(labels, np.array([1, 0, 2])[CLASSES])


def test_x_is_renamed_along():
    last = ConstrainedKMeans(3, random_state=0, n_init=1).fit(X, constraints=RULE).n_iter_
    model = ConstrainedKMeans(3, random_state=0, n_init=1, record_x=[last])
    x = model.fit(X, constraints=RULE).history_.x[last]
    np.testing.assert_array_equal(x.argmax(axis=1), model.labels_)
