"""The audit of labels whose rows live in shards."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..audit import Entry, Report
from ..constraints import ConstraintSet
from ..html import View
from .geometry import by_shard
from .holder import Holder, shares
from .passes import label_inertia, label_sums, rows_of


def audit_shards(
    holder: Holder,
    labels: IntArray,
    rules: ConstraintSet,
    n_clusters: int,
    weight: FloatArray | None,
) -> Report:
    """As :func:`~corral.audit.audit`, points looked at where they are.

    Parameters
    ----------
    holder : Holder
        Of the rows, as the user gave them.
    labels : (n,) array
    rules : ConstraintSet
    n_clusters : int
    weight : (n,) array or None
    """
    own = shares(holder, labels) if weight is None else shares(holder, labels, weight)
    means = label_means(holder, labels, n_clusters, weight)
    return Report(
        inertia=float(sum(holder.map(label_inertia, means, each=own))),
        sizes=tuple(np.bincount(labels, minlength=n_clusters).tolist()),
        entries=tuple(Entry.of(rule, labels, n_clusters) for rule in rules),
        view=View.of(_Rows(holder), labels, rules, means),
    )


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


class _Rows:
    """Points that are fetched when they are asked for."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self.shape = int(sum(holder.lengths)), holder.n_features

    def __getitem__(self, rows: Any) -> FloatArray:
        each = [(own,) for own in by_shard(self._holder, rows)]
        return np.concatenate(self._holder.map(rows_of, each=each))
