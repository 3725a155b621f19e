"""Similarity graphs and their normalised cuts, for the spectral baselines."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

from .._typing import FloatArray, IntArray


def neighbour_graph(X: FloatArray, n_neighbors: int, scale: float | str) -> FloatArray:
    """Gaussian similarities of nearest neighbours, made symmetric; 0 elsewhere.

    ``exp(-d^2 / (2 scale^2))``, averaged with its transpose, since to be a neighbour is not
    mutual.  The scale "auto" is the mean distance to the neighbours.
    """
    n = len(X)
    if n == 1:
        return np.zeros((1, 1))
    near = NearestNeighbors(n_neighbors=min(n_neighbors, n - 1)).fit(X)
    graph = near.kneighbors_graph(mode="distance")
    width = float(graph.data.mean()) if isinstance(scale, str) else scale
    graph.data = np.exp(-0.5 * (graph.data / (width or 1.0)) ** 2)
    similarity = graph.toarray()
    return np.asarray((similarity + similarity.T) / 2.0)


def inverse_root_degrees(similarity: FloatArray) -> FloatArray:
    """``D^(-1/2)`` as a vector; 1 for a point without neighbours."""
    degree = similarity.sum(axis=1)
    return np.asarray(1.0 / np.sqrt(np.where(degree > 0.0, degree, 1.0)))


def normalised(similarity: FloatArray) -> FloatArray:
    """``D^(-1/2) W D^(-1/2)``."""
    root = inverse_root_degrees(similarity)
    return np.asarray(root[:, None] * similarity * root)


def leading(matrix: FloatArray, count: int) -> FloatArray:
    """Eigenvectors of the ``count`` largest eigenvalues of a symmetric matrix, the first first."""
    n = len(matrix)
    vectors = eigh(matrix, subset_by_index=[max(n - count, 0), n - 1])[1]
    return np.asarray(vectors[:, ::-1])


def embedding_labels(
    embedding: FloatArray, n_clusters: int, random_state: np.random.RandomState
) -> IntArray:
    """k-means on the rows of a spectral embedding, the best of ten starts."""
    model = KMeans(n_clusters, n_init=10, random_state=random_state)
    return np.asarray(model.fit(embedding).labels_)
