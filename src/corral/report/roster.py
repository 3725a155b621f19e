"""Rosters: the members of each cluster under its name, for the page and for paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from .._text import in_digits
from .._typing import IntArray
from ..constraints.clusters import ClusterNames

#: Rows up to which a page has rosters, and a printed one is short, unless all rows are asked for.
MOST_ROWS = 3_000
#: Rows up to which each name has a line of its own; those of more rows run on.
MOST_LINES = 400
#: Lines of a list that fit a column of a page; a longer list may break.
LONG = 50


def members(labels: IntArray, n_clusters: int, names: Sequence[Any] | None) -> list[list[str]]:
    """Names, or else numbers, of the rows of each cluster.

    Examples
    --------
    >>> import numpy as np
    >>> members(np.array([1, 0, 1]), 2, ["ann", "bob", "eve"])
    [['bob'], ['ann', 'eve']]
    """
    found: list[list[str]] = [[] for _ in range(n_clusters)]
    called = range(len(labels)) if names is None else names
    for row, label in enumerate(labels.tolist()):
        found[label].append(str(called[row]))
    return found


def to_roster(
    groups: Sequence[Sequence[str]], clusters: ClusterNames = None, word: str = "Cluster"
) -> str:
    """A list of names for each cluster; a short one prints without a break inside."""
    run_on = sum(map(len, groups)) > MOST_LINES
    kind = "rosters many" if run_on else "rosters"
    cards = "\n".join(_cards(groups, clusters, word, run_on))
    return f'<div class="{kind}">\n{cards}\n</div>'


def _cards(
    groups: Sequence[Sequence[str]], clusters: ClusterNames, word: str, run_on: bool
) -> Iterator[str]:
    from ..plots._style import colour

    for j, who in enumerate(groups):
        name = f"{word} {j}" if clusters is None else clusters[j]
        rows = f"{in_digits(len(who))} row{'s' * (len(who) != 1)}"
        chip = f'<span class="chip" style="background:{colour(j)}"></span>'
        items = "".join(f"<li>{escape(each)}</li>" for each in who)
        # A list that scrolls can be reached by the keyboard.
        reached = f' tabindex="0" aria-label="{escape(name)}: members"' if run_on else ""
        kind = "roster long" if len(who) > LONG else "roster"
        yield (
            f'<div class="{kind}"><h3>{chip}{escape(name)} <span class="note">{rows}</span></h3>'
            f"<ol{reached}>{items}</ol></div>"
        )
