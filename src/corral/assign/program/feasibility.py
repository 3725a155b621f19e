"""Whether any assignment obeys the hard rules, whatever it costs."""

from __future__ import annotations

import numpy as np

from ..._typing import IntArray
from ...deadline import NEVER, Deadline
from ...presolve import Rules
from ..nearest import with_pins
from ..pairs.colouring import peel
from ..result import NoAssignment
from . import cpsat
from .milp import solve_roughly


def feasible(rules: Rules, deadline: Deadline = NEVER) -> IntArray | None:
    """Labels that obey all hard rules, or None if it is proven that there are none.

    Size bounds that are not tied to clusters may be handed out in any order.

    Parameters
    ----------
    rules : Rules
    deadline : Deadline, optional

    Raises
    ------
    OutOfTime
        The deadline came before an answer or a proof.

    Examples
    --------
    >>> import numpy as np
    >>> from corral.presolve import Pairs, Rules
    >>> pairs = Pairs(3, apart=np.array([[0, 1], [1, 2], [0, 2]]))
    >>> triangle = Rules(n_clusters=2, count=np.ones(3, int), pairs=pairs)
    >>> feasible(triangle) is None
    True
    """
    # Costs drawn at random have one best vertex, and it is a whole one more often than not.
    cost = np.random.default_rng(0).random((rules.n_groups, rules.n_clusters))
    try:
        pinned = with_pins(rules, cost)
        if not rules.bounded and not len(rules.together):
            return peel(rules, lambda part: cpsat.search(part, deadline))
        labels = solve_roughly(rules, pinned, deadline=deadline)
    except NoAssignment:
        return None
    return cpsat.search(rules, deadline) if labels is None else labels
