"""From the user's constraints to the problem that the solvers see.

Must-links are contracted: rows that must be together become one weighted point, which changes
the k-means objective by a constant only.  Contradictions that can be seen now are raised now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ._graphs import components
from ._typing import FloatArray, IntArray, Matrix
from .constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstraintSet,
    LinearConstraint,
    MustLink,
    Pin,
)
from .constraints._checks import Names, sums_by
from .constraints.sizes import merge_sizes
from .contradictions import raise_contradictions
from .problem import LinearRows, Problem, SizeBounds, SoftPairs, TotalBounds


@dataclass(frozen=True)
class Contraction:
    """Rows joined into groups.

    Attributes
    ----------
    group : (n,) int array
        The group of each row, counted in the order of their first rows.
    n_groups : int

    Examples
    --------
    >>> import numpy as np
    >>> joined = Contraction.of_links(3, np.array([[0, 2]]))
    >>> joined.group
    array([0, 1, 0])
    >>> points, weight, count, scatter = joined.apply(np.array([[0.0], [5.0], [2.0]]))
    >>> points.ravel(), count, scatter
    (array([1., 5.]), array([2, 1]), 2.0)
    >>> joined.invert(np.array([1, 0]))
    array([1, 0, 1])
    """

    group: IntArray
    n_groups: int

    @classmethod
    def of_links(cls, n_samples: int, pairs: IntArray) -> Contraction:
        """Join the rows that chains of pairs connect."""
        group = components(n_samples, pairs)
        return cls(group, int(group.max(initial=-1)) + 1)

    def apply(
        self, X: Matrix, weight: ArrayLike | None = None
    ) -> tuple[Matrix, FloatArray, IntArray, float]:
        """Contract the rows of ``X``.

        Parameters
        ----------
        X : (n, d) array or CSR
        weight : (n,) array, optional
            Sample weights, not negative; 1 by default.

        Returns
        -------
        points : (m, d) array or CSR
            Weighted mean of each group, the plain mean where all weights are 0.  ``X`` itself if
            no rows are joined.
        weight : (m,) array
            Sum of the weights.
        count : (m,) int array
            Number of rows.
        scatter : float
            ``sum_i w_i |x_i - mean of its group|^2``.
        """
        n = X.shape[0]
        w = np.ones(n) if weight is None else np.asarray(weight, np.float64)
        count = np.bincount(self.group, minlength=self.n_groups)
        if self.n_groups == n:
            return X, w, count, 0.0
        total = sums_by(self.group, w, self.n_groups)
        share = np.where(total[self.group] > 0, w, 1.0)
        share /= sums_by(self.group, share, self.n_groups)[self.group]
        if sparse.issparse(X):
            points, scatter = self._contract_sparse(X, w, total, share)
        else:
            points, scatter = self._contract_dense(X, w, count, share)
        return points, total, count, scatter

    def _contract_dense(
        self, X: FloatArray, w: FloatArray, count: IntArray, share: FloatArray
    ) -> tuple[FloatArray, float]:
        points = np.empty((self.n_groups, X.shape[1]), X.dtype)
        joined = np.flatnonzero(count[self.group] > 1)
        alone = np.flatnonzero(count[self.group] == 1)
        points[self.group[alone]] = X[alone]
        # Only rows of larger groups are widened to float64.
        members, of = X[joined].astype(np.float64), self.group[joined]
        groups, local = np.unique(of, return_inverse=True)
        shape = (len(groups), len(joined))
        mix = sparse.csr_array((share[joined], (local, np.arange(len(joined)))), shape=shape)
        means = mix @ members
        points[groups] = means
        members -= means[local]
        scatter = float(w[joined] @ np.einsum("ij,ij->i", members, members))
        return points, scatter

    def _contract_sparse(
        self, X: sparse.csr_array, w: FloatArray, total: FloatArray, share: FloatArray
    ) -> tuple[sparse.csr_array, float]:
        n = X.shape[0]
        mix = sparse.csr_array((share, (self.group, np.arange(n))), shape=(self.n_groups, n))
        means = sparse.csr_array(mix @ X)
        # Differences would fill in, so the scatter is a difference of squared norms here.
        scatter = float(w @ _squared_norms(X) - total @ _squared_norms(means))
        means.sort_indices()
        return means.astype(X.dtype), max(scatter, 0.0)

    def invert(self, group_labels: IntArray) -> IntArray:
        """Give the labels of the rows from labels of the groups."""
        return group_labels[self.group]


def presolve(
    X: Matrix,
    constraints: Any,
    n_clusters: int,
    sample_weight: ArrayLike | None = None,
    *,
    names: Names = None,
    contract: bool = True,
) -> Problem:
    """Check the constraints against the data and put them into plain arrays.

    Parameters
    ----------
    X : (n, d) float array or CSR
        Finite values.
    constraints : ConstraintSet, or what makes one
    n_clusters : int
    sample_weight : (n,) array, optional
    names : sequence, optional
        What to call the rows in error messages.
    contract : bool, default True
        False keeps every row a group of its own, hard must-links in ``together``, and looks for
        no contradictions: for the least violating answer.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If a constraint does not fit the data.
    InfeasibleConstraintsError
        If the constraints contradict each other in a way that can be seen without solving.

    Examples
    --------
    >>> import numpy as np
    >>> from corral.constraints import CannotLink, MustLink
    >>> X = np.array([[0.0], [1.0], [9.0]])
    >>> problem = presolve(X, [MustLink([(0, 1)]), CannotLink([(1, 2)])], n_clusters=2)
    >>> problem.points.ravel(), problem.apart
    (array([0.5, 9. ]), array([[0, 1]]))
    """
    n = X.shape[0]
    given = ConstraintSet(constraints)
    given.check(n, n_clusters)
    rules = given.expand(n, n_clusters)
    must = _stacked([link.pairs for link in rules.hard.of_kind(MustLink)])
    cannot = _stacked([link.pairs for link in rules.hard.of_kind(CannotLink)])
    contraction = Contraction.of_links(n, must if contract else must[:0])
    if contract:
        raise_contradictions(rules, contraction.group, n_clusters, names)
    points, weight, count, scatter = contraction.apply(X, sample_weight)
    group, m = contraction.group, contraction.n_groups
    return Problem(
        points=points,
        weight=weight,
        count=count,
        scatter=scatter,
        group=group,
        n_clusters=n_clusters,
        pins=_pins(rules, group, n_clusters),
        apart=_unique_pairs(group[cannot], m),
        together=_unique_pairs(must if not contract else must[:0], m),
        soft=_soft_pairs(rules.soft, group, m),
        sizes=_sizes(rules, n, n_clusters),
        totals=_totals(rules, group, m, n_clusters),
        linear=_linear(rules, group, m, n_clusters),
    )


def _squared_norms(X: sparse.csr_array) -> FloatArray:
    squares = sparse.csr_array((np.square(X.data, dtype=np.float64), X.indices, X.indptr), X.shape)
    return np.asarray(squares.sum(axis=1)).ravel()


def _stacked(pairs: list[IntArray]) -> IntArray:
    return np.concatenate([np.empty((0, 2), np.int64), *pairs])


def _unique_pairs(pairs: IntArray, m: int) -> IntArray:
    """Give each unordered pair once, the smaller end first."""
    keys = np.unique(pairs.min(axis=1) * m + pairs.max(axis=1))
    return np.column_stack(np.divmod(keys, max(m, 1)))


def _pins(rules: ConstraintSet, group: IntArray, k: int) -> IntArray:
    keys = [group[pin.rows] * k + pin.clusters for pin in rules.of_kind(Pin)]
    unique = np.unique(np.concatenate([np.empty(0, np.int64), *keys]))
    return np.column_stack(np.divmod(unique, k))


def _soft_pairs(soft: ConstraintSet, group: IntArray, m: int) -> SoftPairs:
    """Add up the prices of equal pairs; a cannot-link inside a group stays, as (g, g)."""
    together = soft.of_kind(MustLink)
    links = [*together, *soft.of_kind(CannotLink)]
    if not links:
        return SoftPairs.none()
    ends = np.sort(group[np.concatenate([link.pairs for link in links])], axis=1)
    price = np.concatenate([link.weight for link in links])
    joins = np.arange(len(ends)) < sum(len(link.pairs) for link in together)
    alive = ~(joins & (ends[:, 0] == ends[:, 1]))  # a must-link inside a group is obeyed
    keys = (ends[alive, 0] * m + ends[alive, 1]) * 2 + joins[alive]
    unique, which = np.unique(keys, return_inverse=True)
    pairs = np.column_stack(np.divmod(unique // 2, m))
    prices = sums_by(which, price[alive], len(unique))
    return SoftPairs(pairs, prices, unique % 2 == 1)


def _sizes(rules: ConstraintSet, n: int, k: int) -> SizeBounds | None:
    given = rules.of_kind(ClusterSizes)
    if not given:
        return None
    lower, upper, ordered = merge_sizes(given, n, k)
    if not lower.any() and (upper >= n).all():
        return None
    return SizeBounds(lower, upper, ordered)


def _totals(rules: ConstraintSet, group: IntArray, m: int, k: int) -> tuple[TotalBounds, ...]:
    return tuple(
        TotalBounds(sums_by(group, total.values, m), *total.bounds(k))
        for total in rules.of_kind(ClusterTotals)
        if any(np.isfinite(bound).any() for bound in total.bounds(k))
    )


def _linear(rules: ConstraintSet, group: IntArray, m: int, k: int) -> LinearRows | None:
    given = [rule for rule in rules.of_kind(LinearConstraint) if rule.A.shape[0]]
    if not given:
        return None
    rows = sparse.coo_array(sparse.vstack([rule.A for rule in given]))
    row, column = rows.coords
    moved = group[column // k] * k + column % k
    A = sparse.csr_array((rows.data, (row, moved)), shape=(rows.shape[0], m * k))
    lower, upper = (
        np.concatenate([getattr(r, side) for r in given]) for side in ("lower", "upper")
    )
    return LinearRows(A, lower, upper)
