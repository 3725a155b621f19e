"""Fuzzy c-means with given cluster sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import kmeans_plusplus

from .._typing import FloatArray
from ..constraints import ClusterSizes, ConstraintSet
from ..rules import presolve
from ..search.descent import match_sizes
from ..settings import COUNT, NOT_NEGATIVE
from .base import Answer, BestOfRuns, Run, parameter, squared_distances

#: Newton's method stops when the sums of memberships differ from the sizes by less, as a share
#: of the number of points; a smaller value costs more Newton steps.
SIZE_ERROR = 1e-10
#: Largest number of Newton steps for one set of centres; more could come closer to the sizes.
MAX_NEWTON = 100
#: Largest number of times that a Newton step is halved; after 60 the step is below rounding.
MAX_HALVINGS = 60


@dataclass(eq=False, repr=False, kw_only=True)
class EquiSizedFCM(BestOfRuns):
    r"""Fuzzy c-means with clusters of equal or of given sizes.

    .. math:: \min \sum_{ij} u_{ij}^2 |x_i - v_j|^2 \quad\text{s.t.}\quad
              \sum_j u_{ij} = 1, \quad \sum_i u_{ij} = s_j, \quad u \ge 0

    The label of a point is the cluster with its largest membership.  The counts of the labels are
    therefore near the sizes, but not always equal to them.

    Parameters
    ----------
    n_clusters : int, default=8
    n_init : int, default=10
        Restarts from k-means++ seeds, of which the best is kept.
    max_iter : int, default=300
    tol : float, default=1e-6
        Stop when no centre moves farther than this share of the standard deviation of the data.
    random_state : int, RandomState or None, default=None
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    memberships_ : (n_samples, n_clusters) array
        The matrix u, whose columns add up to the sizes.
    cluster_centers_ : (n_clusters, n_features) array
    objective_ : float
    n_iter_ : int
    report_ : Report
        The counts of the labels may differ from the sizes.

    Notes
    -----
    Klawonn and Hoppner use Lagrange multipliers for both sums.  With the fuzzifier 2 this is a
    linear system, whose memberships may be negative.  Here :math:`u \ge 0` is part of the
    problem: :math:`u_{ij} = \max(0, a_i + b_j) / (2 d_{ij})`.  The multipliers b of the sizes are
    found by Newton's method on the concave dual; each step solves the same linear system,
    restricted to the positive memberships.

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

    max_iter: int = parameter(300, COUNT)
    tol: float = parameter(1e-6, NOT_NEGATIVE)

    def _prepare(self, X: FloatArray, rules: ConstraintSet) -> Run:
        k = self.n_clusters
        sized = presolve(rules, len(X), k)
        if len(rules) and (sized.sizes is None or not sized.sizes.exact):
            raise ValueError(
                "EquiSizedFCM takes exact sizes, such as ClusterSizes([59, 71, 48]), but was given "
                f"{rules.phrase()}."
            )
        if sized.sizes is not None and not sized.sizes.lower.all():
            raise ValueError(
                f"sizes are {sized.sizes.lower.tolist()}; EquiSizedFCM needs sizes from 1."
            )
        least_move = self.tol * np.sqrt(X.var(axis=0).sum())

        def run(random_state: np.random.RandomState) -> Answer:
            centers = kmeans_plusplus(X, k, random_state=random_state)[0]
            nearest = squared_distances(X, centers).argmin(axis=1)
            counts = np.bincount(nearest, minlength=k).astype(float)
            sizes = match_sizes(sized, counts).sizes
            wanted = np.full(k, len(X) / k) if sizes is None else sizes.lower.astype(float)
            for n_iter in range(1, self.max_iter + 1):  # noqa: B007 - kept as n_iter_
                distance = squared_distances(X, centers)
                # The memberships divide by the distances, so these have a positive minimum.
                distance = np.maximum(distance, 1e-8 * (distance.max() or 1.0))
                memberships = sized_memberships(distance, wanted)
                share = memberships**2
                before, centers = centers, share.T @ X / share.sum(axis=0)[:, None]
                if np.linalg.norm(centers - before, axis=1).max() <= least_move:
                    break
            objective = float((share * distance).sum())
            attributes = {
                "memberships_": memberships,
                "cluster_centers_": centers,
                "objective_": objective,
                "n_iter_": n_iter,
            }
            return Answer(memberships.argmax(axis=1), attributes, objective)

        return run


def sized_memberships(distance: FloatArray, sizes: FloatArray) -> FloatArray:
    """Optimal memberships for squared distances (n, k), by Newton's method on the dual."""
    inverse = 1.0 / distance
    n, k = distance.shape
    sizes = sizes * (n / sizes.sum())
    point = _dual(inverse, sizes, np.zeros(k))
    for _ in range(MAX_NEWTON):
        gap = sizes - point.memberships.sum(axis=0)
        missed = point.missed / n
        if missed <= SIZE_ERROR:
            break
        # If no point belongs to two clusters, the dual is linear; the ridge keeps the step finite.
        ridge = 1e-3 * missed * n / distance.mean()
        # Minus the Hessian of the dual; its rows add up to 0, which gives the diagonal exactly.
        active = np.where(point.memberships > 0.0, inverse, 0.0)
        curvature = -active.T @ (active / active.sum(axis=1)[:, None])
        np.fill_diagonal(curvature, 0.0)
        np.fill_diagonal(curvature, -curvature.sum(axis=1))
        step = np.linalg.lstsq(curvature / 2.0 + ridge * np.eye(k), gap, rcond=None)[0]
        found = _ascent(inverse, sizes, point, step)
        if found is None:
            break
        point = found
    return point.memberships


def _ascent(
    inverse: FloatArray, sizes: FloatArray, point: _DualPoint, step: FloatArray
) -> _DualPoint | None:
    """The first of the step, its half, its quarter and so on that increases the dual, or None."""
    # Near the optimum rounding hides the increase; there a smaller error of the sizes counts.
    rounding = 1e-9 * abs(point.value)
    for _ in range(MAX_HALVINGS):
        found = _dual(inverse, sizes, point.multiplier + step)
        fits_better = found.missed < 0.9 * point.missed
        if found.value > point.value or (fits_better and found.value > point.value - rounding):
            return found
        step = step / 2.0
    return None


@dataclass(frozen=True)
class _DualPoint:
    multiplier: FloatArray
    memberships: FloatArray
    value: float
    missed: float


def _dual(inverse: FloatArray, sizes: FloatArray, multiplier: FloatArray) -> _DualPoint:
    """Dual function, with the multipliers a of the points eliminated exactly.

    The clusters enter the support of a point in the order of b, which is the same for all points.
    a_i belongs to the first support for which the next cluster has the membership 0.
    """
    multiplier = multiplier - multiplier.mean()  # a constant added to b is absorbed by a
    order = np.argsort(-multiplier, kind="stable")
    inv, b = inverse[:, order], multiplier[order]
    candidates = (2.0 - np.cumsum(inv * b, axis=1)) / np.cumsum(inv, axis=1)
    enters = candidates[:, :-1] + b[1:] > 0.0
    last = np.where(enters.all(axis=1), len(b) - 1, enters.argmin(axis=1)) if len(b) > 1 else 0
    a = candidates[np.arange(len(inv)), last]
    level = np.maximum(a[:, None] + multiplier, 0.0)
    memberships = level * inverse / 2.0
    memberships /= memberships.sum(axis=1, keepdims=True)  # corrects rounding only
    value = a.sum() + sizes @ multiplier - 0.5 * (level * memberships).sum()
    missed = np.abs(sizes - memberships.sum(axis=0)).max()
    return _DualPoint(multiplier, memberships, float(value), float(missed))
