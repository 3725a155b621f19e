"""Kinds of clusters: those whose sizes have the same bounds.

A clustering has one matrix Y for each kind, made from the clusters of that kind alone.  Where sizes
differ, the relaxation has these matrices and not only their sum: it knows that a group in a small
cluster has a large entry on the diagonal, and how many groups there are of each kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray
from ..rules import Rules, SizeBounds
from .numbers import MOST_KINDS
from .spectrum import EPS


@dataclass(frozen=True)
class Kind:
    """Some clusters: how many, their least and largest weight, and whether all of them have rows.

    ``clusters`` are their numbers, if sizes belong to numbers.
    """

    number: int
    least: float
    most: float
    filled: bool
    clusters: tuple[int, ...] = ()


def kinds_of(rules: Rules, weight: FloatArray) -> list[Kind]:
    """The kinds of clusters of the relaxation.

    There is one kind if all sizes are the same or there are too many different ones.  Sizes count
    rows, so that with weights of the rows there is one kind, too.  So there is for sizes that are
    intervals: with a matrix for each, the bound rises too slowly to close small gaps.
    """
    sizes, all_weigh = rules.sizes, bool((weight > 0.0).all())
    if sizes is None:
        filled = rules.n_clusters == 1 and all_weigh
        return [Kind(rules.n_clusters, 0.0, float(weight.sum()), filled)]
    bounds, kind, number = np.unique(
        np.column_stack([sizes.lower, sizes.upper]), axis=0, return_inverse=True, return_counts=True
    )
    counted = np.array_equal(weight, rules.count)
    if len(bounds) > MOST_KINDS or not (counted and sizes.exact):
        # A cluster of rows without weight counts as empty.
        filled = all_weigh and (rules.n_clusters == 1 or bool((sizes.lower > 0).all()))
        return [Kind(rules.n_clusters, *_weights(sizes, rules.count, weight), filled)]
    most = np.minimum(bounds[:, 1], rules.n_rows)
    return [
        Kind(
            int(number[c]),
            float(bounds[c, 0]),
            float(most[c]),
            bool(bounds[c, 0] > 0) or rules.n_clusters == 1,
            tuple(np.flatnonzero(kind.ravel() == c).tolist()) if sizes.ordered else (),
        )
        for c in range(len(bounds))
    ]


def _weights(sizes: SizeBounds, count: IntArray, weight: FloatArray) -> tuple[float, float]:
    """Smallest and largest weight of a cluster whose number of rows obeys the sizes.

    A cluster of at least s rows weighs at least as much as the s lightest rows, and one of at most
    S rows at most as much as the S heaviest.
    """
    each = weight / count
    order = np.argsort(each)
    rounding = 4 * (len(count) + 2) * EPS
    least = _first(each[order], count[order], int(sizes.lower.min()))
    most = _first(each[order[::-1]], count[order[::-1]], int(sizes.upper.max()))
    return least * (1.0 - rounding), most * (1.0 + rounding)


def _first(each: FloatArray, count: IntArray, rows: int) -> float:
    """Weight of the first rows, where group g has ``count[g]`` rows of weight ``each[g]``."""
    before = np.cumsum(count) - count
    taken = np.clip(rows - before, 0, count)
    return float(each @ taken)
