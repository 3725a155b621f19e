"""Whether rules can be obeyed, decided without clustering."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sklearn.utils.validation import _num_samples

from .constraints import ConstraintSet
from .constraints.lookup import rules_for
from .deadline import Deadline, OutOfTime
from .infeasible.conflict import explain
from .inputs import row_names
from .settings import LIMITS, check_n_clusters


@dataclass(frozen=True, repr=False)
class Feasibility:
    """Whether rules can be obeyed; it is true as a condition if they can.

    Attributes
    ----------
    feasible : bool or None
        None if time ran out before it was decided.
    conflict : ConstraintSet or None
        If the rules cannot be obeyed, a small part of them that already cannot.
    message : str
        The same in one sentence.

    Examples
    --------
    >>> from corral import ClusterSizes, check
    >>> "yes" if check(5, ClusterSizes([3, 2]), 2) else "no"
    'yes'
    """

    feasible: bool | None
    conflict: ConstraintSet | None
    message: str

    def __bool__(self) -> bool:
        return self.feasible is True

    def __repr__(self) -> str:
        verdict = {True: "feasible: ", False: "infeasible: ", None: ""}[self.feasible]
        return verdict + self.message


def check(
    X: Any,
    constraints: Any,
    n_clusters: int,
    *,
    time_limit: float | None = None,
    index: Iterable[Any] | None = None,
) -> Feasibility:
    """Decide whether rules can be obeyed, without clustering.

    Parameters
    ----------
    X : int, or array-like or data frame of shape (n_samples, n_features)
        The data, or their number of rows; the values are not used.
    constraints : Constraint, iterable of them, or None
        Soft rules can always be violated, so they are only checked for wrong rows and numbers.
    n_clusters : int
    time_limit : float, default=None
        Seconds after which the question is left undecided.
    index : sequence, optional
        Names of the rows, for rules and messages; by default the index of the data frame X.

    Returns
    -------
    Feasibility

    Raises
    ------
    ValueError
        If the constraints do not fit the data.

    Examples
    --------
    >>> from corral import CannotLink, ClusterSizes, MustLink, check
    >>> check(6, [MustLink([(0, 1), (1, 2)]), ClusterSizes([3, 3])], n_clusters=2)
    feasible: 6 points, 2 clusters, MustLink(2 pairs), ClusterSizes([3, 3])
    >>> found = check(6, [MustLink([(0, 1)]), CannotLink([(0, 1)])], n_clusters=2)
    >>> found
    infeasible: samples 0 and 1 must not be together, but must-link 0-1 joins them.
    >>> bool(found), found.conflict
    (False, ConstraintSet([MustLink(1 pair), CannotLink(1 pair)]))
    """
    LIMITS["time_limit"].check("time_limit", time_limit)
    deadline, n = Deadline.after(time_limit), _count_rows(X)
    check_n_clusters(n_clusters, n)
    if index is None:
        names, (rules, _) = row_names(X), rules_for(X, constraints)
    else:
        names = list(index)
        rules = ConstraintSet(constraints).resolve(names)
        if len(names) != n:
            raise ValueError(f"`index` holds {len(names)} names, but X has {n} samples.")
    rules.check(n, n_clusters)
    try:
        clash = explain(n, int(n_clusters), rules, deadline=deadline, names=names)
    except OutOfTime:
        message = (
            f"not decided after {deadline.elapsed:.3g} s: found neither labels that obey the rules "
            "nor a proof that there are none; increase the time limit"
        )
        return Feasibility(None, None, message)
    if clash is not None:
        return Feasibility(False, clash.conflict, str(clash))
    kinds = ", ".join(map(repr, rules)) or "no rules"
    return Feasibility(True, None, f"{n} points, {n_clusters} clusters, {kinds}")


def _count_rows(X: Any) -> int:
    if not isinstance(X, Integral):
        return int(_num_samples(X))
    if isinstance(X, bool) or X < 1:
        raise ValueError(f"`X` is {X!r}; it must be data, or their number of rows, at least 1.")
    return int(X)
