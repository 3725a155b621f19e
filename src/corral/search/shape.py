"""What the search asks of a cost model, and the model of k-means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from .._typing import BoolArray, FloatArray, IntArray
from ..deadline import NEVER, Deadline
from ..numbers import EXACT
from ..rows import MemoryRows
from ..rows.arcs import ArcRows
from ..rules import Rules
from .model import Priced, model_of, table_model
from .prices import Blocks


class Shape(Protocol):
    """How clusters are described, and what groups cost in them.

    ``follows`` says that the compiled moves know how clusters change with their members.  Otherwise
    they see a table of costs, and the clusters are made anew after each descent.  ``among_groups``
    says that the centre of a cluster is one of the groups, or of other candidates.  ``mixes`` says
    that clusters are to be alike, so that no cluster is the nearest of a group.
    """

    @property
    def follows(self) -> bool:
        """Whether clusters follow the moves."""

    @property
    def among_groups(self) -> bool:
        """Whether centres are groups."""

    @property
    def mixes(self) -> bool:
        """Whether clusters are to be alike."""

    @property
    def shape(self) -> tuple[int, int]:
        """Groups, and numbers that a cost depends on."""

    @property
    def making(self) -> float:
        """Work of making all clusters from labels, in about nanoseconds."""

    def priced(self, rules: Rules) -> Priced:
        """The model of the compiled moves."""

    def costs(self, clusters: Any, deadline: Deadline = NEVER) -> Blocks:
        """What each group costs in each cluster."""

    def table(self, clusters: Any) -> FloatArray:
        """The same as one array, (m, k)."""

    def clusters(self, labels: IntArray, known: Any = None) -> Any:
        """The best clusters of labels; an empty one is as in ``known``."""

    def objective(self, labels: IntArray, clusters: Any) -> float:
        """What the labels cost."""

    def own_costs(self, labels: IntArray, clusters: Any) -> FloatArray:
        """What each group costs in its own cluster, (m,), at least 0 but for a constant."""

    def some_costs(self, groups: IntArray, clusters: Any) -> FloatArray:
        """What some groups cost in each cluster, (g, k)."""

    def gaps(self, clusters: Any, others: Any) -> FloatArray:
        """How far clusters are from others, in the order of costs, (k, l)."""

    def some(self, clusters: Any, chosen: IntArray) -> Any:
        """Some of the clusters."""

    def seeded(
        self, groups: IntArray, number: int, random_state: np.random.RandomState
    ) -> IntArray:
        """The nearest of so many seeds, drawn among some groups, of each of these groups."""

    def mixed(self, first: Any, second: Any, mine: BoolArray) -> Any:
        """The clusters of the first where they are chosen, and of the second elsewhere."""

    def moved(self, clusters: Any, cluster: int, group: int) -> Any:
        """The clusters with one of them moved to a group."""

    def part(self, groups: IntArray, n_clusters: int) -> Shape | None:
        """The same of some groups in so many clusters; None if that has no rounds of its own."""


def size_of(rows: MemoryRows) -> tuple[int, int]:
    """Groups, and numbers that are read for the distance of one of them; few if it is sparse."""
    m, d = rows.shape
    given: Any = rows.given[0]
    return m, d if not sparse.issparse(given) else 2 * given.nnz // max(m, 1) + 1


class MeansShape:
    """Clusters around centres: k-means, by Euclidean distance, cosine or great circles."""

    def __init__(self, rows: MemoryRows, n_clusters: int) -> None:
        self.rows, self.n_clusters = rows, n_clusters
        self.follows = not isinstance(rows, ArcRows)
        self.shape, self.among_groups, self.mixes = size_of(rows), False, False
        self.making = float(np.prod(self.shape))

    def priced(self, rules: Rules) -> Priced:
        """Points, or a table of zeros that every descent fills."""
        if self.follows:
            return model_of(rules, self.rows)
        return table_model(rules)

    def costs(self, clusters: FloatArray, deadline: Deadline = NEVER) -> Blocks:
        """Weight times squared distance, a block of groups at a time."""
        return RowCosts(self.rows, clusters)

    def table(self, clusters: FloatArray) -> FloatArray:
        """The same as one array."""
        return np.ascontiguousarray(self.rows.costs(clusters).dense())

    def clusters(self, labels: IntArray, known: FloatArray | None = None) -> FloatArray:
        """Centres relative to the middle of the rows."""
        return self.rows.means(labels, self.n_clusters, known)

    def objective(self, labels: IntArray, clusters: FloatArray) -> float:
        """The inertia."""
        return self.rows.inertia(labels, clusters)

    def own_costs(self, labels: IntArray, clusters: FloatArray) -> FloatArray:
        """Weight times squared distance to the own centre."""
        return self.rows.own_costs(labels, clusters)

    def some_costs(self, groups: IntArray, clusters: FloatArray) -> FloatArray:
        """Weight times squared distance."""
        part = self.rows.take(groups)
        centers = clusters + (self.rows.middle - part.middle)
        return np.asarray(part.costs(centers).dense())

    def gaps(self, clusters: FloatArray, others: FloatArray) -> FloatArray:
        """Squared distances of centres."""
        return self.rows.distance.between(clusters, others)

    def some(self, clusters: FloatArray, chosen: IntArray) -> FloatArray:
        """Some of the centres."""
        return clusters[chosen]

    def seeded(
        self, groups: IntArray, number: int, random_state: np.random.RandomState
    ) -> IntArray:
        """By k-means++ and squared distances."""
        part = self.rows.take(groups)
        return part.nearest(part.seeds(number, np.arange(len(groups)), random_state))

    def mixed(self, first: FloatArray, second: FloatArray, mine: BoolArray) -> FloatArray:
        """Centres of both."""
        return np.where(mine[:, None], first, second)

    def moved(self, clusters: FloatArray, cluster: int, group: int) -> FloatArray:
        """A centre on a group."""
        centers = clusters.copy()
        centers[cluster] = self.rows.row(group)
        return centers

    def part(self, groups: IntArray, n_clusters: int) -> MeansShape:
        """The same of some groups in so many clusters."""
        return MeansShape(self.rows.take(groups), n_clusters)


class RowCosts(Blocks):
    """Costs of rows in memory at centres."""

    def __init__(self, rows: MemoryRows, centers: FloatArray) -> None:
        self.rows, self.centers = rows, centers
        self._kept: FloatArray | None = None

    def blocks(self, deadline: Deadline) -> Iterator[tuple[slice, FloatArray]]:
        """Computed anew in every pass, unless they are few."""
        m, k = self.rows.shape[0], len(self.centers)
        if m * k <= EXACT:
            if self._kept is None:
                self._kept = np.ascontiguousarray(self.rows.costs(self.centers, deadline).dense())
            yield slice(0, m), self._kept
            return
        start = 0
        for block in self.rows.cost_blocks(self.centers, deadline):
            yield slice(start, start + len(block)), block
            start += len(block)
