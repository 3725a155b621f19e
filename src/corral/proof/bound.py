"""What a proof says: a bound, and how far from it an answer is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._scale import Scale, times
from ..deadline import Deadline
from .ascent import CLOSED
from .groups import Grouped

METHOD = "semidefinite relaxation with pair and triangle inequalities"


@dataclass(frozen=True)
class LowerBound:
    """A number below the objective of every clustering that obeys the rules.

    Attributes
    ----------
    value : float
        The bound, in the unit of the inertia.  Rounding errors are accounted for.
    gap : float or None
        ``(upper - value) / upper``; None if no ``upper`` was given.
    seconds : float
    method : str
    rules_used, rules_left_out : tuple of str
        Kinds of rules that tighten the bound, and those that it ignores.  It is valid all the same.
    """

    value: float
    gap: float | None
    seconds: float
    method: str
    rules_used: tuple[str, ...]
    rules_left_out: tuple[str, ...]

    @property
    def optimal(self) -> bool:
        """Whether the answer with the objective ``upper`` is proven optimal."""
        return self.gap is not None and self.gap <= CLOSED

    def __str__(self) -> str:
        if self.gap is None:
            return f"no clustering has an objective below {self.value:.10g}"
        if self.optimal:
            return "proven optimal"
        return f"proven within {100 * self.gap:.2g} % of the best possible"


def bound_of(
    value: float,
    upper: float | None,
    scale: Scale,
    deadline: Deadline,
    grouped: Grouped,
    method: str = METHOD,
) -> LowerBound:
    """The bound in the user's unit, with the gap to the objective ``upper`` of an answer.

    ``value`` is in the solvers' unit.  ValueError says that the objective is below the bound.
    """
    least = max(float(times(np.float64(value), scale.cost)), 0.0)
    return LowerBound(
        value=least,
        gap=None if upper is None else gap_of(least, upper),
        seconds=deadline.elapsed,
        method=method,
        rules_used=grouped.used,
        rules_left_out=grouped.left_out,
    )


def gap_of(value: float, upper: float) -> float:
    """The relative gap; ValueError if the objective is below the bound."""
    if upper < value - 1e-9 * abs(value):
        raise ValueError(
            f"upper is {upper:.10g}, but no clustering that obeys the constraints has an objective "
            f"below {value:.10g}; upper must be the objective of one that does."
        )
    return max(upper - value, 0.0) / upper if upper > 0.0 else 0.0
