"""Exact assignment of groups to clusters: least cost under all hard rules.

:func:`.dispatch.assign` goes one way: nearest centres; elimination over the graph of pairs and
linear assignment of cliques where no sum is bounded (:mod:`.pairs`); dual prices and shortest
paths, or one min-cost flow, for sizes of groups that count alike (:mod:`.sizes`); dual prices and
reduced-cost fixing for all other sums, which leave a small program (:mod:`.sums`, :mod:`.program`).
:func:`.dispatch.feasible` finds any labels or proves that there are none (:mod:`.feasible`).
"""

from __future__ import annotations

from .check import Assignment, NoAssignment, broken, matching_order
from .dispatch import assign, feasible
from .feasible import place_by_room
from .program import assign_relaxed, violation

__all__ = [
    "Assignment",
    "NoAssignment",
    "assign",
    "assign_relaxed",
    "broken",
    "feasible",
    "matching_order",
    "place_by_room",
    "violation",
]
