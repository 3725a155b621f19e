"""The audit of labels whose rows live in shards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..report import Report
from .holder import Holder, shares
from .passes import label_sums, rows_of
from .shard import Shard


def audit_shards(
    holder: Holder,
    labels: IntArray,
    rules: ConstraintSet,
    n_clusters: int,
    weight: FloatArray | None,
) -> Report:
    """Audit labels where the points are, by the audit's own functions.

    Parameters
    ----------
    holder : Holder
        Of the rows, as the user gave them.
    labels : (n,) array
    rules : ConstraintSet
    n_clusters : int
    weight : (n,) array or None
    """
    return Report.of(_HeldPoints(holder), labels, rules, n_clusters, weight)


class _HeldPoints:
    """The points of a holder, as :class:`~corral.audit.PointPieces`."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self.lengths, self.n_features = holder.lengths, holder.n_features

    def map_points(
        self,
        function: Callable[..., Any],
        *args: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        return self._holder.map(_on_points, function, *args, each=each)


def _on_points(shard: Shard, function: Callable[..., Any], *args: Any) -> Any:
    return function(shard.points, *args)


def label_means(
    holder: Holder, labels: IntArray, n_clusters: int, weight: FloatArray | None = None
) -> FloatArray:
    """Means of the clusters, (k, d); the origin for one without weight."""
    own = shares(holder, labels) if weight is None else shares(holder, labels, weight)
    parts = holder.map(label_sums, n_clusters, each=own)
    sums, mass = (reduce(add, column) for column in zip(*parts, strict=True))
    means: FloatArray = sums / np.where(mass > 0.0, mass, 1.0)[:, None]
    return means


def bring_home(holder: Holder) -> FloatArray:
    """All points as one array in this process's memory, in their precision."""
    each = [(np.arange(length),) for length in holder.lengths]
    return np.concatenate(holder.map(rows_of, each=each)).astype(holder.dtype, copy=False)
