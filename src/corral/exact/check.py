"""What an exact assignment gives back, and whether labels obey the hard rules."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints.sizes import fitting_order
from ..rules import Rules, SizeBounds


@dataclass(frozen=True)
class Assignment:
    """Labels of the groups that obey every hard rule."""

    labels: IntArray
    cost: float  # with the price of the soft rules broken
    #: False without a proof: time ended the search, or the problem is too large for one.
    optimal: bool = True
    #: ``order[j]`` is the position, in the size bounds of the rules, of the bounds that cluster
    #: ``j`` was given; None when they stayed in the order given.
    order: IntArray | None = None
    #: What the next round starts from: prices per point of each cluster; with several sums one row
    #: for sizes, if there are any, and one for each total.
    warm: FloatArray | None = field(default=None, repr=False)


class NoAssignment(Exception):  # noqa: N818 - an outcome of the search, not a fault
    """It is proven that no assignment obeys the hard rules."""


def with_pins(rules: Rules, cost: FloatArray) -> FloatArray:
    """Costs, infinite where a pin forbids the cluster; NoAssignment if two pins contradict."""
    if not len(rules.pins):
        return cost
    groups, clusters = rules.pins.T
    pinned = cost.copy()
    pinned[groups] = np.inf
    pinned[groups, clusters] = cost[groups, clusters]
    if np.count_nonzero(np.isfinite(pinned[groups]).sum(1) > 1):
        raise NoAssignment
    return pinned


def broken(rules: Rules, labels: IntArray, *, any_order: bool = False) -> tuple[str, ...]:
    """Names of the kinds of hard rule that the labels break; empty when they break none.

    With ``any_order`` sizes may fit the bounds in another order, where the rules leave it open.

    Examples
    --------
    >>> import numpy as np
    >>> from corral.rules import Pairs, Rules
    >>> pairs = Pairs(2, apart=np.array([[0, 1]]))
    >>> rules = Rules(n_clusters=2, count=np.ones(2, int), pairs=pairs)
    >>> broken(rules, np.array([0, 0])), broken(rules, np.array([0, 1]))
    (('apart',), ())
    """
    kinds = []
    if np.any(labels[rules.pins[:, 0]] != rules.pins[:, 1]):
        kinds.append("pins")
    if np.any(labels[rules.apart[:, 0]] == labels[rules.apart[:, 1]]):
        kinds.append("apart")
    if np.any(labels[rules.together[:, 0]] != labels[rules.together[:, 1]]):
        kinds.append("together")
    if rules.sizes is not None and not _sizes_hold(rules, rules.sizes, labels, any_order):
        kinds.append("sizes")
    if any(total.excess(labels).any() for total in rules.totals):
        kinds.append("totals")
    if rules.linear is not None and rules.linear.excess(labels).any():
        kinds.append("linear")
    if rules.adjacency is not None and not rules.adjacency.holds(labels):
        kinds.append("connected")
    return tuple(kinds)


def cost_of(rules: Rules, cost: FloatArray, labels: IntArray) -> float:
    """What the labels cost, soft rules included."""
    return float(cost[np.arange(len(labels)), labels].sum()) + rules.soft_cost(labels)


def matching_order(sizes: SizeBounds, counted: IntArray) -> IntArray | None:
    """An order of the bounds that fits the counted sizes, or None if there is none.

    With soft sizes it is the order of least price.
    """
    if sizes.soft is not None:
        column = counted[:, None]
        fits = (sizes.lower <= column) & (column <= sizes.upper)
        order = sizes.soft.best_order(counted, fits)
        return order if fits[np.arange(len(order)), order].all() else None
    return fitting_order(counted, sizes.lower, sizes.upper)


def _sizes_hold(rules: Rules, sizes: SizeBounds, labels: IntArray, any_order: bool) -> bool:
    counted = rules.sizes_of(labels)
    if np.all((sizes.lower <= counted) & (counted <= sizes.upper)):
        return True
    return any_order and not sizes.ordered and matching_order(sizes, counted) is not None
