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
from ._checks import Names, name_of, plural, refuse, shortened
from .base import Constraint, Violations, numbers_from_json
from .files import read_weighted_pairs, write_pairs


@dataclass(frozen=True, eq=False, init=False, repr=False)
class _Links(Constraint):
    """Common base of must-links and cannot-links: pairs, each with the weight of a violation."""

    pairs: IntArray
    weight: FloatArray

    _parts = ("pairs", "weight")
    _noun: ClassVar[str]
    _label: ClassVar[str]
    _together: ClassVar[bool]

    def __init__(
        self, pairs: Any, weight: ArrayLike = math.inf, *, index: Iterable[Any] | None = None
    ) -> None:
        label = self._label
        if index is None:
            array = _checks.as_pairs(pairs, f"{label} pairs", _checks.NAMES_HINT)
        else:
            twos = _checks.as_twos(pairs, f"a {label} pair has two names", "pair")
            ends = chain.from_iterable(twos)
            array = _checks.positions_of(ends, index, f"{label} pairs").reshape(-1, 2)
        self._set(pairs=array)
        self._refuse(array.min(axis=1) < 0, "; indices count from 0 and cannot be negative")
        self._refuse(array[:, 0] == array[:, 1], "; a row cannot be paired with itself")
        price = _checks.as_numbers(weight, f"{label} weight")
        refuse(price <= 0, price, f"{label} weight", "it must be above 0, inf for a hard pair")
        price = _checks.as_column(price, f"{label} weight", len(array), "pair", "there are")
        self._set(weight=price)

    def _refuse(self, wrong: BoolArray, fault: str) -> None:
        if wrong.any():
            pair = int(np.argmax(wrong))
            i, j = self.pairs[pair]
            raise ValueError(f"{self._label} pair {pair} is ({i}, {j}){fault}.")

    @property
    def hard(self) -> bool:
        """Whether at least one pair is hard, that is, must be obeyed."""
        return bool(np.isinf(self.weight).any())

    def part(self, *, hard: bool) -> Constraint | None:
        """Return only the hard pairs or only the soft pairs; None if there are none."""
        which = np.flatnonzero(np.isinf(self.weight) == hard)
        return self.take(which) if len(which) else None

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` if a pair names a row that is not in the data."""
        fault = f", but X has {n_samples} samples; indices must lie in [0, {n_samples - 1}]"
        self._refuse(self.pairs.max(axis=1) >= n_samples, fault)

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the pairs that the labels violate; soft pairs count by their weight."""
        found = _checks.as_labels(labels, int(self.pairs.max(initial=-1)) + 1)
        ends = found[self.pairs]
        where = np.flatnonzero((ends[:, 0] == ends[:, 1]) != self._together)
        weight = self.weight[where]
        amount = float(np.where(np.isinf(weight), 1.0, weight).sum())
        return Violations(len(where), amount, where, partial(self._describe, ends=ends))

    def _describe(self, pair: int, names: Names, *, ends: IntArray) -> str:
        i, j = (name_of(int(row), names) for row in self.pairs[pair])
        a, b = ends[pair]
        if self._together:
            return f"samples {i} and {j} must be together, but are in clusters {a} and {b}"
        return f"samples {i} and {j} must not be together, but are both in cluster {a}"

    def subset(self, rows: ArrayLike) -> Self | None:
        """Return the pairs with both ends in ``rows``, renumbered; see :class:`Constraint`."""
        new = _checks.renumbering(rows, int(self.pairs.max(initial=-1)) + 1)[self.pairs]
        inside = (new >= 0).all(axis=1)
        moved = self._with(pairs=new[inside], weight=self.weight[inside])
        return moved if inside.any() else None

    def phrase(self, names: Names = None) -> str:
        """List the pairs in a few words, such as ``must-links 3-5, 5-7``."""
        noun = self._noun if len(self.pairs) == 1 else f"{self._noun}s"
        return f"{noun} {pairs_in_words(self.pairs, names)}" if len(self.pairs) else f"no {noun}"

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports; hard pairs have the weight ``"inf"``."""
        values = super().to_dict()
        if len(set(values["weight"])) == 1:
            values["weight"] = values["weight"][0]
        return values

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        return cls(values["pairs"], numbers_from_json(values["weight"]))

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

    _noun, _label, _together = "must-link", "must_link", True


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

    _noun, _label, _together = "cannot-link", "cannot_link", False


def pairs_in_words(pairs: IntArray, names: Names = None) -> str:
    """Write pairs as ``3-5, 5-7``; a long list is shortened."""
    parts = (f"{name_of(int(i), names)}-{name_of(int(j), names)}" for i, j in pairs)
    return shortened(parts, len(pairs))
