"""Normalised cuts with propagated constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..presolve.graphs import components
from .base import COUNT, POSITIVE, Answer, Baseline, Limit, Links, limits
from .graphs import distances, embed, embedding_labels, neighbour_graph, reach


class ConstrainedNCut(Baseline):
    """Normalised cuts with must-links and cannot-links, propagated.

    Must-links open shortcuts of length 0, and the graph of neighbours is that of the shortest
    paths, so that what is near one end of a link comes near the other.  Pairs that the links
    join, directly or through others, get the similarity 1, and pairs that they part get 0.  The
    labels are the relaxed normalised cut of this graph; without constraints this is plain
    spectral clustering.

    Parameters
    ----------
    n_clusters : int, default=8
    n_neighbors : int, default=20
        Of the graph.
    scale : float or "auto", default="auto"
        Width of the Gaussian; "auto" is the mean distance to the neighbours, without the links.
    random_state : int, RandomState or None, default=None
        Of the k-means on the embedding.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    affinity_matrix_ : (n_samples, n_samples) array
        The similarities.
    report_ : Report
        Links may be broken.

    References
    ----------
    J. Shi, J. Malik, "Normalized cuts and image segmentation", PAMI 2000.
    S. Kamvar, D. Klein, C. Manning, "Spectral learning", IJCAI 2003: similarities 1 and 0.
    D. Klein, S. Kamvar, C. Manning, "From instance-level constraints to space-level
    constraints", ICML 2002: the shortest paths.

    Examples
    --------
    >>> from corral import CannotLink, MustLink
    >>> from corral.baselines import ConstrainedNCut
    >>> X = [[0.0], [1.0], [2.0], [3.0], [9.0], [10.0]]
    >>> model = ConstrainedNCut(n_clusters=2, n_neighbors=2, random_state=0)
    >>> labels = model.fit(X, constraints=[MustLink([(0, 2)]), CannotLink([(0, 5)])]).labels_
    >>> bool(labels[0] == labels[3] != labels[4])
    True
    """

    _limits = limits(n_neighbors=COUNT, scale=Limit(least=POSITIVE.least, words=("auto",)))

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 20,
        scale: float | str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.scale = scale
        self.random_state = random_state

    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        links = Links.of(rules)
        width = self.scale
        if isinstance(width, str):
            width = reach(distances(X, links.must[:0]), self.n_neighbors)
        similarity = neighbour_graph(distances(X, links.must), self.n_neighbors, width)
        apply_links(similarity, links, components(len(X), links.must))
        embedding = embed(similarity, self.n_clusters)
        labels = embedding_labels(embedding, self.n_clusters, random_state)
        return Answer(labels, {"affinity_matrix_": similarity})


def apply_links(similarity: FloatArray, links: Links, group: IntArray) -> None:
    """Set pairs in a must-link group to 1, and pairs of groups that are to part to 0."""
    linked = np.unique(links.must)
    same = group[linked][:, None] == group[linked]
    np.fill_diagonal(same, False)
    row, column = np.nonzero(same)
    similarity[linked[row], linked[column]] = 1.0
    for first, second in group[links.cannot]:
        ends = np.ix_(group == first, group == second)
        similarity[ends] = 0.0
        similarity.T[ends] = 0.0
