"""Copies and duals of the rules that tie groups together: totals, pairs and linear rows.

ADMM gives each rule a copy of the entries of x that it is about, and a dual for the equation
``x = copy``.  The x-update sees copies and duals; then each rule moves its copy to the nearest
value that it allows, and takes its dual step.  The copies of the box and of the sphere, one for
every entry of x, are in the passes (:mod:`.updates`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._typing import BoolArray, FloatArray, IntArray
from ..presolve import LinearRows, Rules


class Totals:
    """Sums over each cluster that have bounds: sizes, capacities, quotas and the balance.

    Row q of ``values`` bounds ``lower_qj <= t_q' x_j <= upper_qj`` for every cluster j.  Given the
    solution ``x0`` of the x-system without totals, the full solution is

        x_gj = x0_gj - sum_q t_qg / (r_g a_g) theta_qj,

    where ``(1/rho + G) theta = t' x0 - (z - y / rho)`` and ``G_qp = sum_g t_qg t_pg / (r_g a_g)``.
    The right side is centred over the clusters, because every row of x sums to one.  Each total has
    its own penalty ``rho_q = 1 / G_qq``.

    The balance is a total without dual, for clusters whose sizes are free.  While the ridge is
    high, it keeps the mass of each cluster at ``1/k`` of the whole; its penalty falls with the
    ridge.

    ``metric`` is ``r``, and ``values`` is ``t``, or None for a single total whose values are all
    one.  ``residual`` is the largest miss of a bound, in units of the total's mean over the
    clusters.
    """

    def __init__(self, rules: Rules, metric: FloatArray) -> None:
        k, sizes = rules.n_clusters, rules.sizes
        rows: list[tuple[IntArray | FloatArray, ...]] = []
        if sizes is not None:
            rows.append((rules.count, sizes.lower, sizes.upper))
        rows += [(total.values, total.lower, total.upper) for total in rules.totals]
        self._balanced = sizes is None or not sizes.exact
        if self._balanced:
            share = np.full(k, metric.sum() / k)
            rows.append((metric, share, share))
        values, self._lower, self._upper = (
            np.array(column, float) for column in zip(*rows, strict=True)
        )
        self.values = None if len(rows) == 1 and np.all(values == 1.0) else values
        self._weight = metric.sum()
        self._free_order = rules.sizes_vary
        self._by_size = np.lexsort((self._upper[0], self._lower[0]))
        self._unit = np.maximum(np.abs(values).sum(axis=1, keepdims=True) / k, 1e-300)
        self._dual = np.zeros_like(self._lower)
        self._copy: FloatArray | None = None
        self._rho = np.ones((len(rows), 1))
        self.residual = 0.0

    def multipliers(self, totals: FloatArray, gram: FloatArray, ridge: float) -> FloatArray:
        """``theta`` (q, k) of the x-update from ``t' x0`` (q, k) and ``G`` (q, q).

        The penalty of the balance is in proportion to the ridge.
        """
        rho = self._rho = 1.0 / np.maximum(gram.diagonal(), 1e-300)[:, None]
        if self._balanced:
            rho[-1] = ridge * totals.shape[1] / self._weight
        if self._copy is None:
            self._copy = self._project(totals)
        lack = totals - (self._copy - self._dual / rho)
        lack -= lack.sum(axis=1, keepdims=True) / lack.shape[1]
        if len(gram) == 1:
            theta: FloatArray = lack / (1.0 / rho + gram)
        else:
            theta = np.linalg.solve(np.diag(1.0 / rho[:, 0]) + gram, lack)
        return theta

    def update(self, totals: FloatArray) -> None:
        """Project the totals of the new x into their bounds, and take the dual step."""
        self._copy = self._project(totals + self._dual / self._rho)
        gap = totals - self._copy
        self._dual += self._rho * gap
        if self._balanced:
            self._dual[-1] = 0.0
            gap = gap[:-1]
        self.residual = float(np.abs(gap / self._unit[: len(gap)]).max(initial=0.0))

    def _project(self, totals: FloatArray) -> FloatArray:
        """Nearest totals within the bounds; the nearest order of the sizes if that is free."""
        lower, upper = self._lower, self._upper
        if self._free_order:
            order = np.empty_like(self._by_size)
            order[np.argsort(totals[0], kind="stable")] = self._by_size
            lower, upper = lower.copy(), upper.copy()
            lower[0], upper[0] = lower[0, order], upper[0, order]
        return np.clip(totals, lower, upper)


def pulled_groups(rules: Rules) -> IntArray:
    """The groups that pairs or linear rows *pull*: their x-update has more terms, (e,)."""
    ends = all_pairs(rules).ravel()
    if rules.linear is None:
        return np.unique(ends)
    A = rules.linear.A
    return np.unique(np.concatenate([ends, A.indices[A.data != 0.0] // rules.n_clusters]))


def all_pairs(rules: Rules) -> IntArray:
    """Hard cannot-links, then soft pairs, (p, 2)."""
    return np.concatenate([rules.apart, rules.soft.pairs])


@dataclass(frozen=True)
class Ends:
    """Numbers of all pairs, hard cannot-links first, then soft pairs."""

    groups: IntArray  # (2 p,): all first ends, then all second ends, as places among the pulled
    n_groups: int  # number of pulled groups, e
    inverse: FloatArray  # (2 p,): one over the weight of each end in the norms
    price: FloatArray  # (p,): in units of the costs, infinite for a hard pair
    together: BoolArray  # (p,): which pairs are must-links

    @classmethod
    def of(cls, rules: Rules, pulled: IntArray, metric: FloatArray, unit: float) -> Ends:
        """The pairs among the pulled groups (e,), given their weights in the norms (e,).

        Prices are divided by ``unit``, the mean weight of a group, as the costs are.
        """
        soft, hard = rules.soft, len(rules.apart)
        ends = np.searchsorted(pulled, all_pairs(rules).T.reshape(-1))
        return cls(
            groups=ends,
            n_groups=len(pulled),
            inverse=1.0 / metric[ends],
            price=np.concatenate([np.full(hard, np.inf), soft.price / unit]),
            together=np.concatenate([np.zeros(hard, bool), soft.together]),
        )

    @property
    def degree(self) -> IntArray:
        """Pairs of each pulled group, (e,)."""
        return np.bincount(self.groups, minlength=self.n_groups)


class PairCopies:
    """Two copies of x for each cannot-link and soft pair, with their duals, (k, 2 p) each.

    Pair (a, b) has its own copies ``za, zb`` of the rows ``x_a, x_b``.  The proximal operator of
    its price moves them, elementwise over the clusters.  In the metric of the weights ``r`` and
    with penalty rho,

    - a cannot-link of price c, ``c max(za + zb - 1, 0)``, moves each copy down by ``s / (rho r)``
      with ``s = min(c, excess / (1/(rho r_a) + 1/(rho r_b)))``; an infinite price gives the
      projection onto ``za + zb <= 1``;
    - a soft must-link of price c, ``c/2 |za - zb|``, moves them towards each other by the same
      formula with ``|s| <= c / 2``.

    ``x`` (k, e) is the start of the pulled groups.  ``degree`` (e,) is the number of pairs of each
    of them, and ``residual`` the largest difference between x and a copy.
    """

    def __init__(self, ends: Ends, x: FloatArray) -> None:
        self._ends, price, together = ends.groups, ends.price, ends.together
        # Both kinds in one form: a bounded force on ``a + sign b - offset``.
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
        return len(self._sign)

    def pull(self, rho: float) -> FloatArray:
        """Sum of ``rho z - y`` over the pairs of each group, (k, e), for the x-update."""
        wanted = np.multiply(self._copy, rho, out=self._work)
        wanted -= self._dual
        summed: FloatArray = (self._gather @ wanted.T).T
        return summed

    def update(self, x: FloatArray, rho: float) -> None:
        """Move the copies by the proximal operator of their prices, and take the dual step."""
        # With the mode "clip" NumPy writes straight into the work array.
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


class LinearCopies:
    """One copy and one dual for each row of ``lower <= A vec(x) <= upper``.

    The x-update stays a closed form because the rows enter linearised at the last x, with a
    diagonal that majorises ``A'A``: ``sigma_g = max_j sum_r |A_r,gj| sum |A_r|`` (the
    preconditioner of Pock and Chambolle).  Rows are scaled to unit norm first.

    The groups of the rows are among the pulled ``groups`` (e,), which start at ``x`` (k, e).
    ``diagonal`` (e,) is ``sigma``, and ``residual`` the largest miss of a bound, of rows of unit
    norm.
    """

    def __init__(self, rows: LinearRows, groups: IntArray, x: FloatArray) -> None:
        k, e = x.shape
        norm = np.sqrt(np.asarray(rows.A.multiply(rows.A).sum(axis=1)).ravel())
        unit = 1.0 / np.where(norm > 0.0, norm, 1.0)
        self._A = sparse.csr_array(sparse.diags_array(unit) @ rows.part(groups, k).A)
        self._lower, self._upper = rows.lower * unit, rows.upper * unit
        size = abs(self._A)
        self.diagonal = np.asarray(size.T @ size.sum(axis=1)).reshape(e, k).max(axis=1, initial=0)
        self._copy = np.clip(self._apply(x), self._lower, self._upper)
        self._dual = np.zeros(len(self._copy))
        self.residual = 0.0

    def pull(self, x: FloatArray, rho: float) -> FloatArray:
        """``rho sigma x`` less the gradient of the rows at x, (k, e), for the x-update."""
        force = self._dual + rho * (self._apply(x) - self._copy)
        gradient = (self._A.T @ force).reshape(x.shape[1], x.shape[0]).T
        moved: FloatArray = rho * self.diagonal * x - gradient
        return moved

    def update(self, x: FloatArray, rho: float) -> None:
        """Project the rows' values into their bounds, and take the dual step."""
        value = self._apply(x)
        self._copy = np.clip(value + self._dual / rho, self._lower, self._upper)
        gap = value - self._copy
        self._dual += rho * gap
        self.residual = float(np.abs(gap).max(initial=0.0))

    def _apply(self, x: FloatArray) -> FloatArray:
        value: FloatArray = self._A @ x.T.reshape(-1)
        return value
