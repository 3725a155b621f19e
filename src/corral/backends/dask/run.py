"""One run of the relaxed solver over the partitions of a Dask cluster.

What a run knows of the partitions and its states are results of tasks, which Dask holds where they
were made.  An iteration is three tasks a partition: the first pass gives small totals, the second
a new state, and the third the small part of that state.  Where groups are alike and their number is
the only total, it follows from the sums of the iteration before, and the first pass is left out.
Old states are let go as soon as the new ones are ordered, so that Dask frees each once it is used.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import reduce
from itertools import accumulate, pairwise
from operator import add
from typing import Any

import numpy as np

from ..._typing import FloatArray, IntArray
from ...admm.crew import Setup
from ...admm.kernels import Step, Sums
from ...admm.unpulled import Numbers, Unpulled
from . import passes, tasks
from .checkpoints import Checkpoints
from .partitions import Partitions
from .state import smallest_type

#: Dask remembers the pulls since the last checkpoint; the next is due when they take this much.
PULL_BYTES = 1 << 28


class Run:
    """The states of all partitions, and the passes that make new ones.

    Parameters
    ----------
    partitions : Partitions
    lengths : list of int
        Number of groups in each.
    dtype : dtype
        Of the points.
    setup : Setup
    keep_x : bool
        Whether x is part of the states; else it is gone with each pass.

    Attributes
    ----------
    pulled : list of (k, e) arrays
        x of the groups that pairs and linear rows pull, in each partition.
    """

    def __init__(
        self,
        partitions: Partitions,
        lengths: list[int],
        dtype: Any,
        setup: Setup,
        keep_x: bool,
    ) -> None:
        self._partitions, self._dtype, self._keep_x = partitions, dtype, keep_x
        self._shape = len(setup.labels), setup.n_clusters
        self._unpulled: Unpulled | None = None
        self._name, self._number, self._fresh = uuid.uuid4().hex, 0, False
        edges = [0, *accumulate(lengths)]
        parts = [_compact(setup.part(a, b), dtype) for a, b in pairwise(edges)]
        self._pulled_edges = [0, *accumulate(len(part.pulled) for part in parts)]
        self._pulls: list[passes.Pull | None] = [None] * len(parts)
        self._checkpoints = Checkpoints(partitions.client)
        self._last, self._pull_bytes = 0, 0
        shards = partitions.shards
        partitions.locate(shards)
        self._frames = partitions.submit("setup", tasks.frame, shards, parts)
        run, keep = partitions.same(self._name), partitions.same(keep_x)
        self._states = partitions.submit("start", passes.start, shards, self._frames, run, keep)
        self.pulled: list[FloatArray] = []

    def start_sums(self, setup: Setup) -> tuple[FloatArray, FloatArray]:
        """``sum w x p`` (k, d) and ``sum w x`` (k,)."""
        points, mass = (reduce(add, column) for column in zip(*self._summarise(), strict=True))
        if setup.plain:
            # Rows of x sum to one, so that these are the sums of all points.
            whole, origin = points.sum(axis=0), np.zeros(points.shape[1])
            self._unpulled = Unpulled(setup, origin, lambda _: whole)
        return points, mass

    def start_sphere(self) -> None:
        """In the next iteration."""
        self._fresh = True
        if self._unpulled is not None:
            self._unpulled.start_sphere()

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """The first pass, or what it would sum."""
        self._number += 1
        whole = self._unpulled is not None
        self._order = passes.Order(self._name, self._number, self._keep_x, step, self._fresh, whole)
        if self._unpulled is not None:
            self._numbers = Numbers.of(step, self._unpulled.shift)
            gram = self._unpulled.gram(self._numbers)
            return self._unpulled.totals(self._numbers)[None], np.array([[gram]])
        found = self._partitions.gather(
            self._pass("forward", passes.first_pass, self._partitions.same(self._order))
        )
        totals, gram = (reduce(add, column) for column in zip(*found, strict=True))
        return totals, gram

    def backward(self, theta: FloatArray) -> Sums:
        """The second pass; then the new states are all that is left of the old."""
        paths = self._paths() if self._checkpoint_due() else None
        order = replace(self._order, theta=theta)
        orders = (
            self._partitions.same(order)
            if paths is None
            else [replace(order, path=path) for path in paths]
        )
        self._states = self._pass("back", tasks.advance, orders)
        self._fresh = False
        sums: Sums = reduce(add, self._summarise())
        if self._unpulled is not None:
            self._unpulled.move(self._numbers, theta)
            self._unpulled.project(sums.mass)
        if paths is not None:
            self._cut(paths)
        return sums

    def pull(self, pull: FloatArray, stiffening: FloatArray) -> None:
        """Each partition its part, with the next pass."""
        pull, stiffening = pull.astype(self._dtype), stiffening.astype(self._dtype)
        self._pull_bytes += pull.nbytes
        self._pulls = [
            passes.Pull(pull[:, a:b], stiffening[a:b]) if b > a else None
            for a, b in pairwise(self._pulled_edges)
        ]

    def labels(self) -> IntArray:
        """The rounding of x."""
        found = self._partitions.map("labels", tasks.labels_of, self._states)
        return np.concatenate(found).astype(np.int64)

    def x(self) -> FloatArray:
        """The relaxed assignment, (m, k).

        Raises
        ------
        RuntimeError
            If it was not kept.
        """
        if not self._keep_x:
            m, k = self._shape
            raise RuntimeError(f"x of {m} groups and {k} clusters was not kept on the workers.")
        columns = self._partitions.shards, self._frames, self._states
        return np.concatenate(self._partitions.map("x", tasks.x_of, *columns), axis=1).T

    def _pass(self, name: str, function: Any, orders: list[passes.Order]) -> list[Any]:
        shards = self._partitions.shards
        columns = shards, self._frames, self._states, self._pulls, orders
        return self._partitions.submit(name, function, *columns)

    def _summarise(self) -> list[Any]:
        """The sums of the newest states, each read as soon as it is there."""
        ordered = self._partitions.submit("sums", tasks.summary, self._states, priority=1)
        found = self._partitions.gather(ordered)
        sums, self.pulled, saved = (list(column) for column in zip(*found, strict=True))
        self._saved = all(saved)
        return sums

    def _checkpoint_due(self) -> bool:
        if not self._checkpoints.on:
            return False
        waited = self._number - self._last
        return waited >= self._checkpoints.every or self._pull_bytes > PULL_BYTES

    def _paths(self) -> list[str]:
        return self._checkpoints.paths(self._number, len(self._partitions))

    def _cut(self, paths: list[str]) -> None:
        """Put states that come from files in the place of those with a long history."""
        if not self._saved:
            self._checkpoints.on = False
            return
        shards = self._partitions.shards
        self._partitions.locate(self._states)
        self._states = self._partitions.submit("restore", tasks.restore, shards, paths)
        self._checkpoints.forget(self._last)
        self._last, self._pull_bytes = self._number, 0


def _compact(part: Setup, dtype: Any) -> Setup:
    """The same in the smallest types, for the journey."""

    def floats(a: FloatArray | None) -> FloatArray | None:
        return None if a is None else a.astype(dtype)

    return replace(
        part,
        labels=part.labels.astype(smallest_type(part.n_clusters)),
        weight=floats(part.weight),
        metric=floats(part.metric),
        values=floats(part.values),
    )
