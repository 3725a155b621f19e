"""Unequal sizes of many points: a small sample tells which cluster gets which."""

from __future__ import annotations

import numpy as np
import pytest
from reference import inertia
from sklearn.datasets import make_blobs

from corral import ClusterSizes, ConstrainedKMeans
from corral.assign import NoAssignment
from corral.geometry import Geometry
from corral.pilot import MANY, better_order, needs_pilot
from corral.presolve import presolve

SIZES = [200, 400, 600, 1000, 1800, 4000]
X, CLASSES = make_blobs(SIZES, 3, cluster_std=2.0, random_state=1)


@pytest.mark.parametrize(
    ("sizes", "n", "due"),
    [
        (ClusterSizes(SIZES), 8000, True),
        (ClusterSizes(SIZES, ordered=True), 8000, False),
        (ClusterSizes([2000] * 4), 8000, False),
        (ClusterSizes([1990, 1990, 2010, 2010]), 8000, False),
        (ClusterSizes(minimum=10, maximum=6000), 8000, False),
        (ClusterSizes([100, 300]), 400, False),
        (ClusterSizes(np.arange(1, 101)), 5050, False),
    ],
)
def test_a_pilot_is_due_where_sizes_may_change_hands_in_many_points(sizes, n, due):
    k = 6 if sizes.sizes is None else len(sizes.sizes)
    problem = presolve(np.zeros((n, 1)), [sizes], k)
    assert needs_pilot(problem) == due


def test_a_pilot_is_due_from_so_many_entries_on():
    at, above = MANY // 2, MANY // 2 + 1
    assert not needs_pilot(presolve(np.zeros((at, 1)), [ClusterSizes([1, at - 1])], 2))
    assert needs_pilot(presolve(np.zeros((above, 1)), [ClusterSizes([1, above - 1])], 2))


@pytest.mark.parametrize("seed", range(3))
def test_the_classes_sizes_are_found_where_the_classes_overlap(seed):
    """The classes obey the sizes, so the best answer costs no more than they do."""
    model = ConstrainedKMeans(6, n_init=1, random_state=seed)
    labels = model.fit_predict(X, constraints=ClusterSizes(SIZES))
    assert sorted(np.bincount(labels)) == SIZES
    assert inertia(X, labels) <= inertia(X, CLASSES)


def test_labels_get_no_worse_and_fit_the_sizes():
    problem = presolve(X, [ClusterSizes(SIZES)], 6)
    shuffled = np.random.default_rng(0).permutation(CLASSES)

    def solve_small(part):
        picked = ConstrainedKMeans(6, n_init=1, random_state=0)
        picked.fit(part.points, constraints=ClusterSizes(part.sizes.lower))
        return picked.labels_, picked.cluster_centers_

    found = better_order(
        problem, Geometry(problem), shuffled, solve_small, np.random.RandomState(0)
    )
    assert sorted(np.bincount(found)) == SIZES
    assert inertia(X, found) < 0.5 * inertia(X, shuffled)


def test_a_sample_without_answer_changes_nothing():
    def fails(part):
        raise NoAssignment

    problem = presolve(X, [ClusterSizes(SIZES)], 6)
    found = better_order(problem, Geometry(problem), CLASSES, fails, np.random.RandomState(0))
    np.testing.assert_array_equal(found, CLASSES)
