"""What the size of a cluster costs: hard bounds, and soft ones at their prices.

The cost of each size is convex and linear between its breaks.  A cluster whose rows pay a price
for being there takes as many of them as pays: up to the break where the slope exceeds the price.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...rules import SizeBounds, SoftSizes


@dataclass(frozen=True)
class Room:
    """Costs of the sizes of k clusters.

    ``breaks``, (k, t + 1), are sizes in increasing order: the least, those where the slope changes,
    and the largest.  ``slopes``, (k, t), is what a further row costs between two breaks.  Hard
    bounds alone are one interval of slope 0.
    """

    breaks: IntArray
    slopes: FloatArray

    @classmethod
    def of(cls, lower: IntArray, upper: IntArray, soft: SoftSizes | None = None) -> Room:
        """The costs of sizes between hard bounds.

        Examples
        --------
        >>> soft = SoftSizes(np.array([[2]]), np.array([[5]]), np.array([1.5]))
        >>> Room.of(np.array([0]), np.array([9]), soft)
        Room(breaks=array([[0, 2, 5, 9]]), slopes=array([[-1.5,  0. ,  1.5]]))
        """
        ends = np.column_stack([lower, upper])
        if soft is None:
            return cls(ends, np.zeros((len(lower), 1)))
        inner = np.concatenate([soft.lower, soft.upper]).T
        inner = np.clip(inner, lower[:, None], upper[:, None])
        breaks = np.sort(np.column_stack([ends, inner]), axis=1)
        at = breaks[:, :-1, None]
        over = (at >= soft.upper.T[:, None]).astype(float)
        return cls(breaks, ((over - (at < soft.lower.T[:, None])) * soft.price).sum(axis=2))

    @classmethod
    def of_sizes(cls, sizes: SizeBounds) -> Room:
        """The costs of the sizes."""
        return cls.of(sizes.lower, sizes.upper, sizes.soft)

    @property
    def lower(self) -> IntArray:
        """The least size of each cluster."""
        return self.breaks[:, 0]

    @property
    def upper(self) -> IntArray:
        """The largest size of each cluster."""
        return self.breaks[:, -1]

    @property
    def open(self) -> BoolArray:
        """Clusters that may have more than one size."""
        return self.lower < self.upper

    @cached_property
    def kinks(self) -> FloatArray:
        """Prices at which a cluster has more than one best size, (k, t); NaN for none."""
        return np.where(np.diff(self.breaks, axis=1) > 0, self.slopes, np.nan)

    def _at(self, place: IntArray) -> IntArray:
        return self.breaks[np.arange(len(place)), place]

    def least(self, prices: FloatArray) -> IntArray:
        """The smallest of the best sizes at the prices."""
        return self._at((self.slopes < prices[:, None]).sum(axis=1))

    def most(self, prices: FloatArray) -> IntArray:
        """The largest of the best sizes at the prices."""
        return self._at((self.slopes <= prices[:, None]).sum(axis=1))

    def around(self, counted: FloatArray | IntArray) -> tuple[FloatArray, FloatArray]:
        """Slopes before and after a size: the prices at which it is a best one are between."""
        rows, t = np.arange(len(counted)), self.slopes.shape[1]
        begun = (self.breaks[:, :-1] < counted[:, None]).sum(axis=1)
        ended = (self.breaks[:, 1:] <= counted[:, None]).sum(axis=1)
        before = np.where(begun > 0, self.slopes[rows, begun - 1], -np.inf)
        after = np.where(ended < t, self.slopes[rows, np.minimum(ended, t - 1)], np.inf)
        return before, after

    def nearest_kink(self, prices: FloatArray, excess: FloatArray) -> FloatArray:
        """The kink that each price comes to next if it rises by the excess; 0 without kinks.

        It is the nearest one if there is none that way.
        """
        if self.slopes.shape[1] == 1:
            return np.zeros(len(prices))
        gap = self.kinks - prices[:, None]
        wrong = gap * excess[:, None] < 0.0
        ahead = np.isfinite(gap) & ~wrong
        known = np.where(ahead.any(axis=1, keepdims=True), ahead, np.isfinite(gap))
        far = np.where(known, np.abs(gap), np.inf)
        kinks = np.where(np.isfinite(self.kinks), self.kinks, 0.0)
        return np.asarray(kinks[np.arange(len(prices)), far.argmin(axis=1)])

    def stopped(self, before: FloatArray, after: FloatArray, excess: FloatArray) -> FloatArray:
        """Prices after a step, which ends at the first kink that it would pass.

        A price at a kink rises only where the size is too large and falls only where it is too
        small.
        """
        gap, then = before[:, None] - self.kinks, after[:, None] - self.kinks
        wrong = np.where(gap != 0.0, then * gap, then * excess[:, None])
        passed = wrong <= 1e-12 * gap**2
        first = np.where(passed, np.abs(gap), np.inf).argmin(axis=1)
        at = self.kinks[np.arange(len(before)), first]
        return np.where(passed.any(axis=1), at, after)

    def snapped(self, prices: FloatArray) -> FloatArray:
        """Prices with 0 or a kink in place of those that differ from it by rounding alone."""
        rounding = 1e-13 * np.abs(prices).max()
        prices = np.where(np.abs(prices) > rounding, prices, 0.0)
        if self.slopes.shape[1] > 1:
            for kink in self.kinks.T:
                prices = np.where(np.abs(prices - kink) <= rounding, kink, prices)
        return prices

    def tolls(self, largest: float) -> FloatArray:
        """The slopes less the least of them, with gaps between them of moderate length, (k, t).

        A flow that moves one row more into a dearer interval saves at most ``largest`` in each of
        k clusters on the way.  So wider gaps change no best flow, but would leave fewer digits for
        the costs of the rows.
        """
        if self.slopes.shape[1] == 1:
            return np.zeros(self.slopes.shape)
        levels, place = np.unique(self.slopes, return_inverse=True)
        gaps = np.minimum(np.diff(levels, prepend=levels[0]), 2.0 * len(self.breaks) * largest)
        return np.asarray(np.cumsum(gaps)[place].reshape(self.slopes.shape))
