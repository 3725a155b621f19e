"""Rows outside this process's memory: prices where the rows are, and a few open rows at home.

A sample in memory shows where the centres are (:func:`search_far`).  Then rounds over all rows,
wherever these are (:func:`descend_far`):

1. *prices* of the bounded sums by soft loads (:mod:`.balance`);
2. *place*: every row goes to its cheapest cluster at these prices;
3. *settle*: where sums miss their bounds, or pairs are broken, the rows of the smallest margins
   come home and are assigned in memory, with bounds less what all other rows use;
4. *means* of the clusters, where the rows are.

The first round settles, so that there is an answer from then on.  Rounds that follow only place;
when the objective has stopped falling, the last ones settle again.  Amounts, labels and margins
stay with the rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by
from ..deadline import Deadline, OutOfTime
from ..exact import Assignment, NoAssignment, assign
from ..problem import Problem
from ..rows import MemoryRows, Passes, Placement, ShardLabels, ShardRows
from ..rules import Rules
from .balance import Balance, Bounds
from .descent import match_sizes
from .starts import draw, group_labels, labelled_means, seed_order

#: Groups of the sample that shows where the centres are, in all and for each cluster.  More take
#: longer in memory and leave fewer rounds over all rows.
SAMPLE, SAMPLE_EACH = 20_000, 100
#: Entries, groups of the sample times clusters, up to which the sample is searched in memory.  With
#: more, passes where the rows are find centres from rows drawn at random, which is much faster on a
#: GPU, and as good: 60,000 x 16 rows of heavy tails in 128 clusters end alike.
NEAR_ENTRIES = 1 << 22
#: Part of the time left in which the sample is searched, and then part in which rounds only place.
SAMPLE_SHARE, PLACING_SHARE = 0.4, 0.6
#: Part of all groups in the wrong cluster above which clusters are drawn by their shares: rows that
#: are alike all prefer one cluster.
ALIKE = 0.02
#: Open rows for each row in the wrong cluster; more cost more at home, fewer cost more by the way.
OPENED = 6.0
#: Costs of open rows, their number times the clusters, that come home at most: 1 GiB.
MOST_OPEN = 1 << 27
#: Costs of open rows up to which sizes are settled exactly, in some seconds; above, rows are moved
#: in bulk to clusters with room.
MOST_EXACT = 1 << 23
#: The same in rounds before the last one, which need not be exact.
MOST_QUICK = 1 << 18
#: Factor by which more rows are opened where those open leave no room, and how often the open ends
#: of pairs grow by their neighbours.
WIDER, TRIES = 4.0, 6
#: Relative fall of the objective below which rounds end, and rounds at most.  Less takes more
#: passes: one normal distribution in many clusters falls for hundreds of rounds.
DROP, ROUNDS = 1e-4, 50
#: Rounds without such a fall that end those that only place, and rounds that settle then, at most.
SLOW, LAST_ROUNDS = 2, 3
#: How often prices of the open rows' flow are tried, until labels are proven best at the centres.
PROOFS = 3
#: Gap to a lower bound, in the cost of all rows about their middle, that is rounding.
PROVEN = 1e-12

#: Groups, in sizes of the sample, up to which all are searched in memory.
WORTH_SAMPLING = 1.5
#: How many times as large the sample is at most where weights are uneven.
MOST_UNEVEN = 10.0
#: Seconds for integer programs over open rows.
PATIENCE = 2.0

#: Searches a sample in memory: centres relative to the middle of its rows, and prices or None.
SearchNear = Callable[[Problem, np.random.RandomState], tuple[FloatArray, FloatArray | None]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FarAnswer:
    """Labels of rows in shards that obey every hard rule."""

    labels: ShardLabels
    centers: FloatArray  # means of the clusters, (k, d), relative to the middle of the rows
    objective: float  # inertia over the groups plus the price of the soft pairs broken
    prices: FloatArray  # of the sums, (q, k)
    rules: Rules  # with the size bounds in the order that these labels obey
    exact: bool = False  # whether it is proven that no labels cost less at the last centres


def why_home(rules: Rules) -> str:
    """Why far rows must come into this process's memory, or nothing if they need not."""
    if rules.linear is not None:
        return "linear rows are solved in memory"
    if rules.priced_sums or len(rules.soft_pins):
        return "soft pins, sizes, totals and shares are solved in memory"
    return ""


def sample_size(problem: Problem) -> int:
    """Groups of the sample that shows where the centres are, more where weights are uneven.

    A number given as ``max_samples`` is that of the sample.
    """
    asked = problem.settings.max_samples
    if isinstance(asked, int):
        return max(asked, problem.n_clusters)
    enough = max(SAMPLE, SAMPLE_EACH * problem.n_clusters)
    return int(enough * unevenness(problem.rows.weight, problem.rules.count))


def unevenness(weight: FloatArray, count: IntArray) -> float:
    """Rows that tell as much as one would if all had the same weight."""
    total = float(weight.sum())
    if total <= 0.0:
        return 1.0
    squares = float(weight @ (weight / count.astype(np.float64)))
    return float(np.clip(count.sum() * squares / total**2, 1.0, MOST_UNEVEN))


def is_small(problem: Problem) -> bool:
    """Whether the sample would be about all rows, and few enough for memory."""
    m = problem.rules.n_groups
    return m <= WORTH_SAMPLING * sample_size(problem) and m * problem.n_clusters <= NEAR_ENTRIES


def search_far(
    problem: Problem, random_state: np.random.RandomState, search_near: SearchNear
) -> FarAnswer:
    """Search a sample in memory, then all rows where they are.

    Parameters
    ----------
    problem : Problem
        Its rows are :class:`~corral.rows.ShardRows`.
    random_state : RandomState
    search_near : callable
        ``search_near(part, random_state)`` searches a sample of the problem, with its rules in
        proportion, and gives centres relative to the middle of its rows, and prices (q, k) of its
        sums or None.  A start that the user gave needs no sample.

    Raises
    ------
    NoAssignment
        No labels were found that obey the rules; other centres may leave room.
    OutOfTime
        The deadline came before any feasible answer.
    """
    init, rules, rows = problem.settings.init, problem.rules, problem.rows
    if not isinstance(init, str):
        if init.ndim == 2:
            centers: FloatArray = init - rows.middle
        else:
            labels = group_labels(rules, init.astype(np.int64))
            centers = rows.means(labels, problem.n_clusters)
        return descend_far(problem, centers, None, problem.deadline)
    size, k = sample_size(problem), problem.n_clusters
    size = rules.n_groups if rules.n_groups <= WORTH_SAMPLING * size else size
    groups = draw(rules, size, random_state)
    soon = problem.until(problem.deadline.share(SAMPLE_SHARE))
    if size * k > NEAR_ENTRIES:
        centers, prices = _coarse(soon, groups, random_state)
        return descend_far(problem, centers, prices, problem.deadline)
    part = soon.part(groups)
    try:
        centers, prices = search_near(part, random_state)
    except (NoAssignment, OutOfTime):  # the rules of all rows may leave more room
        problem.deadline.first.check()
        centers, prices = part.rows.seeds(k, np.arange(len(groups)), random_state), None
    if prices is None:
        prices = _sample_prices(part, centers)
    return descend_far(problem, part.shifted(centers, problem), prices, problem.deadline)


def _coarse(
    problem: Problem, groups: IntArray, random_state: np.random.RandomState
) -> tuple[FloatArray, FloatArray | None]:
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
    part_rules = rules.part(groups)
    part_rules = part_rules.scaled(part_rules.n_rows / rules.n_rows)
    part = replace(problem, rules=part_rules, rows=part_rows)
    try:
        start, until = points - part_rows.middle, problem.deadline
        descent = _Descent.of(part, part_rows, start, None, until)
        step = _placing_rounds(descent, descent.round(start, until), until)
        return step + (part_rows.middle - rows.middle), descent.prices
    except OutOfTime:
        problem.deadline.first.check()
        return points - rows.middle, None


def _sample_prices(part: Problem, centers: FloatArray) -> FloatArray | None:
    """Prices of a sample in memory, by the passes of one shard; None if time is short."""
    try:
        until = part.deadline.first
        descent = _Descent.of(part, ShardRows.of(part.near), centers, None, until)
        return descent.balance.found(descent.rows.at(centers, until), descent.prices)
    except OutOfTime:
        return None


def descend_far(
    problem: Problem, centers: FloatArray, prices: FloatArray | None, deadline: Deadline
) -> FarAnswer:
    """Rounds over all rows where they are, from centres to labels that obey the rules.

    Parameters
    ----------
    problem : Problem
        Its rows are :class:`~corral.rows.ShardRows`.
    centers : (k, d) array
        Relative to the middle of the rows.
    prices : (q, k) array or None
        Of the sums of the rules (:meth:`.Rules.sums`), to start from.
    deadline : Deadline

    Raises
    ------
    NoAssignment
        No labels were found that obey the rules; other centres may leave room.
    OutOfTime
        The deadline came before any feasible answer.
    """
    if not isinstance(problem.rows, ShardRows):
        raise TypeError("rows in memory are searched in memory")
    first, told = deadline.first, problem.settings.progress
    descent = _Descent.of(problem, problem.rows, centers, prices, first)
    told.enter("assign")
    best = descent.round(centers, first, settles=True, exact=False)
    told.step(problem.objective(best.objective))
    try:
        centers = _placing_rounds(descent, best, deadline.share(PLACING_SHARE))
        for number in range(LAST_ROUNDS):
            last = number == LAST_ROUNDS - 1
            found = descent.round(centers, deadline, settles=True, exact=last)
            told.step(problem.objective(found.objective))
            if found.objective < best.objective:
                best, centers = found, found.centers
    except (OutOfTime, NoAssignment):
        logger.info("far rows: the rounds ended early, with the best answer so far")
    return best


def _placing_rounds(descent: _Descent, step: FarAnswer, until: Deadline) -> FloatArray:
    """Centres after rounds that only place, until the objective stops falling or time is over.

    From round to round centres go beyond the means, as Nesterov's method does, while that pays.
    """
    ahead, slow, distance = 0, 0, descent.rows.distance
    start = step.centers
    for _ in range(ROUNDS):
        try:
            found = descent.round(start, until)
        except OutOfTime:
            break
        drop = (step.objective - found.objective) / max(step.objective, np.finfo(float).tiny)
        slow = slow + 1 if drop < DROP else 0
        ahead = ahead + 1 if drop > 0.0 else 0
        start = found.centers
        if ahead:
            start = distance.beyond(start, step.centers, ahead / (ahead + 3.0))
        step = found
        if slow == SLOW:
            break
    return step.centers


class _Descent:
    """What the rounds of one descent have in common, and the prices that go from one to the next.

    Pinned groups are where their pins say: they have no amounts, and bounds are less by theirs.
    """

    def __init__(self, problem: Problem, rows: ShardRows, rules: Rules) -> None:
        self.rules, self.k, sums = rules, rules.n_clusters, rules.sums()
        order = np.argsort(rules.pins[:, 0], kind="stable")
        self.pins = rules.pins[order]
        self.values, pinned = sums.values, self.pins[:, 0]
        self.taken = np.array(
            [sums_by(self.pins[:, 1], value[pinned], self.k) for value in self.values]
        ).reshape(sums.lower.shape)
        if len(pinned) and len(self.values):
            self.values = self.values.copy()
            self.values[:, pinned] = 0.0
        total = np.abs(self.values).sum(axis=1, keepdims=True)
        total = np.where(total > 0.0, total, 1.0)
        self.bounds = Bounds(
            sums.lower - self.taken,
            sums.upper - self.taken,
            total / max(rules.n_groups, 1),
            total,
            np.asarray((self.values < 0.0).any(axis=1)),
        )
        self.rows = rows.with_amounts(self.values)
        self.pairs = _Linked(rules)
        self.prices: FloatArray = np.zeros(sums.lower.shape)
        self.cost = rows.spread / max(rows.shape[0], 1)  # mean cost of a group about the middle
        self.rounding = 64.0 * float(np.finfo(rows.dtype).eps) * self.cost
        self.balance = Balance(self.bounds, self.cost)

    @classmethod
    def of(
        cls,
        problem: Problem,
        rows: ShardRows,
        centers: FloatArray,
        prices: FloatArray | None,
        deadline: Deadline,
    ) -> _Descent:
        """With sizes in the order of what clusters hold at the centres and prices."""
        made = cls(problem, rows, problem.rules)
        if prices is not None and prices.shape == made.prices.shape:
            made.prices = prices
        else:
            prices = None
        found = made.rows.at(centers, deadline).place(made.prices)
        if problem.rules.sizes_vary:
            counts = found.sums[0]  # sizes are the first of the sums
            start, made = made.prices, cls(problem, rows, match_sizes(problem.rules, counts))
            made.prices = start
        made.balance.seen(found.middle_margin())
        if prices is not None:
            made.balance.warm()
        return made

    def round(
        self, centers: FloatArray, until: Deadline, settles: bool = False, exact: bool = True
    ) -> FarAnswer:
        """Prices, places and means; if it settles, labels obey the rules.

        They are exact at the centres where sizes are the only rule, if that is asked for.
        """
        passes = self.rows.at(centers, until)
        self.prices = self.balance.found(passes, self.prices, fine=settles)
        found = self._place(passes)
        labels, proven = found.labels.patched(*self.pins.T), False
        if settles and exact:
            labels, proven = self._settled(passes, found, until)
        elif settles:
            labels = self._settle(passes, found, until, MOST_QUICK).labels
        means, inertia = self.rows.measured(labels, self.k, centers)
        soft = self.pairs.cost(labels) if settles else 0.0
        self.balance.seen(found.middle_margin())
        return FarAnswer(labels, means, inertia + soft, self.prices, self.rules, proven)

    def _place(self, passes: Passes) -> Placement:
        """Rows in their cheapest clusters; drawn by their shares where too many are alike."""
        found = passes.place(self.prices)
        missed = self.bounds.missed(found.sums)
        temperature = self.balance.temperature
        if missed > ALIKE and temperature > 0.0:
            drawn = passes.place(self.prices, temperature)
            found = drawn if self.bounds.missed(drawn.sums) < missed else found
        return found

    def _settled(
        self, passes: Passes, found: Placement, until: Deadline
    ) -> tuple[ShardLabels, bool]:
        """Labels that obey the rules, and whether none cost less at these centres.

        Where sizes are the only rule, prices of the open rows' flow are those of all rows or near
        them; placed at these, fewer rows are open, until all that could be elsewhere are.
        """
        if not self.rules.only_sized:
            return self._settle(passes, found, until).labels, False
        best: ShardLabels | None = None
        try:
            for _ in range(PROOFS):
                step = self._settle(passes, found, until)
                best = step.labels
                if step.gap <= PROVEN * self.cost * self.rows.shape[0]:
                    return best, True
                reach = (1.0 + PROVEN) * step.gap + self.rounding
                share = np.mean([np.mean(own <= reach) for own in found.margins if len(own)])
                if share * self.rows.shape[0] * self.k <= MOST_EXACT:
                    rows = found.within(reach)
                    return self._opened(passes, found.labels, found.sums, rows, until).labels, True
                if step.prices is None:
                    break
                self.prices = step.prices
                found = self._place(passes)
        except (OutOfTime, NoAssignment):
            if best is None:
                raise
        if best is None:
            raise AssertionError("a settled round has labels")
        logger.info("far rows: too many rows are open for exact labels at these centres")
        return best, False

    def _settle(
        self, passes: Passes, found: Placement, until: Deadline, most: int = MOST_EXACT
    ) -> _Step:
        """Labels that keep pairs and bounds, by opening as few rows as will do.

        Sizes of single rows with more than ``most`` open costs are filled in bulk.
        """
        labels = found.labels.patched(*self.pins.T)
        labels = self._mended(passes, labels, until)
        sums = found.sums if labels is found.labels else labels.amounts()[: len(self.prices)]
        out = self.bounds.outside(sums)
        if not out.any():
            return _Step(labels, self.bounds.slack(self.prices, sums), None)
        own, to = self._wrong(out, sums)
        single = self.rules.only_sized and self.values.max(initial=0.0) <= 1.0
        factor, opened = OPENED, 0
        while True:
            until.check()
            rows = found.least(factor * float(own.sum() + to.sum()), factor * own, factor * to)
            rows = rows[~(self.pairs.pinned if opened else self.rules.tied)[rows]]
            if single and len(rows) * self.k > most:
                rows = found.least(0.0, own, np.zeros(self.k))
                return self._filled(passes, labels, sums, rows, until)
            if len(rows) * self.k > MOST_OPEN or 0 < opened == len(rows):
                raise NoAssignment
            try:
                return self._opened(passes, labels, sums, rows, until)
            except NoAssignment:
                factor, opened = factor * WIDER, max(len(rows), 1)

    def _wrong(self, out: FloatArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """About how many groups are to leave each cluster, and to come to it, (k,) both.

        Amounts of both signs may do either.  Where clusters lack some, those with most to give are
        asked for them.
        """
        groups = np.abs(out) / self.bounds.unit
        both = groups[self.bounds.signed].sum(axis=0)
        own = np.where(out > 0.0, groups, 0.0).sum(axis=0) + both
        to = np.where(out < 0.0, groups, 0.0).sum(axis=0) + both
        gives = np.min((sums - self.bounds.lower) / self.bounds.unit, axis=0)
        gives = np.maximum(np.minimum(gives, self.rows.shape[0]) - own, 0.0)
        givers = np.argsort(-gives)[: int(np.ceil(to.sum()))]
        each = np.ceil(to.sum() / max(len(givers), 1))
        own[givers] += np.minimum(each, gives[givers])
        return own, to

    def _filled(
        self,
        passes: Passes,
        labels: ShardLabels,
        sums: FloatArray,
        rows: IntArray,
        until: Deadline,
    ) -> _Step:
        """The labels with some single rows moved to the cheapest clusters with room, in bulk.

        Rows ask the cheapest cluster with room, which takes those that lose least; again until all
        have a place.  Clusters under their bounds come first.
        """
        here, near = labels.of(rows), self.rows.take(rows)
        centers = passes.centers + (self.rows.middle - near.middle)
        own = near.own_costs(here, centers) + self.prices[0, here]
        held = sums[0] - np.bincount(here, minlength=self.k)
        to, left = here.copy(), np.arange(len(rows))
        for bound in (self.bounds.lower[0], self.bounds.upper[0]):
            while len(left) and np.any(room := np.floor(bound - held) >= 1.0):
                until.check()
                some = np.flatnonzero(room)
                ask = near.take(left)
                there = centers[some] + (near.middle - ask.middle)
                found, cost = _cheapest(ask, there, self.prices[0, some], until)
                asked, rise = some[found], cost - own[left]
                most = np.floor(bound - held).astype(np.int64)
                taken = _least_of_each(asked, rise, most)
                to[left[taken]] = asked[taken]
                held += np.bincount(asked[taken], minlength=self.k)
                left = left[~taken]
        if len(left) or self.bounds.outside(held[None]).any():
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
    ) -> _Step:
        """The labels with some rows assigned anew, given what all others use of the bounds."""
        if not len(rows):
            raise NoAssignment
        here, amounts = labels.of(rows), self.values[:, rows]
        others = sums - _added(here, amounts, self.k)
        cost = self._costs(passes, rows)
        closed = self.pairs.beside(cost, rows, labels)
        found = _settle_open(
            self.rules, rows, closed, others + self.taken, self.prices, until.within(PATIENCE)
        )
        to = found.labels
        priced = cost + amounts.T @ self.prices
        rise = priced[np.arange(len(to)), to] - priced.min(axis=1)
        gap = float(rise.sum()) + self.bounds.slack(
            self.prices, others + _added(to, amounts, self.k)
        )
        moved = to != here
        warm = None if found.warm is None else np.atleast_2d(found.warm)
        known = warm is not None and warm.shape == self.prices.shape
        return _Step(labels.patched(rows[moved], to[moved]), gap, warm if known else None)

    def _mended(self, passes: Passes, labels: ShardLabels, until: Deadline) -> ShardLabels:
        """The labels with the ends of broken pairs assigned anew, at the prices of the sums."""
        pairs = self.pairs
        if not len(pairs.groups):
            return labels
        where = labels.of(pairs.groups)
        rows = pairs.open_ends(where)
        for _ in range(TRIES):
            if not len(rows):
                return labels
            if len(rows) * self.k > MOST_OPEN:
                break
            until.check()
            priced = self._costs(passes, rows) + self.values[:, rows].T @ self.prices
            cost = pairs.beside(priced, rows, labels)
            try:
                to = _assigned(self.rules.pairs_only().part(rows), cost, None, until).labels
            except NoAssignment:
                rows = pairs.wider(rows)
                continue
            return labels.patched(rows, to)
        raise NoAssignment

    def _costs(self, passes: Passes, rows: IntArray) -> FloatArray:
        """What some groups cost in each cluster, (r, k); their points come home."""
        near = self.rows.take(rows)
        centers = passes.centers + (self.rows.middle - near.middle)
        return near.costs(centers, passes.deadline).dense()


@dataclass(frozen=True)
class _Step:
    """Labels that obey the rules, at the centres of a round."""

    labels: ShardLabels
    gap: float  # what they cost more than a lower bound, where sizes are the only rule
    prices: FloatArray | None  # of the open rows' flow, (q, k), if it is known


class _Linked:
    """Groups in pairs, whose labels are known at home when rows are settled."""

    def __init__(self, rules: Rules) -> None:
        graph = rules.pairs.graph
        self.groups = np.unique(np.concatenate([graph.a, graph.b]))
        self.ends = np.searchsorted(self.groups, np.stack([graph.a, graph.b]))
        self.same, self.differ = graph.same, graph.differ
        self.pinned = np.zeros(rules.n_groups, bool)
        self.pinned[rules.pins[:, 0]] = True

    def _paid(self, where: IntArray) -> FloatArray:
        """What each pair costs, given the labels of the linked groups."""
        a, b = where[self.ends]
        return np.where(a == b, self.same, self.differ)

    def cost(self, labels: ShardLabels) -> float:
        """Price of all soft pairs broken."""
        return float(self._paid(labels.of(self.groups)).sum()) if len(self.groups) else 0.0

    def open_ends(self, where: IntArray) -> IntArray:
        """Ends of broken pairs that are not pinned, in order."""
        ends: IntArray = self.groups[np.unique(self.ends[:, self._paid(where) > 0.0])]
        return ends[~self.pinned[ends]]

    def wider(self, rows: IntArray) -> IntArray:
        """These groups and those that they have pairs with, but for pinned ones."""
        inside = np.isin(self.groups, rows)
        touched = inside[self.ends].any(axis=0)
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


def _settle_open(
    rules: Rules,
    groups: IntArray,
    cost: FloatArray,
    used: FloatArray,
    prices: FloatArray,
    deadline: Deadline,
) -> Assignment:
    """Cheapest labels of open groups, given what all other groups use of the sums, (q, k).

    NoAssignment says that there are none, or that none were found in time.
    """
    part, totals = rules.part(groups), used
    if rules.sizes is not None:
        sizes = rules.sizes.less(np.rint(used[0]).astype(np.int64))
        if np.any(sizes.upper < 0):
            raise NoAssignment
        part, totals = replace(part, sizes=sizes), used[1:]
    both = zip(part.totals, totals, strict=True)
    part = replace(part, totals=tuple(total.less(taken) for total, taken in both))
    return _assigned(part, cost, prices, deadline)


def _assigned(
    part: Rules, cost: FloatArray, prices: FloatArray | None, deadline: Deadline
) -> Assignment:
    """Labels of some groups in memory; NoAssignment also if none were found in time."""
    if np.any(np.isinf(cost).all(axis=1)):
        raise NoAssignment
    try:
        found = assign(part, cost, deadline=deadline, patience=PATIENCE, prices=prices)
    except OutOfTime:
        raise NoAssignment from None
    if not np.isfinite(cost[np.arange(len(cost)), found.labels]).all():
        raise NoAssignment
    return found


def _cheapest(
    rows: MemoryRows, centers: FloatArray, prices: FloatArray, until: Deadline
) -> tuple[IntArray, FloatArray]:
    """The cheapest cluster of each row at the prices, and what it costs with its price."""
    where, least = [], []
    for block in rows.cost_blocks(centers, until):
        priced = block + prices
        where.append(priced.argmin(axis=1))
        least.append(priced.min(axis=1))
    return np.concatenate(where), np.concatenate(least)


def _least_of_each(where: IntArray, rise: FloatArray, most: IntArray) -> BoolArray:
    """Those of least rise of each cluster, at most so many of it."""
    order = np.lexsort([rise, where])
    counted = np.bincount(where, minlength=len(most))
    rank = np.arange(len(order)) - (np.cumsum(counted) - counted)[where[order]]
    taken = np.zeros(len(where), bool)
    taken[order] = rank < most[where[order]]
    return taken


def _added(labels: IntArray, amounts: FloatArray, k: int) -> FloatArray:
    """Sums of the amounts of some groups, (q, k)."""
    sums = [sums_by(labels, values, k) for values in amounts]
    return np.array(sums).reshape(len(amounts), k)
