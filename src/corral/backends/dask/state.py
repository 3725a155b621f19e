"""The state of a partition between two iterations: made once, never changed.

Dask keeps it as the result of a task, sends it, spills it to disk, and makes it again from the
state before it if the worker that held it is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._typing import FloatArray, IntArray
from ...admm.blocks import cut
from . import buffers


class Layout:
    """Where the blocks of a partition lie in one long array, each of them contiguous.

    Parameters
    ----------
    n_rows, n_clusters : int
    dtype : dtype
        Of the points.
    """

    def __init__(self, n_rows: int, n_clusters: int, dtype: Any) -> None:
        self.n_rows, self.n_clusters, self.dtype = n_rows, n_clusters, np.dtype(dtype)
        self.slices = cut(n_rows, n_clusters, self.dtype.itemsize)

    def empty(self) -> FloatArray:
        """Room for a (k, b) array."""
        return buffers.take(self.n_clusters * self.n_rows, self.dtype)

    def views(self, flat: FloatArray) -> list[FloatArray]:
        """The (k, b) array of every block."""
        k = self.n_clusters
        return [flat[k * part.start : k * part.stop].reshape(k, -1) for part in self.slices]

    def rooms(self) -> list[tuple[FloatArray, ...]]:
        """Three work arrays for every block, the same memory for all, the calling thread's own."""
        k, sizes = self.n_clusters, [part.stop - part.start for part in self.slices]
        arrays = buffers.work(k * max(sizes), self.dtype)
        return [tuple(a[: k * b].reshape(k, b) for a in arrays) for b in sizes]


@dataclass(frozen=True, eq=False)
class State:
    """What the next iteration needs of a partition, and what the last one found.

    Attributes
    ----------
    v1, v2 : (k b,) arrays
        Copies with their duals, see :mod:`corral.admm.kernels`, block after block; ``v2`` is None
        before the sphere begins.
    labels : (b,) array
        The rounding of x, in the smallest type that holds them.
    x : (k b,) array or None
        The relaxed assignment, where somebody wants it.
    sums : object
        What the pass adds up over the partition; None once it is known.
    pulled : (k, e) array
        x of the groups that pairs and linear rows pull.
    saved : bool
        Whether it is in its checkpoint.
    """

    v1: FloatArray
    v2: FloatArray | None
    labels: IntArray
    x: FloatArray | None = None
    sums: Any = None
    pulled: FloatArray | None = None
    saved: bool = False

    def __sizeof__(self) -> int:
        """Bytes, as Dask counts them against the memory of a worker."""
        arrays = (self.v1, self.v2, self.labels, self.x, self.pulled)
        return sum(a.nbytes for a in arrays if a is not None)

    def save(self, path: Path) -> None:
        """Write what a restart needs; a file is there as a whole or not at all."""
        arrays = {"v1": self.v1, "v2": self.v2, "labels": self.labels, "x": self.x}
        partial = path.with_suffix(f".{id(self):x}")
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **_given(arrays))
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> State:
        """The state that was saved, without what was already known of it."""
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        return cls(found["v1"], found.get("v2"), found["labels"], found.get("x"), saved=True)


def _given(arrays: dict[str, Any]) -> dict[str, Any]:
    return {name: a for name, a in arrays.items() if a is not None}


def smallest_type(n_clusters: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type that holds the numbers of so many clusters."""
    if n_clusters <= 1 << 8:
        return np.uint8
    return np.uint16 if n_clusters <= 1 << 16 else np.uint32
