"""What an exact assignment gives back, and the proof that there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._typing import IntArray


@dataclass(frozen=True)
class Assignment:
    """Labels of the groups that obey every hard rule.

    Attributes
    ----------
    labels : (m,) array
        The cluster of each group; of rows in shards, the scan that holds them there.
    cost : float
        With the price of the soft rules broken; NaN if unknown.
    optimal : bool
        False without a proof: time ended the search, or the problem is too large for one.
    order : (k,) array or None
        ``order[j]`` is the position, in the size bounds of the rules, of the bounds that cluster
        ``j`` was given; None when they stayed in the order given.
    soft : float or None
        Price of the soft pairs broken, where the labels are outside this process.
    warm : object
        What the next round starts from.  In memory: prices per point of each cluster; with several
        sums one row for sizes, if there are any, and one for each total.
    """

    labels: Any
    cost: float
    optimal: bool = True
    order: IntArray | None = None
    soft: float | None = field(default=None, repr=False)
    warm: Any = field(default=None, repr=False)


class NoAssignment(Exception):  # noqa: N818 - an outcome of the search, not a fault
    """It is proven that no assignment obeys the hard rules."""
