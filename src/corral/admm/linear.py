"""General linear rows ``lower <= A vec(x) <= upper`` in the projected splitting.

The x-update stays closed form because the rows enter linearised at the last x, with a diagonal
that majorises ``A'A``: ``sigma_g = max_j sum_r |A_r,gj| sum |A_r|`` (Pock and Chambolle's
preconditioner).  Rows are scaled to unit norm first.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._typing import FloatArray
from ..problem import LinearRows
from .projections import project_interval


class LinearCopies:
    """Copies and duals of the rows of ``A``, one number each."""

    def __init__(self, rows: LinearRows | None, x: FloatArray) -> None:
        k, m = x.shape
        if rows is None:
            rows = LinearRows(sparse.csr_array((0, m * k)), np.empty(0), np.empty(0))
        norm = sparse.linalg.norm(rows.A, axis=1) if rows.A.shape[0] else np.empty(0)
        unit = 1.0 / np.where(norm > 0.0, norm, 1.0)
        self._A = sparse.csr_array(sparse.diags_array(unit) @ rows.A)
        self._lower, self._upper = rows.lower * unit, rows.upper * unit
        size = abs(self._A)
        columns = size.T @ size.sum(axis=1)
        self.diagonal = np.asarray(columns).reshape(m, k).max(axis=1)
        self._copy = project_interval(self._apply(x), self._lower, self._upper)
        self._dual = np.zeros(len(self._copy))
        self.residual = 0.0

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._copy)

    def pull(self, x: FloatArray, rho: float) -> FloatArray:
        """Minus the gradient of the rows at x, plus the diagonal times x, as (k, m)."""
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
