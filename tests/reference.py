"""Reference methods that share no code with the solver: slow and exact.

``Rules`` holds the rules in plain arrays; ``violations`` counts broken rules; ``exact_kmeans``
alternates means and an integer program over all x_ij; ``best_partition`` tries every labelling.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import LinearConstraint as Rows
from scipy.optimize import linear_sum_assignment, milp
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

import corral

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_PAIRS = np.empty((0, 2), np.int64)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Hard rules on the labels of n rows in k clusters.

    ``sizes`` and ``totals`` hold one lower and one upper bound a cluster; unless ``ordered``, the
    clusters may share out the bounds of ``sizes`` among themselves.  ``more`` has further totals,
    each as values, lower and upper bounds.  ``shares`` has groups of the rows, and the least share
    of each group in every cluster.
    """

    n: int
    k: int
    must: Ints = field(default_factory=lambda: NO_PAIRS)
    cannot: Ints = field(default_factory=lambda: NO_PAIRS)
    pins: Ints = field(default_factory=lambda: NO_PAIRS)
    sizes: tuple[Ints, Ints] | None = None
    ordered: bool = False
    values: Floats | None = None
    totals: tuple[Floats, Floats] | None = None
    more: tuple[tuple[Floats, Floats, Floats], ...] = ()
    shares: tuple[Ints, float] | None = None

    @property
    def sums(self) -> list[tuple[Floats, Floats, Floats]]:
        """All bounds on sums of values: totals, and shares as such."""
        found = list(self.more)
        if self.totals is not None:
            found.append((self.values, *self.totals))
        if self.shares is not None:
            groups, least = self.shares
            for group in np.unique(groups):
                nothing, endless = np.zeros(self.k), np.full(self.k, np.inf)
                found.append(((groups == group) - least, nothing, endless))
        return found

    def constraints(self) -> list[corral.constraints.Constraint]:
        """The same as corral's constraints."""
        given: list[corral.constraints.Constraint] = []
        if len(self.must):
            given.append(corral.MustLink(self.must))
        if len(self.cannot):
            given.append(corral.CannotLink(self.cannot))
        if len(self.pins):
            given.append(corral.Pin({int(row): int(j) for row, j in self.pins}))
        if self.sizes is not None:
            low, high = self.sizes
            given.append(corral.ClusterSizes(minimum=low, maximum=high, ordered=self.ordered))
        if self.totals is not None:
            low, high = self.totals
            given.append(corral.ClusterTotals(self.values, minimum=low, maximum=high))
        for values, low, high in self.more:
            given.append(corral.ClusterTotals(values, minimum=low, maximum=high))
        if self.shares is not None:
            groups, least = self.shares
            given.append(corral.GroupShares(groups, minimum=least))
        return given


def violations(rules: Rules, labels: Ints) -> int:
    """Number of rules that the labels break."""
    labels = np.asarray(labels)
    broken = sum(labels[a] != labels[b] for a, b in rules.must)
    broken += sum(labels[a] == labels[b] for a, b in rules.cannot)
    broken += sum(labels[row] != j for row, j in rules.pins)
    if rules.sizes is not None:
        count = np.array([np.sum(labels == j) for j in range(rules.k)])
        low, high = rules.sizes
        bad = (count[:, None] < low) | (count[:, None] > high)
        if not rules.ordered:
            bad = bad[:, linear_sum_assignment(bad)[1]]
        broken += int(np.diag(bad).sum())
    for values, lower, upper in rules.sums:
        slack = 1e-9 * np.abs(values).sum()
        for j, (low, high) in enumerate(zip(lower, upper, strict=True)):
            total = values[labels == j].sum()
            broken += not low - slack <= total <= high + slack
    return int(broken)


def inertia(X: Floats, labels: Ints) -> float:
    """Sum of the squared distances to the mean of one's own cluster."""
    clusters = [X[labels == j] for j in np.unique(labels)]
    return float(sum(((points - points.mean(axis=0)) ** 2).sum() for points in clusters))


def lloyd(X: Floats, k: int, n_init: int, seed: int) -> float:
    """Inertia of the best of some k-means++ runs of scikit-learn, without rules."""
    return float(KMeans(k, n_init=n_init, tol=0, random_state=seed).fit(X).inertia_)


class ExactAssignment:
    """The cheapest labels under the rules, by an integer programme over all x_gj.

    A group g is a set of rows that must-links join.
    """

    def __init__(self, rules: Rules, time_limit: float = 60.0) -> None:
        self.rules, self.time_limit = rules, time_limit
        ones = np.ones(len(rules.must))
        graph = sparse.coo_array((ones, (rules.must[:, 0], rules.must[:, 1])), (rules.n, rules.n))
        self.m, self.group = connected_components(graph, directed=False)
        rows = np.arange(rules.n)
        self.member = sparse.coo_array((np.ones(rules.n), (self.group, rows))).tocsr()

    def __call__(self, costs: Floats, sizes: tuple[Ints, Ints] | None) -> Ints | None:
        """Labels of the rows from costs (n, k), sizes in this order; None if there are none."""
        found = self._solve(costs, self._rows(sizes), 0)
        return None if found is None else found[0]

    def with_best_order(self, costs: Floats) -> tuple[Ints, Ints] | None:
        """Labels, and which of the size bounds each cluster gets, chosen together."""
        k = self.rules.k
        rows = [
            sparse.hstack([A, sparse.csr_array((A.shape[0], k * k))])
            for A, _, _ in self._rows(None)
        ]
        bounds = [(low, high) for _, low, high in self._rows(None)]
        counts = self._per_cluster(np.ones(self.rules.n))
        for bound, low, high in zip(self.rules.sizes, (0, -np.inf), (np.inf, 0), strict=True):
            rows.append(sparse.hstack([counts, -sparse.kron(np.eye(k), bound[None, :])]))
            bounds.append((low, high))
        for one_each in (np.kron(np.eye(k), np.ones(k)), np.kron(np.ones(k), np.eye(k))):
            rows.append(sparse.hstack([sparse.csr_array((k, self.m * k)), one_each]))
            bounds.append((1, 1))
        triples = [(A, *bound) for A, bound in zip(rows, bounds, strict=True)]
        found = self._solve(costs, triples, k * k)
        return None if found is None else (found[0], found[1].reshape(k, k).argmax(axis=1))

    def _per_cluster(self, values: Floats) -> sparse.csr_array:
        """Rows that add up the values in each cluster; column g * k + j belongs to x_gj."""
        return sparse.kron((self.member @ values)[None, :], np.eye(self.rules.k), format="csr")

    def _rows(self, sizes: tuple[Ints, Ints] | None) -> list[tuple[sparse.csr_array, float, float]]:
        """Everything but the pins, as ``lower <= A x <= upper``."""
        k, eye = self.rules.k, np.eye(self.rules.k)
        rows = [(sparse.kron(sparse.eye_array(self.m), np.ones((1, k)), format="csr"), 1, 1)]
        if len(self.rules.cannot):
            ends = self.group[self.rules.cannot]
            pair = np.repeat(np.arange(len(ends)), 2)
            both = sparse.coo_array((np.ones(ends.size), (pair, ends.ravel())), (len(ends), self.m))
            rows.append((sparse.kron(both, eye, format="csr"), -np.inf, 1))
        if sizes is not None:
            rows.append((self._per_cluster(np.ones(self.rules.n)), *sizes))
        rows += [(self._per_cluster(values), low, high) for values, low, high in self.rules.sums]
        return rows

    def _solve(
        self, costs: Floats, rows: list[tuple[sparse.csr_array, float, float]], more: int
    ) -> tuple[Ints, Floats] | None:
        lower = np.zeros((self.m, self.rules.k))
        lower[self.group[self.rules.pins[:, 0]], self.rules.pins[:, 1]] = 1.0
        result = milp(
            np.concatenate([(self.member @ costs).ravel(), np.zeros(more)]),
            integrality=np.ones(self.m * self.rules.k + more),
            bounds=(np.concatenate([lower.ravel(), np.zeros(more)]), 1.0),
            constraints=[Rows(A, low, high) for A, low, high in rows],
            options={"mip_rel_gap": 1e-6, "time_limit": self.time_limit},
        )
        if result.x is None:
            return None
        x = result.x[: self.m * self.rules.k].reshape(self.m, self.rules.k)
        return x.argmax(axis=1)[self.group], result.x[self.m * self.rules.k :]


def exact_kmeans(
    X: Floats, rules: Rules, centers: Floats, *, time_limit: float = 60.0, max_rounds: int = 300
) -> Ints | None:
    """Means and exact assignment in turn from the given centres, until the inertia stops falling.

    Sizes without order go to the clusters by rank of the centres' own counts, or, where that
    contradicts other rules, as the first assignment likes best.  None if there is no assignment.
    """
    assign = ExactAssignment(rules, time_limit)
    costs = squares(X, centers)
    sizes = _by_rank(rules, np.bincount(costs.argmin(axis=1), minlength=rules.k))
    labels = assign(costs, sizes)
    if labels is None and rules.sizes is not None and not rules.ordered:
        found = assign.with_best_order(costs)
        if found is not None:
            labels, sizes = found[0], tuple(bound[found[1]] for bound in rules.sizes)
    if labels is None:
        return None
    for _ in range(max_rounds):
        centers = np.array(
            [
                X[labels == j].mean(axis=0) if (labels == j).any() else centers[j]
                for j in range(rules.k)
            ]
        )
        moved = assign(squares(X, centers), sizes)
        if moved is None or inertia(X, moved) >= inertia(X, labels) * (1 - 1e-12):
            break
        labels = moved
    return labels


def squares(X: Floats, centers: Floats) -> Floats:
    """Squared distances (n, k)."""
    return ((X[:, None, :] - centers) ** 2).sum(axis=2)


def _by_rank(rules: Rules, counts: Ints) -> tuple[Ints, Ints] | None:
    """The largest size bounds for the largest count."""
    if rules.sizes is None or rules.ordered:
        return rules.sizes
    low, high = rules.sizes
    handed = np.empty(rules.k, np.int64)
    handed[np.argsort(counts, kind="stable")] = np.lexsort((high, low))
    return low[handed], high[handed]


def best_partition(X: Floats, rules: Rules, weight: Floats | None = None) -> float:
    """Least inertia of all labellings that obey the rules; inf if none does."""
    all_labels = np.indices((rules.k,) * rules.n, dtype=np.int8).reshape(rules.n, -1).T
    allowed = np.ones(len(all_labels), bool)
    for a, b in rules.must:
        allowed &= all_labels[:, a] == all_labels[:, b]
    for a, b in rules.cannot:
        allowed &= all_labels[:, a] != all_labels[:, b]
    for row, j in rules.pins:
        allowed &= all_labels[:, row] == j
    is_in = [(all_labels[allowed] == j).astype(float) for j in range(rules.k)]
    fits = np.ones(len(is_in[0]), bool)
    for values, lower, upper in rules.sums:
        slack = 1e-9 * np.abs(values).sum()
        for inside, low, high in zip(is_in, lower, upper, strict=True):
            total = inside @ values
            fits &= (total >= low - slack) & (total <= high + slack)
    if rules.sizes is not None:
        fits &= _sizes_fit(rules, np.column_stack([inside.sum(axis=1) for inside in is_in]))
    weight = np.ones(len(X)) if weight is None else weight
    about = X - np.average(X, axis=0, weights=weight)
    saved = np.zeros(fits.sum())
    for inside in is_in:
        total = inside[fits] @ weight
        moment = ((inside[fits] @ (weight[:, None] * about)) ** 2).sum(axis=1)
        saved += moment / np.where(total > 0.0, total, 1.0)
    return float(weight @ (about**2).sum(axis=1) - saved.max(initial=-np.inf))


def _sizes_fit(rules: Rules, counts: Floats) -> NDArray[np.bool_]:
    low, high = rules.sizes
    orders = [tuple(range(rules.k))] if rules.ordered else list(permutations(range(rules.k)))
    fits = [((counts >= low[list(o)]) & (counts <= high[list(o)])).all(axis=1) for o in orders]
    return np.any(fits, axis=0)
