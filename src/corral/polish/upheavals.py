"""Out of local optima of shifts and chains: small upheavals, kept if they pay or nearly do.

After each of them a descent follows in the clusters that it touched.

*Relocate*: one cluster is given up, its groups go to their next clusters, and another is split.
*Reseed*: some clusters near each other are seeded anew among their groups.
*Trade*: two clusters with different rules change places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints._checks import sums_by
from ..plan.thresholds import UPHEAVAL_IDLE, UPHEAVAL_SLACK
from ..problem import Problem
from .chains import obey
from .partition import MeansPartition, Partition
from .refine import Answer, answer_of

#: Price of a unit of excess, in :attr:`.Partition.unit`, and how often it may grow in a descent.
PRICE, PRICES = 1.0, 4
#: Factors of the price after a descent for which it was enough, and after others.  Together they
#: hold it where about one descent in five needs more.
CHEAPER, DEARER = 0.95, 1.2
#: Most clusters that are seeded anew together.  More of them find better optima less often.
MOST_RESEEDED = 8
#: Rounds of nearest centres and means after new seeds, before the descent.
ROUNDS = 3


def explore(problem: Problem, answer: Answer, random_state: np.random.RandomState) -> Answer:
    """The best answer after as many upheavals as the plan allows."""
    own = problem.with_rules(answer.rules)
    part = MeansPartition(own, answer.labels, answer.centers)
    most, idle = problem.plan.upheavals, UPHEAVAL_IDLE * problem.n_clusters
    for objective in upheave(part, random_state, most, idle):
        problem.settings.progress.step(problem.objective(objective))
    found = answer_of(own, part)
    return found if found is not None and found.beats(answer) else answer


def upheave(
    part: Partition, random_state: np.random.RandomState, most: int, idle: int
) -> Iterator[float]:
    """Change a partition that obeys the rules for the better; gives each lower objective.

    It ends after ``most`` upheavals, or ``idle`` in a row that did not pay.  An answer that is a
    little worse than the best is the start of further upheavals too, less so towards the end
    (record-to-record travel: Dueck, 1993).  The partition is the best one after the last of them.
    """
    upheavals, k = _Upheavals(part, random_state), part.rules.n_clusters
    best, labels, price = part.objective, part.labels.copy(), PRICE * part.unit
    here, in_vain = labels, 0
    for left in range(most, 0, -1):
        if part.deadline.passed or best <= 0.0 or in_vain >= idle:
            break
        in_vain += 1
        dirty = np.zeros(k, bool)
        dirty[upheavals.make(best / k)] = True
        limit = best * (1.0 + UPHEAVAL_SLACK * left / most)
        enough = obey(part, price, dirty, PRICES, to_beat=limit)
        price *= CHEAPER if enough == price else DEARER
        if enough is None or part.objective >= limit:
            part.restore(here)
            continue
        here = part.labels.copy()
        if part.objective < best * (1.0 - 1e-9):
            best, labels, in_vain = part.objective, here, 0
            yield best
    part.restore(labels)


class _Upheavals:
    """Draws upheavals of a partition and makes them."""

    def __init__(self, part: Partition, random_state: np.random.RandomState) -> None:
        self.part, self.random = part, random_state
        rules, k = part.rules, part.rules.n_clusters
        own = rules.cluster_rules()
        self.unlike = np.argwhere(np.triu((own[:, :, None] != own[:, None, :]).any(axis=0)))
        self.pinned = np.bincount(rules.pins[:, 1], minlength=k) > 0
        self.saved: FloatArray = np.zeros(k)
        self.halves: list[Any] = [None] * k
        self.seen: IntArray | None = None

    def make(self, temperature: float) -> IntArray:
        """Make an upheaval, and give the clusters that changed.

        ``temperature`` is what a cluster costs on average.
        """
        kind = self.random.randint(3 if len(self.unlike) else 2)
        if kind == 0:
            return self._relocate(temperature)
        return self._reseed() if kind == 1 else self._trade()

    def _relocate(self, temperature: float) -> IntArray:
        """Give up a cluster that costs little to lose, and split one that saves much."""
        part = self.part
        self._split_changed()
        loss, following = self._losses()
        one = self._draw(np.where(self.pinned, -np.inf, -loss / temperature))
        other = self._draw(np.where(np.arange(len(loss)) == one, -np.inf, self.saved / temperature))
        given_up, split = self._members([one]), self._members([other])
        half = part.second_half(split, self.halves[other])
        to = np.concatenate([following[given_up], np.full(len(half), one)])
        return part.put(np.concatenate([given_up, half]), to)

    def _reseed(self) -> IntArray:
        """Draw new seeds, as k-means++ does, among the groups of some neighbouring clusters."""
        part, k = self.part, self.part.rules.n_clusters
        clusters = part.nearby(self.random.randint(k))[: self.random.randint(2, MOST_RESEEDED + 1)]
        members = self._members(clusters)
        if len(members) == 0:
            return clusters
        squares, least = [], part.weight[members]
        for _ in clusters:
            chance = least if least.any() else np.ones(len(members))
            seed = self.random.choice(members, p=chance / chance.sum())
            squares.append(part.seeded(members, seed))
            least = part.weight[members] * np.min(squares, axis=0)
        touched = part.put(members, clusters[np.argmin(squares, axis=0)])
        for _ in range(ROUNDS):  # which move many groups at once; shifts move one a cluster
            nearest = part.squares[clusters][:, members].argmin(axis=0)
            touched = np.union1d(touched, part.put(members, clusters[nearest]))
        return touched

    def _trade(self) -> IntArray:
        """Exchange the groups of two clusters that have different rules."""
        one, other = self.unlike[self.random.randint(len(self.unlike))]
        first, second = self._members([one]), self._members([other])
        to = np.repeat([other, one], [len(first), len(second)])
        return self.part.put(np.concatenate([first, second]), to)

    def _members(self, clusters: IntArray | list[int]) -> IntArray:
        """Groups of clusters that may move."""
        return np.flatnonzero(np.isin(self.part.labels, clusters) & self.part.mobile)

    def _draw(self, logits: FloatArray) -> int:
        """A cluster drawn with chances in proportion to ``exp(logits)``."""
        top = logits.max()
        chance = np.exp(logits - top) if np.isfinite(top) else np.ones(len(logits))
        return int(self.random.choice(len(chance), p=chance / chance.sum()))

    def _losses(self) -> tuple[FloatArray, IntArray]:
        """What giving up each cluster costs, and the next cluster of each group."""
        part = self.part
        squares = part.squares[part.near, part.groups[:, None]]
        squares[part.near == part.labels[:, None]] = np.inf
        place = squares.argmin(axis=1)
        rise = part.weight * squares[part.groups, place] - part.cost
        loss = sums_by(part.labels, rise, part.rules.n_clusters)
        return loss, part.near[part.groups, place]

    def _split_changed(self) -> None:
        """Split the clusters that changed since they were split last."""
        part, changed = self.part, np.arange(self.part.rules.n_clusters)
        if self.seen is not None:
            differ = self.seen != part.labels
            changed = np.union1d(self.seen[differ], part.labels[differ])
        for j in changed:
            self.saved[j], self.halves[j] = part.split(int(j))
        self.seen = part.labels.copy()
