"""The time that a fit may take: one object, which every loop that can be long asks.

No other module of the package reads the clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace


class OutOfTime(Exception):  # noqa: N818 - an outcome of the search, not a fault
    """The time limit came before either an answer or a proof that there is none."""


@dataclass(frozen=True)
class Deadline:
    """An instant after which work ends with the best answer so far.

    Attributes
    ----------
    end : float
        Instant of :func:`time.monotonic`; infinite where there is no limit.
    began : float
        Instant at which the fit began.
    watch : callable or None
        Called whenever the deadline is asked; if it answers True, the end has come.

    Examples
    --------
    >>> Deadline.after(None).left
    inf
    >>> Deadline.after(0.0).passed
    True
    """

    end: float = math.inf
    began: float = field(default_factory=time.monotonic)
    watch: Callable[[], bool] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """End in so many seconds; None means no limit."""
        now = time.monotonic()
        return cls(math.inf if seconds is None else now + seconds, now)

    @property
    def elapsed(self) -> float:
        """Seconds since the fit began."""
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """Seconds until the end, 0 when it has passed."""
        return 0.0 if self.stopped else max(self.end - time.monotonic(), 0.0)

    @property
    def passed(self) -> bool:
        """Whether the end has come."""
        return self.left <= 0.0

    @property
    def stopped(self) -> bool:
        """Whether the watch has ended it before its time."""
        return self.watch is not None and self.watch()

    @property
    def finite(self) -> bool:
        """Whether there is a limit at all."""
        return self.end < math.inf

    def check(self) -> float:
        """Seconds left.

        Raises
        ------
        OutOfTime
            If the end has come.
        """
        left = self.left
        if left <= 0.0:
            raise OutOfTime
        return left

    def within(self, seconds: float) -> Deadline:
        """The earlier of this end and so many seconds from now."""
        return replace(self, end=min(self.end, time.monotonic() + seconds))

    def share(self, part: float) -> Deadline:
        """End when this part of the time that is left has passed."""
        return self.within(part * self.left) if self.finite else self


#: No limit.
NEVER = Deadline(began=0.0)
