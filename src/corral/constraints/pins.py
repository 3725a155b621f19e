"""Rows whose cluster is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._typing import BoolArray, IntArray
from .._words import our_words
from . import _checks
from ._checks import Names, name_of, plural, shortened
from .base import Violations
from .rows import RowRule, is_name, listed, look_up


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Pin(RowRule):
    """Rows that must be in a given cluster.

    Parameters
    ----------
    mapping : dict {row: cluster} or pairs (row, cluster)
        Rows are positions or names, as for :class:`MustLink`; clusters count from 0.
    index, n_samples
        As for :class:`MustLink`.

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

    _parts = ("rows", "clusters")
    _keys = ("rows", "clusters", "n_samples")
    _what = "pins"

    @our_words
    def __init__(
        self, mapping: Any, *, index: Iterable[Any] | None = None, n_samples: int | None = None
    ) -> None:
        index = listed(index)
        given = mapping.items() if isinstance(mapping, Mapping) else mapping
        items = _checks.as_twos(given, "Pin needs {row: cluster}, or pairs (row, cluster)", "pin")
        keys, values = zip(*items, strict=True) if items else ((), ())
        if index is None and not (keys and is_name(keys[0])):
            rows = _checks.as_integers(keys, "pinned rows", _checks.NAMES_HINT)
        else:
            rows, n_samples = look_up(keys, index, n_samples, self._what)
        clusters = _checks.as_integers(values, "clusters of pins")
        if rows.ndim != 1 or clusters.ndim != 1:
            raise ValueError("a pin has one row and one cluster, each an integer.")
        self._set(rows=rows, clusters=clusters)
        if not self.named:
            self._refuse(rows < 0, "; the row must be at least 0")
        self._refuse(clusters < 0, "; the cluster must be at least 0")
        self._set_count(n_samples)
        self._remember(index)

    def _refuse(self, wrong: BoolArray, fault: str) -> None:
        if wrong.any():
            pin = int(np.argmax(wrong))
            row, cluster = self.rows[pin], self.clusters[pin]
            raise ValueError(f"pin {pin} is of row {row} to cluster {cluster}{fault}.")

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` if a row or a cluster is out of range."""
        super().check(n_samples, n_clusters)
        k = n_clusters
        fault = f", but n_clusters is {k}; clusters must lie in [0, {k - 1}]"
        self._refuse(self.clusters >= k, fault)

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the pinned rows that are in another cluster."""
        self._refuse_names()
        found = _checks.as_labels(labels, self._n_needed, self.n_samples)[self.rows]
        where = np.flatnonzero(found != self.clusters)
        text = partial(self._describe, found=found)
        return Violations(len(where), float(len(where)), where, text)

    def _describe(self, pin: int, names: Names, *, found: IntArray) -> str:
        row = name_of(int(self.rows[pin]), names)
        wanted, got = self.clusters[pin], found[pin]
        return f"sample {row} is pinned to cluster {wanted}, but is in cluster {got}"

    def phrase(self, names: Names = None) -> str:
        """List the pins in a few words, such as ``pins of 3 to cluster 0, 5 to cluster 1``."""
        if not len(self.rows):
            return "no pins"
        noun = "pin" if len(self.rows) == 1 else "pins"
        both = zip(self.rows, self.clusters, strict=True)
        names = None if self.named else names
        parts = (f"{name_of(row, names)} to cluster {cluster}" for row, cluster in both)
        return f"{noun} of {shortened(parts, len(self.rows))}"

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        pins = list(zip(values["rows"], values["clusters"], strict=True))
        return cls(pins, n_samples=values.get("n_samples"))

    def __repr__(self) -> str:
        return f"Pin({plural(len(self.rows), 'row')}{' by name' if self.named else ''})"


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
    {'kind': 'Pin', 'n_samples': 4, 'rows': [0, 2, 3], 'clusters': [0, 1, 0]}
    """
    array = _checks.as_array(y, "y")
    if array.ndim != 1:
        raise ValueError(f"y has shape {array.shape}; it must be one class per row.")
    known = np.array([not _is_missing(value) for value in array.tolist()], bool)
    kept = np.asarray(array[known].tolist()) if array.dtype.kind == "O" else array[known]
    clusters = np.unique(kept, return_inverse=True)[1]
    return Pin(np.column_stack([np.flatnonzero(known), clusters]), n_samples=len(array) or None)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, -1, NaN or pandas.NA."""
    try:
        return value is None or bool(value != value) or bool(value == -1)
    except TypeError:  # comparisons with pandas.NA have no truth value
        return True
