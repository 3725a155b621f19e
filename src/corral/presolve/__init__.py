"""From the user's constraints to the rules that the solvers see.

Must-links are contracted (:mod:`.contraction`), contradictions that can be seen without solving are
raised, and what is left is put into plain arrays (:mod:`.rules`).  No points are needed for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import IntArray
from ..constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstraintSet,
    LinearConstraint,
    MustLink,
    Pin,
)
from ..constraints._checks import Names, sums_by
from ..constraints.sizes import merge_sizes
from .bounds import LinearRows, SizeBounds, Sums, TotalBounds
from .contraction import Contraction
from .contradictions import raise_contradictions
from .pair_graph import PairGraph
from .rules import Pairs, Rules, SoftPairs

__all__ = [
    "Contraction",
    "LinearRows",
    "PairGraph",
    "Pairs",
    "Rules",
    "SizeBounds",
    "SoftPairs",
    "Sums",
    "TotalBounds",
    "presolve",
]


def presolve(
    constraints: Any,
    n_samples: int,
    n_clusters: int,
    *,
    names: Names = None,
    contract: bool = True,
) -> Rules:
    """Check the constraints against the shape of the data and put them into plain arrays.

    Parameters
    ----------
    constraints : ConstraintSet, or what makes one
    n_samples, n_clusters : int
    names : sequence, optional
        What to call the rows in error messages.
    contract : bool, default True
        False keeps every row a group of its own and hard must-links as pairs, and looks for no
        contradictions: for the answer of least violation, and for Algorithm 1.

    Returns
    -------
    Rules

    Raises
    ------
    ValueError
        If a constraint does not fit the data.
    InfeasibleConstraintsError
        If the constraints contradict each other in a way that can be seen without solving.

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
    rules = given.expand(n, k)
    must = _stacked([link.pairs for link in rules.hard.of_kind(MustLink)])
    cannot = _stacked([link.pairs for link in rules.hard.of_kind(CannotLink)])
    contraction = Contraction.of_links(n, must if contract else must[:0])
    group, m = contraction.group, contraction.n_groups
    if contract:
        raise_contradictions(rules, group, k, names)
    return Rules(
        n_clusters=k,
        count=np.bincount(group, minlength=m),
        group=group,
        pins=_pins(rules, group, k),
        pairs=Pairs(
            m,
            apart=_unique_pairs(group[cannot], m),
            together=_unique_pairs(must if not contract else must[:0], m),
            soft=_soft_pairs(rules.soft, group, m),
        ),
        sizes=_sizes(rules, n, k),
        totals=_totals(rules, group, m, k),
        linear=_linear(rules, group, m, k),
    )


def _stacked(pairs: list[IntArray]) -> IntArray:
    return np.concatenate([np.empty((0, 2), np.int64), *pairs])


def _unique_pairs(pairs: IntArray, m: int) -> IntArray:
    """Give each unordered pair once, the smaller end first."""
    keys = np.unique(pairs.min(axis=1) * m + pairs.max(axis=1))
    return np.column_stack(np.divmod(keys, max(m, 1)))


def _pins(rules: ConstraintSet, group: IntArray, k: int) -> IntArray:
    keys = [group[pin.rows] * k + pin.clusters for pin in rules.of_kind(Pin)]
    unique = np.unique(np.concatenate([np.empty(0, np.int64), *keys]))
    return np.column_stack(np.divmod(unique, k))


def _soft_pairs(soft: ConstraintSet, group: IntArray, m: int) -> SoftPairs:
    """Add up the prices of equal pairs; a cannot-link inside a group stays, as (g, g)."""
    together = soft.of_kind(MustLink)
    links = [*together, *soft.of_kind(CannotLink)]
    if not links:
        return SoftPairs.none()
    ends = np.sort(group[np.concatenate([link.pairs for link in links])], axis=1)
    price = np.concatenate([link.weight for link in links])
    joins = np.arange(len(ends)) < sum(len(link.pairs) for link in together)
    alive = ~(joins & (ends[:, 0] == ends[:, 1]))  # a must-link inside a group is obeyed
    keys = (ends[alive, 0] * m + ends[alive, 1]) * 2 + joins[alive]
    unique, which = np.unique(keys, return_inverse=True)
    pairs = np.column_stack(np.divmod(unique // 2, m))
    prices = sums_by(which, price[alive], len(unique))
    return SoftPairs(pairs, prices, unique % 2 == 1)


def _sizes(rules: ConstraintSet, n: int, k: int) -> SizeBounds | None:
    given = rules.of_kind(ClusterSizes)
    if not given:
        return None
    lower, upper, ordered = merge_sizes(given, n, k)
    if not lower.any() and (upper >= n).all():
        return None
    return SizeBounds(lower, upper, ordered)


def _totals(rules: ConstraintSet, group: IntArray, m: int, k: int) -> tuple[TotalBounds, ...]:
    return tuple(
        TotalBounds(sums_by(group, total.values, m), *total.bounds(k))
        for total in rules.of_kind(ClusterTotals)
        if any(np.isfinite(bound).any() for bound in total.bounds(k))
    )


def _linear(rules: ConstraintSet, group: IntArray, m: int, k: int) -> LinearRows | None:
    given = [rule for rule in rules.of_kind(LinearConstraint) if rule.A.shape[0]]
    if not given:
        return None
    rows = sparse.coo_array(sparse.vstack([rule.A for rule in given]))
    row, column = rows.coords
    moved = group[column // k] * k + column % k
    A = sparse.csr_array((rows.data, (row, moved)), shape=(rows.shape[0], m * k))
    lower, upper = (
        np.concatenate([getattr(r, side) for r in given]) for side in ("lower", "upper")
    )
    return LinearRows(A, lower, upper)
