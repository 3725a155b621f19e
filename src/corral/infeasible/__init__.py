"""When there is no answer: the rules that clash, or the labels that break least of them."""

from __future__ import annotations

import numpy as np

from ..constraints import ConstraintSet
from ..constraints._checks import Names
from ..deadline import Deadline, OutOfTime
from ..exact import NoAssignment
from ..exceptions import BrokenAnswerError, InfeasibleConstraintsError, SolverTimeoutError
from ..problem import uncontracted
from ..rows import Table
from ..settings import Settings
from ..solution import Solution
from .conflict import PATIENCE, UNFINISHED, explain, shrunk
from .violate import solve_violating

#: What a search ends with when it has no answer.
NoAnswer = (InfeasibleConstraintsError, NoAssignment, OutOfTime)


def relax_or_raise(
    failure: Exception,
    constraints: ConstraintSet,
    table: Table,
    n_clusters: int,
    settings: Settings,
    random_state: np.random.RandomState,
    names: Names,
) -> Solution:
    """The labels of least violation if the user asked for them; otherwise say why.

    ``failure`` is one of :data:`NoAnswer`.  InfeasibleConstraintsError has the user's own
    constraints that clash; SolverTimeoutError says that the time limit ran out without an answer
    or a proof.
    """
    deadline = settings.deadline
    if isinstance(failure, OutOfTime):
        raise out_of_time(deadline) from failure
    if settings.relaxes:
        settings.progress.enter("relax")
        loose = uncontracted(constraints, table, n_clusters, settings)
        try:
            return solve_violating(loose, random_state)
        except OutOfTime as late:
            raise out_of_time(deadline, "no least violation was found") from late
    settings.progress.enter("conflict")
    n = int(sum(table.lengths))
    raise conflict_of(failure, n, n_clusters, constraints, deadline, names) from None


def conflict_of(
    failure: Exception,
    n_samples: int,
    n_clusters: int,
    rules: ConstraintSet,
    deadline: Deadline,
    names: Names,
) -> InfeasibleConstraintsError:
    """The clash that presolve or the exact solver proved, shrunk as far as time allows."""
    limit = deadline if deadline.finite else deadline.within(PATIENCE)
    if isinstance(failure, InfeasibleConstraintsError):
        return shrunk(failure, n_samples, n_clusters, deadline=limit, names=names)
    try:
        error = explain(n_samples, n_clusters, rules, deadline=limit, names=names)
    except OutOfTime:
        message = f"No assignment obeys these together{UNFINISHED}: {rules.hard.phrase(names)}."
        return InfeasibleConstraintsError(message, rules.hard)
    if error is None:
        raise BrokenAnswerError(
            "one exact solver found the constraints contradictory and another did not, which is a "
            "fault of corral; please report it with your data"
        )
    return error


def out_of_time(
    deadline: Deadline, progress: str = "no feasible assignment was found"
) -> SolverTimeoutError:
    """The error that says how long it took and how far it got."""
    seconds = deadline.elapsed
    cause = "the callback stopped the fit" if deadline.stopped else "time ran out"
    return SolverTimeoutError(
        f"{cause} after {seconds:.3g} s: {progress}, and none was proven impossible; raise "
        "time_limit or loosen the constraints",
        seconds,
        progress,
    )
