"""Larger steps out of a local optimum: each proposes centres, and an order of the sizes.

A proposal is only a place to start from again; polish refines it by exact assignment and keeps
it if the objective falls.  The most promising come first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import FloatArray, IntArray
from ..assign import prices
from ..constraints._checks import sums_by
from ..geometry import Geometry
from ..initialise import match_sizes
from ..problem import Problem

Proposal = tuple[Problem, FloatArray]


def swap_sizes(
    problem: Problem, geometry: Geometry, labels: IntArray, centers: FloatArray
) -> Iterator[Proposal]:
    """Exchange the size bounds of two clusters, where their order is free.

    To first order that changes the cost by ``(u_j - u_l) (lambda_j - lambda_l)``, lambda the
    prices of the sizes.
    """
    sizes = problem.sizes
    if sizes is None or not problem.sizes_vary:
        return
    price = prices(labels, geometry.costs(centers), sizes)
    middle = (sizes.lower + np.minimum(sizes.upper, problem.count.sum())) / 2.0
    a, b = np.triu_indices(problem.n_clusters, 1)
    differ = (sizes.lower[a] != sizes.lower[b]) | (sizes.upper[a] != sizes.upper[b])
    a, b = a[differ], b[differ]
    for pair in np.argsort((middle[a] - middle[b]) * (price[a] - price[b]), kind="stable"):
        order = np.arange(problem.n_clusters)
        order[[a[pair], b[pair]]] = b[pair], a[pair]
        yield problem.with_sizes_in_order(order), centers


def swap_clusters(
    problem: Problem, geometry: Geometry, labels: IntArray, centers: FloatArray
) -> Iterator[Proposal]:
    """Exchange the places of two clusters that have different rules, the nearest two first."""
    rules = problem.cluster_rules()
    a, b = np.triu_indices(problem.n_clusters, 1)
    differ = np.any(rules[:, a] != rules[:, b], axis=0)
    a, b = a[differ], b[differ]
    gaps = ((centers[a] - centers[b]) ** 2).sum(axis=1)
    for pair in np.argsort(gaps, kind="stable"):
        swapped = centers.copy()
        swapped[[a[pair], b[pair]]] = centers[[b[pair], a[pair]]]
        yield problem, swapped


def relocate(
    problem: Problem,
    geometry: Geometry,
    labels: IntArray,
    centers: FloatArray,
    least: float = -np.inf,
) -> Iterator[Proposal]:
    """Give up one cluster and split another: most saved by the split less the loss first.

    ``least`` is what must be saved, costs alone considered.
    """
    k = problem.n_clusters
    distances = geometry.distances(centers)
    rows = np.arange(len(labels))
    own = distances[rows, labels]
    distances[rows, labels] = np.inf
    loss = sums_by(labels, geometry.weight * (distances.min(axis=1) - own), k)
    halves = [geometry.halves(np.flatnonzero(labels == j), centers[j]) for j in range(k)]
    saved = np.array([gain for gain, _ in halves])
    net = saved[None, :] - loss[:, None]
    np.fill_diagonal(net, -np.inf)
    for flat in np.argsort(-net, axis=None, kind="stable"):
        given_up, split = divmod(int(flat), k)
        if net[given_up, split] <= least:
            return
        if saved[split] <= 0.0:
            continue
        moved = centers.copy()
        moved[[given_up, split]] = halves[split][1]
        yield from _in_both_orders(problem, geometry, moved)


def kick(
    problem: Problem,
    geometry: Geometry,
    labels: IntArray,
    centers: FloatArray,
    random_state: np.random.RandomState,
) -> Iterator[Proposal]:
    """Move a random centre to a random point, drawn as k-means++ draws, without end."""
    own = geometry.distances(centers)[np.arange(len(labels)), labels] * geometry.weight
    if own.sum() <= 0.0:
        return
    chance = own / own.sum()
    while True:
        moved = centers.copy()
        point = random_state.choice(len(labels), p=chance)
        moved[random_state.randint(len(centers))] = geometry.row(point)
        yield from _in_both_orders(problem, geometry, moved)


def _in_both_orders(
    problem: Problem, geometry: Geometry, centers: FloatArray
) -> Iterator[Proposal]:
    """With the sizes as they are, and as the centres' own sizes would have them."""
    yield problem, centers
    nearest = geometry.distances(centers).argmin(axis=1)
    counts = sums_by(nearest, problem.count, problem.n_clusters)
    matched = match_sizes(problem, counts)
    if matched.sizes is not None and problem.sizes is not None:
        same = np.array_equal(matched.sizes.lower, problem.sizes.lower)
        if not (same and np.array_equal(matched.sizes.upper, problem.sizes.upper)):
            yield matched, centers
