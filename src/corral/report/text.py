"""A report as lines of text."""

from __future__ import annotations

from .._text import in_digits
from ..audit import UNITS, Entry, Findings
from ..constraints import Constraint


def summary(findings: Findings) -> list[str]:
    """The verdict, inertia, price of soft rules and sizes, one a line."""
    hard = sum(entry.hard_count for entry in findings.broken)
    broken = "1 hard rule is broken" if hard == 1 else f"{hard} hard rules are broken"
    verdict = "every hard rule is obeyed" if findings.feasible else broken
    lines = [
        f"{in_digits(sum(findings.sizes))} points in {len(findings.sizes)} clusters: {verdict}",
        f"inertia  {in_digits(findings.inertia)} {UNITS.get(findings.metric, '')}".rstrip(),
        f"sizes    {' '.join(map(str, findings.sizes))}",
    ]
    if findings.soft_cost:
        lines.insert(2, f"soft     {in_digits(findings.soft_cost)} for broken soft rules")
    if findings.outside:
        lines.append(f"outside  {findings.outside} rules name other rows and do not apply")
    return lines


def table(entries: tuple[Entry, ...]) -> list[str]:
    """Aligned lines, one for each constraint: words to the left, numbers to the right."""
    if not entries:
        return ["no constraints"]
    head = ("constraint", "rule", "broken", "amount")
    rows = []
    for entry in entries:
        count, amount = f"{entry.violations.count}", in_digits(entry.violations.amount)
        rows.append((repr(entry.constraint), _hardness(entry.constraint), count, amount))
    wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        f"{words:<{wide[0]}}  {rule:<{wide[1]}}  {broken:>{wide[2]}}  {amount:>{wide[3]}}"
        for words, rule, broken, amount in (head, *rows)
    ]


def prices(entries: tuple[Entry, ...]) -> list[str]:
    """One line for each soft rule that cost something: units outside, and their price."""
    return [
        f"{entry.constraint!r}: {in_digits(entry.violations.units)} outside, "
        f"price {in_digits(entry.soft_cost)}"
        for entry in entries
        if entry.soft_cost and entry.violations.units is not None
    ]


def _hardness(constraint: Constraint) -> str:
    """Whether its rules are hard, soft, or some of each."""
    parts = [name for name in ("hard", "soft") if constraint.part(hard=name == "hard") is not None]
    return "/".join(parts) or "none"
