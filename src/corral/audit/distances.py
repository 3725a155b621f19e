"""Centres and inertia of labels by other distances, from their definitions.

As :mod:`.inertia`, this is code that no solver calls.  By cosine, rows are divided by their lengths
and the centre is the unit vector in the direction of their sum.  By haversine, distances come from
the haversine formula, and the centre is found by steps along the earth: bearing and distance of
each row as seen from the centre, averaged.  Medoids are rows, compared by any metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from .._arrays import namespace, to_host
from .._typing import FloatArray, IntArray
from .inertia import PointPieces, beside, blocks, doubles, own_of, piece_sums, weights_of

#: Mean radius of the earth in kilometres (IUGG).
RADIUS = 6371.0088
#: Steps to a centre at most, and the length in radians of the last one.
STEPS, LAST = 200, 1e-10


def unit_sums(
    points: Any, n_clusters: int, labels: IntArray, weight: FloatArray | None = None
) -> FloatArray:
    """Weighted sum of the unit rows of each cluster in a piece, (k, d)."""
    return piece_sums(points, n_clusters, labels, weight, units)


def units(points: Any) -> Any:
    """Rows divided by their lengths, in double precision."""
    if sparse.issparse(points):
        rows = sparse.csr_array(doubles(points))
        top = abs(rows).max(axis=1).toarray().ravel()
        rows = sparse.csr_array(sparse.diags_array(1.0 / top) @ rows)
        lengths = np.sqrt(rows.multiply(rows).sum(axis=1)).ravel()
        return sparse.csr_array(sparse.diags_array(1.0 / lengths) @ rows)
    xp, rows = namespace(points), doubles(points)
    rows = rows / xp.max(xp.abs(rows), axis=1, keepdims=True)
    return rows / xp.sqrt(xp.sum(rows * rows, axis=1, keepdims=True))


def mean_directions(
    points: PointPieces, labels: IntArray, n_clusters: int, weight: FloatArray | None
) -> FloatArray:
    """Unit vectors in the direction of the sums, (k, d); the first axis where there is none."""
    sums: FloatArray = np.zeros((n_clusters, points.n_features))
    for part in points.map_points(unit_sums, n_clusters, each=own_of(points, labels, weight)):
        sums += part
    lengths = np.sqrt((sums * sums).sum(axis=1))
    sums[lengths == 0.0, 0] = 1.0
    centers: FloatArray = sums / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    return centers


def cosine_inertia(
    points: PointPieces, labels: IntArray, centers: FloatArray, weight: FloatArray | None
) -> float:
    r"""Weighted :math:`\sum_i w_i (1 - \cos(x_i, \mu_{l(i)}))`."""
    centers = np.asarray(units(centers))
    own = own_of(points, labels, weight)
    return float(sum(points.map_points(piece_cosine, centers, each=own)))


def piece_cosine(
    points: Any, centers: FloatArray, labels: IntArray, weight: FloatArray | None = None
) -> float:
    """The inertia of a piece: half the squared distance of unit vectors is one less the cosine."""
    w, total = weights_of(labels, weight), 0.0
    if sparse.issparse(points):
        rows = units(points)
        of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        inner = np.bincount(
            of, rows.data * centers[labels[of], rows.indices], minlength=rows.shape[0]
        )
        return float(w @ np.maximum(1.0 - inner, 0.0))
    xp, mean = namespace(points), beside(points, centers)
    for rows in blocks(points, points.shape[1]):
        step = units(points[rows]) - mean[beside(points, labels[rows])]
        total += 0.5 * float(xp.vecdot(beside(points, w[rows]), xp.vecdot(step, step)))
    return total


def geographic_centres(
    points: PointPieces, labels: IntArray, n_clusters: int, weight: FloatArray | None
) -> FloatArray:
    """Latitude and longitude of least weighted sum of squared arcs, (k, 2), in degrees."""
    places = np.radians(np.concatenate(points.map_points(to_host)))
    w, centers = weights_of(labels, weight), np.zeros((n_clusters, 2))
    for j in range(n_clusters):
        own = (labels == j) & (w > 0.0)
        if own.any():
            centers[j] = _centre(places[own], w[own])
    return np.degrees(centers)


def _centre(places: FloatArray, weight: FloatArray) -> FloatArray:
    """The centre of some places, in radians, from the direction of their sum in space."""
    lat, lon = places.T
    x, y = weight @ (np.cos(lat) * np.cos(lon)), weight @ (np.cos(lat) * np.sin(lon))
    here = np.array([np.arctan2(weight @ np.sin(lat), np.hypot(x, y)), np.arctan2(y, x)])
    for _ in range(STEPS):
        arc, bearing = _seen(here, places)
        north, east = weight @ (arc * np.cos(bearing)), weight @ (arc * np.sin(bearing))
        length = np.hypot(north, east) / weight.sum()
        here = _moved(here, np.arctan2(east, north), length)
        if length <= LAST:
            break
    return here


def _seen(here: FloatArray, places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Arcs and bearings of places as seen from one, in radians."""
    (lat, lon), (a, b) = here, places.T
    east = np.sin(b - lon) * np.cos(a)
    north = np.cos(lat) * np.sin(a) - np.sin(lat) * np.cos(a) * np.cos(b - lon)
    return arcs(here, places), np.arctan2(east, north)


def arcs(here: FloatArray, places: FloatArray) -> FloatArray:
    """Arcs between one place and others by the haversine formula, all in radians."""
    (lat, lon), (a, b) = here, places.T
    half = np.sin((a - lat) / 2.0) ** 2 + np.cos(lat) * np.cos(a) * np.sin((b - lon) / 2.0) ** 2
    angle: FloatArray = 2.0 * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0)))
    return angle


def _moved(here: FloatArray, bearing: Any, length: Any) -> FloatArray:
    """The place that a great circle of this bearing and length leads to."""
    lat, lon = here
    to = np.arcsin(
        np.clip(
            np.sin(lat) * np.cos(length) + np.cos(lat) * np.sin(length) * np.cos(bearing), -1.0, 1.0
        )
    )
    east = np.sin(bearing) * np.sin(length) * np.cos(lat)
    turn = np.arctan2(east, np.cos(length) - np.sin(lat) * np.sin(to))
    return np.array([to, np.mod(lon + turn + np.pi, 2.0 * np.pi) - np.pi])


def arc_inertia(
    points: PointPieces, labels: IntArray, centers: FloatArray, weight: FloatArray | None
) -> float:
    """Weighted sum of squared great-circle distances to the centres, in square kilometres."""
    places = np.radians(np.concatenate(points.map_points(to_host)))
    w, total = weights_of(labels, weight), 0.0
    for j, here in enumerate(np.radians(centers)):
        own = labels == j
        total += float(w[own] @ (RADIUS * arcs(here, places[own])) ** 2)
    return total


def check_places(points: Any, metric: str, what: str = "X") -> None:
    """Raise ValueError for an unknown metric, and for rows that have no place in it."""
    if metric not in ("euclidean", "cosine", "haversine"):
        raise ValueError(
            f"`metric` is {metric!r}; it must be 'euclidean', 'cosine' or 'haversine'."
        )
    if metric == "cosine":
        nothing = np.asarray(abs(points).sum(axis=1)).ravel() == 0.0
        if nothing.any():
            raise ValueError(f"row {nothing.argmax()} of {what} is zero; its cosine is undefined.")
    if metric == "haversine":
        if sparse.issparse(points) or points.shape[1] != 2:
            raise ValueError(f"{what} must have two dense columns, latitude and longitude.")
        wrong = (np.abs(points[:, 0]) > 90.0) | (points[:, 1] < -180.0) | (points[:, 1] > 360.0)
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"row {row} of {what} is {points[row].tolist()}; latitudes must lie in [-90, 90] "
                "and longitudes in [-180, 360] degrees."
            )


def sum_of_distances(
    X: Any,
    labels: IntArray,
    medoids: IntArray,
    metric: Any,
    weight: FloatArray | None = None,
    params: Mapping[str, Any] | None = None,
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
    params : dict, optional
        Parameters of the metric, by keyword.

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
        elif metric == "euclidean" and not params and not sparse.issparse(X):
            distance = cdist(X[own], X[[medoids[j]]])[:, 0]
        elif metric == "haversine":
            distance = RADIUS * arcs(np.radians(X[medoids[j]]), np.radians(X[own]))
        else:
            distance = pairwise_distances(X[own], X[[medoids[j]]], metric=metric, **(params or {}))[
                :, 0
            ]
        total += float(w[own] @ distance)
    return total
