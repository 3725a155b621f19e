"""Calls of HiGHS on some columns of a model, and what its dual values say of the others."""

from __future__ import annotations

from dataclasses import dataclass

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
    """Some columns of a model, and the rows that can bind, among them the first ``always``."""

    model: Model
    columns: BoolArray
    rows: BoolArray
    A: sparse.csr_array
    always: int

    def relax(self, cost: FloatArray, deadline: Deadline, *, elastic: bool = False) -> Relaxed:
        """Solve the linear relaxation; raises NoAssignment if it is infeasible.

        ``elastic`` allows to break rows beyond the first ``always``, at a cost of 1 for each unit.
        """
        lower, upper = self.model.lower[self.rows], self.model.upper[self.rows]
        equal = lower == upper
        under, over = ~equal & np.isfinite(upper), ~equal & np.isfinite(lower)
        A, cost, top = self.A, cost[self.columns], self.model.ceiling[self.columns]
        if elastic:
            slack = sparse.eye_array(len(lower), format="csr")[:, self.always :]
            A = sparse.hstack([A, slack, -slack], format="csr")
            cost = np.concatenate([cost, np.ones(2 * slack.shape[1])])
            top = np.concatenate([top, np.full(2 * slack.shape[1], np.inf)])
        left = deadline.check()
        result = interruptible(
            lambda: optimize.linprog(
                cost,
                A_ub=sparse.vstack([A[under], -A[over]], format="csr"),
                b_ub=np.concatenate([upper[under], -lower[over]]),
                A_eq=A[equal],
                b_eq=upper[equal],
                bounds=np.column_stack([np.zeros(len(top)), top]),
                method="highs-ds",
                options={"time_limit": left} if deadline.finite else {},
            )
        )
        if result.status == 2:
            raise NoAssignment
        if result.status != 0:
            raise OutOfTime
        dual = np.zeros(len(lower))
        dual[equal] = result.eqlin.marginals
        below, above = np.split(result.ineqlin.marginals, [np.count_nonzero(under)])
        at_lower, at_upper = np.maximum(dual, 0.0), np.minimum(dual, 0.0)
        at_upper[under], at_lower[over] = np.minimum(below, 0.0), np.maximum(-above, 0.0)
        return Relaxed(
            _spread(result.x[: self.A.shape[1]], self.columns),
            _spread(at_lower, self.rows),
            _spread(at_upper, self.rows),
            float(result.fun),
        )

    def solve(self, cost: FloatArray, deadline: Deadline) -> tuple[FloatArray | None, bool]:
        """Solve in whole numbers; the values of all columns, and whether they are optimal.

        Gives None when the time ended before any answer, and raises NoAssignment if there is none.
        """
        options: dict[str, float] = {"mip_rel_gap": RELATIVE_GAP}
        left = deadline.check()
        if deadline.finite:
            options["time_limit"] = left
        lower, upper = self.model.lower[self.rows], self.model.upper[self.rows]
        result = interruptible(
            lambda: optimize.milp(
                cost[self.columns],
                integrality=self.model.integral[self.columns].astype(np.uint8),
                bounds=optimize.Bounds(0.0, self.model.ceiling[self.columns]),
                constraints=optimize.LinearConstraint(self.A, lower, upper),
                options=options,
            )
        )
        if result.status == 2:
            raise NoAssignment
        if result.x is None:
            return None, False
        return _spread(result.x, self.columns), result.status == 0


def cut(model: Model, columns: BoolArray, always: int) -> Cut:
    """Choose columns; drop rows that no values of them can break, but not the first ``always``."""
    A = model.A[:, np.flatnonzero(columns)]
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    reach = A.data * model.ceiling[columns][A.indices]
    most = np.bincount(row, np.maximum(reach, 0.0), A.shape[0])
    least = np.bincount(row, np.minimum(reach, 0.0), A.shape[0])
    rows = (most > model.upper) | (least < model.lower)
    rows[:always] = True
    return Cut(model, columns, rows, A[np.flatnonzero(rows)], always)


def _spread(values: FloatArray, places: BoolArray) -> FloatArray:
    """The values at the chosen places, 0 elsewhere."""
    spread = np.zeros(len(places))
    spread[places] = values
    return spread


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
