"""Explain infeasible constraints by a small subset of them that is already infeasible.

The exact solver proves infeasibility; the search removes every rule that the proof does not need.
A rule is one part of a constraint, such as a pair, a pin, one side of a bound or a linear row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..assign import feasible
from ..constraints import Constraint, ConstraintSet
from ..constraints._checks import Names
from ..deadline import NEVER, Deadline, OutOfTime
from ..exceptions import InfeasibleConstraintsError
from ..presolve import presolve

#: The number of a constraint, and the number of one of its parts.
Rule = tuple[int, int]

#: Rules that the search leaves out together.
Bunch = list[Rule]

#: Most seconds spent on reducing a conflict that is already proven; more give smaller conflicts.
PATIENCE = 20.0

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

    The constraints must fit data of this shape; soft pairs are ignored.  None says that they are
    feasible.  The ``conflict`` of the error is infeasible and, if there was enough time, feasible
    without any one of its rules.  OutOfTime is raised if the deadline passed before either was
    proven.

    Examples
    --------
    >>> from corral.constraints import CannotLink, ClusterSizes, ConstraintSet
    >>> rules = ConstraintSet([CannotLink([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (4, 5)])])
    >>> print(explain(6, 2, rules))
    No assignment to 2 clusters obeys these together: cannot-links 0-1, 1-2, 2-3, 3-4, 4-0.
    """
    search = _Search(n_samples, n_clusters, constraints.hard, names, deadline)
    whole = [[(i, part) for part in range(item.n_parts)] for i, item in enumerate(search.items)]
    rules = [rule for rules in whole for rule in rules]
    try:
        if not search.clash(rules):
            return None
        # The proof is done; the reduction below has a time limit of its own.
        search.proven, search.deadline = True, deadline.within(PATIENCE)
        # Leave out whole constraints first: each later test is then on fewer rules.
        needed = _irreducible(search, [], [], [rules for rules in whole if rules])
        apart = [[rule] for rules in needed for rule in rules]
        conflict = search.cut(_joined(_irreducible(search, [], [], apart)))
    except InfeasibleConstraintsError as seen:
        return seen
    sentence = (
        f"No assignment to {n_clusters} cluster{'s' if n_clusters != 1 else ''} obeys "
        f"these together{UNFINISHED if search.late else ''}: {conflict.phrase(names)}."
    )
    return InfeasibleConstraintsError(sentence, conflict)


@dataclass
class _Search:
    """Decide whether some of the rules are feasible together."""

    n_samples: int
    n_clusters: int
    items: ConstraintSet
    names: Names
    deadline: Deadline
    proven: bool = False
    known: dict[frozenset[Rule], bool] = field(default_factory=dict)

    @property
    def late(self) -> bool:
        """Whether the reduction of a proven conflict has to end."""
        return self.proven and self.deadline.passed

    def cut(self, rules: Sequence[Rule]) -> ConstraintSet:
        """Return the user's constraints, reduced to these rules."""
        chosen: dict[int, list[int]] = {}
        for item, part in sorted(rules):
            chosen.setdefault(item, []).append(part)
        return ConstraintSet([_take(self.items[item], parts) for item, parts in chosen.items()])

    def clash(self, rules: Sequence[Rule]) -> bool:
        """Whether these rules are proven infeasible; errors of presolve are raised unchanged."""
        key = frozenset(rules)
        if key not in self.known:
            self.known[key] = self._decide(self.cut(rules))
        return self.known[key]

    def _decide(self, constraints: ConstraintSet) -> bool:
        try:
            rules = presolve(constraints, self.n_samples, self.n_clusters, names=self.names)
            return feasible(rules, self.deadline) is None
        except OutOfTime:
            if self.proven:
                return False
            raise


def _irreducible(
    search: _Search, kept: list[Bunch], added: list[Bunch], bunches: list[Bunch]
) -> list[Bunch]:
    """Find a minimal subset of ``bunches`` that is infeasible with ``kept`` (QuickXplain, Junker).

    ``added`` is what was added to ``kept`` since the last test; if it is empty no test is needed.
    A test without a decision counts as feasible, so that the result may not be minimal.  After the
    deadline nothing more is left out.
    """
    if search.late:
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


def _joined(bunches: list[Bunch]) -> list[Rule]:
    return [rule for bunch in bunches for rule in bunch]


def _take(item: Constraint, parts: list[int]) -> Constraint:
    """Reduce a constraint to some of its parts; with all parts it stays the user's object."""
    return item if len(parts) == item.n_parts else item.take(parts)
