"""The numbers that steer the engine, each with its unit and what changes when it grows."""

from __future__ import annotations

#: Rows for one row of the sample that gives the first prices of sizes, and for one row of small
#: margin, which is looked at first.  More misplace more rows, and look at fewer of them.
SAMPLED = 8
#: Seconds that a flow takes for each of its arcs, about.  It cannot be interrupted, so that it does
#: not begin where that is more than the time left.  More end a fit earlier.
FLOW_SECONDS = 5e-7
