"""The best multipliers of the relaxation, by the alternating direction method with cuts.

One step projects onto the spectral set, the other onto the box and the cuts.  The multipliers of
any iteration give a valid bound, so the search may end at any time.
"""

from __future__ import annotations

import logging

import numpy as np

from .._typing import FloatArray
from ..deadline import Deadline, OutOfTime
from .cuts import Cuts
from .relaxation import Relaxation

log = logging.getLogger(__name__)

#: Penalty of the augmented Lagrangian, for costs of at most 1, and the step of its multipliers.
PENALTY, STEP = 10.0, 1.6
#: Iterations between two evaluations of the bound, each of which may add cuts.
EVERY = 50
#: Relative gap at which an answer counts as proven optimal.
CLOSED = 1e-6
#: Relative rise of the bound below which an evaluation without new cuts ends the search.
LEAST_RISE = 1e-7


class Ascent:
    """Multipliers, the best bound so far and the cuts of one relaxation."""

    def __init__(self, relaxation: Relaxation, random_state: np.random.RandomState) -> None:
        self.relaxation, self.random_state = relaxation, random_state
        self.cuts = Cuts(relaxation.weight)
        v = relaxation.spectral.v
        self.Z: FloatArray = np.outer(v, v)
        self.dual: FloatArray = np.zeros_like(self.Z)
        self.Y: FloatArray = self.Z
        self.best = relaxation.constant
        self.n_iter = 0

    def run(self, deadline: Deadline, upper: float | None = None) -> float:
        """Raise the bound until it meets ``upper``, stands still or the time is over."""
        last = -np.inf
        while True:
            try:
                for _ in range(EVERY):
                    moved = self._iterate(deadline)
            except OutOfTime:
                return self.best
            value = self._evaluate(moved)
            log.info("bound %.8g after %d iterations, %d cuts", value, self.n_iter, len(self.cuts))
            if upper is not None and upper - self.best <= CLOSED * abs(upper):
                return self.best
            added = self.cuts.renew(self.Y, self.random_state)
            done = not added and self.cuts.exhausted
            if done and value - last <= LEAST_RISE * abs(value):
                return self.best
            last = value

    def _iterate(self, deadline: Deadline) -> FloatArray:
        """One iteration; gives ``V - A* multiplier``, of which Z is the part in the box."""
        relaxed = self.relaxation
        self.Y = relaxed.spectral.project(self.Z - (relaxed.cost + self.dual) / PENALTY, deadline)
        self.V = self.Y + self.dual / PENALTY
        moved = self.cuts.project(self.V, relaxed.lower, relaxed.upper)
        self.Z = np.clip(moved, relaxed.lower, relaxed.upper)
        self.dual = self.dual + STEP * PENALTY * (self.Y - self.Z)
        self.n_iter += 1
        return moved

    def _evaluate(self, moved: FloatArray) -> float:
        """The bound that the present multipliers prove."""
        U = PENALTY * (self.Z - moved)
        value = self.relaxation.value(U, PENALTY * (self.V - moved))
        self.best = max(self.best, value)
        return value
