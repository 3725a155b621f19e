"""From centres or labels to an answer that obeys the rules, and on to a local optimum.

Rounds of prices, labels and centres come first; they move many groups at once.  Then single moves
(:mod:`.moves`) repair what is outside the bounds and improve the rest: hard rules cost a penalty
that rises until none is broken.  The first penalty of a descent drifts, so that about one descent
in five needs more (the penalty management of HGS-CVRP).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by
from ..deadline import Deadline, OutOfTime
from ..presolve import Rules
from . import numbers as at
from .budget import Budget
from .check import broken
from .moves import Scratch, appraise, descend, draw, restless, state_of
from .prices import Costs, Sums, find_prices, place, temperatures
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
    prices : (k, q) array
        Of the sums, at which the labels were found.
    """

    labels: IntArray
    clusters: Any
    objective: float
    rules: Rules
    prices: FloatArray

    def beats(self, other: Answer | None) -> bool:
        """Whether the objective is lower by more than rounding."""
        return other is None or self.objective < other.objective - 1e-9 * abs(other.objective)


class Descender:
    """Descents of one problem; it keeps the model, the penalty and the arrays of the moves."""

    def __init__(
        self, rules: Rules, shape: Shape, budget: Budget, random_state: np.random.RandomState
    ) -> None:
        self.rules, self.shape, self.budget = rules, shape, budget
        self.random_state, self.penalty = random_state, at.PENALTY
        self.priced = shape.priced(rules)
        self.width = min(at.WIDTH, rules.n_clusters)
        self.scratch = Scratch.of(self.priced.model, self.width)
        self._order, self.margin = rules, 0.0

    def in_order_of(self, rules: Rules) -> None:
        """Take the bounds on sizes in the order that these rules have."""
        if rules.sizes_vary and rules is not self._order:
            self.priced, self._order = self.priced.with_bounds(rules), rules

    def from_clusters(
        self, clusters: Any, prices: FloatArray | None = None, target: float = np.inf
    ) -> Answer | None:
        """The answer of rounds and moves from these clusters; None if rules stay broken.

        None also if the objective is above the target when rules are still broken.
        """
        labels, prices, rules = self.rounds(clusters, prices)
        return self.improved(labels, prices, rules, target=target)

    def from_labels(self, labels: IntArray) -> Answer | None:
        """The answer of moves from labels, which need not obey the rules."""
        rules = match_sizes(self.rules, sums_by(labels, self.rules.count, self.rules.n_clusters))
        return self.improved(labels, np.zeros(self.priced.model.lower.shape), rules)

    def from_varied(self, varied: Any, parent: Answer, target: float = np.inf) -> Answer | None:
        """The answer from a variation of a parent.

        Where most clusters changed, rounds come first, as from any other clusters.
        """
        labels, prices, rules = varied.labels, parent.prices, varied.rules
        if 2 * np.count_nonzero(varied.awake) >= rules.n_clusters and rules.bounded:
            clusters = self.shape.clusters(labels, parent.clusters)
            labels, prices, rules = self.rounds(clusters, prices, rules)
            return self.improved(labels, prices, rules, target=target)
        return self.improved(labels, prices, rules, varied.awake, target)

    def rounds(
        self, clusters: Any, prices: FloatArray | None = None, rules: Rules | None = None
    ) -> tuple[IntArray, FloatArray, Rules]:
        """Rounds of prices, labels and centres; the labels need not obey the rules yet.

        The bounds on sizes are in the order of the rules given; without any, the largest ones go
        to the largest clusters.
        """
        given, deadline = rules, self.budget.deadline.first
        rules, costs = self.rules if given is None else given, self._costs(clusters, deadline)
        if given is None and rules.sizes_vary:
            none = np.zeros((rules.n_clusters, 0))
            nearest = place(costs, np.zeros((rules.n_groups, 0)), none, TINY, deadline)
            rules = match_sizes(rules, sums_by(nearest, rules.count, rules.n_clusters))
        self.in_order_of(rules)
        model = self.priced.model
        sums, before = Sums(model.amount, model.lower, model.upper), np.inf
        hottest, coldest = temperatures(costs, deadline)
        self.margin = at.MARGIN * coldest / at.PRICE_END
        prices = np.zeros(model.lower.shape) if prices is None else prices
        (m, _), k = self.shape.shape, rules.n_clusters
        for _ in range(at.ROUNDS):
            prices, passes = find_prices(costs, sums, prices, hottest, coldest, deadline)
            eps = coldest if model.amount.shape[1] else TINY
            labels = place(costs, model.amount, prices, eps, deadline)
            self.budget.spend(m * k * (self.shape.shape[1] + 2.0 * passes))
            clusters = self.shape.clusters(labels, clusters)
            objective = self.shape.objective(labels, clusters)
            if before - objective < at.ROUND_DROP * abs(objective) or self.budget.over:
                break
            before = objective
            costs = self._costs(clusters, deadline)
        return labels, prices, rules

    def _costs(self, clusters: Any, deadline: Deadline) -> Costs:
        """Costs with what pins add to them."""
        return pinned(self.shape.costs(clusters, deadline), self.rules)

    def improved(
        self,
        labels: IntArray,
        prices: FloatArray,
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
        target = target if self.shape.follows else np.inf  # tables leave out a part of the objective
        best: Answer | None = None
        while True:
            if clusters is not None:
                self.priced = self.priced.with_table(self.shape.table(clusters))
                self.budget.spend(k * float(np.prod(self.shape.shape)))
            found = self._obeying(labels, prices, awake, target)
            if found is None:
                return best
            labels, objective = found
            clusters = self.shape.clusters(labels, clusters)
            if not self.shape.follows:
                objective = self.shape.objective(labels, clusters) + rules.soft_cost(labels)
            answer = Answer(labels, clusters, objective, rules, prices)
            if self.shape.follows or not answer.beats(best):
                break
            best, awake = answer, np.ones(k, bool)
        kept = answer if answer.beats(best) else best
        return None if kept is None or broken(rules, kept.labels) else kept

    def _obeying(
        self, labels: IntArray, prices: FloatArray, awake: BoolArray, target: float
    ) -> tuple[IntArray, float] | None:
        """Labels after moves at a penalty that rises until no hard rule is broken."""
        penalty, budget, rise = self.penalty, self.budget, 0
        order = self.random_state.permutation(len(labels))
        least = 1e-10 * self.priced.scale
        while True:
            model = self.priced.at(penalty)
            state = state_of(model, labels)
            allowance = max(budget.left, 0.0)
            _, work = descend(
                model, state, order, awake, prices, self.scratch, at.PARTNERS, at.SWEEPS, least,
                self.margin, allowance,
            )  # fmt: skip
            budget.spend(work)
            labels = state.labels
            objective, soft, hard = appraise(model, state)
            if hard <= 0.0:
                break
            for j in np.flatnonzero(state.excess > 0.0):
                _, work = draw(model, state, j, prices, least)
                budget.spend(work)
            objective, soft, hard = appraise(model, state)
            if hard <= 0.0:
                break
            rise += 1
            if rise > at.PENALTY_RISES or objective + soft > target:
                self.penalty *= at.PENALTY_UP
                return None
            if budget.deadline.first.passed:
                raise OutOfTime
            penalty *= at.PENALTY_RISE
            restless(model, state, awake)
        self.penalty *= at.PENALTY_UP if rise else at.PENALTY_DOWN
        return labels, objective + soft


class pinned:  # noqa: N801 - reads as a function of costs
    """Costs at which pinned groups stay where they are, and soft pins have their price."""

    def __init__(self, costs: Costs, rules: Rules) -> None:
        self._costs, self._rules = costs, rules

    def blocks(self, deadline: Deadline) -> Any:
        """The blocks of the costs, with pins."""
        pins, soft = self._rules.pins, self._rules.soft_pins
        if not (len(pins) or len(soft)):
            yield from self._costs.blocks(deadline)
            return
        groups, paid = soft.of_groups(self._rules.n_clusters)
        for part, block in self._costs.blocks(deadline):
            inside = (pins[:, 0] >= part.start) & (pins[:, 0] < part.stop)
            own, cluster = pins[inside, 0] - part.start, pins[inside, 1]
            block = block.copy()
            here = block[own, cluster]
            block[own] += 1e3 * (1.0 + np.abs(block[own]).max(initial=0.0))
            block[own, cluster] = here
            near = (groups >= part.start) & (groups < part.stop)
            block[groups[near] - part.start] += paid[near]
            yield part, block


def match_sizes(rules: Rules, counts: FloatArray) -> Rules:
    """Hand free size bounds to clusters by rank: the largest bounds to the largest count."""
    sizes = rules.sizes
    if sizes is None or not rules.sizes_vary:
        return rules
    rank = np.argsort(np.argsort(counts, kind="stable"), kind="stable")
    lower, upper = sizes.aimed
    return rules.with_sizes_in_order(np.lexsort((upper, lower))[rank])
