"""How far a clustering can be from the best one: a lower bound that is a proof.

The bound is the dual value of a semidefinite relaxation of k-means (Peng and Wei) under the rules:
:mod:`.relaxation` makes it, :mod:`.ascent` finds good multipliers with the inequalities of
:mod:`.cuts`, and :mod:`.spectrum` evaluates the bound so that rounding errors cannot raise it above
the truth.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._scale import times
from ..constraints import ConstraintSet
from ..constraints.lookup import rules_for
from ..deadline import Deadline, OutOfTime
from ..exact import NoAssignment, feasible
from ..exceptions import InfeasibleConstraintsError
from ..infeasible import conflict_of, out_of_time
from ..inputs import brought, check_points, check_weights, row_names
from ..rows import MemoryTable
from ..rules import presolve
from ..settings import LIMITS, NOT_NEGATIVE, check_n_clusters
from .ascent import Ascent
from .bound import IN_PARTS, METHOD, LowerBound, bound_of
from .groups import Grouped, in_solver_units
from .parts import part_size, sum_of_parts

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
