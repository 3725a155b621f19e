"""One problem: rules, rows and settings that belong together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from . import numbers as at
from ._typing import FloatArray, IntArray
from .deadline import Deadline
from .rows import MemoryRows, Rows, Table
from .rules import Rules, presolve
from .settings import Settings, coarse_groups


@dataclass(frozen=True)
class Problem:
    """Rules, rows and settings that belong together.

    Attributes
    ----------
    rules : Rules
        As they are solved: bounds on sizes may be given to clusters in any order.
    rows : Rows
        The groups of the rules.
    settings : Settings
    deadline : Deadline
    given : Rules
        With the sizes in the order that the user gave.
    """

    rules: Rules
    rows: Rows
    settings: Settings
    deadline: Deadline
    given: Rules

    @classmethod
    def of(cls, rules: Rules, rows: Rows, settings: Settings) -> Problem:
        """The problem of these rules and rows."""
        solved = rules.in_any_order() if settings.reorders else rules
        return cls(solved, rows, settings, settings.deadline, rules)

    @property
    def near(self) -> MemoryRows:
        """The rows, which must be in this process's memory; TypeError if they are elsewhere."""
        if not isinstance(self.rows, MemoryRows):
            raise TypeError("rows elsewhere are searched on a sample first")
        return self.rows

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.rules.n_clusters

    @property
    def sample(self) -> int:
        """Groups that ADMM sees; 0 if the clusters are too many for a sample to show them."""
        wanted, m, k = self.settings.max_samples, self.rules.n_groups, self.n_clusters
        whole = not self.settings.repair or bool(self.settings.record_x)
        if wanted is None or whole or self.rules.linear is not None:
            return m
        if not isinstance(wanted, str):
            return min(m, max(int(wanted), k))
        seen = min(m, at.ADMM_ENTRIES // k)
        return seen if seen >= min(m, at.ADMM_EACH * k) else 0

    @property
    def coarse(self) -> int:
        """Groups of the coarse level, at most.

        More effort makes it larger too: after many children the best answer of a small sample is
        not that of all rows.
        """
        if self.settings.max_samples is None or self.settings.record_x:  # ADMM sees all groups
            return self.rules.n_groups
        larger = max(self.settings.effort, 1.0) ** 0.5
        return min(self.rules.n_groups, int(larger * coarse_groups(self.n_clusters)))

    def objective(self, of_groups: float) -> float:
        """The objective of the user's rows, given that of the groups."""
        return float(of_groups + self.rows.scatter)

    def with_rules(self, rules: Rules) -> Problem:
        """The same with the sizes in another order."""
        return replace(self, rules=rules)

    def until(self, deadline: Deadline) -> Problem:
        """The same with another deadline."""
        return replace(self, deadline=deadline)

    def part(self, groups: IntArray) -> Problem:
        """The problem of some of the groups in memory, with bounds in proportion."""
        rules = self.rules.sample(groups)
        settings = self.settings.for_part(groups, self.given)
        return Problem(rules, self.rows.take(groups), settings, self.deadline, rules)

    def home(self) -> Problem:
        """The same with all rows in this process's memory."""
        return replace(self, rows=self.rows.home())

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
