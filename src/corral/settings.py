"""How to solve: what the user asked for, and what follows from it for a problem."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ._typing import FloatArray, IntArray
from .problem import Problem

#: Called once an iteration, as (iteration, objective, residual, rules broken).
Progress = Callable[[int, float, float, int], None]

#: ``n_init="auto"`` gives as many restarts as look at this many entries of x, within limits.
AUTO_WORK = 100_000
AUTO_MOST = 5

#: Where repair follows the projected solver may hurry, as long as the x that it sees has no more
#: entries than this, with sums to keep and without: half the time for the same objectives.
HURRIED, HURRIED_FREE = 6_000, 20_000
HURRIED_GROWTH = 1.1
#: Up to so many clusters it grows as given; with more, more slowly, but not below this part.
PARTINGS, SLOWEST = 10, 0.4


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to solve: the estimator's parameters, validated, with defaults filled in.

    ``deadline`` is an instant of :func:`time.monotonic`.
    """

    solver: str
    init: str | FloatArray | IntArray
    n_init: int | str
    max_iter: int
    tol: float
    rho: float
    rho_growth: float
    rho_every: int
    hurries: bool
    repair: bool
    relaxes: bool
    record_x: tuple[int, ...]
    max_samples: int | str | None
    n_jobs: int | None
    deadline: float | None
    progress: Progress | None = None

    def runs(self, problem: Problem) -> int:
        """Number of restarts; a start given by the user needs but one."""
        if not isinstance(self.init, str):
            return 1
        if isinstance(self.n_init, int):
            return self.n_init
        work = problem.n_groups * problem.n_clusters
        return int(np.clip(AUTO_WORK // max(work, 1), 1, AUTO_MOST))

    def growth(self, problem: Problem) -> float:
        """Growth of the projected solver's penalty an iteration."""
        k, growth = problem.n_clusters, self.rho_growth
        few = HURRIED if problem.summed else HURRIED_FREE
        if self.hurries and problem.n_groups * k <= few:
            growth = HURRIED_GROWTH
        elif self.hurries:
            # More clusters part more often, and each parting takes its time.
            slower = max(min(1.0, float(np.sqrt(PARTINGS / k))), SLOWEST)
            growth = 1.0 + (self.rho_growth - 1.0) * slower
        return float(growth ** (1.0 / self.rho_every))

    def ends_early(self, problem: Problem) -> bool:
        """Whether the relaxed solver may stop once it knows where the centres are.

        Exact sizes find the rest as fast, where there are few clusters.
        """
        k = problem.n_clusters
        many = problem.n_groups * k > HURRIED
        return self.coarse and problem.only_sized and many and k <= PARTINGS

    def for_pilot(self) -> Settings:
        """How to solve a small part of the problem, once and unseen."""
        once = replace(self, init="k-means++", n_init=1, max_samples=None)
        return replace(once, record_x=(), progress=None)

    @property
    def coarse(self) -> bool:
        """Whether the relaxed solver may see fewer groups and digits: exact steps see all."""
        return self.repair and not self.record_x and self.max_samples is not None

    def sooner(self, part: float) -> float | None:
        """The instant when this part of the time that is left will have passed."""
        if self.deadline is None:
            return None
        now = time.monotonic()
        return now + part * max(self.deadline - now, 0.0)

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() > self.deadline
