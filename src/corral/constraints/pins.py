"""Rows whose cluster is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._typing import IntArray
from . import _checks
from ._checks import Names, frozen, name_of, plural, shortened
from .base import Constraint, Violations


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Pin(Constraint):
    """Rows that must be in a given cluster.

    Parameters
    ----------
    mapping : dict {row: cluster} or pairs (row, cluster)
        Rows are positions, or names if ``index`` is given; clusters count from 0.
    index : sequence, optional
        Names of all rows, such as the index of a data frame.

    Examples
    --------
    >>> Pin({3: 0, 5: 1})
    Pin(2 rows)
    >>> Pin({"eve": 1}, index=["ann", "bob", "eve"]).rows
    array([2])
    >>> Pin({0: 1}).violations([0, 1]).messages()
    ['sample 0 is pinned to cluster 1, but is in cluster 0']
    """

    rows: IntArray
    clusters: IntArray

    def __init__(self, mapping: Any, *, index: Iterable[Any] | None = None) -> None:
        given = mapping.items() if isinstance(mapping, Mapping) else mapping
        items = _checks.as_twos(given, "Pin needs {row: cluster}, or pairs (row, cluster)", "pin")
        keys, values = zip(*items, strict=True) if items else ((), ())
        if index is None:
            rows = _checks.as_integers(keys, "pinned rows", _checks.NAMES_HINT)
        else:
            rows = _checks.positions_of(keys, index, "Pin")
        clusters = _checks.as_integers(values, "clusters of pins")
        if rows.ndim != 1 or clusters.ndim != 1:
            raise ValueError("a pin has one row and one cluster, each an integer.")
        for wrong, what in ((rows < 0, "the row"), (clusters < 0, "the cluster")):
            if wrong.any():
                first = int(np.argmax(wrong))
                raise ValueError(
                    f"pin {first} is of row {rows[first]} to cluster {clusters[first]}; "
                    f"{what} must be at least 0."
                )
        self._set(rows=frozen(rows), clusters=frozen(clusters))

    @property
    def n_parts(self) -> int:
        """Number of pins."""
        return len(self.rows)

    def take(self, which: ArrayLike) -> Self:
        """Return the constraint with only some of its pins, by their numbers."""
        chosen = np.asarray(which, np.int64)
        return type(self)(np.column_stack([self.rows[chosen], self.clusters[chosen]]))

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` if a row or a cluster is out of range."""
        for values, what, limit in (
            (self.rows, "rows", n_samples),
            (self.clusters, "clusters", n_clusters),
        ):
            wrong = values >= limit
            if wrong.any():
                first = int(np.argmax(wrong))
                fact = f"X has {limit} samples" if what == "rows" else f"n_clusters is {limit}"
                raise ValueError(
                    f"pin {first} is of row {self.rows[first]} to cluster {self.clusters[first]}, "
                    f"but {fact}; {what} must lie in [0, {limit - 1}]."
                )

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the pinned rows that are in another cluster."""
        found = _checks.as_labels(labels, int(self.rows.max(initial=-1)) + 1)[self.rows]
        where = np.flatnonzero(found != self.clusters)
        return Violations(
            len(where), float(len(where)), where, partial(self._describe, found=found)
        )

    def _describe(self, pin: int, names: Names, *, found: IntArray) -> str:
        row = name_of(int(self.rows[pin]), names)
        wanted, got = self.clusters[pin], found[pin]
        return f"sample {row} is pinned to cluster {wanted}, but is in cluster {got}"

    def subset(self, rows: ArrayLike) -> Self | None:
        """Return the pins of ``rows``, renumbered; see :class:`Constraint`."""
        new = _checks.renumbering(rows, int(self.rows.max(initial=-1)) + 1)[self.rows]
        inside = new >= 0
        if not inside.any():
            return None
        return type(self)(np.column_stack([new[inside], self.clusters[inside]]))

    def phrase(self, names: Names = None) -> str:
        """List the pins in a few words, such as ``pins of 3 to cluster 0, 5 to cluster 1``."""
        if not len(self.rows):
            return "no pins"
        noun = "pin" if len(self.rows) == 1 else "pins"
        return f"{noun} of {pins_in_words(self.rows, self.clusters, names)}"

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports."""
        return {"kind": "Pin", "rows": self.rows.tolist(), "clusters": self.clusters.tolist()}

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        return cls(list(zip(values["rows"], values["clusters"], strict=True)))

    def __repr__(self) -> str:
        """Show the number of pinned rows."""
        return f"Pin({plural(len(self.rows), 'row')})"


def pins_in_words(rows: IntArray, clusters: IntArray, names: Names = None) -> str:
    """Write pins as ``3 to cluster 0, 5 to cluster 1``; a long list is shortened."""
    both = zip(rows, clusters, strict=True)
    parts = (f"{name_of(int(row), names)} to cluster {cluster}" for row, cluster in both)
    return shortened(parts, len(rows))


def from_labels(y: ArrayLike) -> Pin:
    """Pin the rows whose class is known.

    Parameters
    ----------
    y : (n_samples,) labels
        Class of each row; -1, None or NaN if it is not known.

    Returns
    -------
    Pin
        Rows of the first class in sorted order are pinned to cluster 0, rows of the second
        class to cluster 1, and so on: ``["b", "a"]`` pins row 0 to cluster 1.  Use
        :class:`MustLink` if rows of one class must be together in any cluster.

    Examples
    --------
    >>> from_labels([7, -1, 9, 7]).to_dict()
    {'kind': 'Pin', 'rows': [0, 2, 3], 'clusters': [0, 1, 0]}
    """
    array = _checks.as_array(y, "y")
    if array.ndim != 1:
        raise ValueError(f"y has shape {array.shape}; it must be one class per row.")
    if array.dtype.kind == "O":
        known = np.array([not _is_missing(value) for value in array], bool)
        kept = np.asarray(array[known].tolist())
    else:
        known = np.ones(len(array), bool) if array.dtype.kind in "USb" else array != -1
        known &= array == array  # NaN is not equal to itself
        kept = array[known]
    clusters = np.unique(kept, return_inverse=True)[1]
    return Pin(np.column_stack([np.flatnonzero(known), clusters]))


def _is_missing(value: Any) -> bool:
    """Whether a value is None, -1, NaN or pandas.NA."""
    try:
        return value is None or bool(value != value) or bool(value == -1)
    except TypeError:  # comparisons with pandas.NA have no truth value
        return True
