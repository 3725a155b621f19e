"""Whether any assignment obeys the hard rules, whatever it costs."""

from __future__ import annotations

import numpy as np

from .._typing import IntArray
from ..problem import Problem
from . import cpsat
from .colouring import peel
from .milp import solve_roughly
from .nearest import with_pins
from .result import NoAssignment


def feasible(problem: Problem, deadline: float | None = None) -> IntArray | None:
    """Labels that obey all hard rules, or None if it is proven that there are none.

    Size bounds that are not tied to clusters may be handed out in any order.

    Parameters
    ----------
    problem : Problem
    deadline : float, optional
        An instant of :func:`time.monotonic`.

    Raises
    ------
    OutOfTime
        The deadline came before an answer or a proof.

    Examples
    --------
    >>> import numpy as np
    >>> from corral.problem import Problem
    >>> triangle = Problem(
    ...     points=np.zeros((3, 1)),
    ...     weight=np.ones(3),
    ...     count=np.ones(3, int),
    ...     scatter=0.0,
    ...     group=np.arange(3),
    ...     n_clusters=2,
    ...     apart=np.array([[0, 1], [1, 2], [0, 2]]),
    ... )
    >>> feasible(triangle) is None
    True
    """
    # Costs drawn at random have one best vertex, and it is a whole one more often than not.
    cost = np.random.default_rng(0).random((problem.n_groups, problem.n_clusters))
    try:
        pinned = with_pins(problem, cost)
        bounded = problem.sizes is not None or problem.totals or problem.linear is not None
        if not bounded and not len(problem.together):
            return peel(problem, lambda part: cpsat.search(part, deadline))
        labels = solve_roughly(problem, pinned, deadline=deadline)
    except NoAssignment:
        return None
    return cpsat.search(problem, deadline) if labels is None else labels
