"""The plan: every decision that depends on the size or the kind of a problem.

:mod:`.decisions` makes them before solving starts, from what is in :mod:`.facts`, with
:mod:`.chained` for one kind of problem; :mod:`.thresholds` has the numbers behind them.
"""

from .decisions import Plan
from .facts import (
    Facts,
    default_limit,
    entries,
    is_large,
    pilot_groups,
    prices_first,
    sizes_loose,
    unevenness,
    with_limit,
)
from .kinds import crowded, is_nested

__all__ = [
    "Facts",
    "Plan",
    "crowded",
    "default_limit",
    "entries",
    "is_large",
    "is_nested",
    "pilot_groups",
    "prices_first",
    "sizes_loose",
    "unevenness",
    "with_limit",
]
