"""From centres or labels to an answer that obeys the rules, and on to a local optimum.

Rounds of prices, labels and centres come first; they move many groups at once.  Then single moves
(:mod:`.moves`) repair what is outside the bounds and improve the rest: hard rules cost a penalty
that rises until none is broken.  The first penalty of a descent drifts, so that about one descent
in five needs more (the penalty management of HGS-CVRP).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .. import numbers as at
from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by
from ..deadline import NEVER, Deadline, OutOfTime
from ..exact import NoAssignment, assign, broken, place_by_room
from ..rules import Pairs, Rules
from .budget import Budget
from .model import Model, Priced
from .moves import Scratch, State, appraise, descend, restless, state_of
from .prices import Blocks, Found, Sums, find_prices, nearest_of, place, scale_of
from .shape import Shape
from .territory import balance, mended, recut


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
    """Labels to descend from, the clusters that changed, the rules with sizes in order, prices."""

    labels: IntArray
    awake: BoolArray
    rules: Rules
    prices: Found | None


@dataclass(frozen=True, eq=False)
class Piece:
    """Some clusters, all groups in them and the rules of these: a problem of its own.

    No group outside can share a cluster with one inside, so pairs between them do not matter.
    """

    priced: Priced
    scratch: Scratch
    clique: IntArray  # of cannot-links, that each group is in, or -1, (m,)
    shape: Shape | None  # None if there are no cliques to place

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.priced.model.bound.shape[1])

    def value(self, labels: IntArray) -> float:
        """Objective of labels, and the price of soft rules."""
        objective, soft, _ = appraise(self.priced.model, state_of(self.priced.model, labels))
        return objective + soft


class Descender:
    """Descents of one problem; it keeps the model, the penalty and the arrays of the moves."""

    def __init__(
        self, rules: Rules, shape: Shape, budget: Budget, random_state: np.random.RandomState
    ) -> None:
        self.rules, self.shape, self.budget = rules, shape, budget
        self.random_state, self.penalty = random_state, 1.0
        priced = shape.priced(rules)
        clique = rules.pairs.clique
        # A clique placed anew may leave its clusters in parts.
        linked = shape if clique.max(initial=-1) >= 0 and rules.adjacency is None else None
        self.whole = Piece(priced, Scratch.of(priced.model), clique, linked)
        self._order = rules
        self._clusters: Any = None  # those of the first maker
        self.answered = False  # whether the search has an answer, so that the deadline may end it
        self.nearest: tuple[float, IntArray] | None = None  # least excess without one, and labels
        self.exact = 0, 0  # assignments that were made, and those that lowered the objective

    @property
    def deadline(self) -> Deadline:
        """When a descent ends without an answer: later while the search has none at all."""
        return self.budget.deadline if self.answered else self.budget.deadline.first

    def in_order_of(self, rules: Rules) -> None:
        """Take the bounds on sizes in the order that these rules have."""
        if rules.sizes_vary and rules is not self._order:
            self.whole = replace(self.whole, priced=self.whole.priced.with_bounds(rules))
            self._order = rules

    def from_clusters(
        self, clusters: Any, prices: Found | None = None, target: float = np.inf
    ) -> Answer | None:
        """The answer of rounds and moves from these clusters; None if rules stay broken.

        None also if the objective is above the target when rules are still broken.
        """
        self._clusters = clusters if self._clusters is None else self._clusters
        # Moves bring a child, or another answer of a sample, the rest of its way.
        rounds = at.ITERATIONS if target == np.inf else 2
        labels, prices, rules = self.rounds(clusters, prices, rounds)
        if labels is None or not self._promising(labels, target):
            return None
        found = self.improved(labels, prices, rules, target=target)
        return None if found is None else self.finished(found)

    def _promising(self, labels: IntArray, target: float) -> bool:
        """Whether moves may bring labels below the target."""
        if target == np.inf or not self.shape.follows:
            return True
        self.budget.spend(self.shape.making)
        objective = self.shape.objective(labels, self.shape.clusters(labels))
        return objective <= target + at.PROMISING * abs(target)

    def from_made(self, made: Any, best: Answer | None) -> Answer | None:
        """The answer from what a maker gives: clusters, labels, or an answer of a sample.

        Of several answers of a sample, those that cannot beat the best one end after their rounds.
        """
        if isinstance(made, Answer):
            target = np.inf if best is None else best.objective
            return self.from_clusters(made.clusters, made.prices, target)
        labels = isinstance(made, np.ndarray) and made.ndim == 1 and made.dtype.kind == "i"
        if labels and len(made) == self.rules.n_groups:
            return self.from_labels(made)
        return self.from_clusters(made)

    def from_labels(self, labels: IntArray) -> Answer | None:
        """The answer of moves from labels, which need not obey the rules."""
        rules = match_sizes(self.rules, sums_by(labels, self.rules.count, self.rules.n_clusters))
        mended_labels: IntArray | None = labels
        if rules.adjacency is not None:
            costs = self.shape.table(self.shape.clusters(labels))
            mended_labels = mended(rules, labels, costs, self.random_state)
        return None if mended_labels is None else self.improved(mended_labels, None, rules)

    def from_crossed(self, made: Any, parent: Answer) -> Answer | None:
        """The answer from clusters, or labels, that two parents gave."""
        if isinstance(made, np.ndarray) and made.ndim == 1 and made.dtype.kind == "i":
            return self.from_labels(made)
        return self.from_clusters(made, parent.prices, parent.objective)

    def from_varied(self, varied: Varied, parent: Answer) -> Answer | None:
        """The answer from a variation of a parent; None if it is no better.

        The clusters that changed and their neighbours are a problem of their own, which moves see;
        all other groups stay where they are.
        """
        if not self.shape.follows:
            return self.improved(varied.labels, varied.prices, varied.rules, varied.awake)
        net = self.rules.adjacency
        if net is None:
            inside = neighbours(self.shape, parent.clusters, varied.awake)
        else:
            inside = net.clusters_near(varied.labels, varied.awake)
            inside |= net.clusters_near(parent.labels, varied.awake)
        some, groups = np.flatnonzero(inside), np.flatnonzero(inside[varied.labels])
        place_of = np.zeros(self.rules.n_clusters, np.int64)
        place_of[some] = np.arange(len(some))
        # The parent is valued with its own order of the sizes: soft ones have a price.
        self.in_order_of(parent.rules)
        piece = self._piece(groups, some, varied.labels)
        target = piece.value(place_of[parent.labels[groups]])
        if varied.rules is not parent.rules:
            self.in_order_of(varied.rules)
            piece = self._piece(groups, some, varied.labels)
        part: IntArray = place_of[varied.labels[groups]]
        awake, prices = varied.awake[some], varied.prices
        known = None if prices is None else replace(prices, prices=prices.prices[some])
        size = piece.priced.model.points.size + len(piece.priced.model.data)
        self.budget.spend(at.CHILD_WORK + 2.0 * size + at.WIDTH * len(groups))
        if piece.shape is not None:
            before = part.copy()
            place_cliques(piece, piece.shape.clusters(part), known, part)
            moved = part != before
            awake[part[moved]] = awake[before[moved]] = True
        found = self._obeying(piece, part, known, awake, target)
        if found is None or found[1] >= target:
            return None
        labels, objective = varied.labels.copy(), parent.objective + found[1] - target
        labels[groups] = some[found[0]]
        clusters = self.shape.clusters(labels, parent.clusters)
        child = Answer(labels, clusters, objective, varied.rules, prices)
        return None if broken(varied.rules, labels) else child

    def _piece(self, groups: IntArray, some: IntArray, labels: IntArray) -> Piece:
        """The problem of some clusters, whose groups these are."""
        if len(some) == self.rules.n_clusters:
            return self.whole
        priced = self.whole.priced.part(groups, some, labels)
        clique = self.whole.clique[groups]
        linked = clique.max(initial=-1) >= 0 and self.rules.adjacency is None
        shape = self.shape.part(groups, len(some)) if linked else None
        return Piece(priced, Scratch.of(priced.model), clique, shape)

    def rounds(
        self, clusters: Any, prices: Found | None = None, number: int = at.ITERATIONS
    ) -> tuple[IntArray | None, Found, Rules]:
        """Rounds of prices, labels and centres; the labels need not obey the rules yet.

        But their clusters are connected, where they have to be; None if that failed.

        Where the order of the sizes is free, the largest bounds go to the clusters that may hold
        most, or else to the largest ones.
        """
        rules, deadline = self.rules, self.deadline
        if rules.sizes_vary:
            nearest = nearest_of(self.shape.costs(clusters, deadline), deadline)
            counts = sums_by(nearest, rules.count, rules.n_clusters)
            capacity = rules.capacity
            rules = match_sizes(rules, counts if capacity is None else capacity)
        self.in_order_of(rules)
        before, scale, shape = np.inf, 0.0, self.shape
        (m, d), k, model = shape.shape, rules.n_clusters, self.whole.priced.model
        sums = Sums(model.amount, *model.bound)
        best: tuple[IntArray, Found] | None = None
        for _ in range(number):
            costs = PinnedCosts(shape.costs(clusters, deadline), model)
            scale = scale or scale_of(costs, deadline)
            prices = find_prices(costs, sums, scale, prices, deadline, self.budget.deadline)
            labels = place(costs, sums.amount, prices, deadline)
            place_cliques(self.whole, clusters, prices, labels)
            if rules.adjacency is not None:
                paid_costs = shape.table(clusters) + sums.amount @ prices.prices.T
                connected = mended(rules, labels, paid_costs, self.random_state)
                if connected is None:
                    return None, prices, rules
                labels = connected
            work = at.CHILD_WORK + 0.5 * m * k * (d + 10.0)
            self.budget.spend(work + prices.work + shape.making)
            clusters = shape.clusters(labels, clusters)
            # What is outside the bounds counts at the highest price of its sum.
            paid = sums.outside(labels) @ np.abs(prices.prices).max(axis=0, initial=0.0)
            objective = shape.objective(labels, clusters) + float(paid)
            if best is None or objective < before:
                best = labels, prices
            if before - objective < at.ROUND_DROP * abs(objective) or self.budget.over:
                break
            before = objective
        if best is None:
            raise AssertionError("there is one round at least")
        return *best, rules

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
                table = self.shape.table(clusters)
                self.whole = replace(self.whole, priced=self.whole.priced.with_table(table))
                self.budget.spend(k * float(np.prod(self.shape.shape)))
            found = self._obeying(self.whole, labels, prices, awake, target)
            if found is None:
                return best
            labels, objective = found
            self.budget.spend(self.shape.making)
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
        assignments.  Other pairs are left out of a flow, and moves mend what breaks: groups may
        have to pass on through many clusters, which moves do not see.
        """
        rules = answer.rules
        m, k = rules.n_groups, rules.n_clusters
        alone = rules.quickly_exact or rules.sizes is None
        exactly = rules if alone else replace(rules, pairs=Pairs(m))
        quick = exactly.quickly_exact and self.shape.follows and m * k <= at.GROWTH * at.EXACT
        quick = quick and not self.shape.mixes  # there, groups leave where they cost least
        most = self.budget.spent + at.STEP * self.budget.work
        # A flow with places of cliques has so many more arcs and nodes.
        each = 1000.0 if rules.sizes is not None and len(exactly.pairs) else 100.0
        while quick and self.budget.spent < most and not self.budget.deadline.passed:
            cost = self.shape.table(answer.clusters)
            try:
                exact = assign(exactly, cost, incumbent=answer.labels, deadline=self.deadline)
                self.exact = self.exact[0] + 1, self.exact[1]
                self.budget.spend(at.CHILD_WORK + each * m * k)
                moved, awake = exact.labels != answer.labels, np.zeros(k, bool)
                awake[exact.labels[moved]] = awake[answer.labels[moved]] = True
                found = self.improved(exact.labels, answer.prices, rules, awake)
            except (OutOfTime, NoAssignment):
                break
            if found is None or not found.beats(answer):
                break
            self.exact = self.exact[0], self.exact[1] + 1
            gain, answer = answer.objective - found.objective, found
            if gain < at.AT_REST * abs(answer.objective):
                break
        return answer

    def _descended(
        self,
        piece: Piece,
        model: Model,
        state: State,
        order: IntArray,
        awake: BoolArray,
        prices: Found | None,
        rise: int,
    ) -> None:
        """Take moves until none pays, in pieces of work between which the deadline is asked."""
        known = np.zeros(model.bound.shape[1:]) if prices is None else prices.prices
        margin = 0.0 if prices is None else at.MARGIN * prices.eps
        known, least = np.ascontiguousarray(known), 1e-10 * piece.priced.scale
        fresh, gaps, total = True, np.zeros(piece.n_clusters), 0.0
        how = known, gaps, at.ITERATIONS, least, margin, rise > 3, at.PIECE
        swept = np.zeros(3)  # groups that it came past, gain and work since the last question
        while True:
            did = descend(model, state, piece.scratch, order, awake, *how, fresh)
            seen, _, work = did
            self.budget.spend(work)
            if not seen or self.budget.deadline.passed:
                return
            swept += did
            # The first moves of mixed groups gain most: what is left is hardly worth a sweep.
            enough = self.shape.mixes and self.budget.over
            if enough and appraise(model, state)[2] <= 0.0:
                return
            if swept[0] >= len(order):
                total = total or abs(appraise(model, state)[0])
                _, gain, work = swept
                # At its rate the whole budget must be worth something, more so when that is spent.
                least_drop = at.PROMISING if self.budget.over else at.ROUND_DROP
                over = self.answered and self.budget.over
                if over or gain * self.budget.work < least_drop * total * work:
                    return
                swept[:] = 0.0
            awake, fresh = piece.scratch.flag[0].copy(), False
            order = np.roll(order, -(seen % len(order)))

    def _recut(self, priced: Priced, labels: IntArray, awake: BoolArray, attempts: int) -> None:
        """Cut clusters that break a rule anew, with those next to them; these are awake then."""
        before = labels.copy()
        cuts = recut(priced.model, labels, awake, self.random_state)
        work = balance(priced, labels, self.random_state, self.deadline, attempts)
        moved = labels != before
        awake[labels[moved]] = awake[before[moved]] = True
        self.budget.spend(at.PASS_WORK * cuts + work)

    def _give_up(self, model: Model, state: State, prices: Found | None, awake: BoolArray) -> None:
        """Empty the clusters that miss bounds which none at all would keep; in place.

        No move may lead on: of 10 groups each with 7 to 13 % there are 10 or 20 rows, but never 15.
        """
        labels, hard = state.labels, model.price[1] > 0.0
        low, high = model.bound[:, :, hard]
        gone = np.any((state.load[:, hard] < low) | (state.load[:, hard] > high), axis=1)
        gone &= np.all((low <= 0.0) & (high >= 0.0), axis=1)
        gone[self.rules.pins[:, 1]] = False
        inside = np.flatnonzero(gone[labels])
        if len(model.node) > 1 or not len(inside) or gone.all():
            return
        costs = self.shape.some_costs(inside, self.shape.clusters(labels))
        if prices is not None:
            costs = costs + model.amount[inside] @ prices.prices.T
        costs[:, gone] = np.inf
        labels[inside] = costs.argmin(axis=1)
        awake[gone] = awake[labels[inside]] = True

    def placed(self, deadline: Deadline | None = None) -> Answer | None:
        """Labels of groups placed one after another where there is room; None if some find none.

        For a deadline that comes before anything better, soon; and where moves give no answer.
        """
        rules, known, cost = self._order, self._clusters, None
        if known is not None and self.rules.n_groups * rules.n_clusters <= at.GROWTH * at.EXACT:
            cost = self.shape.table(known)
        try:
            labels = place_by_room(rules, deadline or NEVER.within(at.GRACE), cost)
        except OutOfTime:
            return None
        if labels is None:
            return None
        if rules.sizes_vary:
            rules = match_sizes(rules, sums_by(labels, rules.count, rules.n_clusters))
        if broken(rules, labels):
            return None
        clusters = self.shape.clusters(labels, known)
        objective = self.shape.objective(labels, clusters) + rules.soft_cost(labels)
        return Answer(labels, clusters, objective, rules, None)

    def _obeying(
        self, piece: Piece, labels: IntArray, prices: Found | None, awake: BoolArray, target: float
    ) -> tuple[IntArray, float] | None:
        """Labels after moves at a penalty that rises until no hard rule is broken."""
        penalty, rise, waste = self.penalty, 0, np.inf
        least = 0.0 if prices is None else np.abs(prices.prices).max(axis=0, initial=0.0)
        order = self.random_state.permutation(len(labels))
        if self.shape.mixes:  # members of a cluster look at the same others, which stay in cache
            order = order[np.argsort(labels[order], kind="stable")]
        while True:
            model = piece.priced.at(penalty, least)
            self.budget.spend(self.shape.making * len(labels) / self.rules.n_groups)
            state = state_of(model, labels)
            self._descended(piece, model, state, order, awake, prices, rise)
            labels = state.labels
            objective, soft, hard = appraise(model, state)
            if hard <= 0.0:
                break
            if piece is self.whole and not self.answered:
                miss = hard / penalty
                if self.nearest is None or miss < self.nearest[0]:
                    self.nearest = miss, labels.copy()
            # Cuts of trees mend sums slowly, but they go on while they do.
            mends = hard / penalty < (1.0 - at.PROMISING) * waste
            rises = not (mends and len(model.node) > 1) or rise < at.PENALTY_RISES
            rise, waste = rise + rises, min(waste, hard / penalty)
            if rise > at.PENALTY_RISES or objective + soft > target:
                self.penalty /= at.PENALTY_DRIFT**2
                return None
            if self.deadline.passed:
                raise OutOfTime
            if rises:
                penalty, least = penalty * at.GROWTH, least * at.GROWTH
            restless(model, state, awake)
            if not mends and piece is self.whole and not self.shape.mixes:
                self._give_up(model, state, prices, awake)
            if len(model.node) > 1:
                # A child whose clusters moves and cuts do not mend soon has one attempt each time.
                whole = target == np.inf and not (self.answered and self.budget.over)
                attempts = at.ITERATIONS if whole else int(rise > 2)
                priced = piece.priced._replace(model=piece.priced.at(penalty, least))
                self._recut(priced, labels, awake, attempts)
        self.penalty *= at.PENALTY_DRIFT**-2 if rise else at.PENALTY_DRIFT
        return labels, objective + soft


def neighbours(shape: Shape, clusters: Any, some: BoolArray) -> BoolArray:
    """Some clusters, and the nearest of each of them."""
    found, chosen = some.copy(), np.flatnonzero(some)
    gaps = np.array(shape.gaps(shape.some(clusters, chosen), clusters))
    gaps[np.arange(len(chosen)), chosen] = np.inf
    number = min(at.WIDTH, len(some) - 1)
    if number > 0:
        found[np.argpartition(gaps, number - 1, axis=1)[:, :number]] = True
    return found


def place_cliques(piece: Piece, clusters: Any, prices: Found | None, labels: IntArray) -> None:
    """Place each clique of cannot-links anew that is not apart, where it costs least at the prices.

    Its groups go to different clusters by linear assignment (the Hungarian method).
    """
    k, shape, model = piece.n_clusters, piece.shape, piece.priced.model
    members = np.flatnonzero(piece.clique >= 0)
    if shape is None or not len(members):
        return
    clique = piece.clique[members]
    order = np.lexsort((labels[members], clique))
    alike = (np.diff(clique[order]) == 0) & (np.diff(labels[members[order]]) == 0)
    order = order[np.isin(clique[order], clique[order[1:][alike]])]
    start = np.flatnonzero(np.diff(clique[order], prepend=-1, append=-1))
    block = np.searchsorted(start, np.arange(0, len(order), max(at.EXACT // k, k)))
    for first, last in itertools.pairwise([*np.unique(block).tolist(), len(start) - 1]):
        groups, begin = members[order[start[first] : start[last]]], start[first : last + 1]
        paid = shape.some_costs(groups, clusters)
        if prices is not None:
            paid = paid + model.amount[groups] @ prices.prices.T
        cost = with_pins(model, groups, paid)
        for a, b in itertools.pairwise((begin - start[first]).tolist()):
            labels[groups[a:b]] = linear_sum_assignment(cost[a:b])[1]


class PinnedCosts(Blocks):
    """Costs at which pinned groups stay where they are, and soft pins have their price."""

    def __init__(self, costs: Blocks, model: Model) -> None:
        self._costs, self._model = costs, model
        self._pinned = bool((model.pin >= 0).any())

    def blocks(self, deadline: Deadline) -> Iterator[tuple[slice, FloatArray]]:
        """The blocks of the costs, with pins."""
        for part, block in self._costs.blocks(deadline):
            yield part, with_pins(self._model, part, block) if self._pinned else block


def with_pins(model: Model, groups: slice | IntArray, cost: FloatArray) -> FloatArray:
    """Costs of some groups, (g, k), at which pins are kept and soft pins have their price."""
    pin, place = model.pin[:, groups]
    held, soft = np.flatnonzero(pin >= 0), np.flatnonzero(place >= 0)
    if not (len(held) or len(soft)):
        return cost
    changed = cost.copy()
    here = changed[held, pin[held]]
    changed[held] += 1e3 * (1.0 + np.abs(cost[held]).max(initial=0.0))
    changed[held, pin[held]] = here
    changed[soft] += model.paid[place[soft]]
    return changed


def match_sizes(rules: Rules, counts: FloatArray) -> Rules:
    """Hand free size bounds to clusters by rank: the largest bounds to the largest count."""
    sizes = rules.sizes
    if sizes is None or not rules.sizes_vary:
        return rules
    rank = np.argsort(np.argsort(counts, kind="stable"), kind="stable")
    lower, upper = sizes.aimed
    return rules.with_sizes_in_order(np.lexsort((upper, lower))[rank])
