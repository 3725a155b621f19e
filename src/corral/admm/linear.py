"""General linear rows ``lower <= A vec(x) <= upper`` in the projected splitting.

The x-update stays closed form because the rows enter linearised at the last x, with a diagonal
that majorises ``A'A``: ``sigma_g = max_j sum_r |A_r,gj| sum |A_r|`` (Pock and Chambolle's
preconditioner).  Rows are scaled to unit norm first.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from ..presolve import LinearRows
from .projections import project_interval


def rows_groups(rows: LinearRows | None, n_clusters: int) -> IntArray:
    """The groups that the rows of ``A`` are about."""
    if rows is None:
        return np.empty(0, np.int64)
    return np.unique(rows.A.indices[rows.A.data != 0.0] // n_clusters)


class LinearCopies:
    """Copies and duals of the rows of ``A``, one number each.

    Parameters
    ----------
    rows : LinearRows
    groups : (e,) array
        The groups that take part, in order, those of ``rows_groups`` among them.
    x : (k, e) array
        Their start.
    """

    def __init__(self, rows: LinearRows, groups: IntArray, x: FloatArray) -> None:
        k, e = x.shape
        columns = (groups[:, None] * k + np.arange(k)).ravel()
        norm = np.sqrt(np.asarray(rows.A.multiply(rows.A).sum(axis=1)).ravel())
        unit = 1.0 / np.where(norm > 0.0, norm, 1.0)
        self._A = sparse.csr_array(sparse.diags_array(unit) @ rows.A[:, columns])
        self._lower, self._upper = rows.lower * unit, rows.upper * unit
        size = abs(self._A)
        self.diagonal = np.asarray(size.T @ size.sum(axis=1)).reshape(e, k).max(axis=1, initial=0)
        self._copy = project_interval(self._apply(x), self._lower, self._upper)
        self._dual = np.zeros(len(self._copy))
        self.residual = 0.0

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._copy)

    def pull(self, x: FloatArray, rho: float) -> FloatArray:
        """Minus the gradient of the rows at x, plus the diagonal times x, as (k, e)."""
        force = self._dual + rho * (self._apply(x) - self._copy)
        gradient = (self._A.T @ force).reshape(x.shape[1], x.shape[0]).T
        moved: FloatArray = rho * self.diagonal * x - gradient
        return moved

    def update(self, x: FloatArray, rho: float) -> None:
        """Project the rows' values into their bounds, and take the dual step."""
        value = self._apply(x)
        self._copy = project_interval(value + self._dual / rho, self._lower, self._upper)
        gap = value - self._copy
        self._dual += rho * gap
        self.residual = float(np.abs(gap).max(initial=0.0))

    def _apply(self, x: FloatArray) -> FloatArray:
        value: FloatArray = self._A @ x.T.reshape(-1)
        return value
