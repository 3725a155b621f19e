"""Where a descent starts: seeds, labels and centres that the user gave.

Seeds are the means of labelled groups where there are any (:mod:`corral.rules.pairs`), and drawn
by k-means++ for the other clusters.  They are matched to the clusters that have rules of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import ward_tree

from .._typing import FloatArray, IntArray
from ..constraints._checks import sums_by
from ..deadline import NEVER, Deadline, OutOfTime
from ..numbers import EXACT, STEP
from ..rows import MemoryRows, Rows
from ..rules import Rules
from ..rules.pairs import components
from ..settings import coarse_groups


class TimedDraws(np.random.RandomState):
    """The generator given, but it asks the deadline before every draw and raises OutOfTime.

    k-means++ draws for every seed, so this ends it wherever the rows are.
    """

    def __init__(self, given: np.random.RandomState, deadline: Deadline) -> None:
        super().__init__(given._bit_generator)
        self._deadline = deadline

    def uniform(self, *args: Any, **options: Any) -> Any:
        """As that of the generator."""
        self._deadline.check()
        return super().uniform(*args, **options)


@dataclass(frozen=True)
class Start:
    """Labels of the groups and centres (relative to the middle) to start from."""

    labels: IntArray
    centers: FloatArray


@dataclass(frozen=True)
class Labelled:
    """Means of the labelled groups of some clusters; the middle is not subtracted."""

    clusters: IntArray
    means: FloatArray


def labelled_means(
    rules: Rules, rows: Rows, random_state: np.random.RandomState, others: bool = False
) -> Labelled | None:
    """The means of the groups whose clusters are known; None if there are none.

    Of very many groups a part is drawn.  ``others`` asks for seeds that may differ from run to run:
    None also if the groups name all clusters.
    """
    known = rules.labelled
    if others and len(np.unique(known[:, 1])) == rules.n_clusters:
        return None
    most = coarse_groups(rules.n_clusters)
    if len(known) > most:
        known = known[random_state.choice(len(known), most, replace=False)]
    if not len(known):
        return None
    known = known[np.argsort(known[:, 0], kind="stable")]
    clusters, own = np.unique(known[:, 1], return_inverse=True)
    part = rows.take(known[:, 0])
    means: FloatArray = part.means(own, len(clusters)) + part.middle
    return Labelled(clusters, means)


def make_start(
    rules: Rules,
    rows: Rows,
    init: str | FloatArray | IntArray,
    random_state: np.random.RandomState,
    deadline: Deadline = NEVER,
    labelled: Labelled | None = None,
) -> Start:
    """Make the start that ``init`` describes.

    Parameters
    ----------
    rules : Rules
    rows : Rows
    init : "k-means++", "random", (k, d) centres, or labels of the groups (m,) or rows (n,)
        Centres and labels given by the user keep their order; seeds drawn here are put in the
        order that suits the pins and the ordered rules.
    random_state : RandomState
    deadline : Deadline, optional
        After a part of the time left, seeds are groups drawn at random.
    labelled : Labelled, optional
        Seeds of some clusters, where ``init`` is "k-means++".
    """
    k, m = rules.n_clusters, rules.n_groups
    if not isinstance(init, str):
        if init.ndim == 1:
            given: IntArray = init.astype(np.int64)
            given = given if len(given) == m else group_labels(rules, given)
            return Start(given, rows.means(given, k))
        centers: FloatArray = init - rows.middle
        return Start(rows.nearest(centers, deadline.first), centers)
    if init == "random":
        labels: IntArray = random_state.randint(k, size=m)
        labels[rules.pins[:, 0]] = rules.pins[:, 1]
        return Start(labels, rows.means(labels, k))
    timed = TimedDraws(random_state, deadline.share(STEP))
    try:
        if labelled is None:
            seeds = rows.seeds(k, _seed_rows(m, k, random_state), timed)
        else:
            whole = isinstance(rows, MemoryRows) and m <= coarse_groups(k)
            near = cast(MemoryRows, rows) if whole else rows.take(_seed_rows(m, k, random_state))
            seeds = _completed(labelled, k, near, timed)
            seeds -= rows.middle
    except OutOfTime:
        part = rows.take(np.sort(random_state.choice(m, k, replace=m < k)))
        seeds = np.stack([part.row(g) for g in range(k)]) + (part.middle - rows.middle)
        labelled = None
    if labelled is None or not (len(rules.pins) or len(rules.soft_pins)):
        seeds = seeds[_matched(rules, rows, seeds, deadline.first)]
    return Start(rows.nearest(seeds, deadline.first), seeds)


def _completed(
    labelled: Labelled, k: int, rows: MemoryRows, random_state: np.random.RandomState
) -> FloatArray:
    """Seeds of all clusters: the means given, then those of k-means++; with the middle."""
    seeds = np.empty((k, labelled.means.shape[1]))
    seeds[labelled.clusters] = labelled.means
    rest = np.setdiff1d(np.arange(k), labelled.clusters)
    every = np.arange(rows.shape[0])
    seeds[rest] = rows.seeds(len(rest), every, random_state, labelled.means) + rows.middle
    return seeds


def _seed_rows(m: int, k: int, random_state: np.random.RandomState) -> IntArray:
    """Groups that seeds are drawn from, in order."""
    most = max(coarse_groups(k), EXACT // k)
    return np.arange(m) if m <= most else np.sort(random_state.choice(m, most, replace=False))


def _matched(rules: Rules, rows: Rows, seeds: FloatArray, until: Deadline) -> IntArray:
    """The seed of each cluster, :func:`seed_order`."""

    def distances(groups: IntArray) -> FloatArray:
        part = rows.take(groups)
        return np.asarray(part.distances(seeds + (rows.middle - part.middle), until))

    return seed_order(rules, distances, lambda: rows.nearest(seeds, until))


def seed_order(
    rules: Rules, distances: Callable[[IntArray], FloatArray], nearest: Callable[[], IntArray]
) -> IntArray:
    """The seed of each cluster: near its pinned groups, else of a size that fits its bounds.

    ``distances`` tells those of some groups to all seeds, (g, k), and ``nearest`` the nearest seed
    of every group.
    """
    k, pins = rules.n_clusters, np.concatenate([rules.pins, rules.soft_pins.pins])
    if len(pins):
        groups, place = np.unique(pins[:, 0], return_inverse=True)
        cost = np.zeros((k, k))
        np.add.at(cost, pins[:, 1], distances(groups)[place])
        return np.asarray(linear_sum_assignment(cost)[1])
    wanted, matched = rules.capacity, np.arange(k)
    if wanted is not None:
        counts = sums_by(nearest(), rules.count, k)
        matched[np.argsort(wanted, kind="stable")] = np.argsort(counts, kind="stable")
    return matched


def group_labels(rules: Rules, row_labels: IntArray) -> IntArray:
    """The commonest label among the rows of each group; of several, that of earlier rows."""
    if rules.group is None:
        return row_labels.astype(np.int64)
    n, k, group = len(row_labels), rules.n_clusters, rules.group
    labels = row_labels[rules.first_rows].astype(np.int64)
    joined = np.flatnonzero(rules.count[group] > 1)
    groups, own = np.unique(group[joined], return_inverse=True)
    # Earlier rows count a little more, all together less than one vote.
    votes = 1.0 + (n - joined) / (n * (n + 1.0))
    counted = sums_by(own * k + row_labels[joined], votes, len(groups) * k)
    labels[groups] = counted.reshape(-1, k).argmax(axis=1)
    return labels


def ward_labels(rules: Rules, rows: MemoryRows) -> IntArray | None:
    """Labels of groups whose clusters are merged along edges of the graph by Ward's method.

    None without a graph, or of rows that are no dense points.  Sums and pins are left out.
    """
    net, k, given = rules.adjacency, rules.n_clusters, rows.given[0]
    if net is None or sparse.issparse(given):
        return None
    points = np.asarray(given, np.float64)[net.group]
    merges: list[tuple[float, int, int]] = []
    for c in range(int(net.component.max()) + 1):
        nodes = np.flatnonzero(net.component == c)
        if len(nodes) == 1:
            continue
        place = np.full(net.n_nodes, -1)
        place[nodes] = np.arange(len(nodes))
        inside = net.component[net.here] == c
        ends = place[net.here[inside]], place[net.near[inside]]
        graph = sparse.coo_matrix((np.ones(len(ends[0])), ends), shape=(len(nodes),) * 2)
        tree = ward_tree(points[nodes], connectivity=graph, return_distance=True)
        first = list(range(len(nodes)))
        for (a, b), height in zip(tree[0].tolist(), tree[4].tolist(), strict=True):
            first.append(first[a])
            merges.append((height, int(nodes[first[a]]), int(nodes[first[b]])))
    merges.sort()
    merges = merges[: max(net.n_nodes - k, 0)]
    pairs = np.array([(a, b) for _, a, b in merges], np.int64).reshape(-1, 2)
    found = components(net.n_nodes, pairs)
    return found[net.first[:-1]] % k


def draw(rules: Rules, size: int, random_state: np.random.RandomState) -> IntArray:
    """Groups drawn at random, in order; those whose clusters are known are among them.

    Where these are many they are drawn as often as others.
    """
    # A generator of its own draws a few of many without shuffling all.
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    known = np.unique(rules.labelled[:, 0])
    if not len(known) or 2 * len(known) > size:
        return np.sort(rng.choice(rules.n_groups, size, replace=False, shuffle=False))
    others = np.setdiff1d(np.arange(rules.n_groups), known, assume_unique=True)
    drawn = rng.choice(others, size - len(known), replace=False, shuffle=False)
    return np.sort(np.concatenate([known, drawn]))
