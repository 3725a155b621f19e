"""How far a clustering can be from the best one: a lower bound that is a proof.

The bound is the dual value of a semidefinite relaxation of k-means (Peng and Wei) under the rules:
:mod:`.relaxation` makes it, :mod:`.ascent` finds good multipliers with the inequalities of
:mod:`.cuts`, and :mod:`.spectrum` evaluates the bound so that rounding errors cannot raise it above
the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from ..assign import feasible
from ..constraints import ConstraintSet
from ..deadline import Deadline, OutOfTime
from ..infeasible import out_of_time, raise_conflict
from ..inputs import brought, check_points, check_weights, row_names
from ..presolve import presolve
from ..settings import LIMITS, check_n_clusters
from .ascent import CLOSED, Ascent
from .groups import Grouped

__all__ = ["LowerBound", "lower_bound"]


@dataclass(frozen=True)
class LowerBound:
    """A number below the objective of every clustering that obeys the rules.

    Attributes
    ----------
    value : float
        The bound, in the unit of the inertia.  Rounding errors are accounted for.
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

    def __str__(self) -> str:
        if self.gap is None:
            return f"no clustering has an objective below {self.value:.10g}"
        if self.optimal:
            return "proven optimal"
        return f"proven within {100 * self.gap:.2g} % of the best possible"


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
        Links, pins and sizes tighten the bound.  Others, and soft pairs, are left out: the bound
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
    deadline = Deadline.after(time_limit)
    points = check_points(brought(X), "lower_bound")
    n, given = points.shape[0], ConstraintSet(constraints)
    weight = check_weights(brought(sample_weight), n)
    check_n_clusters(n_clusters, n)
    _check_feasible(given, n, n_clusters, deadline, row_names(X))
    grouped = Grouped.of(points, weight, given, n_clusters)
    ascent = Ascent(grouped.relaxation(device))
    value = max(ascent.run(deadline, upper), 0.0)
    return LowerBound(
        value=value,
        gap=None if upper is None else gap_of(value, upper),
        seconds=deadline.elapsed,
        method="semidefinite relaxation with pair and triangle inequalities",
        rules_used=grouped.used,
        rules_left_out=grouped.left_out,
    )


def gap_of(value: float, upper: float) -> float:
    """The relative gap; ValueError if the objective is below the bound."""
    if upper < value - 1e-9 * abs(value):
        raise ValueError(
            f"upper is {upper:.10g}, but no clustering that obeys the constraints has an objective "
            f"below {value:.10g}; upper must be the objective of one that does."
        )
    return max(upper - value, 0.0) / upper if upper > 0.0 else 0.0


def _check_feasible(given: ConstraintSet, n: int, k: int, deadline: Deadline, names: Any) -> None:
    """Raise what ``fit`` raises if no clustering obeys the rules."""
    rules = presolve(given, n, k, names=names)
    if rules.surely_feasible:
        return
    try:
        if feasible(rules, deadline) is None:
            raise_conflict(n, k, given, deadline, names)
    except OutOfTime as late:
        raise out_of_time(deadline) from late
