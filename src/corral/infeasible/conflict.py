"""Why constraints cannot all be obeyed: a small part of them that already cannot.

The proof is the exact solver's; the part is found by removing what is not needed for it.  Every
pair, pin, side of a bound and linear row is a rule of its own that can be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..assign import feasible
from ..constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Constraint,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)
from ..constraints._checks import Names
from ..deadline import NEVER, Deadline, OutOfTime
from ..exceptions import InfeasibleConstraintsError
from ..presolve import presolve

#: A rule: the number of a constraint, and the number of a part of it.
Rule = tuple[int, int]

#: Rules that are left out together.
Bunch = list[Rule]

#: Seconds spent on making a conflict small when no deadline says otherwise.
PATIENCE = 20.0


def explain(
    n_samples: int,
    n_clusters: int,
    constraints: ConstraintSet,
    *,
    deadline: Deadline = NEVER,
    names: Names = None,
) -> InfeasibleConstraintsError | None:
    """Find out whether constraints can be obeyed, and if not, which of them clash.

    Parameters
    ----------
    n_samples, n_clusters : int
    constraints : ConstraintSet
        They fit data of this shape; soft pairs are left out.
    deadline : Deadline, optional
    names : sequence, optional
        What to call the rows in the sentence.

    Returns
    -------
    InfeasibleConstraintsError or None
        Ready to be raised; its ``conflict`` cannot be obeyed, and if time allowed it can be
        as soon as any rule is left out.  None if there is an assignment that obeys everything.

    Raises
    ------
    OutOfTime
        The deadline came before either was proven.

    Examples
    --------
    >>> from corral.constraints import CannotLink, ClusterSizes, ConstraintSet
    >>> rules = ConstraintSet([CannotLink([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (4, 5)])])
    >>> print(explain(6, 2, rules))
    No assignment to 2 clusters obeys these together: cannot-links 0-1, 1-2, 2-3, 3-4, 4-0.
    """
    search = _Search(n_samples, n_clusters, constraints.hard, names, deadline)
    whole = [[(i, part) for part in range(_parts(item))] for i, item in enumerate(search.items)]
    rules = [rule for rules in whole for rule in rules]
    try:
        if not search.clash(rules):
            return None
        # Shrinking is a courtesy: it may take long, but not for ever.
        search.proven, search.deadline = True, deadline.within(PATIENCE)
        # Whole constraints first: without those that have no part in it every test is easier.
        needed = _irreducible(search, [], [], [rules for rules in whole if rules])
        apart = [[rule] for rules in needed for rule in rules]
        conflict = search.cut(_joined(_irreducible(search, [], [], apart)))
    except InfeasibleConstraintsError as seen:
        return seen
    sentence = (
        f"No assignment to {n_clusters} cluster{'s' if n_clusters != 1 else ''} obeys "
        f"these together: {conflict.phrase(names)}."
    )
    return InfeasibleConstraintsError(sentence, conflict)


@dataclass
class _Search:
    """Decides whether some of the rules can be obeyed together."""

    n_samples: int
    n_clusters: int
    items: ConstraintSet
    names: Names
    deadline: Deadline
    proven: bool = False
    known: dict[frozenset[Rule], bool] = field(default_factory=dict)

    def cut(self, rules: Sequence[Rule]) -> ConstraintSet:
        """The user's constraints cut down to these rules."""
        chosen: dict[int, list[int]] = {}
        for item, part in sorted(rules):
            chosen.setdefault(item, []).append(part)
        return ConstraintSet([_take(self.items[item], parts) for item, parts in chosen.items()])

    def clash(self, rules: Sequence[Rule]) -> bool:
        """Whether these rules are proven to clash; what presolve sees is raised as it is."""
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
    """Least part of ``bunches`` that clashes with ``kept`` (Junker's QuickXplain).

    ``added`` are those that joined ``kept`` last: while there are none there is nothing new to
    test.  A test that ends undecided only makes the answer larger.
    """
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


def _parts(item: Constraint) -> int:
    """Number of rules in a constraint."""
    if isinstance(item, (MustLink, CannotLink)):
        return len(item.pairs)
    if isinstance(item, Pin):
        return len(item.rows)
    if isinstance(item, LinearConstraint):
        return int(item.A.shape[0])
    if isinstance(item, GroupShares):
        return len(item.minimum) + len(item.maximum)
    if isinstance(item, (ClusterSizes, ClusterTotals)) and _two_sided(item):
        return 2
    return 1


def _take(item: Constraint, parts: list[int]) -> Constraint:
    """The constraint with some of its rules only."""
    if len(parts) == _parts(item):
        return item
    if isinstance(item, (MustLink, CannotLink, Pin)):
        return item.take(parts)
    if isinstance(item, LinearConstraint):
        bounds = item.lower[parts], item.upper[parts]
        return LinearConstraint(item.A[parts], *bounds, n_clusters=item.n_clusters)
    if isinstance(item, GroupShares):
        return _take_shares(item, parts)
    side = "minimum" if parts == [0] else "maximum"
    if isinstance(item, ClusterTotals):
        return ClusterTotals(item.values, **{side: getattr(item, side)})
    if isinstance(item, ClusterSizes):
        return ClusterSizes(**{side: getattr(item, side)}, ordered=item.ordered)
    raise TypeError(f"{item!r} has no parts.")


def _two_sided(item: ClusterSizes | ClusterTotals) -> bool:
    """Whether minimum and maximum are rules of their own; paired entries of a multiset are not."""
    low, high = item.minimum, item.maximum
    if low is None or high is None:
        return False
    return isinstance(item, ClusterTotals) or item.ordered or low.ndim == high.ndim == 0


def _take_shares(item: GroupShares, parts: list[int]) -> Constraint:
    rules = [("minimum", *rule) for rule in item.minimum.items()]
    rules += [("maximum", *rule) for rule in item.maximum.items()]
    chosen = [rules[part] for part in parts]
    sides = {
        side: [[group, share] for where, group, share in chosen if where == side]
        for side in ("minimum", "maximum")
    }
    return Constraint.from_dict({**item.to_dict(), **sides})
