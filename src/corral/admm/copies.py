"""Copies and duals of the rules that tie groups together: totals, pairs and linear rows.

ADMM gives each rule a copy of the entries of x that it is about, and a dual for the equation
``x = copy``.  The x-update sees copies and duals; then each rule moves its copy to the nearest
value that it allows, and takes its dual step.  The copies of the box and of the sphere, one for
every entry of x, are in the passes (:mod:`.blocks`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from ..rules import LinearRows, Rules

#: What sums that are divided by are at least; their squares do not vanish.
LEAST = float(np.sqrt(np.finfo(np.float64).tiny))


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

    Soft sums have a price of a unit outside their bounds, and their duals are at most that.

    ``metric`` is ``r``, ``unit`` the mean weight of a group, which the costs are divided by, and
    ``values`` is ``t``, or None for a single total whose values are all one.  ``residual`` is the
    largest miss of a bound, in units of the total's mean over the clusters.
    """

    def __init__(self, rules: Rules, metric: FloatArray, unit: float = 1.0) -> None:
        k, sizes, soft = rules.n_clusters, rules.sizes, rules.soft_sums
        rows: list[tuple[IntArray | FloatArray, ...]] = []
        if sizes is not None and (sizes.soft is None or sizes.binds(rules.n_rows)):
            rows.append((rules.count, sizes.lower, sizes.upper))
        n_sizes = len(rows) + (0 if sizes is None or sizes.soft is None else len(sizes.soft.price))
        hard = [(total.values, total.lower, total.upper) for total in rules.totals]
        prices = [np.inf] * len(rows) + list(soft.price[:, 0] / unit) + [np.inf] * len(hard)
        rows += [*zip(soft.values, soft.lower, soft.upper, strict=True), *hard]
        self._balanced = sizes is None or not sizes.exact
        if self._balanced:
            share = np.full(k, metric.sum() / k)
            rows.append((metric, share, share))
            prices.append(np.inf)
        self._price = np.array(prices)[:, None]
        values, self._lower, self._upper = (
            np.array(column, float) for column in zip(*rows, strict=True)
        )
        self.values = None if len(rows) == 1 and np.all(values == 1.0) else values
        self._weight = metric.sum()
        self._ordered_anew = n_sizes if rules.sizes_vary else 0
        bounds = zip(self._upper[:n_sizes], self._lower[:n_sizes], strict=True)
        keys = [side for both in bounds for side in both]
        self._by_size = np.lexsort(keys) if keys else np.arange(k)
        self._unit = np.maximum(np.abs(values).sum(axis=1, keepdims=True) / k, LEAST)
        self._dual = np.zeros_like(self._lower)
        self._copy: FloatArray | None = None
        self._rho = np.ones((len(rows), 1))
        self.residual = 0.0

    def multipliers(self, totals: FloatArray, gram: FloatArray, ridge: float) -> FloatArray:
        """``theta`` (q, k) of the x-update from ``t' x0`` (q, k) and ``G`` (q, q).

        The penalty of the balance is in proportion to the ridge.
        """
        rho = self._rho = 1.0 / np.maximum(gram.diagonal(), LEAST)[:, None]
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
        """Nearest totals within the bounds; the nearest order of the sizes if that is free.

        Soft sums go as far towards their bounds as their price pays for.
        """
        lower, upper, sized = self._lower, self._upper, self._ordered_anew
        if sized:
            order = np.empty_like(self._by_size)
            order[np.argsort(totals[0], kind="stable")] = self._by_size
            lower, upper = lower.copy(), upper.copy()
            lower[:sized], upper[:sized] = lower[:sized, order], upper[:sized, order]
        inside = np.clip(totals, lower, upper)
        if np.isinf(self._price).all():
            return inside
        beyond, most = totals - inside, self._price / self._rho
        return np.asarray(totals - np.clip(beyond, -most, most))


def pulled_groups(rules: Rules) -> IntArray:
    """Groups that pairs, soft pins or linear rows *pull*: their x-update has more terms, (e,)."""
    pairs = rules.apart.ravel(), rules.soft.pairs.ravel()
    ends = np.concatenate([*pairs, rules.soft_pins.pins[:, 0]])
    if rules.linear is None:
        return np.unique(ends)
    A = rules.linear.A
    return np.unique(np.concatenate([ends, A.indices[A.data != 0.0] // rules.n_clusters]))


@dataclass(frozen=True)
class Ties:
    """Rules ``sum_e sign_e x_g(e) <= offset`` of few groups each, the same for every cluster.

    A clique of cannot-links is one: the sum over its groups is at most 1.  A soft pair is another;
    to break it costs at most its price, so that the dual of its rule is bounded.
    """

    groups: IntArray  # (E,): members, tie by tie, as places among the pulled groups
    start: IntArray  # (t + 1,): where the members of each tie begin
    sign: FloatArray  # (E,): -1 for the second end of a must-link, 1 for all others
    offset: FloatArray  # (t,)
    lower: FloatArray  # (t,): bounds of the dual, in units of the costs
    upper: FloatArray
    inverse: FloatArray  # (e,): one over the weight of each pulled group in the norms

    @classmethod
    def of(cls, rules: Rules, pulled: IntArray, metric: FloatArray, unit: float) -> Ties:
        """The pairs among the pulled groups (e,), given their weights in the norms (e,).

        Prices are divided by ``unit``, the mean weight of a group, as the costs are.
        """
        soft, cliques = rules.soft, rules.pairs.cliques
        price, hard = soft.price / unit, len(cliques)
        members = np.concatenate([cliques.members, soft.pairs.ravel()])
        start = cliques.start[-1] + 2 * np.arange(1, len(price) + 1)
        sign = np.ones(len(members))
        sign[len(cliques.members) + 1 :: 2][soft.together] = -1.0
        return cls(
            groups=np.searchsorted(pulled, members),
            start=np.concatenate([cliques.start, start]),
            sign=sign,
            offset=np.concatenate([np.ones(hard), np.where(soft.together, 0.0, 1.0)]),
            lower=np.concatenate([np.zeros(hard), np.where(soft.together, -price / 2.0, 0.0)]),
            upper=np.concatenate(
                [np.full(hard, np.inf), np.where(soft.together, price / 2.0, price)]
            ),
            inverse=1.0 / metric,
        )

    def __len__(self) -> int:
        return len(self.offset)


class TieCopies:
    """Copies of x for each tie, with their duals.

    A tie has its own copy of the row of each member.  The proximal operator of its price moves
    them, elementwise over the clusters.  In the metric of the weights ``r`` and with penalty rho,
    all members g move against one force y: ``z_g = x_g + sign_g (y_old - y) / (rho r_g)`` with

        y = clip(y_old + rho (sum_g sign_g x_g - offset) / sum_g 1/r_g, lower, upper),

    and their duals are ``sign_g y / r_g``.  So the forces, (t, k), are the whole state.  Without a
    price the upper bound is infinite, and the copies are the projection onto the rule.

    ``x`` (k, e) is the start of the pulled groups.  ``degree`` (e,) is the number of ties of each
    of them, and ``residual`` the largest difference between x and a copy.
    """

    def __init__(self, ties: Ties, x: FloatArray) -> None:
        dtype, shape = x.dtype, (len(ties), len(ties.inverse))
        own = ties.inverse[ties.groups]
        self._sum, apply = (
            sparse.csr_array((values.astype(dtype), ties.groups, ties.start), shape=shape)
            for values in (ties.sign, ties.sign * own)
        )
        share = 1.0 / np.add.reduceat(own, ties.start[:-1])
        reach = np.maximum.reduceat(own, ties.start[:-1])
        self._apply = apply.T.tocsr()
        self._offset, self._lower, self._upper, self._share, self._reach = (
            column.astype(dtype)[:, None]
            for column in (ties.offset, ties.lower, ties.upper, share, reach)
        )
        self.degree = np.bincount(ties.groups, minlength=shape[1]).astype(dtype)
        self._x = np.ascontiguousarray(x.T)
        self._force = np.zeros((len(ties), len(x)), dtype)
        self._change = np.zeros_like(self._force)
        self.residual = 0.0

    def pull(self, rho: float) -> FloatArray:
        """Sum of ``rho z - y`` over the ties of each group, (k, e), for the x-update."""
        wanted: FloatArray = self._apply @ (rho * self._change - self._force)
        wanted += rho * self.degree[:, None] * self._x
        return wanted.T

    def update(self, x: FloatArray, rho: float) -> None:
        """Move the copies by the proximal operator of their prices, and take the dual step."""
        before, self._x = self._force, np.ascontiguousarray(x.T)
        force: FloatArray = self._sum @ self._x
        force -= self._offset
        force *= rho * self._share
        force += before
        self._force = np.clip(force, self._lower, self._upper, out=force)
        self._change = (before - self._force) / rho
        self.residual = float(np.max(np.abs(self._change) * self._reach, initial=0.0))


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
