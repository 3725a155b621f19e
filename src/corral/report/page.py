"""The report as HTML: tables, and the page that holds them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import Any

import numpy as np

from .._text import in_digits
from .._typing import IntArray
from ..audit import UNITS, Findings
from ..constraints import Constraint
from ..plots.bounds import Measure, measure_sizes, measure_totals

#: Broken rules that the page lists for each constraint; the others are only counted.
MOST_MESSAGES = 20

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


def to_page(content: str, title: str) -> str:
    """Put HTML into one page that needs no other file; a click on a column sorts its table."""
    return PAGE.format(
        title=escape(title), style=_asset("report.css"), script=_asset("report.js"), content=content
    )


def to_fragment(content: str) -> str:
    """Put HTML into a part of a page, with its styles, as a notebook shows it."""
    style = _asset("report.css")
    return f'<style>\n{style}</style>\n<div class="corral-report">\n{content}\n</div>'


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def to_tables(
    findings: Findings,
    labels: IntArray | None,
    *,
    names: Sequence[Any] | None = None,
    n_iterations: int | None = None,
    plan: Sequence[tuple[str, str]] | None = None,
    proof: str = "",
) -> str:
    """Give the summary, the tables, what is broken and how it was solved.

    Totals and shares need the labels.  Rows are called by their names.  The plan, pairs of decision
    and value, is in a section that opens on a click.
    """
    rules = [entry.constraint for entry in findings.entries]
    how = "<details><summary>How it was solved</summary>\n{}</details>"
    parts = [
        _summary(findings, n_iterations),
        f"<p>The answer is {escape(proof)}.</p>" if proof else "",
        _constraints(findings, names) if findings.entries else "",
        _broken(findings, names),
        _clusters(findings.sizes, rules),
        "" if labels is None else _totals(labels, rules, len(findings.sizes)),
        "" if plan is None else how.format(_table(("decision", "value"), plan)),
    ]
    return "\n".join(filter(None, parts))


def _summary(findings: Findings, n_iterations: int | None) -> str:
    """The verdict, and the numbers that matter most."""
    hard = sum(entry.hard_count for entry in findings.broken)
    verdict = "every hard rule is obeyed" if findings.feasible else f"hard rules broken: {hard}"
    facts = {
        "points": sum(findings.sizes),
        "clusters": len(findings.sizes),
        f"inertia {UNITS.get(findings.metric, '')}".rstrip(): findings.inertia,
        "soft cost": findings.soft_cost or None,
        "objective": findings.objective if findings.soft_cost else None,
        "rules of other rows": findings.outside or None,
        "iterations": n_iterations,
    }
    # Notebooks have styles of their own for lists, but none for plain divisions.
    cards = "".join(
        f'<div><div class="name">{name}</div><div class="value">{in_digits(value)}</div></div>'
        for name, value in facts.items()
        if value is not None
    )
    kind = "good" if findings.feasible else "bad"
    return f'<p class="verdict {kind}">{verdict}</p>\n<div class="cards">{cards}</div>'


def _constraints(findings: Findings, names: Sequence[Any] | None) -> str:
    """Each constraint and how much of it is broken."""
    rows = [
        (
            number,
            type(entry.constraint).__name__,
            entry.constraint.phrase(names),
            "hard" if entry.constraint.hard else "soft",
            entry.violations.count,
            float(entry.violations.amount),
            entry.soft_cost,
        )
        for number, entry in enumerate(findings.entries)
    ]
    head = ("no.", "kind", "constraint", "rule", "broken", "amount", "soft cost")
    return _section("Constraints", _table(head, rows))


def _broken(findings: Findings, names: Sequence[Any] | None) -> str:
    """What is broken, one sentence a rule."""
    lines = [
        line
        for entry in findings.entries
        for line in entry.violations.messages(limit=MOST_MESSAGES, names=names)
    ]
    items = "\n".join(f"<li>{escape(line)}</li>" for line in lines)
    return _section("What is broken", f"<ul>\n{items}\n</ul>") if lines else ""


def _clusters(sizes: Sequence[int], rules: list[Constraint]) -> str:
    """Size of each cluster and what is allowed."""
    measure = measure_sizes(sizes, rules)
    total = max(sum(sizes), 1)
    rows = [(j, size, f"{size / total:.1%}", *_judged(measure, j)) for j, size in enumerate(sizes)]
    head = ("cluster", "points", "share", "allowed", "verdict")
    return _section("Clusters", _table(head, rows))


def _totals(labels: IntArray, rules: list[Constraint], n_clusters: int) -> str:
    """Totals and shares of each cluster, if any are bounded."""
    rows = [
        (measure.title, j, float(value), *_judged(measure, j))
        for measure in measure_totals(labels, rules, n_clusters)
        for j, value in enumerate(measure.values)
    ]
    head = ("rule", "cluster", "value", "allowed", "verdict")
    return _section("Totals and shares", _table(head, rows)) if rows else ""


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{content}</section>"


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a button at the head of each column; numbers sort as numbers."""
    column = '<th scope="col"><button type="button">{}</button></th>'
    heads = "".join(column.format(escape(cell)) for cell in head)
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _cell(value: Any) -> str:
    if isinstance(value, (int, float, np.number)):
        return f'<td class="number" data-value="{float(value)!r}">{in_digits(value)}</td>'
    kind = f' class="{value}"' if value in ("ok", "broken") else ""
    return f"<td{kind}>{escape(str(value))}</td>"


def _judged(measure: Measure, j: int) -> tuple[str, str]:
    """What is allowed in cluster j, and the verdict."""
    low, high = float(measure.lower[j]), float(measure.upper[j])
    bounds = (("at least", low), ("at most", high)) if low != high else (("exactly", low),)
    allowed = ", ".join(
        f"{word} {in_digits(bound)}" for word, bound in bounds if math.isfinite(bound)
    )
    return allowed or "any", "broken" if measure.broken[j] else "ok"
