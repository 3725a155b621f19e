"""Per-cluster totals in the projected splitting: low rank, solved in closed form.

Row q of ``values`` bounds ``lower_qj <= t_q' x_j <= upper_qj`` for every cluster j.  Given the
solution ``x0`` of the x-system without totals, the full solution is

    x_ij = x0_ij - sum_q t_qi / (r_i a_i) theta_qj,

where ``(1/rho + G) theta = t' x0 - (z - y / rho)``, columns centred over the clusters because
every row of x sums to one, and ``G_qp = sum_i t_qi t_pi / (r_i a_i)``: one small system.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from ..presolve import Rules
from .projections import project_interval


class Totals:
    """Copies and duals of all totals of a problem: sizes, capacities, quotas and the balance.

    The balance is a total without dual, for clusters whose sizes are free: while the ridge is
    high it keeps their masses at ``1/k`` of the whole, and it fades with the ridge.

    Attributes
    ----------
    values : (q, m) array or None
        None for a single total whose values are all one.
    residual : float
        Largest miss of a bound, in units of the total's mean over the clusters.
    """

    def __init__(self, rules: Rules, metric: FloatArray) -> None:
        k = rules.n_clusters
        sizes = rules.sizes
        rows, lower, upper = [], [], []
        if sizes is not None:
            rows.append(rules.count.astype(float))
            lower.append(sizes.lower.astype(float))
            upper.append(sizes.upper.astype(float))
        for total in rules.totals:
            rows.append(total.values)
            lower.append(total.lower)
            upper.append(total.upper)
        self._balanced = sizes is None or bool(np.any(sizes.lower != sizes.upper))
        if self._balanced:
            rows.append(metric)
            lower.append(np.full(k, metric.sum() / k))
            upper.append(lower[-1])
        values = np.array(rows, float)
        self.values = None if len(rows) == 1 and np.all(values == 1.0) else values
        self._weight = metric.sum()
        self._lower, self._upper = np.array(lower, float), np.array(upper, float)
        self._free_order = rules.sizes_vary
        self._by_size = np.lexsort((self._upper[0], self._lower[0]))
        self._unit = np.maximum(np.abs(values).sum(axis=1, keepdims=True) / k, 1e-300)
        self._dual = np.zeros_like(self._lower)
        self._copy: FloatArray | None = None
        self.residual = 0.0

    def solve(self, totals: FloatArray, gram: FloatArray, ridge: float) -> FloatArray:
        """Theta of the x-update; then the totals' own copies and duals are updated.

        Parameters
        ----------
        totals : (q, k) array
            ``t' x0``.
        gram : (q, q) array
            ``G``.
        ridge : float
            What the balance fades with.
        """
        rho = 1.0 / np.maximum(gram.diagonal(), 1e-300)[:, None]
        if self._balanced:
            rho[-1] = ridge * totals.shape[1] / self._weight
        if self._copy is None:
            self._copy = self._project(totals)
        lack = totals - (self._copy - self._dual / rho)
        lack -= lack.sum(axis=1, keepdims=True) / lack.shape[1]
        theta: FloatArray = (
            lack / (1.0 / rho + gram)
            if len(gram) == 1
            else np.linalg.solve(np.diag(1.0 / rho[:, 0]) + gram, lack)
        )
        self._update(totals - gram @ theta, rho)
        return theta

    def _update(self, totals: FloatArray, rho: FloatArray) -> None:
        """Project the totals of the new x into their bounds, and take the dual step."""
        self._copy = self._project(totals + self._dual / rho)
        gap = totals - self._copy
        self._dual += rho * gap
        if self._balanced:
            self._dual[-1] = 0.0
            gap = gap[:-1]
        self.residual = float(np.abs(gap / self._unit[: len(gap)]).max(initial=0.0))

    def _project(self, totals: FloatArray) -> FloatArray:
        """Nearest totals within the bounds; the nearest order of them where order is free."""
        lower, upper = self._lower, self._upper
        if self._free_order:
            order = np.empty_like(self._by_size)
            order[np.argsort(totals[0], kind="stable")] = self._by_size
            lower, upper = lower.copy(), upper.copy()
            lower[0], upper[0] = lower[0, order], upper[0, order]
        return project_interval(totals, lower, upper)
