"""Cannot-links and soft pairs in the projected splitting: two copies of x a pair.

Pair p = (a, b) holds its own copies ``za, zb`` of the rows ``x_a, x_b``; the prox of its price
moves them, elementwise over the clusters.  In the metric of the rows' weights ``r`` and with
penalty rho,

- a cannot-link of price c: ``c max(za + zb - 1, 0)`` moves both down by ``s / (rho r)`` with
  ``s = min(c, excess / (1/(rho r_a) + 1/(rho r_b)))``; an infinite price is the projection;
- a soft must-link of price c: ``c/2 |za - zb|`` moves them towards each other by the same rule
  with ``|s| <= c / 2``.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._typing import FloatArray
from ..problem import Problem


class PairCopies:
    """Copies and duals of all pairs of a problem, (k, pairs) each."""

    def __init__(self, problem: Problem, metric: FloatArray, x: FloatArray) -> None:
        soft = problem.soft
        pairs = np.concatenate([problem.apart, soft.pairs])
        self._ends = pairs.T.reshape(-1)
        self._together = np.concatenate([np.zeros(len(problem.apart), bool), soft.together])
        self._price = np.concatenate([np.full(len(problem.apart), np.inf), soft.price])
        self._inverse = 1.0 / metric[pairs.T]
        n_pairs, n_groups = len(pairs), x.shape[1]
        self._gather = sparse.csr_array(
            (np.ones(2 * n_pairs), (self._ends, np.arange(2 * n_pairs))),
            shape=(n_groups, 2 * n_pairs),
        )
        self.degree = np.bincount(self._ends, minlength=n_groups).astype(float)
        self._copy = x[:, self._ends]
        self._dual = np.zeros_like(self._copy)
        self.residual = 0.0

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self._price)

    def pull(self, rho: float) -> FloatArray:
        """Sum of ``rho z - y`` over the pairs of each group, what the x-update adds up."""
        summed: FloatArray = (self._gather @ (rho * self._copy - self._dual).T).T
        return summed

    def update(self, x: FloatArray, rho: float) -> None:
        """Move the copies by the prox of their prices, and take the dual step."""
        ends = x[:, self._ends]
        wanted = (ends + self._dual / rho).reshape(len(x), 2, -1)
        a, b = wanted[:, 0], wanted[:, 1]
        step = 1.0 / (rho * (self._inverse[0] + self._inverse[1]))
        apart = np.clip((a + b - 1.0) * step, 0.0, self._price)
        closer = np.clip((a - b) * step, -self._price / 2.0, self._price / 2.0)
        force = np.where(self._together, closer, apart) / rho
        sign = np.where(self._together, -1.0, 1.0)
        moved = np.stack([a - force * self._inverse[0], b - sign * force * self._inverse[1]], 1)
        self._copy = moved.reshape(ends.shape)
        gap = ends - self._copy
        self._dual += rho * gap
        self.residual = float(np.abs(gap).max(initial=0.0))
