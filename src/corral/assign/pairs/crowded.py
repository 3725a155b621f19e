"""Labels under cannot-links and sizes without a proof, for graphs too tangled to solve in time."""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray
from ...presolve import Rules, SizeBounds
from ..nearest import with_pins
from ..result import NoAssignment
from ..sizes import solve_sizes
from ..sizes.flow import flow_prices, transport
from ..sums.repair import share_out
from .greedy import solve_greedily


def solve_crowded(rules: Rules, cost: FloatArray, start: IntArray | None = None) -> IntArray | None:
    """Cheap labels that obey pins, cannot-links and sizes, or None if greed meets a dead end.

    Every group is placed greedily at the prices of the sizes, which keeps them nearly; then groups
    of one row that share no pair are shared out anew, so that the sizes are kept.

    Parameters
    ----------
    rules : Rules
        With pins, cannot-links and sizes only.
    cost : (m, k) array
    start : (m,) array, optional
        Labels that obey the rules.

    Examples
    --------
    >>> import numpy as np
    >>> from corral.presolve import Pairs, Rules, SizeBounds
    >>> pairs = Pairs(4, apart=np.array([[0, 1]]))
    >>> sizes = SizeBounds(np.array([2, 2]), np.array([2, 2]), ordered=True)
    >>> rules = Rules(n_clusters=2, count=np.ones(4, int), pairs=pairs, sizes=sizes)
    >>> solve_crowded(rules, np.array([[0.0, 3.0], [0.0, 1.0], [0.0, 9.0], [5.0, 0.0]]))
    array([0, 1, 0, 1])
    """
    if rules.sizes is None:
        return None
    pinned = with_pins(rules, cost)
    try:
        prices = _prices(pinned, rules.count, rules.sizes)
    except NoAssignment:
        return None
    priced = pinned + rules.count[:, None] * prices
    labels = solve_greedily(rules, priced, start)
    if labels is None:
        return None
    two = np.partition(priced, 1, axis=1)
    return share_out(rules, pinned, labels, two[:, 1] - two[:, 0], prices)


def _prices(cost: FloatArray, count: IntArray, sizes: SizeBounds) -> FloatArray:
    """Price a row of each cluster that the sizes alone ask for."""
    found = solve_sizes(cost, count, sizes)[1] if np.ptp(count) == 0 else None
    if found is not None:
        return found
    unit_cost = cost / count[:, None]
    flow = transport(unit_cost, count, sizes.lower, sizes.upper)
    return flow_prices(flow > 0, unit_cost, flow.sum(axis=0), sizes)
