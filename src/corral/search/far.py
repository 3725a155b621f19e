"""Rows outside this process's memory: prices where the rows are, and a few open rows at home.

A sample shows where the centres are (:func:`search_far`).  Then rounds over all rows, wherever
these are (:func:`descend_far`):

1. *prices* of the bounded sums by soft loads (:mod:`.prices`), from those of the round before;
2. *place*: every row goes to its cheapest cluster at these prices;
3. *means* of the clusters, where the rows are.

The first round and the last ones also *settle*: rows of the smallest margins come home, where they
are moved in bulk or assigned exactly, with bounds less what all other rows use.  So there is an
answer from the first round on.  Amounts, labels and margins stay with the rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from .. import numbers as at
from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import pieces, sums_by
from ..deadline import Deadline, OutOfTime
from ..exact import Assignment, NoAssignment, assign, broken
from ..problem import Problem
from ..rows import Look, Passes, Placement, ShardLabels, ShardRows
from ..rules import LinearRows, Rules, SoftPins, smallest
from .descent import match_sizes
from .prices import Found, Sums, find_prices
from .starts import draw, group_labels, labelled_means, seed_order

#: Searches a sample in memory: centres relative to the middle of its rows, and prices or None.
SearchNear = Callable[[Problem, np.random.RandomState], tuple[FloatArray, Found | None]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FarAnswer:
    """Labels of rows in shards that obey every hard rule, or nearly so between rounds."""

    labels: ShardLabels
    centers: FloatArray  # means of the clusters, (k, d), relative to the middle of the rows
    objective: float  # inertia over the groups plus the price of the soft rules broken
    prices: Found  # of the sums
    rules: Rules  # with the size bounds in the order that these labels obey
    exact: bool = False  # whether it is proven that no labels cost less at the last centres


def why_home(rules: Rules) -> str:
    """Why far rows must come into this process's memory, or nothing if they need not."""
    if rules.adjacency is not None:
        return "connected clusters are searched in memory"
    joint = len(_Joint(rules.with_sums()).groups)
    if joint * rules.n_clusters <= at.EXACT:
        return ""
    return f"linear rows tie {joint} groups in several clusters, too many for a program"


def sample_size(problem: Problem) -> int:
    """Groups of the sample that shows where the centres are, more where weights are uneven.

    A number given as ``max_samples`` is that of the sample.
    """
    asked = problem.settings.max_samples
    if isinstance(asked, int):
        return max(asked, problem.n_clusters)
    enough = max(at.SAMPLE, at.SAMPLE_EACH * problem.n_clusters)
    return int(enough * unevenness(problem.rows.weight, problem.rules.count))


def unevenness(weight: FloatArray, count: IntArray) -> float:
    """Rows that tell as much as one would if all had the same weight."""
    total = squares = 0.0
    for part in pieces(len(weight)):
        total += float(weight[part].sum())
        squares += float(weight[part] @ (weight[part] / count[part]))
    if total <= 0.0:
        return 1.0
    return max(float(count.sum()) * squares / total**2, 1.0)


def sampled_near(n_rows: int, n_clusters: int) -> bool:
    """Whether a sample of so many rows is searched in memory."""
    size = min(n_rows, max(at.SAMPLE, at.SAMPLE_EACH * n_clusters))
    return size * n_clusters <= at.EXACT


def is_small(problem: Problem) -> bool:
    """Whether the sample would be all rows, and few enough for memory."""
    m = problem.rules.n_groups
    return m <= sample_size(problem) and m * problem.n_clusters <= at.EXACT


def search_far(
    problem: Problem, random_state: np.random.RandomState, search_near: SearchNear
) -> FarAnswer:
    """Search a sample, in memory if it is small enough, then all rows where they are.

    Parameters
    ----------
    problem : Problem
        Its rows are :class:`~corral.rows.ShardRows`.
    random_state : RandomState
    search_near : callable
        ``search_near(part, random_state)`` searches a sample of the problem, with its rules in
        proportion, and gives centres relative to the middle of its rows, and prices of its sums or
        None.  A start that the user gave needs no sample.

    Raises
    ------
    NoAssignment
        No labels were found that obey the rules; other centres may leave room.
    OutOfTime
        The deadline came before any feasible answer.
    """
    problem = replace(problem, rules=problem.rules.with_sums())
    init, rules, rows = problem.settings.init, problem.rules, problem.rows
    given: IntArray | None = None
    if not isinstance(init, str):
        if init.ndim == 2:
            centers: FloatArray = init - rows.middle
        else:
            given = group_labels(rules, init.astype(np.int64))
            centers = rows.means(given, problem.n_clusters)
        return descend_far(problem, centers, None, problem.deadline, given)
    size, k = min(sample_size(problem), rules.n_groups), problem.n_clusters
    groups = draw(rules, size, random_state)
    soon = problem.until(problem.deadline.share(at.STEP))
    if size * k > at.EXACT:
        centers, prices = _coarse(soon, groups, random_state)
        return descend_far(problem, centers, prices, problem.deadline)
    part = soon.part(groups)
    try:
        centers, prices = search_near(part, random_state)
    except (NoAssignment, OutOfTime):  # the rules of all rows may leave more room
        problem.deadline.first.check()
        centers, prices = part.rows.seeds(k, np.arange(len(groups)), random_state), None
    return descend_far(problem, part.shifted(centers, problem), prices, problem.deadline)


def _coarse(
    problem: Problem, groups: IntArray, random_state: np.random.RandomState
) -> tuple[FloatArray, Found | None]:
    """Centres and prices of a sample where the rows are, from rows of it drawn at random.

    Clusters of labelled groups start at the means of these; other seeds go to clusters that have
    rules of their own as they fit.
    """
    rules, rows = problem.rules, problem.rows
    drawn = np.sort(random_state.choice(len(groups), problem.n_clusters, replace=False))
    points = np.array(rows.take(groups[drawn]).given[0], np.float64)
    known = labelled_means(rules, rows, random_state)
    if known is not None:
        points[known.clusters] = known.means
    elif rules.numbered:
        seeds = points - rows.middle

        def distances(some: IntArray) -> FloatArray:
            part = rows.take(some)
            squares: FloatArray = part.distances(seeds + (rows.middle - part.middle))
            return squares

        points = points[seed_order(rules, distances, lambda: rows.nearest(seeds))]
    if len(groups) == rules.n_groups:
        return points - rows.middle, None
    part_rows: ShardRows = rows.part(groups)
    part_rules = replace(rules, linear=None).part(groups)
    part_rules = part_rules.scaled(part_rules.n_rows / rules.n_rows)
    part = replace(problem, rules=part_rules, rows=part_rows)
    try:
        descent = _Descent.of(part, points - part_rows.middle, None, problem.deadline)
        found = descent.round(points - part_rows.middle, problem.deadline)
        found = descent.rounds(found, problem.deadline)
        return found.centers + (part_rows.middle - rows.middle), found.prices
    except OutOfTime:
        problem.deadline.first.check()
        return points - rows.middle, None


def descend_far(
    problem: Problem,
    centers: FloatArray,
    prices: Found | None,
    deadline: Deadline,
    given: IntArray | None = None,
) -> FarAnswer:
    """Rounds over all rows where they are, from centres to labels that obey the rules.

    Parameters
    ----------
    problem : Problem
        Its rows are :class:`~corral.rows.ShardRows`.
    centers : (k, d) array
        Relative to the middle of the rows.
    prices : Found or None
        Of the sums of the rules (:meth:`.Rules.sums`), to start from.
    deadline : Deadline
    given : (m,) array, optional
        Labels of the centres.  If they obey the rules, the answer is no worse.

    Raises
    ------
    NoAssignment
        No labels were found that obey the rules; other centres may leave room.
    OutOfTime
        The deadline came before any feasible answer.
    """
    told, first = problem.settings.progress, deadline.first
    descent = _Descent.of(problem, centers, prices, first)
    told.enter("assign")
    best = descent.settled(centers, first)
    if given is not None and not broken(descent.given, given):
        known = descent.as_given(given, centers, first)
        best = known if known.objective <= best.objective else best
    told.step(problem.objective(best.objective))
    try:
        centers = descent.rounds(best, deadline.share(at.STEP)).centers
        for exact in (False, True):
            found = descent.settled(centers, deadline, exact)
            told.step(problem.objective(found.objective))
            if found.objective < best.objective:
                best, centers = found, found.centers
    except (OutOfTime, NoAssignment):
        logger.info("far rows: the rounds ended early, with the best answer so far")
    return best


class _FarCosts:
    """What :func:`.find_prices` asks of rows elsewhere; they have their amounts with them.

    With passes over some of the rows, all rows are seen at the first prices alone.  At others they
    are what these and the change of some rows say: the error is that of the change, which becomes
    small from round to round.
    """

    def __init__(self, passes: Passes, rounding: float, some: Passes | None = None) -> None:
        self._passes, self._rounding, self._some = passes, rounding, some
        self._first: tuple[FloatArray, FloatArray, float] | None = None
        self._times = 1.0 if some is None else passes.rows.shape[0] / some.rows.shape[0]

    def look(self, sums: Sums, prices: FloatArray, eps: float, deadline: Deadline) -> Look:
        """One pass; at a temperature below the rounding of costs nothing is undecided."""
        found = self._look(prices, eps)
        return found if eps > self._rounding else replace(found, undecided=0)

    def _look(self, prices: FloatArray, eps: float) -> Look:
        if self._some is None:
            return self._passes.soft_loads(prices, eps)
        some = self._some.soft_loads(prices, eps) * self._times
        if self._first is None:
            all_rows = self._passes.soft_loads(prices, eps)
            self._first = prices, all_rows.load - some.load, all_rows.value - some.value
            return all_rows
        first, load, value = self._first
        value += float(np.vdot(load, prices - first))
        return replace(some, load=some.load + load, value=some.value + value)


class _Descent:
    """What the rounds of one descent have in common, and the prices that go from one to the next.

    Pinned groups are where their pins say: they have no amounts, and bounds are less by theirs.
    Linear rows that are no sums have no prices: their groups are opened where one is broken.
    """

    def __init__(
        self, rows: ShardRows, rules: Rules, prices: Found | None, deadline: Deadline
    ) -> None:
        self.k, sums = rules.n_clusters, rules.sums().and_(rules.soft_sums)
        # From here on sizes stay in their order, so that single rows can be filled in bulk.
        sizes = None if rules.sizes is None else replace(rules.sizes, ordered=True)
        self.given, self.joint, self.soft_pins = rules, _Joint(rules), rules.soft_pins
        # Whether sizes of single rows are the only rule, but for soft pins.
        self.single = rules.quickly_exact and not rules.tied.any()
        self.rules = replace(rules, sizes=sizes, linear=None, soft_pins=SoftPins.none())
        self.pins = rules.pins[np.argsort(rules.pins[:, 0], kind="stable")]
        amount, pinned = smallest(sums.values).T, self.pins[:, 0]
        bounds, price = (sums.lower.T, sums.upper.T), sums.price[:, 0]
        self.deadline, self.n_sums = deadline, len(sums.values)
        del sums  # amounts as floats take more memory
        self.taken = _added(self.pins[:, 1], amount[pinned], self.k)
        if len(pinned) and amount.size:
            amount = amount.copy()
            amount[pinned] = 0
        lower, upper = (bound - self.taken for bound in bounds)
        self.sums = Sums(amount, lower, upper, price)
        self.rows = rows.with_amounts(amount.T).with_pins(rules.soft_pins)
        self.some: ShardRows | None = None
        if rows.glance is not None and amount.size:
            groups, some = rows.glance
            pins = rules.soft_pins.part(_places(groups, rules.n_groups))
            self.some = some.with_amounts(amount[groups].T).with_pins(pins)
        self.pairs = _Linked(rules)
        self.cost = rows.spread / max(rows.shape[0], 1)  # mean cost of a group about the middle
        none = Found(np.zeros(self.sums.lower.shape), self.cost, 0.0)
        fits = prices is not None and prices.prices.shape == none.prices.shape
        self.prices = prices if prices is not None and fits else none
        self.rounding = 64.0 * float(np.finfo(rows.dtype).eps) * self.cost

    @classmethod
    def of(
        cls, problem: Problem, centers: FloatArray, prices: Found | None, deadline: Deadline
    ) -> _Descent:
        """With sizes in the order of what clusters hold at the centres and prices."""
        rows, rules = problem.rows, problem.rules
        if not isinstance(rows, ShardRows):
            raise TypeError("rows in memory are searched in memory")
        made = cls(rows, rules, prices, problem.deadline)
        if rules.sizes_vary:
            found = made.rows.at(centers, deadline).place(made.prices.prices)
            ordered = match_sizes(rules, found.sums[:, 0])  # sizes are the first of the sums
            made = cls(rows, ordered, prices, problem.deadline)
        return made

    def rounds(self, step: FarAnswer, until: Deadline) -> FarAnswer:
        """Rounds that only place, until the objective stops falling or time is over.

        From round to round centres go beyond the means, as Nesterov's method does, while that pays.
        """
        ahead, slow, start = 0, 0, step.centers
        for _ in range(at.ROUNDS):
            try:
                found = self.round(start, until)
            except OutOfTime:
                break
            # With what misses the bounds an objective may be zero or below.
            drop = step.objective - found.objective
            slow = slow + 1 if drop <= at.AT_REST * abs(step.objective) else 0
            ahead = ahead + 1 if drop > 0.0 else 0
            start = found.centers
            if ahead:
                start = self.rows.distance.beyond(start, step.centers, ahead / (ahead + 3.0))
            step = found
            if slow == 2:
                break
        return step

    def round(self, centers: FloatArray, until: Deadline) -> FarAnswer:
        """Prices, places and means; labels may miss bounds and break pairs."""
        passes = self._priced(centers, until)
        found = self._place(passes, self.pins)
        step = self._measured(passes, found.labels)
        # What is outside the bounds counts at its price: about what it costs to mend it.
        missed = found.sums - np.clip(found.sums, self.sums.lower, self.sums.upper)
        hard = np.where(np.isinf(self.sums.most), self.prices.prices * missed, 0.0)
        paid = float(hard.sum()) + self._overpaid(found.sums) + self._unpinned(found.labels)
        return replace(step, objective=step.objective + paid)

    def _overpaid(self, sums: FloatArray) -> float:
        """Price of all that soft sums, (k, q), are outside their bounds."""
        missed = np.abs(sums - np.clip(sums, self.sums.lower, self.sums.upper))
        return float(missed.sum(axis=0) @ np.where(np.isinf(self.sums.most), 0.0, self.sums.most))

    def _unpinned(self, labels: ShardLabels) -> float:
        """Price of the soft pins that labels break."""
        groups, place = np.unique(self.soft_pins.pins[:, 0], return_inverse=True)
        pins = np.column_stack([place, self.soft_pins.pins[:, 1]])
        return replace(self.soft_pins, pins=pins).cost(labels.of(groups))

    def _with_soft(self, answer: FarAnswer) -> FarAnswer:
        """The answer with the price of the soft rules that it breaks."""
        paid = self.pairs.cost(answer.labels) + self._unpinned(answer.labels)
        if np.isfinite(self.sums.most).any():
            paid += self._overpaid(answer.labels.amounts()[:, : self.n_sums])
        return replace(answer, objective=answer.objective + paid)

    def settled(self, centers: FloatArray, until: Deadline, exact: bool = False) -> FarAnswer:
        """The same with labels that obey the rules.

        They are exact at the centres where sizes are the only rule, if that is asked for.
        """
        passes = self._priced(centers, until)
        found, proven = self._place(passes), False
        if exact and self.single:
            labels, proven = self._proven(passes, found, until)
        else:
            labels = self._settle(passes, found, until, exact).labels
        return self._with_soft(self._measured(passes, labels, proven))

    def as_given(self, labels: IntArray, centers: FloatArray, until: Deadline) -> FarAnswer:
        """The answer of labels that are known and obey the rules."""
        passes = self.rows.at(centers, until)
        known = self._place(passes).labels.patched(np.arange(len(labels)), labels)
        return self._with_soft(self._measured(passes, known))

    def _priced(self, centers: FloatArray, until: Deadline) -> Passes:
        """Passes at the centres, after one look for prices."""
        passes = self.rows.at(centers, until)
        some = self.some
        if some is not None:
            near = some.at(centers + (self.rows.middle - some.middle), until)
        costs = _FarCosts(passes, self.rounding, None if some is None else near)
        self.prices = find_prices(costs, self.sums, self.cost, self.prices, until, self.deadline)
        return passes

    def _place(self, passes: Passes, pins: IntArray | None = None) -> Placement:
        """Rows in their cheapest clusters; drawn by their shares where too many are alike.

        With pins they are measured.  Rounds of rows that are read do without a second pass.
        """
        found = passes.place(self.prices.prices, pins=pins)
        missed = self.sums.size(self.sums.miss(found.sums, self._paid))
        if missed > at.UNDECIDED and (pins is None or self.some is None):
            drawn = passes.place(self.prices.prices, self.prices.eps, pins)
            less = self.sums.size(self.sums.miss(drawn.sums, self._paid)) < missed
            found = drawn if less else found
        return found

    @property
    def _paid(self) -> FloatArray:
        """Prices of soft sums that are as high as they may be: what these miss is paid for."""
        prices = self.prices.prices
        return np.where(np.abs(prices) >= self.sums.most, prices, 0.0)

    def _measured(self, passes: Passes, labels: ShardLabels, exact: bool = False) -> FarAnswer:
        """The answer of labels: means and inertia by one pass."""
        means, inertia = self.rows.measured(labels, self.k, passes.centers)
        return FarAnswer(labels, means, inertia, self.prices, self.given, exact)

    def _proven(
        self, passes: Passes, found: Placement, until: Deadline
    ) -> tuple[ShardLabels, bool]:
        """Labels that keep the sizes, and whether none cost less at these centres.

        Prices of the open rows' flow are those of all rows or near them; placed at these, fewer
        rows are open, until all that could be elsewhere are, or the gap to a lower bound stays.
        """
        best: ShardLabels | None = None
        gap, digits = np.inf, 64.0 * float(np.finfo(np.float64).eps)  # rounding of sums, as a part
        try:
            for _ in range(at.ITERATIONS):
                step = self._settle(passes, found, until)
                best = step.labels
                if step.gap <= digits * self.rows.spread:
                    return best, True
                reach = (1.0 + digits) * step.gap + self.rounding
                rows = found.within(reach, at.EXACT // self.k)
                if rows is not None:
                    return self._opened(passes, found.labels, found.sums, rows, until).labels, True
                if step.prices is None or step.gap >= gap:
                    break
                gap, self.prices = step.gap, replace(self.prices, prices=step.prices)
                found = self._place(passes)
        except (OutOfTime, NoAssignment):
            if best is None:
                raise
        if best is None:
            raise AssertionError("a settled round has labels")
        logger.info("far rows: too many rows are open for exact labels at these centres")
        return best, False

    def _settle(
        self, passes: Passes, found: Placement, until: Deadline, exact: bool = True
    ) -> _Step:
        """Labels that keep pairs and bounds, by opening as few rows as will do.

        Sizes of single rows are filled in bulk if they need not be exact, or too many are open.
        """
        labels = self._mended(passes, found.labels.patched(*self.pins.T), until)
        sums = found.sums if labels is found.labels else labels.amounts()[:, : self.n_sums]
        missed, joint = self._missed(sums), self.joint.broken(labels)
        obeyed = not joint and not missed[:, np.isinf(self.sums.most)].any()
        if obeyed and not missed.any():
            return _Step(labels, self._slack(sums), None)
        own, to = self._wrong(missed, sums)
        most, factor, opened = at.EXACT if exact else 0, at.GROWTH, 0
        while True:
            until.check()
            rows = found.least(factor * float(own.sum() + to.sum()), factor * own, factor * to)
            rows = rows[~(self.pairs.pinned if opened else self.rules.tied)[rows]]
            if self.single and np.isinf(self.sums.most).all() and len(rows) * self.k > most:
                rows = found.least(0.0, own, np.zeros(self.k))
                return self._filled(passes, labels, sums[:, 0], rows, until)
            if joint or opened:
                rows = np.union1d(rows, self.joint.groups[~self.pairs.pinned[self.joint.groups]])
            full = len(rows) * self.k > at.ENTRIES_ON_DEVICE or 0 < opened == len(rows)
            if obeyed and (full or not len(rows)):  # soft sums stay as the prices have them
                return _Step(labels, np.inf, None)
            if full:
                raise NoAssignment
            try:
                return self._opened(passes, labels, sums, rows, until, obeyed)
            except NoAssignment:
                factor, opened = factor * at.GROWTH, max(len(rows), 1)

    def _missed(self, sums: FloatArray) -> FloatArray:
        """By how much sums miss what prices aim at; of soft ones, what whole groups can mend."""
        prices, soft = self.prices.prices, np.isfinite(self.sums.most)
        upper = np.where(soft & (prices >= self.sums.most), np.inf, self.sums.upper)
        lower = np.where(soft & (prices <= -self.sums.most), -np.inf, self.sums.lower)
        missed: FloatArray = sums - np.clip(sums, lower, upper)
        return np.where(soft & (np.abs(missed) < 0.5 * self.sums.mean), 0.0, missed)

    def _wrong(self, missed: FloatArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """About how many groups are to leave each cluster, and to come to it, (k,) both.

        Amounts of both signs may do either.  Where clusters lack some, those with most to give are
        asked for them.
        """
        groups, signed = missed / self.sums.mean, (self.sums.amount < 0.0).any(axis=0)
        both = np.abs(groups[:, signed]).sum(axis=1)
        own = np.maximum(groups, 0.0).sum(axis=1) + both
        to = np.maximum(-groups, 0.0).sum(axis=1) + both
        gives = np.min((sums - self.sums.lower) / self.sums.mean, axis=1, initial=np.inf)
        gives = np.maximum(np.minimum(gives, self.rows.shape[0]) - own, 0.0)
        givers = np.argsort(-gives)[: int(np.ceil(to.sum()))]
        part = to.sum() / max(gives[givers].sum(), 1.0)
        own[givers] += np.ceil(min(part, 1.0) * gives[givers])
        return own, to

    def _filled(
        self, passes: Passes, labels: ShardLabels, held: FloatArray, rows: IntArray, until: Deadline
    ) -> _Step:
        """The labels with some single rows moved to the cheapest clusters with room, in bulk.

        Rows ask the cheapest cluster with room, where they are; it takes those for which the next
        best one costs most; again until all have a place.  Clusters under their bounds come first.
        It always ends.
        """
        here, part = labels.of(rows), self.rows.part(rows).with_amounts(np.ones((1, len(rows))))
        part = part.with_pins(self.soft_pins.part(_places(rows, self.rows.shape[0])))
        near = part.at(passes.centers + (self.rows.middle - part.middle), until)
        held = held - np.bincount(here, minlength=self.k)
        to, left = here.copy(), np.arange(len(rows))
        for bound in (self.sums.lower[:, 0], self.sums.upper[:, 0]):
            while len(left) and np.any(room := np.floor(bound - held) >= 1.0):
                found = near.place(np.where(room[:, None], self.prices.prices, np.inf))
                asked, most = found.labels()[left], np.floor(bound - held).astype(np.int64)
                taken = _least_of_each(asked, -found.margins()[left], most)
                to[left[taken]] = asked[taken]
                held += np.bincount(asked[taken], minlength=self.k)
                left = left[~taken]
        if len(left) or np.any((held < self.sums.lower[:, 0]) | (held > self.sums.upper[:, 0])):
            raise NoAssignment
        moved = to != here
        return _Step(labels.patched(rows[moved], to[moved]), np.inf, None)

    def _opened(
        self,
        passes: Passes,
        labels: ShardLabels,
        sums: FloatArray,
        rows: IntArray,
        until: Deadline,
        obeyed: bool = False,
    ) -> _Step:
        """The labels with some rows assigned anew, given what all others use of the bounds.

        ``obeyed`` says that the labels keep all hard rules.
        """
        if not len(rows):
            raise NoAssignment
        here, amounts, prices = labels.of(rows), self.sums.amount[rows], self.prices.prices
        others = sums - _added(here, amounts, self.k)
        cost = self._costs(passes, rows)
        part = _less(self.rules.part(rows), others + self.taken)
        part = replace(part, linear=self.joint.part(rows, labels))
        closed, known = self.pairs.beside(cost, rows, labels), here if obeyed else None
        found = _assigned(part, closed, prices.T, until.within(at.PROGRAM_SECONDS), known)
        to = found.labels
        priced = cost + amounts @ prices.T
        rise = priced[np.arange(len(to)), to] - priced.min(axis=1)
        gap = float(rise.sum()) + self._slack(others + _added(to, amounts, self.k))
        warm = None if found.warm is None else np.atleast_2d(found.warm).T
        warm = warm if warm is not None and warm.shape == prices.shape else None
        moved = to != here
        return _Step(labels.patched(rows[moved], to[moved]), gap, warm)

    def _slack(self, sums: FloatArray) -> float:
        """What sums leave of the bounds that they keep, at the prices, and pay for soft ones."""
        prices = self.prices.prices
        bound = np.where(prices > 0.0, self.sums.upper, self.sums.lower)
        left = np.where(prices == 0.0, 0.0, bound) - np.where(prices == 0.0, 0.0, sums)
        return float((prices * left).sum()) + self._overpaid(sums)

    def _mended(self, passes: Passes, labels: ShardLabels, until: Deadline) -> ShardLabels:
        """The labels with the ends of broken pairs assigned anew, at the prices of the sums."""
        rows = self.pairs.open_ends(labels)
        for _ in range(at.ITERATIONS):
            if not len(rows):
                return labels
            if len(rows) * self.k > at.ENTRIES_ON_DEVICE:
                break
            until.check()
            priced = self._costs(passes, rows) + self.sums.amount[rows] @ self.prices.prices.T
            cost = self.pairs.beside(priced, rows, labels)
            try:
                to = _assigned(self.rules.pairs_only().part(rows), cost, None, until).labels
            except NoAssignment:
                rows = self.pairs.wider(rows)
                continue
            return labels.patched(rows, to)
        raise NoAssignment

    def _costs(self, passes: Passes, rows: IntArray) -> FloatArray:
        """What some groups cost in each cluster, (r, k); their points come home."""
        near = self.rows.take(rows)
        centers = passes.centers + (self.rows.middle - near.middle)
        cost = near.costs(centers, passes.deadline).dense()
        return self.soft_pins.part(_places(rows, self.rows.shape[0])).added_to(cost)


@dataclass(frozen=True)
class _Step:
    """Labels that obey the rules, at the centres of a round."""

    labels: ShardLabels
    gap: float  # what they cost more than a lower bound, where sizes are the only rule
    prices: FloatArray | None  # of the open rows' flow, (k, q), if it is known


class _Linked:
    """Groups in pairs, whose labels are known at home when rows are settled."""

    def __init__(self, rules: Rules) -> None:
        graph = rules.pairs.graph
        self.groups = np.unique(np.concatenate([graph.a, graph.b]))
        self.ends = np.searchsorted(self.groups, np.stack([graph.a, graph.b]))
        self.same, self.differ = graph.same, graph.differ
        self.pinned = np.zeros(rules.n_groups, bool)
        self.pinned[rules.pins[:, 0]] = True

    def _paid(self, labels: ShardLabels) -> FloatArray:
        """What each pair costs."""
        a, b = labels.of(self.groups)[self.ends]
        return np.where(a == b, self.same, self.differ)

    def cost(self, labels: ShardLabels) -> float:
        """Price of all soft pairs broken."""
        return float(self._paid(labels).sum())

    def open_ends(self, labels: ShardLabels) -> IntArray:
        """Ends of broken pairs that are not pinned, in order."""
        ends: IntArray = self.groups[np.unique(self.ends[:, self._paid(labels) > 0.0])]
        return ends[~self.pinned[ends]]

    def wider(self, rows: IntArray) -> IntArray:
        """These groups and those that they have pairs with, but for pinned ones."""
        touched = np.isin(self.groups, rows)[self.ends].any(axis=0)
        more: IntArray = np.union1d(rows, self.groups[np.unique(self.ends[:, touched])])
        return more[~self.pinned[more]]

    def beside(self, cost: FloatArray, rows: IntArray, labels: ShardLabels) -> FloatArray:
        """Costs of open rows with what their pairs with other groups cost, which stay."""
        inside = np.isin(self.groups, rows)
        if not inside.any():
            return cost
        where, cost = labels.of(self.groups), cost.copy()
        place = np.searchsorted(rows, self.groups)
        for own, other in (self.ends, self.ends[::-1]):
            half = inside[own] & ~inside[other]
            extra = np.repeat(self.differ[half, None], cost.shape[1], axis=1)
            extra[np.arange(len(extra)), where[other[half]]] = self.same[half]
            np.add.at(cost, place[own[half]], extra)
        return cost


class _Joint:
    """Groups in linear rows that are no sums, and these rows over them alone."""

    def __init__(self, rules: Rules) -> None:
        self.k, self.rows = rules.n_clusters, rules.linear
        self.groups: IntArray = np.empty(0, np.int64)
        if self.rows is not None:
            self.groups = np.unique(self.rows.A.indices // self.k).astype(np.int64)
            self.rows = self._over(
                self.rows, _places(self.groups, rules.n_groups), len(self.groups)
            )

    def _over(self, rows: LinearRows, place: IntArray, number: int) -> LinearRows:
        """The rows with their groups at places among so many, without those at -1."""
        entries = rows.A.tocoo()
        group, cluster = np.divmod(entries.coords[1].astype(np.int64), self.k)
        inside = place[group] >= 0
        where = entries.coords[0][inside], (place[group] * self.k + cluster)[inside]
        shape = (len(rows.lower), number * self.k)
        return replace(rows, A=sparse.csr_array((entries.data[inside], where), shape=shape))

    def broken(self, labels: ShardLabels) -> bool:
        """Whether the labels break one of the rows."""
        return self.rows is not None and bool(self.rows.excess(labels.of(self.groups)).any())

    def part(self, rows: IntArray, labels: ShardLabels) -> LinearRows | None:
        """The rows over open groups, given where the others are."""
        if self.rows is None:
            return None
        rest = np.flatnonzero(~np.isin(self.groups, rows))
        left = self.rows.less(rest * self.k + labels.of(self.groups[rest]))
        place = np.searchsorted(rows, self.groups)
        place[rest] = -1
        return self._over(left, place, len(rows))


def _places(rows: IntArray, n_rows: int) -> IntArray:
    """The place of each row among some, -1 of others."""
    place = np.full(n_rows, -1, np.int64)
    place[rows] = np.arange(len(rows))
    return place


def _less(part: Rules, used: FloatArray) -> Rules:
    """The rules of open groups, given what all others use of the sums, (k, q)."""
    totals = list(used.T)
    if part.sizes is not None:
        soft = 0 if part.sizes.soft is None else len(part.sizes.soft.price)
        sizes = part.sizes.less(np.rint(totals.pop(0)).astype(np.int64))
        if np.any(sizes.upper < 0):
            raise NoAssignment
        part = replace(part, sizes=sizes)
        del totals[len(part.totals) : len(part.totals) + soft]  # numbers of rows again
    every = zip((*part.totals, *part.soft_totals), totals, strict=True)
    less = tuple(total.less(taken) for total, taken in every)
    hard = len(part.totals)
    return replace(part, totals=less[:hard], soft_totals=less[hard:])


def _assigned(
    part: Rules,
    cost: FloatArray,
    prices: FloatArray | None,
    deadline: Deadline,
    known: IntArray | None = None,
) -> Assignment:
    """Labels of some groups in memory; NoAssignment also if none were found in time."""
    if np.any(np.isinf(cost).all(axis=1)):
        raise NoAssignment
    patience = at.PROGRAM_SECONDS
    try:
        found = assign(
            part, cost, incumbent=known, deadline=deadline, patience=patience, prices=prices
        )
    except OutOfTime:
        raise NoAssignment from None
    if not np.isfinite(cost[np.arange(len(cost)), found.labels]).all():
        raise NoAssignment
    return found


def _least_of_each(where: IntArray, key: FloatArray, most: IntArray) -> BoolArray:
    """Those of the least key of each cluster, at most so many of it."""
    order = np.lexsort([key, where])
    counted = np.bincount(where, minlength=len(most))
    rank = np.arange(len(order)) - (np.cumsum(counted) - counted)[where[order]]
    taken = np.zeros(len(where), bool)
    taken[order] = rank < most[where[order]]
    return taken


def _added(labels: IntArray, amounts: FloatArray, k: int) -> FloatArray:
    """Sums of the amounts (g, q) of some groups, (k, q)."""
    sums = [sums_by(labels, values, k) for values in amounts.T]
    return np.array(sums).reshape(amounts.shape[1], k).T
