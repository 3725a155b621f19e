"""Numbers and tables as markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .cells import Record
from .paper import Cell as Printed

#: Decimals of each measure.
DIGITS = {"ari": 2, "hi": 2, "mi": 3, "objective": 2, "seconds": 2, "mlv": 1, "clv": 1, "cardv": 1}
COUNTS = ("mlv", "clv", "cardv")
NAMES = {"ari": "ARI (%)", "hi": "HI (%)", "mi": "MI", "objective": "objective"}
#: What stands where a method found no answer.
NONE = "x"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is words and whose others are numbers."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows)) + "\n"


def picture(name: str, caption: str) -> str:
    """A picture of the page's own folder, and what it shows."""
    return f"![{caption}]({name})\n\n*{caption}*\n"


def spread(records: Sequence[Record], measure: str) -> Printed:
    """Mean and deviation over the runs that found an answer; None if none did."""
    values = [record[measure] for record in records if measure in record]
    if not values:
        return None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def shown(cell: Printed, measure: str) -> str:
    """Mean and deviation, or an x."""
    if cell is None:
        return NONE
    mean, deviation = (round(value, DIGITS[measure]) + 0.0 for value in cell)
    return f"{mean:.{DIGITS[measure]}f} ± {deviation:.{DIGITS[measure]}f}"


def ours(records: Sequence[Record], measure: str) -> str:
    """What runs came to, and in how many of them nothing was found."""
    dead = sum("dead_end" in record for record in records)
    text = shown(spread(records, measure), measure)
    return f"{text} ({dead} of {len(records)} x)" if 0 < dead < len(records) else text


def mean(records: Sequence[Record], measure: str) -> str:
    """The mean alone; counts without needless zeros."""
    cell = spread(records, measure)
    if cell is None:
        return NONE
    value = round(cell[0], DIGITS[measure]) + 0.0
    return f"{value:g}" if measure in COUNTS else f"{value:.{DIGITS[measure]}f}"
