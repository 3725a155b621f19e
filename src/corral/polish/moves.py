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
from ..deadline import OutOfTime
from ..presolve import Rules
from ..problem import Problem
from ..start import match_sizes

#: Rules, with the sizes in some order, and centres to start from.
Proposal = tuple[Rules, FloatArray]


def swap_sizes(problem: Problem, labels: IntArray, centers: FloatArray) -> Iterator[Proposal]:
    """Exchange the size bounds of two clusters, where their order is free.

    To first order that changes the cost by ``(u_j - u_l) (lambda_j - lambda_l)``, lambda the
    prices of the sizes.
    """
    rules, sizes = problem.rules, problem.rules.sizes
    if sizes is None or not rules.sizes_vary:
        return
    cost = problem.near.costs(centers).dense()
    try:
        price = prices(labels, cost, sizes, deadline=problem.deadline)
    except OutOfTime:
        return
    lower, upper = sizes.aimed
    middle = (lower + np.minimum(upper, rules.n_rows)) / 2.0
    a, b = np.triu_indices(rules.n_clusters, 1)
    differ = np.any(sizes.columns[:, a] != sizes.columns[:, b], axis=0)
    a, b = a[differ], b[differ]
    for pair in np.argsort((middle[a] - middle[b]) * (price[a] - price[b]), kind="stable"):
        order = np.arange(rules.n_clusters)
        order[[a[pair], b[pair]]] = b[pair], a[pair]
        yield rules.with_sizes_in_order(order), centers


def swap_clusters(problem: Problem, labels: IntArray, centers: FloatArray) -> Iterator[Proposal]:
    """Exchange the places of two clusters that have different rules, the nearest two first."""
    own = problem.rules.cluster_rules()
    a, b = np.triu_indices(problem.n_clusters, 1)
    differ = np.any(own[:, a] != own[:, b], axis=0)
    a, b = a[differ], b[differ]
    gaps = problem.rows.distance.between(centers, centers)[a, b]
    for pair in np.argsort(gaps, kind="stable"):
        swapped = centers.copy()
        swapped[[a[pair], b[pair]]] = centers[[b[pair], a[pair]]]
        yield problem.rules, swapped


def relocate(
    problem: Problem, labels: IntArray, centers: FloatArray, least: float = -np.inf
) -> Iterator[Proposal]:
    """Give up one cluster and split another: most saved by the split less the loss first.

    ``least`` is what must be saved, costs alone considered.
    """
    k = problem.n_clusters
    loss, saved, halves = relocations(problem, labels, centers)
    net = saved[None, :] - loss[:, None]
    np.fill_diagonal(net, -np.inf)
    for flat in np.argsort(-net, axis=None, kind="stable"):
        given_up, split = divmod(int(flat), k)
        if net[given_up, split] <= least:
            return
        if saved[split] <= 0.0:
            continue
        moved = centers.copy()
        moved[[given_up, split]] = halves[split]
        yield from _in_both_orders(problem, moved)


def relocations(
    problem: Problem, labels: IntArray, centers: FloatArray
) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
    """What giving up each cluster loses, what splitting it saves, and the centres of its halves.

    Centres of other clusters stay where they are, and rules are not looked at.
    """
    k, data = problem.n_clusters, problem.near
    distances = data.distances(centers)
    rows = np.arange(len(labels))
    own = distances[rows, labels]
    distances[rows, labels] = np.inf
    loss = sums_by(labels, data.weight * (distances.min(axis=1) - own), k)
    halves = [data.halves(np.flatnonzero(labels == j), centers[j]) for j in range(k)]
    return loss, np.array([gain for gain, _ in halves]), [each for _, each in halves]


def kick(
    problem: Problem, labels: IntArray, centers: FloatArray, random_state: np.random.RandomState
) -> Iterator[Proposal]:
    """Move a random centre to a random point, drawn as k-means++ draws, without end."""
    data = problem.near
    own = data.distances(centers)[np.arange(len(labels)), labels] * data.weight
    if own.sum() <= 0.0:
        return
    chance = own / own.sum()
    while True:
        moved = centers.copy()
        point = random_state.choice(len(labels), p=chance)
        moved[random_state.randint(len(centers))] = data.row(point)
        yield from _in_both_orders(problem, moved)


def _in_both_orders(problem: Problem, centers: FloatArray) -> Iterator[Proposal]:
    """With the sizes as they are, and as the centres' own sizes would have them."""
    rules = problem.rules
    yield rules, centers
    if rules.sizes is None or not rules.sizes_vary:
        return
    counts = sums_by(problem.rows.nearest(centers), rules.count, rules.n_clusters)
    matched = match_sizes(rules, counts)
    same = matched.sizes is None or np.array_equal(matched.sizes.columns, rules.sizes.columns)
    if not same:
        yield matched, centers
