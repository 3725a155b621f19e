"""From the user's constraints to the rules that the solvers see.

Rows that must-links join are numbered as groups, contradictions that can be seen without solving
are raised, and what is left is put into plain arrays (:mod:`.rules`).  No points are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._scale import DEAREST, NO_SCALE, Scale
from .._typing import FloatArray, IntArray
from ..constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Connected,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)
from ..constraints._checks import ENTRIES, Names, sums_by
from ..constraints.sizes import merge_sizes
from ..deadline import NEVER, Deadline
from .adjacency import Adjacency
from .contradictions import raise_contradictions
from .facts import Facts
from .pairs import Cliques, PairGraph, Pairs, SoftPairs, pair_keys, unique_pairs
from .rules import Contraction, Rules
from .sums import LinearRows, SizeBounds, SoftPins, SoftSizes, TotalBounds, in_units, smallest

__all__ = [
    "Adjacency",
    "Cliques",
    "Contraction",
    "LinearRows",
    "PairGraph",
    "Pairs",
    "Rules",
    "SizeBounds",
    "SoftPairs",
    "SoftPins",
    "SoftSizes",
    "TotalBounds",
    "presolve",
    "smallest",
]


def presolve(
    constraints: Any,
    n_samples: int,
    n_clusters: int,
    *,
    names: Names = None,
    contract: bool = True,
    scale: Scale = NO_SCALE,
    deadline: Deadline = NEVER,
) -> Rules:
    """Check the constraints against the shape of the data and put them into plain arrays.

    Constraints that do not fit the data raise ``ValueError``, contradictions that can be seen
    without solving ``InfeasibleConstraintsError`` with the ``names`` of the rows.  Without
    ``contract`` every row is a group of its own, hard must-links stay pairs, and contradictions
    are not looked for: for the answer of least violation, and for Algorithm 1.  ``scale``
    has the units of the solvers' costs, which prices of soft rules are given in.  OutOfTime is
    raised after the deadline.

    Examples
    --------
    >>> from corral.constraints import CannotLink, MustLink
    >>> rules = presolve([MustLink([(0, 1)]), CannotLink([(1, 2)])], n_samples=3, n_clusters=2)
    >>> rules.group, rules.apart
    (array([0, 0, 1]), array([[0, 1]]))
    """
    n, k = n_samples, n_clusters
    given = ConstraintSet(constraints)
    given.check(n, k)
    # Shares of all clusters are looked at as such; those of some are totals from the start.
    known = [
        item if isinstance(item, GroupShares) and item.clusters is None else item.expand(n, k)
        for item in given
    ]
    facts, rules = Facts(ConstraintSet(known), n, k, names), ConstraintSet(known).expand(n, k)
    if contract:
        raise_contradictions(facts, deadline)
    deadline.check()
    group = facts.group if contract else np.arange(n)
    m = int(group.max(initial=-1)) + 1
    # Where every row is a group of its own, no array over the rows says so.
    count = np.broadcast_to(np.int64(1), m) if m == n else np.bincount(group, minlength=m)
    sizes, totals = _amounts(rules.hard, n, k)
    rows, clusters = facts.pins.values.T
    return Rules(
        n_clusters=k,
        count=count,
        group=None if m == n else group,
        pins=np.column_stack(np.divmod(np.unique(group[rows] * k + clusters), k)),
        pairs=Pairs(
            m,
            apart=facts.apart if contract else unique_pairs(facts.cannot.values, m),
            together=unique_pairs(facts.must.values[: 0 if contract else None], m),
            soft=soft_pairs(rules.soft, group, m, scale),
        ),
        sizes=soft_sizes(rules.soft, _sizes(sizes, n, k), (n, k), scale),
        totals=_totals(totals, group, m, k),
        linear=_linear(rules, group, m, k),
        soft_pins=soft_pins(rules.soft, group, k, scale),
        soft_totals=soft_totals(rules.soft, group, k, scale),
        adjacency=_adjacency(facts.connected, group),
    )


def _adjacency(given: Sequence[Connected], group: IntArray) -> Adjacency | None:
    if not given:
        return None
    if any(not np.array_equal(each.pairs, given[0].pairs) for each in given):
        raise ValueError(
            "clusters can be connected in one graph only, but the rules have graphs with different "
            "edges; give the edges that both of them have."
        )
    return Adjacency.of(given[0].pairs, group)


def _amounts(
    rules: ConstraintSet, n: int, k: int
) -> tuple[list[ClusterSizes], list[ClusterTotals]]:
    """Sizes and totals; totals of equal values become sizes where these can be merged."""
    sizes, totals = list(rules.of_kind(ClusterSizes)), []
    for total in rules.of_kind(ClusterTotals):
        counted = _as_sizes(total, n, k)
        if counted is not None:
            with suppress(ValueError):  # sizes in any order, and totals of clusters by number
                least, most, _ = merge_sizes([*sizes, counted], n, k)
                # If no sizes are between the bounds, the solver finds the conflict.
                if np.all(least <= most) and least.sum() <= n <= most.sum():
                    sizes.append(counted)
                    continue
        totals.append(total)
    return sizes, totals


def _as_sizes(total: ClusterTotals, n: int, k: int) -> ClusterSizes | None:
    """The same bounds on numbers of rows; None unless all values are equal and not 0."""
    value = float(total.values[0])
    if value == 0.0 or np.any(total.values != value):
        return None
    with np.errstate(over="ignore"):
        lower, upper = (bound / value for bound in total.bounds(k))
    if value < 0.0:
        lower, upper = upper, lower
    one = np.zeros(n, np.int64)
    _, low, high, _ = in_units(np.ones(n), one, lower[None], upper[None])
    least, most = np.ceil(np.clip(low[0], 0, n + 1)), np.floor(np.clip(high[0], -1, n))
    if np.any(least > most):
        return None
    tied = bool(np.ptp(least) or np.ptp(most))
    bounds = (least.astype(np.int64), most.astype(np.int64))
    return ClusterSizes(minimum=bounds[0], maximum=bounds[1], ordered=tied)


def _sizes(given: list[ClusterSizes], n: int, k: int) -> SizeBounds | None:
    if not given:
        return None
    lower, upper, ordered = merge_sizes(given, n, k)
    idle = not lower.any() and (upper >= n).all()
    return None if idle else SizeBounds(lower, upper, ordered)


def _totals(given: list[ClusterTotals], group: IntArray, m: int, k: int) -> tuple[TotalBounds, ...]:
    found = []
    for total in given:
        lower, upper = total.bounds(k)
        if np.isfinite(lower).any() or np.isfinite(upper).any():
            one = np.broadcast_to(np.int64(0), len(total.values))
            values, low, high, give = in_units(total.values, one, lower[None], upper[None])
            summed = values if m == len(group) else sums_by(group, values, m)
            if m > ENTRIES:
                summed = smallest(summed[None])[0]
            found.append(TotalBounds(summed, low[0], high[0], float(give[0])))
    return tuple(found)


def _linear(rules: ConstraintSet, group: IntArray, m: int, k: int) -> LinearRows | None:
    given = [rule for rule in rules.of_kind(LinearConstraint) if rule.A.shape[0]]
    if not given:
        return None
    rows = sparse.coo_array(sparse.vstack([rule.A for rule in given]))
    row, column = rows.coords
    moved = group[column // k] * k + column % k
    sides = zip(*((rule.lower, rule.upper) for rule in given), strict=True)
    lower, upper = (np.concatenate(side)[:, None] for side in sides)
    values, low, high, give = in_units(rows.data, row.astype(np.int64), lower, upper)
    A = sparse.csr_array((values, (row, moved)), shape=(rows.shape[0], m * k))
    return LinearRows(A, low[:, 0], high[:, 0], give)


def soft_pairs(soft: ConstraintSet, group: IntArray, m: int, scale: Scale) -> SoftPairs:
    """Add up the prices of equal pairs; a cannot-link inside a group stays, as (g, g)."""
    together = soft.of_kind(MustLink)
    links = [*together, *soft.of_kind(CannotLink)]
    if not links:
        return SoftPairs.none()
    ends = group[np.concatenate([link.pairs for link in links])]
    price = np.concatenate([link.weight for link in links])
    joins = np.arange(len(ends)) < sum(len(link.pairs) for link in together)
    alive = ~(joins & (ends[:, 0] == ends[:, 1]))  # a must-link inside a group is obeyed
    keys = pair_keys(ends[alive], m) * 2 + joins[alive]
    unique, which = np.unique(keys, return_inverse=True)
    pairs = np.column_stack(np.divmod(unique // 2, m))
    total = scale.prices(sums_by(which, price[alive], len(unique)))
    return SoftPairs(pairs, total, unique % 2 == 1)


def _prices(weight: FloatArray, scale: Scale) -> FloatArray:
    """Prices in the solvers' unit of costs, moderate ones for weights that are nearly infinite."""
    return np.minimum(scale.prices(weight), DEAREST)


def soft_pins(soft: ConstraintSet, group: IntArray, k: int, scale: Scale) -> SoftPins:
    """Add up the prices of equal pins of a group."""
    pins = soft.of_kind(Pin)
    if not pins:
        return SoftPins.none()
    keys = np.concatenate([group[pin.rows] * k + pin.clusters for pin in pins])
    price = np.concatenate([pin.weight for pin in pins])
    unique, which = np.unique(keys[price > 0.0], return_inverse=True)
    total = _prices(sums_by(which, price[price > 0.0], len(unique)), scale)
    return SoftPins(np.column_stack(np.divmod(unique, k)), total)


def soft_sizes(
    soft: ConstraintSet, hard: SizeBounds | None, shape: tuple[int, int], scale: Scale
) -> SizeBounds | None:
    """The hard sizes, or none, with the soft ones; ``shape`` is rows and clusters.

    Raises ``ValueError`` if it is not clear which bounds of two lists belong together.
    """
    n, k = shape
    given = [size for size in soft.of_kind(ClusterSizes) if size.weight > 0.0]
    bounds = [size.bounds(n, k) for size in given]
    kept = [i for i, (low, high) in enumerate(bounds) if low.any() or (high < n).any()]
    if not kept:
        return hard
    lower, upper = (np.array([bounds[i][side] for i in kept]) for side in (0, 1))
    price = _prices(np.array([given[i].weight for i in kept]), scale)
    found = SoftSizes(lower, upper, price)
    listed = [i for i in kept if np.ptp(bounds[i][0]) or np.ptp(bounds[i][1])]
    lists = {(given[i].ordered, *(tuple(side) for side in bounds[i])) for i in listed}
    if hard is None:
        hard = SizeBounds(np.zeros(k, np.int64), np.full(k, n), ordered=False)
    if not hard.interchangeable:
        lists.add((hard.ordered, tuple(hard.lower), tuple(hard.upper)))
    ordered = {each[0] for each in lists}
    if len(ordered) > 1 or (ordered == {False} and len(lists) > 1):
        raise ValueError(
            "soft cluster sizes and other cluster sizes that differ from cluster to cluster cannot "
            "be matched with each other; give all of them with ordered=True, or one list only."
        )
    return replace(hard, ordered=ordered == {True}, soft=found)


def soft_totals(
    soft: ConstraintSet, group: IntArray, k: int, scale: Scale
) -> tuple[TotalBounds, ...]:
    """Totals of the groups, in a unit of each in which the largest value is about 1.

    A power of two changes no digit of the values and bounds.
    """
    found = []
    for total in soft.of_kind(ClusterTotals):
        lower, upper = total.bounds(k)
        bounded = np.isfinite(lower).any() or np.isfinite(upper).any()
        if not total.weight > 0.0 or not bounded or not total.values.any():
            continue
        unit = float(np.ldexp(1.0, int(np.frexp(np.abs(total.values).max())[1]) - 1))
        price = float(_prices(np.array([total.weight]), scale)[0]) * unit
        summed = sums_by(group, total.values / unit, int(group.max()) + 1)
        found.append(TotalBounds(summed, lower / unit, upper / unit, price=price))
    return tuple(found)
