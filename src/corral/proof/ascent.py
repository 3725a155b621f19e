"""The best multipliers of the relaxation, by the alternating direction method with cuts.

One step projects onto the spectral set, the other onto the box and the cuts.  The multipliers of
any iteration give a valid bound, so the search may end at any time.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import namespace, to_host
from .._typing import IntArray
from ..deadline import Deadline, OutOfTime
from .cuts import Cuts
from .numbers import NODE_PATIENCE
from .relaxation import Relaxation

log = logging.getLogger(__name__)

#: Penalty of the augmented Lagrangian, for costs of at most 1, and the step of its multipliers.
PENALTY, STEP = 10.0, 1.6
#: Iterations between two evaluations of the bound, each of which may add cuts.
EVERY = 50
#: Relative gap at which an answer counts as proven optimal.
CLOSED = 1e-6
#: Relative rise of the bound below which evaluations without new cuts end the search, and how many
#: of them with several kinds of clusters, where the bound does not rise steadily.
LEAST_RISE, STANDING = 1e-7, 5
#: Evaluations over which the rate of the bound is taken.
RATE_OVER = 4


class Ascent:
    """Multipliers, the best bound so far and the cuts of one relaxation."""

    def __init__(self, relaxation: Relaxation) -> None:
        self.relaxation, self.random_state = relaxation, np.random.RandomState(0)
        k = sum(kind.number for kind in relaxation.kinds)
        self.cuts = Cuts(relaxation.weight, relaxation.matrices, relaxation.cliques, k)
        self.Z = self.Y = relaxation.start()
        self.dual = 0.0 * self.Z
        self.best = max(relaxation.constant - relaxation.error, 0.0)
        self.n_iter = 0

    def start_from(self, other: Ascent, turn: sparse.csr_array) -> None:
        """Take over the multipliers of a relaxation whose groups these groups join.

        ``turn`` turns a matrix of the other's groups into one of these.
        """
        unit = other.relaxation.unit / self.relaxation.unit
        self.Z, dual = (
            np.stack([turn @ (turn @ one).T for one in each]) for each in (other.Z, other.dual)
        )
        self.dual = unit * dual
        self.cuts.take_over(other.cuts, _homes(turn), unit)

    def closes(self, upper: float) -> bool:
        """Whether the bound shows that an answer with this objective is optimal."""
        return upper - self.best <= CLOSED * abs(upper)

    def run(
        self,
        deadline: Deadline,
        upper: float | None = None,
        *,
        most: float = np.inf,
        hurry: bool = False,
    ) -> float:
        """Raise the bound until it meets ``upper``, stands still or the time is over.

        ``most`` is the largest number of iterations; with ``hurry`` they end as soon as the bound
        rises slowly.
        """
        values: list[float] = []
        stood = 0
        while self.n_iter < most:
            before = self.best
            try:
                for _ in range(EVERY):
                    moved = self._iterate(deadline)
                values.append(self._evaluate(moved, deadline))
            except OutOfTime:
                break
            log.info("bound %.8g, %d iterations, %d cuts", self.best, self.n_iter, len(self.cuts))
            if upper is not None and self.closes(upper):
                break
            try:
                added = self.cuts.renew(to_host(self.Y), self.random_state, deadline)
            except OutOfTime:
                break
            rose = self.best - before > LEAST_RISE * abs(self.best)
            stood = 0 if rose or added or not self.cuts.exhausted else stood + 1
            if stood >= (1 if self.relaxation.balance is None else STANDING):
                break
            if hurry and upper is not None and self._is_slow(values, upper):
                break
        return self.best

    def _is_slow(self, values: list[float], upper: float) -> bool:
        """Whether the gap would need many more evaluations at the present rate."""
        if len(values) <= RATE_OVER:
            return False
        rate = (max(values) - max(values[:-RATE_OVER])) / RATE_OVER
        return upper - self.best > NODE_PATIENCE * rate

    def _iterate(self, deadline: Deadline) -> Any:
        """One iteration; gives ``V - A* multiplier``, of which Z is the part in the box."""
        relaxed, balance = self.relaxation, self.relaxation.balance
        self.Y = relaxed.project(self.Z - (relaxed.cost + self.dual) / PENALTY, deadline)
        moved = V = self.Y + self.dual / PENALTY
        if balance is not None:
            balance.project(self.cuts.moved(V, -1.0), relaxed.lower, relaxed.upper)
            moved = V - balance.adjoint(balance.along, balance.each)
        moved = self.cuts.project(moved, relaxed.lower, relaxed.upper)
        self.Z = namespace(moved).clip(moved, relaxed.lower, relaxed.upper)
        self.dual = self.dual + STEP * PENALTY * (self.Y - self.Z)
        self.n_iter += 1
        return moved

    def _evaluate(self, moved: Any, deadline: Deadline) -> float:
        """The bound that the present multipliers prove."""
        U, price = PENALTY * (self.Z - moved), 0.0
        pull, slack = self.cuts.pull(0.0 * moved, PENALTY)
        if self.relaxation.balance is not None:
            more, error, price = self.relaxation.balance.pull(PENALTY)
            pull, slack = pull + more, slack + error
        value = self.relaxation.value(U, pull, slack, price, deadline)
        self.best = max(self.best, value)
        return value


def _homes(turn: sparse.csr_array) -> IntArray:
    """The row of the one entry of each column."""
    rows, columns = turn.tocoo().coords
    homes = np.empty(turn.shape[1], np.int64)
    homes[columns] = rows
    return homes
