"""Run a solver so that Ctrl-C takes effect at once.

HiGHS and CP-SAT run for minutes inside one call; they release the GIL but never look for
signals, so a ``KeyboardInterrupt`` would wait for them.  The call is made in a daemon thread
while the main thread waits on a lock, which a signal does interrupt.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def interruptible(call: Callable[[], T], stop: Callable[[], None] | None = None) -> T:
    """Return ``call()``, letting Ctrl-C end the wait for it.

    Parameters
    ----------
    call : callable
        What to run; it should spend its time outside the GIL.
    stop : callable, optional
        Asks the abandoned call to end.  Without it an interrupted call runs on in the
        background to its own end or time limit.

    Examples
    --------
    >>> interruptible(lambda: 6 * 7)
    42
    """
    # Python delivers signals to the main thread only, so elsewhere there is nothing to gain.
    if threading.current_thread() is not threading.main_thread():
        return call()
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:  # handed on to the waiting thread below
            errors.append(error)

    thread = threading.Thread(target=work, name="corral-solver", daemon=True)
    thread.start()
    try:
        # An endless join cannot be interrupted on every system; one with a timeout can.
        while thread.is_alive():
            thread.join(0.1)
    except BaseException:
        if stop is not None:
            stop()
        raise
    if errors:
        raise errors[0]
    return results[0]
