"""How many rows each cluster has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from .._typing import FloatArray, IntArray
from ._checks import (
    Names,
    as_labels,
    as_rows,
    clusters_in,
    frozen,
    one_per_cluster,
    optional_bound,
    ordered_bounds,
    plural,
    refuse,
)
from .base import Constraint, Violations

Bounds = tuple[IntArray, IntArray]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ClusterSizes(Constraint):
    """Bounds on the number of rows of each cluster.

    Parameters
    ----------
    sizes : (n_clusters,) integers, optional
        Exact sizes; not together with ``minimum`` or ``maximum``.
    minimum, maximum : int or (n_clusters,) integers, optional
        Bounds, one for all clusters or one per cluster.  A maximum above the number of rows is
        the same as none.
    ordered : bool, default False
        Whether entry j belongs to cluster j.  If not, the entries are a multiset: which cluster
        gets which is part of the problem.

    Notes
    -----
    On a subset of the rows ``minimum`` and ``maximum`` stay what they are.  Exact sizes add up
    to all rows, so they raise unless the subset is a reordering of all rows.

    Examples
    --------
    >>> ClusterSizes([2, 1]).violations([0, 1, 1]).count
    0
    >>> ClusterSizes([2, 1], ordered=True).violations([0, 1, 1]).messages()
    ['cluster 0 has 1 sample, but should have 2', 'cluster 1 has 2 samples, but should have 1']
    >>> ClusterSizes(minimum=2)
    ClusterSizes(minimum=2)
    """

    sizes: IntArray | None
    minimum: IntArray | None
    maximum: IntArray | None
    ordered: bool

    def __init__(
        self,
        sizes: ArrayLike | None = None,
        *,
        minimum: ArrayLike | None = None,
        maximum: ArrayLike | None = None,
        ordered: bool = False,
    ) -> None:
        exact = _whole(sizes, "sizes")
        low, high = _whole(minimum, "minimum"), _whole(maximum, "maximum")
        if exact is not None and (low is not None or high is not None):
            raise ValueError("sizes are exact; give either sizes, or minimum and maximum.")
        if exact is not None and exact.ndim == 0:
            raise ValueError(
                f"sizes is {exact}; give one size per cluster, or minimum and maximum."
            )
        ordered_bounds(low, high)
        if not isinstance(ordered, (bool, np.bool_)):
            raise ValueError(f"ordered is {ordered!r}; it must be True or False.")
        self._set(
            sizes=_integers(exact),
            minimum=_integers(low),
            maximum=_integers(high),
            ordered=bool(ordered),
        )

    def bounds(self, n_samples: int, n_clusters: int) -> Bounds:
        """Give the least and the largest size of each cluster, or of each entry.

        Parameters
        ----------
        n_samples, n_clusters : int

        Returns
        -------
        lower, upper : (n_clusters,) int arrays
        """
        if self.sizes is not None:
            return self.sizes, self.sizes
        lower = np.broadcast_to(0 if self.minimum is None else self.minimum, n_clusters)
        upper = np.broadcast_to(n_samples if self.maximum is None else self.maximum, n_clusters)
        # Sums of bounds then stay small, whatever large number means "no maximum" to the user.
        return lower.astype(np.int64), np.minimum(upper, np.maximum(n_samples, lower))

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` if it does not give one bound per cluster."""
        one_per_cluster(self.sizes, n_clusters, "sizes", "size")
        one_per_cluster(self.minimum, n_clusters, "minimum", "size")
        one_per_cluster(self.maximum, n_clusters, "maximum", "size")

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the clusters that are too small or too large.

        Unordered entries are handed to the clusters so that the least is broken.
        """
        found = as_labels(labels)
        listed = (self.sizes, self.minimum, self.maximum)
        given = next((len(b) for b in listed if b is not None and b.ndim), None)
        k = clusters_in(found, n_clusters, given)
        self.check(len(found), k)
        size = np.bincount(found, minlength=k)
        lower, upper = self.bounds(len(found), k)
        if not self.ordered:
            order = best_order(size, size, lower, upper)
            lower, upper = lower[order], upper[order]
        excess = _gap(size, size, lower, upper)
        where = np.flatnonzero(excess)
        text = partial(_describe, size=size, lower=lower, upper=upper)
        return Violations(len(where), float(excess.sum()), where, text)

    def subset(self, rows: ArrayLike) -> Self:
        """Give the rule on ``X[rows]``: bounds stay, exact sizes raise; see the notes above."""
        positions, _ = as_rows(rows)
        if self.sizes is not None and len(positions) != self.sizes.sum():
            raise ValueError(
                f"sizes {self.sizes.tolist()} are exact for {self.sizes.sum()} rows and mean "
                f"nothing on {len(positions)} of them; give sizes for the subset."
            )
        return self

    def phrase(self, names: Names = None) -> str:
        """Say the rule in a few words, such as ``cluster sizes [59, 71, 48]``."""
        if self.sizes is not None:
            return f"cluster sizes {self.sizes.tolist()}"
        parts = [
            f"{word} cluster size{'s' if bound.ndim else ''} {bound.tolist()}"
            for word, bound in (("minimum", self.minimum), ("maximum", self.maximum))
            if bound is not None
        ]
        return " and ".join(parts) or "no bound on cluster sizes"

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that JSON can hold."""
        listed = {"sizes": self.sizes, "minimum": self.minimum, "maximum": self.maximum}
        plain = {key: None if b is None else b.tolist() for key, b in listed.items()}
        return {"kind": "ClusterSizes", **plain, "ordered": self.ordered}

    def __repr__(self) -> str:
        """Show the bounds, shortened where there are many."""
        named = (("", self.sizes), ("minimum=", self.minimum), ("maximum=", self.maximum))
        shown = [f"{name}{_short(bound)}" for name, bound in named if bound is not None]
        if self.ordered:
            shown.append("ordered=True")
        return f"ClusterSizes({', '.join(shown)})"


def best_order(low: IntArray, high: IntArray, lower: IntArray, upper: IntArray) -> IntArray:
    """Find which entry of ``[lower, upper]`` each of ``[low, high]`` gets so that they fit best.

    The least total gap comes first, then the least number of gaps.
    """
    if np.ptp(lower) == 0 and np.ptp(upper) == 0:
        return np.arange(len(lower))
    gap = _gap(low[:, None], high[:, None], lower, upper)
    order: IntArray = linear_sum_assignment(gap * (len(lower) + 1) + (gap > 0))[1]
    return order


def merge_sizes(
    sizes: Sequence[ClusterSizes], n_samples: int, n_clusters: int
) -> tuple[IntArray, IntArray, bool]:
    """Intersect several size constraints into one.

    Returns
    -------
    lower, upper : (n_clusters,) int arrays
        ``lower > upper`` somewhere if they contradict each other.
    ordered : bool
        Whether entry j belongs to cluster j.

    Raises
    ------
    ValueError
        If entries of two constraints would have to be matched with each other in a way that one
        list of bounds cannot say.
    """
    bounds = [(size.bounds(n_samples, n_clusters), size.ordered) for size in sizes]
    plain = [b for b, _ in bounds if _uniform(b)]
    tied = [b for b, ordered in bounds if ordered and not _uniform(b)]
    loose = [b for b, ordered in bounds if not ordered and not _uniform(b)]
    # With exact sizes any other multiset has a best order, so these lead.
    loose.sort(key=lambda b: not np.array_equal(b[0], b[1]))
    if loose and tied:
        raise ValueError(
            "cluster sizes with ordered=True and without it cannot be given together; "
            "combine them into one ClusterSizes."
        )
    first, rest = (loose[:1], loose[1:]) if loose else ([], [])
    aligned = [_aligned(other, first[0]) for other in rest]
    lows, highs = zip(*(first + aligned + tied + plain), strict=True)
    return np.max(lows, axis=0), np.min(highs, axis=0), bool(tied)


def _aligned(bounds: Bounds, base: Bounds) -> Bounds:
    here, there = np.lexsort(bounds), np.lexsort(base)
    same = all(np.array_equal(b[here], c[there]) for b, c in zip(bounds, base, strict=True))
    if same:
        return base
    if not np.array_equal(base[0], base[1]):
        raise ValueError(
            "two different lists of cluster size bounds without ordered=True cannot be matched "
            "with each other; combine them into one ClusterSizes."
        )
    order = best_order(*base, *bounds)
    return bounds[0][order], bounds[1][order]


def _uniform(bounds: Bounds) -> bool:
    return all(np.ptp(b) == 0 for b in bounds)


def _gap(low: IntArray, high: IntArray, lower: IntArray, upper: IntArray) -> IntArray:
    """How far the interval [low, high] lies outside [lower, upper], 0 if they meet."""
    gap: IntArray = np.maximum(lower - high, 0) + np.maximum(low - upper, 0)
    return gap


def _whole(values: ArrayLike | None, what: str) -> FloatArray | None:
    array = optional_bound(values, what)
    if array is not None:
        refuse(np.isinf(array), array, what, "it must be finite; None means no bound")
        refuse(array < 0, array, what, "sizes cannot be negative")
        refuse(array != np.floor(array), array, what, "sizes must be whole numbers")
    return array


def _integers(array: FloatArray | None) -> IntArray | None:
    # Clipped, since 1e30 means "no maximum" and would overflow.
    return None if array is None else frozen(np.minimum(array, 2.0**62).astype(np.int64))


def _short(bound: IntArray) -> str:
    if bound.ndim == 0 or len(bound) <= 8:
        return str(bound.tolist())
    return f"[{', '.join(map(str, bound[:7].tolist()))}, ... {len(bound)} in all]"


def _describe(
    cluster: int, names: Names, *, size: IntArray, lower: IntArray, upper: IntArray
) -> str:
    has, low, high = (int(values[cluster]) for values in (size, lower, upper))
    bound = f"{low}" if low == high else f"at least {low}" if has < low else f"at most {high}"
    return f"cluster {cluster} has {plural(has, 'sample')}, but should have {bound}"
