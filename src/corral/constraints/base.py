"""What every constraint can do, and what labels break of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._typing import IntArray
from ._checks import Names, frozen


@dataclass(frozen=True, eq=False)
class Violations:
    """What labels break of one constraint.

    Attributes
    ----------
    count : int
        Number of rules broken: pairs, clusters out of bounds, pins, rows of ``A``.
    amount : float
        By how much in all: broken pairs (soft ones by their weight), samples or totals over or
        under the bounds.
    where : (count,) int array
        The broken rules in the constraint's own order: pair, cluster, pin or row number.
    describe : callable (rule, names) -> str
        Says what is broken of the rule with this number, when :meth:`messages` asks.

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

    def messages(self, limit: int = 5, names: Names = None) -> list[str]:
        """Say what is broken, one line a rule, at most ``limit`` of them.

        Parameters
        ----------
        limit : int
            Rules beyond it are only counted, in one last line.
        names : sequence, optional
            What to call the rows, such as the index of a data frame.
        """
        lines = [self.describe(int(rule), names) for rule in self.where[:limit]]
        if self.count > limit:
            lines.append(f"and {self.count - limit} more")
        return lines


class Constraint(ABC):
    """A rule that the labels of a clustering obey or break.

    Constraints are frozen values: they check themselves when made, hold read-only copies, and
    compare and hash by content.  Rows are called by their position in ``X``.

    Examples
    --------
    Every kind goes through plain values and back:

    >>> from corral.constraints import Constraint, Pin
    >>> Pin({3: 0}).to_dict()
    {'kind': 'Pin', 'rows': [3], 'clusters': [0]}
    >>> Constraint.from_dict({"kind": "Pin", "rows": [3], "clusters": [0]}) == Pin({3: 0})
    True
    """

    _kinds: ClassVar[dict[str, type[Constraint]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the kind known to :meth:`from_dict`."""
        super().__init_subclass__(**options)
        Constraint._kinds[cls.__name__] = cls

    @property
    def hard(self) -> bool:
        """Whether some part of it must be obeyed, whatever the price."""
        return True

    def part(self, *, hard: bool) -> Constraint | None:
        """Only its hard part, or only its soft part; None where there is no such part."""
        return self if hard == self.hard else None

    @abstractmethod
    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` if it does not fit data of this many samples and clusters."""

    @abstractmethod
    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find what the labels break of it.

        Parameters
        ----------
        labels : (n_samples,) int array
        n_clusters : int, optional
            Needed only to count empty clusters at the end; by default the largest label tells.
        """

    @abstractmethod
    def subset(self, rows: ArrayLike) -> Constraint | None:
        """Give the rule on ``X[rows]``, with the rows renumbered.

        Parameters
        ----------
        rows : int or bool array
            Positions, each at most once, or a mask over all rows.

        Returns
        -------
        Constraint or None
            None if it says nothing about these rows.

        Raises
        ------
        ValueError
            If the rule would mean something else on these rows.
        """

    def expand(self, n_samples: int, n_clusters: int) -> tuple[Constraint, ...]:
        """Give the primitive constraints that say the same."""
        return (self,)

    @abstractmethod
    def phrase(self, names: Names = None) -> str:
        """Say the rule in a few words, such as ``must-links 3-5, 5-7``."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Give plain values that JSON can hold, with the class's name under ``kind``."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Constraint:
        """Make the constraint that :meth:`to_dict` wrote, whatever its kind."""
        if not isinstance(values, Mapping):
            raise ValueError(f"a constraint is read from a dict with its kind, not {values!r}.")
        kind = values.get("kind")
        made_by = Constraint._kinds.get(str(kind))
        if made_by is None:
            known = ", ".join(sorted(name for name in Constraint._kinds if name[0] != "_"))
            raise ValueError(f"kind is {kind!r}; it must be one of {known}.")
        rest = {key: value for key, value in values.items() if key != "kind"}
        try:
            return made_by.from_values(rest)
        except KeyError as error:
            raise ValueError(f"{kind} cannot be read without {error}.") from error
        except (TypeError, ValueError) as error:
            raise ValueError(f"{kind} cannot be read from {sorted(rest)}: {error}") from error

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Undo :meth:`to_dict` for this kind; :meth:`from_dict` calls it.

        A kind of one's own overrides it where its constructor needs other types than JSON has.

        Parameters
        ----------
        values : mapping
            What :meth:`to_dict` gave, but for the kind; by default the constructor's arguments.
        """
        return cls(**values)

    def _set(self, **values: Any) -> None:
        """Fill the fields of a frozen instance, once, in ``__init__``."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _content(self) -> tuple[Any, ...]:
        # mypy cannot know that every concrete kind is a dataclass.
        values = (getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]
        return (type(self), *map(_hashable, values))

    def __eq__(self, other: object) -> bool:
        """Compare by content."""
        if not isinstance(other, Constraint):
            return NotImplemented
        return self is other or self._content() == other._content()

    def __hash__(self) -> int:
        """Hash by content."""
        return hash(self._content())

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied constraint; NumPy forgets that arrays were read-only."""
        for value in state.values():
            for array in _arrays(value):
                frozen(array)
        self.__dict__.update(state)


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
    return (value.shape, *((part.dtype.str, part.tobytes()) for part in parts))
