"""Bounds on the number of rows in each cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from .._text import our_words
from .._typing import IntArray
from . import _checks
from ._checks import Names, plural, refuse
from .base import Priced, Violations, as_price, kept_sides
from .clusters import (
    bound_in_words,
    cluster_name,
    clusters_of_json,
    named_bounds,
    refuse_lists,
    refuse_missing,
    refuse_names,
    spread,
)

Bounds = tuple[IntArray, IntArray]

NO_BOUND = dict.fromkeys(("sizes", "minimum", "maximum"))
#: Bounds that bound nothing; sizes have none.
FREE = {"sizes": -1, "minimum": 0, "maximum": _checks.NO_SIZE}


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ClusterSizes(Priced):
    """Bounds on the number of rows in each cluster.

    Parameters
    ----------
    sizes : (n_clusters,) integers or {cluster: int}, optional
        Exact sizes; they exclude ``minimum`` and ``maximum``.
    minimum, maximum : int, (n_clusters,) integers or {cluster: int}, optional
        Bounds, one for all clusters, one per cluster, or those of some clusters by their names in
        ``cluster_names`` of the estimator.  Bounds by name are ordered.  A maximum above the number
        of rows has no effect.
    ordered : bool, default False
        If True, entry j belongs to cluster j.  If False, the solver also chooses which cluster
        gets which entry.
    weight : float, default inf
        Price of each row that a cluster has too many or too few, in units of the objective; the
        sizes are soft if it is finite.  With 0 they have no effect.

    Notes
    -----
    On a subset of the rows ``minimum`` and ``maximum`` are kept unchanged.  Exact sizes add up
    to the number of all rows, so :meth:`subset` raises unless it only reorders the rows.

    Examples
    --------
    >>> ClusterSizes([2, 1]).violations([0, 1, 1]).count
    0
    >>> ClusterSizes([2, 1], ordered=True).violations([0, 1, 1]).messages()
    ['cluster 0 has 1 sample, but should have 2', 'cluster 1 has 2 samples, but should have 1']
    >>> ClusterSizes(minimum={"north": 2}).resolve_clusters(["north", "south"]).minimum
    array([2, 0])
    >>> ClusterSizes(minimum=2)
    ClusterSizes(minimum=2)
    >>> ClusterSizes(minimum=2, weight=1.5).violations([0, 0, 0, 1]).amount
    1.5
    """

    sizes: IntArray | None
    minimum: IntArray | None
    maximum: IntArray | None
    ordered: bool
    weight: float
    clusters: tuple[str, ...] | None

    _keys = ("sizes", "minimum", "maximum", "ordered", "weight", "clusters")

    @our_words
    def __init__(
        self,
        sizes: ArrayLike | Mapping[Any, int] | None = None,
        *,
        minimum: ArrayLike | Mapping[Any, int] | None = None,
        maximum: ArrayLike | Mapping[Any, int] | None = None,
        ordered: bool = False,
        weight: float = math.inf,
    ) -> None:
        given, clusters = named_bounds(
            "cluster sizes", FREE, sizes=sizes, minimum=minimum, maximum=maximum
        )
        exact, low, high = (_whole(given[side], side) for side in NO_BOUND)
        refuse_lists(clusters, exact, low, high)
        if exact is not None and (low is not None or high is not None):
            raise ValueError("sizes are exact; give either sizes, or minimum and maximum.")
        if exact is not None and exact.ndim == 0:
            raise ValueError(
                f"sizes is {exact}; give one size per cluster, or minimum and maximum."
            )
        _checks.ordered_bounds(minimum=low, maximum=high)
        if not isinstance(ordered, (bool, np.bool_)):
            raise ValueError(f"ordered is {ordered!r}; it must be True or False.")
        price = as_price(weight, "weight of cluster sizes")
        numbered = bool(ordered) or clusters is not None
        self._set(sizes=exact, minimum=low, maximum=high, ordered=numbered, weight=price)
        self._set(clusters=clusters)

    @property
    def clusters_named(self) -> bool:
        """Whether bounds are given by clusters that have not been looked up."""
        return self.clusters is not None

    def resolve_clusters(self, names: Sequence[str] | None) -> Self:
        """Return the constraint with one bound for each of the named clusters."""
        if self.clusters is None or names is None:
            return self
        if self.sizes is not None:
            refuse_missing(self.clusters, names, "sizes are exact")
        sides = {side: getattr(self, side) for side in NO_BOUND}
        return self._with(**spread(self.clusters, names, sides, FREE), clusters=None)

    def bounds(self, n_samples: int, n_clusters: int) -> Bounds:
        """Return the smallest and the largest size of each cluster (of each entry if unordered).

        Both are int arrays of length ``n_clusters``.
        """
        if self.sizes is not None:
            return self.sizes, self.sizes
        lower = np.broadcast_to(0 if self.minimum is None else self.minimum, n_clusters)
        upper = np.broadcast_to(n_samples if self.maximum is None else self.maximum, n_clusters)
        # Clipped so that sums of bounds cannot overflow if a user writes a huge maximum.
        return lower.astype(np.int64), np.minimum(upper, np.maximum(n_samples, lower))

    def _sides(self) -> dict[str, IntArray | None]:
        if self.sizes is not None:
            return {"minimum": self.sizes, "maximum": self.sizes}
        return {"minimum": self.minimum, "maximum": self.maximum}

    @property
    def n_parts(self) -> int:
        """Number of sides, minimum and maximum; exact sizes have both."""
        return sum(bound is not None for bound in self._sides().values())

    def take(self, which: ArrayLike) -> Self:
        """Return only the minimum or only the maximum, in this order.

        In an unordered list with both, the entries of minimum and maximum belong together; each
        side alone is a list of its own.
        """
        kept = kept_sides(self._sides(), which)
        return self if len(kept) == self.n_parts else self._with(**{**NO_BOUND, **kept})

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` unless there is one bound per cluster."""
        refuse_names(self.clusters, "cluster sizes")
        bounds = {"sizes": self.sizes, "minimum": self.minimum, "maximum": self.maximum}
        _checks.one_per("cluster", n_clusters, "size", **bounds)

    def _farthest(self, n_samples: int, n_clusters: int) -> float:
        lower, _ = self.bounds(n_samples, n_clusters)
        return float(np.maximum(lower.astype(np.float64), n_samples).sum())

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the clusters that are too small or too large.

        Unordered entries are matched with the clusters so that the violation is smallest.
        """
        refuse_names(self.clusters, "cluster sizes")
        found = _checks.as_labels(labels)
        k = _checks.clusters_in(found, n_clusters, self.sizes, self.minimum, self.maximum)
        self.check(len(found), k)
        size = np.bincount(found, minlength=k)
        lower, upper = self.bounds(len(found), k)
        if not self.ordered:
            order = best_order(size, lower, upper)
            lower, upper = lower[order], upper[order]
        excess = _gap(size, lower, upper)
        return self._outside(excess, partial(_describe, size=size, lower=lower, upper=upper))

    def subset(self, rows: ArrayLike) -> Self:
        """Return the constraint for ``X[rows]``; exact sizes raise, see the notes."""
        positions, _ = _checks.as_rows(rows)
        if self.sizes is not None and len(positions) != self.sizes.sum():
            raise ValueError(
                f"sizes {self.sizes.tolist()} are exact for {self.sizes.sum()} rows, but the "
                f"subset has {len(positions)}; give sizes for the subset."
            )
        return self

    def phrase(self, names: Names = None) -> str:
        """Describe the bounds in a few words, such as ``cluster sizes [59, 71, 48]``."""
        if self.sizes is not None:
            return self._in_words(f"cluster sizes {self._bound('sizes', names)}")
        parts = [
            f"{word} cluster size{'s' if bound.ndim else ''} {self._bound(word, names)}"
            for word, bound in (("minimum", self.minimum), ("maximum", self.maximum))
            if bound is not None
        ]
        return self._in_words(" and ".join(parts) or "no bound on cluster sizes")

    def _bound(self, side: str, names: Names) -> str:
        return bound_in_words(getattr(self, side), FREE[side], self.clusters, names)

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports; ``clusters`` is there only for bounds by cluster."""
        values = super().to_dict()
        if self.clusters is None:
            del values["clusters"]
        return values

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        others = {key: value for key, value in values.items() if key != "clusters"}
        return cls(**others)._with(clusters=clusters_of_json(values))

    def __repr__(self) -> str:
        sides = [side for side in NO_BOUND if getattr(self, side) is not None]
        shown = [
            f"{'' if side == 'sizes' else f'{side}='}{self._bound(side, None)}" for side in sides
        ]
        if self.ordered and self.clusters is None:
            shown.append("ordered=True")
        return f"ClusterSizes({', '.join(shown)}{self._price})"


def best_order(counted: IntArray, lower: IntArray, upper: IntArray) -> IntArray:
    """Match each number with one of the intervals ``[lower, upper]``.

    The match has the smallest total gap and, among those, the smallest number of gaps.
    """
    if np.ptp(lower) == 0 and np.ptp(upper) == 0:
        return np.arange(len(lower))
    fits = fitting_order(counted, lower, upper)
    if fits is not None:
        return fits
    if np.array_equal(lower, upper):
        return _nearest_order(counted, lower)
    gap = _gap(counted[:, None], lower, upper)
    order: IntArray = linear_sum_assignment(gap * (len(lower) + 1) + (gap > 0))[1]
    return order


def fitting_order(counted: IntArray, lower: IntArray, upper: IntArray) -> IntArray | None:
    """An interval for each number that it lies in, or None if there is no such match.

    Numbers take, from the smallest to the largest, the free interval with the least upper end that
    fits.  This greedy rule finds a match if there is one.
    """
    order = np.empty(len(counted), np.int64)
    waiting = list(np.argsort(lower, kind="stable")[::-1])
    begun: list[tuple[int, int]] = []  # upper end and number of the free intervals
    for j in np.argsort(counted, kind="stable"):
        while waiting and lower[waiting[-1]] <= counted[j]:
            entry = waiting.pop()
            heappush(begun, (int(upper[entry]), int(entry)))
        if not begun or begun[0][0] < counted[j]:
            return None
        order[j] = heappop(begun)[1]
    return order


def _nearest_order(counted: IntArray, wanted: IntArray) -> IntArray:
    """As :func:`best_order` for exact numbers: equal ones first, the others from least to most."""
    here, there = (np.argsort(values, kind="stable") for values in (counted, wanted))
    order, rest = np.empty(len(counted), np.int64), []
    values = np.union1d(counted, wanted)
    ends = (np.searchsorted(own, values, "right")[:-1] for own in (counted[here], wanted[there]))
    for mine, theirs in zip(*map(np.split, (here, there), ends), strict=True):
        both = min(len(mine), len(theirs))
        order[mine[:both]] = theirs[:both]
        rest.append((mine[both:], theirs[both:]))
    numbers, entries = (np.concatenate(column) for column in zip(*rest, strict=True))
    order[numbers] = entries
    return order


def merge_sizes(
    sizes: Sequence[ClusterSizes], n_samples: int, n_clusters: int
) -> tuple[IntArray, IntArray, bool]:
    """Combine several size constraints into bounds, and whether bound j belongs to cluster j.

    A lower bound is above the upper one if the constraints contradict each other.  Constraints
    whose entries can be matched in several ways raise ``ValueError``.
    """
    bounds = [(size.bounds(n_samples, n_clusters), size.ordered) for size in sizes]
    plain = [b for b, _ in bounds if _uniform(b)]
    tied = [b for b, ordered in bounds if ordered and not _uniform(b)]
    loose = [b for b, ordered in bounds if not ordered and not _uniform(b)]
    # Exact sizes come first: any other unordered list can be matched with them.
    loose.sort(key=lambda b: not np.array_equal(b[0], b[1]))
    if loose and tied:
        raise ValueError(
            "cluster sizes with ordered=True and without it cannot be given together; "
            "combine them into one ClusterSizes."
        )
    aligned = [_aligned(other, loose[0]) for other in loose[1:]]
    lows, highs = zip(*(loose[:1] + aligned + tied + plain), strict=True)
    return np.max(lows, axis=0), np.min(highs, axis=0), bool(tied)


def _aligned(bounds: Bounds, base: Bounds) -> Bounds:
    """Put the entries of an unordered list into the order of another one.

    If neither list has an interval inside another one, the smallest sizes can always take the
    smallest intervals, so both lists are matched in sorted order.
    """
    here, there = np.lexsort(bounds), np.lexsort(base)
    equal = all(np.array_equal(b[here], c[there]) for b, c in zip(bounds, base, strict=True))
    if equal or (_sortable(bounds) and _sortable(base)):
        order: IntArray = here[np.argsort(there)]
    elif np.array_equal(base[0], base[1]):
        order = best_order(base[0], *bounds)
    else:
        raise ValueError(
            "two lists of cluster size bounds without ordered=True cannot be matched with each "
            "other if one has an interval inside another; combine them into one ClusterSizes."
        )
    return bounds[0][order], bounds[1][order]


def _sortable(bounds: Bounds) -> bool:
    """Whether one order sorts the smallest and the largest sizes."""
    order = np.lexsort(bounds)
    return all(bool(np.all(np.diff(b[order]) >= 0)) for b in bounds)


def _uniform(bounds: Bounds) -> bool:
    return all(np.ptp(b) == 0 for b in bounds)


def _gap(counted: IntArray, lower: IntArray, upper: IntArray) -> IntArray:
    """Return the distance of numbers from the intervals [lower, upper]; 0 for those inside."""
    gap: IntArray = np.maximum(lower - counted, 0) + np.maximum(counted - upper, 0)
    return gap


def _whole(values: ArrayLike | None, what: str) -> IntArray | None:
    array = _checks.optional_bound(values, what)
    if array is None:
        return None
    refuse(np.isinf(array), array, what, "it must be finite; None means no bound")
    refuse(array < 0, array, what, "sizes cannot be negative")
    refuse(array != np.floor(array), array, what, "sizes must be whole numbers")
    # Clipped because a huge number such as 1e30, meant as "no maximum", would overflow.
    return np.minimum(array, float(_checks.NO_SIZE)).astype(np.int64)


def _describe(
    cluster: int, names: Names, *, size: IntArray, lower: IntArray, upper: IntArray
) -> str:
    bound = _checks.missed_bound(size[cluster], lower[cluster], upper[cluster])
    name, has = cluster_name(cluster, names), plural(size[cluster], "sample")
    return f"cluster {name} has {has}, but should have {bound}"
