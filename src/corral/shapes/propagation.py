"""LinkPropagation: an embedding of the rows in which links hold for their neighbours too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import sound
from .._typing import FloatArray
from ..baselines.base import Links
from ..baselines.pairwise import embed, link_affinity, path_distances, reach
from ..constraints import CannotLink, ConstraintSet, MustLink
from ..constraints.collection import rules_for
from ..inputs import brought, check_magnitude, refuse_others
from ..settings import COUNT, POSITIVE, Limit
from ..versions import Versioned

#: Eigenvalue, of at most 1, above which a component is extended to new rows by its equation.
LEAST_EIGENVALUE = 1e-3
#: Rows up to which links are propagated.  More need more memory: about five matrices of rows x
#: rows, 0.8 GB each at this number.
PROPAGATED_ROWS = 10_000
#: Distances of new rows that are in memory at once, 32 MB.
CHUNK = 2**22


@dataclass(eq=False, repr=False)
class LinkPropagation(Versioned, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Spectral embedding of rows in which links pull and push the neighbours of their rows too.

    Must-links and cannot-links are spread over the graph of nearest neighbours, as in
    :class:`~corral.baselines.E2CP`.  The rows of the embedding can be clustered by any estimator,
    under the same links, which then hold, and other rules.

    Parameters
    ----------
    n_components : int, default=8
        Features of the embedding; as many as clusters are usual.
    n_neighbors : int, default=20
        Number of neighbours in the graph.
    scale : float or "auto", default="auto"
        Width of the Gaussian; "auto" is the mean distance to the neighbours.
    alpha : float, default=0.8
        From 0, where nothing is propagated, to 1 (excluded).
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) array
    affinity_matrix_ : (n_samples, n_samples) array
        The similarities after propagation.
    eigenvalues_ : (n_components,) array
        Of the embedding, largest first.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only for data frames.

    Notes
    -----
    The embedding y solves ``W y = lambda D y`` with the similarities W and their row sums D.  A new
    row has no links: its embedding is ``sum_i w_i y_i / (lambda sum_i w_i)`` of its nearest
    neighbours, with the Gaussian similarities w.  A new row that equals a fitted row has that row's
    embedding; of equal fitted rows with other links, that of the first.

    References
    ----------
    Z. Lu, H. Ip, "Constrained spectral clustering via exhaustive and efficient constraint
    propagation", ECCV 2010.

    Examples
    --------
    >>> from corral import CannotLink, ClusterSizes, ConstrainedKMeans, LinkPropagation
    >>> X = [[0.0], [1.0], [2.0], [3.0], [9.0], [10.0]]
    >>> rules = [CannotLink([(0, 5)]), ClusterSizes([4, 2])]
    >>> Z = LinkPropagation(2, n_neighbors=2).fit_transform(X, constraints=rules)
    >>> labels = ConstrainedKMeans(2, random_state=0).fit_predict(Z, constraints=rules)
    >>> bool(labels[0] == labels[3] != labels[4])
    True
    """

    _limits: ClassVar[dict[str, Limit]] = {
        "n_components": COUNT,
        "n_neighbors": COUNT,
        "scale": replace(POSITIVE, words=("auto",)),
        "alpha": Limit(least=0.0, most=1.0 - 1e-9),
    }

    n_components: int = 8
    n_neighbors: int = field(default=20, kw_only=True)
    scale: float | str = field(default="auto", kw_only=True)
    alpha: float = field(default=0.8, kw_only=True)
    constraints: Any = field(default=None, kw_only=True)

    def fit(self, X: Any, y: Any = None, *, constraints: Any = None, **unknown: Any) -> Self:
        """Spread the links over the neighbours, and embed.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : ignored
        constraints : Constraint, iterable of them, or None
            Links of every weight count alike; rules of other kinds are not used.
        **unknown
            Refused, as by ``ConstrainedKMeans``.

        Returns
        -------
        self
        """
        refuse_others(y, unknown, ("constraints",))
        for name, allowed in self._limits.items():
            allowed.check(name, getattr(self, name))
        points: FloatArray = check_array(
            sound(brought(X)), dtype=np.float64, input_name="X", estimator=self
        )
        check_magnitude(points, type(self).__name__)
        n = len(points)
        _check_size(n, self.n_components)
        given, _ = rules_for(X, constraints, self.constraints)
        links = ConstraintSet([rule for rule in given if isinstance(rule, (MustLink, CannotLink))])
        links.check(n, n)
        plain = path_distances(points, np.empty((0, 2), np.int64))
        width = reach(plain, self.n_neighbors) if isinstance(self.scale, str) else self.scale
        similarity = link_affinity(plain, Links.of(links), self.n_neighbors, width, self.alpha)
        values, vectors = embed(similarity, self.n_components)
        validate_data(self, X, skip_check_array=True)
        self.embedding_, self.eigenvalues_ = vectors, values
        self.affinity_matrix_ = similarity
        self._points, self._width = points, float(width)
        self._n_features_out = self.n_components
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, constraints: Any = None, **unknown: Any
    ) -> Any:
        """Fit, and give the embedding of the rows; parameters as in :meth:`fit`."""
        return self.fit(X, y, constraints=constraints, **unknown).embedding_

    def transform(self, X: Any) -> FloatArray:
        """Embedding of new rows, which have no links.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        (n_samples, n_components) array
        """
        check_is_fitted(self)
        points = validate_data(self, sound(brought(X)), reset=False, dtype=np.float64)
        size = max(1, CHUNK // len(self._points))
        # Each distance by itself: products of matrices round by the batch, and give no zeros.
        chunks = (
            self._extended(cdist(points[start : start + size], self._points))
            for start in range(0, len(points), size)
        )
        return np.concatenate(list(chunks))

    def _extended(self, distance: FloatArray) -> FloatArray:
        """Embedding of rows by their distances to the fitted rows."""
        near = np.argsort(distance, axis=1, kind="stable")[:, : self.n_neighbors]
        apart = np.take_along_axis(distance, near, axis=1)
        # The nearest has the weight 1: the sum of the weights cancels.
        weight = np.exp(-0.5 * (apart**2 - apart[:, :1] ** 2) / self._width**2)
        mean = np.einsum("ij,ijc->ic", weight, self.embedding_[near]) / weight.sum(axis=1)[:, None]
        # A component with an eigenvalue that is not positive is no average of its neighbours.
        mean /= np.where(self.eigenvalues_ > LEAST_EIGENVALUE, self.eigenvalues_, 1.0)
        return np.where(apart[:, :1] > 0.0, mean, self.embedding_[near[:, 0]])


def _check_size(n_samples: int, n_components: int) -> None:
    if n_samples > PROPAGATED_ROWS:
        raise ValueError(
            f"X has {n_samples} samples; LinkPropagation takes at most {PROPAGATED_ROWS}, because "
            "it needs matrices of samples x samples."
        )
    if n_components > n_samples:
        raise ValueError(
            f"`n_components` is {n_components}, but X has n_samples={n_samples}; it may be at most "
            f"{n_samples}."
        )
