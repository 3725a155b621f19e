"""Calls of HiGHS on some columns of a model, and what its dual values say of the others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, sparse

from ..._typing import BoolArray, FloatArray
from ...deadline import Deadline, OutOfTime
from ..result import NoAssignment
from . import interruptible
from .model import Model

#: Relative gap at which HiGHS may stop.  Costs are given to it with row minima subtracted and a
#: typical cost of 1000, so that its fixed absolute gap of 1e-6 is 1e-9 of a typical cost too.
RELATIVE_GAP = 1e-9


@dataclass(frozen=True)
class Relaxed:
    """Solution of the linear relaxation: all columns, and a dual value for each side of a row."""

    x: FloatArray
    at_lower: FloatArray
    at_upper: FloatArray
    value: float


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


def relax(model: Model, cost: FloatArray, part: Cut, deadline: Deadline) -> Relaxed:
    """Solve the linear relaxation on the chosen columns.

    Raises
    ------
    NoAssignment
        When the relaxation on these columns is infeasible.
    """
    program = _Program.of(model, part)
    return program.solve(cost[part.columns], model, part, deadline)


def reconcile(model: Model, part: Cut, always: int, deadline: Deadline) -> tuple[Relaxed, float]:
    """Break the rows beyond the first ``always`` as little as possible on the chosen columns.

    Returns
    -------
    relaxed : Relaxed
        Its objective is the total violation.
    broken : float
        The least total violation; 0 if the relaxation on these columns is feasible.
    """
    program = _Program.of(model, part).elastic(np.flatnonzero(part.rows) >= always)
    relaxed = program.solve(np.zeros(int(part.columns.sum())), model, part, deadline)
    return relaxed, relaxed.value


def price(
    model: Model, allowed: BoolArray, relaxed: Relaxed, cost: FloatArray
) -> tuple[float, FloatArray]:
    """Lagrangian bound, and the reduced costs of x, at the dual values of a relaxation."""
    m, size = len(allowed), allowed.size
    dual = relaxed.at_lower + relaxed.at_upper
    dual[:m] = 0.0  # that a group has one cluster is in the minimum below
    reduced = cost - model.A.T @ dual
    x_part = np.where(allowed, reduced[:size].reshape(allowed.shape), np.inf)
    low, high = relaxed.at_lower != 0, relaxed.at_upper != 0
    low[:m] = high[:m] = False
    bound = (
        x_part.min(axis=1).sum()
        + np.minimum(reduced[size:], 0.0) @ model.ceiling[size:]
        + relaxed.at_lower[low] @ model.lower[low]
        + relaxed.at_upper[high] @ model.upper[high]
    )
    return float(bound), x_part


def missing(opened: BoolArray, reduced: FloatArray) -> BoolArray:
    """Closed columns that would improve the relaxation."""
    least = np.where(opened, reduced, np.inf).min(axis=1, keepdims=True)
    return np.asarray(~opened & (reduced < least - 1e-7))


@dataclass(frozen=True)
class _Program:
    """The rows of a cut model, sorted into equalities and the two kinds of inequality."""

    A: sparse.csr_array
    equal: BoolArray
    under: BoolArray
    over: BoolArray
    slack: sparse.csr_array | None = None

    @classmethod
    def of(cls, model: Model, part: Cut) -> _Program:
        lower, upper = model.lower[part.rows], model.upper[part.rows]
        equal = lower == upper
        return cls(part.A, equal, ~equal & np.isfinite(upper), ~equal & np.isfinite(lower))

    def elastic(self, rows: BoolArray) -> _Program:
        """Give the rows a slack in both directions, at a cost of 1."""
        one = sparse.eye_array(len(rows), format="csr")[:, np.flatnonzero(rows)]
        return replace(self, slack=sparse.hstack([one, -one], format="csr"))

    def solve(self, cost: FloatArray, model: Model, part: Cut, deadline: Deadline) -> Relaxed:
        lower, upper = model.lower[part.rows], model.upper[part.rows]
        A, top = self.A, model.ceiling[part.columns]
        if self.slack is not None:
            A = sparse.hstack([A, self.slack], format="csr")
            cost = np.concatenate([cost, np.ones(self.slack.shape[1])])
            top = np.concatenate([top, np.full(self.slack.shape[1], np.inf)])
        left = deadline.check()
        result = interruptible(
            lambda: optimize.linprog(
                cost,
                A_ub=sparse.vstack([A[self.under], -A[self.over]], format="csr"),
                b_ub=np.concatenate([upper[self.under], -lower[self.over]]),
                A_eq=A[self.equal],
                b_eq=upper[self.equal],
                bounds=np.column_stack([np.zeros(len(top)), top]),
                method="highs-ds",
                options={"time_limit": left} if deadline.finite else {},
            )
        )
        if result.status == 2:
            raise NoAssignment
        if result.status != 0:
            raise OutOfTime
        return self._relaxed(result, model, part)

    def _relaxed(self, result: optimize.OptimizeResult, model: Model, part: Cut) -> Relaxed:
        x = np.zeros(len(model.price))
        x[part.columns] = result.x[: self.A.shape[1]]
        at_lower, at_upper = np.zeros(len(model.lower)), np.zeros(len(model.lower))
        chosen = np.flatnonzero(part.rows)
        fixed, sides = result.eqlin.marginals, result.ineqlin.marginals
        half = int(self.under.sum())
        at_upper[chosen[self.equal]] = np.minimum(fixed, 0.0)
        at_lower[chosen[self.equal]] = np.maximum(fixed, 0.0)
        at_upper[chosen[self.under]] = np.minimum(sides[:half], 0.0)
        at_lower[chosen[self.over]] = np.maximum(-sides[half:], 0.0)
        return Relaxed(x, at_lower, at_upper, float(result.fun))


def solve(
    model: Model, cost: FloatArray, part: Cut, deadline: Deadline
) -> tuple[FloatArray | None, bool]:
    """Solve in whole numbers on the chosen columns.

    Returns
    -------
    values : (N,) array or None
        None when the time ended before any answer.
    optimal : bool

    Raises
    ------
    NoAssignment
        When the model on these columns is infeasible.
    """
    options: dict[str, float] = {"mip_rel_gap": RELATIVE_GAP}
    left = deadline.check()
    if deadline.finite:
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
