"""Distances of rows to candidates for medoids, by any metric, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import haversine_distances

from .._typing import FloatArray, Matrix
from ..deadline import NEVER, Deadline
from ..proof.relaxation import memory_at
from ..rows.arcs import EARTH_RADIUS
from ..rows.metrics import METRICS, refuse_columns

#: Metrics of scikit-learn that take sparse rows.
SPARSE = ("cityblock", "cosine", "euclidean", "l1", "l2", "manhattan")
#: Metrics of scikit-learn that take missing values.
GAPPY = ("nan_euclidean",)
#: The metric of corral's own meaning: degrees, and kilometres.
HAVERSINE = "haversine"
#: Matrices of the size of the distances that a search holds: distances, costs and a work array.
MATRICES = 3
#: What distances are counted in, where that has a name.
UNITS = {"cosine": "in cosine distance", HAVERSINE: "kilometres"}


@dataclass(frozen=True, eq=False)
class OneNumber:
    """A metric of the user's that has to give one number for two rows; it asks the deadline."""

    metric: Callable[[Any, Any], Any]
    deadline: Deadline

    def __call__(self, x: Any, y: Any) -> float:
        """The distance of x from y."""
        self.deadline.check()
        value = self.metric(x, y)
        if not isinstance(value, Real):
            what = f"an array of shape {np.shape(value)}" if np.ndim(value) else repr(value)
            raise ValueError(f"`metric` gives {what} for two rows; it must give one number.")
        return float(value)


def distances(
    points: Matrix, others: Matrix, metric: Any, deadline: Deadline = NEVER
) -> FloatArray:
    """Distance of each row from each of the others, as scikit-learn defines the metric.

    By haversine, degrees are taken and kilometres given, as by ``ConstrainedKMeans``.
    A callable is called for every row and every other, in this order, so it need not be symmetric.
    Only that can take long; it raises OutOfTime.
    """
    if callable(metric):
        asked = OneNumber(metric, deadline)
        # Of other rows than the points themselves both orders are asked for.
        found = pairwise_distances(points, others[:], metric=asked)
    elif metric == "euclidean" and not sparse.issparse(points):
        found = cdist(points, others)  # from differences, so that no digits cancel
    elif metric == HAVERSINE:
        found = EARTH_RADIUS * haversine_distances(np.radians(points), np.radians(others))
    else:
        found = pairwise_distances(points, others, metric=metric)
    return np.asarray(found, np.float64)


def candidate_distances(points: Matrix, metric: Any, deadline: Deadline) -> FloatArray:
    """Distances (n, c) of the rows to all candidates; ValueError or MemoryError if they are wrong.

    Precomputed distances are the points themselves.
    """
    given = isinstance(metric, str) and metric == "precomputed"
    n, c = points.shape if given else (points.shape[0], points.shape[0])
    check_memory(n, c)
    found = np.asarray(points, np.float64) if given else distances(points, points, metric, deadline)
    name = "X" if given else "`metric`"
    wrong = ~(np.isfinite(found) & (found >= 0.0))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"{name} gives the distance {found[i, j]} of row {i} to {'column' if given else 'row'} "
            f"{j}; distances must be finite and not negative."
        )
    own = np.diagonal(found)
    if n == c and own.any():
        i = int(np.flatnonzero(own)[0])
        raise ValueError(
            f"{name} gives the distance {own[i]} of row {i} to itself; it must be 0."
            + (" A square X holds the distances between all rows." if given else "")
        )
    with np.errstate(over="ignore"):
        total = found.sum()
    if not np.isfinite(total):
        raise ValueError(f"{name} gives distances up to {found.max():.3g}, whose sum is infinite.")
    return found


def check_degrees(points: FloatArray, columns: Sequence[Any] | None) -> None:
    """Raise ValueError unless rows are latitude and longitude in degrees, in this order."""
    if points.shape[1] != 2:
        raise ValueError(
            f"X has {points.shape[1]} columns; metric='haversine' takes two, latitude and "
            "longitude in degrees."
        )
    refuse_columns(columns)
    fault = METRICS[HAVERSINE].fault(points)
    if fault is not None:
        raise ValueError(f"row {fault[0]} of X has {fault[1]}.")


def check_memory(n: int, c: int) -> None:
    """Refuse distances that do not fit into memory."""
    needed, there = 8 * MATRICES * n * c, memory_at()
    if needed > there:
        raise MemoryError(
            f"medoids need the distances of {n:,} rows to {c:,} candidates, with work arrays about "
            f"{needed / 2**30:.1f} GiB of memory, and this machine has {there / 2**30:.1f}; take a "
            "sample of the rows and predict the others, or give precomputed distances to fewer "
            "candidates."
        )
