"""The proof that belongs to a fit: a bound for its answer, or the search for the best answer."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ..assign import NoAssignment
from ..constraints import ConstraintSet
from ..deadline import Deadline, OutOfTime
from ..exceptions import BrokenAnswerError, InfeasibleConstraintsError
from ..presolve import presolve
from ..problem import Problem
from ..rows import MemoryTable, Table
from ..settings import Settings
from ..solution import Solution
from ..solve import solve
from .ascent import Ascent
from .bound import METHOD, LowerBound, bound_of
from .branch import Tree
from .groups import Grouped, in_solver_units

BRANCHED = f"branch and bound on the {METHOD}"


def proven(
    solution: Solution,
    given: ConstraintSet,
    table: Table,
    settings: Settings,
    random_state: np.random.RandomState,
) -> tuple[Solution, LowerBound | None]:
    """The solution, or a better one, with the proof that the settings ask for."""
    if not settings.proves or solution.may_violate:
        return solution, None
    settings.progress.enter("proof")
    near, k = table.home(), len(solution.centers)
    points, weight = in_solver_units(near)
    grouped = Grouped.of(points, weight, given, k)
    deadline, method = settings.deadline, METHOD
    if not settings.limited:
        deadline = replace(deadline, end=math.inf)
    if settings.prove is not None:
        deadline = deadline.within(settings.prove)
    if settings.exact:
        search = _Search(near, given, k, settings, random_state)
        tree = Tree(points, weight, given, k, search, (solution, solution.objective), deadline)
        value, method = tree.grow(), BRANCHED
        solution = tree.best[0]
    else:
        value = 0.0
        with suppress(OutOfTime):  # before the matrices were made
            ascent = Ascent(grouped.relaxation(deadline=deadline))
            value = ascent.run(deadline, solution.objective)
    spent = Deadline(began=deadline.began)
    return solution, bound_of(value, near.scale, spent, grouped, method)


def against(proof: LowerBound | None, objective: float) -> LowerBound | None:
    """The proof with the gap to the objective that the audit found."""
    try:
        return None if proof is None else proof.against(objective)
    except ValueError as fault:
        raise BrokenAnswerError(
            f"the lower bound is above an answer, which is a fault of corral: {fault}"
        ) from fault


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
        self.settings, self.random_state = settings.for_pilot(), random_state

    def __call__(self, links: ConstraintSet) -> tuple[Solution, float] | None:
        n, scale = self.table.lengths[0], self.table.scale
        try:
            rules = presolve(self.given + links, n, self.k, scale=scale)
            problem = Problem.of(rules, self.table.rows(rules.group), self.settings)
            found = solve(problem, self.random_state)
        except (NoAssignment, InfeasibleConstraintsError):
            return None
        return found, found.objective
