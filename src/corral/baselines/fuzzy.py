"""Fuzzy c-means whose clusters have given sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus

from .._typing import FloatArray
from ..constraints import ClusterSizes, ConstraintSet
from ..initialise import match_sizes
from ..presolve import presolve
from ..problem import Problem
from .base import COUNT, NOT_NEGATIVE, Answer, Baseline, limits, squared_distances

#: Newton's method stops when the memberships of no cluster miss its size by more, per point.
SIZE_ERROR = 1e-10
MAX_NEWTON = 100
MAX_HALVINGS = 60


class EquiSizedFCM(Baseline):
    r"""Fuzzy c-means with clusters of equal size, or of sizes of one's own.

    .. math:: \min \sum_{ij} u_{ij}^2 |x_i - v_j|^2 \quad\text{s.t.}\quad
              \sum_j u_{ij} = 1, \quad \sum_i u_{ij} = s_j, \quad u \ge 0

    The labels are the clusters of the largest memberships, so their counts are near the sizes
    but need not be equal to them.

    Parameters
    ----------
    n_clusters : int, default=8
    n_init : int, default=10
        Restarts from k-means++ seeds, of which the best is kept.
    max_iter : int, default=300
    tol : float, default=1e-6
        Stop when no centre moves farther than this share of the spread of the data.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : (n_samples,) int array
    memberships_ : (n_samples, n_clusters) array
        The u, whose columns add up to the sizes.
    cluster_centers_ : (n_clusters, n_features) array
    objective_ : float
    n_iter_ : int
    report_ : Report
        Sizes may be missed by the labels.

    Notes
    -----
    Klawonn and Hoppner set up Lagrange multipliers for both sums, which with the fuzzifier 2 is
    a linear system, and let memberships become negative.  Here :math:`u \ge 0` is part of the
    problem: :math:`u_{ij} = \max(0, a_i + b_j) / (2 d_{ij})`, and the multipliers b of the sizes
    are found by Newton's method on the concave dual, whose steps are that linear system on the
    memberships that are positive.

    References
    ----------
    F. Klawonn, F. Hoppner, "Equi-sized, homogeneous partitioning", KES 2006.
    F. Hoppner, F. Klawonn, "Clustering with size constraints", in Computational Intelligence
    Paradigms, 2008.

    Examples
    --------
    >>> from corral import ClusterSizes
    >>> from corral.baselines import EquiSizedFCM
    >>> X = [[0.0], [1.0], [2.0], [3.0], [30.0]]
    >>> model = EquiSizedFCM(n_clusters=2, random_state=0)
    >>> model = model.fit(X, constraints=ClusterSizes([2, 3], ordered=True))
    >>> model.memberships_.sum(axis=0).round(6)
    array([2., 3.])
    """

    _kinds = (ClusterSizes,)
    _limits = limits(n_init=COUNT, max_iter=COUNT, tol=NOT_NEGATIVE)

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        problem = presolve(X, rules, self.n_clusters)
        _check_exact(problem, rules)
        runs = (self._run(X, problem, random_state) for _ in range(self.n_init))
        best = min(runs, key=lambda run: run.objective)
        attributes = {
            "memberships_": best.memberships,
            "cluster_centers_": best.centers,
            "objective_": best.objective,
            "n_iter_": best.n_iter,
        }
        return Answer(best.memberships.argmax(axis=1), attributes)

    def _run(self, X: FloatArray, problem: Problem, random_state: np.random.RandomState) -> _Run:
        k = self.n_clusters
        centers = kmeans_plusplus(X, k, random_state=random_state)[0]
        nearest = squared_distances(X, centers).argmin(axis=1)
        counts = np.bincount(nearest, minlength=k).astype(float)
        sizes = match_sizes(problem, counts).sizes
        wanted = np.full(k, len(X) / k) if sizes is None else sizes.lower.astype(float)
        least_move = self.tol * np.sqrt(X.var(axis=0).sum())
        for n_iter in range(1, self.max_iter + 1):  # noqa: B007 - kept as n_iter_
            distance = _away_from_zero(squared_distances(X, centers))
            memberships = sized_memberships(distance, wanted)
            share = memberships**2
            before, centers = centers, share.T @ X / share.sum(axis=0)[:, None]
            if np.linalg.norm(centers - before, axis=1).max() <= least_move:
                break
        return _Run(memberships, centers, float((share * distance).sum()), n_iter)


@dataclass(frozen=True)
class _Run:
    memberships: FloatArray
    centers: FloatArray
    objective: float
    n_iter: int


def _check_exact(problem: Problem, rules: ConstraintSet) -> None:
    """Raise unless there are no sizes, or exact ones that leave no cluster empty."""
    sizes = problem.sizes
    if not len(rules):
        return
    if sizes is None or not np.array_equal(sizes.lower, sizes.upper):
        raise ValueError(
            f"EquiSizedFCM takes exact sizes, such as ClusterSizes([59, 71, 48]), but was given "
            f"{rules.phrase()}."
        )
    if not sizes.lower.all():
        raise ValueError(f"sizes are {sizes.lower.tolist()}; EquiSizedFCM needs sizes from 1.")


def _away_from_zero(distance: FloatArray) -> FloatArray:
    """A point on a centre would divide by 0; it is moved off by nothing that matters."""
    return np.maximum(distance, 1e-8 * (distance.max() or 1.0))


def sized_memberships(distance: FloatArray, sizes: FloatArray) -> FloatArray:
    """Best memberships for squared distances (n, k) and sizes.

    Newton's method on the dual, from plain fuzzy c-means, with steps halved until it ascends.
    """
    inverse = 1.0 / distance
    n, k = distance.shape
    sizes = sizes * (n / sizes.sum())
    point = _dual(inverse, sizes, np.zeros(k))
    for _ in range(MAX_NEWTON):
        gap = sizes - point.memberships.sum(axis=0)
        missed = point.missed / n
        if missed <= SIZE_ERROR:
            break
        # Where clusters share no point the dual is straight; the ridge gives it a finite step.
        ridge = 1e-3 * missed * n / distance.mean()
        bend = _bend(np.where(point.memberships > 0.0, inverse, 0.0))
        step = np.linalg.lstsq(bend + ridge * np.eye(k), gap, rcond=None)[0]
        found = _ascent(inverse, sizes, point, step)
        if found is None:
            break
        point = found
    return point.memberships


def _ascent(
    inverse: FloatArray, sizes: FloatArray, point: _DualPoint, step: FloatArray
) -> _DualPoint | None:
    """The first of the step, its half, its quarter ... that ascends; None if rounding forbids.

    Near the top the value no longer shows it, but the sizes do.
    """
    rounding = 1e-9 * abs(point.value)
    for _ in range(MAX_HALVINGS):
        found = _dual(inverse, sizes, point.multiplier + step)
        fits_better = found.missed < 0.9 * point.missed
        if found.value > point.value or (fits_better and found.value > point.value - rounding):
            return found
        step = step / 2.0
    return None


def _bend(active: FloatArray) -> FloatArray:
    """Minus the dual's Hessian; its rows add up to 0, which gives the diagonal without loss."""
    bend = -active.T @ (active / active.sum(axis=1)[:, None])
    np.fill_diagonal(bend, 0.0)
    np.fill_diagonal(bend, -bend.sum(axis=1))
    return np.asarray(bend / 2.0)


@dataclass(frozen=True)
class _DualPoint:
    multiplier: FloatArray
    memberships: FloatArray
    value: float
    missed: float


def _dual(inverse: FloatArray, sizes: FloatArray, multiplier: FloatArray) -> _DualPoint:
    """Dual function: the points' multipliers a are eliminated exactly.

    The clusters enter a point's support in the order of b, the same for all points; a_i is that
    of the first support after which the next cluster would stay at 0.
    """
    multiplier = multiplier - multiplier.mean()  # the a take up any common part
    order = np.argsort(-multiplier, kind="stable")
    inv, b = inverse[:, order], multiplier[order]
    candidates = (2.0 - np.cumsum(inv * b, axis=1)) / np.cumsum(inv, axis=1)
    enters = candidates[:, :-1] + b[1:] > 0.0
    last = np.where(enters.all(axis=1), len(b) - 1, enters.argmin(axis=1)) if len(b) > 1 else 0
    a = candidates[np.arange(len(inv)), last]
    level = np.maximum(a[:, None] + multiplier, 0.0)
    memberships = level * inverse / 2.0
    memberships /= memberships.sum(axis=1, keepdims=True)  # 1 but for rounding
    value = a.sum() + sizes @ multiplier - 0.5 * (level * memberships).sum()
    missed = np.abs(sizes - memberships.sum(axis=0)).max()
    return _DualPoint(multiplier, memberships, float(value), float(missed))
