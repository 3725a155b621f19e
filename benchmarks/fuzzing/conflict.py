"""Is a reported conflict part of the rules, contradictory, and without a part to spare?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .model import satisfiable
from .rules import LOOSE, SURE, Rule, each, share_bounds, source, terms


def reduced(rule: Rule) -> Iterator[Rule | None]:
    """The rule without one of its parts: a pair, a pin, a row, a side, or a group's bound."""
    kind = rule["kind"]
    if kind.endswith("Link"):
        weights = each(rule["weight"], len(rule["pairs"]))
        for at in range(len(rule["pairs"])):
            yield _cut(rule, at, pairs=rule["pairs"], weight=weights)
    elif kind == "Pin":
        for at in range(len(rule["rows"])):
            yield _cut(rule, at, rows=rule["rows"], clusters=rule["clusters"])
    elif kind == "LinearConstraint":
        yield from _rows(rule)
    elif kind == "GroupShares":
        yield from _groups(rule)
    elif rule["minimum"] is None or rule["maximum"] is None or _equal(rule):
        yield None
    else:
        yield {**rule, "minimum": None}
        yield {**rule, "maximum": None}


def _equal(rule: Rule) -> bool:
    """Whether minimum and maximum are one exact bound."""
    low, high = rule["minimum"], rule["maximum"]
    length = max(len(side) if isinstance(side, list) else 1 for side in (low, high))
    return bool(each(low, length) == each(high, length))


def _cut(rule: Rule, at: int, **fields: list[Any]) -> Rule | None:
    left = {name: [*values[:at], *values[at + 1 :]] for name, values in fields.items()}
    return {**rule, **left} if all(left.values()) else None


def _rows(rule: Rule) -> Iterator[Rule | None]:
    count = rule["shape"][0]
    lower = [-float("inf") if v == "-inf" else v for v in each(rule["lower"], count)]
    upper = [float("inf") if v == "inf" else v for v in each(rule["upper"], count)]
    for r in range(count):
        sides = [s for s, v in (("lower", lower[r]), ("upper", upper[r])) if abs(v) != float("inf")]
        if len(sides) == 2 and lower[r] != upper[r]:
            yield {**rule, "lower": [*lower[:r], -float("inf"), *lower[r + 1 :]], "upper": upper}
            yield {**rule, "lower": lower, "upper": [*upper[:r], float("inf"), *upper[r + 1 :]]}
        elif count == 1:
            yield None
        else:
            yield {
                **rule,
                "lower": [*lower[:r], -float("inf"), *lower[r + 1 :]],
                "upper": [*upper[:r], float("inf"), *upper[r + 1 :]],
            }


def _groups(rule: Rule) -> Iterator[Rule | None]:
    bounds = {side: share_bounds(rule, side) for side in ("minimum", "maximum")}
    for side, given in bounds.items():
        for group in given:
            left = {key: share for key, share in given.items() if key != group}
            other = {**bounds, side: left}
            yield {**rule, **other} if any(other.values()) else None


def complaints(
    conflict: list[Rule], rules: list[Rule], n: int, k: int
) -> Iterator[tuple[str, str]]:
    """What is wrong with the conflict: the kind of failure and a sentence."""
    if not conflict:
        yield "conflict is empty", ""
        return
    foreign = [rule for rule in conflict if not _part(rule, rules)]
    if foreign:
        yield "conflict is not part of the rules", f"{foreign[0]}"
    if satisfiable(terms(conflict, n, k), n, k, SURE):
        yield "conflict can be obeyed", "; ".join(map(str, conflict))
        return
    for at, rule in enumerate(conflict):
        for less in reduced(rule):
            rest = [*conflict[:at], *([less] if less else []), *conflict[at + 1 :]]
            if satisfiable(terms(rest, n, k), n, k, LOOSE) is False:
                yield (
                    f"conflict is reducible: {rule['kind']}",
                    f"{brief(rule)} is not needed whole; enough: {[brief(r) for r in rest]}",
                )
                return


def _part(rule: Rule, rules: list[Rule]) -> bool:
    """Whether the user gave this rule, or one of which it is a part."""
    same = [own for own in rules if own["kind"] == rule["kind"]]
    if rule["kind"].endswith("Link"):
        given = {frozenset(pair) for own in same for pair in own["pairs"]}
        return all(frozenset(pair) in given for pair in rule["pairs"])
    if rule["kind"] == "Pin":
        pins = {pin for own in same for pin in zip(own["rows"], own["clusters"], strict=True)}
        return set(zip(rule["rows"], rule["clusters"], strict=True)) <= pins
    return bool(same)


def brief(rule: Rule) -> str:
    """The rule as Python, cut short."""
    text = source(rule)
    return text if len(text) < 300 else text[:300] + "..."
