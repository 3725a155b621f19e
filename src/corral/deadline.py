"""The time that a fit may take: one object, which every loop that can be long asks.

No other module of the package reads the clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from .numbers import GRACE, GRACE_PART


class OutOfTime(Exception):  # noqa: N818 - an outcome of the search, not a fault
    """The time limit came before either an answer or a proof that there is none.

    ``nearest`` are labels of the rows that break the hard rules by least, if a search knows some.
    """

    nearest: Any = None


@dataclass(frozen=True)
class Deadline:
    """An instant after which work ends with the best answer so far.

    Attributes
    ----------
    end : float
        Instant of :func:`time.monotonic`; infinite where there is no limit.
    began : float
        Instant at which the fit began.
    last : float
        Instant after which not even a first answer is looked for.
    worked : float
        Processor time of this process when the fit began.
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
    last: float = math.inf
    worked: float = field(default_factory=time.process_time)
    watch: Callable[[], bool] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """End in so many seconds; None means no limit."""
        now, worked = time.monotonic(), time.process_time()
        if seconds is None:
            return cls(began=now, worked=worked)
        last = now + (1.0 + GRACE_PART) * seconds + GRACE
        return cls(now + seconds, now, last, worked=worked)

    @property
    def limit(self) -> float:
        """Seconds from the beginning to the end."""
        return self.end - self.began

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

    def check(self, work: float = 0.0) -> float:
        """Seconds left.

        ``work`` is about how many seconds follow that cannot be interrupted, on a machine that has
        nothing else to do.

        Raises
        ------
        OutOfTime
            If the end has come, or would come before the end of the work.
        """
        left = self.left
        if left <= 0.0 or (work > 0.0 and work * self._slowness > left):
            raise OutOfTime
        return left

    @property
    def _slowness(self) -> float:
        """Seconds that a second of work took since the fit began, at least 1."""
        worked = time.process_time() - self.worked
        return max(1.0, self.elapsed / worked) if worked > 0.0 else 1.0

    def within(self, seconds: float) -> Deadline:
        """The earlier of this end and so many seconds from now."""
        return replace(self, end=min(self.end, time.monotonic() + seconds))

    @property
    def first(self) -> Deadline:
        """The deadline of cheap methods while no answer is known."""
        return replace(self, end=self.last)

    def limited(self, seconds: float) -> Deadline:
        """The same with so many seconds from the beginning."""
        made = Deadline.after(seconds)
        shift = self.began - made.began
        return replace(self, end=made.end + shift, last=made.last + shift)

    def share(self, part: float) -> Deadline:
        """End when this part of the time that is left has passed."""
        return self.within(part * self.left) if self.finite else self


#: No limit.
NEVER = Deadline(began=0.0)


def time_of_day() -> str:
    """The date and time in UTC, to the second, such as ``2024-05-01T09:30:00Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
