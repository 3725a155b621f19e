"""Random rules of each kind that given labels obey, and ways to make rules contradictory.

Every function takes the generator, the labels, the number of clusters and the variance of the
data, and returns a rule or None.  With ``loose`` the rule need not be obeyed by the labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .rules import Rule, exact


def number(value: Fraction) -> float:
    """The float whose ``repr`` shows the value, if it has at most 15 digits."""
    return float(value)


def _pairs(rng: Any, labels: list[int], together: bool | None, count: int) -> list[list[int]]:
    n = len(labels)
    found = []
    for _ in range(8 * count):
        i, j = (int(row) for row in rng.integers(n, size=2))
        if i != j and (together is None or (labels[i] == labels[j]) == together):
            found.append([i, j])
        if len(found) == count:
            break
    return found


def links(rng: Any, labels: list[int], k: int, scale: float, *, loose: bool, kind: str) -> Any:
    """Hard links."""
    count = int(rng.integers(1, max(2, len(labels))))
    pairs = _pairs(rng, labels, None if loose else kind == "MustLink", count)
    return {"kind": kind, "pairs": pairs, "weight": math.inf} if pairs else None


def must(rng: Any, labels: list[int], k: int, scale: float, *, loose: bool) -> Rule | None:
    """Hard must-links."""
    return links(rng, labels, k, scale, loose=loose, kind="MustLink")


def cannot(rng: Any, labels: list[int], k: int, scale: float, *, loose: bool) -> Rule | None:
    """Hard cannot-links."""
    return links(rng, labels, k, scale, loose=loose, kind="CannotLink")


def soft(rng: Any, labels: list[int], k: int, scale: float, *, loose: bool) -> Rule | None:
    """Soft links; sometimes some of them are hard."""
    kind = str(rng.choice(["MustLink", "CannotLink"]))
    pairs = _pairs(rng, labels, None, int(rng.integers(1, len(labels) + 2)))
    if not pairs:
        return None
    unit = 10.0 ** math.floor(math.log10(scale))
    draws = [float(f"{w:.2g}") for w in unit * rng.choice([0.1, 1, 3, 30], size=len(pairs))]
    weight: Any = draws if rng.uniform() < 0.6 else draws[0]
    if isinstance(weight, list) and rng.uniform() < 0.3:
        right = [(labels[i] == labels[j]) == (kind == "MustLink") for i, j in pairs]
        weight = [math.inf if r and w > unit else w for r, w in zip(right, weight, strict=True)]
    return {"kind": kind, "pairs": pairs, "weight": weight}


def sizes(rng: Any, labels: list[int], k: int, scale: float, *, loose: bool) -> Rule | None:
    """Exact sizes."""
    counts = np.bincount(labels, minlength=k)
    if loose:
        counts = rng.multinomial(len(labels), np.full(k, 1 / k))
    ordered = bool(rng.uniform() < 0.4)
    given = counts if ordered else rng.permutation(counts)
    return _sized(sizes=[int(c) for c in given], ordered=ordered)


def bounds(rng: Any, labels: list[int], k: int, scale: float, *, loose: bool) -> Rule | None:
    """Bounds on sizes: for all clusters or for each."""
    counts = np.bincount(labels, minlength=k)
    if loose:
        counts = rng.integers(0, 2 + 2 * len(labels) // k, size=k)
    slack = int(rng.choice([0, 0, 1, 2]))
    low, high = np.maximum(counts - slack, 0), counts + slack
    if rng.uniform() < 0.5:
        order = np.arange(k)
        ordered = bool(rng.uniform() < 0.5)
        if not ordered:
            order = rng.permutation(k)
        low, high = ([int(c) for c in side[order]] for side in (low, high))
    else:
        ordered, low, high = bool(rng.uniform() < 0.3), int(low.min()), int(high.max())
    side = rng.uniform()
    return _sized(
        minimum=low if side < 0.7 else None,
        maximum=high if side > 0.3 else None,
        ordered=ordered,
    )


def _sized(**given: Any) -> Rule:
    empty = {"sizes": None, "minimum": None, "maximum": None, "ordered": False}
    return {"kind": "ClusterSizes", **empty, **given}


def _values(rng: Any, n: int) -> list[Any]:
    kind = rng.choice(["int", "tenths", "cents", "signed", "bool", "zeros", "mixed"], p=P_VALUES)
    if kind == "bool":
        return [bool(b) for b in rng.uniform(size=n) < 0.4]
    whole = rng.integers(1, 30, size=n)
    if kind == "signed":
        whole = rng.integers(-15, 16, size=n)
    elif kind == "zeros":
        whole[rng.uniform(size=n) < 0.6] = 0
    digits = {"tenths": -1, "cents": -2, "signed": -1}.get(str(kind), 0)
    power = int(rng.integers(-20, 16)) if rng.uniform() < 0.15 else 0
    far = 6 * (rng.uniform(size=n) < 0.3) if kind == "mixed" else np.zeros(n, dtype=int)
    if kind == "int" and not power:
        return [int(w) for w in whole]
    return [float(f"{w}e{digits + power + f}") for w, f in zip(whole, far, strict=True)]


P_VALUES = [0.3, 0.2, 0.15, 0.15, 0.08, 0.09, 0.03]


def totals(rng: Any, labels: list[int], k: int, scale: float, *, loose: bool) -> Rule | None:
    """Bounds on totals: tight or slack, for all clusters or for each."""
    values = _values(rng, len(labels))
    sums = [
        sum((exact(v) for v, own in zip(values, labels, strict=True) if own == j), Fraction(0))
        for j in range(k)
    ]
    room = abs(sum(sums, Fraction(0))) / k * Fraction(int(rng.choice([0, 0, 1, 3])), 10)
    low: Any = [number(s - room) for s in sums]
    high: Any = [number(s + room) for s in sums]
    if loose:
        high = [number(sum(sums, Fraction(0)) / k * Fraction(int(rng.integers(8, 14)), 10))] * k
        low = [-math.inf] * k
    elif rng.uniform() < 0.6:
        low, high = min(low), max(high)
    side = rng.uniform()
    minimum = None if loose or side > 0.65 else low
    maximum = high if loose or side > 0.3 else None
    return {"kind": "ClusterTotals", "values": values, "minimum": minimum, "maximum": maximum}


def shares(rng: Any, labels: list[int], k: int, scale: float, *, loose: bool) -> Rule | None:
    """Bounds on shares: of all groups or of some."""
    pool = [["f", "m"], ["a", "b", "c"], [0, 1], [True, False]][int(rng.integers(4))]
    groups = [pool[int(g)] for g in rng.integers(len(pool), size=len(labels))]
    present = sorted(set(groups), key=str)
    least, most = {}, {}
    for group in present:
        inside = [
            Fraction(sum(g == group for g in own), len(own))
            for j in range(k)
            if (own := [g for g, label in zip(groups, labels, strict=True) if label == j])
        ]
        least[group], most[group] = _below(min(inside)), _above(max(inside))
    if loose:
        least = dict.fromkeys(present, float(rng.choice([0.2, 0.3, 0.5])))
        most = dict.fromkeys(present, float(rng.choice([0.5, 0.6, 0.8])))
    minimum: Any = least
    maximum: Any = most
    if rng.uniform() < 0.3:
        minimum, maximum = min(least.values()), max(most.values())
    elif rng.uniform() < 0.5:
        one = present[int(rng.integers(len(present)))]
        minimum, maximum = {one: least[one]}, {one: most[one]}
    side = rng.uniform()
    return {
        "kind": "GroupShares",
        "groups": groups,
        "minimum": minimum if side < 0.7 else None,
        "maximum": maximum if side > 0.4 else None,
    }


def _below(share: Fraction) -> float:
    """The share itself if it is a short decimal or a third, or less."""
    return float(share) if share.denominator in (1, 2, 3, 4, 5, 10) else int(share * 100) / 100


def _above(share: Fraction) -> float:
    short = share.denominator in (1, 2, 3, 4, 5, 10)
    return float(share) if short else math.ceil(share * 100) / 100


def pins(rng: Any, labels: list[int], k: int, scale: float, *, loose: bool) -> Rule | None:
    """Known clusters of some rows."""
    n = len(labels)
    rows = sorted(int(i) for i in rng.choice(n, size=int(rng.integers(1, n + 1)), replace=False))
    return {"kind": "Pin", "rows": rows, "clusters": [int(labels[i]) for i in rows]}


def linear(rng: Any, labels: list[int], k: int, scale: float, *, loose: bool) -> Rule | None:
    """One to three rows on the assignment, tight, slack or equalities."""
    n, count = len(labels), int(rng.integers(1, 4))
    row, column, value, lower, upper = [], [], [], [], []
    for r in range(count):
        power = int(rng.integers(-12, 16)) if rng.uniform() < 0.25 else 0
        digits = int(rng.choice([0, -1, -2]))
        picked = rng.choice(n * k, size=int(rng.integers(1, n * k + 1)), replace=False)
        total = Fraction(0)
        for c in sorted(int(c) for c in picked):
            v = float(f"{int(rng.integers(-9, 10))}e{digits + power}")
            row, column, value = [*row, r], [*column, c], [*value, v]
            total += exact(v) * (labels[c // k] == c % k)
        room = Fraction(f"{int(rng.choice([0, 0, 2, 9]))}e{digits + power}")
        side = rng.uniform()
        lower.append(number(total - room) if side < 0.6 else -math.inf)
        upper.append(number(total + room) if side > 0.4 else math.inf)
    shape = [count, n * k]
    return {
        "kind": "LinearConstraint",
        "shape": shape,
        "row": row,
        "column": column,
        "value": value,
        "lower": lower,
        "upper": upper,
    }


KINDS: dict[str, Callable[..., Rule | None]] = {
    "must": must,
    "cannot": cannot,
    "soft": soft,
    "sizes": sizes,
    "bounds": bounds,
    "totals": totals,
    "shares": shares,
    "pins": pins,
    "linear": linear,
}


def spoil(rng: Any, rules: list[Rule], labels: list[int], k: int) -> None:
    """Change a rule, or add one, so that the labels break it; others may still obey all."""
    rule = rules[int(rng.integers(len(rules)))]
    kind = rule["kind"]
    if kind.endswith("Link") and rule["weight"] == math.inf:
        other = "CannotLink" if kind == "MustLink" else "MustLink"
        rules.append({"kind": other, "pairs": rule["pairs"][:2], "weight": math.inf})
    elif kind == "Pin":
        position = int(rng.integers(len(rule["rows"])))
        rule["clusters"][position] = (rule["clusters"][position] + 1) % k
    elif kind == "ClusterTotals":
        _tighten(rule, "minimum", 0.8, rng)
    elif kind == "LinearConstraint":
        _tighten(rule, "lower", 1.0, rng)
    elif kind == "GroupShares":
        rule["minimum"], rule["maximum"] = float(rng.choice([0.4, 0.5, 0.6])), None
    else:
        wrong = [(j + int(rng.uniform() < 0.4)) % k for j in labels]
        rules.append(
            KINDS[str(rng.choice(["must", "cannot", "sizes", "pins"]))](
                rng, wrong, k, 1.0, loose=False
            )
            or {"kind": "Pin", "rows": [0], "clusters": [wrong[0]]}
        )


def _tighten(rule: Rule, side: str, factor: float, rng: Any) -> None:
    """Raise a lower bound to a random sum of the rule's own numbers."""
    numbers = [exact(v) for v in rule.get("values", rule.get("value"))]
    picked = rng.uniform(size=len(numbers)) < factor / 2
    total = number(sum((v for v, p in zip(numbers, picked, strict=True) if p), Fraction(0)))
    if side == "minimum":
        rule["minimum"] = total
        high = rule["maximum"]
        most = high if not isinstance(high, list) else min(high)
        if most is not None and most < total:
            rule["maximum"] = None
    else:
        rule["lower"][0] = total
        rule["upper"][0] = max(rule["upper"][0], total)
