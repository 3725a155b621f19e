"""Where a run starts: seeds, matched to the clusters that have rules of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import kmeans_plusplus

from ._typing import FloatArray, IntArray, Matrix
from .constraints._checks import sums_by
from .geometry import Geometry
from .problem import Problem, first_rows

#: Seeds are drawn from so many of the points.
SEED_ROWS = 50_000


@dataclass(frozen=True)
class Start:
    """Labels of the groups and centres (relative to the middle) to start from."""

    labels: IntArray
    centers: FloatArray


def initialise(
    problem: Problem,
    geometry: Geometry,
    init: str | FloatArray | IntArray,
    random_state: np.random.RandomState,
) -> Start:
    """Make the start that ``init`` describes.

    Parameters
    ----------
    problem : Problem
    geometry : Geometry
    init : "k-means++", "random", (k, d) centres or (n,) labels
        Centres and labels given by the user keep their order; seeds drawn here are put in the
        order that suits the pins and the ordered rules.
    random_state : RandomState
    """
    if isinstance(init, str):
        if init == "random":
            labels: IntArray = random_state.randint(problem.n_clusters, size=problem.n_groups)
            labels[problem.pins[:, 0]] = problem.pins[:, 1]
            return Start(labels, geometry.means(labels))
        points, weight, rows = problem.points, problem.weight, seed_rows(problem, random_state)
        if len(rows) < problem.n_groups:
            points, weight = points[rows], weight[rows]
        seeds = plus_plus(points, weight, problem.n_clusters, random_state)
        seeds -= geometry.middle
        centers = seeds[_matched(problem, geometry, seeds)]
        return Start(geometry.distances(centers).argmin(axis=1), centers)
    if init.ndim == 2:
        centers = init - geometry.middle
        return Start(geometry.distances(centers).argmin(axis=1), centers)
    labels = group_labels(problem, init.astype(np.int64))
    return Start(labels, geometry.means(labels))


def match_sizes(problem: Problem, counts: FloatArray) -> Problem:
    """Hand free size bounds to clusters by rank: the largest bounds to the largest count."""
    sizes = problem.sizes
    if sizes is None or not problem.sizes_vary:
        return problem
    rank = np.argsort(np.argsort(counts, kind="stable"), kind="stable")
    return problem.with_sizes_in_order(np.lexsort((sizes.upper, sizes.lower))[rank])


def match_capacities(problem: Problem) -> Problem | None:
    """Hand free size bounds to clusters by what these may hold, or None if that is the same."""
    capacity = _capacities(problem)
    return None if capacity is None else match_sizes(problem, capacity)


def _capacities(problem: Problem) -> FloatArray | None:
    """What each cluster may hold, of the first total that tells clusters apart."""
    for total in problem.totals:
        for bound in (total.upper, total.lower):
            if np.isfinite(bound).all() and np.any(bound != bound[0]):
                return bound
    return None


def seed_rows(problem: Problem, random_state: np.random.RandomState) -> IntArray:
    """Groups that seeds are drawn from, in order."""
    m = problem.n_groups
    if m <= SEED_ROWS:
        return np.arange(m)
    return np.sort(random_state.choice(m, SEED_ROWS, replace=False))


def plus_plus(
    points: Matrix, weight: FloatArray, n_clusters: int, random_state: np.random.RandomState
) -> FloatArray:
    """k-means++ seeds; with fewer points than clusters, some stand twice."""
    k, m = n_clusters, points.shape[0]
    if m >= k:
        given = weight if weight.any() else np.ones(m)
        seeds, _ = kmeans_plusplus(points, k, sample_weight=given, random_state=random_state)
    else:
        seeds = points[np.concatenate([np.arange(m), random_state.randint(m, size=k - m)])]
    dense = seeds if isinstance(seeds, np.ndarray) else seeds.toarray()
    return dense.astype(np.float64)


def _matched(problem: Problem, geometry: Geometry, seeds: FloatArray) -> IntArray:
    """The seed of each cluster: near its pinned groups, else of a size that fits its bounds."""
    k = problem.n_clusters
    distances = geometry.distances(seeds)
    if len(problem.pins):
        cost = np.zeros((k, k))
        np.add.at(cost, problem.pins[:, 1], distances[problem.pins[:, 0]])
        return np.asarray(linear_sum_assignment(cost)[1])
    wanted = _capacities(problem)
    sizes = problem.sizes
    if wanted is None and sizes is not None and sizes.ordered and not sizes.interchangeable:
        wanted = (sizes.lower + sizes.upper) / 2.0
    matched = np.arange(k)
    if wanted is not None:
        counts = sums_by(distances.argmin(axis=1), problem.count, k)
        matched[np.argsort(wanted, kind="stable")] = np.argsort(counts, kind="stable")
    return matched


def group_labels(problem: Problem, row_labels: IntArray) -> IntArray:
    """The commonest label among the rows of each group; of several, that of earlier rows."""
    n, k, group = len(row_labels), problem.n_clusters, problem.group
    labels = row_labels[first_rows(group)].astype(np.int64)
    joined = np.flatnonzero(problem.count[group] > 1)
    groups, own = np.unique(group[joined], return_inverse=True)
    # Earlier rows count a little more, all together less than one vote.
    votes = 1.0 + (n - joined) / (n * (n + 1.0))
    counted = sums_by(own * k + row_labels[joined], votes, len(groups) * k)
    labels[groups] = counted.reshape(-1, k).argmax(axis=1)
    return labels
