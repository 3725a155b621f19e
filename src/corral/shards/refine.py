"""Exact sizes and means in turn, over shards.

Groups of one row without pairs are assigned by prices, exactly.  Those of several rows or with
cannot-links are *tied*: they are placed first, where the prices of the round before would have
them, cannot-links put right component by component; the others fill what room is left.  Where they
would leave too little of it, they stay where they were.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import FloatArray, IntArray
from ..assign import OutOfTime
from ..assign.transport import first_prices, ship
from ..polish.refinement import (
    MAX_ROUNDS,
    NEGLIGIBLE,
    NEGLIGIBLE_IF_LARGE,
    PATIENCE,
    assign_patiently,
)
from ..problem import Problem, SizeBounds
from .costs import ShardCosts, ShardScan
from .geometry import ShardGeometry, by_shard
from .holder import Holder, shares
from .passes import placed_at
from .transforms import with_free

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ShardAnswer:
    """Rows in their clusters, with the means and the inertia of these."""

    scan: ShardScan
    centers: FloatArray
    objective: float


@dataclass(frozen=True)
class Placement:
    """What a problem asks of an assignment over shards.

    Attributes
    ----------
    problem : Problem
    geometry : ShardGeometry
    holder : Holder
        The geometry's, with the tied groups marked.
    tied, free : (t,), (f,) arrays
        Numbers of the groups.
    pairs : (e, 2) array
        Cannot-links, counted among the tied groups.
    component : (t,) array
        Of the tied groups in the graph of the pairs.
    """

    problem: Problem
    geometry: ShardGeometry
    holder: Holder
    tied: IntArray
    free: IntArray
    pairs: IntArray
    component: IntArray

    @classmethod
    def of(cls, problem: Problem, geometry: ShardGeometry) -> Placement:
        """Tell tied groups from free ones."""
        alone = problem.count == 1
        alone[problem.apart.ravel()] = False
        tied, holder = np.flatnonzero(~alone), geometry.holder
        if len(tied):
            holder = holder.transform(with_free, each=shares(holder, alone))
        pairs = np.searchsorted(tied, problem.apart)
        graph = sparse.coo_array(
            (np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), shape=(len(tied), len(tied))
        )
        component = connected_components(graph, directed=False)[1]
        return cls(problem, geometry, holder, tied, np.flatnonzero(alone), pairs, component)

    def assign(
        self,
        centers: FloatArray,
        prices: FloatArray | None,
        deadline: float | None = None,
        before: IntArray | None = None,
    ) -> tuple[ShardScan, FloatArray, IntArray]:
        """Everything in its place, the prices of the sizes, and the labels of the tied groups.

        Parameters
        ----------
        centers : (k, d) array
        prices : (k,) array or None
            Of the round before.
        deadline : float, optional
        before : (t,) array, optional
            The tied groups' labels in the round before.

        Raises
        ------
        NoAssignment
            The tied groups leave no room for the others, and there was no round before.
        """
        k, sizes = self.problem.n_clusters, self.problem.sizes
        costs = ShardCosts(self.holder, self.geometry, centers, self.free)
        if prices is None and sizes is not None and len(self.tied):
            part = len(self.free) / float(self.problem.count.sum())
            prices = first_prices(costs, _floor(sizes.lower, part), _floor(sizes.upper, part))
        price = np.zeros(k) if prices is None else prices
        labels = self._apart(costs, price, self._preferred(costs, price), deadline)
        if sizes is None:
            return costs.scan(np.zeros(k)).patched(self.tied, labels), price, labels
        if before is not None and not self._leaves_room(labels, sizes):
            labels = before
        taken = self._taken(labels)
        found, price = ship(costs, sizes.lower - taken, sizes.upper - taken, prices)
        scan = found if isinstance(found, ShardScan) else _all_placed(costs, found)
        return scan.patched(self.tied, labels), price, labels

    def _taken(self, labels: IntArray) -> IntArray:
        """Rows of the tied groups in each cluster."""
        count = self.problem.count[self.tied]
        return np.bincount(labels, count, minlength=self.problem.n_clusters).astype(np.int64)

    def _leaves_room(self, labels: IntArray, sizes: SizeBounds) -> bool:
        """Whether the free rows can fill up what the tied groups leave."""
        taken = self._taken(labels)
        lower, upper = np.maximum(sizes.lower - taken, 0), sizes.upper - taken
        return bool(np.all(upper >= 0) and lower.sum() <= len(self.free) <= upper.sum())

    def _preferred(self, costs: ShardCosts, prices: FloatArray) -> IntArray:
        """Where the tied groups would be at the prices, each row of a group at its price."""
        if not len(self.tied):
            return np.empty(0, np.int64)
        rows = by_shard(self.holder, self.tied)
        cuts = np.cumsum([len(own) for own in rows])[:-1]
        counts = np.split(self.problem.count[self.tied], cuts)
        each = list(zip(rows, counts, strict=True))
        return np.concatenate(self.holder.map(placed_at, costs.ask(prices), each=each))

    def _apart(
        self, costs: ShardCosts, prices: FloatArray, labels: IntArray, deadline: float | None
    ) -> IntArray:
        """Labels that break no cannot-link: components with a broken one are solved anew."""
        clash = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        if not clash.any():
            return labels
        bad = np.zeros(int(self.component.max()) + 1, bool)
        bad[self.component[self.pairs[clash, 0]]] = True
        rows = np.flatnonzero(bad[self.component])
        inside = bad[self.component[self.pairs[:, 0]]]
        count = self.problem.count[self.tied[rows]]
        part = Problem(
            points=np.empty((len(rows), 0)),
            weight=np.ones(len(rows)),
            count=count,
            scatter=0.0,
            group=np.arange(len(rows)),
            n_clusters=self.problem.n_clusters,
            apart=np.searchsorted(rows, self.pairs[inside]),
        )
        cost = costs.of(self.tied[rows]) + count[:, None] * prices
        labels = labels.copy()
        labels[rows] = assign_patiently(part, cost, None, deadline, patience=PATIENCE).labels
        return labels


def _floor(bounds: IntArray, part: float) -> IntArray:
    floored: IntArray = np.floor(bounds * part).astype(np.int64)
    return floored


def _all_placed(costs: ShardCosts, labels: IntArray) -> ShardScan:
    scan = costs.scan(np.zeros(costs.shape[1])).patched(costs.free, labels)
    return replace(scan, counted=np.bincount(labels, minlength=costs.shape[1]))


def refine_shards(
    placement: Placement, centers: FloatArray, deadline: float | None = None
) -> ShardAnswer:
    """Alternate exact assignment and means until the objective stops falling.

    Parameters
    ----------
    placement : Placement
    centers : (k, d) array
    deadline : float, optional

    Raises
    ------
    NoAssignment
        From the first round: the tied groups leave no room for the others.
    OutOfTime
        From the first round.
    """
    best: ShardAnswer | None = None
    prices: FloatArray | None = None
    tied: IntArray | None = None
    least = NEGLIGIBLE_IF_LARGE if placement.problem.large else NEGLIGIBLE
    for number in range(1, MAX_ROUNDS + 1):
        if deadline is not None and time.monotonic() > deadline:
            break
        try:
            scan, prices, tied = placement.assign(centers, prices, deadline, tied)
        except OutOfTime:
            break
        means = scan.means(centers)
        answer = ShardAnswer(scan, means, scan.inertia(means))
        logger.info("exact assignment %d: objective %.8g", number, answer.objective)
        if best is not None and best.objective - answer.objective <= least * best.objective:
            break
        best, centers = answer, means
    if best is None:
        raise OutOfTime
    return best
