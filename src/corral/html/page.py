"""The report put together: a whole page, or a part of one for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from .pictures import pictures
from .tables import clusters_table, complaints, constraints_table, summary, totals_table
from .view import View

if TYPE_CHECKING:
    from ..admm.history import History
    from ..audit import Report

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<main class="corral-report">
<h1>{title}</h1>
{content}
</main>
<script>
{script}</script>
</body>
</html>
"""


def to_page(
    report: Report,
    view: View | None = None,
    history: History | None = None,
    *,
    title: str = "corral report",
    names: Sequence[Any] | None = None,
) -> str:
    """Give one self-contained HTML page: tables that sort, and pictures if matplotlib is there.

    Parameters
    ----------
    report : Report
    view : View, optional
        For the pictures of the points and of totals.
    history : History, optional
        For the pictures of the convergence.
    title : str
    names : sequence, optional
        What to call the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from corral import MustLink, audit
    >>> from corral.html import to_page
    >>> report = audit(np.array([[0.0], [1.0]]), [0, 1], [MustLink([(0, 1)])], n_clusters=2)
    >>> page = to_page(report, title="two points")
    >>> "<title>two points</title>" in page, "samples 0 and 1 must be together" in page
    (True, True)
    """
    content = [
        _numbers(report, view, history, names),
        pictures(report, view, history),
    ]
    return PAGE.format(
        title=escape(title),
        style=_asset("report.css"),
        script=_asset("report.js"),
        content="\n".join(content),
    )


def to_fragment(
    report: Report,
    view: View | None = None,
    history: History | None = None,
    *,
    names: Sequence[Any] | None = None,
) -> str:
    """Give the tables alone, styled, as a notebook shows them.

    Parameters
    ----------
    report : Report
    view : View, optional
    history : History, optional
    names : sequence, optional
        What to call the rows.
    """
    numbers = _numbers(report, view, history, names)
    return (
        f'<style>\n{_asset("report.css")}</style>\n<div class="corral-report">\n{numbers}\n</div>'
    )


def _numbers(
    report: Report, view: View | None, history: History | None, names: Sequence[Any] | None
) -> str:
    parts = [
        summary(report, None if history is None else len(history)),
        constraints_table(report, names) if report.entries else "",
        complaints(report, names),
        clusters_table(report),
        totals_table(report, view),
    ]
    return "\n".join(filter(None, parts))


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
