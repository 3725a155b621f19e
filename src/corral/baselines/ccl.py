"""Constrained complete-link clustering: links change the distances before the tree is built."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..presolve.graphs import components
from .base import Answer, Baseline, Links, Run, path_distances


@dataclass(eq=False, repr=False, kw_only=True)
class ConstrainedCompleteLink(Baseline):
    """Constrained complete-link (CCL) of Klein, Kamvar and Manning.

    The distance of a must-linked pair becomes 0, and all other distances become those of the
    shortest paths.  The distance of a cannot-linked pair becomes the largest distance plus 1;
    complete link then keeps whole clusters apart.  Without constraints it is plain complete-link
    clustering.

    Parameters
    ----------
    n_clusters : int, default=8
    random_state : ignored
        The method is deterministic; the parameter is there for the common interface.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    linkage_ : (n_samples - 1, 4) array
        The tree, as SciPy writes it.
    report_ : Report
        Links may be broken, because the tree is cut where ``n_clusters`` clusters are left.

    Notes
    -----
    A pair that is both must-linked and cannot-linked gets the largest distance.

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

    def _prepare(self, X: FloatArray, rules: ConstraintSet) -> Run:
        def run(random_state: np.random.RandomState) -> Answer:
            tree = np.empty((0, 4))
            if len(X) > 1:
                tree = linkage(linked_distances(X, Links.of(rules)), "complete")
            return Answer(cut(tree, self.n_clusters), {"linkage_": tree})

        return run


def linked_distances(X: FloatArray, links: Links) -> FloatArray:
    """Condensed distances, changed by the links."""
    distance = path_distances(X, links.must)
    farthest = distance.max() + 1.0
    distance[links.cannot[:, 0], links.cannot[:, 1]] = farthest
    distance[links.cannot[:, 1], links.cannot[:, 0]] = farthest
    return np.asarray(squareform(distance, checks=False))


def cut(tree: FloatArray, n_clusters: int) -> IntArray:
    """Labels after all but the last ``n_clusters - 1`` merges, also where heights are equal."""
    n = len(tree) + 1
    merged = tree[: n - n_clusters, :2].astype(np.int64)
    nodes = n + np.arange(len(merged))
    edges = np.concatenate([np.column_stack([merged[:, side], nodes]) for side in (0, 1)])
    return components(2 * n - 1, edges)[:n]
