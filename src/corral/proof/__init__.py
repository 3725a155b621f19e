"""How far a clustering can be from the best one: a lower bound that is a proof.

The bound is the dual value of a semidefinite relaxation of k-means (Peng and Wei) under the rules:
:mod:`.relaxation` makes it, :mod:`.ascent` finds good multipliers with the inequalities of
:mod:`.cuts`, and :mod:`.spectrum` evaluates the bound so that rounding errors cannot raise it above
the truth.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans

from .._scale import Scale, restored, times
from .._typing import IntArray
from ..constraints import ConstraintSet
from ..constraints.collection import rules_for
from ..deadline import Deadline, OutOfTime
from ..deal import deal
from ..exact import NoAssignment, feasible
from ..exceptions import BrokenAnswerError, InfeasibleConstraintsError
from ..infeasible import conflict_of, out_of_time
from ..inputs import brought, check_points, check_weights, row_names
from ..rows import MemoryTable
from ..rules import presolve
from ..settings import LIMITS, NOT_NEGATIVE, check_n_clusters
from .ascent import CLOSED, Ascent
from .numbers import PART_ITERATIONS, PART_LEAST, PART_SECONDS
from .relaxation import Grouped, in_solver_units, most_together
from .spectrum import EPS

__all__ = ["LowerBound", "lower_bound"]


def lower_bound(
    X: Any,
    n_clusters: int,
    constraints: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    upper: float | None = None,
    time_limit: float | None = 10,
    device: str | None = None,
) -> LowerBound:
    """Prove that no clustering under the rules has an objective below some number.

    Parameters
    ----------
    X : array-like, data frame or CSR of shape (n_samples, n_features)
    n_clusters : int
    constraints : Constraint, iterable of them, or None
        Links, pins and sizes tighten the bound.  Others, and soft rules, are left out: the bound
        is lower than it could be, and still valid.
    sample_weight : array-like of shape (n_samples,), optional
    upper : float, optional
        Objective of a clustering that obeys the rules, such as ``inertia_`` of a fitted model.  The
        search ends when the bound meets it.
    time_limit : float or None
        Seconds for the search; with None it goes on until the bound does not rise any more.
    device : str, optional
        A PyTorch device such as "cuda", on which the matrices are kept.

    Returns
    -------
    LowerBound

    Raises
    ------
    InfeasibleConstraintsError
        If no clustering obeys the rules.
    ValueError
        If ``upper`` is below the bound, so that no clustering has it.
    MemoryError
        If the matrices of the relaxation do not fit into memory.

    Notes
    -----
    The bound is the dual value of the semidefinite relaxation of Peng and Wei, with pair and
    triangle inequalities.  It needs about 100 bytes for each pair of groups, and time that grows
    with the cube of the number of groups.  Rows that must-links or pins join are one group.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> bound = lower_bound(X, 2, upper=1.0)
    >>> print(bound)
    proven optimal
    """
    LIMITS["time_limit"].check("time_limit", time_limit)
    replace(NOT_NEGATIVE, words=(None,)).check("upper", upper)
    deadline = Deadline.after(time_limit)
    points = check_points(brought(X), "lower_bound")
    given, _ = rules_for(X, constraints)
    weight = check_weights(brought(sample_weight), points.shape[0])
    k = check_n_clusters(n_clusters, points.shape[0])
    table = MemoryTable(points, weight)
    _check_feasible(given, points.shape[0], k, deadline, row_names(X))
    grouped = Grouped.of(*in_solver_units(table), given, k, device)
    least = None if upper is None else float(times(np.float64(upper), -table.scale.cost))
    value, size = 0.0, part_size(grouped, device, deadline)
    whole = size >= len(grouped.weight)
    with suppress(OutOfTime):  # before the matrices were made
        if whole:
            value = Ascent(grouped.relaxation(device, deadline)).run(deadline, least)
        else:
            value = sum_of_parts(grouped, size, device, deadline)
    method = METHOD if whole else IN_PARTS
    bound = bound_of(value, table.scale, deadline.elapsed, grouped, method)
    return bound if upper is None else bound.against(upper)


def _check_feasible(given: ConstraintSet, n: int, k: int, deadline: Deadline, names: Any) -> None:
    """Raise what ``fit`` raises if no clustering obeys the rules."""
    try:
        rules = presolve(given, n, k, names=names)
        if not rules.surely_feasible and feasible(rules, deadline) is None:
            raise NoAssignment
    except (NoAssignment, InfeasibleConstraintsError) as failure:
        raise conflict_of(failure, n, k, given, deadline, names) from None
    except OutOfTime as late:
        raise out_of_time(deadline) from late


METHOD = "semidefinite relaxation with pair and triangle inequalities"
IN_PARTS = f"sum over parts of the {METHOD}"


@dataclass(frozen=True)
class LowerBound:
    """A number below the objective of every clustering that obeys the rules.

    Attributes
    ----------
    value : float
        The bound on the objective: inertia plus the price of the soft rules broken.  Rounding
        errors are accounted for.
    gap : float or None
        ``(upper - value) / upper``; None if no ``upper`` was given.
    seconds : float
    method : str
    rules_used, rules_left_out : tuple of str
        Kinds of rules that tighten the bound, and those that it ignores.  It is valid all the same.
    """

    value: float
    gap: float | None
    seconds: float
    method: str
    rules_used: tuple[str, ...]
    rules_left_out: tuple[str, ...]

    @property
    def optimal(self) -> bool:
        """Whether the answer with the objective ``upper`` is proven optimal."""
        return self.gap is not None and self.gap <= CLOSED

    def against(self, upper: float) -> LowerBound:
        """The same with the gap to the objective of an answer.

        Raises
        ------
        ValueError
            If the objective is below the bound, so that no answer has it.
        """
        if upper < self.value - 1e-9 * abs(self.value):
            raise ValueError(
                f"upper is {upper:.10g}, but no clustering that obeys the constraints has an "
                f"objective below {self.value:.10g}; upper must be the objective of one that does."
            )
        gap = max(upper - self.value, 0.0) / upper if upper > 0.0 else 0.0
        return replace(self, gap=gap)

    def confirmed(self, objective: float) -> LowerBound:
        """The same with the gap to the objective that the audit found.

        Raises
        ------
        BrokenAnswerError
            If the objective is below the bound.
        """
        try:
            return self.against(objective)
        except ValueError as fault:
            raise BrokenAnswerError(
                f"the lower bound is above an answer, which is a fault of corral: {fault}"
            ) from fault

    def __str__(self) -> str:
        if self.gap is None:
            return f"no clustering has an objective below {self.value:.10g}"
        if self.optimal:
            return "proven optimal"
        return f"proven within {100 * self.gap:.2g} % of the best possible"


def bound_of(
    value: float, scale: Scale, seconds: float, grouped: Grouped, method: str = METHOD
) -> LowerBound:
    """The bound in the user's unit; ``value`` is in the solvers' unit."""
    return LowerBound(
        value=restored(max(value, 0.0), scale.cost),
        gap=None,
        seconds=seconds,
        method=method,
        rules_used=grouped.used,
        rules_left_out=grouped.left_out,
    )


def part_size(grouped: Grouped, device: str | None, deadline: Deadline) -> int:
    """Groups in a part, so that all parts have time for iterations; that of the whole if it has.

    Large parts have tighter bounds and take longer.
    """
    m, most = len(grouped.weight), most_together(grouped.rules, device)
    if m <= most:
        return m
    in_time = deadline.left / (PART_SECONDS * m) if device is None else most
    return int(np.clip(in_time, min(_least(grouped), most), most))


def _least(grouped: Grouped) -> int:
    """Groups that a part should have at least."""
    return PART_LEAST * grouped.rules.n_clusters


def sum_of_parts(grouped: Grouped, size: int, device: str | None, deadline: Deadline) -> float:
    """A bound on the objective of the whole, from parts of about so many groups.

    In each part a clustering has at most k clusters, and their own means are at least as near as
    those of the whole clusters.  So the objective of the whole is at least the sum of the least
    objectives of the parts.  That holds without rules, with largest sizes, and with links, of which
    those inside a part are used.  Least sizes say nothing about a part.

    If a part takes longer than its share of the time, the rest goes to smaller parts.  Groups for
    which there is no time count as 0.
    """
    region, rest = regions_of(grouped), np.arange(len(grouped.weight))
    parts, values, least = list[IntArray](), [], min(_least(grouped), size)
    while len(rest) and not deadline.passed:
        clock, n_parts = Deadline(), -(-len(rest) // size)
        if n_parts > len(parts):
            parts = parts_of(grouped, region, rest, n_parts, deadline)
        groups = parts.pop()
        rest = np.setdiff1d(rest, groups)
        with suppress(OutOfTime):
            # The scatter inside the groups is added at the end.
            own = replace(grouped.part(groups), scatter=0.0)
            search = Ascent(own.relaxation(device, deadline))
            values.append(search.run(deadline.within(deadline.left / 2), most=PART_ITERATIONS))
        # What the parts take together is proportional to their size.
        share = deadline.left / max(len(parts), 1) / max(clock.elapsed, 1e-9)
        size = int(np.clip(size * min(share, 1.0), least, size))
    total = float(np.sum(values)) * (1.0 - 4 * (len(values) + 1) * EPS)
    return total + grouped.scatter - grouped.error


def regions_of(grouped: Grouped) -> IntArray:
    """The number of the nearest of some centres, for each group: about its cluster."""
    seeds = KMeans(grouped.rules.n_clusters, init="random", n_init=1, max_iter=10, random_state=0)
    region: IntArray = seeds.fit_predict(grouped.points, sample_weight=grouped.weight)
    return region


def parts_of(
    grouped: Grouped, region: IntArray, groups: IntArray, n_parts: int, deadline: Deadline
) -> list[IntArray]:
    """Parts of about the same size, in each of which each region has about its own mean.

    The sum of the bounds is lower than that of the whole by what the means of clusters differ from
    part to part.
    """
    part, random_state, dealt = np.zeros(len(groups), np.int64), np.random.RandomState(0), 0
    for number in np.unique(region[groups]):
        own = np.flatnonzero(region[groups] == number)
        points, weight = grouped.points[groups[own]], grouped.weight[groups[own]]
        mean = weight @ points / max(weight.sum(), EPS)
        # Where the last region ended, so that parts have the same size.
        turn = (np.arange(n_parts) - dealt) % n_parts
        room = len(own) // n_parts + (turn < len(own) % n_parts)
        away, one = weight[:, None] * (points - mean), np.ones(len(own), np.int64)
        part[own] = deal(away, one, room, random_state, deadline=deadline)
        dealt += len(own)
    order = np.argsort(part, kind="stable")
    return np.split(groups[order], np.searchsorted(part[order], np.arange(1, n_parts)))
