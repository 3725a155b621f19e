"""k-means++ on a device draws what scikit-learn draws."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import make_blobs

torch = pytest.importorskip("torch")

from corral.backends.gpu.device import device_plus_plus as plus_plus  # noqa: E402


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_rows_from_the_same_random_numbers(seed, weighted):
    points, _ = make_blobs(500, 6, centers=9, cluster_std=4.0, random_state=seed)
    weight = np.random.default_rng(seed).uniform(0.1, 5.0, 500) if weighted else np.ones(500)
    expected, _ = kmeans_plusplus(points, 9, sample_weight=weight, random_state=seed)
    tensors = torch.as_tensor(points), torch.as_tensor(weight)
    found = plus_plus(*tensors, 9, np.random.RandomState(seed))
    np.testing.assert_array_equal(found.numpy(), expected)


def test_far_from_the_origin_in_single_precision():
    points, _ = make_blobs(500, 3, centers=5, cluster_std=0.1, random_state=0)
    far = torch.as_tensor(points + 1e4, dtype=torch.float32)
    found = plus_plus(far, torch.ones(500), 5, np.random.RandomState(0)).numpy()
    gaps = np.linalg.norm(found[:, None] - found, axis=2) + 1e9 * np.eye(5)
    assert gaps.min() > 1.0  # one in each blob, which are wide apart
