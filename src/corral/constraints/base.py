"""The base class of all constraints, and the violations that they report."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._text import refuse_keys, suggestion
from .._typing import FloatArray, IntArray
from ._checks import Names, as_numbers, refuse

#: What fields mean that a constraint of an earlier version does not have; others are None.
ABSENT = {"weight": math.inf}


@dataclass(frozen=True, eq=False)
class Violations:
    """The parts of one constraint that given labels violate.

    Attributes
    ----------
    count : int
        Number of violated rules: pairs, clusters out of bounds, pins, rows of ``A``.
    amount : float
        Total size of the violations.  A hard pair or pin counts 1 and a soft one its weight;
        sizes and totals count by how much they are outside their bounds, times their weight if
        they are soft.
    where : (count,) int array
        Numbers of the violated rules, in the constraint's order: pair, cluster, pin or row.
    describe : callable (rule, names) -> str
        Returns the message for one violated rule; :meth:`messages` calls it.
    units : float or None
        The amount of a soft constraint without its weight; None for hard ones.
    excess : (count,) array or None
        By how much each violated rule is outside its bounds; None for rules without bounds.

    Examples
    --------
    >>> from corral.constraints import MustLink
    >>> broken = MustLink([(0, 1), (1, 2)]).violations([0, 0, 1])
    >>> broken.count, broken.where
    (1, array([1]))
    >>> broken.messages()
    ['samples 1 and 2 must be together, but are in clusters 0 and 1']
    """

    count: int
    amount: float
    where: IntArray
    describe: Callable[[int, Names], str] = field(repr=False)
    units: float | None = None
    excess: FloatArray | None = field(default=None, repr=False, compare=False)

    @property
    def worst_first(self) -> Violations:
        """The same with the rules that are violated by most first."""
        if self.excess is None:
            return self
        order = np.argsort(-self.excess, kind="stable")
        return replace(self, where=self.where[order], excess=self.excess[order])

    def messages(self, limit: int = 5, names: Names = None) -> list[str]:
        """Describe the violated rules, one line for each.

        Parameters
        ----------
        limit : int
            Largest number of rules to describe; one last line counts the others.
        names : sequence, optional
            Names of the rows, such as the index of a data frame.
        """
        lines = [self.describe(int(rule), names) for rule in self.where[:limit]]
        if self.count > limit:
            lines.append(f"and {self.count - limit} more")
        return lines


class Constraint(ABC):
    """A rule that the labels of a clustering obey or violate.

    Constraints are immutable values.  The constructor checks its arguments and keeps read-only
    copies; equality and hashing are by content.  A row is identified by its position in ``X``.

    Examples
    --------
    Every kind can be converted to a dict and back:

    >>> from corral.constraints import Constraint, Pin
    >>> Pin({3: 0}).to_dict()
    {'kind': 'Pin', 'rows': [3], 'clusters': [0]}
    >>> Constraint.from_dict({"kind": "Pin", "rows": [3], "clusters": [0]}) == Pin({3: 0})
    True
    """

    _kinds: ClassVar[dict[str, type[Constraint]]] = {}
    #: The class ConstraintSet, which sets this itself, for the sums of constraints.
    _set_class: ClassVar[Callable[[Any], Any]]
    #: Fields with one entry for each part that can be left out.
    _parts: ClassVar[tuple[str, ...]] = ()
    #: Keys of :meth:`to_dict` besides ``kind``; empty if :meth:`from_values` refuses others itself.
    _keys: ClassVar[tuple[str, ...]] = ()
    #: Field that tells the number of rows where it is not None; empty if none does.
    _rows_by: ClassVar[str] = ""
    #: Fingerprint of the index of the rows that the constraint was made for; None if not known.
    made_for: ClassVar[str | None] = None

    def __init_subclass__(cls, *, kind: bool = True, **options: Any) -> None:
        """Register the kind for :meth:`from_dict`; not with ``kind=False``, for base classes."""
        super().__init_subclass__(**options)
        if kind:
            Constraint._kinds[cls.__name__] = cls

    @property
    def hard(self) -> bool:
        """Whether at least a part of the constraint is hard, that is, must be obeyed."""
        return True

    def part(self, *, hard: bool) -> Constraint | None:
        """Return only the hard part or only the soft part; None if there is no such part."""
        return self if hard == self.hard else None

    @property
    def n_parts(self) -> int:
        """Number of parts that can be left out separately, such as pairs or pins; else 1."""
        return len(getattr(self, self._parts[0])) if self._parts else 1

    def take(self, which: ArrayLike) -> Self:
        """Return the constraint with only some of its parts.

        The search for a smallest conflict uses this to leave out what is not needed.

        Parameters
        ----------
        which : int array
            Numbers of the parts to keep, at least one, each in [0, :attr:`n_parts`).
        """
        chosen = np.asarray(which, np.int64)
        parts = {name: getattr(self, name)[chosen] for name in self._parts}
        return self._with(**parts) if parts else self

    @property
    def named(self) -> bool:
        """Whether the constraint needs the names of the rows; see :meth:`resolve`."""
        return False

    @property
    def knows_rows(self) -> bool:
        """Whether the constraint knows its number of rows, and refuses data of another length."""
        return bool(self._rows_by) and getattr(self, self._rows_by) is not None

    @property
    def clusters_named(self) -> bool:
        """Whether the constraint names clusters; see :meth:`resolve_clusters`."""
        return False

    def resolve_clusters(self, names: Sequence[str] | None) -> Constraint:
        """Return the constraint with numbers of clusters in place of names.

        ``fit`` does this by the ``cluster_names`` of the estimator.

        Parameters
        ----------
        names : sequence of str
            Names of all clusters, in the order of their numbers.
        """
        return self

    def resolve(self, index: Iterable[Any]) -> Constraint | Iterable[Constraint]:
        """Return the constraint for data whose rows have these names, with positions for names.

        Parameters
        ----------
        index : sequence
            Names of all rows of the data, such as the index of a data frame.
        """
        return self

    @abstractmethod
    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` if the constraint does not fit data of this shape."""

    @abstractmethod
    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the parts of the constraint that labels violate.

        Parameters
        ----------
        labels : (n_samples,) int array
        n_clusters : int, optional
            Needed only if the last clusters may be empty; by default the largest label plus 1.
        """

    @abstractmethod
    def subset(self, rows: ArrayLike) -> Constraint | None:
        """Return the constraint for the data ``X[rows]``, with the rows renumbered.

        Parameters
        ----------
        rows : int or bool array
            Positions, each at most once, or a mask over all rows.

        Returns
        -------
        Constraint or None
            None if the constraint does not concern these rows.

        Raises
        ------
        ValueError
            If the constraint has no equivalent on these rows.
        """

    def dearest(self, n_samples: int, n_clusters: int) -> float:
        """Return an upper bound on the price of all violations, 0 if the constraint is hard."""
        return 0.0

    def expand(self, n_samples: int, n_clusters: int) -> tuple[Constraint, ...]:
        """Return the equivalent primitive constraints, which the solver understands."""
        return (self,)

    @abstractmethod
    def phrase(self, names: Names = None) -> str:
        """Describe the constraint in a few words, such as ``must-links 3-5, 5-7``."""

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports, with the class name under ``kind``."""
        values = {name: plain(value) for name, value in self._fields().items()}
        return {"kind": type(self).__name__, **values}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Constraint:
        """Create a constraint of any kind from the result of :meth:`to_dict`."""
        if not isinstance(values, Mapping):
            raise ValueError(f"a constraint is read from a dict with its kind, not {values!r}.")
        kind = values.get("kind")
        made_by = Constraint._kinds.get(kind) if isinstance(kind, str) else None
        if made_by is None:
            kinds = sorted(Constraint._kinds)
            meant = suggestion(kind, kinds)
            raise ValueError(f"kind is {kind!r}{meant}; it must be one of {', '.join(kinds)}.")
        rest = {key: value for key, value in values.items() if key != "kind"}
        if made_by._keys:
            refuse_keys(str(kind), rest, made_by._keys)
        try:
            return made_by.from_values(rest)
        except KeyError as error:
            raise ValueError(f"{kind} cannot be read without {error}.") from error
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            raise ValueError(f"{kind} cannot be read from {sorted(rest)}: {error}") from error

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create a constraint of this kind from the result of :meth:`to_dict`.

        :meth:`from_dict` calls it.  Override it if the constructor needs types that JSON lacks.

        Parameters
        ----------
        values : mapping
            The result of :meth:`to_dict` without ``kind``.  By default these are the arguments
            of the constructor.
        """
        return cls(**values)

    def _set(self, **values: Any) -> None:
        """Set fields of a frozen instance under construction; arrays and dicts become read-only."""
        for name, value in values.items():
            for array in _arrays(value):
                array.setflags(write=False)
            kept = MappingProxyType(dict(value)) if isinstance(value, Mapping) else value
            object.__setattr__(self, name, kept)

    def _with(self, **values: Any) -> Self:
        """Return a copy with other values in some fields, without the constructor's checks."""
        made = type(self).__new__(type(self))
        made._set(**{**self._fields(), **values})
        return made

    def _fields(self) -> dict[str, Any]:
        # mypy does not know that every concrete kind is a dataclass.
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def _content(self) -> tuple[Any, ...]:
        return (type(self), *map(_hashable, self._fields().values()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constraint):
            return NotImplemented
        return self is other or self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _remember(self, index: Any) -> None:
        """Keep the fingerprint of the index that the constraint was made for."""
        object.__setattr__(self, "made_for", fingerprint(index))

    def __radd__(self, other: Any) -> Any:
        """Let ``sum`` begin with 0."""
        return self if other == 0 else NotImplemented

    def __add__(self, other: Any) -> Any:
        """Return a :class:`ConstraintSet` of both; equal kinds of links make one constraint."""
        return Constraint._set_class([self, other])

    def __getstate__(self) -> dict[str, Any]:
        # Read-only views of dicts cannot be pickled.
        values = self.__dict__.items()
        return {name: dict(v) if isinstance(v, Mapping) else v for name, v in values}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickle of an earlier version lacks the fields that came later.
        lacking = {f.name for f in fields(self)} - state.keys()  # type: ignore[arg-type]
        self._set(**{name: ABSENT.get(name) for name in lacking}, **state)


def kept_sides(sides: Mapping[str, Any], which: ArrayLike) -> dict[str, Any]:
    """Choose some of the sides that are given, by their numbers."""
    given = [name for name, bound in sides.items() if bound is not None]
    return {given[number]: sides[given[number]] for number in np.asarray(which, np.int64)}


def plain(value: Any) -> Any:
    """Convert the value of a field to values that JSON supports; infinities become strings."""
    if isinstance(value, Mapping):
        return [list(item) for item in value.items()]
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    array = np.asarray(value)
    if array.dtype.kind == "f":
        text = np.where(array > 0, "inf", "-inf")
        array = np.where(np.isinf(array), text, array.astype(object))
    return array.tolist()


def numbers_from_json(values: Any) -> Any:
    """Read numbers written by :func:`plain`."""
    return None if values is None else np.array(values, np.float64)


def _arrays(value: Any) -> tuple[Any, ...]:
    if isinstance(value, np.ndarray):
        return (value,)
    if sparse.issparse(value):
        return (value.data, value.indices, value.indptr)
    return ()


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return frozenset(value.items())
    parts = _arrays(value)
    if not parts:
        return value
    # The bytes of an array of names would be addresses.
    content = (tuple(p.flat) if p.dtype == object else p.tobytes() for p in parts)
    return (value.shape, *((p.dtype.str, each) for p, each in zip(parts, content, strict=True)))


def fingerprint(index: Any) -> str | None:
    """A short text that differs for different names of rows; None if they are just numbered.

    It is the same in every process.
    """
    if index is None or hasattr(index, "compute"):
        return None
    names = index.tolist() if hasattr(index, "tolist") else list(index)
    if names == list(range(len(names))):
        return None
    return f"{len(names)}-{crc32(chr(0).join(map(str, names)).encode())}"


class Priced(Constraint, kind=False):
    """A constraint whose bounds are soft if ``weight``, the price of a unit outside, is finite."""

    weight: float = math.inf

    @property
    def hard(self) -> bool:
        """Whether the bounds must be obeyed."""
        return math.isinf(self.weight)

    def dearest(self, n_samples: int, n_clusters: int) -> float:
        """Return an upper bound on the price of all violations, 0 if the bounds are hard."""
        return 0.0 if self.hard else self.weight * self._farthest(n_samples, n_clusters)

    @abstractmethod
    def _farthest(self, n_samples: int, n_clusters: int) -> float:
        """Upper bound on the units outside the bounds, of all clusters together."""

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports; ``weight`` is there only if it is finite."""
        values = super().to_dict()
        if self.hard:
            del values["weight"]
        return values

    def _outside(
        self, excess: FloatArray | IntArray, describe: Callable[[int, Names], str]
    ) -> Violations:
        """The violations, given by how much each rule is outside its bounds."""
        where, units = np.flatnonzero(excess), float(excess.sum())
        by, price = excess.ravel()[where].astype(np.float64), 1.0 if self.hard else self.weight
        known = None if self.hard else units
        return Violations(len(where), price * units, where, describe, known, by)

    @property
    def _price(self) -> str:
        """The weight as an argument of the constructor, for ``repr``; nothing if it is infinite."""
        return "" if self.hard else f", weight={self.weight:.10g}"

    def _in_words(self, bounds: str) -> str:
        """A phrase about the bounds, with the price of a unit outside if they are soft."""
        return bounds if self.hard else f"{bounds} (soft, {self.weight:.10g} a unit)"


def as_price(weight: Any, what: str) -> float:
    """Read the price of a unit: one number of at least 0, infinite for hard bounds."""
    price = as_numbers(weight, what)
    if price.ndim:
        raise ValueError(f"{what} has shape {price.shape}; it must be one number.")
    refuse(price < 0, price, what, "it must be at least 0, inf for hard bounds")
    return float(price)
