"""Bounds on the sum of a value over the rows of each cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._text import our_words
from .._typing import FloatArray
from . import _checks
from ._checks import Names, allowances, excess_of, refuse, refuse_overflow
from .base import Constraint, Priced, Violations, as_price, kept_sides, numbers_from_json
from .clusters import (
    bound_in_words,
    cluster_name,
    clusters_of_json,
    named_bounds,
    refuse_lists,
    refuse_names,
    spread,
)

SIDES = ("minimum", "maximum")
WORDS = {"minimum": "at least", "maximum": "at most"}
#: Bounds that bound nothing.
FREE = {"minimum": -math.inf, "maximum": math.inf}


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ClusterTotals(Priced):
    """Bounds on the sum of a value over the rows of each cluster.

    Parameters
    ----------
    values : (n_samples,) floats
        One finite value per row, such as a demand or a weight; booleans count 1 where true.
    minimum, maximum : float, (n_clusters,) floats or {cluster: float}, optional
        Bounds, one for all clusters, one per cluster in the order of the clusters, or those of
        some clusters by their names in ``cluster_names`` of the estimator.
    name : str, optional
        What the values are, for messages; the name of a pandas series unless given.
    weight : float, default inf
        Price of each unit by which a total is outside its bounds, in units of the objective; the
        bounds are soft if it is finite.  With 0 they have no effect.

    Notes
    -----
    A bound is violated if the total exceeds it by more than rounding: 1e-9 times the sum of the
    magnitudes of all values, and at most 0.25 if these are whole numbers.  On a subset of the rows
    the bounds are kept unchanged.

    Examples
    --------
    >>> capacity = ClusterTotals([3, 4, 5], maximum=8)
    >>> capacity.violations([0, 1, 1], n_clusters=2).messages()
    ['cluster 1 has a total of 9, but should have at most 8']
    >>> ClusterTotals([3, 4, 5], maximum={"north": 8}).resolve_clusters(["north", "south"]).maximum
    array([ 8., inf])
    >>> has_licence = ClusterTotals([True, False, True], minimum=1)
    >>> has_licence.violations([0, 1, 1], n_clusters=2).count
    0
    """

    values: FloatArray
    minimum: FloatArray | None
    maximum: FloatArray | None
    name: str | None
    weight: float
    clusters: tuple[str, ...] | None

    _rows_by = "values"
    _keys = ("values", "minimum", "maximum", "name", "weight", "clusters")

    @our_words
    def __init__(
        self,
        values: ArrayLike,
        *,
        minimum: ArrayLike | Mapping[Any, float] | None = None,
        maximum: ArrayLike | Mapping[Any, float] | None = None,
        name: str | None = None,
        weight: float = math.inf,
    ) -> None:
        array = _checks.as_numbers(values, "values", kinds="iufb")
        if array.ndim != 1:
            raise ValueError(f"values has shape {array.shape}; it must be one number per row.")
        refuse(np.isinf(array), array, "values", "each must be finite")
        refuse_overflow(array, "values")
        sides, clusters = named_bounds("cluster totals", FREE, minimum=minimum, maximum=maximum)
        low, high = (_checks.optional_bound(sides[side], side) for side in SIDES)
        if low is not None:
            refuse(low == math.inf, low, "minimum", "no total can reach it")
        if high is not None:
            refuse(high == -math.inf, high, "maximum", "no total can stay below it")
        refuse_lists(clusters, low, high)
        _checks.ordered_bounds(minimum=low, maximum=high)
        if name is not None and not isinstance(name, str):
            raise ValueError(f"name is {name!r}; it must be text or None.")
        price = as_price(weight, "weight of cluster totals")
        name = name or _name_of(values)
        self._set(values=array, minimum=low, maximum=high, name=name, weight=price)
        self._set(clusters=clusters)
        self._remember(_checks.index_of(values))

    @property
    def clusters_named(self) -> bool:
        """Whether bounds are given by clusters that have not been looked up."""
        return self.clusters is not None

    def resolve_clusters(self, names: Sequence[str] | None) -> Self:
        """Return the constraint with one bound for each of the named clusters."""
        if self.clusters is None or names is None:
            return self
        return self._with(**spread(self.clusters, names, self._sides(), FREE), clusters=None)

    def bounds(self, n_clusters: int) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest total of each cluster, infinite if there is no bound.

        Both are float arrays of length ``n_clusters``.
        """
        lower = np.broadcast_to(-math.inf if self.minimum is None else self.minimum, n_clusters)
        upper = np.broadcast_to(math.inf if self.maximum is None else self.maximum, n_clusters)
        return lower.astype(np.float64), upper.astype(np.float64)

    def _farthest(self, n_samples: int, n_clusters: int) -> float:
        sides = np.abs(self.bounds(n_clusters))
        return float(n_clusters * np.abs(self.values).sum() + sides[np.isfinite(sides)].sum())

    def _sides(self) -> dict[str, FloatArray | None]:
        return {"minimum": self.minimum, "maximum": self.maximum}

    @property
    def n_parts(self) -> int:
        """Number of sides, minimum and maximum."""
        return sum(bound is not None for bound in self._sides().values())

    def take(self, which: ArrayLike) -> Self:
        """Return only the minimum or only the maximum, in this order."""
        return self._with(**{**dict.fromkeys(self._sides()), **kept_sides(self._sides(), which)})

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` unless there is one value per row and one bound per cluster."""
        _checks.one_per("row", n_samples, "value", values=self.values)
        refuse_names(self.clusters, "cluster totals")
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        _checks.one_per("cluster", n_clusters, "total", **bounds)

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the clusters whose total is out of bounds."""
        refuse_names(self.clusters, "cluster totals")
        found = _checks.as_labels(labels, n_exactly=len(self.values) or None)
        k = _checks.clusters_in(found, n_clusters, self.minimum, self.maximum)
        self.check(len(self.values), k)
        lower, upper = self.bounds(k if self.values.size else 0)
        total, excess = total_excess(self.values, found[: len(self.values)], lower, upper)
        text = partial(_describe_total, total=total, lower=lower, upper=upper)
        return self._outside(excess, text)

    def subset(self, rows: ArrayLike) -> Self:
        """Return the constraint for ``X[rows]``: the values of these rows, the same bounds."""
        positions = _checks.rows_within(rows, len(self.values), "values")
        return self._with(values=self.values[positions])

    def expand(self, n_samples: int, n_clusters: int) -> tuple[Constraint, ...]:
        """Return the constraint itself, or nothing if there are no values."""
        return (self,) if self.values.size else ()

    def phrase(self, names: Names = None) -> str:
        """Describe the bounds in a few words, such as ``cluster totals of at most 8``."""
        of = " of" if self.name is None else f" of {self.name!r},"
        bounds = self._bounds_in_words(names)
        return self._in_words(f"cluster totals{of} {bounds}")

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports; ``name`` is there only if there is one."""
        values = super().to_dict()
        for name in ("name", "clusters"):
            if values[name] is None:
                del values[name]
        return values

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        low, high = (numbers_from_json(values[side]) for side in ("minimum", "maximum"))
        others = {key: values[key] for key in ("name", "weight") if key in values}
        made = cls(values["values"], minimum=low, maximum=high, **others)
        return made._with(clusters=clusters_of_json(values))

    def _bounds_in_words(self, names: Names) -> str:
        parts = [
            f"{WORDS[side]} {bound_in_words(bound, FREE[side], self.clusters, names)}"
            for side, bound in self._sides().items()
            if bound is not None
        ]
        return " and ".join(parts) or "any amount"

    def __repr__(self) -> str:
        bounds = self._bounds_in_words(None)
        name = "" if self.name is None else f"{self.name!r}, "
        count = _checks.plural(len(self.values), "value")
        return f"ClusterTotals({name}{count}, {bounds}{self._price})"


def _name_of(values: Any) -> str | None:
    """The name of a pandas series."""
    name = getattr(values, "name", None)
    return name if hasattr(values, "iloc") and isinstance(name, str) else None


def total_excess(
    values: FloatArray, labels: NDArray[Any], lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the sum of each cluster and its excess over the bounds, 0 if within rounding."""
    total = _checks.sums_by(labels, values, len(lower))[: len(lower)]
    allowed = allowances(values, np.broadcast_to(np.int64(0), len(values)), 1)
    return total, excess_of(total, allowed, lower, upper)


def _describe_total(
    cluster: int, names: Names, *, total: FloatArray, lower: FloatArray, upper: FloatArray
) -> str:
    has, low, high = (float(values[cluster]) for values in (total, lower, upper))
    bound = f"at least {low:.10g}" if has < low else f"at most {high:.10g}"
    return (
        f"cluster {cluster_name(cluster, names)} has a total of {has:.10g}, but should have {bound}"
    )
