"""Integer programs for any mixture of rules, by HiGHS and CP-SAT.

Both solvers run for minutes inside one call.  They release the GIL but never look for signals, so a
``KeyboardInterrupt`` would wait for them.  :func:`interruptible` makes the call in a thread of its
own while the caller waits on a lock; a signal does interrupt that wait.  HiGHS also keeps the
number of its threads for each thread that calls it; in a new one it is free to be chosen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def interruptible(call: Callable[[], T], stop: Callable[[], object]) -> T:
    """Return ``call()``, letting Ctrl-C end it.

    ``stop`` asks the call to end soon; the exception is raised when it has ended.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:  # raised again in the waiting thread below
            errors.append(error)

    # Not a daemon: Python would end it inside the solver when the process exits, which aborts.
    thread = threading.Thread(target=work, name="corral-solver")
    thread.start()
    try:
        # A join without a timeout cannot be interrupted on every system.
        while thread.is_alive():
            thread.join(0.1)
    except BaseException:
        while thread.is_alive():
            stop()  # again and again: a call that has not quite begun may miss it
            thread.join(0.1)
        raise
    if errors:
        raise errors[0]
    return results[0]
