"""The report as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ..audit import Entry, Findings
from ..constraints import Constraint

#: Broken rules that the text lists for each constraint; the others are only counted.
MOST_MESSAGES = 3

UNKNOWN_PLAN = "The report was made from labels alone: it does not say how they were found."


class Decisions(Protocol):
    """How an answer was found: the decisions that the solver took."""

    def table(self) -> list[tuple[str, str]]:
        """Give pairs of decision and value, in plain words."""
        ...


def to_text(findings: Findings, names: Sequence[Any] | None) -> str:
    """Give a summary, a table of the constraints, and what is broken.

    Parameters
    ----------
    findings : Findings
    names : sequence or None
        What to call the rows.
    """
    messages = [
        line
        for entry in findings.broken
        for line in entry.violations.messages(limit=MOST_MESSAGES, names=names)
    ]
    parts = [_summary(findings), _table(findings.entries), messages]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def how_text(plan: Decisions | None) -> str:
    """Give the decisions in two aligned columns, or a sentence if there is no plan."""
    if plan is None:
        return UNKNOWN_PLAN
    rows = plan.table()
    wide = max((len(decision) for decision, _ in rows), default=0)
    return "\n".join(f"{decision:<{wide}}  {value}" for decision, value in rows)


def _summary(findings: Findings) -> list[str]:
    hard = sum(entry.hard_count for entry in findings.broken)
    broken = "1 hard rule is broken" if hard == 1 else f"{hard} hard rules are broken"
    verdict = "every hard rule is obeyed" if findings.feasible else broken
    lines = [
        f"{sum(findings.sizes)} points in {len(findings.sizes)} clusters: {verdict}",
        f"inertia  {findings.inertia:.6g}",
        f"sizes    {' '.join(map(str, findings.sizes))}",
    ]
    if findings.soft_cost:
        lines.insert(2, f"soft     {findings.soft_cost:.6g} for broken soft pairs")
    return lines


def _table(entries: tuple[Entry, ...]) -> list[str]:
    """Aligned lines, one for each constraint: words to the left, numbers to the right."""
    if not entries:
        return ["no constraints"]
    head = ("constraint", "rule", "broken", "amount")
    rows = [
        (
            repr(entry.constraint),
            _hardness(entry.constraint),
            str(entry.violations.count),
            f"{entry.violations.amount:g}",
        )
        for entry in entries
    ]
    wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        f"{words:<{wide[0]}}  {rule:<{wide[1]}}  {broken:>{wide[2]}}  {amount:>{wide[3]}}"
        for words, rule, broken, amount in (head, *rows)
    ]


def _hardness(constraint: Constraint) -> str:
    """Whether its rules are hard, soft, or some of each."""
    parts = [name for name in ("hard", "soft") if constraint.part(hard=name == "hard") is not None]
    return "/".join(parts) or "none"
