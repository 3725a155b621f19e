"""Means and inertia of labels, from their definitions.

This is the audit's own code: no solver calls it, so a solver cannot confirm its own mistakes.
The points may be in this process, on a GPU or on other machines: the audit knows them only
through :class:`PointPieces`, and its functions run where the points are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from .._arrays import namespace, to_host
from .._scale import Scale, largest, restored, times
from .._typing import FloatArray, IntArray

#: Entries of a work array on the CPU, 8 bytes each: 2 MB, about the cache of one core.  More
#: entries need more memory and fewer calls.
ENTRIES = 1 << 18
#: The same on a GPU: 128 MB, so that each call has enough work.
ENTRIES_ON_DEVICE = 1 << 24
#: Clusters up to which sums on a device are a product with a matrix of all rows and clusters.
MOST_DENSE = 256
#: Inertias below this may have lost squares that are too small for a float.
TINY = 1e-280


class PointPieces(Protocol):
    """Points cut into pieces by rows, wherever the pieces are."""

    @property
    def lengths(self) -> Sequence[int]:
        """Number of rows in each piece, in the order of the rows."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    def map_points(
        self,
        function: Callable[..., Any],
        *args: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Call ``function(points, *args, *own)`` for every piece, in order.

        ``own`` is the piece's tuple of ``each``.  The function is importable, so that it can be
        sent to other machines, and its results are small.
        """


class InMemory:
    """Pieces in this process, at least one: NumPy arrays, CSR arrays or tensors, (b, d) each."""

    def __init__(self, *pieces: Any) -> None:
        self.pieces = pieces

    @property
    def lengths(self) -> Sequence[int]:
        """Number of rows in each piece."""
        return [int(piece.shape[0]) for piece in self.pieces]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.pieces[0].shape[1])

    def map_points(
        self,
        function: Callable[..., Any],
        *args: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Call the function for one piece after another."""
        own = [()] * len(self.pieces) if each is None else each
        return [function(piece, *args, *its) for piece, its in zip(self.pieces, own, strict=True)]


def cluster_means(
    points: PointPieces, labels: IntArray, n_clusters: int, weight: FloatArray | None
) -> FloatArray:
    """Weighted mean of each cluster, (k, d); zeros for a cluster without weight."""
    if weight is not None:
        weight = times(weight, -Scale.of(1.0, weight, np.float64).weight)
    mass = np.bincount(labels, weights=weight, minlength=n_clusters)
    sums = np.zeros((n_clusters, points.n_features))
    with np.errstate(over="ignore"):  # an inertia of infinity is refused
        for part in points.map_points(piece_sums, n_clusters, each=own_of(points, labels, weight)):
            sums += part
    means: FloatArray = sums / np.where(mass > 0, mass, 1.0)[:, None]
    return means


def inertia_at(
    points: PointPieces, labels: IntArray, centers: FloatArray, weight: FloatArray | None
) -> float:
    r"""Weighted squared distances to the centres, :math:`\sum_i w_i |x_i - \mu_{l(i)}|^2`."""
    own = own_of(points, labels, weight)
    total = float(sum(points.map_points(piece_inertia, centers, each=own)))
    if TINY <= total < np.inf:
        return total
    # Squares may have left the range of floats: once more in other units.
    size = max(*points.map_points(largest), largest(centers))
    scale = Scale.of(size, weight, np.float64)
    weight = np.ones(len(labels)) if weight is None else times(weight, -scale.weight)
    each = [(*its, -scale.points) for its in own_of(points, labels, weight)]
    total = float(sum(points.map_points(piece_inertia, centers, each=each)))
    return restored(total, scale.cost)


def own_of(
    points: PointPieces, labels: IntArray, weight: FloatArray | None
) -> list[tuple[Any, ...]]:
    """Labels, and weights if there are any, of the rows of each piece."""
    arrays = (labels,) if weight is None else (labels, weight)
    starts = np.concatenate([[0], np.cumsum(points.lengths)]).astype(np.int64)
    return [tuple(a[start:stop] for a in arrays) for start, stop in pairwise(starts)]


def piece_sums(
    points: Any,
    n_clusters: int,
    labels: IntArray,
    weight: FloatArray | None = None,
    form: Callable[[Any], Any] | None = None,
) -> FloatArray:
    """Weighted sum of the rows of each cluster in a piece, (k, d), in double precision.

    ``form`` says what is summed for some rows; by default it is the rows themselves.
    """
    w, form = weights_of(labels, weight), form or doubles
    if sparse.issparse(points):
        return cluster_sums(form(points), n_clusters, labels, w)
    if namespace(points) is not np and n_clusters > MOST_DENSE:
        return _sorted_sums(points, n_clusters, labels, w, form)
    total = np.zeros((n_clusters, points.shape[1]))
    for rows in blocks(points, max(n_clusters, points.shape[1])):
        total += cluster_sums(form(points[rows]), n_clusters, labels[rows], w[rows])
    return total


def _sorted_sums(
    points: Any, n_clusters: int, labels: IntArray, weight: FloatArray, form: Callable[[Any], Any]
) -> FloatArray:
    """As :func:`piece_sums` on a device: rows sorted by cluster, then added one after another."""
    xp, total = namespace(points), None
    for rows in blocks(points, 4 * points.shape[1]):
        own, w = beside(points, labels[rows]), beside(points, weight[rows])
        order = xp.argsort(own, stable=True)
        held = form(points[rows])[order] * w[order][:, None]
        counted = own.bincount(minlength=n_clusters)
        sums = xp.segment_reduce(held, "sum", lengths=counted, axis=0, unsafe=True)
        total = sums if total is None else total + sums
    return np.asarray(to_host(total))


def cluster_sums(rows: Any, n_clusters: int, labels: IntArray, weight: FloatArray) -> FloatArray:
    """Weighted sum of some rows, in double precision, of each cluster, (k, d)."""
    sums = _memberships(rows, labels, weight, n_clusters) @ rows
    return np.asarray(sums.toarray()) if sparse.issparse(sums) else np.asarray(to_host(sums))


def piece_inertia(
    points: Any,
    centers: FloatArray,
    labels: IntArray,
    weight: FloatArray | None = None,
    power: int = 0,
) -> float:
    """Weighted squared distances of a piece's rows to the centres of their clusters, summed.

    The distances come from differences in double precision, so that no digits cancel where the
    points are far from the origin.  They are those of points and centres times ``2**power``.
    """
    w, centers = weights_of(labels, weight), times(centers, power)
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(points):
            return _sparse_inertia(times(doubles(points), power), centers, labels, w)
        xp, mean, total = namespace(points), beside(points, centers), 0.0
        for rows in blocks(points, points.shape[1]):
            step = times(doubles(points[rows]), power) - mean[beside(points, labels[rows])]
            total += float(xp.vecdot(beside(points, w[rows]), xp.vecdot(step, step)))
    return total


def _sparse_inertia(X: Any, centers: FloatArray, labels: IntArray, weight: FloatArray) -> float:
    r"""The inertia from the stored entries; every other entry is a zero and costs mu^2.

    The zeros are counted by weight, so that X stays sparse.  Cluster j has in feature f zeros of
    weight :math:`W_j - N_{jf}`: the weight of its rows less that of its stored entries.
    """
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    stored = weight[row] @ (X.data - centers[labels[row], X.indices]) ** 2
    member = _memberships(X, labels, weight, len(centers))
    pattern = sparse.csr_array((np.ones(len(X.data)), X.indices, X.indptr), shape=X.shape)
    # Both products add the weights in the order of the rows: a full column leaves exactly 0.
    zeros = (member @ np.ones(len(labels)))[:, None] - (member @ pattern).toarray()
    return float(stored + (zeros * centers**2).sum())


def _memberships(points: Any, labels: IntArray, weight: FloatArray, n_clusters: int) -> Any:
    """The (k, b) matrix that sums rows by cluster, each with its weight.

    It is sparse for NumPy and CSR arrays; elsewhere it is dense and beside the points, because
    products of dense matrices add in the same order every time.
    """
    xp = namespace(points)
    if xp is np:
        rows = np.arange(len(labels))
        return sparse.csr_array((weight, (labels, rows)), shape=(n_clusters, len(labels)))
    clusters = xp.arange(n_clusters, device=points.device)[:, None]
    member = xp.astype(beside(points, labels)[None, :] == clusters, xp.float64)
    return member * beside(points, weight)


def weights_of(labels: IntArray, weight: FloatArray | None) -> FloatArray:
    """One weight a row."""
    return np.ones(len(labels)) if weight is None else np.asarray(weight, np.float64)


def beside(points: Any, a: Any) -> Any:
    """A NumPy array in the library and on the device of the points."""
    xp = namespace(points)
    # PyTorch warns of arrays that are not writable; those are copied.
    return a if xp is np else xp.asarray(np.require(a, requirements="W"), device=points.device)


def doubles(points: Any) -> Any:
    """The same numbers in double precision."""
    xp = namespace(points)
    return points.astype(np.float64, copy=False) if xp is np else xp.astype(points, xp.float64)


def blocks(points: Any, width: int) -> Iterator[slice]:
    """Runs of rows whose work arrays, of so many columns, are of a good size."""
    entries = ENTRIES if namespace(points) is np else ENTRIES_ON_DEVICE
    step = max(entries // max(width, 1), 1)
    return (slice(start, start + step) for start in range(0, points.shape[0], step))
