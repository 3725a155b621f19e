"""The proof that belongs to a fit: a bound for its answer, or the search for the best answer."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ..constraints import ConstraintSet
from ..deadline import Deadline, OutOfTime
from ..exact import NoAssignment
from ..exceptions import InfeasibleConstraintsError
from ..problem import Problem
from ..rows import MemoryTable, Table
from ..rules import presolve
from ..settings import Settings
from ..solution import Solution
from ..solve import solve
from . import IN_PARTS, METHOD, LowerBound, bound_of, part_size, sum_of_parts
from .ascent import Ascent
from .branch import Tree
from .kinds import kinds_of
from .relaxation import Grouped, check_memory, in_solver_units

BRANCHED = f"branch and bound on the {METHOD}"


class Prover:
    """The proof of a fit.

    It is made before the fit, so that what does not fit into memory is refused at once.  It works
    after the search.
    """

    def __init__(
        self,
        given: ConstraintSet,
        table: Table,
        settings: Settings,
        k: int,
        random_state: np.random.RandomState,
    ) -> None:
        self.given, self.settings, self.k, self.random_state = given, settings, k, random_state
        self.near, self.device = table.home(), _gpu_of(table)
        self.points, self.weight = in_solver_units(self.near)
        self.grouped = Grouped.of(self.points, self.weight, given, k, self.device)
        if settings.exact:  # branches on the whole
            n_kinds = len(kinds_of(self.grouped.rules, self.grouped.weight))
            check_memory(len(self.grouped.weight), n_kinds, None)
        self.ascent: Ascent | None = None
        #: Seconds that the search for a bound may still take, and those it took.
        self.left = math.inf if settings.prove is None else settings.prove
        self.seconds = 0.0

    def proven(self, solution: Solution) -> tuple[Solution, LowerBound | None]:
        """The solution, or a better one, with the bound that the time allows."""
        if solution.may_violate:
            return solution, None
        self.settings.progress.enter("proof")
        if self.settings.exact:
            deadline, best = self._deadline(self.left), (solution, solution.objective)
            search = _Search(self.near, self.given, self.k, self.settings, self.random_state)
            tree = Tree(self.points, self.weight, self.given, self.k, search, best, deadline)
            value, method, solution = tree.grow(), BRANCHED, tree.best[0]
            self.seconds = Deadline(began=deadline.began).elapsed
        else:
            value, method = self._bound(solution.objective)
        return solution, bound_of(value, self.near.scale, self.seconds, self.grouped, method)

    def _bound(self, objective: float) -> tuple[float, str]:
        """The bound of the whole or of parts in the time that is left, and how it was found."""
        clock, deadline = Deadline(), self._deadline(self.left)
        size = part_size(self.grouped, self.device, deadline)
        if size >= len(self.grouped.weight):
            self._closed(objective, self.left)
            return 0.0 if self.ascent is None else self.ascent.best, METHOD
        value = sum_of_parts(self.grouped, size, self.device, deadline)
        self.seconds += clock.elapsed
        return value, IN_PARTS

    def _deadline(self, seconds: float) -> Deadline:
        """The end of the fit if the user gave one, and so many seconds from now."""
        deadline = self.settings.deadline
        if not self.settings.limited:
            deadline = replace(deadline, end=math.inf)
        return deadline.within(seconds)

    def _closed(self, objective: float, seconds: float) -> bool:
        """Go on with the search for a bound; whether it meets the objective."""
        clock, deadline = Deadline(), self._deadline(seconds)
        with suppress(OutOfTime):  # before the matrices were made
            if self.ascent is None:
                self.ascent = Ascent(self.grouped.relaxation(self.device, deadline))
            if not self.ascent.closes(objective):
                self.ascent.run(deadline, objective)
        self.left -= clock.elapsed
        self.seconds += clock.elapsed
        return self.ascent is not None and self.ascent.closes(objective)


def _gpu_of(table: Any) -> str | None:
    """The name of the GPU where the rows are; None for rows elsewhere."""
    if table.place != "gpu":
        return None
    there = table.shards.shard.points.device
    return str(there) if there.type == "cuda" else None


class _Search:
    """Answers under the rules of a fit and some links more."""

    def __init__(
        self,
        table: MemoryTable,
        given: ConstraintSet,
        k: int,
        settings: Settings,
        random_state: np.random.RandomState,
    ) -> None:
        self.table, self.given, self.k = table, given, k
        self.settings, self.random_state = settings.for_branch(), random_state

    def __call__(self, links: ConstraintSet) -> tuple[Solution, float] | None:
        n, scale = self.table.lengths[0], self.table.scale
        try:
            rules = presolve(self.given + links, n, self.k, scale=scale)
            problem = Problem.of(rules, self.table.rows(rules.group), self.settings)
            found = solve(problem, self.random_state)
        except (NoAssignment, InfeasibleConstraintsError):
            return None
        return found, found.objective
