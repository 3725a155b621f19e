"""Pairs of rows that must be in the same cluster, or in different clusters."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from .._typing import BoolArray, FloatArray, IntArray
from . import _checks
from ._checks import Names, frozen, name_of, plural, refuse, shortened
from .base import Constraint, Violations
from .files import read_weighted_pairs, write_pairs


@dataclass(frozen=True, eq=False, init=False, repr=False)
class _Links(Constraint):
    """Common base of must-links and cannot-links: pairs, each with the weight of a violation."""

    pairs: IntArray
    weight: FloatArray

    _label: ClassVar[str]
    _noun: ClassVar[str]

    def __init__(
        self, pairs: Any, weight: ArrayLike = math.inf, *, index: Iterable[Any] | None = None
    ) -> None:
        array = _read_pairs(pairs, self._label, index)
        self._set(
            pairs=frozen(array),
            weight=frozen(_read_weight(weight, len(array), self._label)),
        )

    def _broken(self, same: BoolArray) -> BoolArray:
        """Tell which pairs are violated, given which pairs share a cluster."""
        raise NotImplementedError

    @property
    def hard(self) -> bool:
        """Whether at least one pair is hard, that is, must be obeyed."""
        return bool(np.isinf(self.weight).any())

    def part(self, *, hard: bool) -> Constraint | None:
        """Return only the hard pairs or only the soft pairs; None if there are none."""
        which = np.flatnonzero(np.isinf(self.weight) == hard)
        return self.take(which) if len(which) else None

    @property
    def n_parts(self) -> int:
        """Number of pairs."""
        return len(self.pairs)

    def take(self, which: ArrayLike) -> Self:
        """Return the constraint with only some of its pairs, by their numbers."""
        chosen = np.asarray(which, np.int64)
        return type(self)(self.pairs[chosen], self.weight[chosen])

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` if a pair names a row that is not in the data."""
        outside = (self.pairs >= n_samples).any(axis=1)
        if outside.any():
            first = int(np.argmax(outside))
            i, j = self.pairs[first]
            raise ValueError(
                f"{self._label} pair {first} is ({i}, {j}), but X has {n_samples} samples; "
                f"indices must lie in [0, {n_samples - 1}]."
            )

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the pairs that the labels violate; soft pairs count by their weight."""
        found = _checks.as_labels(labels, int(self.pairs.max(initial=-1)) + 1)
        ends = found[self.pairs]
        where = np.flatnonzero(self._broken(ends[:, 0] == ends[:, 1]))
        weight = self.weight[where]
        amount = float(np.where(np.isinf(weight), 1.0, weight).sum())
        return Violations(len(where), amount, where, partial(self._describe, ends=ends))

    def _describe(self, pair: int, names: Names, *, ends: IntArray) -> str:
        raise NotImplementedError

    def subset(self, rows: ArrayLike) -> Self | None:
        """Return the pairs with both ends in ``rows``, renumbered; see :class:`Constraint`."""
        new = _checks.renumbering(rows, int(self.pairs.max(initial=-1)) + 1)[self.pairs]
        inside = (new >= 0).all(axis=1)
        return type(self)(new[inside], self.weight[inside]) if inside.any() else None

    def phrase(self, names: Names = None) -> str:
        """List the pairs in a few words, such as ``must-links 3-5, 5-7``."""
        noun = self._noun if len(self.pairs) == 1 else f"{self._noun}s"
        return f"{noun} {pairs_in_words(self.pairs, names)}" if len(self.pairs) else f"no {noun}"

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports; hard pairs have the weight ``"inf"``."""
        weights = ["inf" if math.isinf(w) else w for w in self.weight.tolist()]
        one = weights[0] if weights and weights.count(weights[0]) == len(weights) else None
        return {
            "kind": type(self).__name__,
            "pairs": self.pairs.tolist(),
            "weight": weights if one is None else one,
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        weight = values["weight"]
        many = isinstance(weight, list)
        return cls(values["pairs"], list(map(float, weight)) if many else float(weight))

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], *, index: Iterable[Any] | None = None) -> Self:
        """Read pairs from a CSV file.

        Parameters
        ----------
        path : path
            Two columns and optionally a third one with weights; a header is optional.
        index : sequence, optional
            Names of the rows, if the file holds names instead of positions.
        """
        pairs, weight = read_weighted_pairs(path, index)
        return cls(pairs, math.inf if weight is None else weight)

    def to_csv(self, path: str | os.PathLike[str], *, index: Any = None) -> None:
        """Write the pairs to a CSV file, with a column of weights if there are soft pairs.

        Parameters
        ----------
        path : path
        index : sequence, optional
            Names of the rows to write instead of positions.
        """
        soft = bool(np.isfinite(self.weight).any())
        write_pairs(path, self.pairs, self.weight if soft else None, index)

    def __repr__(self) -> str:
        """Show the number of pairs."""
        soft = int(np.isfinite(self.weight).sum())
        tail = f", {soft} soft" if soft else ""
        return f"{type(self).__name__}({plural(len(self.pairs), 'pair')}{tail})"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MustLink(_Links):
    """Pairs of rows that must be in the same cluster.

    Parameters
    ----------
    pairs : (p, 2) integers
        Positions of rows, or names of rows if ``index`` is given.
    weight : float or (p,) floats, default inf
        Cost of a violated pair in the objective, above 0.  ``inf`` makes the pair hard.
    index : sequence, optional
        Names of all rows, such as the index of a data frame.

    Examples
    --------
    >>> MustLink([(0, 5), (5, 7)])
    MustLink(2 pairs)
    >>> MustLink([("ann", "eve")], index=["ann", "bob", "eve"]).pairs
    array([[0, 2]])
    >>> MustLink([(0, 5)], weight=2.5).violations([0, 0, 0, 0, 0, 1]).amount
    2.5
    """

    _label = "must_link"
    _noun = "must-link"

    def _broken(self, same: BoolArray) -> BoolArray:
        return ~same

    def _describe(self, pair: int, names: Names, *, ends: IntArray) -> str:
        i, j = (name_of(int(row), names) for row in self.pairs[pair])
        a, b = ends[pair]
        return f"samples {i} and {j} must be together, but are in clusters {a} and {b}"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class CannotLink(_Links):
    """Pairs of rows that must be in different clusters.

    Parameters
    ----------
    pairs, weight, index
        As for :class:`MustLink`.

    Examples
    --------
    >>> CannotLink([(0, 5), (5, 7)], weight=[1, float("inf")])
    CannotLink(2 pairs, 1 soft)
    >>> CannotLink([(0, 2)]).violations([1, 0, 1]).messages()
    ['samples 0 and 2 must not be together, but are both in cluster 1']
    """

    _label = "cannot_link"
    _noun = "cannot-link"

    def _broken(self, same: BoolArray) -> BoolArray:
        return same

    def _describe(self, pair: int, names: Names, *, ends: IntArray) -> str:
        i, j = (name_of(int(row), names) for row in self.pairs[pair])
        return f"samples {i} and {j} must not be together, but are both in cluster {ends[pair, 0]}"


def pairs_in_words(pairs: IntArray, names: Names = None) -> str:
    """Write pairs as ``3-5, 5-7``; a long list is shortened."""
    parts = (f"{name_of(int(i), names)}-{name_of(int(j), names)}" for i, j in pairs)
    return shortened(parts, len(pairs))


def _read_pairs(pairs: Any, label: str, index: Iterable[Any] | None) -> IntArray:
    if index is not None:
        return _check_pairs(_named_pairs(pairs, label, index), label)
    array = _checks.as_integers(pairs, f"{label} pairs", _checks.NAMES_HINT)
    if array.shape == (0,):
        array = array.reshape(0, 2)
    return _check_pairs(array, label)


def _named_pairs(pairs: Any, label: str, index: Iterable[Any]) -> IntArray:
    items = _checks.as_twos(pairs, f"a {label} pair has two names", "pair")
    return _checks.positions_of(chain.from_iterable(items), index, f"{label} pairs").reshape(-1, 2)


def _check_pairs(array: IntArray, label: str) -> IntArray:
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"{label} pairs have shape {array.shape}; it must be (number of pairs, 2)."
        )
    for wrong, rule in (
        ((array < 0).any(axis=1), "indices count from 0 and cannot be negative"),
        (array[:, 0] == array[:, 1], "a row cannot be paired with itself"),
    ):
        if wrong.any():
            first = int(np.argmax(wrong))
            i, j = array[first]
            raise ValueError(f"{label} pair {first} is ({i}, {j}); {rule}.")
    return array


def _read_weight(weight: ArrayLike, n_pairs: int, label: str) -> FloatArray:
    array = _checks.as_numbers(weight, f"{label} weight")
    if array.ndim and array.shape != (n_pairs,):
        raise ValueError(
            f"{label} weight has shape {array.shape}, but there are {plural(n_pairs, 'pair')}; "
            "give one number, or one per pair."
        )
    refuse(array <= 0, array, f"{label} weight", "it must be above 0, inf for a hard pair")
    return np.broadcast_to(array, (n_pairs,)).copy()
