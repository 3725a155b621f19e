"""What an exact assignment gives back, and the two ways in which it can fail."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from .._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Assignment:
    """Labels of the groups that obey every hard rule.

    Attributes
    ----------
    labels : (m,) array
        The cluster of each group.
    cost : float
        Sum of ``cost[g, labels[g]]`` plus the price of the soft pairs broken.
    optimal : bool
        False when a time limit ended the search and the best answer found is given.
    order : (k,) array or None
        ``order[j]`` is the position, in the problem's size bounds, of the bounds that cluster
        ``j`` was given; None when they were not matched anew.
    prices : (k,) or (r, k) array, or None
        Price per point of each cluster, where sizes have been priced; with several sums one row
        for sizes, if there are any, and one for each total.  A warm start for costs that differ
        a little.
    """

    labels: IntArray
    cost: float
    optimal: bool = True
    order: IntArray | None = None
    prices: FloatArray | None = field(default=None, repr=False)


class NoAssignment(Exception):  # noqa: N818 - an outcome of the search, not a fault
    """It is proven that no assignment obeys the hard rules."""


class OutOfTime(Exception):  # noqa: N818 - an outcome of the search, not a fault
    """The time limit came before either an answer or a proof that there is none."""


def seconds_left(deadline: float | None) -> float | None:
    """Seconds until ``deadline``, an instant of :func:`time.monotonic`; None if there is none.

    Raises
    ------
    OutOfTime
        When the deadline has passed.
    """
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise OutOfTime
    return left
