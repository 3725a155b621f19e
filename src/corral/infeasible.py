"""When there is no answer: the rules that clash, or the labels that break least of them.

Presolve or the exact solver proves infeasibility.  A conflict is a small subset of the rules that
is already infeasible: the search for it removes every part of a constraint that the proof does not
need, such as a pair, a pin, a share or one side of a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ._typing import IntArray
from .admm.projected import recorder_of
from .constraints import ConstraintSet, MustLink
from .constraints._checks import Names, plural
from .deadline import NEVER, Deadline, OutOfTime
from .exact import NoAssignment, assign_relaxed, feasible, place_by_room
from .exceptions import BrokenAnswerError, InfeasibleConstraintsError, SolverTimeoutError
from .problem import Problem, uncontracted
from .rows import Table
from .rules import presolve
from .rules.amounts import ranges_in_words
from .rules.facts import Part, cut, parts_of
from .rules.pairs import components
from .search.events import Events
from .search.starts import make_start
from .settings import Settings
from .solution import Solution

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
        near = nearest_in_words(failure, constraints, n_clusters, names)
        raise out_of_time(deadline, nearest=near) from failure
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
    deadline: Deadline, progress: str = "no feasible assignment was found", nearest: str = ""
) -> SolverTimeoutError:
    """The error that says how long it took, how far it got and what the nearest labels break."""
    seconds = deadline.elapsed
    cause = "the callback stopped the fit" if deadline.stopped else "time ran out"
    progress = f"{progress} ({nearest})" if nearest else progress
    return SolverTimeoutError(
        f"{cause} after {seconds:.3g} s: {progress}, and none was proven impossible; raise "
        "time_limit or loosen the constraints",
        seconds,
        progress,
    )


def nearest_in_words(late: OutOfTime, rules: ConstraintSet, n_clusters: int, names: Names) -> str:
    """What the labels break that are nearest to obeying the rules, the largest excess first.

    Empty if the search knows none.
    """
    if late.nearest is None:
        return ""
    found = [rule.violations(late.nearest, n_clusters).worst_first for rule in rules.hard]
    count = sum(each.count for each in found)
    if not count:
        return ""
    said = [line for each in found for line in each.messages(MOST_SAID, names)]
    return f"the nearest labels break {plural(count, 'rule')}: {'; '.join(said)}"


#: Parts that the search leaves out together.
Bunch = list[Part]

#: Most seconds spent on reducing a conflict that the solver, or presolve, has proven; more give
#: smaller conflicts.  Those of presolve are small before.
PATIENCE, PATIENCE_OF_PRESOLVE = 20.0, 5.0
#: Most parts of a conflict of presolve that is reduced by leaving them out in turn.  Each takes one
#: or two tests of at least 2 ms.
REDUCED_PARTS = 1_000
#: Entries up to which the solver decides whether such a part is needed, and presolve alone above.
#: With more, errors come later: one test of 5,000 rows in 20 clusters takes 0.4 to 2.3 s.
REDUCED_ENTRIES = 100_000

#: Violations of each rule that the message of a time-out lists.
MOST_SAID = 3

#: What is said of a conflict that time did not suffice to reduce.
UNFINISHED = ", which there was no time to narrow down"


def explain(
    n_samples: int,
    n_clusters: int,
    constraints: ConstraintSet,
    *,
    deadline: Deadline = NEVER,
    names: Names = None,
) -> InfeasibleConstraintsError | None:
    """Decide whether constraints are feasible, and if not, find a small conflict.

    The constraints must fit data of this shape; soft rules are ignored.  None says that they are
    feasible.  The ``conflict`` of the error is infeasible and, if there was enough time, feasible
    without any one of its parts.  OutOfTime is raised if the deadline passed before either was
    proven.

    Examples
    --------
    >>> from corral.constraints import CannotLink, ClusterSizes, ConstraintSet
    >>> rules = ConstraintSet([CannotLink([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (4, 5)])])
    >>> print(explain(6, 2, rules))
    No assignment to 2 clusters obeys these together: cannot-links 0-1, 1-2, 2-3, 3-4, 4-0.
    """
    hard = constraints.hard
    try:
        rules = presolve(hard, n_samples, n_clusters, names=names)
    except InfeasibleConstraintsError as seen:
        return shrunk(seen, n_samples, n_clusters, deadline=deadline, names=names)
    if feasible(rules, deadline) is not None:
        return None
    search = _Search(n_samples, n_clusters, hard, deadline.within(PATIENCE))
    conflict = search.smallest()
    named = search.named(conflict, names)
    return search.unnamed(conflict, names) if named is None else named


def shrunk(
    error: InfeasibleConstraintsError,
    n_samples: int,
    n_clusters: int,
    *,
    deadline: Deadline = NEVER,
    names: Names = None,
) -> InfeasibleConstraintsError:
    """Reduce a conflict that presolve found, unless it is irreducible or too large for that."""
    size = len(parts_of(error.conflict))
    if error.irreducible or size > REDUCED_PARTS:
        return error
    limit = deadline.within(PATIENCE_OF_PRESOLVE)
    search = _Search(n_samples, n_clusters, error.conflict, limit, REDUCED_ENTRIES)
    conflict = search.smallest()
    if len(parts_of(conflict)) == size:
        return InfeasibleConstraintsError(str(error), conflict, search.certain)
    named = search.named(conflict, names)
    if named is None:
        return search.unnamed(conflict, names) if search.certain else error
    return named


@dataclass
class _Search:
    """Decide whether some parts of infeasible constraints are feasible together.

    Only presolve decides about problems of more than ``most_entries`` groups times clusters.
    ``certain`` is False once a test ended without a decision.
    """

    n_samples: int
    n_clusters: int
    items: ConstraintSet
    deadline: Deadline
    most_entries: float = math.inf
    certain: bool = True
    known: dict[frozenset[Part], bool] = field(default_factory=dict)

    def smallest(self) -> ConstraintSet:
        """Leave out whole constraints, then must-link groups, then single parts.

        Each later test is then on fewer parts.
        """
        # The search prefers to keep what comes first, and maximums explain more than minimums.
        parts = parts_of(self.items)[::-1]
        for bunched in (lambda part: part[0], self._group_of(), lambda part: part):
            bunches: dict[object, Bunch] = {}
            for part in parts:
                bunches.setdefault(bunched(part), []).append(part)
            if len(bunches) > 1:
                parts = _joined(_irreducible(self, [], [], list(bunches.values())))
        return ConstraintSet(cut(self.items, parts))

    def _group_of(self) -> Callable[[Part], object]:
        """Key of the must-link group of a pair, or of the part itself if it is no such pair."""
        groups = {
            i: components(self.n_samples, item.pairs)[item.pairs[:, 0]]
            for i, item in enumerate(self.items)
            if isinstance(item, MustLink)
        }
        return lambda part: (part[0], groups[part[0]][part[1]]) if part[0] in groups else part

    def clash(self, parts: Sequence[Part]) -> bool:
        """Whether these parts are proven infeasible."""
        key = frozenset(parts)
        if key not in self.known:
            self.known[key] = self._decide(ConstraintSet(cut(self.items, parts)))
        return self.known[key]

    def _decide(self, constraints: ConstraintSet) -> bool:
        try:
            rules = presolve(constraints, self.n_samples, self.n_clusters)
            if place_by_room(rules, self.deadline) is not None:
                return False
            if rules.n_groups * rules.n_clusters <= self.most_entries:
                return feasible(rules, self.deadline) is None
        except InfeasibleConstraintsError:
            return True
        except (OutOfTime, ValueError):
            pass  # ValueError: without the other parts these lists of sizes cannot be merged.
        self.certain = False
        return False

    def late(self) -> bool:
        """Whether the search has to end."""
        self.certain = self.certain and not self.deadline.passed
        return self.deadline.passed

    def named(self, conflict: ConstraintSet, names: Names) -> InfeasibleConstraintsError | None:
        """The conflict with the sentence that presolve has for it, if it has one."""
        try:
            presolve(conflict, self.n_samples, self.n_clusters, names=names)
        except InfeasibleConstraintsError as seen:
            irreducible = self.certain or seen.irreducible
            return InfeasibleConstraintsError(str(seen), seen.conflict, irreducible)
        return None

    def unnamed(self, conflict: ConstraintSet, names: Names) -> InfeasibleConstraintsError:
        """The conflict with a list of its constraints."""
        clusters, late = plural(self.n_clusters, "cluster"), "" if self.certain else UNFINISHED
        sentence = (
            f"No assignment to {clusters} obeys these together{late}: {conflict.phrase(names)}."
            f"{ranges_in_words(conflict, self.n_clusters)}"
        )
        return InfeasibleConstraintsError(sentence, conflict, self.certain)


def _irreducible(
    search: _Search, kept: list[Bunch], added: list[Bunch], bunches: list[Bunch]
) -> list[Bunch]:
    """Find a minimal subset of ``bunches`` that is infeasible with ``kept`` (QuickXplain, Junker).

    ``added`` is what was added to ``kept`` since the last test; if it is empty no test is needed.
    A test without a decision counts as feasible, so that the result may not be minimal.  After the
    deadline nothing more is left out.
    """
    if search.late():
        return bunches
    if added and search.clash(_joined(kept)):
        return []
    if len(bunches) == 1:
        return bunches
    half = len(bunches) // 2
    first, second = bunches[:half], bunches[half:]
    of_second = _irreducible(search, kept + first, first, second)
    of_first = _irreducible(search, kept + of_second, of_second, first)
    return of_first + of_second


def _joined(bunches: list[Bunch]) -> list[Part]:
    return [part for bunch in bunches for part in bunch]


def solve_violating(problem: Problem, random_state: np.random.RandomState) -> Solution:
    """Alternate means and assignments of least violation until the objective stops falling.

    Every assignment has the least total violation there is, so the objective alone decides.  The
    problem is made without contraction, so that every rule can be broken.  OutOfTime says that the
    deadline came before the first assignment.
    """
    rules, rows, settings = problem.rules, problem.near, problem.settings
    deadline = problem.deadline
    centers = make_start(rules, rows, settings.init, random_state, deadline).centers
    best: IntArray | None = None
    value = np.inf
    recorder, converged = recorder_of(rules, settings.record_x), False
    while len(recorder) < settings.max_iter and not converged:
        try:
            step, violation = assign_relaxed(
                rules, rows.costs(centers, deadline).dense(), deadline=deadline
            )
        except OutOfTime:
            if best is None:
                raise
            break
        means, inertia = rows.measured(step.labels, rules.n_clusters, centers)
        objective = inertia + rules.soft_cost(step.labels)
        settings.progress.step()
        memberships = np.eye(rules.n_clusters)[step.labels]
        recorder.record(memberships, objective, 0.0, {"violation": violation})
        converged = best is not None and objective >= value * (1.0 - 1e-9)
        if not converged:
            best, centers, value = step.labels, means, objective
    if best is None:
        raise OutOfTime
    events = Events(deadline)
    events.note("labels", "of least violation: none obey the hard rules")
    events.note("assignments", len(recorder))
    over = "an assignment that lowers nothing" if converged else f"max_iter={settings.max_iter}"
    events.stopped(deadline, over)
    return Solution(
        labels=best,
        centers=centers + rows.middle,
        objective=value,
        sizes=rules.sizes,
        history=recorder.history(),
        n_iter=len(recorder),
        converged=converged,
        events=events,
        may_violate=True,
    )
