"""Prices of bounded sums, from the loads of a soft assignment at a falling temperature.

Sizes, totals and shares are all bounds on sums over clusters: amounts A (m, q) with bounds
``lower <= A' x <= upper``, (k, q).  At prices p a group costs ``c_ij + sum_q A_iq p_jq`` in cluster
j.  With shares ``P = softmax(-(c + A p) / eps)`` the clusters have the loads ``A'P``.  They are the
gradient of a concave function of the prices, the soft dual

    sum_i -eps log sum_j exp(-(c_ij + A_i p_j) / eps) - sum (p+ upper - p- lower),

and Newton's method finds its maximum.  A price that is not zero holds its load at the bound; one
that would change its sign becomes zero.  Second derivatives between clusters matter: where a whole
region is too full, all of its prices have to rise together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from .compiled import compiled
from .numbers import COLDEST, COOLING, NEWTON_STEPS, PRICE_ACCURACY, UNDECIDED, WARM

#: Largest difference of costs, in temperatures, at which a cluster has a share at all.
NO_SHARE = 30.0
#: Curvature where no group is undecided, as a part of the mean load times the mean amount; times
#: the damping it bounds the step of a price.
LEAST_SLOPE = 0.1
#: Part of the curvature that is added to its diagonal at first; the factor by which it rises after
#: a step that lowered the dual, and falls after another (Levenberg and Marquardt).
DAMPING, DAMPING_RISE, DAMPING_FALL = 1e-3, 100.0, 10.0
#: Longest step of a price, in temperatures by the mean amount.
LONGEST_STEP = 30.0
#: The golden ratio: its multiples are spread evenly over the unit interval.
GOLDEN = 0.6180339887498949
#: Sum of the other shares, by the largest one, from which a group is undecided.
DECIDED = 0.1
#: Entries of the curvature that one pass adds to, and at least for each group.
CURVATURE_WORK, LEAST_ENTRIES = 2e5, 16.0


class Costs(Protocol):
    """Costs of groups in clusters, a block of groups at a time."""

    def blocks(self, deadline: Deadline) -> Iterator[tuple[slice, FloatArray]]:
        """Blocks of groups, and what they cost in each cluster."""


class DenseCosts:
    """Costs in one array, (m, k)."""

    def __init__(self, cost: FloatArray) -> None:
        self.cost = np.ascontiguousarray(cost, np.float64)

    def blocks(self, deadline: Deadline) -> Iterator[tuple[slice, FloatArray]]:
        """All at once."""
        deadline.check()
        yield slice(0, len(self.cost)), self.cost


class Sums:
    """Amounts of the groups (m, q) and bounds of the clusters (k, q)."""

    def __init__(self, amount: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        self.amount, self.lower, self.upper = amount, lower, upper
        k = len(lower)
        self.mean = np.abs(amount).sum(axis=0) / max(len(amount), 1) + 1e-300
        self.load = np.abs(amount).sum(axis=0) / k + 1e-300

    def outside(self, labels: IntArray) -> FloatArray:
        """By how much the loads of labels miss their bounds, over all clusters, (q,)."""
        load = np.zeros_like(self.lower)
        np.add.at(load, labels, self.amount)
        missed: FloatArray = np.abs(load - np.clip(load, self.lower, self.upper)).sum(axis=0)
        return missed

    def missed(self, load: FloatArray) -> float:
        """Mean miss of the bounds, in mean loads."""
        wanted = np.clip(load, self.lower, self.upper)
        return float((np.abs(load - wanted) / self.load).mean()) if load.size else 0.0

    def wanted(self, load: FloatArray, prices: FloatArray) -> FloatArray:
        """Loads that the prices aim at: the bound that a price is for, else the nearest one."""
        held = np.where(prices > 0.0, self.upper, np.where(prices < 0.0, self.lower, np.nan))
        return np.where(np.isfinite(held), held, np.clip(load, self.lower, self.upper))


@dataclass(frozen=True)
class Found:
    """Prices, (k, q), the temperature that they were found at, and the passes that it took."""

    prices: FloatArray
    eps: float
    passes: int


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
    theirs until they fit the bounds.  Then it falls until few groups are undecided, or time is
    over at ``until``; at the deadline it raises OutOfTime.
    """
    (k, n_sums), m = sums.lower.shape, len(sums.amount)
    if not n_sums:
        return Found(np.zeros((k, 0)), scale, 0)
    prices = np.zeros((k, n_sums)) if known is None else known.prices
    eps = scale if known is None else known.eps
    few, coldest = UNDECIDED * m + k * n_sums, COLDEST * scale
    here, passes = _look(costs, sums, prices, eps, deadline), 1
    while eps < scale and sums.missed(here.load) > WARM:
        eps /= COOLING
        here, passes = _look(costs, sums, prices, eps, deadline), passes + 1
    while True:
        damping = DAMPING
        for _ in range(NEWTON_STEPS):
            if sums.missed(here.load) <= PRICE_ACCURACY or until.passed:
                break
            moved = prices + _newton_step(here, sums, prices, eps, damping)
            moved = np.where(prices * moved < 0.0, 0.0, moved)
            there, passes = _look(costs, sums, moved, eps, deadline), passes + 1
            if there.value >= here.value:
                here, prices, damping = there, moved, damping / DAMPING_FALL
            else:
                damping *= DAMPING_RISE
        if here.undecided <= few or eps <= coldest or until.passed:
            return Found(prices, eps, passes)
        eps *= COOLING
        here, passes = _look(costs, sums, prices, eps, deadline), passes + 1


@dataclass(frozen=True)
class Look:
    """The soft dual at some prices: its value, its gradient less the bounds, its curvature."""

    value: float
    load: FloatArray  # (k, q)
    undecided: int  # groups whose largest share is not close to one
    curvature: FloatArray  # minus the second derivatives times the temperature, (k q, k q)


def _look(costs: Costs, sums: Sums, prices: FloatArray, eps: float, deadline: Deadline) -> Look:
    """One pass over the costs."""
    (k, n_sums), m = prices.shape, len(sums.amount)
    load, curvature = np.zeros((k, n_sums)), np.zeros((k * n_sums, k * n_sums))
    share, inside, undecided = np.empty(k), np.empty(k, np.int64), np.zeros(1, np.int64)
    value, entries = 0.0, max(CURVATURE_WORK / max(m, 1), LEAST_ENTRIES)
    for part, block in costs.blocks(deadline):
        amount = np.ascontiguousarray(sums.amount[part])
        value += soft_loads(
            block, amount, prices, eps, entries, share, inside, load, curvature, undecided
        )
    held = np.where(prices > 0.0, sums.upper, np.where(prices < 0.0, sums.lower, 0.0))
    return Look(value - float((prices * held).sum()), load, int(undecided[0]), curvature)


def _newton_step(
    here: Look, sums: Sums, prices: FloatArray, eps: float, damping: float
) -> FloatArray:
    """The step of the prices that are not held at zero."""
    gradient = here.load - sums.wanted(here.load, prices)
    free = np.flatnonzero(((prices != 0.0) | (gradient != 0.0)).ravel())
    typical = np.broadcast_to(sums.load * sums.mean, prices.shape).ravel()[free]
    matrix = here.curvature[np.ix_(free, free)]
    matrix[np.diag_indices_from(matrix)] += damping * (np.diag(matrix) + LEAST_SLOPE * typical)
    step = np.zeros(prices.size)
    step[free] = np.linalg.solve(matrix, eps * gradient.ravel()[free])
    most = LONGEST_STEP * np.broadcast_to(eps / sums.mean, prices.shape)
    return np.clip(step.reshape(prices.shape), -most, most)


def scale_of(costs: Costs, deadline: Deadline = NEVER) -> float:
    """Mean of the costs above the least one of each group."""
    total, number = 0.0, 0
    for _, block in costs.blocks(deadline):
        total += float((block.mean(axis=1) - block.min(axis=1)).sum())
        number += len(block)
    mean = total / max(number, 1)
    return mean if mean > 0.0 else 1.0


def place(
    costs: Costs, amount: FloatArray, prices: FloatArray, eps: float, deadline: Deadline = NEVER
) -> IntArray:
    """A cluster of each group at the prices, drawn by its shares at the temperature.

    So groups that cost the same everywhere are spread over the clusters as the prices want.
    """
    labels, share = np.empty(len(amount), np.int64), np.empty(len(prices))
    for part, block in costs.blocks(deadline):
        drawn = np.modf((np.arange(part.start, part.stop) + 0.5) * GOLDEN)[0]
        rounded(block, np.ascontiguousarray(amount[part]), prices, eps, drawn, share, labels[part])
    return labels


@compiled
def soft_loads(
    cost: FloatArray,
    amount: FloatArray,
    prices: FloatArray,
    eps: float,
    entries: float,
    share: FloatArray,
    inside: IntArray,
    load: FloatArray,
    curvature: FloatArray,
    undecided: IntArray,
) -> float:
    """Add loads and curvature of some groups, and give the sum of their soft least costs.

    Of groups that have shares in many clusters, so many that their squares are more than
    ``entries``, only some count for the curvature.  ``share`` and ``inside`` are written over.
    """
    k, n_sums = prices.shape
    value = 0.0
    for i in range(len(cost)):
        least = np.inf
        for j in range(k):
            paid = cost[i, j]
            for q in range(n_sums):
                paid += amount[i, q] * prices[j, q]
            share[j] = paid
            least = min(least, paid)
        total, number = 0.0, 0
        for j in range(k):
            above = (share[j] - least) / eps
            if above < NO_SHARE:
                inside[number] = j
                number += 1
                share[j] = np.exp(-above)
                total += share[j]
        value += least - eps * np.log(total)
        if total > 1.0 + DECIDED:
            undecided[0] += 1
        for z in range(number):
            j = inside[z]
            share[j] /= total
            for q in range(n_sums):
                load[j, q] += amount[i, q] * share[j]
        every = int(number * number / entries) + 1
        if number == 1 or i % every:
            continue
        for z in range(number):
            j = inside[z]
            for y in range(number):
                o = inside[y]
                both = -share[j] * share[o] * every
                if o == j:
                    both += share[j] * every
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
    labels: IntArray,
) -> None:
    """Write a cluster of each group, drawn by its shares; ``share`` is written over."""
    k, n_sums = prices.shape
    for i in range(len(cost)):
        least, best = np.inf, 0
        for j in range(k):
            paid = cost[i, j]
            for q in range(n_sums):
                paid += amount[i, q] * prices[j, q]
            share[j] = paid
            if paid < least:
                least, best = paid, j
        total = 0.0
        for j in range(k):
            above = (share[j] - least) / eps
            share[j] = np.exp(-above) if above < NO_SHARE else 0.0
            total += share[j]
        labels[i], left = best, drawn[i] * total
        for j in range(k):
            left -= share[j]
            if left < 0.0 and share[j] > 0.0:
                labels[i] = j
                break
