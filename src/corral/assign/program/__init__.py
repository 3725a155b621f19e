"""Integer programs for any mixture of rules, by HiGHS and CP-SAT.

Both solvers run for minutes inside one call.  They release the GIL but never look for signals, so a
``KeyboardInterrupt`` would wait for them.  :func:`interruptible` makes the call in a daemon thread
while the main thread waits on a lock; a signal does interrupt that wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def interruptible(call: Callable[[], T], stop: Callable[[], None] | None = None) -> T:
    """Return ``call()``, letting Ctrl-C end the wait for it.

    ``stop`` asks an interrupted call to end.  Without it the call continues in the background until
    its own end or time limit.
    """
    # Python delivers signals to the main thread only.
    if threading.current_thread() is not threading.main_thread():
        return call()
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:  # raised again in the waiting thread below
            errors.append(error)

    thread = threading.Thread(target=work, name="corral-solver", daemon=True)
    thread.start()
    try:
        # A join without a timeout cannot be interrupted on every system.
        while thread.is_alive():
            thread.join(0.1)
    except BaseException:
        if stop is not None:
            stop()
        raise
    if errors:
        raise errors[0]
    return results[0]
