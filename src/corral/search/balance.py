r"""Prices of bounded sums by soft loads, wherever the rows are.

With amounts :math:`A` and shares :math:`P = softmax(-(c + A \pi) / T)` the loads are :math:`A'P`.
A damped diagonal Newton step moves the prices :math:`\pi` towards loads that keep their bounds,
Anderson's method mixes the last steps, and the temperature T falls: at a high one all clusters
share rows, at a low one loads are nearly those of whole rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import BoolArray, FloatArray
from ..rows import Passes

#: Factor by which the temperature falls.  A larger one takes more passes; a smaller one leaves
#: prices that are further off at the next temperature.
COOLING = 0.35
#: Temperatures at which falls begin, in the median margin of the rows: at first where prices of a
#: sample are known (without them, the mean cost), and in later rounds at least.
WARM, LATER = 1.0, 0.2
#: Temperatures at which they end, and where rows are settled.  At a lower one loads are closer to
#: those of whole rows, and steps are shorter.
LAST, FINEST = 0.05, 0.01
#: Newton steps at one temperature, and falls of the temperature in a round, at most.
STEPS, FALLS = 16, 2
#: Part of all amounts outside the bounds at which a temperature ends, and the last one where rows
#: are settled.  What a temperature leaves between regions far apart, lower ones do not mend.
GOOD, FINE = 3e-3, 3e-4
#: Part of a Newton step that is made.  Diagonal steps of all prices together overshoot where two
#: clusters share a border: with 1 they swing, 2/3 damps that fastest.
DAMPING = 2.0 / 3.0
#: Longest step, in temperatures.
LONGEST = 3.0
#: Steps that are mixed with the last one, and relative singular value below which they are alike.
#: 30,000 rows of 64 clumps with Zipf populations need 35 passes in all with 5 and 62 with none.
MIXED, SINGULAR = 5, 1e-6
#: Factor of what the best prices leave outside the bounds above which mixing begins anew.
ASTRAY = 2.0
#: Least part of a mean load that the curvature is taken for.
LEAST_BEND = 1e-3
#: Margin, in the mean cost of a row, that stands for one where all margins are 0.
LEAST_MARGIN = 1e-6


@dataclass(frozen=True)
class Bounds:
    """Bounds on the sums of the groups that prices place, and their Newton steps."""

    lower: FloatArray  # (q, k)
    upper: FloatArray
    unit: FloatArray  # mean amount of a group, (q, 1)
    total: FloatArray  # sum of all absolute amounts, (q, 1)
    signed: BoolArray  # whether some amounts are negative, (q,)

    def outside(self, sums: FloatArray) -> FloatArray:
        """By how much sums are above their bounds, below 0 if under them, (q, k)."""
        over = np.maximum(sums - self.upper, 0.0) - np.maximum(self.lower - sums, 0.0)
        return np.asarray(over)

    def missed(self, sums: FloatArray) -> float:
        """Part of all amounts that is outside the bounds, of the sum that misses most."""
        return float((np.abs(self.outside(sums)) / self.total).sum(axis=1).max(initial=0.0))

    def step(
        self, prices: FloatArray, load: FloatArray, bend: FloatArray, temperature: float
    ) -> FloatArray:
        """Prices after a damped diagonal Newton step.

        A bound whose price is not 0 is held; the price of an inequality that would change its sign
        becomes 0.
        """
        want = np.clip(load, self.lower, self.upper)
        held = np.where(prices > 0.0, self.upper, np.where(prices < 0.0, self.lower, want))
        off = load - np.where(np.isfinite(held), held, want)
        least = LEAST_BEND * self.unit * self.total / off.shape[1]
        step = DAMPING * temperature * off / np.maximum(bend, least)
        longest = LONGEST * temperature / self.unit
        new = prices + np.clip(step, -longest, longest)
        crossed = (prices * new < 0.0) & (self.lower < self.upper)
        return np.where(crossed, 0.0, new)

    def signed_as(self, prices: FloatArray, others: FloatArray) -> FloatArray:
        """Prices, 0 where those of inequalities have another sign than others."""
        other = (prices * others <= 0.0) & (self.lower < self.upper)
        return np.where(other, 0.0, prices)

    def slack(self, prices: FloatArray, sums: FloatArray) -> float:
        """What sums that keep their bounds leave of these, at the prices."""
        bound = np.where(prices > 0.0, self.upper, self.lower)
        paid = np.where(prices == 0.0, 0.0, prices * (np.where(prices == 0.0, 0.0, bound) - sums))
        return float(paid.sum())


class Mixed:
    """Anderson acceleration: the next point from the last few points and their steps.

    Diagonal steps are short for clusters that share rows with each other and are full together.
    Mixing the last steps finds such common directions, as a Krylov method does.
    """

    def __init__(self) -> None:
        self._points: list[FloatArray] = []
        self._steps: list[FloatArray] = []

    def next(self, point: FloatArray, stepped: FloatArray) -> FloatArray:
        """The next point, given the last one and where its step leads."""
        self._points = [*self._points[-MIXED:], point.ravel()]
        self._steps = [*self._steps[-MIXED:], (stepped - point).ravel()]
        if len(self._steps) == 1:
            return stepped
        points, steps = (np.diff(each, axis=0).T for each in (self._points, self._steps))
        share = np.linalg.lstsq(steps, self._steps[-1], rcond=SINGULAR)[0]
        mixed: FloatArray = stepped - ((points + steps) @ share).reshape(point.shape)
        return mixed


class Balance:
    """Finds prices round after round, and where the next fall of the temperature begins.

    ``cost`` is the mean cost of a row, where the first fall begins.
    """

    def __init__(self, bounds: Bounds, cost: float) -> None:
        self.bounds, self.cost = bounds, cost
        self.middle = 0.0  # median margin of the rows
        self.temperature = 0.0  # the last one at which prices were found
        self.top = cost  # the temperature that the next fall begins at

    @property
    def level(self) -> float:
        """The margin that temperatures are measured in; 0 if all rows are one point."""
        return self.middle if self.middle > 0.0 else LEAST_MARGIN * self.cost

    def seen(self, middle: float) -> None:
        """Note the median margin of the rows, if there is one."""
        self.middle = middle if middle > 0.0 else self.middle

    def warm(self) -> None:
        """Begin the next fall at a low temperature: prices are nearly right."""
        self.top = min(WARM * self.level, self.cost)

    def found(self, passes: Passes, prices: FloatArray, fine: bool = True) -> FloatArray:
        """Prices at which soft loads keep their bounds, from those in hand.

        A fall from a low temperature is quick, and enough where loads are nearly balanced.  Where
        it leaves too much outside, as between regions that no row lies between, the next one begins
        higher, and later rounds begin there.
        """
        good = FINE if fine else GOOD
        if not len(prices) or self.level <= 0.0:
            return prices
        begun = self.top
        for _ in range(FALLS):
            prices, missed = self._fall(passes, prices, FINEST if fine else LAST, good)
            if missed <= GOOD or self.top >= self.cost:
                break
            self.top = min(self.top / COOLING**2, self.cost)
        if missed <= GOOD and self.top == begun:
            self.top = max(self.top * COOLING, LATER * self.level)
        return prices

    def _fall(
        self, passes: Passes, prices: FloatArray, last: float, good: float
    ) -> tuple[FloatArray, float]:
        """Newton steps at falling temperatures, and what they leave outside the bounds."""
        temperature, end, missed = self.top, last * self.level, np.inf
        while True:
            temperature = max(temperature, end)
            enough = good if temperature == end else GOOD
            mixed, missed, best = Mixed(), np.inf, prices
            for _ in range(STEPS):
                load, bend = passes.soft_loads(prices, temperature)
                found = self.bounds.missed(load)
                if found < missed:
                    missed, best = found, prices
                if missed < enough:
                    break
                if found > ASTRAY * missed:
                    mixed = Mixed()
                new = self.bounds.step(prices, load, bend, temperature)
                prices = self.bounds.signed_as(mixed.next(prices, new), new)
            prices = best
            self.temperature = temperature
            if temperature == end:
                return prices, missed
            temperature *= COOLING
