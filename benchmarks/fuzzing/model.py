"""Which labels obey the terms: a CP-SAT model, and for small instances all labels.

Sums are whole numbers: each row is multiplied by its common denominator.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from ortools.sat.python import cp_model
from scipy.optimize import linear_sum_assignment

from .rules import LOOSE, Match, Pair, Row, Term

#: Largest sum of magnitudes that CP-SAT and 64-bit integers take.
LARGEST = 2**61

#: Largest number of labellings that are enumerated.
MOST = 80_000


def whole(row: Row, tolerance: Fraction) -> tuple[dict[tuple[int, int], int], int, int]:
    """The row in whole numbers: coefficients, and bounds that are widened by the tolerance."""
    scale = math.lcm(*(value.denominator for value in row.coefficients.values()))
    scaled = {key: int(value * scale) for key, value in row.coefficients.items()}
    common = math.gcd(*scaled.values()) or 1
    scaled = {key: value // common for key, value in scaled.items()}
    reach = sum(map(abs, scaled.values())) + 1
    low, high = row.bounds(tolerance)
    least = -reach if low is None else math.ceil(low * scale / common)
    most = reach if high is None else math.floor(high * scale / common)
    return scaled, max(least, -reach), min(most, reach)


def broken(items: list[Term], labels: list[int], k: int, tolerance: Fraction = LOOSE) -> list[Term]:
    """The hard terms that the labels break."""
    return [item for item in items if not obeyed(item, labels, k, tolerance)]


def obeyed(item: Term, labels: list[int], k: int, tolerance: Fraction) -> bool:
    """Whether the labels obey one term; a soft pair is always obeyed."""
    if isinstance(item, Pair):
        return item.price is not None or (labels[item.i] == labels[item.j]) == item.together
    if isinstance(item, Match):
        return matches(item, np.bincount(labels, minlength=k))
    total = value(item, labels)
    low, high = item.bounds(tolerance)
    return (low is None or total >= low) and (high is None or total <= high)


def value(row: Row, labels: list[int]) -> Fraction:
    """The row's sum for these labels."""
    return sum((c for (i, j), c in row.coefficients.items() if labels[i] == j), Fraction(0))


def matches(match: Match, sizes: Any) -> bool:
    """Whether the sizes can be given to the entries one to one."""
    low, high = (np.array(side) for side in zip(*match.entries, strict=True))
    misfit = (sizes[:, None] < low) | (sizes[:, None] > high)
    return not misfit[linear_sum_assignment(misfit)].any()


def satisfiable(items: list[Term], n: int, k: int, tolerance: Fraction) -> bool | None:
    """Whether any labels obey the hard terms; None if the model cannot tell."""
    if k**n <= 5_000:
        return bool(obeying(items, n, k, tolerance).any())
    try:
        return solve(items, n, k, tolerance)
    except OverflowError:
        return bool(obeying(items, n, k, tolerance).any()) if k**n <= MOST else None


def solve(items: list[Term], n: int, k: int, tolerance: Fraction) -> bool | None:
    """Whether any labels obey the hard terms, by CP-SAT; OverflowError if numbers are too large."""
    model = cp_model.CpModel()
    x = [[model.new_bool_var("") for _ in range(k)] for _ in range(n)]
    for i in range(n):
        model.add_exactly_one(x[i])
    for item in items:
        if isinstance(item, Row):
            _add_row(model, x, item, tolerance)
        elif isinstance(item, Match):
            _add_match(model, x, item)
        elif item.price is None:
            for j in range(k):
                if item.together:
                    model.add(x[item.i][j] == x[item.j][j])
                else:
                    model.add(x[item.i][j] + x[item.j][j] <= 1)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = 20.0
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return True
    return False if status == cp_model.INFEASIBLE else None


def _add_row(model: Any, x: Any, row: Row, tolerance: Fraction) -> None:
    scaled, low, high = whole(row, tolerance)
    if sum(map(abs, scaled.values())) > LARGEST:
        raise OverflowError
    total = cp_model.LinearExpr.weighted_sum([x[i][j] for i, j in scaled], list(scaled.values()))
    model.add_linear_constraint(total, low, high)


def _add_match(model: Any, x: Any, match: Match) -> None:
    k = len(match.entries)
    uses = [[model.new_bool_var("") for _ in range(k)] for _ in range(k)]
    for j in range(k):
        model.add_exactly_one(uses[j])
        model.add_exactly_one(uses[i][j] for i in range(k))
        size = sum(row[j] for row in x)
        model.add(size >= sum(low * u for (low, _), u in zip(match.entries, uses[j], strict=True)))
        model.add(
            size <= sum(high * u for (_, high), u in zip(match.entries, uses[j], strict=True))
        )


@lru_cache(maxsize=6)
def labellings(n: int, k: int) -> tuple[Any, Any]:
    """All labels of n rows, and 1 where row i is in cluster j, as (cluster, labelling, row)."""
    labels = np.array(list(itertools.product(range(k), repeat=n)), dtype=np.int8)
    return labels, np.stack([labels == j for j in range(k)])


def obeying(items: list[Term], n: int, k: int, tolerance: Fraction) -> Any:
    """For all labellings of ``labellings(n, k)``, whether they obey the hard terms."""
    labels, chosen = labellings(n, k)
    good = np.ones(len(labels), dtype=bool)
    for item in items:
        if isinstance(item, Pair):
            if item.price is None:
                good &= (labels[:, item.i] == labels[:, item.j]) == item.together
        elif isinstance(item, Match):
            good &= _matched(item, chosen.sum(axis=2).T)
        else:
            scaled, low, high = whole(item, tolerance)
            total = _total(scaled, chosen, len(labels))
            good &= (total >= low) & (total <= high)
    return good


def _total(scaled: dict[tuple[int, int], int], chosen: Any, count: int) -> Any:
    small = sum(map(abs, scaled.values())) <= LARGEST
    total = np.zeros(count, dtype=np.int64 if small else object)
    for (i, j), c in scaled.items():
        if c:
            total += chosen[j, :, i] * c if small else chosen[j, :, i].astype(object) * c
    return total


def _matched(match: Match, sizes: Any) -> Any:
    different, where = np.unique(sizes, axis=0, return_inverse=True)
    return np.array([matches(match, one) for one in different])[where.reshape(-1)]
