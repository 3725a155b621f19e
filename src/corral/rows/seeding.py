"""k-means++ seeds of a few rows in memory."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import kmeans_plusplus

from .._typing import FloatArray, Matrix


def plus_plus(
    points: Matrix, weight: FloatArray, n_clusters: int, random_state: np.random.RandomState
) -> FloatArray:
    """k-means++ seeds; with fewer points than clusters, some stand twice."""
    k, m = n_clusters, points.shape[0]
    if m >= k:
        given = weight if weight.any() else np.ones(m)
        seeds, _ = kmeans_plusplus(points, k, sample_weight=given, random_state=random_state)
    else:
        seeds = points[np.concatenate([np.arange(m), random_state.randint(m, size=k - m)])]
    dense = seeds if isinstance(seeds, np.ndarray) else seeds.toarray()
    return dense.astype(np.float64)
