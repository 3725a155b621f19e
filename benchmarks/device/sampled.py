"""Where the seconds of a fit are: the stack of the main thread, looked at many times a second.

A profiler that is told of every call slows down what it measures, and in Python 3.12 it loses count
where exceptions are raised.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Self

#: Seconds between two looks.
EVERY = 0.01
#: Lines that are printed, and the least seconds of one.
LINES, LEAST = 32, 0.05


class Sampled:
    """A context manager that samples the thread that enters it."""

    def __enter__(self) -> Self:
        self.looks: Counter[str] = Counter()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample, args=(threading.get_ident(),))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _sample(self, thread: int) -> None:
        while not self._end.wait(EVERY):
            self.looks.update(_functions(sys._current_frames().get(thread)))

    def show(self) -> None:
        """Print the functions of corral that took longest, what they call included."""
        for name, number in self.looks.most_common(LINES):
            if number * EVERY >= LEAST:
                print(f"      {number * EVERY:7.2f} s {name}")


def _functions(frame: FrameType | None) -> set[str]:
    """Functions of corral on a stack, each once."""
    found = set()
    while frame is not None:
        code = frame.f_code
        if "corral" in code.co_filename:
            path = Path(code.co_filename)
            found.add(f"{path.parent.name}/{path.stem}.{code.co_qualname}")
        frame = frame.f_back
    return found
