"""What the solvers ask of rows, wherever these are: in memory, on a GPU, in Dask's partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from .._scale import Scale
from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from .metrics import Metric
from .shard import Each


class Rows(Protocol):
    """Contracted points, one a group.

    Centres are (k, d) arrays in this process's memory, relative to ``middle``.  Where rows are far
    from this process, labels stay with them: ``where`` below is an array of labels or
    :class:`.shards.ShardLabels`.
    """

    far: bool  # whether the rows are outside this process's memory
    shape: tuple[int, int]  # groups and features
    dtype: Any  # NumPy's dtype of the points
    weight: FloatArray  # sum of the sample weights of each group, (m,)
    scatter: float  # inertia inside the groups, the same for every assignment

    @property
    def middle(self) -> FloatArray:
        """The point that centres are relative to, (d,)."""

    def take(self, groups: IntArray) -> Any:
        """Some of the groups in this process's memory, a :class:`.memory.MemoryRows`."""

    def part(self, groups: IntArray) -> Any:
        """Some of the groups, given by sorted numbers, where they are."""

    def home(self) -> Any:
        """All groups in this process's memory."""

    def seeds(
        self, n_clusters: int, rows: IntArray, random_state: np.random.RandomState
    ) -> FloatArray:
        """k-means++ centres drawn from some of the groups."""

    def nearest(self, centers: FloatArray, deadline: Deadline = NEVER) -> IntArray:
        """The nearest centre of each group, (m,); raises OutOfTime after the deadline."""

    def means(self, where: Any, n_clusters: int, fallback: FloatArray | None = None) -> FloatArray:
        """Centres of the clusters; one without weight keeps its fallback."""

    def measured(
        self, where: Any, n_clusters: int, centers: FloatArray
    ) -> tuple[FloatArray, float]:
        """Centres of the clusters, and the inertia there; one without weight keeps its own."""


class Table(Protocol):
    """The rows of X as the user gave them, wherever they are.

    The audit looks at these, not at what the solvers made of them.  Solvers see points and weights
    in the units of ``scale``.
    """

    lengths: Sequence[int]  # number of rows in each piece
    n_features: int
    dtype: Any  # NumPy's dtype of the points
    weight: FloatArray | None  # sample weights; None if all are one
    place: str  # where the rows are: "memory", "gpu" or "dask"
    metric: Metric  # what they are compared by

    @property
    def scale(self) -> Scale:
        """The units of the rows that :meth:`rows` gives."""

    def measured(self, metric: Metric) -> Any:
        """The same by another metric."""

    def rows(self, group: IntArray | None) -> Rows:
        """The contracted points, given the group of each row."""

    def home(self) -> Any:
        """The same in this process's memory, a :class:`.tables.MemoryTable`."""

    def nearest(self, centers: FloatArray) -> IntArray:
        """Nearest centre of each row, (n,)."""

    def map_points(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """``function(points, *args, *own)`` for every piece, in order."""
