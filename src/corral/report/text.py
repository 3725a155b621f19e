"""The report as text, for terminals, and what rules cost: the objective without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._text import in_digits
from ..audit import Entry, Findings
from ..constraints import CannotLink, Constraint, MustLink, Pin
from ..constraints._checks import plural
from ..constraints.clusters import Called, cluster_name


@dataclass(frozen=True)
class Prices:
    """The objective of an answer, and what it would be without each rule and without all.

    Attributes
    ----------
    objective : float
        That of the answer: its inertia, and the price of the soft rules that it breaks.
    without : tuple of float or None
        Objective without each constraint, in their order; None where the time was over.
    free : float or None
        Objective without any rule: that of k-means.
    moved : int or None
        Rows that are in another cluster without any rule.  Clusters are matched so that the number
        is smallest.
    n_rows : int

    Examples
    --------
    >>> prices = Prices(10.0, (7.5, None), 6.0, 3, 12)
    >>> prices.price(0), prices.price(1)
    (2.5, None)
    >>> print(prices)
    without rules 6, 40% less; 3 of 12 rows would be in another cluster
    """

    objective: float
    without: tuple[float | None, ...]
    free: float | None
    moved: int | None
    n_rows: int

    def price(self, rule: int) -> float | None:
        """How much the objective falls without a constraint; None if it is not known.

        The answer still obeys the other rules, so a price is never below 0.
        """
        found = self.without[rule]
        return None if found is None else max(self.objective - found, 0.0)

    def share(self, value: float | None) -> float | None:
        """A price as a part of the objective."""
        return None if value is None or not self.objective else value / self.objective

    def __str__(self) -> str:
        if self.free is None or self.moved is None:
            return "the time was over before k-means without rules was found"
        part = self.share(max(self.objective - self.free, 0.0)) or 0.0
        less = f", {part:.2g}" if part < 0.0005 else f", {100 * part:.3g}%"
        return (
            f"without rules {in_digits(self.free)}{less} less; {in_digits(self.moved)} of "
            f"{in_digits(self.n_rows)} rows would be in another cluster"
        )


#: Broken rules that the text lists for each constraint; the others are only counted.
MOST_MESSAGES = 3


def to_text(
    findings: Findings,
    known: Mapping[str, Any],
    prices: Prices | None,
    names: Sequence[Any] | None,
    summary: Sequence[str] | None = None,
) -> str:
    """The summary with what else is known, a line for each constraint, and what is broken.

    ``summary`` takes the place of inertia and sizes.
    """
    messages = [
        line
        for entry in findings.broken
        for line in entry.violations.messages(limit=MOST_MESSAGES, names=names)
    ]
    more = [f"{name:<7}  {value}" for name, value in known.items() if value]
    table, soft = _table(findings.entries, prices), _soft_prices(findings.entries)
    head = _summary(findings, names) if summary is None else list(summary)
    parts = [head + more, table, soft, messages]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _summary(findings: Findings, names: Sequence[Any] | None) -> list[str]:
    lines = [
        f"{in_digits(sum(findings.sizes))} points in {len(findings.sizes)} clusters: "
        f"{verdict(findings)}",
        f"inertia  {in_digits(findings.inertia)} {findings.unit}".rstrip(),
        f"sizes    {_sizes(findings.sizes, names)}",
    ]
    if findings.soft_cost:
        lines.insert(2, f"soft     {in_digits(findings.soft_cost)} for broken soft rules")
    if findings.outside:
        lines.append(f"outside  {findings.outside} rules name other rows and do not apply")
    return lines


def _sizes(sizes: Sequence[int], names: Sequence[Any] | None) -> str:
    """The sizes of the clusters, after their names if they have any."""
    if not isinstance(names, Called):
        return " ".join(map(str, sizes))
    return ", ".join(f"{cluster_name(j, names)} {size}" for j, size in enumerate(sizes))


def verdict(findings: Findings) -> str:
    """Whether the hard rules are obeyed."""
    hard = sum(entry.hard_count for entry in findings.broken)
    broken = "1 hard rule is broken" if hard == 1 else f"{hard} hard rules are broken"
    return "every hard rule is obeyed" if findings.feasible else broken


def _table(entries: tuple[Entry, ...], prices: Prices | None) -> list[str]:
    """Aligned lines, one for each constraint: words to the left, numbers to the right."""
    if not entries:
        return ["no constraints"]
    head = ["constraint", "rule", "broken", "amount"]
    rows = []
    for group in grouped(entries, prices):
        count = sum(entry.violations.count for entry in group)
        amount = in_digits(sum(entry.violations.amount for entry in group))
        rows.append([_called(group), _hardness(group[0].constraint), f"{count}", amount])
    if prices is not None:
        head.append("price")
        for number, row in enumerate(rows):
            price = prices.price(number)
            row.append("?" if price is None else in_digits(price, 4))
    wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        f"{words:<{wide[0]}}  {rule:<{wide[1]}}  "
        + "  ".join(f"{cell:>{w}}" for cell, w in zip(numbers, wide[2:], strict=True))
        for words, rule, *numbers in (head, *rows)
    ]


def grouped(entries: Sequence[Entry], prices: Prices | None) -> list[list[Entry]]:
    """The entries in their order, those of links and pins with all of their kind.

    A studio makes a rule of each answer, and nobody reads a line for each, unless each has a price.
    """
    if prices is not None:
        return [[entry] for entry in entries]
    made: dict[Any, list[Entry]] = {}
    for number, entry in enumerate(entries):
        rule = entry.constraint
        alike = isinstance(rule, (MustLink, CannotLink, Pin))
        made.setdefault((type(rule), _hardness(rule)) if alike else number, []).append(entry)
    return list(made.values())


def _called(group: Sequence[Entry]) -> str:
    """One constraint as it is written, several by their kind and number."""
    if len(group) == 1:
        return repr(group[0].constraint)
    return f"{type(group[0].constraint).__name__}: {parts_in(group)}"


def parts_in(group: Sequence[Entry]) -> str:
    """How many pairs, or pinned rows, rules of a kind have together."""
    noun = "row" if isinstance(group[0].constraint, Pin) else "pair"
    return plural(sum(entry.constraint.n_parts for entry in group), noun)


def _soft_prices(entries: tuple[Entry, ...]) -> list[str]:
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
