"""Memory that a worker uses again and again.

Dask tells its workers to hand freed memory back to the system, from where it comes page by page:
a pass over a small partition then takes twice the time.  So the memory of states that nobody needs
any more is kept for the next ones, a little at a time, and that of work arrays for good.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import Any

import numpy as np

from ..._typing import FloatArray

#: So many arrays are kept, two for the next state and two on their way, and none that is larger;
#: large ones come in large pages.
KEPT, LARGEST = 4, 1 << 25

_free: deque[FloatArray] = deque(maxlen=KEPT)
_local = threading.local()


class _Lease:
    """Lends the memory of an array to others, which hold the lease as long as they need it."""

    def __init__(self, owner: FloatArray) -> None:
        self._owner = owner
        self.__array_interface__ = owner.__array_interface__


def take(size: int, dtype: Any) -> FloatArray:
    """An array of any content, whose memory is taken again when it and its views are gone."""
    owner = _find(size, dtype)
    if owner.nbytes > LARGEST:
        return owner
    lease = _Lease(owner)
    weakref.finalize(lease, _free.append, owner).atexit = False
    return np.asarray(lease)


def _find(size: int, dtype: Any) -> FloatArray:
    for _ in range(len(_free)):
        try:
            owner = _free.popleft()
        except IndexError:  # another thread was faster
            break
        if owner.size == size and owner.dtype == dtype:
            return owner
        _free.append(owner)
    return np.empty(size, dtype)


def work(size: int, dtype: Any) -> tuple[FloatArray, ...]:
    """Three work arrays of at least this size, the calling thread's own."""
    found: tuple[FloatArray, ...] | None = getattr(_local, "work", None)
    if found is None or found[0].dtype != dtype or len(found[0]) < size:
        _local.work = found = tuple(np.empty(size, dtype) for _ in range(3))
    return found
