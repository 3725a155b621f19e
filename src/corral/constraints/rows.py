"""What links and pins share: they name rows, by position or by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Number
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import BoolArray, FloatArray
from . import _checks
from ._checks import FOLDS
from .base import Constraint


@dataclass(frozen=True, eq=False, init=False, repr=False)
class RowRule(Constraint, kind=False):
    """A constraint whose parts name rows.

    The first field of ``_parts`` holds the rows: integers are positions, and an array of objects
    holds names that :meth:`resolve` has yet to look up.
    """

    n_samples: int | None

    _rows_by = "n_samples"
    #: What the parts are called in messages, such as "must_link pairs".
    _what: ClassVar[str]

    @property
    def _rows(self) -> NDArray[Any]:
        rows: NDArray[Any] = getattr(self, self._parts[0])
        return rows

    @property
    def named(self) -> bool:
        """Whether rows are given by names that have not been looked up."""
        return self._rows.dtype == object

    @staticmethod
    def _all(right: BoolArray) -> BoolArray:
        """Whether all rows of each part are right."""
        whole: BoolArray = np.logical_and.reduce(right, axis=tuple(range(1, right.ndim)))
        return whole

    @property
    def _n_needed(self) -> int:
        """Smallest number of rows that the data can have."""
        return int(self._rows.max(initial=-1)) + 1

    @abstractmethod
    def _refuse(self, wrong: BoolArray, fault: str) -> None:
        """Raise ``ValueError`` for the first part that is marked wrong."""

    def _set_count(self, n_samples: Any) -> None:
        """Set the number of rows, in the constructor after the other fields."""
        if n_samples is not None:
            _checks.check_count(n_samples, "n_samples", ", or None")
            n_samples = int(n_samples)
            self._refuse_rows_from(n_samples, f"n_samples is {n_samples}")
        self._set(n_samples=n_samples)

    def _refuse_rows_from(self, count: int, fact: str) -> None:
        if not self.named and self._n_needed > count:
            fault = f", but {fact}; indices must lie in [0, {count - 1}]"
            self._refuse(~self._all(self._rows < count), fault)

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` if a row is not in the data or the data have another length."""
        self._refuse_names()
        self._refuse_count(n_samples)
        self._refuse_rows_from(n_samples, f"X has {n_samples} samples")

    def _refuse_names(self) -> None:
        if self.named:
            raise ValueError(
                f"{self._what} name rows, such as {self._rows.flat[0]!r}; look the names up first "
                "with resolve(index), or pass index=."
            )

    def _refuse_count(self, n_samples: int) -> None:
        if self.n_samples not in (None, n_samples):
            raise ValueError(
                f"{self._what} are for {self.n_samples} rows, but X has {n_samples} samples{FOLDS}."
            )

    def dearest(self, n_samples: int, n_clusters: int) -> float:
        """Return the sum of the finite prices."""
        price: FloatArray = self._fields()["weight"]
        return float(price[np.isfinite(price)].sum())

    def resolve(self, index: Iterable[Any]) -> Self:
        """Return the constraint with positions in ``index`` in place of names."""
        if not self.named:
            return self
        table = _checks.table_of(index)
        self._refuse_count(len(table))
        rows = _checks.positions_of(self._rows.flat, table, self._what, FOLDS)
        parts = {self._parts[0]: rows.reshape(self._rows.shape)}
        found = self._with(**parts, n_samples=len(table))
        found._remember(list(table))
        return found

    def subset(self, rows: ArrayLike) -> Self | None:
        """Return the parts whose rows are all in ``rows``, renumbered; see :class:`Constraint`."""
        self._refuse_names()
        if self.n_samples is not None:
            rows = _checks.rows_within(rows, self.n_samples, f"the data of the {self._what}")
        new = _checks.renumbering(rows, self._n_needed)[self._rows]
        inside = np.flatnonzero(self._all(new >= 0))
        if not len(inside):
            return None
        moved = {self._parts[0]: new[inside], "n_samples": len(_checks.as_rows(rows)[0])}
        return self.take(inside)._with(**moved)

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports; ``n_samples`` is there only if it is known."""
        names = self._rows.flat if self.named else ()
        strange = [name for name in names if not isinstance(name, str)]
        if strange:
            raise ValueError(f"{self._what} name {strange[0]!r}; in JSON a name must be text.")
        values = super().to_dict()
        if self.n_samples is None:
            del values["n_samples"]
        return values


def starts_with_name(values: Any) -> bool:
    """Whether the first entry of nested sequences or of an array is the name of a row."""
    if hasattr(values, "__array__"):
        flat = np.asarray(values).ravel()
        return len(flat) > 0 and is_name(flat[0])
    first = next(iter(values), None) if isinstance(values, Sequence) else None
    nested = isinstance(first, (list, tuple)) and len(first) > 0
    return nested and is_name(first[0])  # type: ignore[index]


def is_name(value: Any) -> bool:
    """Whether a value is a name without ``index=``: numbers, and tuples of numbers, are not."""
    if isinstance(value, tuple):
        return any(map(is_name, value))
    if isinstance(value, str):
        return True
    return isinstance(value, Hashable) and not isinstance(value, (Number, np.generic, type(None)))


def look_up(
    names: Sequence[Any], index: Any, n_samples: int | None, what: str
) -> tuple[NDArray[Any], int | None]:
    """Positions of names in the index, and its length; without an index the names stay."""
    if index is None:
        return _as_names(names, what), n_samples
    table = _checks.table_of(index)
    if n_samples not in (None, len(table)):
        raise ValueError(f"n_samples is {n_samples!r}, but index holds {len(table)} names.")
    return _checks.positions_of(names, table, what), len(table)


def _as_names(values: Sequence[Any], what: str) -> NDArray[Any]:
    """Read names of rows that are looked up later."""
    for value in values:
        if not is_name(value):
            raise ValueError(
                f"{what} hold the name {values[0]!r} and {value!r}; give only names or only row "
                "numbers, or pass index=."
            )
    try:
        hash(tuple(values))
    except TypeError as error:
        raise ValueError(f"{what} cannot be names of rows: {error}.") from error
    return np.fromiter(values, object, len(values))


def listed(values: Any) -> Any:
    """Read what can perhaps be read only once into a list; other values stay as they are.

    The edges of a networkx graph are a set and a mapping, from pairs to attributes.
    """
    kept = isinstance(values, (str, bytes, Mapping, Sequence)) and not isinstance(values, Set)
    once = isinstance(values, Iterable) and not kept
    return list(values) if once and not hasattr(values, "__array__") else values
