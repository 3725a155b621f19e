"""What rules cost: the objective without them, found by refits."""

from __future__ import annotations

from dataclasses import dataclass

from .._text import in_digits


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
