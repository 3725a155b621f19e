"""Tables of a report, as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..constraints import Constraint
from ..plots.measures import Measure, measure_sizes, measure_totals
from .view import View

if TYPE_CHECKING:
    from ..audit import Report

#: Broken rules told one by one for each constraint; the rest are counted.
MOST_MESSAGES = 20


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table whose columns sort when their heads are clicked; numbers sort as numbers."""
    heads = "".join(
        f'<th scope="col"><button type="button">{escape(cell)}</button></th>' for cell in head
    )
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f"<section><h2>{escape(title)}</h2>\n<table>\n<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table></section>"
    )


def clusters_table(report: Report) -> str:
    """Size of each cluster and what is allowed."""
    measure = measure_sizes(report.sizes, _rules(report))
    total = max(sum(report.sizes), 1)
    rows = [
        (j, size, f"{size / total:.1%}", _allowed(measure, j), _verdict(measure, j))
        for j, size in enumerate(report.sizes)
    ]
    return table("Clusters", ("cluster", "points", "share", "allowed", "verdict"), rows)


def constraints_table(report: Report, names: Sequence[Any] | None) -> str:
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
        for number, entry in enumerate(report.entries)
    ]
    head = ("no.", "kind", "constraint", "rule", "broken", "amount", "soft cost")
    return table("Constraints", head, rows)


def totals_table(report: Report, view: View | None) -> str:
    """Totals and shares of each cluster, if any are bounded."""
    if view is None:
        return ""
    rows = [
        (measure.title, j, float(value), _allowed(measure, j), _verdict(measure, j))
        for measure in measure_totals(view.labels, _rules(report), len(report.sizes))
        for j, value in enumerate(measure.values)
    ]
    head = ("rule", "cluster", "value", "allowed", "verdict")
    return table("Totals and shares", head, rows) if rows else ""


def complaints(report: Report, names: Sequence[Any] | None) -> str:
    """What is broken, in words."""
    lines = [
        line
        for entry in report.entries
        for line in entry.violations.messages(limit=MOST_MESSAGES, names=names)
    ]
    if not lines:
        return ""
    items = "\n".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<section><h2>What is broken</h2>\n<ul>\n{items}\n</ul></section>"


def summary(report: Report, n_iterations: int | None) -> str:
    """The verdict, and the numbers that matter most."""
    hard = sum(entry.hard_count for entry in report.broken)
    verdict = "every hard rule is obeyed" if report.feasible else f"hard rules broken: {hard}"
    facts = {
        "points": sum(report.sizes),
        "clusters": len(report.sizes),
        "inertia": report.inertia,
        "soft cost": report.soft_cost or None,
        "objective": report.objective if report.soft_cost else None,
        "iterations": n_iterations,
    }
    cards = "".join(
        f"<div><dt>{name}</dt><dd>{number(value)}</dd></div>"
        for name, value in facts.items()
        if value is not None
    )
    kind = "good" if report.feasible else "bad"
    return f'<p class="verdict {kind}">{verdict}</p>\n<dl>{cards}</dl>'


def number(value: Any) -> str:
    """Few digits for floats, all for integers."""
    if isinstance(value, (int, np.integer)):
        return str(value)
    return "-" if math.isnan(value) else f"{value:.6g}"


def _cell(value: Any) -> str:
    if isinstance(value, (int, float, np.number)):
        return f'<td class="number" data-value="{float(value)!r}">{number(value)}</td>'
    kind = f' class="{value}"' if value in ("ok", "broken") else ""
    return f"<td{kind}>{escape(str(value))}</td>"


def _allowed(measure: Measure, j: int) -> str:
    low, high = float(measure.lower[j]), float(measure.upper[j])
    if low == high:
        return f"exactly {low:g}"
    parts = [
        f"{word} {bound:g}"
        for word, bound in (("at least", low), ("at most", high))
        if math.isfinite(bound)
    ]
    return ", ".join(parts) or "any"


def _verdict(measure: Measure, j: int) -> str:
    return "broken" if measure.broken[j] else "ok"


def _rules(report: Report) -> list[Constraint]:
    return [entry.constraint for entry in report.entries]
