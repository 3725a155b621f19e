"""Per-cluster totals in the projected splitting: low rank, solved in closed form.

Row q of ``values`` bounds ``lower_qj <= t_q' x_j <= upper_qj`` for every cluster j.  Given the
solution ``x0`` of the x-system without totals, the full solution is

    x_ij = x0_ij - sum_q t_qi / (r_i a_i) (theta_qj - mean_j theta_q),

where ``(1/rho + G) theta = t' x0 - (z - y / rho)``, columns centred over the clusters because
every row of x sums to one, and ``G_qp = sum_i t_qi t_pi / (r_i a_i)``: one small system.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from ..problem import Problem
from .projections import project_interval


class Totals:
    """Copies and duals of all totals of a problem: sizes, capacities, quotas and the balance.

    The balance is a total without dual, for clusters whose sizes are free: while the ridge is
    high it keeps their masses at ``1/k`` of the whole, and it fades with the ridge.
    """

    def __init__(self, problem: Problem, metric: FloatArray, balance: bool) -> None:
        k = problem.n_clusters
        rows, lower, upper = [], [], []
        self._matched = problem.sizes is not None and not problem.sizes.ordered
        if problem.sizes is not None:
            rows.append(problem.count.astype(float))
            lower.append(problem.sizes.lower.astype(float))
            upper.append(problem.sizes.upper.astype(float))
        for total in problem.totals:
            rows.append(total.values)
            lower.append(total.lower)
            upper.append(total.upper)
        if balance:
            share = metric.sum() / k
            rows.append(metric)
            lower.append(np.full(k, share))
            upper.append(np.full(k, share))
        self._values = np.array(rows, float).reshape(len(rows), len(metric))
        self._lower = np.array(lower, float).reshape(len(rows), k)
        self._upper = np.array(upper, float).reshape(len(rows), k)
        self._balance = balance
        self._dual = np.zeros_like(self._lower)
        self._copy: FloatArray | None = None
        self._rho = np.ones((len(rows), 1))
        self._scale = np.maximum(np.abs(self._values).sum(axis=1, keepdims=True) / k, 1e-300)
        self.residual = 0.0

    def __len__(self) -> int:
        """Number of totals."""
        return len(self._values)

    def solve(self, x: FloatArray, diagonal: FloatArray, ridge: float) -> FloatArray:
        """The x-update with totals, from the one without.

        Parameters
        ----------
        x : (k, m) array
            Solution without totals; changed in place.
        diagonal : (m,) array
            ``r_i a_i``, infinite for a pinned group.
        ridge : float
            What the balance fades with.
        """
        scaled = self._values / diagonal
        gram = scaled @ self._values.T
        self._rho = 1.0 / np.maximum(np.diag(gram), 1e-300)[:, None]
        if self._balance:
            weight = self._values[-1].sum()
            self._rho[-1] = ridge * x.shape[0] / weight
        totals = self._values @ x.T
        if self._copy is None:
            self._copy = self._project(totals)
        lack = totals - (self._copy - self._dual / self._rho)
        lack -= lack.mean(axis=1, keepdims=True)
        theta = np.linalg.solve(np.diag(1.0 / self._rho[:, 0]) + gram, lack)
        x -= theta.T @ scaled
        return x

    def update(self, x: FloatArray) -> None:
        """Project the totals of x into their bounds, and take the dual step."""
        totals = self._values @ x.T
        copy = self._project(totals + self._dual / self._rho)
        gap = totals - copy
        self._dual += self._rho * gap
        if self._balance:
            self._dual[-1] = 0.0
        self._copy = copy
        relative = np.abs(gap / self._scale)[: len(self) - self._balance]
        self.residual = float(relative.max(initial=0.0))

    def _project(self, totals: FloatArray) -> FloatArray:
        """Nearest totals within the bounds; the nearest order of them where order is free."""
        lower, upper = self._lower, self._upper
        if self._matched:
            rank = np.argsort(np.argsort(totals[0], kind="stable"), kind="stable")
            order = np.lexsort((upper[0], lower[0]))[rank]
            lower, upper = lower.copy(), upper.copy()
            lower[0], upper[0] = lower[0, order], upper[0, order]
        return project_interval(totals, lower, upper)
