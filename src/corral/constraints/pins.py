"""Rows whose cluster is given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import sound
from .._text import our_words, shown
from .._typing import BoolArray, FloatArray, IntArray
from . import _checks
from ._checks import Names, name_of, plural, refuse, shortened
from .base import Constraint, Violations, numbers_from_json
from .clusters import check_names, cluster_name, numbers_of_clusters, refuse_names
from .rows import RowRule, is_name, listed, look_up


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Pin(RowRule):
    """Rows that must be in a given cluster.

    Parameters
    ----------
    mapping : dict {row: cluster}, pairs (row, cluster) or (n_samples,) int array
        Rows are positions or names, as for :class:`MustLink`; clusters count from 0, or have the
        names in ``cluster_names`` of the estimator.  Of an array, such as the labels of an earlier
        fit, entry i is the cluster of row i, -1 for no pin.
    weight : float or (p,) floats, default inf
        Price of leaving the pinned cluster, in units of the objective; a pin is soft if it is
        finite.  With 0 it has no effect.
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

    Clusters can have names:

    >>> Pin({0: "north"}).resolve_clusters(["south", "north"]).clusters
    array([1])

    Soft pins of all rows let a new fit change little:

    >>> labels_before = np.array([0, 0, 1])
    >>> Pin(labels_before, weight=2.0).violations([0, 1, 1]).amount
    2.0
    """

    rows: IntArray
    clusters: IntArray
    weight: FloatArray

    _parts = ("rows", "clusters", "weight")
    _keys = ("rows", "clusters", "weight", "n_samples")
    _what = "pins"

    @our_words
    def __init__(
        self,
        mapping: Any,
        weight: ArrayLike = math.inf,
        *,
        index: Iterable[Any] | None = None,
        n_samples: int | None = None,
    ) -> None:
        index = listed(index)
        given = mapping.items() if isinstance(mapping, Mapping) else _as_pairs(mapping)
        items = _checks.as_twos(given, "Pin needs {row: cluster}, or pairs (row, cluster)", "pin")
        keys, values = zip(*items, strict=True) if items else ((), ())
        if index is None and not (keys and is_name(keys[0])):
            rows = _checks.as_integers(keys, "pinned rows", _checks.NAMES_HINT)
        else:
            rows, n_samples = look_up(keys, index, n_samples, self._what)
        clusters = _read_clusters(values)
        if rows.ndim != 1 or clusters.ndim != 1:
            raise ValueError("a pin has one row and one cluster, each an integer.")
        self._set(rows=rows, clusters=clusters)
        if not self.named:
            self._refuse(rows < 0, "; the row must be at least 0")
        if not self.clusters_named:
            self._refuse(clusters < 0, "; the cluster must be at least 0")
        price = _checks.as_numbers(weight, "pin weight")
        refuse(price < 0, price, "pin weight", "it must be at least 0, inf for a hard pin")
        self._set(weight=_checks.as_column(price, "pin weight", len(rows), "pin", "there are"))
        self._set_count(n_samples)
        self._remember(index)

    @property
    def clusters_named(self) -> bool:
        """Whether clusters are given by names that have not been looked up."""
        return self.clusters.dtype == object

    def resolve_clusters(self, names: Sequence[str] | None) -> Self:
        """Return the pins with numbers in place of names of clusters."""
        if not self.clusters_named or names is None:
            return self
        found = numbers_of_clusters(self.clusters, names, "pins")
        return self._with(clusters=np.asarray(found, np.int64))

    def _refuse_cluster_names(self) -> None:
        refuse_names(self.clusters if self.clusters_named else None, "pins")

    def _refuse(self, wrong: BoolArray, fault: str) -> None:
        if wrong.any():
            pin = int(np.argmax(wrong))
            row, cluster = self.rows[pin], self.clusters[pin]
            raise ValueError(f"pin {pin} is of row {row} to cluster {cluster}{fault}.")

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` if a row or a cluster is out of range."""
        super().check(n_samples, n_clusters)
        self._refuse_cluster_names()
        k = n_clusters
        fault = f", but n_clusters is {k}; clusters must lie in [0, {k - 1}]"
        self._refuse(self.clusters >= k, fault)

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the pinned rows that are in another cluster."""
        self._refuse_names()
        self._refuse_cluster_names()
        found = _checks.as_labels(labels, self._n_needed, self.n_samples)[self.rows]
        where = np.flatnonzero(found != self.clusters)
        weight, text = self.weight[where], partial(self._describe, found=found)
        amount = float(np.where(np.isinf(weight), 1.0, weight).sum())
        units = None if np.isinf(self.weight).all() else float(len(where))
        return Violations(len(where), amount, where, text, units)

    @property
    def hard(self) -> bool:
        """Whether at least one pin is hard, that is, must be obeyed."""
        return not len(self.weight) or bool(np.isinf(self.weight).any())

    def part(self, *, hard: bool) -> Constraint | None:
        """Return only the hard pins or only the soft ones; None if there are none."""
        which = np.isinf(self.weight) == hard
        if which.all():
            return self if len(which) or hard else None
        return self.take(np.flatnonzero(which)) if which.any() else None

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports; ``weight`` is there only if some are finite."""
        values = super().to_dict()
        if np.isinf(self.weight).all():
            del values["weight"]
        return values

    def _describe(self, pin: int, names: Names, *, found: IntArray) -> str:
        row = name_of(int(self.rows[pin]), names)
        wanted, got = (cluster_name(of[pin], names) for of in (self.clusters, found))
        return f"sample {row} is pinned to cluster {wanted}, but is in cluster {got}"

    def phrase(self, names: Names = None) -> str:
        """List the pins in a few words, such as ``pins of 3 to cluster 0, 5 to cluster 1``."""
        if not len(self.rows):
            return "no pins"
        noun = "pin" if len(self.rows) == 1 else "pins"
        both = zip(self.rows, self.clusters, strict=True)
        rows = None if self.named else names
        parts = (
            f"{name_of(row, rows)} to cluster {_called(cluster, names)}" for row, cluster in both
        )
        return f"{noun} of {shortened(parts, len(self.rows))}"

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        pins = list(zip(values["rows"], values["clusters"], strict=True))
        weight = numbers_from_json(values.get("weight", math.inf))
        return cls(pins, weight, n_samples=values.get("n_samples"))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Before 0.5.0 all pins were hard.
        super().__setstate__({"weight": np.full(len(state["rows"]), math.inf), **state})

    def __repr__(self) -> str:
        soft = int(np.isfinite(self.weight).sum())
        tail = (" by name" if self.named else "") + (f", {soft} soft" if soft else "")
        return f"Pin({plural(len(self.rows), 'row')}{tail})"


def _read_clusters(values: Any) -> Any:
    """Numbers of clusters, or their names as an array of objects."""
    if not any(isinstance(value, str) for value in values):
        return _checks.as_integers(values, "clusters of pins")
    number = next((value for value in values if not isinstance(value, str)), None)
    if number is not None:
        raise ValueError(
            f"clusters of pins hold a name and {shown(number)}; give only names or only numbers."
        )
    names = np.empty(len(values), object)
    names[:] = check_names(values, "pins")
    return names


def _called(cluster: Any, names: Names) -> str:
    return cluster if isinstance(cluster, str) else cluster_name(cluster, names)


def from_labels(y: ArrayLike) -> Pin:
    """Pin the rows whose class is known.

    Parameters
    ----------
    y : (n_samples,) labels
        Class of each row, all text or all numbers; -1, None, NaN or a masked entry if it is not
        known.

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
    masked = isinstance(y, np.ma.MaskedArray)
    array: Any = y if masked else _checks.as_entries(y, "y")
    if array.ndim != 1:
        raise ValueError(f"y has shape {array.shape}; it must be one class per row.")
    classes = array.tolist()  # None where it is masked
    known = np.array([not _is_missing(value) for value in classes], bool)
    rows = np.flatnonzero(known)
    clusters = _numbers_of([classes[row] for row in rows], rows)
    return Pin(np.column_stack([rows, clusters]), n_samples=len(array) or None)


#: How NumPy writes an unknown class in an array of text.
UNKNOWN_TEXT = ("-1", "nan")


def _numbers_of(classes: list[Any], rows: IntArray) -> IntArray:
    """Numbers of classes in sorted order; ValueError for what may be unknown, or of two kinds."""
    texts = [isinstance(value, str) for value in classes]
    for row, value, text in zip(rows, classes, texts, strict=True):
        if text and value in UNKNOWN_TEXT:
            raise ValueError(
                f"y[{row}] is the text {value!r}; give the number -1, None or NaN in a list or an "
                "array of objects if the class is not known, or another name if it is."
            )
        if text != texts[0]:
            raise ValueError(
                f"y[{row}] is {value!r}, but y[{rows[0]}] is {classes[0]!r}; classes must be all "
                "text or all numbers."
            )
    numbers: IntArray = np.unique(np.asarray(classes), return_inverse=True)[1]
    return numbers


def _as_pairs(given: Any) -> Any:
    """Pairs (row, cluster) of an array of clusters, one for each row; others as they are."""
    labels = (
        np.asarray(sound(given, "the array of pins"))
        if hasattr(given, "__array__")
        else np.empty((0, 2))
    )
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        return given
    rows = np.flatnonzero(labels != -1)
    return np.column_stack([rows, labels[rows]])


def _is_missing(value: Any) -> bool:
    """Whether a value is None, -1, NaN or pandas.NA."""
    try:
        return value is None or bool(value != value) or bool(value == -1)
    except TypeError:  # comparisons with pandas.NA have no truth value
        return True
