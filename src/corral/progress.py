"""How far a fit has come: what its callback and the log are told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._text import in_digits
from .deadline import Deadline

#: Seconds between two calls of a callback.
PACE = 0.1
#: Seconds between two lines of the log.
LINE_PACE = 1.0

#: The phases of a search, in order.
PHASES = ("start", "admm", "search")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """How far a fit has come, as ``fit(..., callback=)`` is told.

    Calls come from the thread that called ``fit``: inside the loops of the search, and between
    calls of programs that cannot be interrupted.

    Attributes
    ----------
    phase : str
        First "presolve" (the rules).  Of the search, in this order: "start" (seeds, and a first
        answer from them; many rows: also the search of a sample), "admm" (the relaxation, and an
        answer from its centres) and "search" (variations of the answers).  At the end of the fit
        "proof" (if one is asked for) and "audit".  Where no labels obey the rules: "conflict"
        (why not) or "relax" (the labels of least violation).
    restart, n_restarts : int
        Number of the search, from 1, and of all of them: 1 of 1, and 0 before it begins.
    iteration : int
        In the phase: iterations of ADMM, and answers.
    best : float or None
        Objective of the best answer so far that obeys the rules; None if there is none yet.
    elapsed : float
        Seconds since the fit began.
    left : float or None
        Seconds until ``time_limit``; None without one.

    Examples
    --------
    >>> print(Progress("admm", 1, 1, 120, 17350100.0, 3.25, None))
    admm 120, best 17,350,100, 3.2 s
    """

    phase: str
    restart: int = 0
    n_restarts: int = 0
    iteration: int = 0
    best: float | None = None
    elapsed: float = 0.0
    left: float | None = None

    def __str__(self) -> str:
        count = f" {self.iteration}" if self.iteration else ""
        best = "" if self.best is None else f", best {in_digits(self.best)}"
        time = f"{self.elapsed:.1f} s" if self.left is None else f"{self.left:.1f} s left"
        return f"{self.phase}{count}{best}, {time}"


class Reporter:
    """Tells the callback and the log how far the fit is, but not too often.

    The fit says where it is with :meth:`begin`, :meth:`enter` and :meth:`step`.  Every question to
    its ``deadline`` is an occasion to tell, so progress comes from inside every long loop.  A
    callback that returns True ends the deadline.  Only the thread that made the reporter is heard;
    a quiet one hears nobody, and a copy in another process is quiet.  ``unit`` turns an objective
    of the search into the user's unit.
    """

    unit: Callable[[float], float] = float

    def __init__(
        self, callback: Callable[[Progress], Any] | None = None, seconds: float | None = None
    ) -> None:
        if not (callback is None or callable(callback)):
            raise TypeError(
                f"`callback` is {callback!r}; it must be a function of a corral.Progress, or None."
            )
        self._callback, self._clock = callback, Deadline.after(seconds)
        self._thread: int | None = threading.get_ident()
        self._place: dict[str, Any] = {"phase": "presolve", "iteration": 0, "best": None}
        self._stopped = False
        # Nothing is worth telling before the search, unless presolve takes long.
        self._next = self._next_line = PACE
        self.deadline = replace(self._clock, watch=self)

    def begin(self, restart: int, n_restarts: int) -> None:
        """Begin a search; the first one is told at once."""
        if restart <= 1:
            self._next = self._next_line = 0.0
        self._update(restart=restart, n_restarts=n_restarts, phase=PHASES[0], iteration=0)

    def enter(self, phase: str) -> None:
        """Begin a phase."""
        self._update(phase=phase, iteration=0)

    def step(self, objective: float | None = None) -> None:
        """Count an iteration; an objective is that of an answer which obeys the rules."""
        self._update(iteration=self._place["iteration"] + 1, best=self._best(objective))

    def finish(self, objective: float | None) -> None:
        """Tell of the last phase, however soon it comes."""
        self._next = 0.0
        self._update(phase="audit", iteration=0, best=self._best(objective))

    def __call__(self) -> bool:
        """Tell if it is time; whether the callback has asked to stop."""
        if not self._stopped and self._thread == threading.get_ident():
            self._tell()
        return self._stopped

    def _best(self, objective: float | None) -> float | None:
        best: float | None = self._place["best"]
        if objective is None:
            return best
        return min(self.unit(objective), np.inf if best is None else best)

    def _update(self, **changes: Any) -> None:
        if self._thread == threading.get_ident():
            self._place.update(changes)
            self._tell()

    def _tell(self) -> None:
        elapsed = self._clock.elapsed
        if elapsed < min(self._next, self._next_line):
            return
        left = self._clock.left if self._clock.finite else None
        now = Progress(**self._place, elapsed=elapsed, left=left)
        if elapsed >= self._next_line:
            self._next_line = elapsed + LINE_PACE
            logger.info("%s", now)
        if elapsed >= self._next:
            self._next = elapsed + PACE
            answer = None if self._callback is None else self._callback(now)
            self._stopped |= isinstance(answer, (bool, np.bool_)) and bool(answer)

    def __reduce__(self) -> Any:
        return quiet, ()


def quiet() -> Reporter:
    """A reporter that tells nobody, for the parts of a problem and for other processes."""
    made = Reporter()
    made._thread = None
    return made


#: The only quiet reporter that a process needs: it never changes.
QUIET = quiet()
