"""What labels are worth and which rules they break, to read, print and show."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._typing import IntArray
from ..constraints import Constraint, Violations
from ..constraints.files import atomic_writer
from ..html import View, to_fragment, to_page

if TYPE_CHECKING:
    from ..admm.history import History


@dataclass(frozen=True)
class Entry:
    """One constraint and what the labels break of it.

    Attributes
    ----------
    constraint : Constraint
    violations : Violations
    hard_count : int
        How many of the broken rules are hard.
    soft_cost : float
        Price of those that are soft.
    """

    constraint: Constraint
    violations: Violations
    hard_count: int
    soft_cost: float

    @classmethod
    def of(cls, constraint: Constraint, labels: IntArray, n_clusters: int) -> Entry:
        """Ask the constraint, and its hard and soft parts where it has both."""
        hard, soft = constraint.part(hard=True), constraint.part(hard=False)
        return cls(
            constraint,
            constraint.violations(labels, n_clusters),
            hard_count=0 if hard is None else hard.violations(labels, n_clusters).count,
            soft_cost=0.0 if soft is None else float(soft.violations(labels, n_clusters).amount),
        )


@dataclass(frozen=True)
class Report:
    """What labels are worth and which rules they break.

    Printing it gives a small table.

    Attributes
    ----------
    inertia : float
        Weighted sum of squared distances of the points to the centre of their cluster.
    sizes : tuple of int
        Number of points in each cluster.
    entries : tuple of Entry
        One for each constraint, in the order given.
    view, history, names
        What the HTML page shows besides: some of the points, the solver's history, and what to
        call the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from corral import CannotLink, audit
    >>> print(audit(np.array([[0.0], [1.0], [5.0]]), [0, 0, 1], CannotLink([(0, 1)]), 2))
    3 points in 2 clusters: 1 hard rule is broken
    inertia  0.5
    sizes    2 1
    <BLANKLINE>
    constraint          rule  broken  amount
    CannotLink(1 pair)  hard       1       1
    <BLANKLINE>
    samples 0 and 1 must not be together, but are both in cluster 0
    """

    inertia: float
    sizes: tuple[int, ...]
    entries: tuple[Entry, ...]
    view: View | None = field(default=None, repr=False, compare=False)
    history: History | None = field(default=None, repr=False, compare=False)
    names: Any = field(default=None, compare=False, repr=False)

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str = "corral report",
        names: Sequence[Any] | None = None,
    ) -> str:
        """Give the report as one HTML page that needs nothing else, and write it if asked.

        Pictures need matplotlib; without it the page says so and has the tables.

        Parameters
        ----------
        path : path, optional
            Where to write the page, whole or not at all.
        title : str
        names : sequence, optional
            What to call the rows, such as the index of a data frame.
        """
        page = to_page(
            self, self.view, self.history, title=title, names=self.names if names is None else names
        )
        if path is not None:
            with atomic_writer(path) as file:
                file.write(page)
        return page

    def _repr_html_(self) -> str:
        return to_fragment(self, self.view, self.history, names=self.names)

    @property
    def soft_cost(self) -> float:
        """Price of all the soft pairs broken."""
        return sum(entry.soft_cost for entry in self.entries)

    @property
    def objective(self) -> float:
        """Inertia plus the price of the soft pairs broken: what the solvers minimise."""
        return self.inertia + self.soft_cost

    @property
    def broken(self) -> tuple[Entry, ...]:
        """The entries of which a hard rule is broken."""
        return tuple(entry for entry in self.entries if entry.hard_count)

    @property
    def feasible(self) -> bool:
        """Whether no hard rule is broken."""
        return not self.broken

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain numbers, strings, lists and dicts, ready for JSON."""
        return {
            "feasible": self.feasible,
            "inertia": self.inertia,
            "soft_cost": self.soft_cost,
            "objective": self.objective,
            "sizes": list(self.sizes),
            "constraints": [
                {
                    "constraint": entry.constraint.phrase(self.names),
                    "hard": entry.constraint.hard,
                    "broken": entry.violations.count,
                    "amount": float(entry.violations.amount),
                    "soft_cost": entry.soft_cost,
                    "where": entry.violations.where.tolist(),
                }
                for entry in self.entries
            ],
        }

    def __str__(self) -> str:
        return "\n".join([*self._summary(), "", *_table(self.entries), *self._complaints()])

    def _summary(self) -> list[str]:
        hard = sum(entry.hard_count for entry in self.broken)
        broken = "1 hard rule is broken" if hard == 1 else f"{hard} hard rules are broken"
        verdict = "every hard rule is obeyed" if self.feasible else broken
        lines = [
            f"{sum(self.sizes)} points in {len(self.sizes)} clusters: {verdict}",
            f"inertia  {self.inertia:.6g}",
            f"sizes    {' '.join(map(str, self.sizes))}",
        ]
        if self.soft_cost:
            lines.insert(2, f"soft     {self.soft_cost:.6g} for broken soft pairs")
        return lines

    def _complaints(self) -> list[str]:
        messages = [
            line
            for entry in self.broken
            for line in entry.violations.messages(limit=3, names=self.names)
        ]
        return ["", *messages] if messages else []


def _rule(constraint: Constraint) -> str:
    """Whether its rules are hard, soft, or some of each."""
    parts = [name for name in ("hard", "soft") if constraint.part(hard=name == "hard") is not None]
    return "/".join(parts) or "none"


def _table(entries: tuple[Entry, ...]) -> list[str]:
    """Aligned lines, one for each constraint: the words left, the numbers right."""
    if not entries:
        return ["no constraints"]
    head = ("constraint", "rule", "broken", "amount")
    rows = [
        (
            repr(entry.constraint),
            _rule(entry.constraint),
            str(entry.violations.count),
            f"{entry.violations.amount:g}",
        )
        for entry in entries
    ]
    wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        f"{words:<{wide[0]}}  {rule:<{wide[1]}}  {broken:>{wide[2]}}  {amount:>{wide[3]}}"
        for words, rule, broken, amount in (head, *rows)
    ]
