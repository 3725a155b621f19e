"""Whether any assignment obeys the hard rules, by CP-SAT.

With no costs to guide it integer programming is a poor judge of colourings and packings;
clause learning settles most of them in milliseconds.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..problem import Problem
from .check import broken, row_excess, total_excess
from .interruptible import interruptible
from .result import OutOfTime, seconds_left

#: Seconds for one worker before all cores are asked; one worker starts quicker.
ALONE = 2.0

#: Sums of floats become sums of integers of about this size.
LEVELS = 2.0**40


def search(problem: Problem, deadline: float | None = None) -> IntArray | None:
    """Labels that obey all hard rules, or None if it is proven that there are none.

    Size bounds that are not tied to clusters may be handed out in any order.

    Raises
    ------
    OutOfTime
        The deadline came before an answer or a proof.
    """
    from ortools.sat.python import cp_model  # imports pandas

    model, x = _model(problem, cp_model)
    while True:
        labels = _solve(problem, model, x, deadline)
        if labels is None or not broken(problem, labels, any_order=True):
            return labels
        # Sums of floats are rounded outwards in the model: forbid what only that let through.
        _forbid(problem, model, x, labels)


def _solve(
    problem: Problem, model: Any, x: list[list[Any]], deadline: float | None
) -> IntArray | None:
    from ortools.sat.python import cp_model

    for workers, patience in ((1, ALONE), (os.cpu_count() or 1, np.inf)):
        left = seconds_left(deadline)
        limit = min(patience, np.inf if left is None else left)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = workers
        solver.parameters.catch_sigint_signal = False  # Ctrl-C is Python's to handle
        if np.isfinite(limit):
            solver.parameters.max_time_in_seconds = limit
        status = interruptible(partial(solver.solve, model), stop=solver.stop_search)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            values = np.array([solver.boolean_value(var) for row in x for var in row])
            x_values = values.reshape(problem.n_groups, problem.n_clusters)
            return np.asarray(x_values.argmax(axis=1))
        if status == cp_model.INFEASIBLE:
            return None
    raise OutOfTime


def _forbid(problem: Problem, model: Any, x: list[list[Any]], labels: IntArray) -> None:
    """Forbid the members of every cluster, and the choice in every row, that break a sum."""
    chosen = np.zeros((problem.n_groups, problem.n_clusters), bool)
    chosen[np.arange(len(labels)), labels] = True

    def change(places: list[tuple[int, int]]) -> None:
        model.add_bool_or([~x[g][j] if chosen[g, j] else x[g][j] for g, j in places])

    for total in problem.totals:
        for j in np.flatnonzero(total_excess(total, labels)):
            change([(int(g), int(j)) for g in np.flatnonzero(total.values)])
    if problem.linear is not None:
        A = problem.linear.A
        for r in np.flatnonzero(row_excess(problem.linear, labels)):
            columns = A.indices[A.indptr[r] : A.indptr[r + 1]]
            change([divmod(int(c), problem.n_clusters) for c in columns])


def _model(problem: Problem, cp_model: Any) -> tuple[Any, list[list[Any]]]:
    m, k = problem.n_groups, problem.n_clusters
    model = cp_model.CpModel()
    x = [[model.new_bool_var("") for _ in range(k)] for _ in range(m)]
    for row in x:
        model.add_exactly_one(row)
    for g, j in problem.pins.tolist():
        model.add_bool_or([x[g][j]])
    for a, b in problem.apart.tolist():
        for u, v in zip(x[a], x[b], strict=True):
            model.add_bool_or([~u, ~v])
    for a, b in problem.together.tolist():
        for u, v in zip(x[a], x[b], strict=True):
            model.add_implication(u, v)
    _add_sizes(problem, cp_model, model, x)
    add_sum = _adder(cp_model, model)
    for total in problem.totals:
        for j in range(k):
            column = [row[j] for row in x]
            add_sum(column, total.values, float(total.lower[j]), float(total.upper[j]))
    if problem.linear is not None:
        rows, flat = problem.linear, [var for row in x for var in row]
        for r in range(rows.A.shape[0]):
            part = slice(rows.A.indptr[r], rows.A.indptr[r + 1])
            chosen = [flat[c] for c in rows.A.indices[part]]
            add_sum(chosen, rows.A.data[part], float(rows.lower[r]), float(rows.upper[r]))
    return model, x


def _add_sizes(problem: Problem, cp_model: Any, model: Any, x: list[list[Any]]) -> None:
    sizes, k = problem.sizes, problem.n_clusters
    if sizes is None:
        return
    total = cp_model.LinearExpr.weighted_sum
    size = [total([row[j] for row in x], problem.count.tolist()) for j in range(k)]
    if sizes.ordered or sizes.interchangeable:
        for j in range(k):
            model.add_linear_constraint(size[j], int(sizes.lower[j]), int(sizes.upper[j]))
        return
    y = [[model.new_bool_var("") for _ in range(k)] for _ in range(k)]
    for j in range(k):
        model.add_exactly_one(y[j])
        model.add_exactly_one([row[j] for row in y])
        model.add(size[j] >= total(y[j], sizes.lower.tolist()))
        model.add(size[j] <= total(y[j], sizes.upper.tolist()))


def _adder(cp_model: Any, model: Any) -> Any:
    """A function that adds ``lower <= values @ variables <= upper`` in whole numbers.

    Floats are rounded and the bounds moved out by all that rounding can do, so that what is
    infeasible in whole numbers is infeasible; what is feasible has to be checked.
    """

    def add(variables: list[Any], values: FloatArray, lower: float, upper: float) -> None:
        whole = np.array_equal(values, np.rint(values)) and np.abs(values).sum() < LEVELS
        scale, give = 1.0, 0.0
        if not whole:
            scale, give = LEVELS / float(np.abs(values).sum()), len(values) / 2 + LEVELS * 1e-9
        limit = int(4 * LEVELS)
        low = -limit if lower * scale < -limit else int(np.floor(lower * scale - give))
        high = limit if upper * scale > limit else int(np.ceil(upper * scale + give))
        if whole:
            # A whole sum at least 2.5 is at least 3, but 3 + 1e-12 still means 3.
            low = low if low == -limit else int(np.ceil(lower - 1e-9 * abs(lower)))
            high = high if high == limit else int(np.floor(upper + 1e-9 * abs(upper)))
        if low > high:
            model.add_bool_or([])
            return
        coefficients = np.rint(values * scale).astype(np.int64).tolist()
        model.add_linear_constraint(
            cp_model.LinearExpr.weighted_sum(variables, coefficients), low, high
        )

    return add
