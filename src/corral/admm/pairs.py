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

from .._typing import FloatArray, IntArray
from ..problem import Problem


def all_pairs(problem: Problem) -> IntArray:
    """Hard cannot-links, then soft pairs, (p, 2)."""
    return np.concatenate([problem.apart, problem.soft.pairs])


class PairCopies:
    """Copies and duals of all pairs of a problem, (k, 2 p) each.

    Parameters
    ----------
    problem : Problem
    groups : (e,) array
        The groups that take part, in order; arrays here are about them alone.
    metric : (e,) array
        Their weights in the norms.
    x : (k, e) array
        Their start.
    unit : float
        What a price of one is in the units of the costs: the mean weight.
    """

    def __init__(
        self,
        problem: Problem,
        groups: IntArray,
        metric: FloatArray,
        x: FloatArray,
        unit: float,
    ) -> None:
        soft, hard = problem.soft, len(problem.apart)
        self._ends = np.searchsorted(groups, all_pairs(problem).T.reshape(-1))
        self._together = np.concatenate([np.zeros(hard, bool), soft.together])
        self._price = np.concatenate([np.full(hard, np.inf), soft.price / unit])
        self._inverse = (1.0 / metric[self._ends]).reshape(2, -1)
        n_ends = len(self._ends)
        self._gather = sparse.csr_array(
            (np.ones(n_ends), (self._ends, np.arange(n_ends))), shape=(len(groups), n_ends)
        )
        self.degree = np.bincount(self._ends, minlength=len(groups)).astype(float)
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
        a, b = np.split(ends + self._dual / rho, 2, axis=1)
        step = rho / (self._inverse[0] + self._inverse[1])
        apart = np.clip((a + b - 1.0) * step, 0.0, self._price)
        closer = np.clip((a - b) * step, -self._price / 2.0, self._price / 2.0)
        force = np.where(self._together, closer, apart) / rho
        toward = np.where(self._together, -force, force)
        self._copy = np.concatenate(
            [a - force * self._inverse[0], b - toward * self._inverse[1]], axis=1
        )
        gap = ends - self._copy
        self._dual += rho * gap
        self.residual = float(np.abs(gap).max(initial=0.0))
