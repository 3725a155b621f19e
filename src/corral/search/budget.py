"""The budget of a search: work, and the deadline that may cut it.

Work is counted in numbers read, so that a seed gives the same answer on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import numbers as at
from ..deadline import Deadline
from ..settings import coarse_groups, default_limit


@dataclass
class Budget:
    """Work that a search may do, and has done.

    ``patience`` is the number of children without success that end it before.
    """

    work: float
    deadline: Deadline
    spent: float = 0.0
    patience: float = np.inf

    @classmethod
    def of(cls, shape: tuple[int, int], n_clusters: int, effort: float, until: Deadline) -> Budget:
        """The budget of so many groups and features."""
        (m, d), searched = shape, min(shape[0], coarse_groups(n_clusters))
        entries = at.WORK_EACH * searched + at.WORK_ALL * m
        # Less than the time that fits of so many rows have by default, so that work ends them.
        most = at.STEP * 1e9 * default_limit(m)
        work = min(at.WORK + entries * n_clusters * (d + 4.0), most)
        patience = max(at.IDLE, n_clusters)
        return cls(effort * work, until, patience=effort * patience)

    def spend(self, work: float) -> None:
        """Count work that was done."""
        self.spent += work

    @property
    def left(self) -> float:
        """Work that may still be done."""
        return max(self.work - self.spent, 0.0)

    @property
    def part(self) -> float:
        """How much of the work is done, from 0 to 1."""
        return min(self.spent / self.work, 1.0) if self.work > 0.0 else 1.0

    @property
    def over(self) -> bool:
        """Whether all work is done, or the deadline has come."""
        return self.spent >= self.work or self.deadline.passed
