"""Exact assignment of groups to clusters: least cost under all hard rules.

:func:`.dispatch.assign` takes the cheapest method that the rules allow: nearest centre, elimination
over the graph of pairs and linear assignment of cliques (:mod:`.pairs`), prices and min-cost flow
(:mod:`.sizes`), a flow through disjoint cliques (:mod:`.nested`), prices for several sums
(:mod:`.sums`), or integer programming (:mod:`.program`).  Where a proof takes too long, it takes
greedy labels instead.
"""

from __future__ import annotations

from .check import broken, matching_order
from .dispatch import assign, assign_patiently, feasible
from .placed import can_be_placed
from .program.relaxed import assign_relaxed, violation
from .result import Assignment, NoAssignment
from .sizes.prices import prices

__all__ = [
    "Assignment",
    "NoAssignment",
    "assign",
    "assign_patiently",
    "assign_relaxed",
    "broken",
    "can_be_placed",
    "feasible",
    "matching_order",
    "prices",
    "violation",
]
