"""Must-links as a reduction: rows that belong together become one weighted point.

This changes the k-means objective by a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._typing import FloatArray, IntArray, Matrix
from ..constraints._checks import sums_by


@dataclass(frozen=True)
class Contraction:
    """Rows joined into groups, given the number of each row's group.

    Examples
    --------
    >>> import numpy as np
    >>> joined = Contraction(np.array([0, 1, 0]))
    >>> points, weight, count, scatter = joined.apply(np.array([[0.0], [5.0], [2.0]]))
    >>> points.ravel(), count, scatter
    (array([1., 5.]), array([2, 1]), 2.0)
    """

    group: IntArray

    @cached_property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group.max(initial=-1)) + 1

    def apply(
        self, X: Matrix, weight: ArrayLike | None = None
    ) -> tuple[Matrix, FloatArray, IntArray, float]:
        """Contract the rows of ``X``, dense or CSR, with weights that are 1 by default.

        Returns the weighted mean of each group (the plain mean where all weights are 0, ``X``
        itself if no rows are joined), the sum of its weights, the number of its rows, and the
        scatter ``sum_i w_i |x_i - mean of its group|^2``.
        """
        n = X.shape[0]
        w = np.ones(n) if weight is None else np.asarray(weight, np.float64)
        count = np.bincount(self.group, minlength=self.n_groups)
        if self.n_groups == n:
            return X, w, count, 0.0
        total = sums_by(self.group, w, self.n_groups)
        share = np.where(total[self.group] > 0, w, 1.0)
        share /= sums_by(self.group, share, self.n_groups)[self.group]
        means = self._sparse_means if sparse.issparse(X) else self._dense_means
        points, scatter = means(X, w, share)
        return points, total, count, scatter

    def _dense_means(self, X: Matrix, w: FloatArray, share: FloatArray) -> tuple[Matrix, float]:
        points = np.empty((self.n_groups, X.shape[1]), X.dtype)
        shared = np.bincount(self.group)[self.group] > 1
        joined, alone = np.flatnonzero(shared), np.flatnonzero(~shared)
        points[self.group[alone]] = X[alone]
        # Only rows of larger groups are widened to float64.
        members, of = X[joined].astype(np.float64), self.group[joined]
        groups, local = np.unique(of, return_inverse=True)
        shape = (len(groups), len(joined))
        mix = sparse.csr_array((share[joined], (local, np.arange(len(joined)))), shape=shape)
        means = mix @ members
        points[groups] = means
        members -= means[local]
        return points, float(w[joined] @ np.einsum("ij,ij->i", members, members))

    def _sparse_means(self, X: Matrix, w: FloatArray, share: FloatArray) -> tuple[Matrix, float]:
        n = X.shape[0]
        mix = sparse.csr_array((share, (self.group, np.arange(n))), shape=(self.n_groups, n))
        means = sparse.csr_array(mix @ X)
        # Differences would fill in, so the scatter is a difference of squared norms here.
        total = sums_by(self.group, w, self.n_groups)
        scatter = float(w @ _squared_norms(X) - total @ _squared_norms(means))
        means.sort_indices()
        return means.astype(X.dtype), max(scatter, 0.0)


def _squared_norms(X: sparse.csr_array) -> FloatArray:
    squares = sparse.csr_array((np.square(X.data, dtype=np.float64), X.indices, X.indptr), X.shape)
    return np.asarray(squares.sum(axis=1)).ravel()
