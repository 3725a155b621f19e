"""Rules as plain dictionaries, and what they mean in exact arithmetic.

A dictionary has the fields of ``Constraint.to_dict``.  So the rules of an instance and those of a
reported conflict have the same form.  Each number means the decimal number that its ``repr``
shows: 0.1 is 1/10.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

#: A rule: "kind" and the fields of that kind.
Rule = dict[str, Any]

#: Documented tolerance of totals, as a share of the sum of magnitudes of their values.  Beyond
#: it, labels break a bound.  The same is expected of shares and linear rows.
LOOSE = Fraction(1001, 10**12)

#: Labels that miss a bound by less than this share must be accepted.  It covers numbers such as
#: 1/3, which floats do not hold exactly.  Between the two, either answer is right.
SURE = Fraction(1, 10**12)

#: Documented largest tolerance of sums of whole numbers below 2^53, which are exact.
WHOLE = Fraction(1, 4)


@dataclass(frozen=True)
class Pair:
    """Rows i and j together or apart; ``price`` is None if the pair is hard."""

    i: int
    j: int
    together: bool
    price: Fraction | None = None


@dataclass(frozen=True)
class Row:
    """``low <= sum of coefficient over the chosen (row, cluster) <= high``."""

    coefficients: dict[tuple[int, int], Fraction]
    low: Fraction | None
    high: Fraction | None
    magnitude: Fraction = Fraction(0)

    def bounds(self, tolerance: Fraction) -> tuple[Fraction | None, Fraction | None]:
        """Both bounds, widened by a share of the magnitude."""
        slack = tolerance * self.magnitude
        if self.magnitude < 2**53 and all(c.denominator == 1 for c in self.coefficients.values()):
            slack = min(slack, WHOLE)
        return (
            None if self.low is None else self.low - slack,
            None if self.high is None else self.high + slack,
        )


@dataclass(frozen=True)
class Match:
    """Each cluster's size obeys one of the entries (low, high), each entry used once."""

    entries: tuple[tuple[int, int], ...]


Term = Pair | Row | Match


def exact(number: Any) -> Fraction:
    """The decimal number that was written."""
    if isinstance(number, float | np.floating):
        return Fraction(repr(float(number)))
    return Fraction(int(number))


def bound(value: Any) -> Fraction | None:
    """A bound; None if it has no effect."""
    if value is None or (not isinstance(value, str) and math.isinf(value)):
        return None
    return None if isinstance(value, str) else exact(value)


def each(value: Any, count: int) -> list[Any]:
    """One value for all, or a list of them, as a list."""
    return list(value) if isinstance(value, list | tuple) else [value] * count


def terms(rules: list[Rule], n: int, k: int) -> list[Term]:
    """Everything that the rules ask for."""
    return [term for rule in rules for term in MEANING[rule["kind"]](rule, n, k)]


def _links(rule: Rule, n: int, k: int) -> Iterator[Term]:
    weights = each(rule["weight"], len(rule["pairs"]))
    for (i, j), weight in zip(rule["pairs"], weights, strict=True):
        hard = weight == "inf" or weight == math.inf
        yield Pair(i, j, rule["kind"] == "MustLink", None if hard else exact(weight))


def _pins(rule: Rule, n: int, k: int) -> Iterator[Term]:
    for i, j in zip(rule["rows"], rule["clusters"], strict=True):
        yield Row({(i, j): Fraction(1)}, Fraction(1), Fraction(1))


def _sizes(rule: Rule, n: int, k: int) -> Iterator[Term]:
    if rule["sizes"] is not None:
        low = high = list(rule["sizes"])
    else:
        low = each(0 if rule["minimum"] is None else rule["minimum"], k)
        high = each(n if rule["maximum"] is None else rule["maximum"], k)
    if rule["ordered"] or (len(set(low)) == 1 and len(set(high)) == 1):
        for j in range(k):
            ones = {(i, j): Fraction(1) for i in range(n)}
            yield Row(ones, Fraction(int(low[j])), Fraction(int(high[j])))
    else:
        yield Match(tuple((int(a), int(b)) for a, b in zip(low, high, strict=True)))


def _totals(rule: Rule, n: int, k: int) -> Iterator[Term]:
    values = [exact(value) for value in rule["values"]]
    magnitude = sum(map(abs, values), Fraction(0))
    low, high = each(rule["minimum"], k), each(rule["maximum"], k)
    for j in range(k):
        yield Row(
            {(i, j): value for i, value in enumerate(values)},
            bound(low[j]),
            bound(high[j]),
            magnitude,
        )


def share_bounds(rule: Rule, side: str) -> dict[Any, Any]:
    """The bound of each group that has one."""
    given = rule[side]
    if given is None:
        return {}
    if isinstance(given, dict):
        return given
    if isinstance(given, list):
        return dict(given)
    return dict.fromkeys(rule["groups"], given)


def _shares(rule: Rule, n: int, k: int) -> Iterator[Term]:
    for side in ("minimum", "maximum"):
        for group, share in share_bounds(rule, side).items():
            values = [int(own == group) - exact(share) for own in rule["groups"]]
            low, high = (Fraction(0), None) if side == "minimum" else (None, Fraction(0))
            magnitude = sum(map(abs, values), Fraction(0))
            for j in range(k):
                yield Row({(i, j): v for i, v in enumerate(values)}, low, high, magnitude)


def _linear(rule: Rule, n: int, k: int) -> Iterator[Term]:
    count = rule["shape"][0]
    low, high = each(rule["lower"], count), each(rule["upper"], count)
    for r in range(count):
        entries = {
            divmod(column, k): exact(value)
            for row, column, value in zip(rule["row"], rule["column"], rule["value"], strict=True)
            if row == r
        }
        magnitude = sum(map(abs, entries.values()), Fraction(0))
        yield Row(entries, bound(low[r]), bound(high[r]), magnitude)


MEANING = {
    "MustLink": _links,
    "CannotLink": _links,
    "Pin": _pins,
    "ClusterSizes": _sizes,
    "ClusterTotals": _totals,
    "GroupShares": _shares,
    "LinearConstraint": _linear,
}


def source(rule: Rule, names: list[str] | None = None) -> str:
    """The Python expression that makes the constraint; ``names`` are those of the rows."""
    kind = rule["kind"]
    index = "" if names is None else f", index={names}"
    called = (lambda i: i) if names is None else (lambda i: names[i])
    if kind in ("MustLink", "CannotLink"):
        pairs = [(called(i), called(j)) for i, j in rule["pairs"]]
        weight = "" if rule["weight"] == math.inf else f", weight={rule['weight']}"
        return f"{kind}({pairs}{weight}{index})"
    if kind == "Pin":
        pins = {called(i): j for i, j in zip(rule["rows"], rule["clusters"], strict=True)}
        return f"Pin({pins}{index})"
    if kind == "LinearConstraint":
        entries = f"({rule['value']}, ({rule['row']}, {rule['column']}))"
        matrix = f"sparse.csr_array({entries}, shape={tuple(rule['shape'])})"
        return f"LinearConstraint({matrix}, lower={rule['lower']}, upper={rule['upper']})"
    first = {"ClusterSizes": "sizes", "ClusterTotals": "values", "GroupShares": "groups"}[kind]
    given = [str(rule[first])] if rule[first] is not None else []
    sides = {side: rule[side] for side in ("minimum", "maximum")}
    if kind == "GroupShares":
        sides = {s: dict(v) if isinstance(v, list) else v for s, v in sides.items()}
    given += [f"{side}={value}" for side, value in sides.items() if value not in (None, {})]
    given += ["ordered=True"] if rule.get("ordered") else []
    return f"{kind}({', '.join(given)})"


def build(rule: Rule, names: list[str] | None = None) -> Any:
    """The constraint of corral: the source, evaluated, so that a reproducer does the same."""
    from scipy import sparse

    import corral

    scope = {"np": np, "sparse": sparse, "inf": math.inf, rule["kind"]: None}
    scope[rule["kind"]] = getattr(corral, rule["kind"])
    return eval(source(rule, names), scope)
