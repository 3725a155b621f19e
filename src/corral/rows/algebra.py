"""Small pieces of linear algebra that rows share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import namespace, to_host
from .._typing import FloatArray, Matrix
from ..constraints._checks import sums_by

#: Rows that one thread of a device adds up.  More make fewer threads, and sums that round more.
RUN = 256


def largest_eigenvalue(image: Any, direction: FloatArray, n_steps: int) -> float:
    """Largest eigenvalue of a positive semidefinite matrix by power iteration.

    ``image(vector)`` is the matrix times the vector; ``direction`` is where to start.
    """
    value = 0.0
    for _ in range(n_steps):
        length = np.linalg.norm(direction)
        if length == 0.0:
            break
        direction = direction / length
        moved = image(direction)
        value = float(direction @ moved)
        direction = moved
    return value


def as_dense(rows: Matrix) -> FloatArray:
    """A few rows as an array of float64."""
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64)


def row_lengths(points: Matrix) -> FloatArray:
    """Euclidean length of each row, dense or CSR, in double precision."""
    if isinstance(points, np.ndarray):
        squares: FloatArray = np.einsum("id,id->i", points, points, dtype=np.float64)
    else:
        squares = points.astype(np.float64).multiply(points).sum(axis=1).ravel()
    return np.sqrt(squares)


def sums_by_cluster(points: Any, cluster: Any, share: Any, k: int) -> tuple[FloatArray, FloatArray]:
    """Sums of points and of shares over the clusters that hold these, (m, t) each.

    The work does not grow with the number of clusters, and the order of the sums is fixed.
    """
    (m, t), flat = cluster.shape, share.reshape(-1)
    if isinstance(points, np.ndarray) or sparse.issparse(points):
        held = sparse.csr_array((flat, cluster.ravel(), np.arange(0, m * t + 1, t)), shape=(m, k))
        return as_dense(held.T @ points), sums_by(cluster.ravel(), flat, k)
    xp, order = namespace(points), cluster.reshape(-1).argsort(stable=True)
    flat = flat[order]
    counted = to_host(cluster.reshape(-1).bincount(minlength=k))
    runs = -(-counted // RUN)
    lengths = np.full(int(runs.sum()), RUN)
    lengths[np.cumsum(runs)[counted > 0] - 1] -= (runs * RUN - counted)[counted > 0]
    sums: Any = points[order // t] * flat[:, None]
    mass: Any = flat
    for each in (lengths, runs):
        there = xp.asarray(each, device=points.device)
        sums, mass = (
            xp.segment_reduce(a, "sum", lengths=there, unsafe=True).double() for a in (sums, mass)
        )
    return to_host(sums), to_host(mass)
