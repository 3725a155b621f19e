"""Sum of the distances of rows to the medoids of their clusters, from its definition.

This is the audit's own code: no solver calls it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from .._typing import FloatArray, IntArray
from .spheres import RADIUS, arcs


def sum_of_distances(
    X: Any, labels: IntArray, medoids: IntArray, metric: Any, weight: FloatArray | None = None
) -> float:
    r"""Weighted distances to the medoids, :math:`\sum_i w_i d(x_i, m_{l(i)})`.

    Parameters
    ----------
    X : (n, d) array, or (n, c) distances if the metric is "precomputed"
    labels : (n,) array
    medoids : (k,) array
        Rows of X, or columns of precomputed distances.
    metric : str or callable
        As :func:`sklearn.metrics.pairwise_distances` takes it; by haversine, X is in degrees and
        distances are in kilometres.
    weight : (n,) array, optional

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [2.0], [10.0]])
    >>> sum_of_distances(X, np.array([0, 0, 1]), np.array([1, 2]), "manhattan")
    2.0
    """
    w = np.ones(len(labels)) if weight is None else weight
    total = 0.0
    for j in np.unique(labels):
        own = np.flatnonzero(labels == j)
        if metric == "precomputed":
            distance = X[own, medoids[j]]
        elif metric == "euclidean" and not sparse.issparse(X):
            distance = cdist(X[own], X[[medoids[j]]])[:, 0]
        elif metric == "haversine":
            distance = RADIUS * arcs(np.radians(X[medoids[j]]), np.radians(X[own]))
        else:
            distance = pairwise_distances(X[own], X[[medoids[j]]], metric=metric)[:, 0]
        total += float(w[own] @ distance)
    return total
