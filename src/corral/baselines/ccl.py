"""Constrained complete-link: pairs bend the distances, then the tree is built as ever."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..presolve.graphs import components
from .base import Answer, Baseline, Links
from .graphs import distances


class ConstrainedCompleteLink(Baseline):
    """Constrained complete-link (CCL) of Klein, Kamvar and Manning.

    The distance of a must-link becomes 0 and all other distances shrink to the shortest paths
    that it opens; the distance of a cannot-link becomes the largest plus 1, which complete link
    carries on to whole clusters by itself.  Without constraints it is plain complete-link.

    Parameters
    ----------
    n_clusters : int, default=8
    random_state : ignored
        The method is deterministic; here for the common face.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    linkage_ : (n_samples - 1, 4) array
        The tree, as SciPy writes it.
    report_ : Report
        Links may be broken: the tree is cut where ``n_clusters`` are left.

    Notes
    -----
    A pair that is both must-linked and cannot-linked ends at the largest distance.

    References
    ----------
    D. Klein, S. Kamvar, C. Manning, "From instance-level constraints to space-level
    constraints: making the most of prior knowledge in data clustering", ICML 2002.

    Examples
    --------
    >>> from corral import MustLink
    >>> from corral.baselines import ConstrainedCompleteLink
    >>> X = [[0.0], [1.0], [8.0], [9.0], [20.0]]
    >>> ConstrainedCompleteLink(n_clusters=2).fit(X).labels_
    array([0, 0, 0, 0, 1], dtype=int32)
    >>> ConstrainedCompleteLink(n_clusters=2).fit(X, constraints=MustLink([(3, 4)])).labels_
    array([0, 0, 1, 1, 1], dtype=int32)
    """

    def __init__(self, n_clusters: int = 8, *, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        tree = np.empty((0, 4))
        if len(X) > 1:
            tree = linkage(bent_distances(X, Links.of(rules)), "complete")
        return Answer(cut(tree, self.n_clusters), {"linkage_": tree})


def bent_distances(X: FloatArray, links: Links) -> FloatArray:
    """Condensed distances after the links have bent them."""
    distance = distances(X, links.must)
    farthest = distance.max() + 1.0
    distance[links.cannot[:, 0], links.cannot[:, 1]] = farthest
    distance[links.cannot[:, 1], links.cannot[:, 0]] = farthest
    return np.asarray(squareform(distance, checks=False))


def cut(tree: FloatArray, n_clusters: int) -> IntArray:
    """Labels after all but the last ``n_clusters - 1`` merges, whether or not heights tie."""
    n = len(tree) + 1
    merged = tree[: n - n_clusters, :2].astype(np.int64)
    nodes = n + np.arange(len(merged))
    edges = np.concatenate([np.column_stack([merged[:, side], nodes]) for side in (0, 1)])
    return components(2 * n - 1, edges)[:n]
