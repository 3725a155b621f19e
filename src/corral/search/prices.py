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
from .numbers import COOLING, NEWTON_STEPS, PRICE_ACCURACY, PRICE_END, WARM

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
#: Entries of the curvature that one pass adds to, and at least for each group.
CURVATURE_WORK, LEAST_ENTRIES = 2e6, 16.0


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

    def missed(self, load: FloatArray) -> float:
        """Mean miss of the bounds, in mean loads."""
        wanted = np.clip(load, self.lower, self.upper)
        return float((np.abs(load - wanted) / self.load).mean()) if load.size else 0.0

    def wanted(self, load: FloatArray, prices: FloatArray) -> FloatArray:
        """Loads that the prices aim at: the bound that a price is for, else the nearest one."""
        held = np.where(prices > 0.0, self.upper, np.where(prices < 0.0, self.lower, np.nan))
        return np.where(np.isfinite(held), held, np.clip(load, self.lower, self.upper))


def find_prices(
    costs: Costs,
    sums: Sums,
    prices: FloatArray,
    hottest: float,
    coldest: float,
    deadline: Deadline = NEVER,
) -> tuple[FloatArray, int]:
    """Prices (k, q) at which soft loads keep the bounds, and the number of passes over the costs.

    The temperature rises from the coldest until the given prices fit the bounds, and falls again.
    """
    eps, passes = coldest, 0
    if not sums.amount.shape[1]:
        return prices, passes
    if not prices.any():
        eps = hottest
    while True:
        here, passes = _look(costs, sums, prices, eps, deadline), passes + 1
        if eps >= hottest or sums.missed(here.load) <= WARM:
            break
        eps /= COOLING
    while True:
        damping = DAMPING
        for _ in range(NEWTON_STEPS):
            passes += 1
            if sums.missed(here.load) <= PRICE_ACCURACY:
                break
            moved = prices + _newton_step(here, sums, prices, eps, damping)
            moved = np.where(prices * moved < 0.0, 0.0, moved)
            there = _look(costs, sums, moved, eps, deadline)
            if there.value >= here.value:
                here, prices, damping = there, moved, damping / DAMPING_FALL
            else:
                damping *= DAMPING_RISE
        if eps <= coldest:
            return prices, passes
        eps = max(eps * COOLING, coldest)
        here = _look(costs, sums, prices, eps, deadline)


@dataclass(frozen=True)
class Look:
    """The soft dual at some prices: its value, its gradient less the bounds, its curvature."""

    value: float
    load: FloatArray  # (k, q)
    curvature: FloatArray  # minus the second derivatives times the temperature, (k q, k q)


def _look(
    costs: Costs, sums: Sums, prices: FloatArray, eps: float, deadline: Deadline
) -> Look:
    """One pass over the costs."""
    (k, n_sums), m = prices.shape, len(sums.amount)
    load, curvature = np.zeros((k, n_sums)), np.zeros((k * n_sums, k * n_sums))
    share, inside = np.empty(k), np.empty(k, np.int64)
    value, entries = 0.0, max(CURVATURE_WORK / max(m, 1), LEAST_ENTRIES)
    for part, block in costs.blocks(deadline):
        amount = np.ascontiguousarray(sums.amount[part])
        value += soft_loads(block, amount, prices, eps, entries, share, inside, load, curvature)
    held = np.where(prices > 0.0, sums.upper, np.where(prices < 0.0, sums.lower, 0.0))
    return Look(value - float((prices * held).sum()), load, curvature)


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


def temperatures(costs: Costs, deadline: Deadline = NEVER) -> tuple[float, float]:
    """Mean cost of a group above its least, and the temperature that leaves few undecided.

    The latter is a part of the median difference between the two best clusters.
    """
    gaps, total, number = [], 0.0, 0
    for _, block in costs.blocks(deadline):
        k = block.shape[1]
        if k == 1:
            return 1.0, 1.0
        best = np.partition(block, 1, axis=1)[:, :2]
        gaps.append(best[:, 1] - best[:, 0])
        total += float(block.sum() / k - best[:, 0].sum())
        number += len(block)
    mean = total / max(number, 1)
    gap = float(np.median(np.concatenate(gaps)))
    floor = 1e-7 * mean if mean > 0.0 else 1.0
    return max(mean, floor), max(PRICE_END * gap, floor)


def place(
    costs: Costs, amount: FloatArray, prices: FloatArray, eps: float, deadline: Deadline = NEVER
) -> IntArray:
    """A cluster of each group at the prices, drawn by its shares at the temperature.

    So groups that cost the same everywhere are spread over the clusters as the prices want.
    """
    labels, share = np.empty(len(amount), np.int64), np.empty(len(prices))
    for part, block in costs.blocks(deadline):
        drawn = np.modf((np.arange(part.start, part.stop) + 0.5) * GOLDEN)[0]
        rounded(
            block, np.ascontiguousarray(amount[part]), prices, eps, drawn, share, labels[part]
        )
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
