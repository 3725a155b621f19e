"""A line on the terminal that shows how a long fit goes on."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

WIDTH = 20
#: Seconds of silence at the start, and between two changes of the line.
PATIENCE, PACE = 0.5, 0.1


class ProgressLine:
    """Called once an iteration by the solver; silent where the stream is no terminal.

    Parameters
    ----------
    stream : text stream
    max_iter : int
        At most so many iterations a run has; it usually ends earlier.
    """

    def __init__(self, stream: Any, max_iter: int, *, enabled: bool = True) -> None:
        self._stream = stream
        self._max_iter = max_iter
        self._shown = 0
        self._run = 0
        self._next = time.monotonic() + PATIENCE
        self._enabled = enabled and stream.isatty()

    def __call__(
        self, iteration: int, objective: float, residual: float, violations: int | None = None
    ) -> None:
        """Show where the solver is; iteration 1 begins another run."""
        self._run += iteration == 1
        now = time.monotonic()
        if not self._enabled or now < self._next:
            return
        self._next = now + PACE
        done = round(WIDTH * min(iteration / self._max_iter, 1.0))
        parts = [
            f"[{'#' * done}{'.' * (WIDTH - done)}] run {self._run}",
            f"iteration {iteration}",
            f"objective {objective:.6g}",
            f"residual {residual:.2g}",
        ]
        if violations is not None:
            parts.append(f"{violations} broken")
        self._write("  ".join(parts))

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave an empty line behind, whatever happened."""
        if self._shown:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text.ljust(self._shown)}")
        self._stream.flush()
        self._shown = len(text)
