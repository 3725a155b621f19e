"""The report of mixed groups: how alike they are, and who is in which group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

from .._text import in_digits
from ..report import Report
from ..report.page import rules_section, section, solver_section, table
from ..report.pictures import Pictures
from ..report.roster import MOST_ROWS, to_roster
from ..report.text import to_text, verdict
from .balance import Balance

if TYPE_CHECKING:
    from ..admm.history import History

#: Sizes that the text lists one by one, at most.
MOST_SIZES = 40


@dataclass(frozen=True)
class MixedReport(Report):
    """A report with the means and spreads of the groups beside those of all rows.

    ``inertia`` is the sum of squared distances of the columns, as the search saw them, to the mean
    of the own group: here it is the larger the better.

    Attributes
    ----------
    balance : Balance
        The table of means and spreads, and the imbalance: the largest standardised difference of
        a mean.
    most : float
        What the inertia of no groups of these sizes can exceed.
    """

    balance: Balance | None = field(default=None, compare=False, repr=False)
    most: float = field(default=float("inf"), compare=False, repr=False)

    @property
    def imbalance(self) -> float:
        """The largest difference of a group's mean from that of all, in standard deviations."""
        return 0.0 if self.balance is None else self.balance.imbalance

    @property
    def share(self) -> float:
        """The objective as a part of what no groups can exceed."""
        return 1.0 if self.balance is None else self.balance.share

    @property
    def objective(self) -> float:
        """What is maximised: the inertia less the price of the soft rules broken."""
        return self.inertia - self.soft_cost

    def to_dict(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """Give the report as plain data, ready for JSON; "balance" has the table."""
        plain = super().to_dict(names)
        return plain if self.balance is None else {**plain, "balance": self.balance.to_dict()}

    def _roster(self, names: Sequence[Any] | None, *, all_rows: bool) -> str:
        """The members of each group, or where they are."""
        if sum(self.sizes) > MOST_ROWS and not all_rows:
            rows = in_digits(sum(self.sizes))
            return f"<p>{rows} rows; the labels have all, and so has a page with all rows.</p>"
        return to_roster(replace(self, names=names).rosters(), self.clusters, "Group")

    def describe(self) -> str:
        """Say who is in which group, one a line."""
        return "\n".join(
            f"group {j} ({in_digits(len(who))}): {', '.join(who)}"
            for j, who in enumerate(self.rosters())
        )

    @property
    def _headline(self) -> str:
        n, k = in_digits(sum(self.sizes)), in_digits(len(self.sizes))
        return f"{n} rows in {k} mixed groups: {verdict(self)}"

    def _lines(self) -> list[str]:
        """What matters most, a line each."""
        least, most = min(self.sizes), max(self.sizes)
        sizes = " ".join(map(str, self.sizes))
        if len(self.sizes) > MOST_SIZES:
            sizes = f"{least}" if least == most else f"{least} to {most}"
        lines = [
            self._headline,
            f"alike    {percent(self.share)} of what is possible",
            f"largest  difference of a mean: {in_digits(self.imbalance, 3)} standard deviations",
            f"sizes    {sizes}",
        ]
        if self.balance is not None and self.balance.uneven:
            lines.append(f"uneven   {self.balance.uneven} rows of categories too many or too few")
        if self.outside:
            lines.append(f"outside  {self.outside} rules name other rows and do not apply")
        return lines

    def __str__(self) -> str:
        known = {"fewest": self.fewest, "ended": self.ended}
        text = to_text(self, known, None, self.names, self._lines())
        return text if self.balance is None else f"{text}\n\n{self.balance}"

    def _pictures(self, history: History | None) -> Pictures:
        """None: groups that are alike look alike."""
        return Pictures()

    def _content(
        self,
        names: Sequence[Any] | None,
        pictures: Pictures,
        *,
        interactive: bool = True,
        all_rows: bool = False,
    ) -> str:
        """The page: one sentence, a roster for each group, the table, the rules, the solver."""
        told = self._told(names)
        kind = "good" if self.feasible else "bad"
        said = (
            f"The groups are {percent(self.share)} as alike as is possible at all; the largest "
            "difference of a mean from that of all rows is "
            f"{in_digits(self.imbalance, 3)} standard deviations."
        )
        parts = [
            f'<p class="verdict {kind}">{escape(self._headline)}.</p>\n<p>{said}</p>',
            section("Who is in which group", self._roster(names, all_rows=all_rows)),
            ""
            if self.balance is None
            else section("Means and spreads", table(*self.balance.rows())),
            rules_section(self, told),
            solver_section(told),
        ]
        return "\n".join(filter(None, parts))


def percent(share: float) -> str:
    """A share with as many nines as it takes.

    Examples
    --------
    >>> percent(0.987), percent(0.99997), percent(1.0)
    ('98.70 %', '99.997 %', '100 %')
    """
    for digits in (2, 3, 4, 5, 6, 8, 10):
        text = f"{100.0 * share:.{digits}f}"
        if not text.startswith("100"):
            return f"{text} %"
    return "100 %"
