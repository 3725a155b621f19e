"""Prices for sums over clusters, sizes and totals alike, by ascent of the Lagrangian bound.

Every sum has a price for each cluster, paid for what a group adds to it.  With the sums priced
instead of bounded only the pairs are left, and the best labels under them give a bound below
every answer:

    L(p) = min over labels of cost + sum_rj p_rj s_rj  -  sum_rj max over allowed s of p_rj s.

A price above 0 says that the sum is full, one below 0 that it is at its least.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...presolve import Rules, TotalBounds
from ...rows.scan import scan
from ..check import sums_by
from .newton import newton_step, signed_prices

#: Rows looked at for each that is in the wrong place, and the least number of them.
ROWS_EACH = 4
LEAST_ROWS = 200

#: No price changes by more than so many times what the farthest row looked at would need.
LONGEST_STEP = 8.0

#: A step that does not raise the bound is halved so often before it is given up.
HALVINGS = 6


@dataclass(frozen=True)
class Sums:
    """Bounded sums: ``lower[r, j] <= sum of values[r] over cluster j <= upper[r, j]``."""

    values: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, rules: Rules) -> Sums:
        """Sizes and totals of a rules."""
        bounds = list(rules.totals)
        if rules.sizes is not None:
            most = np.minimum(rules.sizes.upper, rules.count.sum()).astype(float)
            sizes = rules.sizes.lower.astype(float), most
            bounds.insert(0, TotalBounds(rules.count.astype(float), *sizes))
        return cls(
            np.array([sum_.values for sum_ in bounds]),
            np.array([sum_.lower for sum_ in bounds]),
            np.array([sum_.upper for sum_ in bounds]),
        )

    def sample(self, rows: IntArray) -> Sums:
        """The sums over some of the groups, bounds in proportion."""
        part = len(rows) / self.values.shape[1]
        return Sums(self.values[:, rows], part * self.lower, part * self.upper)

    def reached(self, labels: IntArray) -> FloatArray:
        """The sums that labels give, (r, k)."""
        return np.array([sums_by(labels, v, self.lower.shape[1]) for v in self.values])

    @property
    def signed(self) -> BoolArray:
        """Where the bounds leave room, so that the sign of a price has a meaning."""
        return np.asarray(self.lower < self.upper)

    def aim(self, prices: FloatArray, reached: FloatArray) -> FloatArray:
        """Allowed sums that cost most at the prices, those reached where it makes no odds."""
        inside = np.clip(reached, self.lower, self.upper)
        return np.where(prices > 0, self.upper, np.where(prices < 0, self.lower, inside))

    def price(self, cost: FloatArray, prices: FloatArray) -> FloatArray:
        """Costs with what every group pays for the sums."""
        priced: FloatArray = cost + self.values[0][:, None] * prices[0]
        for value, price in zip(self.values[1:], prices[1:], strict=True):
            priced += value[:, None] * price
        return priced


@dataclass(frozen=True)
class View:
    """The best labels at some prices.

    Attributes
    ----------
    prices : (r, k) array
    labels : (m,) array
        Best under the pairs.
    best, margin : (m,) arrays
        Least priced cost of each group on its own, and what its next best cluster costs more.
    repair : (m,) array
        What the pairs of its component cost, in all, beyond the best of each group on its own.
    bound : float
    """

    prices: FloatArray
    labels: IntArray
    best: FloatArray
    margin: FloatArray
    repair: FloatArray
    bound: float

    def excess(self, sums: Sums) -> FloatArray:
        """How far each sum is from where the prices want it; the gradient of the bound."""
        reached = sums.reached(self.labels)
        return reached - sums.aim(self.prices, reached)

    def misplaced(self, sums: Sums) -> float:
        """About how many groups are in the wrong place."""
        unit = np.abs(sums.values).mean(axis=1)
        amount = np.abs(self.excess(sums)).sum(axis=1)
        return float((amount / np.where(unit > 0, unit, 1.0)).max())


#: Best labels under the pairs for priced costs, given the best of each group on its own; what
#: the pairs cost beyond those in the component of each group; and in all.
Placing = Callable[[FloatArray, IntArray], tuple[IntArray, FloatArray, float]]


def alone(priced: FloatArray, labels: IntArray) -> tuple[IntArray, FloatArray, float]:
    """Placing without pairs."""
    return labels, np.zeros(len(labels)), 0.0


def look(cost: FloatArray, sums: Sums, prices: FloatArray, placing: Placing) -> View:
    """Best labels and bound at given prices."""
    priced = sums.price(cost, prices)
    own, best, margin = scan(priced, np.zeros(cost.shape[1]))
    labels, repair, extra = placing(priced, own)
    dearest = sums.aim(prices, np.zeros_like(prices))
    paid = float((prices[prices != 0] * dearest[prices != 0]).sum())
    return View(prices, labels, best, margin, repair, float(best.sum()) + extra - paid)


def ascend(cost: FloatArray, sums: Sums, start: FloatArray, placing: Placing, rounds: int) -> View:
    """Raise the bound by Newton's method until a step moves next to nothing.

    Parameters
    ----------
    cost : (m, k) array
        Infinite where a group may not go.
    sums : Sums
    start : (r, k) array
        Prices to start from.
    placing : callable
    rounds : int
        At most so many steps.
    """
    view = look(cost, sums, _allowed(sums, start), placing)
    for _ in range(rounds):
        if view.misplaced(sums) < 1:
            break
        better = _climb(cost, sums, view, placing)
        if better is None:
            break
        view = better
    return view


def _climb(cost: FloatArray, sums: Sums, view: View, placing: Placing) -> View | None:
    """View after a step that raises the bound, None if there is none."""
    excess = view.excess(sums)
    step = _direction(cost, sums, view, excess)
    for _ in range(HALVINGS):
        after = signed_prices(view.prices, view.prices + step, excess, sums.signed)
        trial = look(cost, sums, _allowed(sums, after), placing)
        if trial.bound > view.bound:
            return trial
        step = step / 4.0
    return None


def _allowed(sums: Sums, prices: FloatArray) -> FloatArray:
    """Prices without those that an absent bound forbids."""
    prices = np.where(np.isinf(sums.upper), np.minimum(prices, 0.0), prices)
    return np.where(np.isinf(sums.lower), np.maximum(prices, 0.0), prices)


def _direction(cost: FloatArray, sums: Sums, view: View, excess: FloatArray) -> FloatArray:
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
    step = newton_step(
        system, excess.ravel(), view.prices.ravel(), sums.signed.ravel(), fixed.ravel()
    ).reshape(excess.shape)
    unit = np.abs(sums.values).mean(axis=1)[:, None]
    longest = LONGEST_STEP * reach / np.where(unit > 0, unit, 1.0)
    return np.clip(step, -longest, longest)


def _borders(cost: FloatArray, sums: Sums, view: View, reach: float) -> FloatArray:
    """What leaves each sum of each cluster when every price in turn rises by ``reach``."""
    k = cost.shape[1]
    rows = np.flatnonzero(view.margin <= reach)
    gap = Sums(sums.values[:, rows], sums.lower, sums.upper).price(cost[rows], view.prices)
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
