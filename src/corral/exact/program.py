"""Integer programs for any mixture of rules, by HiGHS: of least cost, or of least violation.

HiGHS runs for minutes inside one call.  It releases the GIL but never looks for signals, so a
``KeyboardInterrupt`` would wait for it.  :func:`interruptible` makes the call in a thread of its
own while the caller waits on a lock; a signal does interrupt that wait.  HiGHS also keeps the
number of its threads for each thread that calls it; in a new one it is free to be chosen.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from .._typing import BoolArray, FloatArray, IntArray
from ..deadline import NEVER, Deadline, OutOfTime
from ..numbers import GRACE, PROGRAM_ENTRIES
from ..rules import Rules, SizeBounds
from ..rules.sums import outside
from . import apart
from .check import Assignment, NoAssignment, broken, cost_of, matching_order
from .model import Model, build, forbid, mean_size, row_sizes

T = TypeVar("T")

#: One thread, so that an answer does not depend on the number of cores.  Costs are given to HiGHS
#: with row minima subtracted and a typical cost of 1000, so that its fixed absolute gap of 1e-6 is
#: 1e-9 of a typical cost; no relative gap is added to it.  Feasibility jump is a heuristic that
#: ends at no time limit, and without it small programs take a third of the time.
OPTIONS = {"threads": 1, "mip_rel_gap": 0.0, "mip_heuristic_run_feasibility_jump": False}


def solve_model(
    model: Model, columns: BoolArray, cost: FloatArray, always: int, deadline: Deadline
) -> tuple[FloatArray | None, bool]:
    """Solve in whole numbers; the values of all columns, and whether they are optimal.

    Only the given columns may be other than 0.  Rows that no values of them can break are left
    out, but not the first ``always``.  Gives None when the time ended before any answer, and raises
    NoAssignment if there is none.
    """
    A = model.A[:, np.flatnonzero(columns)]
    top, integral = model.ceiling[columns], model.integral[columns]
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    reach = A.data * top[A.indices]
    most = np.bincount(row, np.maximum(reach, 0.0), A.shape[0])
    least = np.bincount(row, np.minimum(reach, 0.0), A.shape[0])
    rows = (most > model.upper) | (least < model.lower)
    rows[:always] = True
    A = A[np.flatnonzero(rows)]
    start, index = (part.astype(np.int32) for part in (A.indptr, A.indices))
    program: apart.Program = {
        **{"start": start, "index": index, "value": A.data, "shape": np.array(A.shape)},
        **{"lower": model.lower[rows], "upper": model.upper[rows]},
        **{"cost": cost[columns], "top": top, "integral": integral.astype(np.int32)},
    }
    # In an elastic model presolve finds thousands of implied integers, and the cuts for them take
    # half a minute in which HiGHS does not look at its time limit.
    presolve = "off" if model.violation.any() else "choose"
    options = {**OPTIONS, "presolve": presolve, "time_limit": deadline.check()}
    if A.nnz > PROGRAM_ENTRIES and sys.executable:
        status, found = apart.solve_apart(program, options, deadline.left + GRACE)
    else:
        solver = apart.load(program, options)
        # The solver asks for its time limit everywhere, for a callback's wish to stop only in the
        # simplex method and between nodes.
        interruptible(solver.run, stop=lambda: solver.setOptionValue("time_limit", 0.0))
        status, found = apart.status_of(solver), apart.values_of(solver)
    if status == apart.INFEASIBLE:
        raise NoAssignment
    if found is None:
        return None, False
    values = np.zeros(len(columns))
    values[columns] = found
    return values, status == apart.OPTIMAL


def solve_program(
    rules: Rules,
    cost: FloatArray,
    *,
    incumbent: IntArray | None = None,
    deadline: Deadline = NEVER,
    match_sizes: bool = False,
) -> Assignment:
    """Cheapest labels under all rules but the pins; costs are infinite where a group may not go.

    Arguments and errors are those of :func:`corral.exact.assign`.  Row minima are subtracted from
    the costs, which are then divided by a typical cost, so that the answer does not depend on the
    unit or the origin of the data.  Answers that obey the rules only within the tolerance of the
    solver are forbidden one by one.
    """
    match = match_sizes and rules.sizes_vary
    known = None if incumbent is None else valued(rules, cost, incumbent, match)
    try:
        deadline.check()
        allowed = np.isfinite(cost)
        if not allowed.any(axis=1).all():
            raise NoAssignment
        shifted = np.where(allowed, cost - cost.min(axis=1, keepdims=True), 0.0)
        model = build(rules, match_sizes=match)
        objective = _objective(model, shifted)
        columns = np.ones(len(objective), bool)
        columns[: cost.size] = allowed.ravel()
        while True:
            values, optimal = solve_model(model, columns, objective, len(cost), deadline)
            if values is None:
                raise OutOfTime
            labels = _labels(values, cost)
            if not broken(rules, labels, any_order=match):
                break
            if not optimal:
                raise OutOfTime
            model = forbid(model, np.rint(values), cost.size)
    except OutOfTime:
        if known is None:
            raise
        return replace(known, optimal=False)
    found = replace(valued(rules, cost, labels, match), optimal=optimal)
    if known is not None and known.cost < found.cost:
        return replace(known, optimal=optimal)
    return found


def valued(rules: Rules, cost: FloatArray, labels: IntArray, match: bool) -> Assignment:
    """The labels with their cost, the sizes in the best order if that is free."""
    order = None
    if match and rules.sizes is not None:
        order = _closest_order(rules.sizes, rules.sizes_of(labels))
    placed = rules if order is None else rules.with_sizes_in_order(order)
    return Assignment(labels, cost_of(placed, cost, labels), order=order)


def _objective(model: Model, shifted: FloatArray) -> FloatArray:
    """What each column costs, in units of which a typical cost has 1000."""
    objective = model.price.copy()
    objective[: shifted.size] = shifted.ravel()
    return objective * (1e3 / _typical(shifted, model.price))


def _typical(shifted: FloatArray, price: FloatArray) -> float:
    """A typical difference between costs: the median over groups of the largest difference.

    It is at least a millionth of the largest price, so that prices stay in the range of the solver.
    """
    largest = shifted.max(axis=1)
    dearest = float(price.max(initial=0.0))
    for candidate in (np.median(largest), largest.max(initial=0.0), dearest):
        if candidate > 0:
            return max(float(candidate), dearest / 1e6)
    return 1.0


def assign_relaxed(
    rules: Rules, cost: FloatArray, *, deadline: Deadline = NEVER
) -> tuple[Assignment, float]:
    """Labels of least total :func:`violation` and, among those, of least cost; and that violation.

    The rules are made without contracting must-links, so that each can be broken on its own.
    Sizes whose order is free are matched to clusters in the best order.  Raises OutOfTime if the
    deadline comes before any answer.
    """
    rules, cost = rules.with_costs(cost)
    model = build(rules, match_sizes=True, elastic=True)
    breaking = model.violation.copy()
    own = breaking[: cost.size].reshape(cost.shape)
    groups, clusters = rules.pins.T
    np.add.at(own, groups, 1.0)
    np.add.at(own, (groups, clusters), -1.0)
    every = np.ones(len(breaking), bool)
    values, proven = solve_model(model, every, breaking, len(cost), deadline)
    if values is None:
        raise OutOfTime
    labels = _labels(values, cost)
    if proven:
        least = float(breaking @ values)
        most = np.array([least + 1e-6 * max(1.0, abs(least))])
        no_more = model.with_rows(sparse.csr_array(breaking[None, :]), np.array([-np.inf]), most)
        objective = _objective(no_more, cost - cost.min(axis=1, keepdims=True))
        try:
            values, proven = solve_model(no_more, every, objective, len(cost), deadline)
        except (OutOfTime, NoAssignment):
            values = None
        found = labels if values is None else _labels(values, cost)
        as_few = violation(rules, found) <= violation(rules, labels) * (1 + 1e-6) + 1e-6
        labels, proven = (found if as_few else labels), proven and as_few and values is not None
    answer = replace(valued(rules, cost, labels, rules.sizes_vary), optimal=proven)
    return answer, violation(rules, labels)


def violation(rules: Rules, labels: IntArray) -> float:
    """Total violation of the hard rules by the labels.

    A broken must-link, cannot-link or pin counts 1; a size counts 1 for each point too many or
    too few (unordered sizes in their best order); a total counts the amount by which it misses its
    bound divided by the mean absolute value, so that its unit does not matter; a linear row counts
    the amount by which it misses its bound divided by the mean absolute coefficient; a cluster
    that must be connected counts its parts beyond one.
    """
    amount = float(np.count_nonzero(labels[rules.pins[:, 0]] != rules.pins[:, 1]))
    apart, together = labels[rules.apart], labels[rules.together]
    amount += np.count_nonzero(apart[:, 0] == apart[:, 1])
    amount += np.count_nonzero(together[:, 0] != together[:, 1])
    if rules.sizes is not None:
        sizes, counted = rules.sizes, rules.sizes_of(labels)
        if not sizes.ordered:
            sizes = sizes.permuted(_closest_order(sizes, counted))
        amount += float(outside(counted, sizes.lower, sizes.upper).sum())
    for total in rules.totals:
        amount += float(total.excess(labels).sum()) / mean_size(total.values)
    if rules.linear is not None:
        amount += float((rules.linear.excess(labels) / row_sizes(rules.linear)).sum())
    if rules.adjacency is not None:
        amount += float(rules.adjacency.excess(labels))
    return amount


def _labels(values: FloatArray, cost: FloatArray) -> IntArray:
    return np.asarray(values[: cost.size].reshape(cost.shape).argmax(axis=1))


def _closest_order(sizes: SizeBounds, counted: IntArray) -> IntArray:
    """Order of the bounds that leaves the counted sizes outside by as little as possible."""
    exact = matching_order(sizes, counted)
    if exact is not None:
        return exact
    apart = outside(counted[:, None], sizes.lower, sizes.upper)
    return np.asarray(linear_sum_assignment(apart)[1])


def interruptible(call: Callable[[], T], stop: Callable[[], object]) -> T:
    """Return ``call()``, letting Ctrl-C end it.

    ``stop`` asks the call to end soon; the exception is raised when it has ended.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    cancelled, done = threading.Event(), threading.Event()
    wait = partial(done.wait, 0.1)

    def work() -> None:
        try:
            if not cancelled.is_set():
                results.append(call())
        except BaseException as error:  # raised again in the waiting thread below
            errors.append(error)
        finally:
            done.set()

    # Not a daemon: Python would end it inside the solver when the process exits, which aborts.
    thread = threading.Thread(target=work, name="corral-solver")
    try:
        thread.start()
        # Not by `join`: before Python 3.13 an interrupted one takes the thread for ended.  Without
        # a timeout the wait cannot be interrupted on every system.
        while not wait():
            pass
        thread.join()
    except BaseException:
        cancelled.set()  # read by a thread that begins only now
        while thread.is_alive():
            stop()
            wait()
        raise
    if errors:
        raise errors[0]
    return results[0]
