"""Prices of bounded sums, from the loads of a soft assignment at a falling temperature.

Sizes, totals and shares are all bounds on sums over clusters: amounts A (m, q) with bounds
``lower <= A' x <= upper``, (k, q).  At prices p a group costs ``c_ij + sum_q A_iq p_jq`` in cluster
j.  With shares ``P = softmax(-(c + A p) / eps)`` the clusters have the loads ``A'P``.  They are the
gradient of a concave function of the prices, the soft dual

    sum_i -eps log sum_j exp(-(c_ij + A_i p_j) / eps) - sum (p+ upper - p- lower),

and Newton's method finds its maximum.  A price that is not zero holds its load at the bound; one
that would change its sign becomes zero.  Second derivatives between clusters matter: where a whole
region is too full, all of its prices have to rise together.

What Newton's method sees is one pass over all groups, :class:`~corral.rows.Look`.  Costs in memory
make it here (:class:`Blocks`), rows on a GPU or with Dask where they are (:mod:`corral.rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from .. import numbers as at
from .._typing import FloatArray, IntArray
from ..constraints._checks import pieces
from ..deadline import NEVER, Deadline
from ..rows import Look
from ..rows.algebra import HALF_DIGITS
from ..rows.passes import GOLDEN, Curvature
from .compiled import compiled, inlined


class Costs(Protocol):
    """Costs of groups in clusters, as one pass over all groups shows them."""

    def look(self, sums: Sums, prices: FloatArray, eps: float, deadline: Deadline) -> Look:
        """Soft least costs, loads and curvature at the prices (k, q) and the temperature."""


class Blocks:
    """Costs in this process's memory, a block of groups at a time."""

    def blocks(self, deadline: Deadline) -> Iterator[tuple[slice, FloatArray]]:
        """Blocks of groups, and what they cost in each cluster."""
        raise NotImplementedError

    def look(self, sums: Sums, prices: FloatArray, eps: float, deadline: Deadline) -> Look:
        """The pass by a compiled kernel."""
        (k, n_sums), m = prices.shape, len(sums.amount)
        size, load = k * n_sums, np.zeros((k, n_sums))
        whole = size <= at.CURVED
        curvature = np.zeros((size, size) if whole else (0, 0))
        some = max(size, at.CURVED_WORK // max(size * size, 1))
        some = min(some if whole else at.BENT * k // at.CHEAPEST, m)
        some = 0 if whole and k <= at.FEW_SHARES else some
        kept = np.zeros((some, k if whole else at.CHEAPEST))
        clusters = np.zeros((0 if whole else some, at.CHEAPEST), np.int64)
        chosen, counts = np.zeros(some, np.int64), np.array([0, 0, 0, 1])
        share, inside, value = np.empty(k), np.empty(k, np.int64), 0.0
        by_sum = np.ascontiguousarray(prices.T)
        every = -(-m // max(len(kept), 1))
        filled = share, inside, load, curvature, kept, clusters, chosen, counts
        for part, block in self.blocks(deadline):
            amount = np.ascontiguousarray(sums.amount[part])
            value += soft_loads(block, amount, by_sum, eps, part.start, every, *filled)
        share, own = kept[: counts[1]], sums.amount[chosen[: counts[1]]]
        if not whole:
            each = np.full(len(share), counts[2] / max(len(share), 1))
            bent = Curvature.of(share, clusters[: counts[1]], own, k, each)
            return Look(value, load, int(counts[0]), bent)
        _complete(curvature, k)
        if len(share):
            _add_curvature(curvature, share, own, every)
        return Look(value, load, int(counts[0]), curvature)


def _complete(curvature: FloatArray, k: int) -> None:
    """Fill the blocks of two clusters above the diagonal from those below it."""
    q, every = len(curvature) // k, np.arange(k)
    curvature += curvature.T
    curvature.reshape(k, q, k, q)[every, :, every, :] *= 0.5


def _add_curvature(curvature: FloatArray, share: FloatArray, own: FloatArray, by: float) -> None:
    """Add that of groups with shares (g, k) and amounts (g, q), each counted so many times."""
    (g, k), q = share.shape, own.shape[1]
    held, every = (share[:, :, None] * own[:, None, :]).reshape(g, k * q), np.arange(k)
    curvature -= by * (held.T @ held)
    squares = share.T @ (own[:, :, None] * own[:, None, :]).reshape(g, q * q)
    curvature.reshape(k, q, k, q)[every, :, every, :] += by * squares.reshape(k, q, q)


class DenseCosts(Blocks):
    """Costs in one array, (m, k)."""

    def __init__(self, cost: FloatArray) -> None:
        self.cost = np.ascontiguousarray(cost, np.float64)

    def blocks(self, deadline: Deadline) -> Iterator[tuple[slice, FloatArray]]:
        """All at once."""
        deadline.check()
        yield slice(0, len(self.cost)), self.cost


class Sums:
    """Amounts of the groups (m, q) and bounds of the clusters (k, q).

    A soft sum has a price of a unit outside its bounds, ``most`` (q,); no price is higher.
    """

    def __init__(
        self,
        amount: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        most: FloatArray | float = np.inf,
    ) -> None:
        self.amount, self.lower, self.upper, self.most = amount, lower, upper, most
        k = len(lower)
        total = np.zeros(amount.shape[1])
        for part in pieces(len(amount)):
            total += np.abs(amount[part]).sum(axis=0)
        self.mean, self.load = total / max(len(amount), 1) + 1e-300, total / k + 1e-300
        self.typical = np.tile(self.load * self.mean, k)

    def outside(self, labels: IntArray) -> FloatArray:
        """By how much the loads of labels miss their bounds, over all clusters, (q,)."""
        load = np.zeros_like(self.lower)
        np.add.at(load, labels, self.amount)
        missed: FloatArray = np.abs(load - np.clip(load, self.lower, self.upper)).sum(axis=0)
        return missed

    def miss(self, load: FloatArray, prices: FloatArray | float = 0.0) -> FloatArray:
        """By how much loads miss what the prices aim at: their bounds, else the nearest ones."""
        nearest = np.minimum(np.maximum(load, self.lower), self.upper)
        least = np.where(prices < 0.0, self.lower, nearest)
        missed: FloatArray = load - np.where(prices > 0.0, self.upper, least)
        # At the price of a soft sum what is outside is paid for.
        missed = np.where(prices >= self.most, np.minimum(missed, 0.0), missed)
        return np.where(prices <= -self.most, np.maximum(missed, 0.0), missed)

    def size(self, miss: FloatArray) -> float:
        """Mean miss in mean loads; half of an amount would not show in labels."""
        above = np.maximum(np.abs(miss) - 0.5 * self.mean, 0.0)
        return float((above / self.load).mean()) if miss.size else 0.0

    def allowed(self, prices: FloatArray, before: FloatArray) -> FloatArray:
        """Prices that have changed, but 0 where the sign did, or where it is of no bound."""
        none = np.where(prices > 0.0, self.upper, self.lower)
        kept: FloatArray = np.where((prices * before >= 0.0) & np.isfinite(none), prices, 0.0)
        return np.clip(kept, -self.most, self.most)


@dataclass(frozen=True)
class Found:
    """Prices, (k, q), the temperature that they were found at, and the work that it took."""

    prices: FloatArray
    eps: float
    work: float


def find_prices(
    costs: Costs,
    sums: Sums,
    scale: float,
    known: Found | None = None,
    deadline: Deadline = NEVER,
    until: Deadline = NEVER,
) -> Found:
    """Prices at which soft loads keep the bounds and few groups are undecided.

    The temperature begins at the scale of the costs.  With prices that are known it rises from
    theirs while more groups are in the wrong cluster than undecided: steps of the prices move these
    and hardly any others.  Then it falls until few groups are undecided, or time is over at
    ``until``; at the deadline it raises OutOfTime.  Steps are those of Levenberg and Marquardt: the
    damping falls where the dual rises by at least half of what a step promises.
    """
    (k, n_sums), m = sums.lower.shape, len(sums.amount)
    if not n_sums:
        return Found(np.zeros((k, 0)), scale, 0.0)
    prices = np.zeros((k, n_sums)) if known is None else sums.allowed(known.prices, known.prices)
    eps = scale if known is None else known.eps
    few, coldest = at.UNDECIDED * m + k * n_sums, HALF_DIGITS * scale
    whole = prices.size <= at.CURVED  # then all groups are read once more for each sum
    each = m * k * (3.0 + (2.0 if whole else 0.4) * n_sums) + at.PASS_WORK
    each += 2.0 * prices.size**2 if whole else float(at.BENT * at.CHEAPEST * prices.size)
    here, work = _look(costs, sums, prices, eps, deadline), each
    while eps < scale and (wrong := m * sums.size(sums.miss(here.load))) > max(here.undecided, few):
        eps = min(eps * max(1.0 / at.COOLING, wrong / max(here.undecided, 1)), scale)
        here, work = _look(costs, sums, prices, eps, deadline), work + each
    while True:
        last = here.undecided <= few or eps <= coldest
        damping, growth = at.DAMPING, 2.0
        for _ in range(at.ITERATIONS):
            accuracy = at.PRICE_ACCURACY if last else at.TRACKED
            # What misses cost is little against the objective, or against the temperature.
            little = at.ROUND_DROP * abs(here.value) if last else eps * m
            miss = sums.miss(here.load, prices)
            near = float(np.vdot(np.abs(prices), np.abs(miss))) <= little
            if (near and sums.size(miss) <= accuracy) or until.passed:
                break
            step, promised = _newton_step(here, miss, sums, prices, eps, damping)
            moved = sums.allowed(prices + step, prices)
            there = _look(costs, sums, moved, eps, deadline)
            work += each + (0.05 * float(np.count_nonzero(step)) ** 3 if whole else 0.0)
            gain = there.value - here.value
            if gain >= 0.0:
                here, prices, growth = there, moved, 2.0
                trust = 2.0 * min(gain / promised, 1.0) - 1.0 if promised > 0.0 else 0.0
                kept = max(1.0 - trust * trust * trust, 1.0 / at.DAMPING_STEP)
                damping = max(damping * kept, HALF_DIGITS)
            else:
                damping, growth = damping * at.DAMPING_STEP * growth, 2.0 * growth
        if last or until.passed:
            return Found(prices, eps, work)
        eps *= min(max(at.COOLING, 0.8 * few / max(here.undecided, 1)), 0.8)
        here, work = _look(costs, sums, prices, eps, deadline), work + each


def _look(costs: Costs, sums: Sums, prices: FloatArray, eps: float, deadline: Deadline) -> Look:
    """One pass over the costs; its value is that of the soft dual."""
    here = costs.look(sums, prices, eps, deadline)
    held = np.where(prices > 0.0, sums.upper, np.where(prices < 0.0, sums.lower, 0.0))
    value = here.value - float(np.vdot(prices, held))
    return Look(value, here.load, here.undecided, here.curvature)


def _newton_step(
    here: Look, miss: FloatArray, sums: Sums, prices: FloatArray, eps: float, damping: float
) -> tuple[FloatArray, float]:
    """The step of the prices that are not held at zero, and the rise of the dual it promises."""
    gradient = miss.ravel()
    inside = (prices != 0.0) & (np.abs(prices) < sums.most)
    free = np.flatnonzero(inside.ravel() | (gradient != 0.0))
    step, wanted = np.zeros(prices.size), eps * gradient[free]
    added = (np.abs(miss) * sums.mean).ravel()[free] * (damping / at.DAMPING / at.NO_SHARE)
    if isinstance(here.curvature, Curvature):
        bend = here.curvature.diagonal()[free]
        added += damping * (bend + sums.typical[free])
        step[free] = _solved(here.curvature, free, bend + added, added, wanted)
    else:
        every = len(free) == len(step)
        matrix = here.curvature.copy() if every else here.curvature[np.ix_(free, free)]
        diagonal = matrix.ravel()[:: len(free) + 1]
        diagonal += damping * (diagonal + sums.typical[free]) + added
        step[free] = np.linalg.solve(matrix, wanted)
    return step.reshape(prices.shape), 0.5 * float(gradient @ step)


def _solved(
    curvature: Curvature,
    free: IntArray,
    diagonal: FloatArray,
    added: FloatArray,
    wanted: FloatArray,
) -> FloatArray:
    """The step of the free prices by conjugate gradients, no finer than the damping is.

    ``diagonal`` is that of the system, with what is added to the curvature.
    """
    prices = np.zeros(curvature.held.shape[1])

    def product(step: FloatArray) -> FloatArray:
        prices[free] = step
        return (curvature @ prices)[free] + added * step

    def scaled(rest: FloatArray) -> FloatArray:
        return rest / diagonal

    matrix, inverse = (LinearOperator((len(free),) * 2, each) for each in (product, scaled))
    step: FloatArray = cg(matrix, wanted, rtol=np.sqrt(at.DAMPING), M=inverse)[0]
    return step


def scale_of(costs: Blocks, deadline: Deadline = NEVER) -> float:
    """Mean of the costs above the least one of each group."""
    total, number = 0.0, 0
    for _, block in costs.blocks(deadline):
        total += float((block.mean(axis=1) - block.min(axis=1)).sum())
        number += len(block)
    mean = total / max(number, 1)
    return mean if mean > 0.0 else 1.0


def place(costs: Blocks, amount: FloatArray, found: Found, deadline: Deadline = NEVER) -> IntArray:
    """A cluster of each group at prices, drawn by its shares at their temperature.

    So groups that cost the same everywhere are spread over the clusters as the prices want.
    """
    eps = found.eps
    if not found.prices.any():
        nearest = nearest_of(costs, deadline)
        if len(np.unique(nearest)) == len(found.prices):
            return nearest
        eps = np.finfo(np.float64).tiny  # groups that are alike may fill more clusters
    labels, share = np.empty(len(amount), np.int64), np.empty(len(found.prices))
    inside, by_sum = np.empty(len(share), np.int64), np.ascontiguousarray(found.prices.T)
    for part, block in costs.blocks(deadline):
        drawn = np.modf((np.arange(part.start, part.stop) + 0.5) * GOLDEN)[0]
        own = np.ascontiguousarray(amount[part])
        rounded(block, own, by_sum, eps, drawn, share, inside, labels[part])
    return labels


def nearest_of(costs: Blocks, deadline: Deadline = NEVER) -> IntArray:
    """The cluster where each group costs least."""
    return np.concatenate([block.argmin(axis=1) for _, block in costs.blocks(deadline)])


@inlined
def paid_by(
    cost: FloatArray, amount: FloatArray, prices: FloatArray, i: int, paid: FloatArray
) -> float:
    """Write what group i pays in each cluster, and give the least of it; prices are (q, k)."""
    for j in range(len(paid)):
        paid[j] = cost[i, j]
    for q in range(len(prices)):
        for j in range(len(paid)):
            paid[j] += amount[i, q] * prices[q, j]
    least = np.inf
    for j in range(len(paid)):
        least = paid[j] if paid[j] < least else least
    return least


@compiled
def soft_loads(
    cost: FloatArray,
    amount: FloatArray,
    prices: FloatArray,
    eps: float,
    first: int,
    every: int,
    share: FloatArray,
    inside: IntArray,
    load: FloatArray,
    curvature: FloatArray,
    kept: FloatArray,
    clusters: IntArray,
    chosen: IntArray,
    counts: IntArray,
) -> float:
    """Add loads and curvature of some groups, and give the sum of their soft least costs.

    ``first`` is the number of the first group.  Of groups that have shares in many clusters, shares
    of every so many are kept, and their numbers chosen.  Without a curvature to add to these are
    groups that lie between clusters, as many as there is room for, with their large shares and the
    clusters of these.  ``counts`` has undecided groups, those kept, those that lie between clusters
    and of how many of these one is kept; ``share`` and ``inside`` are written over.  ``prices`` are
    (q, k), and of the curvature the lower triangle is filled.
    """
    n_sums, k = prices.shape
    value, whole, reach = 0.0, len(clusters) == 0, at.NO_SHARE * eps
    for i in range(len(cost)):
        least = paid_by(cost, amount, prices, i, share)
        total, number, top = 0.0, 0, least + reach
        for j in range(k):
            if share[j] < top:
                inside[number] = j
                number += 1
        for z in range(number):
            j = inside[z]
            share[j] = np.exp((least - share[j]) / eps)
            total += share[j]
        value += least - eps * np.log(total)
        if total > 1.0 + at.DECIDED:
            counts[0] += 1
        for z in range(number):
            j = inside[z]
            share[j] /= total
            for q in range(n_sums):
                load[j, q] += amount[i, q] * share[j]
        if number == 1:
            continue
        if not whole:
            if total * at.SURE <= 1.0:
                continue
            counts[2] += 1
            if (counts[2] - 1) % counts[3]:
                continue
            if counts[1] == len(kept):  # full: every second one goes
                counts[1], counts[3] = (len(kept) + 1) // 2, 2 * counts[3]
                for z in range(counts[1]):
                    chosen[z] = chosen[2 * z]
                    for y in range(clusters.shape[1]):
                        kept[z, y], clusters[z, y] = kept[2 * z, y], clusters[2 * z, y]
                for z in range(counts[1], len(kept)):
                    for y in range(clusters.shape[1]):
                        kept[z, y] = 0.0
                if (counts[2] - 1) % counts[3]:
                    continue
            large = 0
            for z in range(number):
                if share[inside[z]] * total > at.DECIDED**2:
                    inside[large] = inside[z]
                    large += 1
            thin = -(-large // clusters.shape[1])
            for z in range(i % thin, large, thin):
                kept[counts[1], z // thin] = share[inside[z]]
                clusters[counts[1], z // thin] = inside[z]
            chosen[counts[1]] = first + i
            counts[1] += 1
            continue
        if number > at.FEW_SHARES:
            if (first + i) % every == 0:
                for z in range(number):
                    kept[counts[1], inside[z]] = share[inside[z]]
                chosen[counts[1]] = first + i
                counts[1] += 1
            continue
        for z in range(number):
            j = inside[z]
            for y in range(z + 1):
                o = inside[y]
                both = -share[j] * share[o]
                if o == j:
                    both += share[j]
                for q in range(n_sums):
                    for r in range(n_sums):
                        curvature[j * n_sums + q, o * n_sums + r] += (
                            both * amount[i, q] * amount[i, r]
                        )
    return value


@compiled
def rounded(
    cost: FloatArray,
    amount: FloatArray,
    prices: FloatArray,
    eps: float,
    drawn: FloatArray,
    share: FloatArray,
    inside: IntArray,
    labels: IntArray,
) -> None:
    """Write a cluster of each group, drawn by its shares; ``share`` is written over.

    ``prices`` are (q, k).
    """
    k, reach = prices.shape[1], at.NO_SHARE * eps
    for i in range(len(cost)):
        least = paid_by(cost, amount, prices, i, share)
        total, number, top = 0.0, 0, least + reach
        for j in range(k):
            if share[j] <= top:
                inside[number] = j
                number += 1
        for z in range(number):
            paid = share[inside[z]]
            share[z] = np.exp((least - paid) / eps) if paid > least else 1.0
            total += share[z]
        left, z = drawn[i] * total - share[0], 0
        while left >= 0.0 and z < number - 1:
            z += 1
            left -= share[z]
        labels[i] = inside[z]
