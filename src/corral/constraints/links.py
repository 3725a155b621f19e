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

from .._text import our_words
from .._typing import BoolArray, FloatArray, IntArray
from . import _checks
from ._checks import Names, name_of, plural, refuse, shortened
from .base import Constraint, Violations, numbers_from_json
from .clusters import cluster_name
from .files import read_weighted_pairs, write_pairs
from .rows import RowRule, listed, look_up, starts_with_name


@dataclass(frozen=True, eq=False, init=False, repr=False)
class _Links(RowRule, kind=False):
    """Common base of must-links and cannot-links: pairs, each with the weight of a violation."""

    pairs: IntArray
    weight: FloatArray

    _parts = ("pairs", "weight")
    _keys = ("pairs", "weight", "n_samples")
    _noun: ClassVar[str]
    _label: ClassVar[str]
    _together: ClassVar[bool]

    @our_words
    def __init__(
        self,
        pairs: Any,
        weight: ArrayLike = math.inf,
        *,
        index: Iterable[Any] | None = None,
        n_samples: int | None = None,
    ) -> None:
        label, pairs, index = self._label, listed(pairs), listed(index)
        if index is None and not starts_with_name(pairs):
            array = _checks.as_pairs(pairs, self._what, _checks.NAMES_HINT)
            self._set(pairs=array)
            self._refuse(array.min(axis=1) < 0, "; indices count from 0 and cannot be negative")
        else:
            twos = _checks.as_twos(pairs, f"a {label} pair has two names", "pair")
            ends = list(chain.from_iterable(twos))
            found, n_samples = look_up(ends, index, n_samples, self._what)
            array = found.reshape(-1, 2)
            self._set(pairs=array)
        self._refuse(array[:, 0] == array[:, 1], "; a row cannot be paired with itself")
        price = _checks.as_numbers(weight, f"{label} weight")
        refuse(price <= 0, price, f"{label} weight", "it must be above 0, inf for a hard pair")
        price = _checks.as_column(price, f"{label} weight", len(array), "pair", "there are")
        self._set(weight=price)
        self._set_count(n_samples)
        self._remember(index)

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
        which = np.isinf(self.weight) == hard
        if which.all():
            return self if len(which) else None
        return self.take(np.flatnonzero(which)) if which.any() else None

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the pairs that the labels violate; soft pairs count by their weight."""
        self._refuse_names()
        found = _checks.as_labels(labels, self._n_needed, self.n_samples)
        ends = found[self.pairs]
        where = np.flatnonzero((ends[:, 0] == ends[:, 1]) != self._together)
        weight = self.weight[where]
        amount = float(np.where(np.isinf(weight), 1.0, weight).sum())
        text = partial(self._describe, where=where, ends=ends[where])
        return Violations(len(where), amount, where, text)

    def _describe(
        self, pair: int, names: Names, *, ends: IntArray, where: IntArray | None = None
    ) -> str:
        i, j = (name_of(int(row), names) for row in self.pairs[pair])
        # Pickles before 0.6.0 have the ends of all pairs.
        own = ends[pair if where is None else np.searchsorted(where, pair)]
        a, b = (cluster_name(end, names) for end in own)
        if self._together:
            words = f"{self._verb(pair)} be together, but are in clusters {a} and {b}"
        else:
            words = f"{self._verb(pair)} not be together, but are both in cluster {a}"
        return f"samples {i} and {j} {words}"

    def _verb(self, pair: int) -> str:
        return "must" if np.isinf(self.weight[pair]) else "should"

    def __add__(self, other: Any) -> Any:
        """Return one constraint with the pairs of both; other kinds make a ConstraintSet."""
        if type(other) is not type(self):
            return super().__add__(other)
        if len(self.pairs) and len(other.pairs) and self.named != other.named:
            raise ValueError(
                f"{self!r} and {other!r} cannot be added: one has names of rows and the other has "
                "row numbers; pass index= to the one with names."
            )
        counts = {link.n_samples for link in (self, other)} - {None}
        if len(counts) > 1:
            raise ValueError(
                f"{self!r} is for {self.n_samples} rows, but {other!r} is for {other.n_samples}; "
                "only links for the same rows can be added."
            )
        pairs = np.concatenate([self.pairs, other.pairs])
        made = self._with(pairs=pairs, weight=np.concatenate([self.weight, other.weight]))
        made._set_count(counts.pop() if counts else None)
        return made

    def phrase(self, names: Names = None) -> str:
        """List the pairs in a few words, such as ``must-links 3-5, 5-7``."""
        noun = self._noun if len(self.pairs) == 1 else f"{self._noun}s"
        words = pairs_in_words(self.pairs, None if self.named else names)
        return f"{noun} {words}" if len(self.pairs) else f"no {noun}"

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports; hard pairs have the weight ``"inf"``."""
        values = super().to_dict()
        if len(set(values["weight"])) == 1:
            values["weight"] = values["weight"][0]
        return values

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        weight = numbers_from_json(values["weight"])
        return cls(values["pairs"], weight, n_samples=values.get("n_samples"))

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
        index = listed(index)
        pairs, weight = read_weighted_pairs(path, index)
        n_samples = None if index is None else len(index)  # type: ignore[arg-type]
        return cls(pairs, math.inf if weight is None else weight, n_samples=n_samples)

    def to_csv(self, path: str | os.PathLike[str], *, index: Any = None) -> None:
        """Write the pairs to a CSV file, with a column of weights if there are soft pairs.

        Parameters
        ----------
        path : path
        index : sequence, optional
            Names of the rows to write instead of positions.
        """
        soft = bool(np.isfinite(self.weight).any())
        names = list(dict.fromkeys(self.pairs.flat)) if self.named else index
        write_pairs(path, self.resolve(names).pairs, self.weight if soft else None, names)

    def __repr__(self) -> str:
        soft = int(np.isfinite(self.weight).sum())
        tail = (" by name" if self.named else "") + (f", {soft} soft" if soft else "")
        return f"{type(self).__name__}({plural(len(self.pairs), 'pair')}{tail})"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MustLink(_Links):
    """Pairs of rows that must be in the same cluster.

    Parameters
    ----------
    pairs : (p, 2) integers or names
        Positions of rows, or names of rows.  Names are looked up in ``index``, or if it is not
        given, in the index of the data frame that ``fit`` receives.  Without ``index`` numbers
        are positions, never names.
    weight : float or (p,) floats, default inf
        Cost of a violated pair in the objective, above 0.  ``inf`` makes the pair hard.
    index : sequence, optional
        Names of all rows, such as the index of a data frame.
    n_samples : int, optional
        Number of rows of the data; ``fit`` then refuses data of another length, such as a fold.
        With ``index`` it is known.

    Notes
    -----
    The sum of two must-links is one constraint with the pairs of both.

    Examples
    --------
    >>> MustLink([(0, 5), (5, 7)])
    MustLink(2 pairs)
    >>> MustLink([("ann", "eve")], index=["ann", "bob", "eve"]).pairs
    array([[0, 2]])
    >>> (MustLink([("ann", "eve")]) + MustLink([("bob", "eve")])).phrase()
    'must-links ann-eve, bob-eve'
    >>> MustLink([(0, 5)], weight=2.5).violations([0, 0, 0, 0, 0, 1]).amount
    2.5
    """

    _noun, _label, _together = "must-link", "must_link", True
    _what = "must_link pairs"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class CannotLink(_Links):
    """Pairs of rows that must be in different clusters.

    Parameters
    ----------
    pairs, weight, index, n_samples
        As for :class:`MustLink`.

    Examples
    --------
    >>> CannotLink([(0, 5), (5, 7)], weight=[1, float("inf")])
    CannotLink(2 pairs, 1 soft)
    >>> CannotLink([(0, 2)]).violations([1, 0, 1]).messages()
    ['samples 0 and 2 must not be together, but are both in cluster 1']
    """

    _noun, _label, _together = "cannot-link", "cannot_link", False
    _what = "cannot_link pairs"


def pairs_in_words(pairs: IntArray, names: Names = None) -> str:
    """Write pairs as ``3-5, 5-7``; a long list is shortened."""
    parts = (f"{name_of(i, names)}-{name_of(j, names)}" for i, j in pairs)
    return shortened(parts, len(pairs))
