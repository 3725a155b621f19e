"""A line on the terminal that shows where a long run is."""

from __future__ import annotations

import time
from typing import Any

WIDTH = 24
#: Seconds between two changes of the line.
PACE = 0.2


class Bar:
    """A bar over all cells; silent where the stream is no terminal.

    Parameters
    ----------
    stream : text stream
    total : int
        Number of cells.
    """

    def __init__(self, stream: Any, total: int) -> None:
        self._stream = stream
        self._total = total
        self._done = 0
        self._shown = 0
        self._began = time.monotonic()
        self._next = self._began
        self._enabled = total > 0 and stream.isatty()

    def advance(self, text: str) -> None:
        """One more is done; show what it was and how long the rest will take."""
        self._done += 1
        now = time.monotonic()
        if not self._enabled or now < self._next:
            return
        self._next = now + PACE
        filled = round(WIDTH * self._done / self._total)
        left = (now - self._began) / self._done * (self._total - self._done)
        self._write(
            f"[{'#' * filled}{'.' * (WIDTH - filled)}] {self._done}/{self._total}  "
            f"{left / 60:.1f} min left  {text}"
        )

    def close(self) -> None:
        """Leave an empty line behind."""
        if self._shown:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text.ljust(self._shown)}")
        self._stream.flush()
        self._shown = len(text)
