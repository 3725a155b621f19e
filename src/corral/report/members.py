"""Who is in which cluster: a table with a search field and a download."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from .._text import in_digits
from .._typing import IntArray

#: Rows that stand in the table before anything is clicked, and in notebooks.
SHOWN = 30
#: Most rows that a page holds; more would make it slow to open.  The labels themselves hold all.
MOST_LISTED = 200_000

TOOLS = """<p class="tools"><label>Search <input type="search" placeholder="{hint}"></label>
<button type="button" class="download">Download CSV</button> <span class="count"></span></p>"""


def to_members(labels: IntArray, names: Sequence[Any] | None, *, interactive: bool) -> str:
    """The table of the rows; ``interactive`` adds what the page's script needs."""
    n = len(labels)
    called = range(n) if names is None else names
    rows = "\n".join(
        f"<tr><td>{escape(str(called[row]))}</td>{cluster_cell(int(labels[row]))}</tr>"
        for row in range(min(n, SHOWN))
    )
    parts = [
        "<table>\n<thead><tr><th>row</th><th>cluster</th></tr></thead>",
        f"<tbody>\n{rows}\n</tbody>\n</table>",
    ]
    listed = min(n, MOST_LISTED)
    if interactive:
        hint = "name of a row" if names is not None else "number of a row"
        parts.insert(0, TOOLS.format(hint=hint))
        parts.append('<p><button type="button" class="more" hidden>Show more</button></p>')
        values = {
            "labels": np.asarray(labels[:listed]).tolist(),
            "names": None if names is None else [str(name) for name in called[:listed]],
        }
        parts.append(f'<script type="application/json">{_safe_json(values)}</script>')
    shown = listed if interactive else min(n, SHOWN)
    if shown < n:
        parts.append(
            f'<p class="note">{in_digits(shown)} of {in_digits(n)} rows; labels_ has all.</p>'
        )
    return "\n".join(parts)


def cluster_cell(cluster: int) -> str:
    """The cell of a cluster's number, with its colour."""
    from ..plots._style import colour

    chip = f'<span class="chip" style="background:{colour(cluster)}"></span>'
    return f'<td class="number" data-value="{cluster}">{chip}{cluster}</td>'


def _safe_json(values: Any) -> str:
    """JSON that cannot end its script element."""
    return json.dumps(values, separators=(",", ":")).replace("<", "\\u003c")
