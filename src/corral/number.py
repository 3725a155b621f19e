"""Which cluster is number 0: an order that does not depend on where a run started.

Clusters that no rule ties to a number keep the numbers of the centres or labels that the user gave
to start from.  Without such, they are numbered so that the sizes stand in the order in which the
user wrote them, and otherwise by the coordinates of their centres.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.pairwise import euclidean_distances

from ._typing import FloatArray, IntArray
from .problem import Problem
from .run import Solution


def renumber(solution: Solution, problem: Problem) -> Solution:
    """Number the clusters of a solution of a problem whose clusters may change numbers."""
    k = problem.n_clusters
    wanted = np.zeros((2, k), np.int64)
    found = wanted
    if problem.sizes is not None and solution.sizes is not None:
        wanted = np.stack([problem.sizes.upper, problem.sizes.lower])
        found = np.stack([solution.sizes.upper, solution.sizes.lower])
    coordinates = solution.centers.T[::-1]
    clusters = np.lexsort(np.concatenate([coordinates, found]))
    number = np.empty(k, np.int64)
    number[clusters] = np.lexsort(np.concatenate([np.arange(k)[None, :], wanted]))
    return _renamed(solution, number)


def follow(solution: Solution, start: FloatArray, problem: Problem) -> Solution:
    """Number the clusters as the centres they started from, each to the nearest in all.

    Sizes in an order of the user's come first.
    """
    gaps = euclidean_distances(solution.centers, start, squared=True)
    if problem.sizes is not None and problem.sizes.ordered and solution.sizes is not None:
        wanted, found = problem.sizes, solution.sizes
        other = (found.lower[:, None] != wanted.lower) | (found.upper[:, None] != wanted.upper)
        gaps = np.where(other, 1.0 + gaps.sum(), gaps)
    return _renamed(solution, np.asarray(linear_sum_assignment(gaps)[1]))


def _renamed(solution: Solution, number: IntArray) -> Solution:
    """Call cluster j ``number[j]`` everywhere."""
    old = np.argsort(number)
    kept = {iteration: x[:, old] for iteration, x in solution.history.x.items()}
    return replace(
        solution,
        labels=number[solution.labels],
        centers=solution.centers[old],
        sizes=None if solution.sizes is None else solution.sizes.permuted(old),
        history=replace(solution.history, x=kept),
    )
