"""Exact assignment of groups to clusters: least cost under all hard rules.

:func:`.exact.assign` takes the cheapest method that the rules allow: nearest centre
(:mod:`.nearest`), elimination over the graph of pairs (:mod:`.pairs`), prices and min-cost flow
(:mod:`.sizes`), prices for several sums (:mod:`.sums`), or integer programming (:mod:`.program`).
:mod:`.patient` gives up the proof where it takes too long; :mod:`.far` assigns rows in shards.
"""

from __future__ import annotations

from typing import Any

from ..presolve import Rules
from ..rows import Rows
from .check import broken, matching_order
from .exact import assign
from .far import FarAssignment
from .patient import NearAssignment, assign_patiently
from .program.feasibility import feasible
from .program.relaxed import assign_relaxed, violation
from .result import Assignment, NoAssignment
from .sizes.flow import prices

__all__ = [
    "Assignment",
    "NoAssignment",
    "assign",
    "assign_patiently",
    "assign_relaxed",
    "assigner",
    "broken",
    "feasible",
    "matching_order",
    "prices",
    "violation",
]


def assigner(rules: Rules, rows: Rows) -> Any:
    """What assigns these rows to centres, round after round, wherever they are."""
    return FarAssignment(rules, rows) if rows.far else NearAssignment(rules, rows)  # type: ignore[arg-type]
