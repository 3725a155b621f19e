"""Calls of HiGHS on some columns of a model, and what its dual values say of the others."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._typing import BoolArray, FloatArray
from ...deadline import Deadline, OutOfTime
from ..result import NoAssignment
from . import apart, interruptible
from .model import Model

#: Entries of the matrix of an integer program above which HiGHS solves it in a process of its own.
#: Starting that takes 0.3 s.  A larger number makes Ctrl-C wait longer for HiGHS: at 51,000 entries
#: it waited up to 30 s (limits.py --interrupts, relaxed).
APART_ENTRIES = 20_000
#: Relative gap at which HiGHS may stop.  Costs are given to it with row minima subtracted and a
#: typical cost of 1000, so that its fixed absolute gap of 1e-6 is 1e-9 of a typical cost too.
RELATIVE_GAP = 1e-9

#: One thread, so that an answer does not depend on the number of cores.  Feasibility jump is a
#: heuristic that ends at no time limit, and without it small programs take a third of the time.
OPTIONS = {
    "threads": 1,
    "mip_rel_gap": RELATIVE_GAP,
    "mip_heuristic_run_feasibility_jump": False,
}


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
        A, cost, top = self.A, cost[self.columns], self.model.ceiling[self.columns]
        if elastic:
            slack = sparse.eye_array(len(lower), format="csr")[:, self.always :]
            A = sparse.hstack([A, slack, -slack], format="csr")
            cost = np.concatenate([cost, np.ones(2 * slack.shape[1])])
            top = np.concatenate([top, np.full(2 * slack.shape[1], np.inf)])
        program = _program(A, (lower, upper), cost, top, np.zeros(len(top), bool))
        solver = _run(program, {**OPTIONS, "time_limit": deadline.check()})
        status = apart.status_of(solver)
        if status == apart.INFEASIBLE:
            raise NoAssignment
        if status != apart.OPTIMAL:
            raise OutOfTime
        solution = solver.getSolution()
        dual = np.asarray(solution.row_dual)
        return Relaxed(
            _spread(np.asarray(solution.col_value)[: self.A.shape[1]], self.columns),
            _spread(np.where(np.isfinite(lower), np.maximum(dual, 0.0), 0.0), self.rows),
            _spread(np.where(np.isfinite(upper), np.minimum(dual, 0.0), 0.0), self.rows),
            solver.getObjectiveValue(),
        )

    def solve(self, cost: FloatArray, deadline: Deadline) -> tuple[FloatArray | None, bool]:
        """Solve in whole numbers; the values of all columns, and whether they are optimal.

        Gives None when the time ended before any answer, and raises NoAssignment if there is none.
        """
        bounds = self.model.lower[self.rows], self.model.upper[self.rows]
        top, integral = self.model.ceiling[self.columns], self.model.integral[self.columns]
        program = _program(self.A, bounds, cost[self.columns], top, integral)
        # In an elastic model presolve finds thousands of implied integers, and the cuts for them
        # take half a minute in which HiGHS does not look at its time limit.
        presolve = "off" if self.model.violation.any() else "choose"
        options = {**OPTIONS, "presolve": presolve, "time_limit": deadline.check()}
        if self.A.nnz > APART_ENTRIES and sys.executable:
            status, values = apart.solve_apart(program, options, deadline.left)
        else:
            solver = _run(program, options)
            status, values = apart.status_of(solver), apart.values_of(solver)
        if status == apart.INFEASIBLE:
            raise NoAssignment
        if values is None:
            return None, False
        return _spread(values, self.columns), status == apart.OPTIMAL


def _program(
    A: sparse.csr_array,
    bounds: tuple[FloatArray, FloatArray],
    cost: FloatArray,
    top: FloatArray,
    integral: BoolArray,
) -> apart.Program:
    """The arrays that HiGHS takes."""
    start, index = (part.astype(np.int32) for part in (A.indptr, A.indices))
    return {
        **{"start": start, "index": index, "value": A.data, "shape": np.array(A.shape)},
        **{"lower": bounds[0], "upper": bounds[1], "cost": cost, "top": top},
        "integral": integral.astype(np.int32),
    }


def _run(program: apart.Program, options: dict[str, Any]) -> Any:
    """HiGHS after its run in this process, which Ctrl-C ends."""
    solver = apart.load(program, options)
    # The solver asks for its time limit everywhere, for a callback's wish to stop only in the
    # simplex method and between nodes.
    interruptible(solver.run, stop=lambda: solver.setOptionValue("time_limit", 0.0))
    return solver


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
