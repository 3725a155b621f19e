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

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._typing import BoolArray, FloatArray, IntArray
from ..presolve import Rules


def all_pairs(rules: Rules) -> IntArray:
    """Hard cannot-links, then soft pairs, (p, 2)."""
    return np.concatenate([rules.apart, rules.soft.pairs])


@dataclass(frozen=True)
class Ends:
    """Numbers of all pairs, hard cannot-links first, then soft pairs.

    Attributes
    ----------
    groups : (2 p,) array
        First ends of all pairs, then second ends, as places among the groups that take part.
    n_groups : int
        How many take part.
    inverse : (2 p,) array
        One over the weight in the norms of each end.
    price : (p,) array
        In units of the costs; infinite for a hard pair.
    together : (p,) array of bool
        Which pairs are must-links.
    """

    groups: IntArray
    n_groups: int
    inverse: FloatArray
    price: FloatArray
    together: BoolArray

    @classmethod
    def of(cls, rules: Rules, groups: IntArray, metric: FloatArray, unit: float) -> Ends:
        """Of the pairs of some rules.

        Parameters
        ----------
        rules : Rules
        groups : (e,) array
            The groups that take part, in order.
        metric : (e,) array
            Their weights in the norms.
        unit : float
            A price of one in units of the costs: the mean weight.
        """
        soft, hard = rules.soft, len(rules.apart)
        ends = np.searchsorted(groups, all_pairs(rules).T.reshape(-1))
        return cls(
            groups=ends,
            n_groups=len(groups),
            inverse=1.0 / metric[ends],
            price=np.concatenate([np.full(hard, np.inf), soft.price / unit]),
            together=np.concatenate([np.zeros(hard, bool), soft.together]),
        )

    @property
    def degree(self) -> IntArray:
        """Pairs of each group, (e,)."""
        return np.bincount(self.groups, minlength=self.n_groups)


class PairCopies:
    """Copies and duals of all pairs, (k, 2 p) each.

    Parameters
    ----------
    ends : Ends
    x : (k, e) array
        The start of the groups that take part.
    """

    def __init__(self, ends: Ends, x: FloatArray) -> None:
        self._ends, price, together = ends.groups, ends.price, ends.together
        # Both kinds in one form: the force along a + sign b - offset, within bounds.
        self._sign = np.where(together, -1.0, 1.0)
        self._offset = np.where(together, 0.0, 1.0)
        self._upper = np.where(together, price / 2.0, price)
        self._lower = np.where(together, -price / 2.0, 0.0)
        self._inverse = ends.inverse.reshape(2, -1)
        self._share = 1.0 / self._inverse.sum(axis=0)
        n_ends = len(self._ends)
        self._gather = sparse.csr_array(
            (np.ones(n_ends), (self._ends, np.arange(n_ends))), shape=(ends.n_groups, n_ends)
        )
        self.degree = ends.degree.astype(float)
        # In the order of memory in which NumPy writes what it gathers.
        self._copy = np.ascontiguousarray(x[:, self._ends])
        self._dual = np.zeros_like(self._copy)
        self._work = np.empty_like(self._copy)
        self._force = np.empty_like(self._copy[:, : len(self)])
        self._step = np.empty_like(self._force)
        self.residual = 0.0

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self._sign)

    def pull(self, rho: float) -> FloatArray:
        """Sum of ``rho z - y`` over the pairs of each group, what the x-update adds up."""
        wanted = np.multiply(self._copy, rho, out=self._work)
        wanted -= self._dual
        summed: FloatArray = (self._gather @ wanted.T).T
        return summed

    def update(self, x: FloatArray, rho: float) -> None:
        """Move the copies by the prox of their prices, and take the dual step."""
        # Clipping tells NumPy that it may write straight into the work array.
        ends = np.take(x, self._ends, axis=1, out=self._work, mode="clip")
        np.divide(self._dual, rho, out=self._copy)
        self._copy += ends
        a, b = self._copy[:, : len(self)], self._copy[:, len(self) :]
        force, step = self._force, self._step
        np.multiply(b, self._sign, out=force)
        force += a
        force -= self._offset
        force *= self._share
        np.clip(force, self._lower / rho, self._upper / rho, out=force)
        a -= np.multiply(force, self._inverse[0], out=step)
        b -= np.multiply(force, self._sign * self._inverse[1], out=step)
        ends -= self._copy
        self.residual = float(max(ends.max(initial=0.0), -ends.min(initial=0.0)))
        ends *= rho
        self._dual += ends
