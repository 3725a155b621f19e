"""Normalised cuts with propagated constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import null_space

from .._graphs import components
from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from .base import COUNT, POSITIVE, Answer, Baseline, Limit, Links, limits
from .graphs import embedding_labels, inverse_root_degrees, leading, neighbour_graph, normalised


class ConstrainedNCut(Baseline):
    r"""Normalised cuts with must-links and cannot-links, propagated.

    Pairs that the links join, directly or through a chain of must-links, get the similarity 1,
    and pairs that they part get 0.  The relaxed normalised cut is then solved among the
    embeddings y in which the neighbourhoods of must-linked points agree, for each link (i, j)

    .. math:: (P y)_i = (P y)_j, \qquad P = D^{-1} W,

    so that a link speaks for the points around its ends as well.  Without constraints this is
    plain spectral clustering.

    Parameters
    ----------
    n_clusters : int, default=8
    n_neighbors : int, default=20
        Of the graph.
    scale : float or "auto", default="auto"
        Width of the Gaussian; "auto" is the mean distance to the neighbours.
    random_state : int, RandomState or None, default=None
        Of the k-means on the embedding.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    affinity_matrix_ : (n_samples, n_samples) array
        The similarities W.
    embedding_ : (n_samples, n_clusters) array
    report_ : Report
        Links may be broken.

    References
    ----------
    J. Shi, J. Malik, "Normalized cuts and image segmentation", PAMI 2000.
    S. Yu, J. Shi, "Segmentation given partial grouping constraints", PAMI 2004: the propagated
    must-links.
    S. Kamvar, D. Klein, C. Manning, "Spectral learning", IJCAI 2003: similarities 1 and 0.

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
        similarity = neighbour_graph(X, self.n_neighbors, self.scale)
        apply_links(similarity, links, components(len(X), links.must))
        embedding = embed(similarity, links.must, self.n_clusters)
        labels = embedding_labels(embedding, self.n_clusters, random_state)
        return Answer(labels, {"affinity_matrix_": similarity, "embedding_": embedding})


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


def embed(similarity: FloatArray, must: IntArray, size: int) -> FloatArray:
    """Leading solutions of the relaxed cut among those that obey the propagated must-links.

    With ``v = D^(1/2) y`` it is the eigenproblem of ``D^(-1/2) W D^(-1/2)`` on the space where
    ``V' v = 0``, ``V = D^(-1/2) W D^(-1) U`` and column l of U is ``e_i - e_j`` of link l.
    """
    matrix = normalised(similarity)
    root = inverse_root_degrees(similarity)
    if not len(must):
        return leading(matrix, size) * root[:, None]
    walk = similarity * root**2
    constraint = root[:, None] * (walk[:, must[:, 0]] - walk[:, must[:, 1]])
    basis = null_space(constraint.T)
    return np.asarray(basis @ leading(basis.T @ matrix @ basis, size) * root[:, None])
