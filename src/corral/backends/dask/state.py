"""The state of a partition between two iterations: its arrays, their memory, their checkpoints.

A state is computed once and never changed.  Dask keeps it as the result of a task, sends it,
writes it to disk when memory is short, and computes it again from the state before it if its
worker is lost.

Dask tells its workers to return freed memory to the system, from where it comes back page by page:
a pass over a small partition then takes twice the time.  So the memory of a few freed states is
kept for the next ones, and that of work arrays for good.
"""

from __future__ import annotations

import importlib
import logging
import shutil
import tempfile
import threading
import weakref
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._typing import FloatArray, IntArray
from ...admm.blocks import cut

#: Freed arrays that a worker keeps: two for the next state and two that are still in use elsewhere.
KEPT_ARRAYS = 4
#: Bytes of the largest array that is kept; larger ones come in large pages, which are fast anyway.
LARGEST = 1 << 25
#: Iterations between two checkpoints, unless Dask's configuration says otherwise.  More of them
#: save writing and make recovery longer.
EVERY = 20

logger = logging.getLogger(__name__)

_free: deque[FloatArray] = deque(maxlen=KEPT_ARRAYS)
_local = threading.local()


class BlockLayout:
    """Where the blocks of a partition are in one long array, each of them contiguous."""

    def __init__(self, n_rows: int, n_clusters: int, dtype: Any) -> None:
        self.n_rows, self.n_clusters, self.dtype = n_rows, n_clusters, np.dtype(dtype)
        self.slices = cut(n_rows, n_clusters, self.dtype.itemsize)

    def empty(self) -> FloatArray:
        """Room for a (k, b) array."""
        return take(self.n_clusters * self.n_rows, self.dtype)

    def views(self, flat: FloatArray) -> list[FloatArray]:
        """The (k, b) array of every block."""
        k = self.n_clusters
        return [flat[k * part.start : k * part.stop].reshape(k, -1) for part in self.slices]

    def rooms(self) -> list[tuple[FloatArray, ...]]:
        """Three work arrays for every block, the same memory for all, the calling thread's own."""
        k, sizes = self.n_clusters, [part.stop - part.start for part in self.slices]
        arrays = _work(k * max(sizes), self.dtype)
        return [tuple(a[: k * b].reshape(k, b) for a in arrays) for b in sizes]


@dataclass(frozen=True, eq=False)
class State:
    """What the next iteration needs of a partition, and what the last one found.

    ``v1`` and ``v2`` are copies with their duals, see :mod:`corral.admm.updates`.
    """

    v1: FloatArray  # block after block, (k b,)
    v2: FloatArray | None  # None before the sphere begins
    labels: IntArray  # the rounding of x, (b,), in the smallest type that holds it
    x: FloatArray | None = None  # the relaxed assignment, (k b,), where somebody wants it
    sums: Any = None  # what the pass adds up over the partition; None once it is known
    pulled: FloatArray | None = None  # x of the groups that pairs and linear rows pull, (k, e)
    saved: bool = False  # whether it is in its checkpoint

    def __sizeof__(self) -> int:
        """Bytes, as Dask counts them against the memory of a worker."""
        arrays = (self.v1, self.v2, self.labels, self.x, self.pulled)
        return sum(a.nbytes for a in arrays if a is not None)

    def save(self, path: Path) -> None:
        """Write what a restart needs; a file is there as a whole or not at all."""
        arrays = {"v1": self.v1, "v2": self.v2, "labels": self.labels, "x": self.x}
        partial = path.with_suffix(f".{id(self):x}")
        with partial.open("wb") as file:
            given = {name: a for name, a in arrays.items() if a is not None}
            np.savez(file, allow_pickle=False, **given)
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> State:
        """The state that was saved, without what was already known of it."""
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        return cls(found["v1"], found.get("v2"), found["labels"], found.get("x"), saved=True)


def smallest_type(n_clusters: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type that holds the numbers of so many clusters."""
    return next(t for t in (np.uint8, np.uint16, np.uint32) if n_clusters - 1 <= np.iinfo(t).max)


class _Lease:
    """Lends the memory of an array; it is free again when the lease and its views are gone."""

    def __init__(self, owner: FloatArray) -> None:
        self._owner = owner
        self.__array_interface__ = owner.__array_interface__


def take(size: int, dtype: Any) -> FloatArray:
    """An array of any content, whose memory is reused when it and its views are gone."""
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


def _work(size: int, dtype: Any) -> tuple[FloatArray, ...]:
    """Three work arrays of at least this size, the calling thread's own."""
    found: tuple[FloatArray, ...] | None = getattr(_local, "work", None)
    if found is None or found[0].dtype != dtype or len(found[0]) < size:
        _local.work = found = tuple(np.empty(size, dtype) for _ in range(3))
    return found


class Checkpoints:
    """A folder that this process and all workers see, for the states of a run.

    While ``on``, a state is saved every ``every`` iterations.  Later states can be computed again
    from there, so that Dask need not remember how to compute earlier ones.

    Dask's configuration may hold ``corral.checkpoint.directory``, an existing folder that all
    workers share (otherwise ValueError), and ``corral.checkpoint.every``, the number of iterations
    between two checkpoints (0 for none).  By default the folder is a temporary one of this machine,
    and there are no checkpoints if some worker does not see it: a lost state is then computed again
    from the start of the run.
    """

    def __init__(self, client: Any) -> None:
        config = importlib.import_module("dask.config")
        given = config.get("corral.checkpoint.directory", None)
        self.every = int(config.get("corral.checkpoint.every", EVERY))
        self.on = self.every > 0
        if not self.on:
            return
        parent = given or config.get("temporary-directory", None)
        self._folder = Path(tempfile.mkdtemp(prefix="corral-", dir=parent)).resolve()
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        blind = [where for where, sees in client.run(_sees, str(self._folder)).items() if not sees]
        if blind and given:
            raise ValueError(
                f"`corral.checkpoint.directory` is {given!r}, which worker {blind[0]} does not "
                "see; it must be a folder that the client and all workers share."
            )
        if blind:
            logger.info("no checkpoints: worker %s does not see %s", blind[0], self._folder)
            self.on = False

    def paths(self, number: int, n_parts: int) -> list[str]:
        """Where the partitions write their states after an iteration."""
        folder = self._folder / str(number)
        folder.mkdir(exist_ok=True)
        return [str(folder / f"{i}.npz") for i in range(n_parts)]

    def forget(self, number: int) -> None:
        """Remove the files of an iteration, if there are any."""
        shutil.rmtree(self._folder / str(number), ignore_errors=True)


def _sees(folder: str) -> bool:
    return Path(folder).is_dir()
