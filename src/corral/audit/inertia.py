"""Means and inertia from the definition: the audit's own, which shares no line with solvers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray, Matrix

# Rows worked on at a time: large enough for NumPy, small enough to stay out of memory's way.
_BLOCK = 8192


def _membership(label: IntArray, weight: FloatArray, n_clusters: int) -> sparse.csr_array:
    """The (k, n) matrix that sums rows by cluster, each with its weight."""
    rows = np.arange(len(label))
    return sparse.csr_array((weight, (label, rows)), shape=(n_clusters, len(label)))


def means_of(X: Matrix, label: IntArray, weight: FloatArray, n_clusters: int) -> FloatArray:
    """Weighted mean of each cluster; zero where a cluster has no weight."""
    total = np.bincount(label, weights=weight, minlength=n_clusters)
    sums = np.zeros((n_clusters, X.shape[1]))
    for block in _blocks(len(label)):
        member = _membership(label[block], weight[block], n_clusters)
        sums += member @ X[block].astype(float)
    means: FloatArray = sums / np.where(total > 0, total, 1.0)[:, None]
    return means


def inertia_of(X: Matrix, label: IntArray, weight: FloatArray, centers: FloatArray) -> float:
    """Sum of w_i |x_i - mu_label(i)|^2, from differences so that no digits cancel."""
    if sparse.issparse(X):
        return _sparse_inertia(X, label, weight, centers)
    total = 0.0
    for block in _blocks(len(label)):
        step = X[block] - centers[label[block]]
        total += float(weight[block] @ np.einsum("ij,ij->i", step, step))
    return total


def _sparse_inertia(
    X: sparse.csr_array, label: IntArray, weight: FloatArray, centers: FloatArray
) -> float:
    """The same from the entries stored; the others are zeros and cost mu^2 each.

    The zeros are counted (by weight) for each cluster and feature, so that X stays sparse:
    a weight W_j of rows less the weight stored in feature f leaves W_j - N_jf of zeros.
    """
    X = sparse.csr_array(X, dtype=float)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    stored = weight[row] @ (X.data - centers[label[row], X.indices]) ** 2
    member = _membership(label, weight, len(centers))
    pattern = sparse.csr_array((np.ones(len(X.data)), X.indices, X.indptr), shape=X.shape)
    # Both products add weights in the order of the rows: a full column leaves exactly 0.
    zeros = (member @ np.ones(len(label)))[:, None] - (member @ pattern).toarray()
    return float(stored + (zeros * centers**2).sum())


def _blocks(n_rows: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, n_rows, _BLOCK))
