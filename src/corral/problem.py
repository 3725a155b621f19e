"""One problem: rules, rows, and the plan to solve it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ._typing import FloatArray, IntArray
from .deadline import Deadline
from .plan import Facts, Plan, unevenness
from .presolve import Rules, presolve
from .rows import MemoryRows, Rows, Table
from .settings import Settings


@dataclass(frozen=True)
class Problem:
    """Rules, rows and plan that belong together.

    Attributes
    ----------
    rules : Rules
        As they are solved: bounds on sizes may be given to clusters in any order.
    rows : Rows
        The groups of the rules.
    plan : Plan
    settings : Settings
    deadline : Deadline
    given : Rules
        With the sizes in the order that the user gave.
    """

    rules: Rules
    rows: Rows
    plan: Plan
    settings: Settings
    deadline: Deadline
    given: Rules

    @classmethod
    def of(
        cls, rules: Rules, rows: Rows, settings: Settings, part_of: int | None = None
    ) -> Problem:
        """Make the plan; ``part_of`` is the number of groups of the whole, if this is a sample."""
        solved = rules.in_any_order() if settings.reorders else rules
        facts = Facts(rows.far, rows.fits_single, unevenness(rows.weight, rules.count))
        plan = Plan.of(solved, facts, settings, part_of)
        return cls(solved, rows, plan, settings, settings.deadline, rules)

    @property
    def near(self) -> MemoryRows:
        """The rows, which must be in this process's memory; TypeError if they are elsewhere."""
        if not isinstance(self.rows, MemoryRows):
            raise TypeError("rows elsewhere are assigned in rounds only; the plan says no more")
        return self.rows

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.rules.n_clusters

    def objective(self, of_groups: float) -> float:
        """The objective of the user's rows, given that of the groups."""
        return float(of_groups + self.rows.scatter)

    def with_rules(self, rules: Rules) -> Problem:
        """The same with the sizes in another order; the plan stays."""
        return replace(self, rules=rules)

    def until(self, deadline: Deadline) -> Problem:
        """The same with another deadline."""
        return replace(self, deadline=deadline)

    def part(self, groups: IntArray, pilot: bool = False) -> Problem:
        """The problem of some of the groups, given in order, with bounds in proportion.

        A pilot is planned as a problem of its own, and solved once.
        """
        rules = self.rules.part(groups)
        rules = rules.scaled(rules.n_rows / self.rules.n_rows)
        rows = self.rows.take(groups)
        if pilot:
            return Problem.of(rules, rows, self.settings.for_pilot()).until(self.deadline)
        part = Problem.of(rules, rows, self.settings.for_part(), self.rules.n_groups)
        return part.until(self.deadline)

    def home(self, why: str) -> Problem:
        """The same with all rows in this process's memory; the plan says why they are."""
        near = Problem.of(self.given, self.rows.home(), self.settings)
        return replace(near, plan=replace(near.plan, home=why))

    def shifted(self, centers: FloatArray, other: Problem) -> FloatArray:
        """Centres of this problem relative to the middle of another's rows."""
        if other.rows is self.rows:
            return centers
        moved: FloatArray = centers + (self.rows.middle - other.rows.middle)
        return moved


def uncontracted(constraints: Any, table: Table, n_clusters: int, settings: Settings) -> Problem:
    """The problem with every row a group of its own, in memory, must-links as pairs.

    Algorithm 1 and the labels of least violation work on it.
    """
    n = sum(table.lengths)
    rules = presolve(constraints, n, n_clusters, contract=False, scale=table.scale)
    return Problem.of(rules, table.home().rows(None), settings)


def paper_problem(
    constraints: Any, table: Table, settings: Settings, n_clusters: int
) -> Problem | None:
    """What Algorithm 1 works on; None for the projected solver."""
    if settings.solver != "algorithm1":
        return None
    return uncontracted(constraints, table, n_clusters, settings)
