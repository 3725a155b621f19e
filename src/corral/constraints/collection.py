"""A set of constraints as one immutable value."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from .._text import refuse_keys
from ._checks import FOLDS, Names, index_of, plural, positions_of, table_of
from .base import Constraint, Violations, fingerprint
from .clusters import read_cluster_names
from .files import atomic_writer
from .rows import RowRule

Kind = TypeVar("Kind", bound=Constraint)

FORMAT = "corral constraints"
VERSION = 1
#: Rows from which a list with as many entries may be a part of a longer one: nobody cross-validates
#: on fewer, and small problems often have as many rules as rows.
LEAST_SLICE = 10
#: Largest sum of the prices of all violations: objectives stay in the range of floats.
MOST_TO_PAY = 1e300


class ConstraintSet(Sequence[Constraint]):
    """An immutable sequence of constraints.

    Parameters
    ----------
    constraints : Constraint, iterable of them, or None
        Nested sets and lists are flattened.

    Examples
    --------
    >>> from corral.constraints import ClusterSizes, MustLink
    >>> rules = ConstraintSet([MustLink([(0, 5)]), ClusterSizes(minimum=2)])
    >>> len(rules), rules.phrase()
    (2, 'must-link 0-5; minimum cluster size 2')
    >>> rules.subset([0, 4, 5])[0].pairs
    array([[0, 2]])
    """

    __slots__ = ("_items",)
    _items: tuple[Constraint, ...]

    def __init__(self, constraints: Any = ()) -> None:
        try:
            items = tuple(_flat(constraints))
        except RecursionError:
            raise ValueError(
                "constraints hold a list that contains itself, or lists nested too deep; give one "
                "list of constraints."
            ) from None
        object.__setattr__(self, "_items", items)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to {name!r}: a ConstraintSet is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._items,)

    @overload
    def __getitem__(self, item: int) -> Constraint: ...
    @overload
    def __getitem__(self, item: slice) -> Self: ...
    def __getitem__(self, item: int | slice) -> Constraint | Self:
        """Return one constraint, or for a slice a set of constraints."""
        return type(self)(self._items[item]) if isinstance(item, slice) else self._items[item]

    def __len__(self) -> int:
        return len(self._items)

    @property
    def iloc(self) -> Self:
        """For scikit-learn's cross-validation, which then takes rows by :meth:`take`."""
        return self

    def take(self, indices: Any, axis: int = 0) -> NoReturn:
        """Refuse to be taken apart by rows; single constraints are ``rules[i]``."""
        raise ValueError(
            f"a ConstraintSet with {plural(len(self), 'entry', 'entries')} cannot be taken apart "
            "by rows, as cross-validation does if there are as many rows: its entries are no rows. "
            "Give ConstraintSet(rules).for_folds(index)."
        )

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, ConstraintSet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._items)

    def __add__(self, other: Any) -> Self:
        return self.with_(other)

    def with_(self, *constraints: Any) -> Self:
        """Return a set with more constraints, or iterables of them, at the end."""
        return type(self)([self, *constraints])

    def __repr__(self) -> str:
        return f"ConstraintSet([{', '.join(map(repr, self._items))}])"

    def of_kind(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """Return the constraints of one kind."""
        return tuple(item for item in self._items if isinstance(item, kind))

    @property
    def hard(self) -> Self:
        """The hard constraints; links and pins of both kinds are split."""
        return type(self)(item.part(hard=True) for item in self._items)

    @property
    def soft(self) -> Self:
        """The soft constraints; links and pins of both kinds are split."""
        return type(self)(item.part(hard=False) for item in self._items)

    @property
    def named(self) -> bool:
        """Whether a constraint needs the names of the rows; see :meth:`resolve`."""
        return any(item.named for item in self._items)

    @property
    def n_parts(self) -> int:
        """Number of rules, such as pairs, pins and bounds."""
        return sum(item.n_parts for item in self._items)

    def resolve(self, index: Iterable[Any]) -> Self:
        """Return the constraints with positions in place of names of rows.

        ``fit`` does this by the index of its data frame.

        Parameters
        ----------
        index : sequence
            Names of all rows of the data.
        """
        return type(self)(item.resolve(index) for item in self._items)

    @property
    def clusters_named(self) -> bool:
        """Whether a constraint names clusters; see :meth:`resolve_clusters`."""
        return any(item.clusters_named for item in self._items)

    def resolve_clusters(self, names: Sequence[str] | None) -> Self:
        """Return the constraints with numbers of clusters in place of names.

        ``fit`` does this by the ``cluster_names`` of the estimator.

        Parameters
        ----------
        names : sequence of str, or None
            Names of all clusters, in the order of their numbers.

        Examples
        --------
        >>> from corral.constraints import Pin
        >>> ConstraintSet(Pin({4: "north"})).resolve_clusters(["south", "north"])[0].clusters
        array([1])
        """
        if not self.clusters_named:
            return self
        known = read_cluster_names(names)
        return type(self)(item.resolve_clusters(known) for item in self._items)

    def for_folds(self, index: Iterable[Any]) -> Constraint:
        """Return the constraints in a form that every part of the data takes its own rules from.

        For cross-validation: ``fit`` looks up the index of the data frame that it receives, and
        applies :meth:`subset` of the rows with these names.  ``report_.outside`` counts the rules
        that do not apply to them, such as pairs with an end in another fold.

        Without it scikit-learn takes a list of rules apart if it has as many entries as X has rows.
        A ``ConstraintSet`` refuses that, and ``fit`` a list with an entry for each row from ten
        rows on.  Of fewer rows, ``fit`` cannot tell a part of a list from a whole one.

        Parameters
        ----------
        index : sequence
            Names of all rows that the constraints are for, such as the index of the whole data
            frame.  ``fit`` refuses a row that has another name.

        Examples
        --------
        >>> from corral.constraints import MustLink
        >>> rules = ConstraintSet(MustLink([(0, 1), (1, 2)])).for_folds(["ann", "bob", "eve"])
        >>> ConstraintSet(rules).resolve(["eve", "bob"])[0].pairs
        array([[1, 0]])
        """
        names = tuple(index)
        # A subset of all rows refuses rules that are for another number of rows.
        return InFolds(self.resolve(names).subset(np.ones(len(names), bool)), names)

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` if a constraint does not fit data of this shape."""
        for item in self._items:
            item.check(n_samples, n_clusters)
        with np.errstate(over="ignore"):
            prices = [item.dearest(n_samples, n_clusters) for item in self._items]
        if not sum(prices) <= MOST_TO_PAY:
            dearest = self._items[int(np.argmax(prices))]
            raise ValueError(
                f"the prices of soft rules may add up to {sum(prices):.3g}, most of it by "
                f"{dearest!r}; they must stay below {MOST_TO_PAY:g}.  Give smaller weights, or inf "
                "for rules that must be obeyed."
            )

    def violations(
        self, labels: ArrayLike, n_clusters: int | None = None
    ) -> tuple[Violations, ...]:
        """Find the parts of each constraint that labels violate; see :class:`Constraint`."""
        return tuple(item.violations(labels, n_clusters) for item in self._items)

    def subset(self, rows: ArrayLike) -> Self:
        """Return the constraints for the data ``X[rows]``, such as the training rows of a fold.

        Pairs with both ends in ``rows`` and pins of ``rows`` are kept.  Bounds on sizes, totals
        and shares are kept unchanged.  Exact sizes and linear rows raise ``ValueError`` if they
        have no equivalent on these rows.

        Parameters
        ----------
        rows : int or bool array
            Positions, each at most once, or a mask over all rows.
        """
        return type(self)(item.subset(rows) for item in self._items)

    def expand(self, n_samples: int, n_clusters: int) -> Self:
        """Return the equivalent primitive constraints, which the solver understands."""
        return type(self)(item.expand(n_samples, n_clusters) for item in self._items)

    def phrase(self, names: Names = None) -> str:
        """Describe each constraint in a few words."""
        return "; ".join(item.phrase(names) for item in self._items) or "no constraints"

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write all constraints to a JSON file; after an error the old file is unchanged."""
        with atomic_writer(path) as file:
            file.write(json_of(self))

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Self:
        """Read constraints from a file written by :meth:`to_json`.

        Raises
        ------
        ValueError
            The message names the file and the error in it.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{os.fspath(path)} is not UTF-8 text: {error}.") from error
        return cls(rules_of(text, os.fspath(path)))


Constraint._set_class = ConstraintSet


def json_of(
    rules: ConstraintSet,
    unknown: Iterable[tuple[int, int]] = (),
    answers: Iterable[dict[str, Any]] = (),
) -> str:
    """The content of a JSON file of constraints, with pairs of rows that nobody could judge.

    ``answers`` say who judged which pair, and when; the rules hold what follows from them.
    """
    values = [item.to_dict() for item in rules]
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION, "constraints": values}
    if pairs := [list(pair) for pair in unknown]:
        document["unknown"] = pairs
    if said := list(answers):
        document["answers"] = said
    return json.dumps(document, allow_nan=False) + "\n"


def rules_of(text: str, name: str) -> ConstraintSet:
    """Constraints from the content of a JSON file, which messages call ``name``."""
    try:
        entries = enumerate(_entries(json.loads(text)))
        return ConstraintSet(_read(number, entry) for number, entry in entries)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is not a JSON file: {error}.") from error
    except RecursionError as error:
        raise ValueError(f"{name}: lists or objects are nested too deep.") from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def unknown_of(text: str) -> tuple[tuple[int, int], ...]:
    """The pairs that nobody could judge, from a file that :func:`rules_of` reads."""
    return tuple((row, other) for row, other in json.loads(text).get("unknown", ()))


@dataclass(frozen=True, eq=False, repr=False)
class InFolds(Constraint, kind=False):
    """Constraints on rows with names, of which every part of the data takes its own."""

    rules: ConstraintSet
    index: tuple[Any, ...]

    named = True

    @property
    def n_parts(self) -> int:
        """Number of rules."""
        return self.rules.n_parts

    def resolve(self, index: Iterable[Any]) -> ConstraintSet:
        """Return the constraints on the rows with these names."""
        table = table_of(self.index)
        return self.rules.subset(positions_of(index, table, "rows of X", " (by for_folds)"))

    @property
    def clusters_named(self) -> bool:
        """Whether a constraint names clusters."""
        return self.rules.clusters_named

    def phrase(self, names: Names = None) -> str:
        """Describe each constraint in a few words."""
        return self.rules.phrase(self.index)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ValueError(f"{self!r} need names of rows; use resolve(index) first.")

    check = violations = subset = to_dict = _refuse

    def __repr__(self) -> str:
        return f"rules for folds of {len(self.index)} rows"


def _entries(values: Any) -> list[dict[str, Any]]:
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise ValueError(f'not a file of constraints; it must have "format": "{FORMAT}".')
    refuse_keys("the file", values, ("format", "version", "constraints", "unknown", "answers"))
    if values.get("version") != VERSION:
        raise ValueError(f"version is {values.get('version')!r}; this corral reads {VERSION}.")
    entries = values.get("constraints")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError('"constraints" must be a list of objects.')
    unknown = values.get("unknown", [])
    if not isinstance(unknown, list):
        raise ValueError('"unknown" must be a list of pairs of rows.')
    for number, pair in enumerate(unknown):
        rows = pair if isinstance(pair, list) else []
        if len(rows) != 2 or not all(type(row) is int and 0 <= row < 2**63 for row in rows):
            raise ValueError(f"unknown[{number}] must be a pair of row numbers, such as [0, 5].")
    return entries


def _read(number: int, entry: dict[str, Any]) -> Constraint:
    """One constraint of a file; errors name its place."""
    try:
        return Constraint.from_dict(entry)
    except ValueError as error:
        raise ValueError(f"constraints[{number}]: {error}") from error


def _flat(constraints: Any) -> Iterator[Constraint]:
    if isinstance(constraints, Constraint):
        yield constraints
    elif isinstance(constraints, Iterable) and not isinstance(constraints, (str, bytes, dict)):
        for item in constraints:
            yield from _flat(item)
    elif constraints is not None:
        raise TypeError(
            f"constraints holds {constraints!r}; each must be a constraint such as MustLink, "
            "CannotLink, ClusterSizes, ClusterTotals, GroupShares, Pin, LinearConstraint or "
            "Connected."
        )


logger = logging.getLogger(__name__)


def rules_for(
    X: Any, constraints: Any, own: Any = None, clusters: Sequence[str] | None = None
) -> tuple[ConstraintSet, int]:
    """The constraints with names looked up in the index of X, and how many of them do not apply.

    Rules that do not apply come from :meth:`ConstraintSet.for_folds` and name rows outside X.
    Without constraints it is ``own``, the parameter of an estimator.  ``clusters`` are the names of
    the clusters, if they have any.
    """
    found, outside = _on_rows(X, constraints, own)
    return found.resolve_clusters(clusters), outside


def _on_rows(X: Any, constraints: Any, own: Any) -> tuple[ConstraintSet, int]:
    given = _of_estimator(own) if constraints is None else ConstraintSet(constraints)
    index = index_of(X)
    _refuse_slice(constraints, given, X)
    _refuse_other_index(given, fingerprint(index))
    if not given.named:
        return given, 0
    if index is None:
        raise ValueError(
            f"{next(rule for rule in given if rule.named)!r} needs the names of the rows, but X "
            "has no index; give X as a pandas data frame whose index holds the names (a step of a "
            "pipeline keeps it with set_output(transform='pandas')), or pass index= to the rule."
        )
    found = given.resolve(list(index.compute() if hasattr(index, "compute") else index))
    outside = given.n_parts - found.n_parts
    if outside:
        logger.info("%d of %d rules name rows outside X and do not apply", outside, given.n_parts)
    return found, outside


def _refuse_slice(constraints: Any, given: ConstraintSet, X: Any) -> None:
    """Refuse a list that may be what cross-validation has left of a longer sequence.

    scikit-learn takes the entries of the training rows of whatever has as many entries as X, and
    makes a list of them, which has as many entries as the training rows.  A list of the user's
    with as many entries as rows looks the same; a tuple or a ConstraintSet is always complete.
    """
    rows = X.shape[0] if hasattr(X, "shape") else len(X) if isinstance(X, Sequence) else None
    # A Dask frame does not know its rows, and nothing slices it.
    some = isinstance(rows, int) and rows >= LEAST_SLICE
    sliced = type(constraints) is list and some and rows == len(constraints)
    if sliced and not any(rule.knows_rows for rule in given):
        raise ValueError(
            f"constraints is a list with {plural(len(constraints), 'entry', 'entries')}, and X has "
            f"{plural(len(constraints), 'row')}: cross-validation leaves such a list of one with "
            "an entry for each row of all data.  If it is complete, give ConstraintSet(rules) or "
            "a tuple; in cross-validation give ConstraintSet(rules).for_folds(index)."
        )


def _of_estimator(own: Any) -> ConstraintSet:
    """The constraints that an estimator has as a parameter.

    It is fitted more than once, also by others and with a part of the rows.  So they cannot be read
    only once, and rules with row numbers have to know for how many rows they are.
    """
    if isinstance(own, Iterator):
        raise TypeError(
            f"constraints is {own!r}, which can be read only once; as a parameter of an estimator "
            "it must be a constraint, a list of them or a ConstraintSet."
        )
    given = ConstraintSet(own)
    for rule in given:
        if isinstance(rule, RowRule) and rule.n_parts and not rule.named and rule.n_samples is None:
            raise ValueError(
                f"constraints of the estimator hold {rule!r} with row numbers, but not for how "
                "many rows they are; give the rule n_samples= or index=, or names of rows, or give "
                "the constraints to fit."
            )
    return given


def _refuse_other_index(given: ConstraintSet, found: str | None) -> None:
    """Refuse rules that were made for rows with other names, or with the names in another order."""
    for rule in given:
        if found is not None and rule.made_for not in (None, found):
            raise ValueError(
                f"{rule!r} was made for rows with another index than that of X, or in another "
                f"order{FOLDS}."
            )
