"""A program for HiGHS as plain arrays, and a process of its own to solve it in.

Inside a large integer program HiGHS does not ask for its time limit for half a minute at times.  A
process can be ended at any moment.  This file is also what that process runs, so it imports nothing
of corral.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Arrays by name: A (start, index, value, shape), lower, upper, cost, top, integral.
Program = dict[str, NDArray[Any]]

#: What HiGHS found: no answer exists, the best answer, or neither is shown.
INFEASIBLE, OPTIMAL, UNDECIDED = 0, 1, 2


def load(program: Program, options: dict[str, Any]) -> Any:
    """HiGHS with the program: minimise ``cost @ v`` with bounds on ``A v``, and v from 0 to top."""
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    for name, value in options.items():
        solver.setOptionValue(name, value)
    m, n = program["shape"].tolist()
    columns = program["cost"], np.zeros(n), program["top"]
    matrix = program["start"], program["index"], program["value"], program["integral"]
    bounds = program["lower"], program["upper"]
    size = len(program["value"])
    by_rows, minimise = int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize)
    solver.passModel(n, m, size, by_rows, minimise, 0.0, *columns, *bounds, *matrix)
    return solver


def status_of(solver: Any) -> int:
    """INFEASIBLE, OPTIMAL or UNDECIDED."""
    from highspy import HighsModelStatus as Status

    status = solver.getModelStatus()
    # No program is unbounded: no cost is negative where a column has no upper bound.
    if status in (Status.kInfeasible, Status.kUnboundedOrInfeasible):
        return INFEASIBLE
    return OPTIMAL if status == Status.kOptimal else UNDECIDED


def values_of(solver: Any) -> NDArray[np.float64] | None:
    """The values of the columns; None if there is no answer."""
    from highspy import SolutionStatus

    if solver.getInfo().primal_solution_status != SolutionStatus.kSolutionStatusFeasible:
        return None
    return np.asarray(solver.getSolution().col_value)


def solve_apart(
    program: Program, options: dict[str, Any], seconds: float
) -> tuple[int, NDArray[np.float64] | None]:
    """Status and values of a program that a process of its own solves.

    The process is ended if it has no answer after the given seconds, and at Ctrl-C.
    """
    sent = io.BytesIO()
    arrays: Any = program
    np.savez(sent, **arrays)
    command = [sys.executable, __file__, json.dumps(options)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    # In a session of its own Ctrl-C does not reach it, and it has nothing to tell.
    pipes |= {"stderr": subprocess.DEVNULL, "start_new_session": True}
    limit = None if seconds == float("inf") else seconds
    with subprocess.Popen(command, **pipes) as process:
        try:
            told, _ = process.communicate(sent.getvalue(), limit)
        except subprocess.TimeoutExpired:
            told = b""
        finally:
            process.kill()
    with suppress(ValueError, EOFError, OSError):
        found = np.load(io.BytesIO(told))
        return int(found["status"]), found["values"] if len(found["values"]) else None
    return UNDECIDED, None


def main() -> None:
    """Solve the program that comes in, and send status and values back."""
    solver = load(dict(np.load(io.BytesIO(sys.stdin.buffer.read()))), json.loads(sys.argv[1]))
    solver.run()
    values = values_of(solver)
    np.savez(
        sys.stdout.buffer,
        status=status_of(solver),
        values=np.empty(0) if values is None else values,
    )


if __name__ == "__main__":
    main()
