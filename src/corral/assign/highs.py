"""Calls of HiGHS on a model cut down to some of its columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, sparse

from .._typing import BoolArray, FloatArray
from .interruptible import interruptible
from .model import Model
from .result import NoAssignment, OutOfTime, seconds_left

#: Costs reach HiGHS with row minima taken off and a typical cost of 1000.  Its gap of 1e-6
#: absolute, which SciPy gives no way to change, is then 1e-9 of a typical cost; this is the
#: relative one.
RELATIVE_GAP = 1e-9


@dataclass(frozen=True)
class Relaxed:
    """Solution of the linear relaxation: all columns, and a dual value for each side of a row."""

    x: FloatArray
    at_lower: FloatArray
    at_upper: FloatArray


@dataclass(frozen=True)
class Cut:
    """A model's chosen columns, and the rows that can still bind."""

    columns: BoolArray
    rows: BoolArray
    A: sparse.csr_array


def cut(model: Model, columns: BoolArray, always: int) -> Cut:
    """Choose columns; drop rows that no values of them can break, but not the first ``always``."""
    A = model.A[:, np.flatnonzero(columns)]
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    reach = A.data * model.ceiling[columns][A.indices]
    most = np.bincount(row, np.maximum(reach, 0.0), A.shape[0])
    least = np.bincount(row, np.minimum(reach, 0.0), A.shape[0])
    rows = (most > model.upper) | (least < model.lower)
    rows[:always] = True
    return Cut(columns, rows, A[np.flatnonzero(rows)])


def relax(model: Model, cost: FloatArray, part: Cut, deadline: float | None) -> Relaxed:
    """Solve the linear relaxation on the chosen columns.

    Raises
    ------
    NoAssignment
        When the relaxation on these columns is infeasible.
    """
    lower, upper = model.lower[part.rows], model.upper[part.rows]
    equal = lower == upper
    under = ~equal & np.isfinite(upper)
    over = ~equal & np.isfinite(lower)
    ceiling = model.ceiling[part.columns]
    options = {} if deadline is None else {"time_limit": seconds_left(deadline)}
    result = interruptible(
        lambda: optimize.linprog(
            cost[part.columns],
            A_ub=sparse.vstack([part.A[under], -part.A[over]], format="csr"),
            b_ub=np.concatenate([upper[under], -lower[over]]),
            A_eq=part.A[equal],
            b_eq=upper[equal],
            bounds=np.column_stack([np.zeros(len(ceiling)), ceiling]),
            method="highs-ds",
            options=options,
        )
    )
    if result.status == 2:
        raise NoAssignment
    if result.status != 0:
        raise OutOfTime
    x = np.zeros(len(cost))
    x[part.columns] = result.x
    at_lower, at_upper = np.zeros(len(model.lower)), np.zeros(len(model.lower))
    chosen = np.flatnonzero(part.rows)
    fixed = result.eqlin.marginals
    at_upper[chosen[equal]] = np.minimum(fixed, 0.0)
    at_lower[chosen[equal]] = np.maximum(fixed, 0.0)
    sides = result.ineqlin.marginals
    at_upper[chosen[under]] = np.minimum(sides[: under.sum()], 0.0)
    at_lower[chosen[over]] = np.maximum(-sides[under.sum() :], 0.0)
    return Relaxed(x, at_lower, at_upper)


def solve(
    model: Model, cost: FloatArray, part: Cut, deadline: float | None
) -> tuple[FloatArray | None, bool]:
    """Solve in whole numbers on the chosen columns.

    Returns
    -------
    values : (N,) array or None
        None when it ran out of time with no answer at all.
    optimal : bool

    Raises
    ------
    NoAssignment
        When the model on these columns is infeasible.
    """
    options: dict[str, float] = {"mip_rel_gap": RELATIVE_GAP}
    left = seconds_left(deadline)
    if left is not None:
        options["time_limit"] = left
    rules = optimize.LinearConstraint(part.A, model.lower[part.rows], model.upper[part.rows])
    result = interruptible(
        lambda: optimize.milp(
            cost[part.columns],
            integrality=model.integral[part.columns].astype(np.uint8),
            bounds=optimize.Bounds(0.0, model.ceiling[part.columns]),
            constraints=rules,
            options=options,
        )
    )
    if result.status == 2:
        raise NoAssignment
    if result.x is None:
        return None, False
    values = np.zeros(len(cost))
    values[part.columns] = result.x
    return values, result.status == 0


def with_row(model: Model, row: FloatArray, upper: float) -> Model:
    """The model with one more row, ``row @ v <= upper``."""
    return replace(
        model,
        A=sparse.vstack([model.A, sparse.csr_array(row[None, :])], format="csr"),
        lower=np.append(model.lower, -np.inf),
        upper=np.append(model.upper, upper),
    )
