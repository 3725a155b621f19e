"""What happened in a search, for ``report_.how()``."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._text import in_digits
from ..deadline import Deadline

#: The event of rows that were brought into this process's memory.
HOME = "brought into memory because"


@dataclass
class Events:
    """Events of a search in order: what it was, and what came of it."""

    clock: Deadline = field(default_factory=Deadline)
    rows: list[tuple[str, str]] = field(default_factory=list)

    def note(self, what: str, value: object) -> None:
        """Note a fact."""
        self.rows.append((what, str(value)))

    def found(self, what: str, objective: float | None, more: str = "") -> None:
        """Note an answer, or that there was none, with the seconds since the fit began."""
        value = "no answer" if objective is None else f"objective {in_digits(objective)}"
        self.rows.append((what, f"{value} after {self.clock.elapsed:.2g} s{more}"))

    def searched(self, value: float, children: tuple[int, int], exact: tuple[int, int]) -> None:
        """Note the objective, and of children and exact assignments how many there were and won."""
        if children[0]:
            self.note("children", "{} tried, {} of them the best when found".format(*children))
        if exact[0]:
            self.note("exact assignments", "{} made, {} lowered the objective".format(*exact))
        self.found("search", value)

    def stopped(self, deadline: Deadline, by: str) -> None:
        """Note what ended the fit: its callback, the deadline, or else what the search says."""
        late = "the deadline" if deadline.passed else by
        self.note("search stopped by", "the callback" if deadline.stopped else late)

    @property
    def home(self) -> str:
        """Why rows were brought into this process's memory; nothing if they were not."""
        return dict(self.rows).get(HOME, "")

    def table(self) -> list[tuple[str, str]]:
        """Pairs of event and value."""
        return list(self.rows)
