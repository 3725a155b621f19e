"""Whether rules can be obeyed, and with how few clusters, decided without clustering."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from .constraints import CannotLink, ClusterSizes, ClusterTotals, ConstraintSet, MustLink
from .constraints._checks import Names
from .constraints.clusters import called, read_cluster_names
from .constraints.collection import rules_for
from .deadline import NEVER, Deadline, OutOfTime
from .exact import feasible, place_by_room
from .exceptions import InfeasibleConstraintsError
from .infeasible import explain, out_of_time
from .inputs import row_names
from .rules import presolve
from .settings import LIMITS, check_n_clusters, default_limit


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
    cluster_names: Sequence[str] | None = None,
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
    cluster_names : sequence of str, optional
        Names of the clusters, for rules and messages.

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
        names, (rules, _) = row_names(X), rules_for(X, constraints, None, cluster_names)
    else:
        names = list(index)
        rules = ConstraintSet(constraints).resolve(names).resolve_clusters(cluster_names)
        if len(names) != n:
            raise ValueError(f"`index` holds {len(names)} names, but X has {n} samples.")
    names = called(names, read_cluster_names(cluster_names, int(n_clusters)), n)
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


#: What the user writes instead of a number.
FEWEST = "fewest"
#: Seconds to say in one sentence why one cluster fewer is not enough; more give smaller conflicts.
REASON_SECONDS = 2.0


def with_clusters(
    params: dict[str, Any], n_samples: int, rules: ConstraintSet, names: Names
) -> tuple[int, dict[str, Any], str]:
    """The number of clusters, the parameters of a fit with it, and what the report says about it.

    The time limit of the fit is less by the time that "fewest" took.

    Raises
    ------
    InfeasibleConstraintsError, SolverTimeoutError, ValueError
    """
    wanted, limit = params["n_clusters"], params["time_limit"]
    if not isinstance(wanted, str):
        return check_n_clusters(wanted, n_samples), params, ""
    if wanted != FEWEST:
        raise ValueError(
            f"`n_clusters` is {wanted!r}; it must be an integer of at least 1, or {FEWEST!r}."
        )
    LIMITS["time_limit"].check("time_limit", limit)
    deadline = Deadline.after(default_limit(n_samples) if limit is None else limit)
    try:
        k, said = fewest_clusters(n_samples, rules, deadline=deadline, names=names)
    except OutOfTime as late:
        raise out_of_time(deadline, "the least number of clusters was not decided") from late
    left = limit if limit is None else max(limit - deadline.elapsed, 1e-3)
    return k, {**params, "n_clusters": k, "time_limit": left}, said


def fewest_clusters(
    n_samples: int, rules: ConstraintSet, *, deadline: Deadline = NEVER, names: Names = None
) -> tuple[int, str]:
    """The least number of clusters for which the hard rules can be obeyed, and why not fewer.

    Numbers are tried from the least one that the largest sizes and totals allow.  Each that does
    not do is proven infeasible, or the rules are not made for it, as a list of sizes is not.

    Raises
    ------
    InfeasibleConstraintsError
        No number of clusters up to the number of rows will do.
    ValueError
        The rules fit no number of clusters.
    OutOfTime

    Examples
    --------
    >>> rules = ConstraintSet([ClusterSizes(maximum=4), CannotLink([(0, 1), (1, 2), (0, 2)])])
    >>> fewest_clusters(8, rules)[0]
    3
    """
    hard, n = rules.hard, n_samples
    presolve([hard.of_kind(MustLink), hard.of_kind(CannotLink)], n, n, names=names)
    first, last = _counted(hard, n)
    clash: InfeasibleConstraintsError | None = None
    misfit: ValueError | None = None
    for k in range(first, last + 1):
        deadline.check()
        try:
            hard.check(n, k)
        except ValueError as error:
            misfit = error
            continue
        clash = _clash(n, k, hard, deadline, names)
        if clash is None:
            return k, _said(n, k, hard, deadline, names)
    if clash is None:
        raise misfit or ValueError(f"the rules fit no number of clusters from 1 to {n}.")
    raise InfeasibleConstraintsError(
        f"no number of clusters from 1 to {n} can obey the rules; with {last}: {clash}",
        clash.conflict,
    )


def _counted(hard: ConstraintSet, n: int) -> tuple[int, int]:
    """Numbers of clusters outside of which sizes and totals alone exclude an answer.

    k clusters of at most u rows hold at most k u of them, and k clusters of at least l rows need k
    l; totals of values that are not negative likewise.
    """
    least, most = 1.0, float(n)
    for size in hard.of_kind(ClusterSizes):
        least, most = _between(least, most, float(n), size.minimum, size.maximum)
    for total in hard.of_kind(ClusterTotals):
        if len(total.values) == n and (total.values >= 0.0).all():
            amount = float(total.values.sum())
            least, most = _between(least, most, amount, total.minimum, total.maximum)
    return int(min(least, n)), int(max(most, 1.0))


def _between(least: float, most: float, amount: float, low: Any, high: Any) -> tuple[float, float]:
    """The limits, narrowed by one bound for all clusters on what adds up to an amount."""
    rounding = 1e-9
    if high is not None and high.ndim == 0 and 0.0 < high < np.inf:
        least = max(least, np.ceil(amount / high * (1.0 - rounding)))
    if low is not None and low.ndim == 0 and low > 0.0:
        most = min(most, np.floor(amount / low * (1.0 + rounding)))
    return least, most


def _clash(
    n: int, k: int, hard: ConstraintSet, deadline: Deadline, names: Names
) -> InfeasibleConstraintsError | None:
    """The proof that k clusters will not do, or None if they do."""
    try:
        rules = presolve(hard, n, k, names=names, deadline=deadline)
    except InfeasibleConstraintsError as seen:
        return seen
    if place_by_room(rules, deadline) is not None or feasible(rules, deadline) is not None:
        return None
    message = f"No assignment to {k} clusters obeys these together: {hard.phrase(names)}."
    return InfeasibleConstraintsError(message, hard)


def _said(n: int, k: int, hard: ConstraintSet, deadline: Deadline, names: Names) -> str:
    """A sentence about k clusters, the least number that will do."""
    said = f"{k} is the least number of clusters that can obey the rules"
    if k == 1:
        return said
    try:
        hard.check(n, k - 1)
        clash = explain(n, k - 1, hard, deadline=deadline.within(REASON_SECONDS), names=names)
    except ValueError as misfit:
        return f"{said}; the rules are not for {k - 1}: {misfit}"
    except OutOfTime:
        return said
    return f"{said}; with {k - 1}: {clash}"
