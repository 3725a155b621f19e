"""Prices for sums over clusters, sizes and totals alike, by ascent of the Lagrangian bound.

Every sum has a price for each cluster, paid for what a group adds to it.  With prices in place of
bounds only the pairs are left, and the best labels under them give a lower bound on the cost of
every answer:

    L(p) = min over labels of cost + sum_rj p_rj s_rj  -  sum_rj max over allowed s of p_rj s.

A price above 0 means that the sum is at its upper bound, one below 0 at its lower bound.  The price
of a soft sum is at most that of a unit outside its bounds; there the sum may be farther out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray, IntArray
from ...constraints._checks import sums_by
from ...deadline import NEVER, Deadline, OutOfTime
from ...rows.costs import scan
from ...rules import Sums
from ..sizes.prices import newton_step, signed_prices

#: Groups that a step looks at for each misplaced group, and their least number; more make a step
#: longer and its direction better.
ROWS_EACH = 4
LEAST_ROWS = 200

#: Longest change of a price in one step, in units of what moves the farthest group looked at.
LONGEST_STEP = 8.0

#: Steps tried along one direction; each is a quarter of the one before.  If none of them raises the
#: bound, the ascent ends.
STEPS_TRIED = 6


@dataclass(frozen=True)
class View:
    """The best labels under the pairs at some prices, (r, k), and the bound.

    ``best`` and ``margin`` are the least priced cost of each group without pairs, and what its next
    best cluster costs more; ``repair`` is what its component costs more because of its pairs.
    """

    prices: FloatArray
    labels: IntArray
    best: FloatArray
    margin: FloatArray
    repair: FloatArray
    bound: float

    def excess(self, sums: Sums) -> FloatArray:
        """How far each sum is from the bound that its price asks for: the gradient of ``L``."""
        reached = sums.reached(self.labels)
        return reached - aim(sums, self.prices, reached)

    def misplaced(self, sums: Sums) -> float:
        """About how many groups are in the wrong cluster."""
        amount = np.abs(self.excess(sums)).sum(axis=1)
        return float((amount / sums.unit[:, 0]).max())


def aim(sums: Sums, prices: FloatArray, reached: FloatArray) -> FloatArray:
    """Allowed sums that cost most at the prices; of several, those nearest to the reached."""
    inside = np.clip(reached, sums.lower, sums.upper)
    most = np.where(prices > 0, sums.upper, np.where(prices < 0, sums.lower, inside))
    most = np.where(prices >= sums.price, np.maximum(most, reached), most)
    return np.where(prices <= -sums.price, np.minimum(most, reached), most)


def priced(sums: Sums, cost: FloatArray, prices: FloatArray) -> FloatArray:
    """Costs with what every group pays for the sums."""
    result: FloatArray = cost + sums.values[0][:, None] * prices[0]
    for value, price in zip(sums.values[1:], prices[1:], strict=True):
        result += value[:, None] * price
    return result


#: Takes priced costs and the best label of each group without pairs.  Gives the best labels under
#: the pairs, what the component of each group costs more because of its pairs, and the sum of that
#: over the components.
Placing = Callable[[FloatArray, IntArray], tuple[IntArray, FloatArray, float]]


def alone(cost: FloatArray, labels: IntArray) -> tuple[IntArray, FloatArray, float]:
    """Placing without pairs."""
    return labels, np.zeros(len(labels)), 0.0


def look(cost: FloatArray, sums: Sums, prices: FloatArray, placing: Placing) -> View:
    """Best labels and bound at given prices."""
    total = priced(sums, cost, prices)
    own, best, margin = scan(total, np.zeros(cost.shape[1]))
    labels, repair, extra = placing(total, own)
    most = np.where(prices > 0, sums.upper, sums.lower)
    paid = float((prices[prices != 0] * most[prices != 0]).sum())
    return View(prices, labels, best, margin, repair, float(best.sum()) + extra - paid)


def ascend(
    cost: FloatArray,
    sums: Sums,
    start: FloatArray,
    placing: Placing,
    rounds: int,
    deadline: Deadline = NEVER,
) -> View:
    """Raise the bound by Newton's method until less than one group is misplaced.

    At most ``rounds`` steps are made, and none begins after the deadline.
    """
    view = look(cost, sums, _allowed(sums, start), placing)
    for _ in range(rounds):
        if view.misplaced(sums) < 1 or deadline.passed:
            break
        try:
            better = _climb(cost, sums, view, placing, deadline)
        except OutOfTime:
            break
        if better is None:
            break
        view = better
    return view


def _climb(
    cost: FloatArray, sums: Sums, view: View, placing: Placing, deadline: Deadline
) -> View | None:
    """View after a step that raises the bound, None if no step does; raises OutOfTime."""
    excess = view.excess(sums)
    step = _direction(cost, sums, view, excess, deadline)
    for _ in range(STEPS_TRIED):
        deadline.check()
        after = signed_prices(view.prices, view.prices + step, excess, sums.signed)
        trial = look(cost, sums, _allowed(sums, after), placing)
        if trial.bound > view.bound:
            return trial
        step = step / 4.0
    return None


def _allowed(sums: Sums, prices: FloatArray) -> FloatArray:
    """Prices with 0 in place of those that ask for a bound that does not exist.

    Those of soft sums are at most the price of a unit outside the bounds.
    """
    prices = np.clip(prices, -sums.price, sums.price)
    prices = np.where(np.isinf(sums.upper), np.minimum(prices, 0.0), prices)
    return np.where(np.isinf(sums.lower), np.maximum(prices, 0.0), prices)


def _direction(
    cost: FloatArray, sums: Sums, view: View, excess: FloatArray, deadline: Deadline
) -> FloatArray:
    """Change of the prices that would be right if groups were spread evenly near the borders."""
    place = int(min(max(LEAST_ROWS, ROWS_EACH * view.misplaced(sums)), len(cost) // 2))
    reach = float(np.partition(view.margin, place)[place])
    finite = view.margin[np.isfinite(view.margin)]
    rounding = 1e-12 * float(np.abs(view.best).max())
    reach = max(min(reach, float(finite.max(initial=0.0))), rounding)
    if reach <= 0:
        return np.zeros_like(view.prices)
    system = _borders(cost, sums, view, reach) / reach
    fixed = sums.signed & (view.prices == 0) & (excess == 0)
    prices, signed = view.prices.ravel(), sums.signed.ravel()
    step = newton_step(system, excess.ravel(), prices, signed, fixed.ravel(), deadline)
    step = step.reshape(excess.shape)
    longest = LONGEST_STEP * reach / sums.unit
    return np.clip(step, -longest, longest)


def _borders(cost: FloatArray, sums: Sums, view: View, reach: float) -> FloatArray:
    """What leaves each sum of each cluster when every price in turn rises by ``reach``."""
    k = cost.shape[1]
    rows = np.flatnonzero(view.margin <= reach)
    gap = priced(sums.part(rows), cost[rows], view.prices)
    gap -= gap.min(axis=1, keepdims=True)
    row, to = np.nonzero(gap <= reach)
    edge = gap.argmin(axis=1)[row] * k + to
    values = sums.values[:, rows[row]]
    system = np.empty((len(values), k, len(values), k))
    for r, q in np.ndindex(len(values), len(values)):
        border = sums_by(edge, values[r] * values[q], k * k).reshape(k, k)
        border = (border + border.T) / 2.0
        np.fill_diagonal(border, 0.0)
        system[r, :, q, :] = np.diag(border.sum(axis=1)) - border
    return system.reshape(len(values) * k, len(values) * k)
