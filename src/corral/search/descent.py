"""From centres or labels to an answer that obeys the rules, and on to a local optimum.

Rounds of prices, labels and centres come first; they move many groups at once.  Then single moves
(:mod:`.moves`) repair what is outside the bounds and improve the rest: hard rules cost a penalty
that rises until none is broken.  The first penalty of a descent drifts, so that about one descent
in five needs more (the penalty management of HGS-CVRP).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by
from ..deadline import NEVER, Deadline, OutOfTime
from ..exact import NoAssignment, assign, broken, place_by_room
from ..rules import Rules
from . import numbers as at
from .budget import Budget
from .model import Model
from .moves import Scratch, State, appraise, descend, restless, state_of
from .prices import Blocks, Found, Sums, find_prices, place, scale_of
from .shape import Shape

#: Temperature at which groups go to their nearest cluster.
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Answer:
    """Labels that obey every hard rule.

    Attributes
    ----------
    labels : (m,) array
    clusters : object
        What the shape makes of them; centres for k-means.
    objective : float
        Of the groups, with the price of the soft rules broken.
    rules : Rules
        With the bounds on sizes in the order that these labels obey.
    prices : Found
        Of the sums, at which the labels were found.
    """

    labels: IntArray
    clusters: Any
    objective: float
    rules: Rules
    prices: Found | None

    def beats(self, other: Answer | None) -> bool:
        """Whether the objective is lower by more than rounding."""
        return other is None or self.objective < other.objective - 1e-9 * abs(other.objective)


@dataclass(frozen=True)
class Varied:
    """Labels to descend from, the clusters that changed, and the rules with sizes in order."""

    labels: IntArray
    awake: BoolArray
    rules: Rules


class Descender:
    """Descents of one problem; it keeps the model, the penalty and the arrays of the moves."""

    def __init__(
        self, rules: Rules, shape: Shape, budget: Budget, random_state: np.random.RandomState
    ) -> None:
        self.rules, self.shape, self.budget = rules, shape, budget
        self.random_state, self.penalty = random_state, at.PENALTY
        self.priced = shape.priced(rules)
        self.scratch = Scratch.of(self.priced.model)
        self._order, self.margin = rules, 0.0
        self._clusters: Any = None  # those of the first maker
        self.answered = False  # whether the search has an answer, so that the deadline may end it

    @property
    def deadline(self) -> Deadline:
        """When a descent ends without an answer: later while the search has none at all."""
        return self.budget.deadline if self.answered else self.budget.deadline.first

    def in_order_of(self, rules: Rules) -> None:
        """Take the bounds on sizes in the order that these rules have."""
        if rules.sizes_vary and rules is not self._order:
            self.priced, self._order = self.priced.with_bounds(rules), rules

    def from_clusters(
        self, clusters: Any, prices: Found | None = None, target: float = np.inf
    ) -> Answer | None:
        """The answer of rounds and moves from these clusters; None if rules stay broken.

        None also if the objective is above the target when rules are still broken.
        """
        self._clusters = clusters if self._clusters is None else self._clusters
        labels, prices, rules = self.rounds(clusters, prices)
        if not self._promising(labels, target):
            return None
        return self.improved(labels, prices, rules, target=target)

    def _promising(self, labels: IntArray, target: float) -> bool:
        """Whether moves may bring labels below the target."""
        if target == np.inf or not self.shape.follows:
            return True
        objective = self.shape.objective(labels, self.shape.clusters(labels))
        return objective <= target + at.PROMISING * abs(target)

    def from_made(self, made: Any, prices: Found | None) -> Answer | None:
        """The answer from what a maker gives: clusters, or labels."""
        labels = isinstance(made, np.ndarray) and made.ndim == 1 and made.dtype.kind == "i"
        if labels and len(made) == self.rules.n_groups:
            return self.from_labels(made)
        return self.from_clusters(made, prices)

    def from_labels(self, labels: IntArray) -> Answer | None:
        """The answer of moves from labels, which need not obey the rules."""
        rules = match_sizes(self.rules, sums_by(labels, self.rules.count, self.rules.n_clusters))
        return self.improved(labels, None, rules)

    def from_varied(self, varied: Varied, parent: Answer, target: float = np.inf) -> Answer | None:
        """The answer from a variation of a parent, by rounds and moves of what changed."""
        labels, prices, awake = varied.labels, parent.prices, varied.awake
        if varied.rules.bounded and prices is not None:
            awake = self.shape.near(self.shape.clusters(labels, parent.clusters), awake)
            some = np.flatnonzero(awake)
            labels, prices = self._rounds_of(labels, some, prices, varied.rules)
            if not self._promising(labels, target):
                return None
        return self.improved(labels, prices, varied.rules, awake, target)

    def _rounds_of(
        self, labels: IntArray, some: IntArray, known: Found, rules: Rules
    ) -> tuple[IntArray, Found]:
        """Labels and prices after rounds of some clusters and their groups."""
        self.in_order_of(rules)
        groups = np.flatnonzero(np.isin(labels, some))
        if len(groups) <= len(some):
            return labels, known
        model = self.priced.model
        place_of = np.zeros(rules.n_clusters, np.int64)
        place_of[some] = np.arange(len(some))
        shape = self.shape.part(groups, len(some))
        if shape is None:
            return labels, known
        start = shape.clusters(place_of[labels[groups]])
        sums = Sums(model.amount[groups], model.bound[0][some], model.bound[1][some])
        level = Level(shape, sums, Pinned.of(rules, groups, some, place_of))
        part, found = self._alternate(level, start, replace(known, prices=known.prices[some]))
        labels, prices = labels.copy(), known.prices.copy()
        labels[groups], prices[some] = some[part], found.prices
        return labels, replace(known, prices=prices)

    def rounds(self, clusters: Any, prices: Found | None = None) -> tuple[IntArray, Found, Rules]:
        """Rounds of prices, labels and centres; the labels need not obey the rules yet.

        Where the order of the sizes is free, the largest bounds go to the clusters that may hold
        most, or else to the largest ones.
        """
        rules, deadline = self.rules, self.deadline
        if rules.sizes_vary:
            none = np.zeros((rules.n_clusters, 0))
            costs = self.shape.costs(clusters, deadline)
            nearest = place(costs, np.zeros((rules.n_groups, 0)), none, TINY, deadline)
            counts = sums_by(nearest, rules.count, rules.n_clusters)
            capacity = rules.capacity
            rules = match_sizes(rules, counts if capacity is None else capacity)
        self.in_order_of(rules)
        model = self.priced.model
        level = Level(self.shape, Sums(model.amount, *model.bound), Pinned.all(rules))
        labels, found = self._alternate(level, clusters, prices)
        return labels, found, rules

    def _alternate(
        self, level: Level, clusters: Any, prices: Found | None
    ) -> tuple[IntArray, Found]:
        """Prices, labels and centres in turn, while the objective falls."""
        deadline, before, scale = self.deadline, np.inf, 0.0
        (m, d), k, sums = level.shape.shape, len(level.sums.lower), level.sums
        best: tuple[IntArray, Found] | None = None
        for _ in range(at.ROUNDS):
            costs = PinnedCosts(level.shape.costs(clusters, deadline), level.pinned)
            scale = scale or scale_of(costs, deadline)
            prices = find_prices(costs, sums, scale, prices, deadline, self.budget.deadline)
            eps = prices.eps if prices.passes else TINY
            labels = place(costs, sums.amount, prices.prices, eps, deadline)
            self.budget.spend(m * k * (0.5 * d + 6.0 * prices.passes) + 4e4 * prices.passes)
            clusters = level.shape.clusters(labels, clusters)
            # What is outside the bounds counts at the highest price of its sum.
            paid = sums.outside(labels) @ np.abs(prices.prices).max(axis=0, initial=0.0)
            objective = level.shape.objective(labels, clusters) + float(paid)
            if best is None or objective < before:
                best = labels, prices
            if before - objective < at.ROUND_DROP * abs(objective) or self.budget.over:
                break
            before = objective
        if best is None:
            raise AssertionError("there is one round at least")
        return best

    def improved(
        self,
        labels: IntArray,
        prices: Found | None,
        rules: Rules,
        awake: BoolArray | None = None,
        target: float = np.inf,
    ) -> Answer | None:
        """The local optimum of moves from labels, which need not obey the rules.

        ``awake`` are the clusters that may have changed since the last local optimum.
        """
        self.in_order_of(rules)
        k = rules.n_clusters
        awake = np.ones(k, bool) if awake is None else awake
        labels = labels.copy()
        labels[rules.pins[:, 0]] = rules.pins[:, 1]
        clusters = None if self.shape.follows else self.shape.clusters(labels)
        target = target if self.shape.follows else np.inf  # a table leaves out a part
        best: Answer | None = None
        while True:
            if clusters is not None:
                self.priced = self.priced.with_table(self.shape.table(clusters))
                self.budget.spend(k * float(np.prod(self.shape.shape)))
            known = np.zeros(self.priced.model.bound.shape[1:]) if prices is None else prices.prices
            self.margin = 0.0 if prices is None else at.MARGIN * prices.eps
            found = self._obeying(labels, known, awake, target)
            if found is None:
                return best
            labels, objective = found
            clusters = self.shape.clusters(labels, clusters)
            if not self.shape.follows:
                objective = self.shape.objective(labels, clusters) + rules.soft_cost(labels)
            answer = Answer(labels, clusters, objective, rules, prices)
            if self.shape.follows or not answer.beats(best) or self.budget.deadline.passed:
                break
            best, awake = answer, np.ones(k, bool)
        kept = answer if answer.beats(best) else best
        return None if kept is None or broken(rules, kept.labels) else kept

    def finished(self, answer: Answer) -> Answer:
        """The answer after exact assignments at its centres, while these lower the objective.

        Only where they are quick: sizes of single rows by a flow, cliques of cannot-links by linear
        assignments.
        """
        rules = answer.rules
        cliques = rules.paired and rules.in_cliques and not rules.bounded
        quick = rules.only_sized or cliques or (rules.nested and not rules.sizes_vary)
        m, k = rules.n_groups, rules.n_clusters
        while (
            quick and self.shape.follows and m * k <= at.EXACT and not self.budget.deadline.passed
        ):
            cost = self.shape.table(answer.clusters)
            try:
                exact = assign(rules, cost, incumbent=answer.labels, deadline=self.deadline)
            except (OutOfTime, NoAssignment):
                break
            found = self.improved(exact.labels, answer.prices, rules)
            if found is None or not found.beats(answer):
                break
            answer = found
        return answer

    def restless(self, labels: IntArray) -> BoolArray:
        """The clusters that break a hard rule."""
        model, awake = self.priced.at(1.0), np.zeros(self.rules.n_clusters, bool)
        restless(model, state_of(model, labels), awake)
        return awake

    def _descended(
        self,
        model: Model,
        state: State,
        order: IntArray,
        awake: BoolArray,
        prices: FloatArray,
        rise: int,
    ) -> None:
        """Take moves until none pays, in pieces of work between which the deadline is asked."""
        prices = np.ascontiguousarray(prices)
        least = 1e-10 * self.priced.scale
        done, fresh, gaps = 0.0, True, np.zeros(self.rules.n_clusters)
        while True:
            _, work = descend(
                model,
                state,
                self.scratch,
                order,
                awake,
                prices,
                gaps,
                at.SWEEPS,
                least,
                self.margin,
                rise > 3,
                at.PIECE,
                fresh,
            )
            self.budget.spend(work)
            done += work
            if work <= at.PIECE or self.budget.deadline.passed:
                return
            if self.budget.over and done > at.LAST_PIECES * at.PIECE:
                return
            awake, fresh = self.scratch.flag[0].copy(), False
            order = np.roll(order, len(order) // 3)

    def placed(self) -> Answer | None:
        """Labels of groups placed one after another where there is room; None if some find none.

        For a deadline that comes before anything better.
        """
        rules, m = self._order, self.rules.n_groups
        if self._clusters is None or m * rules.n_clusters > at.EXACT << 1:
            return None
        cost = self.shape.table(self._clusters)
        labels = place_by_room(rules, NEVER, cost)
        if labels is None or broken(rules, labels):
            return None
        clusters = self.shape.clusters(labels, self._clusters)
        objective = self.shape.objective(labels, clusters) + rules.soft_cost(labels)
        return Answer(labels, clusters, objective, rules, None)

    def _obeying(
        self, labels: IntArray, prices: FloatArray, awake: BoolArray, target: float
    ) -> tuple[IntArray, float] | None:
        """Labels after moves at a penalty that rises until no hard rule is broken."""
        penalty, rise = self.penalty, 0
        order = self.random_state.permutation(len(labels))
        while True:
            model = self.priced.at(penalty)
            state = state_of(model, labels)
            self._descended(model, state, order, awake, prices, rise)
            labels = state.labels
            objective, soft, hard = appraise(model, state)
            if hard <= 0.0:
                break
            rise += 1
            if rise > at.PENALTY_RISES or objective + soft > target:
                self.penalty *= at.PENALTY_UP
                return None
            if self.deadline.passed:
                raise OutOfTime
            penalty *= at.PENALTY_RISE
            restless(model, state, awake)
        self.penalty *= at.PENALTY_UP if rise else at.PENALTY_DOWN
        return labels, objective + soft


@dataclass(frozen=True)
class Pinned:
    """Groups whose clusters are known, and what groups pay in each cluster for soft pins."""

    groups: IntArray  # (p,)
    clusters: IntArray  # (p,)
    priced: IntArray  # groups with soft pins, (u,)
    paid: FloatArray  # (u, k)

    @classmethod
    def all(cls, rules: Rules) -> Pinned:
        """The pins of all groups."""
        priced, paid = rules.soft_pins.of_groups(rules.n_clusters)
        return cls(rules.pins[:, 0], rules.pins[:, 1], priced, paid)

    @classmethod
    def of(cls, rules: Rules, groups: IntArray, some: IntArray, place_of: IntArray) -> Pinned:
        """The pins of some groups, which are in some of the clusters."""
        whole, at_group = cls.all(rules), np.full(rules.n_groups, -1, np.int64)
        at_group[groups] = np.arange(len(groups))
        hard, soft = at_group[whole.groups] >= 0, at_group[whole.priced] >= 0
        return cls(
            at_group[whole.groups[hard]],
            place_of[whole.clusters[hard]],
            at_group[whole.priced[soft]],
            whole.paid[soft][:, some],
        )


@dataclass(frozen=True)
class Level:
    """Groups and clusters that rounds are about: all of them, or those that changed."""

    shape: Shape
    sums: Sums
    pinned: Pinned


class PinnedCosts(Blocks):
    """Costs at which pinned groups stay where they are, and soft pins have their price."""

    def __init__(self, costs: Blocks, pinned: Pinned) -> None:
        self._costs, self._pinned = costs, pinned

    def blocks(self, deadline: Deadline) -> Iterator[tuple[slice, FloatArray]]:
        """The blocks of the costs, with pins."""
        pins = self._pinned
        if not (len(pins.groups) or len(pins.priced)):
            yield from self._costs.blocks(deadline)
            return
        for part, block in self._costs.blocks(deadline):
            inside = (pins.groups >= part.start) & (pins.groups < part.stop)
            own, cluster = pins.groups[inside] - part.start, pins.clusters[inside]
            changed = block.copy()
            here = changed[own, cluster]
            changed[own] += 1e3 * (1.0 + np.abs(block[own]).max(initial=0.0))
            changed[own, cluster] = here
            near = (pins.priced >= part.start) & (pins.priced < part.stop)
            changed[pins.priced[near] - part.start] += pins.paid[near]
            yield part, changed


def match_sizes(rules: Rules, counts: FloatArray) -> Rules:
    """Hand free size bounds to clusters by rank: the largest bounds to the largest count."""
    sizes = rules.sizes
    if sizes is None or not rules.sizes_vary:
        return rules
    rank = np.argsort(np.argsort(counts, kind="stable"), kind="stable")
    lower, upper = sizes.aimed
    return rules.with_sizes_in_order(np.lexsort((upper, lower))[rank])
