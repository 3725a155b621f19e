"""Fits of tensors through the estimator's path: the same answers as in memory."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

torch = pytest.importorskip("torch")

from local_shards import cut, fit_shards  # noqa: E402

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, MustLink, Pin, audit  # noqa: E402
from corral.backends.gpu.device import DeviceShards  # noqa: E402
from corral.datasets import random_links  # noqa: E402
from corral.plan import thresholds  # noqa: E402

N, D, K = 6_000, 4, 6
X, Y = make_blobs(N, D, centers=K, cluster_std=3.0, random_state=0)
WEIGHT = np.random.default_rng(0).uniform(0.5, 2.0, N)
SIZES = ClusterSizes([N // K] * K)
LINKS = random_links(Y, 400, 400, random_state=0)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def large(monkeypatch):
    """Have problems of this size solved where the rows are."""
    monkeypatch.setattr(thresholds, "LARGE", N * K - 1)


def fit_there(points, rules, weight=None, *, shards=None, max_samples=2_000, **parameters):
    shards = DeviceShards(torch.as_tensor(points).to(DEVICE)) if shards is None else shards
    found = fit_shards(points, shards, rules, K, weight, max_samples=max_samples, **parameters)
    assert found.report_.plan.home == ""
    return found


@pytest.mark.parametrize("max_samples", [None, 2_000])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize(
    "rules",
    [[], [SIZES], [ClusterSizes(minimum=900, maximum=1_100)]],
    ids=["free", "exact", "some"],
)
def test_the_labels_are_those_of_rows_in_memory(large, rules, weight, max_samples):
    found = fit_there(X, rules, weight, max_samples=max_samples)
    same = fit_there(X, rules, weight, shards=cut(X, 1), max_samples=max_samples)
    assert found.report_.feasible
    np.testing.assert_array_equal(found.labels_, same.labels_)
    np.testing.assert_allclose(found.cluster_centers_, same.cluster_centers_)
    # In memory the last few rows are polished one by one.
    model = ConstrainedKMeans(K, random_state=0, max_samples=max_samples)
    model.fit(X, constraints=rules, sample_weight=weight)
    assert np.mean(found.labels_ == model.labels_) > 0.999
    assert found.inertia_ == pytest.approx(model.inertia_, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pairs_and_sizes_together(large, dtype):
    points, rules = X.astype(dtype), [*LINKS, SIZES]
    found = fit_there(points, rules)
    assert found.report_.feasible
    independent = audit(points, found.labels_, rules, K)
    assert independent.feasible
    assert independent.inertia == pytest.approx(found.inertia_, rel=1e-6)
    model = ConstrainedKMeans(K, random_state=0).fit(points, constraints=rules)
    assert found.inertia_ <= model.inertia_ * 1.002


@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_half_of_the_bits_and_a_far_middle(large, shift):
    points = (X + shift).astype(np.float32)
    found = fit_there(points, [SIZES])
    model = ConstrainedKMeans(K, random_state=0).fit(points, constraints=SIZES)
    assert found.report_.feasible
    assert np.mean(found.labels_ == model.labels_) > 0.99
    assert found.inertia_ == pytest.approx(model.inertia_, rel=1e-4)


PINS = Pin({int(row): int(Y[row]) for row in range(0, N, 61)})
SOFT = [
    MustLink(random_links(Y, 150, 0, random_state=5)[0].pairs, weight=30.0),
    CannotLink(random_links(Y, 0, 150, random_state=6)[1].pairs, weight=30.0),
]
FOLLOW = {
    "pins": [PINS],
    "soft pairs": SOFT,
    "pins, soft pairs and sizes": [PINS, *SOFT, SIZES],
}


@pytest.mark.parametrize("max_samples", [None, 2_000])
@pytest.mark.parametrize("kind", FOLLOW)
def test_pins_and_soft_pairs_stay_on_the_device(large, kind, max_samples):
    found = fit_there(X, FOLLOW[kind], max_samples=max_samples)
    independent = audit(X, found.labels_, FOLLOW[kind], K)
    assert independent.feasible
    assert independent.objective == pytest.approx(found.report_.objective, rel=1e-9)
    model = ConstrainedKMeans(K, random_state=0, max_samples=max_samples)
    model.fit(X, constraints=FOLLOW[kind])
    assert found.report_.objective <= model.report_.objective * (1.0 + 1e-3)


def test_cosine_has_the_labels_of_rows_in_memory(large):
    """Rows are brought to one length on the device; must-links are joined there."""
    rules = [SIZES, MustLink([(0, 1), (2, 3)])]
    found = fit_there(X, rules, metric="cosine", n_init=1)
    same = fit_there(X, rules, shards=cut(X, 1), metric="cosine", n_init=1)
    np.testing.assert_array_equal(found.labels_, same.labels_)
    np.testing.assert_allclose(found.cluster_centers_, same.cluster_centers_)
    independent = audit(X, found.labels_, rules, K, metric="cosine")
    assert independent.feasible
    assert independent.inertia == pytest.approx(found.inertia_)
    points = X.copy()
    points[4_321] = 0.0
    with pytest.raises(ValueError, match="row 4321 of X has zeros in every column"):
        fit_there(points, rules, metric="cosine")
