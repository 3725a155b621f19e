"""What a proof says: a bound, and how far from it an answer is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .._scale import Scale, restored
from ..exceptions import BrokenAnswerError
from .ascent import CLOSED
from .groups import Grouped

METHOD = "semidefinite relaxation with pair and triangle inequalities"
IN_PARTS = f"sum over parts of the {METHOD}"


@dataclass(frozen=True)
class LowerBound:
    """A number below the objective of every clustering that obeys the rules.

    Attributes
    ----------
    value : float
        The bound on the objective: inertia plus the price of the soft rules broken.  Rounding
        errors are accounted for.
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

    def against(self, upper: float) -> LowerBound:
        """The same with the gap to the objective of an answer.

        Raises
        ------
        ValueError
            If the objective is below the bound, so that no answer has it.
        """
        if upper < self.value - 1e-9 * abs(self.value):
            raise ValueError(
                f"upper is {upper:.10g}, but no clustering that obeys the constraints has an "
                f"objective below {self.value:.10g}; upper must be the objective of one that does."
            )
        gap = max(upper - self.value, 0.0) / upper if upper > 0.0 else 0.0
        return replace(self, gap=gap)

    def confirmed(self, objective: float) -> LowerBound:
        """The same with the gap to the objective that the audit found.

        Raises
        ------
        BrokenAnswerError
            If the objective is below the bound.
        """
        try:
            return self.against(objective)
        except ValueError as fault:
            raise BrokenAnswerError(
                f"the lower bound is above an answer, which is a fault of corral: {fault}"
            ) from fault

    def __str__(self) -> str:
        if self.gap is None:
            return f"no clustering has an objective below {self.value:.10g}"
        if self.optimal:
            return "proven optimal"
        return f"proven within {100 * self.gap:.2g} % of the best possible"


def bound_of(
    value: float, scale: Scale, seconds: float, grouped: Grouped, method: str = METHOD
) -> LowerBound:
    """The bound in the user's unit; ``value`` is in the solvers' unit."""
    return LowerBound(
        value=restored(max(value, 0.0), scale.cost),
        gap=None,
        seconds=seconds,
        method=method,
        rules_used=grouped.used,
        rules_left_out=grouped.left_out,
    )
