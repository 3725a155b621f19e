"""Sums per cluster of a value per row, and the shares of groups that build on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray
from ._checks import (
    RELATIVE_TOLERANCE,
    Names,
    as_labels,
    as_numbers,
    clusters_in,
    frozen,
    one_per_cluster,
    optional_bound,
    ordered_bounds,
    refuse,
    rows_within,
    sums_by,
)
from .base import Constraint, Violations


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ClusterTotals(Constraint):
    """Bounds on the sum of a value over the rows of each cluster.

    Parameters
    ----------
    values : (n_samples,) floats
        Any finite value per row: demand, weight, minutes; booleans count the rows that are true.
    minimum, maximum : float or (n_clusters,) floats, optional
        Bounds, one for all clusters or one per cluster, then in the order of the clusters.

    Notes
    -----
    A bound counts as broken when the total is beyond it by more than rounding, 1e-9 of the sum
    of the magnitudes.  On a subset of the rows the values of these rows stay, with the same
    bounds.

    Examples
    --------
    >>> capacity = ClusterTotals([3, 4, 5], maximum=8)
    >>> capacity.violations([0, 1, 1], n_clusters=2).messages()
    ['cluster 1 has a total of 9, but should have at most 8']
    >>> has_licence = ClusterTotals([True, False, True], minimum=1)
    >>> has_licence.violations([0, 1, 1], n_clusters=2).count
    0
    """

    values: FloatArray
    minimum: FloatArray | None
    maximum: FloatArray | None

    def __init__(
        self,
        values: ArrayLike,
        *,
        minimum: ArrayLike | None = None,
        maximum: ArrayLike | None = None,
    ) -> None:
        array = as_numbers(values, "values", kinds="iufb")
        if array.ndim != 1:
            raise ValueError(f"values has shape {array.shape}; it must be one number per row.")
        refuse(np.isinf(array), array, "values", "each must be finite")
        low, high = optional_bound(minimum, "minimum"), optional_bound(maximum, "maximum")
        if low is not None:
            refuse(low == math.inf, low, "minimum", "no total reaches it")
        if high is not None:
            refuse(high == -math.inf, high, "maximum", "no total stays below it")
        ordered_bounds(low, high)
        self._set(
            values=frozen(array),
            minimum=None if low is None else frozen(low),
            maximum=None if high is None else frozen(high),
        )

    def bounds(self, n_clusters: int) -> tuple[FloatArray, FloatArray]:
        """Give the least and the largest total of each cluster, infinite where there is none.

        Parameters
        ----------
        n_clusters : int

        Returns
        -------
        lower, upper : (n_clusters,) float arrays
        """
        lower = np.broadcast_to(-math.inf if self.minimum is None else self.minimum, n_clusters)
        upper = np.broadcast_to(math.inf if self.maximum is None else self.maximum, n_clusters)
        return lower.astype(np.float64), upper.astype(np.float64)

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` unless there is one value per row and one bound per cluster."""
        if self.values.size and len(self.values) != n_samples:
            raise ValueError(
                f"values has length {len(self.values)}, but X has {n_samples} samples; "
                "give one value per row."
            )
        one_per_cluster(self.minimum, n_clusters, "minimum", "total")
        one_per_cluster(self.maximum, n_clusters, "maximum", "total")

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the clusters whose total is out of bounds."""
        listed = (self.minimum, self.maximum)
        given = next((len(b) for b in listed if b is not None and b.ndim), None)
        found = as_labels(labels, n_exactly=len(self.values) or None)
        k = clusters_in(found, n_clusters, given)
        one_per_cluster(self.minimum, k, "minimum", "total")
        one_per_cluster(self.maximum, k, "maximum", "total")
        lower, upper = self.bounds(k if self.values.size else 0)
        total, excess = total_excess(self.values, found[: len(self.values)], lower, upper)
        where = np.flatnonzero(excess)
        text = partial(_describe_total, total=total, lower=lower, upper=upper)
        return Violations(len(where), float(excess.sum()), where, text)

    def subset(self, rows: ArrayLike) -> Self:
        """Give the rule on ``X[rows]``: the values of these rows, the same bounds."""
        positions = rows_within(rows, len(self.values), "values")
        return type(self)(self.values[positions], minimum=self.minimum, maximum=self.maximum)

    def expand(self, n_samples: int, n_clusters: int) -> tuple[Constraint, ...]:
        """Give itself, or nothing if there are no values: an empty list is no constraint."""
        return (self,) if self.values.size else ()

    def phrase(self, names: Names = None) -> str:
        """Say the rule in a few words, such as ``cluster totals of at most 8``."""
        return f"cluster totals of {_bounds_in_words(self.minimum, self.maximum)}"

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that JSON can hold."""
        return {
            "kind": "ClusterTotals",
            "values": self.values.tolist(),
            "minimum": numbers_to_json(self.minimum),
            "maximum": numbers_to_json(self.maximum),
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Undo :meth:`to_dict`."""
        return cls(
            values["values"],
            minimum=numbers_from_json(values["minimum"]),
            maximum=numbers_from_json(values["maximum"]),
        )

    def __repr__(self) -> str:
        """Show the number of values and the bounds."""
        bounds = _bounds_in_words(self.minimum, self.maximum)
        return f"ClusterTotals({len(self.values)} values, {bounds})"


def total_excess(
    values: FloatArray, labels: NDArray[Any], lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sum values per cluster and tell how far each sum is out of bounds, 0 within rounding."""
    k = len(lower)
    total = sums_by(labels, values, k)[:k]
    size = sums_by(labels, np.abs(values), k)[:k]
    excess = np.maximum(np.maximum(lower - total, total - upper), 0.0)
    return total, np.where(excess > RELATIVE_TOLERANCE * size, excess, 0.0)


def numbers_to_json(values: FloatArray | None) -> Any:
    """Turn numbers into what JSON can hold, infinities into text."""
    if values is None:
        return None
    if values.ndim:
        return [numbers_to_json(value) for value in values]
    number = float(values)
    return str(number) if math.isinf(number) else number


def numbers_from_json(values: Any) -> Any:
    """Undo :func:`numbers_to_json`."""
    if isinstance(values, list):
        return [numbers_from_json(value) for value in values]
    return None if values is None else float(values)


def _bounds_in_words(minimum: FloatArray | None, maximum: FloatArray | None) -> str:
    parts = [
        f"{word} {_short(bound)}"
        for word, bound in (("at least", minimum), ("at most", maximum))
        if bound is not None
    ]
    return " and ".join(parts) or "any amount"


def _short(bound: FloatArray) -> str:
    if bound.ndim == 0:
        return f"{float(bound):.10g}"
    tail = f", ... {len(bound)} in all" if len(bound) > 8 else ""
    return f"[{', '.join(f'{value:.10g}' for value in bound[:8])}{tail}]"


def _describe_total(
    cluster: int, names: Names, *, total: FloatArray, lower: FloatArray, upper: FloatArray
) -> str:
    has, low, high = (float(values[cluster]) for values in (total, lower, upper))
    bound = f"at least {low:.10g}" if has < low else f"at most {high:.10g}"
    return f"cluster {cluster} has a total of {has:.10g}, but should have {bound}"
