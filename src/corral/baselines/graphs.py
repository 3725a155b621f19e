"""Similarity graphs and their normalised cuts, for the spectral baselines."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans

from .._typing import FloatArray, IntArray


def distances(X: FloatArray, must: IntArray) -> FloatArray:
    """Distances (n, n) after must-links have opened shortcuts of length 0.

    The distances are a metric, so a shortest path gains only by passing must-linked points:
    Floyd and Warshall's recursion runs over these alone.
    """
    distance: FloatArray = squareform(pdist(X))
    distance[must[:, 0], must[:, 1]] = 0.0
    distance[must[:, 1], must[:, 0]] = 0.0
    for via in np.unique(must):
        np.minimum(distance, distance[:, via, None] + distance[via], out=distance)
    return distance


def reach(distance: FloatArray, n_neighbors: int) -> float:
    """Mean distance to the nearest neighbours; 1 if all are 0 or there are none."""
    others = np.sort(distance, axis=1)[:, 1 : n_neighbors + 1]
    return float(others.mean()) or 1.0 if others.size else 1.0


def neighbour_graph(distance: FloatArray, n_neighbors: int, width: float) -> FloatArray:
    """Gaussian similarities of nearest neighbours, made symmetric; 0 elsewhere.

    ``exp(-d^2 / (2 width^2))``, averaged with its transpose, since to be a neighbour is not
    mutual.
    """
    n = len(distance)
    apart = distance.copy()
    np.fill_diagonal(apart, np.inf)
    near = np.argsort(apart, axis=1, kind="stable")[:, : min(n_neighbors, n - 1)]
    similarity = np.zeros((n, n))
    rows = np.arange(n)[:, None]
    similarity[rows, near] = np.exp(-0.5 * (apart[rows, near] / width) ** 2)
    return np.asarray((similarity + similarity.T) / 2.0)


def normalised(similarity: FloatArray) -> FloatArray:
    """``D^(-1/2) W D^(-1/2)``."""
    root = _inverse_root_degrees(similarity)
    return np.asarray(root[:, None] * similarity * root)


def embed(similarity: FloatArray, size: int) -> FloatArray:
    """Relaxed normalised cut: the leading solutions y of ``W y = lambda D y``, as columns."""
    n = len(similarity)
    vectors = eigh(normalised(similarity), subset_by_index=[n - size, n - 1])[1]
    return np.asarray(vectors[:, ::-1] * _inverse_root_degrees(similarity)[:, None])


def _inverse_root_degrees(similarity: FloatArray) -> FloatArray:
    """``D^(-1/2)`` as a vector; 1 for a point without neighbours."""
    degree = similarity.sum(axis=1)
    return np.asarray(1.0 / np.sqrt(np.where(degree > 0.0, degree, 1.0)))


def embedding_labels(
    embedding: FloatArray, n_clusters: int, random_state: np.random.RandomState
) -> IntArray:
    """k-means on the rows of a spectral embedding, the best of ten starts."""
    model = KMeans(n_clusters, n_init=10, random_state=random_state)
    return np.asarray(model.fit(embedding).labels_)
