"""Sizes, totals and shares of clusters with their bounds: the numbers that pictures show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints import ClusterSizes, ClusterTotals, ConstraintSet, GroupShares
from ..constraints._checks import sums_by
from ..constraints.sizes import best_order


@dataclass(frozen=True, eq=False)
class Measure:
    """One number for each cluster, and what is allowed.

    Attributes
    ----------
    title : str
    values : (k,) array
        NaN where a cluster has none, such as the share in an empty cluster.
    lower, upper : (k,) arrays
        Infinite where there is no bound.
    broken : (k,) bool array
    """

    title: str
    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    broken: BoolArray


def checked_labels(labels: ArrayLike, n_clusters: int | None) -> tuple[IntArray, int]:
    """Labels as integers, and the number of clusters, by default as the largest label tells.

    Raises
    ------
    ValueError
        With the label that is none.
    """
    label = np.asarray(labels)
    if label.ndim != 1 or not np.issubdtype(label.dtype, np.integer):
        raise ValueError(
            f"`labels` is {label.dtype} of shape {label.shape}; it must be one integer a sample."
        )
    least, most = int(label.min(initial=0)), int(label.max(initial=0))
    k = most + 1 if n_clusters is None else n_clusters
    if least < 0 or most >= k:
        wrong = least if least < 0 else most
        raise ValueError(f"`labels` holds {wrong}; labels must lie in [0, {k - 1}].")
    return label.astype(np.int64, copy=False), k


def measure_sizes(sizes: ArrayLike, constraints: Any) -> Measure:
    """Sizes of the clusters against all bounds on them.

    Bounds that are tied to no cluster are handed out so that the least is broken, which is what
    :meth:`ClusterSizes.violations` does.
    """
    size = np.asarray(sizes, np.int64)
    lower, upper = np.full(len(size), -np.inf), np.full(len(size), np.inf)
    for rule in ConstraintSet(constraints).of_kind(ClusterSizes):
        rule.check(int(size.sum()), len(size))
        low, high = rule.bounds(int(size.sum()), len(size))
        order = np.arange(len(size)) if rule.ordered else best_order(size, size, low, high)
        if rule.sizes is not None or rule.minimum is not None:
            lower = np.maximum(lower, low[order])
        if rule.sizes is not None or rule.maximum is not None:
            upper = np.minimum(upper, high[order])
    broken = (size < lower) | (size > upper)
    return Measure("points in each cluster", size.astype(float), lower, upper, broken)


def measure_totals(labels: IntArray, constraints: Any, n_clusters: int) -> list[Measure]:
    """Every total and every share that the constraints bound."""
    measures: list[Measure] = []
    for rule in ConstraintSet(constraints):
        if isinstance(rule, ClusterTotals) and rule.values.size:
            measures.append(_total(rule, labels, n_clusters))
        elif isinstance(rule, GroupShares) and rule.groups.size:
            measures.extend(_shares(rule, labels, n_clusters))
    return measures


def _total(rule: ClusterTotals, labels: IntArray, k: int) -> Measure:
    values = sums_by(labels, rule.values, k)
    broken = np.zeros(k, bool)
    broken[rule.violations(labels, k).where] = True
    return Measure(rule.phrase(), values, *rule.bounds(k), broken)


def _shares(rule: GroupShares, labels: IntArray, k: int) -> Iterator[Measure]:
    """One measure a group; rules are numbered minimum shares first, k clusters each."""
    sizes = np.bincount(labels, minlength=k)
    sides = [*rule.minimum, *rule.maximum]
    broken = np.zeros((len(sides), k), bool)
    broken.ravel()[rule.violations(labels, k).where] = True
    for group in dict.fromkeys(sides):
        count = sums_by(labels, np.asarray(rule.groups == group, float), k)
        share = np.where(sizes > 0, count / np.maximum(sizes, 1), np.nan)
        low, high = rule.minimum.get(group, -np.inf), rule.maximum.get(group, np.inf)
        of_group = np.any(broken[[side == group for side in sides]], axis=0)
        yield Measure(f"share of {group!r}", share, np.full(k, low), np.full(k, high), of_group)
