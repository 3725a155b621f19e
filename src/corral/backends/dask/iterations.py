"""ADMM over the partitions of a Dask cluster.

The setup and the states of the partitions are results of tasks, which Dask holds where they were
computed.  An iteration is three tasks a partition: the first pass gives small totals, the second a
new state, and the third the small part of that state.  If groups are alike and their number is the
only total, the totals follow from the sums of the iteration before, and the first pass is left
out.  Old states are released as soon as the new ones are submitted, so that Dask frees each after
its last use.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import accumulate, pairwise
from operator import add
from typing import Any, Self

import numpy as np

from ..._typing import FloatArray, IntArray
from ...admm.copies import TieCopies, Ties
from ...admm.crew import Setup
from ...admm.unpulled import Numbers, Unpulled
from ...admm.updates import Step, Sums
from ...plan.thresholds import DASK_X, PULL_BYTES
from . import partition_passes as passes
from .cluster import Partitions
from .state import Checkpoints, smallest_type


class DaskCrew:
    """Makes ADMM's passes where the partitions are; see :class:`corral.admm.crew.Crew`.

    ``lengths`` are the numbers of groups in the partitions, and ``dtype`` is that of the points.
    """

    def __init__(self, partitions: Partitions, lengths: Sequence[int], dtype: Any) -> None:
        self._partitions, self._lengths, self.dtype = partitions, lengths, dtype
        self.release()

    def release(self) -> None:
        """Release the states of a run on the workers, and remove its checkpoints."""
        self._states: list[Any] = []
        self._frames: list[Any] = []
        self._checkpoints: Any = None

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Workers keep blocks from pass to pass, and drop them at the end."""
        yield self
        self._partitions.map("forget", passes.forget, self._partitions.shards)

    def begin(self, setup: Setup) -> tuple[FloatArray, FloatArray]:
        """Start a run in every partition."""
        self.release()  # of an earlier run
        self._shape = len(setup.labels), setup.n_clusters
        self._keep_x = len(setup.labels) * setup.n_clusters <= DASK_X
        self._unpulled: Unpulled | None = None
        self._name, self._number, self._fresh = uuid.uuid4().hex, 0, False
        edges = [0, *accumulate(self._lengths)]
        parts = [_compact(setup.part(a, b), self.dtype) for a, b in pairwise(edges)]
        self._pulled_edges = [0, *accumulate(len(part.pulled) for part in parts)]
        self._pulls: list[passes.Pull | None] = [None] * len(parts)
        partitions = self._partitions
        self._checkpoints = Checkpoints(partitions.client)
        self._last, self._pull_bytes, shards = 0, 0, partitions.shards
        partitions.locate(shards)
        self._frames = partitions.submit("setup", passes.frame, shards, parts)
        run, keep = partitions.same(self._name), partitions.same(self._keep_x)
        self._states = partitions.submit("start", passes.start, shards, self._frames, run, keep)
        points, mass = (reduce(add, column) for column in zip(*self._summarise(), strict=True))
        if setup.plain:
            # Rows of x sum to one, so these are the sums of all points.
            whole, origin = points.sum(axis=0), np.zeros(points.shape[1])
            self._unpulled = Unpulled(setup, origin, lambda _: whole)
        return points, mass

    def start_sphere(self) -> None:
        """In the next iteration."""
        self._fresh = True
        if self._unpulled is not None:
            self._unpulled.start_sphere()

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """The first pass, or its sums without a pass."""
        self._number += 1
        whole = self._unpulled is not None
        self._order = passes.Order(self._name, self._number, self._keep_x, step, self._fresh, whole)
        if self._unpulled is not None:
            self._numbers = Numbers.of(step, self._unpulled.shift)
            gram = self._unpulled.gram(self._numbers)
            return self._unpulled.totals(self._numbers)[None], np.array([[gram]])
        orders = self._partitions.same(self._order)
        found = self._partitions.gather(self._pass("forward", passes.first_pass, orders))
        totals, gram = (reduce(add, column) for column in zip(*found, strict=True))
        return totals, gram

    def backward(self, step: Step, theta: FloatArray) -> Sums:
        """The second pass, with the step of the first; the new states replace the old ones."""
        paths, order = self._paths(), replace(self._order, theta=theta)
        orders = [replace(order, path=path) for path in paths] or self._partitions.same(order)
        self._states = self._pass("back", passes.advance, orders)
        self._fresh = False
        sums: Sums = reduce(add, self._summarise())
        if self._unpulled is not None:
            self._unpulled.move(self._numbers, theta)
            self._unpulled.project(sums.mass)
        if paths:
            self._cut(paths)
        return sums

    def ties(self, ties: Ties) -> TieCopies:
        """In this process's memory."""
        return TieCopies(ties, self.pulled_x())

    def pulled_x(self) -> FloatArray:
        """X of the groups that pairs and linear rows pull, of the last pass, (k, e)."""
        return np.concatenate(self._pulled, axis=1)

    def pull(self, pull: FloatArray, stiffening: FloatArray) -> None:
        """Each partition its part, with the next pass."""
        pull, stiffening = pull.astype(self.dtype), stiffening.astype(self.dtype)
        self._pull_bytes += pull.nbytes
        self._pulls = [
            passes.Pull(pull[:, a:b], stiffening[a:b]) if b > a else None
            for a, b in pairwise(self._pulled_edges)
        ]

    def labels(self) -> IntArray:
        """The rounding of x; RuntimeError if no run has begun."""
        if not self._states:
            raise RuntimeError("no run has begun; call `begin` first")
        found = self._partitions.map("labels", passes.labels_of, self._states)
        return np.concatenate(found).astype(np.int64)

    def x(self) -> FloatArray:
        """The relaxed assignment, (m, k); RuntimeError if it was not kept."""
        if not self._keep_x:
            m, k = self._shape
            raise RuntimeError(f"x of {m} groups and {k} clusters was not kept on the workers.")
        columns = self._partitions.shards, self._frames, self._states
        return np.concatenate(self._partitions.map("x", passes.x_of, *columns), axis=1).T

    def _pass(self, name: str, function: Any, orders: list[passes.Order]) -> list[Any]:
        shards = self._partitions.shards
        columns = shards, self._frames, self._states, self._pulls, orders
        return self._partitions.submit(name, function, *columns)

    def _summarise(self) -> list[Any]:
        """The sums of the newest states, each read as soon as it is there."""
        submitted = self._partitions.submit("sums", passes.summary, self._states, priority=1)
        found = self._partitions.gather(submitted)
        sums, self._pulled, saved = (list(column) for column in zip(*found, strict=True))
        self._saved = all(saved)
        return sums

    def _paths(self) -> list[str]:
        """Where the partitions save their states now; nowhere if no checkpoint is due."""
        kept, waited = self._checkpoints, self._number - self._last
        if not kept.on or (waited < kept.every and self._pull_bytes <= PULL_BYTES):
            return []
        paths: list[str] = kept.paths(self._number, len(self._partitions))
        return paths

    def _cut(self, paths: list[str]) -> None:
        """Replace the states by those in the files, which have no history for Dask to remember."""
        if not self._saved:
            self._checkpoints.on = False
            return
        shards = self._partitions.shards
        self._partitions.locate(self._states)
        self._states = self._partitions.submit("restore", passes.restore, shards, paths)
        self._checkpoints.forget(self._last)
        self._last, self._pull_bytes = self._number, 0


def _compact(part: Setup, dtype: Any) -> Setup:
    """The same in the smallest types, so that less travels."""

    def floats(a: FloatArray | None) -> FloatArray | None:
        return None if a is None else a.astype(dtype)

    return replace(
        part,
        labels=part.labels.astype(smallest_type(part.n_clusters)),
        weight=floats(part.weight),
        metric=floats(part.metric),
        values=floats(part.values),
    )
