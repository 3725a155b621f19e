"""Methods on the distances of all pairs: complete link, E2CP and normalised cuts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.linalg import eigh, solve
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..rules.pairs import components
from ..settings import COUNT, POSITIVE, Limit
from .base import Answer, Baseline, Links, Run, parameter


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
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

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
    set_pairs(distance, links.cannot, distance.max() + 1.0)
    return np.asarray(squareform(distance, checks=False))


def cut(tree: FloatArray, n_clusters: int) -> IntArray:
    """Labels after all but the last ``n_clusters - 1`` merges, also where heights are equal."""
    n = len(tree) + 1
    merged = tree[: n - n_clusters, :2].astype(np.int64)
    nodes = n + np.arange(len(merged))
    edges = np.concatenate([np.column_stack([merged[:, side], nodes]) for side in (0, 1)])
    return components(2 * n - 1, edges)[:n]


@dataclass(eq=False, repr=False, kw_only=True)
class _Spectral(Baseline):
    """Base class: a subclass makes the similarities, whose relaxed normalised cut is the answer."""

    n_neighbors: int = parameter(20, COUNT)
    scale: float | str = parameter("auto", replace(POSITIVE, words=("auto",)))

    def _prepare(self, X: FloatArray, rules: ConstraintSet) -> Run:
        links = Links.of(rules)
        plain = path_distances(X, links.must[:0])
        width = reach(plain, self.n_neighbors) if isinstance(self.scale, str) else self.scale
        similarity = self._affinity(X, plain, links, width)
        _, embedding = embed(similarity, self.n_clusters)

        def run(random_state: np.random.RandomState) -> Answer:
            # The best of ten starts, as in scikit-learn's SpectralClustering.
            model = KMeans(self.n_clusters, n_init=10, random_state=random_state).fit(embedding)
            return Answer(model.labels_, {"affinity_matrix_": similarity})

        return run

    @abstractmethod
    def _affinity(self, X: FloatArray, plain: FloatArray, links: Links, width: float) -> FloatArray:
        """Similarities (n, n), from Euclidean distances, the links and the Gaussian's width."""


@dataclass(eq=False, repr=False, kw_only=True)
class E2CP(_Spectral):
    r"""Constrained spectral clustering by exhaustive and efficient constraint propagation.

    The matrix Z has +1 for must-links and -1 for cannot-links.  Its columns and then its rows are
    propagated over the graph of nearest neighbours, which gives every pair of points a score

    .. math:: F = (1 - \alpha)^2 (I - \alpha \bar L)^{-1} Z (I - \alpha \bar L)^{-1},
              \qquad \bar L = D^{-1/2} W D^{-1/2},

    F, scaled to [-1, 1], moves the similarities W towards 1 or 0.  The labels are those of
    spectral clustering on these similarities.  Without constraints the similarities are W.

    Parameters
    ----------
    n_clusters : int, default=8
    n_neighbors : int, default=20
        Number of neighbours in the graph.
    scale : float or "auto", default="auto"
        Width of the Gaussian; "auto" is the mean distance to the neighbours.
    alpha : float, default=0.8
        From 0, where nothing is propagated, to 1 (excluded).
    random_state : int, RandomState or None, default=None
        Used by k-means on the embedding.
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    affinity_matrix_ : (n_samples, n_samples) array
        The similarities after propagation.
    report_ : Report
        Links may be broken.

    Notes
    -----
    The spectral step is the relaxed normalised cut, as in scikit-learn's
    ``SpectralClustering``: leading eigenvectors of the normalised similarities, divided by the
    square roots of the degrees, then k-means.

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

    alpha: float = parameter(0.8, Limit(least=0.0, most=1.0 - 1e-9))

    def _affinity(self, X: FloatArray, plain: FloatArray, links: Links, width: float) -> FloatArray:
        return link_affinity(plain, links, self.n_neighbors, width, self.alpha)


@dataclass(eq=False, repr=False, kw_only=True)
class ConstrainedNCut(_Spectral):
    """Normalised cuts with propagated must-links and cannot-links.

    A must-linked pair gets the distance 0, and the graph of neighbours uses the shortest paths,
    so that points near one end of a link are also near the other end.  Pairs that must be
    together, directly or through other links, get the similarity 1; pairs that must be apart get
    0.  The labels are the relaxed normalised cut of this graph.  Without constraints this is
    plain spectral clustering.

    Parameters
    ----------
    n_clusters : int, default=8
    n_neighbors : int, default=20
        Number of neighbours in the graph.
    scale : float or "auto", default="auto"
        Width of the Gaussian; "auto" is the mean distance to the neighbours, without the links.
    random_state : int, RandomState or None, default=None
        Used by k-means on the embedding.
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

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

    def _affinity(self, X: FloatArray, plain: FloatArray, links: Links, width: float) -> FloatArray:
        similarity = neighbour_graph(path_distances(X, links.must), self.n_neighbors, width)
        apply_links(similarity, links, components(len(X), links.must))
        return similarity


def link_affinity(
    distance: FloatArray, links: Links, n_neighbors: int, width: float, alpha: float
) -> FloatArray:
    """Similarities of nearest neighbours, moved by the links and their propagation."""
    similarity = neighbour_graph(distance, n_neighbors, width)
    if not len(links.must) and not len(links.cannot):
        return similarity
    score = propagate(link_signs(len(distance), links), similarity, alpha)
    return moved(similarity, score / np.abs(score).max())


def link_signs(n: int, links: Links) -> FloatArray:
    """The symmetric matrix Z: +1 at must-links, -1 at cannot-links."""
    signs = np.zeros((n, n))
    for pairs, sign in ((links.must, 1.0), (links.cannot, -1.0)):
        set_pairs(signs, pairs, sign)
    return signs


def propagate(signs: FloatArray, similarity: FloatArray, alpha: float) -> FloatArray:
    """Limit of the vertical and then of the horizontal propagation."""
    system = np.eye(len(signs)) - alpha * normalised(similarity)
    vertical = solve(system, signs, assume_a="pos")
    both = solve(system, vertical.T, assume_a="pos").T
    return np.asarray((1.0 - alpha) ** 2 * both)


def moved(similarity: FloatArray, score: FloatArray) -> FloatArray:
    """Similarities moved towards 1 by positive scores and towards 0 by negative ones."""
    closer = 1.0 - (1.0 - score) * (1.0 - similarity)
    result = np.where(score >= 0.0, closer, (1.0 + score) * similarity)
    np.fill_diagonal(result, 0.0)
    return np.asarray((result + result.T) / 2.0)  # removes rounding differences


def apply_links(similarity: FloatArray, links: Links, group: IntArray) -> None:
    """Set pairs inside a must-link group to 1, and pairs of cannot-linked groups to 0."""
    linked = np.unique(links.must)
    same = group[linked][:, None] == group[linked]
    np.fill_diagonal(same, False)
    row, column = np.nonzero(same)
    similarity[linked[row], linked[column]] = 1.0
    for first, second in group[links.cannot]:
        ends = np.ix_(group == first, group == second)
        similarity[ends] = 0.0
        similarity.T[ends] = 0.0


def reach(distance: FloatArray, n_neighbors: int) -> float:
    """Mean distance to the nearest neighbours; 1 if this is 0 or there are no neighbours."""
    others = np.sort(distance, axis=1)[:, 1 : n_neighbors + 1]
    return float(others.mean()) or 1.0 if others.size else 1.0


def neighbour_graph(distance: FloatArray, n_neighbors: int, width: float) -> FloatArray:
    """Gaussian similarities ``exp(-d^2 / (2 width^2))`` of nearest neighbours; 0 elsewhere.

    The matrix is averaged with its transpose, because the relation is not symmetric.
    """
    n = len(distance)
    apart = distance.copy()
    np.fill_diagonal(apart, np.inf)
    near = np.argsort(apart, axis=1, kind="stable")[:, : min(n_neighbors, n - 1)]
    similarity = np.zeros((n, n))
    rows = np.arange(n)[:, None]
    similarity[rows, near] = np.exp(-0.5 * (apart[rows, near] / width) ** 2)
    return np.asarray((similarity + similarity.T) / 2.0)


def normalised(similarity: FloatArray) -> FloatArray:
    """``D^(-1/2) W D^(-1/2)``."""
    root = _inverse_root_degrees(similarity)
    return np.asarray(root[:, None] * similarity * root)


def embed(similarity: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Relaxed normalised cut: the leading solutions of ``W y = lambda D y``, y as columns."""
    n = len(similarity)
    values, vectors = eigh(normalised(similarity), subset_by_index=[n - size, n - 1])
    return values[::-1], vectors[:, ::-1] * _inverse_root_degrees(similarity)[:, None]


def _inverse_root_degrees(similarity: FloatArray) -> FloatArray:
    """``D^(-1/2)`` as a vector; 1 for a point without neighbours."""
    degree = similarity.sum(axis=1)
    return np.asarray(1.0 / np.sqrt(np.where(degree > 0.0, degree, 1.0)))


def set_pairs(matrix: FloatArray, pairs: IntArray, value: float) -> None:
    """Set the entries of these pairs in a symmetric matrix."""
    matrix[pairs[:, 0], pairs[:, 1]] = value
    matrix[pairs[:, 1], pairs[:, 0]] = value


def path_distances(X: FloatArray, must: IntArray) -> FloatArray:
    """Shortest-path distances (n, n) when must-linked points have the distance 0.

    The Euclidean distances are a metric, so a path is shorter than the direct way only if it
    passes must-linked points.  The recursion of Floyd and Warshall runs over these alone.
    """
    distance: FloatArray = squareform(pdist(X))
    set_pairs(distance, must, 0.0)
    for via in np.unique(must):
        np.minimum(distance, distance[:, via, None] + distance[via], out=distance)
    return distance
