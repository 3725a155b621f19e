"""E2CP: pairs propagated over the neighbour graph, then spectral clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve

from .._typing import FloatArray
from ..constraints import ConstraintSet
from .base import COUNT, POSITIVE, Answer, Baseline, Limit, Links, limits
from .graphs import distances, embed, embedding_labels, neighbour_graph, normalised, reach


class E2CP(Baseline):
    r"""Constrained spectral clustering by exhaustive and efficient constraint propagation.

    Must-links count +1 and cannot-links -1 in a matrix Z.  Both its columns and its rows are
    smoothed over the graph of nearest neighbours, which gives every pair of points a score

    .. math:: F = (1 - \alpha)^2 (I - \alpha \bar L)^{-1} Z (I - \alpha \bar L)^{-1},
              \qquad \bar L = D^{-1/2} W D^{-1/2},

    and F, scaled to [-1, 1], moves the similarities W towards 1 or 0.  Spectral clustering on
    the similarities moved gives the labels; without constraints they are W itself.

    Parameters
    ----------
    n_clusters : int, default=8
    n_neighbors : int, default=20
        Of the graph.
    scale : float or "auto", default="auto"
        Width of the Gaussian; "auto" is the mean distance to the neighbours.
    alpha : float, default=0.8
        Between 0, where nothing is propagated, and 1 (excluded).
    random_state : int, RandomState or None, default=None
        Of the k-means on the embedding.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    affinity_matrix_ : (n_samples, n_samples) array
        The similarities moved.
    report_ : Report
        Links may be broken.

    Notes
    -----
    The spectral step is the relaxed normalised cut, as scikit-learn's ``SpectralClustering``
    does it: leading eigenvectors of the normalised similarities, divided by the roots of the
    degrees, and k-means.

    References
    ----------
    Z. Lu, H. Ip, "Constrained spectral clustering via exhaustive and efficient constraint
    propagation", ECCV 2010.

    Examples
    --------
    >>> from corral import CannotLink
    >>> from corral.baselines import E2CP
    >>> X = [[0.0], [1.0], [2.0], [3.0], [9.0], [10.0]]
    >>> model = E2CP(n_clusters=2, n_neighbors=2, random_state=0)
    >>> labels = model.fit(X, constraints=CannotLink([(0, 5)])).labels_
    >>> bool(labels[0] == labels[3] != labels[4])
    True
    """

    _limits = limits(
        n_neighbors=COUNT,
        scale=Limit(least=POSITIVE.least, words=("auto",)),
        alpha=Limit(0.0, 1.0 - 1e-9),
    )

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 20,
        scale: float | str = "auto",
        alpha: float = 0.8,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.scale = scale
        self.alpha = alpha
        self.random_state = random_state

    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        links = Links.of(rules)
        distance = distances(X, links.must[:0])
        width = reach(distance, self.n_neighbors) if isinstance(self.scale, str) else self.scale
        similarity = neighbour_graph(distance, self.n_neighbors, width)
        if len(links.must) or len(links.cannot):
            score = propagate(link_signs(len(X), links), similarity, self.alpha)
            similarity = moved(similarity, score / np.abs(score).max())
        embedding = embed(similarity, self.n_clusters)
        labels = embedding_labels(embedding, self.n_clusters, random_state)
        return Answer(labels, {"affinity_matrix_": similarity})


def link_signs(n: int, links: Links) -> FloatArray:
    """The matrix Z: +1 at must-links, -1 at cannot-links, both ways round."""
    signs = np.zeros((n, n))
    for pairs, sign in ((links.must, 1.0), (links.cannot, -1.0)):
        signs[pairs[:, 0], pairs[:, 1]] = sign
        signs[pairs[:, 1], pairs[:, 0]] = sign
    return signs


def propagate(signs: FloatArray, similarity: FloatArray, alpha: float) -> FloatArray:
    """Limit of the vertical and then the horizontal propagation."""
    system = np.eye(len(signs)) - alpha * normalised(similarity)
    vertical = solve(system, signs, assume_a="pos")
    both = solve(system, vertical.T, assume_a="pos").T
    return np.asarray((1.0 - alpha) ** 2 * both)


def moved(similarity: FloatArray, score: FloatArray) -> FloatArray:
    """Similarities moved towards 1 by positive scores and towards 0 by negative ones."""
    closer = 1.0 - (1.0 - score) * (1.0 - similarity)
    result = np.where(score >= 0.0, closer, (1.0 + score) * similarity)
    np.fill_diagonal(result, 0.0)
    return np.asarray((result + result.T) / 2.0)  # symmetric but for rounding
