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
    cancelled, done = threading.Event(), threading.Event()

    def work() -> None:
        try:
            if not cancelled.is_set():
                results.append(call())
        except BaseException as error:  # raised again in the waiting thread below
            errors.append(error)
        finally:
            done.set()

    # Not a daemon: Python would end it inside the solver when the process exits, which aborts.
    thread = threading.Thread(target=work, name="corral-solver")
    try:
        thread.start()
        # Not by `join`: before Python 3.13 an interrupted one takes the thread for ended.  Without
        # a timeout the wait cannot be interrupted on every system.
        while not done.wait(0.1):
            pass
        thread.join()
    except BaseException:
        cancelled.set()  # read by a thread that begins only now
        while thread.is_alive():
            stop()
            done.wait(0.1)
        raise
    if errors:
        raise errors[0]
    return results[0]
