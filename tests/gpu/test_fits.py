"""Fits of tensors through the estimator's path: the same answers as in memory."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

torch = pytest.importorskip("torch")

from corral.gpu.holder import TorchHolder  # noqa: E402
from corral.parameters import make_settings  # noqa: E402
from corral.shards import Local, Shard  # noqa: E402

from corral import ClusterSizes, ConstrainedKMeans, audit, elsewhere, problem  # noqa: E402
from corral.constraints import ConstraintSet  # noqa: E402
from corral.datasets import random_links  # noqa: E402

N, D, K = 6_000, 4, 6
X, Y = make_blobs(N, D, centers=K, cluster_std=3.0, random_state=0)
WEIGHT = np.random.default_rng(0).uniform(0.5, 2.0, N)
SIZES = ClusterSizes([N // K] * K)
LINKS = random_links(Y, 400, 400, random_state=0)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def large(monkeypatch):
    """Have problems of this size solved where the rows are."""
    for module in (elsewhere, problem):
        monkeypatch.setattr(module, "LARGE", N * K - 1)


def fit_there(points, rules, weight=None, *, holder=None, **parameters):
    holder = TorchHolder(torch.as_tensor(points).to(DEVICE)) if holder is None else holder
    model = ConstrainedKMeans(K, random_state=0, **parameters)
    settings = make_settings(model.get_params(deep=False), points)
    return elsewhere.find_solution_in_shards(
        holder, ConstraintSet(rules), K, weight, settings, np.random.RandomState(0)
    )


@pytest.mark.parametrize("max_samples", [None, 2_000])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize(
    "rules",
    [[], [SIZES], [ClusterSizes(minimum=900, maximum=1_100)]],
    ids=["free", "exact", "some"],
)
def test_the_labels_are_those_of_rows_in_memory(large, rules, weight, max_samples):
    solution, report = fit_there(X, rules, weight, max_samples=max_samples)
    same, _ = fit_there(X, rules, weight, holder=Local([Shard(X)]), max_samples=max_samples)
    assert report.feasible
    np.testing.assert_array_equal(solution.labels, same.labels)
    np.testing.assert_allclose(solution.centers, same.centers)
    # In memory the last few rows are polished one by one.
    model = ConstrainedKMeans(K, random_state=0, max_samples=max_samples)
    model.fit(X, constraints=rules, sample_weight=weight)
    assert np.mean(solution.labels == model.labels_) > 0.999
    assert report.inertia == pytest.approx(model.inertia_, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pairs_and_sizes_together(large, dtype):
    points, rules = X.astype(dtype), [*LINKS, SIZES]
    solution, report = fit_there(points, rules)
    assert report.feasible
    independent = audit(points, solution.labels, rules, K)
    assert independent.feasible
    assert independent.inertia == pytest.approx(report.inertia, rel=1e-6)
    model = ConstrainedKMeans(K, random_state=0).fit(points, constraints=rules)
    assert report.inertia <= model.inertia_ * 1.002


@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_half_of_the_bits_and_a_far_middle(large, shift):
    points = (X + shift).astype(np.float32)
    solution, report = fit_there(points, [SIZES])
    model = ConstrainedKMeans(K, random_state=0).fit(points, constraints=SIZES)
    assert report.feasible
    assert np.mean(solution.labels == model.labels_) > 0.99
    assert report.inertia == pytest.approx(model.inertia_, rel=1e-4)
