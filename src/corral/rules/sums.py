"""Bounds on what the clusters hold: numbers of rows, sums of values, and linear rows.

The numbers are in units that suit the solvers, whole numbers where the user allows it.  Decimal
fractions and numbers of any magnitude, such as 0.1, 0.2 and 0.3 or 1e15 and 2e15, become small
whole numbers.  Sums of these are exact, also after rows were joined.  Other numbers are divided by
a power of two, so that the largest of a sum is about 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import MOST_COUNTED, allowances, pieces, sums_by
from ..numbers import FEW_GROUPS

#: Relative difference between a float and a whole number times its unit that rounding can make.
ROUNDING = 4.0 * np.finfo(np.float64).eps


def in_units(
    values: FloatArray, rule: IntArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Values and bounds, (r, c), of r sums in a unit of each, and how far each may miss its bounds.

    ``rule`` is the sum that each value belongs to.  A sum of floats may miss its bounds by half of
    what the audit allows, which leaves the other half for sums in another order.  Of whole numbers
    the bounds are rounded inwards, and no sum may miss them.

    Examples
    --------
    >>> low, high = np.array([[-0.4]]), np.array([[0.0]])
    >>> in_units(np.array([0.1, 0.2, -0.3]), np.zeros(3, int), low, high)
    (array([ 1.,  2., -3.]), array([[-4.]]), array([[0.]]), array([0.]))
    """
    unit, whole = _units(values, rule, len(lower))
    scaled, size = np.empty(len(values)), np.zeros(len(lower))
    for part in pieces(len(values)):
        own = values[part] / unit[rule[part]]
        scaled[part] = np.where(whole[rule[part]], np.rint(own), own)
        size += sums_by(rule[part], np.abs(scaled[part]), len(lower))
    give = allowances(values, rule, len(lower))[:, None] / 2.0
    unit, exact = unit[:, None], whole[:, None]
    reach = size[:, None] + 1.0
    added = np.where(exact, give, 0.0)
    low, high = _divided(lower - added, unit, reach), _divided(upper + added, unit, reach)
    inner = np.ceil(low), np.floor(high)
    rounded = exact & (inner[0] <= inner[1])  # not where no whole number is between the bounds
    return (
        scaled,
        np.where(rounded, inner[0], low),
        np.where(rounded, inner[1], high),
        np.where(exact, 0.0, give / unit)[:, 0],
    )


def _divided(bound: FloatArray, unit: FloatArray, reach: FloatArray) -> FloatArray:
    """Bounds in other units; finite ones that no sum reaches become moderate."""
    with np.errstate(over="ignore"):
        return np.where(np.isinf(bound), bound, np.clip(bound / unit, -reach, reach))


def _units(values: FloatArray, rule: IntArray, n_rules: int) -> tuple[FloatArray, BoolArray]:
    """The unit of each sum, and whether its values are whole numbers in that unit.

    The smallest power of ten is tried that leaves the sum below ``MOST_COUNTED``.  If that makes
    all values whole, the unit is their greatest common divisor.
    """
    total, largest = np.zeros(n_rules), np.zeros(n_rules)
    for part in pieces(len(values)):
        size = np.abs(values[part])
        total += sums_by(rule[part], size, n_rules)
        np.maximum.at(largest, rule[part], size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ten = 10.0 ** np.ceil(
            np.log10(np.where(total > 0.0, total, MOST_COUNTED)) - np.log10(MOST_COUNTED)
        )
    whole, divisor = np.ones(n_rules, bool), np.zeros(n_rules, np.int64)
    for part in pieces(len(values)):
        own = rule[part]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            counts = np.abs(values[part]) / ten[own]
            fits = np.abs(counts - np.rint(counts)) <= ROUNDING * counts
        whole &= np.asarray(sums_by(own, (~fits).astype(float), n_rules) == 0)
        counts = np.where(whole[own], counts, 0.0)
        np.gcd.at(divisor, own, np.rint(counts).astype(np.int64))
    two = np.ldexp(1.0, np.frexp(largest)[1] - 1)
    return np.where(whole, ten * np.maximum(divisor, 1), two), whole


def smallest(values: FloatArray) -> Any:
    """The numbers, (q, m), in the smallest type that holds all of them exactly."""
    for kind in (np.int8, np.int16, np.int32):
        highest = np.iinfo(kind).max
        held = np.empty(values.shape[::-1], kind).T
        for row, given in zip(held, values, strict=True):
            for part in pieces(len(given)):
                own = given[part]
                fits = own.min() >= -highest and own.max() <= highest
                if not fits or np.any(own != np.rint(own)):
                    break
                row[part] = own
            else:
                continue
            break
        else:
            return held
    return np.ascontiguousarray(values.T, np.float64).T


def outside(value: Any, lower: Any, upper: Any) -> Any:
    """By how much each value misses its bounds."""
    return np.maximum(np.maximum(lower - value, value - upper), 0)


@dataclass(frozen=True)
class SoftPins:
    """Pairs (group, cluster), (p, 2), with a price for being in another cluster, (p,)."""

    pins: IntArray
    price: FloatArray

    @classmethod
    def none(cls) -> SoftPins:
        """No soft pin at all."""
        return cls(np.empty((0, 2), np.int64), np.empty(0))

    def __len__(self) -> int:
        """Number of soft pins."""
        return len(self.price)

    def cost(self, labels: IntArray) -> float:
        """Sum of the prices of the pins that the labels break."""
        return float(self.price[labels[self.pins[:, 0]] != self.pins[:, 1]].sum())

    def part(self, place: IntArray) -> SoftPins:
        """The pins of groups whose place is not negative, by place."""
        pins = np.column_stack([place[self.pins[:, 0]], self.pins[:, 1]])
        kept = pins[:, 0] >= 0
        return SoftPins(pins[kept], self.price[kept])

    def of_groups(self, n_clusters: int) -> tuple[IntArray, FloatArray]:
        """The groups with pins, (u,), and what they pay in each cluster, (u, k)."""
        groups, place = np.unique(self.pins[:, 0], return_inverse=True)
        paid = np.zeros((len(groups), n_clusters))
        np.add.at(paid, place, self.price[:, None])
        np.add.at(paid, (place, self.pins[:, 1]), -self.price)
        return groups, np.maximum(paid, 0.0)

    def added_to(self, cost: FloatArray) -> FloatArray:
        """Costs (m, k) with what groups pay for their pins."""
        if not len(self):
            return cost
        groups, paid = self.of_groups(cost.shape[1])
        priced = cost.copy()
        priced[groups] += paid
        return priced


@dataclass(frozen=True)
class SoftSizes:
    """Several bounds on the sizes of all clusters, (s, k), each with a price of a row, (s,)."""

    lower: IntArray
    upper: IntArray
    price: FloatArray

    def permuted(self, order: IntArray) -> SoftSizes:
        """Give cluster ``j`` the bounds that now stand at ``order[j]``."""
        return replace(self, lower=self.lower[:, order], upper=self.upper[:, order])

    def less(self, taken: IntArray) -> SoftSizes:
        """Bounds for the rows that are left when each cluster has taken some."""
        return replace(self, lower=self.lower - taken, upper=self.upper - taken)

    def cost(self, counted: IntArray) -> FloatArray:
        """What each size, (k,), costs at each of the bounds: entry (j, b) is size j at bounds b."""
        missed = outside(counted[None, :, None], self.lower[:, None], self.upper[:, None])
        return np.asarray(np.tensordot(self.price, missed, axes=1))

    @property
    def alike(self) -> bool:
        """Whether every cluster has the same bounds."""
        return not (np.ptp(self.lower, axis=1).any() or np.ptp(self.upper, axis=1).any())

    def best_order(self, counted: IntArray, allowed: BoolArray) -> IntArray:
        """The order of the bounds that costs the counted sizes least; ``allowed`` is (k, k)."""
        cost = self.cost(counted)
        return np.asarray(linear_sum_assignment(np.where(allowed, cost, 1.0 + 2.0 * cost.sum()))[1])


def _beyond(value: FloatArray, lower: FloatArray, upper: FloatArray, give: Any) -> FloatArray:
    """By how much values miss their bounds, 0 where that is at most ``give``."""
    inside = (lower - give <= value) & (value <= upper + give)
    return np.where(inside, 0.0, outside(value, lower, upper))


@dataclass(frozen=True)
class SizeBounds:
    """Bounds on the number of rows of each cluster, ``lower[j] <= size_j <= upper[j]``.

    With ``ordered=False`` the pairs ``(lower[j], upper[j])`` are a multiset: which cluster gets
    which pair is part of the problem, and the order held here is the present guess.  Soft sizes
    are in the same order.
    """

    lower: IntArray
    upper: IntArray
    ordered: bool
    soft: SoftSizes | None = None

    @property
    def interchangeable(self) -> bool:
        """Whether every cluster has the same bounds, so that their order means nothing."""
        alike = self.soft is None or self.soft.alike
        return bool(np.ptp(self.lower) == 0 and np.ptp(self.upper) == 0) and alike

    @property
    def columns(self) -> IntArray:
        """All bounds of each cluster, (c, k): lower and upper, then the soft ones."""
        soft = () if self.soft is None else (*self.soft.lower, *self.soft.upper)
        return np.stack([self.lower, self.upper, *soft])

    def binds(self, n_rows: int) -> bool:
        """Whether the hard bounds exclude a size of some cluster."""
        return bool(self.lower.any() or (self.upper < n_rows).any())

    @property
    def aimed(self) -> tuple[IntArray, IntArray]:
        """Bounds that obey the soft sizes too, where these leave any."""
        if self.soft is None:
            return self.lower, self.upper
        lower = np.clip(self.soft.lower.max(axis=0), self.lower, self.upper)
        upper = np.clip(self.soft.upper.min(axis=0), self.lower, self.upper)
        return np.minimum(lower, upper), np.maximum(lower, upper)

    @property
    def exact(self) -> bool:
        """Whether every cluster has one size only."""
        return bool(np.all(self.lower == self.upper))

    def permuted(self, order: IntArray) -> SizeBounds:
        """Give cluster ``j`` the bounds that now stand at ``order[j]``."""
        soft = None if self.soft is None else self.soft.permuted(order)
        return replace(self, lower=self.lower[order], upper=self.upper[order], soft=soft)

    def scaled(self, share: float, n_rows: int) -> SizeBounds:
        """Bounds for ``n_rows`` rows, a share of all; they add up if they did before."""
        soft = self.soft
        if soft is not None:
            sides = zip(soft.lower, soft.upper, strict=True)
            low, high = zip(*(_scaled(each, most, share) for each, most in sides), strict=True)
            soft = replace(soft, lower=np.array(low), upper=np.array(high))
        if self.exact:
            both = scaled_bounds(self.lower, n_rows / float(self.lower.sum()))
            return replace(self, lower=both, upper=both, soft=soft)
        lower, upper = _scaled(self.lower, self.upper, share)
        return replace(self, lower=lower, upper=upper, soft=soft)

    def less(self, taken: IntArray) -> SizeBounds:
        """Bounds for the rows that are left when each cluster has taken some."""
        lower = np.maximum(self.lower - taken, 0)
        soft = None if self.soft is None else self.soft.less(taken)
        return SizeBounds(lower, self.upper - taken, ordered=True, soft=soft)

    def as_total(self, count: IntArray) -> TotalBounds:
        """The same bounds on the sums of the numbers of rows of the groups."""
        most = np.minimum(self.upper, count.sum())
        alike = len(count) > 0 and count.strides == (0,)
        values = np.broadcast_to(float(count[0]), len(count)) if alike else count.astype(float)
        return TotalBounds(values, self.lower.astype(float), most.astype(float))


def _scaled(lower: IntArray, upper: IntArray, share: float) -> tuple[IntArray, IntArray]:
    """Intervals times the share, which are not empty."""
    low, high = scaled_bounds(lower, share), scaled_bounds(upper, share)
    return low, np.maximum(low, np.where(upper > lower, high + 1, high))


def scaled_bounds(bound: IntArray, share: float) -> IntArray:
    """Each bound times the share, rounded so that the cumulative sums are rounded down."""
    sums = np.floor(np.cumsum(bound.astype(np.float64)) * share + 1e-9)
    scaled: FloatArray = np.diff(sums, prepend=0.0)
    return scaled.astype(np.int64)


@dataclass(frozen=True)
class TotalBounds:
    """Bounds on per-cluster sums, ``lower[j] <= sum_g values[g] x_gj <= upper[j]``.

    ``give`` is how far a sum may miss its bounds because of rounding.  Presolve sets it, 0 for
    whole numbers, and no solver allows anything else.  ``price`` is that of a unit outside the
    bounds, infinite for hard ones.
    """

    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    give: float = 0.0
    price: float = math.inf

    def part(self, groups: IntArray | BoolArray) -> TotalBounds:
        """The same bounds on the values of some groups."""
        return replace(self, values=self.values[groups])

    def scaled(self, share: float) -> TotalBounds:
        """Bounds times the share."""
        return replace(self, lower=self.lower * share, upper=self.upper * share)

    def excess(self, labels: IntArray) -> FloatArray:
        """By how much each cluster's sum misses its bounds, 0 within rounding."""
        sums = sums_by(labels, self.values, len(self.lower))
        return _beyond(sums, self.lower, self.upper, self.give)

    def as_rows(self, n_clusters: int) -> LinearRows:
        """The same as linear rows, one for each cluster."""
        A = sparse.kron(self.values[None, :], sparse.eye_array(n_clusters), format="csr")
        return LinearRows(sparse.csr_array(A), self.lower, self.upper, self.give)

    def less(self, taken: FloatArray) -> TotalBounds:
        """Bounds less what each cluster has taken."""
        return replace(self, lower=self.lower - taken, upper=self.upper - taken)


@dataclass(frozen=True)
class Sums:
    """Several bounded sums: ``lower[r, j] <= sum of values[r] over cluster j <= upper[r, j]``.

    The bounds include the rounding that is allowed.  ``price`` is that of a unit outside the
    bounds, (r, 1), infinite for hard ones.
    """

    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    price: FloatArray

    @classmethod
    def of(cls, bounds: Sequence[TotalBounds], n_groups: int, n_clusters: int) -> Sums:
        """One row for each of the bounds."""
        shape = len(bounds), n_clusters
        one = bounds[0].values[None] if len(bounds) == 1 else None  # which is not copied
        values = np.array(
            [each.values for each in bounds] if one is None else one, float, copy=None
        )
        return cls(
            values.reshape(len(bounds), n_groups),
            np.array([each.lower - each.give for each in bounds], float).reshape(shape),
            np.array([each.upper + each.give for each in bounds], float).reshape(shape),
            np.array([each.price for each in bounds], float).reshape(-1, 1),
        )

    def and_(self, others: Sums) -> Sums:
        """These sums and others."""
        if not len(others):
            return self
        both = zip(vars(self).values(), vars(others).values(), strict=True)
        return Sums(*(np.concatenate(each) for each in both))

    def __len__(self) -> int:
        """Number of sums, r."""
        return len(self.values)

    @property
    def unit(self) -> FloatArray:
        """Mean absolute value of each sum, (r, 1); 1 where all values are 0."""
        mean = np.abs(self.values).mean(axis=1, keepdims=True)
        return np.where(mean > 0, mean, 1.0)

    def reached(self, labels: IntArray) -> FloatArray:
        """The sums that labels give, (r, k)."""
        k = self.lower.shape[1]
        sums = [sums_by(labels, value, k) for value in self.values]
        return np.array(sums).reshape(self.lower.shape)

    def outside(self, reached: FloatArray) -> FloatArray:
        """By how much each sum misses its bounds, (r, k)."""
        return np.asarray(outside(reached, self.lower, self.upper))

    def cost(self, reached: FloatArray) -> float:
        """Price of all that soft sums miss."""
        return float((self.price * self.outside(reached)).sum())


@dataclass(frozen=True)
class LinearRows:
    """Rows ``lower <= A vec(x) <= upper``; column ``g * k + j`` of ``A`` belongs to ``x_gj``.

    ``give`` is how far each row may miss its bounds because of rounding, as in
    :class:`TotalBounds`.
    """

    A: sparse.csr_array
    lower: FloatArray
    upper: FloatArray
    give: FloatArray | float = 0.0

    def excess(self, labels: IntArray) -> FloatArray:
        """By how much each row misses its bounds, 0 within rounding."""
        x = np.zeros(self.A.shape[1])
        x[np.arange(len(labels)) * (self.A.shape[1] // len(labels)) + labels] = 1.0
        return _beyond(self.A @ x, self.lower, self.upper, self.give)

    def part(self, groups: IntArray, n_clusters: int) -> LinearRows:
        """The same rows over some groups, what the others add left out."""
        columns = (groups[:, None] * n_clusters + np.arange(n_clusters)).ravel()
        return replace(self, A=sparse.csr_array(self.A[:, columns]))

    def rows(self, chosen: BoolArray) -> LinearRows | None:
        """Some of the rows; None if there are none of them."""
        give = np.broadcast_to(np.asarray(self.give, float), self.lower.shape)
        kept = LinearRows(self.A[np.flatnonzero(chosen)], self.lower[chosen], self.upper[chosen])
        return replace(kept, give=give[chosen]) if chosen.any() else None

    def inside(self, groups: IntArray, n_clusters: int) -> LinearRows | None:
        """The rows that see some groups alone, over these."""
        part, number = self.part(groups, n_clusters), np.diff(self.A.indptr)
        return part.rows(np.diff(part.A.indptr) == number)

    def as_totals(self, n_clusters: int) -> tuple[list[TotalBounds], LinearRows | None]:
        """Rows of one cluster and many groups as totals, and the other rows."""
        give = np.broadcast_to(np.asarray(self.give, float), self.lower.shape)
        found: dict[bytes, tuple[FloatArray, FloatArray, FloatArray]] = {}
        single = np.zeros(len(self.lower), bool)
        for r, (start, stop) in enumerate(pairwise(self.A.indptr)):
            group, cluster = np.divmod(self.A.indices[start:stop], n_clusters)
            single[r] = stop - start > FEW_GROUPS and np.ptp(cluster) == 0
            if not single[r]:
                continue
            values = np.zeros(self.A.shape[1] // n_clusters)
            values[group] = self.A.data[start:stop]
            none = np.full(n_clusters, np.inf)
            _, lower, upper = found.setdefault(values.tobytes(), (values, -none, none))
            j = cluster[0]
            lower[j] = max(lower[j], self.lower[r] - give[r])
            upper[j] = min(upper[j], self.upper[r] + give[r])
        return [TotalBounds(*each) for each in found.values()], self.rows(~single)

    def less(self, columns: IntArray) -> LinearRows:
        """Bounds less what the chosen columns of ``A`` add."""
        taken = np.asarray(self.A[:, columns].sum(axis=1)).ravel()
        return replace(self, lower=self.lower - taken, upper=self.upper - taken)
