"""Prices that explain where rows went among their candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray, IntArray
from ...deadline import Deadline
from ...presolve import SizeBounds

#: Difference of costs, relative to the largest of them, up to which they count as equal; flows
#: round costs to it.
ROUNDING = 2.0**-42


@dataclass(frozen=True)
class Moves:
    """Least cost of moving a row from one cluster to another, where rows may; node k is outside."""

    k: int
    start: IntArray
    end: IntArray
    length: FloatArray
    anchored: bool = False

    @classmethod
    def of(cls, gap: FloatArray, where: IntArray, chosen: IntArray, k: int) -> Moves:
        """Of rows in the chosen ones of their candidates."""
        rows = np.arange(len(chosen))
        open_to = np.isfinite(gap)
        key = (where[rows, chosen].astype(np.int64)[:, None] * (k + 1) + where)[open_to]
        length = (gap - gap[rows, chosen][:, None])[open_to]
        order = np.argsort(key, kind="stable")
        found, first = np.unique(key[order], return_index=True)
        return cls(k, *np.divmod(found, k + 1), np.minimum.reduceat(length[order], first))

    def with_outside(self, sizes: SizeBounds, counted: IntArray, prices: FloatArray) -> Moves:
        """The same with moves from and to the outside, whose price is 0.

        A cluster with fewer rows than its upper bound has no positive price, and one with more than
        its lower bound no negative price.
        """
        interval = sizes.lower < sizes.upper
        leave = np.flatnonzero(interval & (counted < sizes.upper))
        enter = np.flatnonzero(interval & (counted > sizes.lower))
        return Moves(
            self.k,
            np.concatenate([self.start, leave, np.full(len(enter), self.k)]),
            np.concatenate([self.end, np.full(len(leave), self.k), enter]),
            np.concatenate([self.length, -prices[leave], prices[enter]]),
            anchored=True,
        )

    def settle(self, deadline: Deadline) -> FloatArray:
        """Changes of the prices with ``change[a] <= change[b] + length`` for a move from a to b.

        They are midway between the lowest and the highest.  Anchored, the outside stays at 0.
        """
        high = self._shortest(self.start, self.end, deadline)
        low = self._shortest(self.end, self.start, deadline)
        result = (high - low) / 2
        return np.asarray(result[:-1] - (result[-1] if self.anchored else result[:-1].mean()))

    def _shortest(self, start: IntArray, end: IntArray, deadline: Deadline) -> FloatArray:
        """Highest values of at most 0 with ``value[start] <= value[end] + length``."""
        order = np.argsort(start, kind="stable")
        nodes, first = np.unique(start[order], return_index=True)
        end, length = end[order], self.length[order]
        value = np.zeros(self.k + 1)
        # Lengths are rounded, so that a cycle may be a little shorter than 0.
        length = length + ROUNDING / 4 * float(np.abs(length).max(initial=0.0)) * (length != 0)
        for _ in range(self.k + 1):
            deadline.check()
            least = np.minimum.reduceat(value[end] + length, first) if len(first) else value[nodes]
            if np.all(least >= value[nodes]):
                break
            value[nodes] = np.minimum(value[nodes], least)
        return value
