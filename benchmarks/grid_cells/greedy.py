"""A greedy Lloyd under rules: what a short program reaches in a few rounds.

Each round places the rows (must-link groups as one) in order of regret, each in the nearest cluster
that has room and no row it is cannot-linked to.  A row without such a cluster pushes another one
out, if that one has a place elsewhere.  Lower bounds are kept by reservation: a row may go beyond
what its cluster needs only if enough is left for the needs of the others.  What totals still lack
at the end is pulled from other clusters.  With shares, the rows of one group come first; how many
of the other group each cluster takes follows from these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import kmeans_plusplus

from .check import as_wide, broken, lengths, means, objective, unit_rows
from .rules import Ints, Rules

#: Orders tried in a round before it is given up.
ORDERS = 4

#: Rows of a full cluster that are asked to make place.
ASKED = 50

#: Nearest clusters whose rows are asked.
ASKED_CLUSTERS = 20

#: Clusters of a row that are put in order at once; the others only if these are full.
NEAR = 8


def greedy(X: Any, rules: Rules, k: int, variant: str, seed: int) -> tuple[float, Ints] | None:
    """The best of a few rounds, or None if none obeyed the rules."""
    n = X.shape[0]
    points = as_wide(unit_rows(X.astype(np.float64)) if variant == "cosine" else X)
    units = _units(rules, n)
    count = int(units.max()) + 1
    joined = sparse.csr_matrix((np.ones(n), (units, np.arange(n))), shape=(count, n))
    sums, weight = joined @ points, np.bincount(units)
    fixed = np.full(count, -1, dtype=np.int64)
    fixed[units[rules.pinned]] = rules.pins
    centres = _seeds(points, rules, k, seed)
    best: tuple[float, Ints] | None = None
    for number in range(5 if n <= 20_000 else 3):
        cost = weight[:, None] * lengths(centres)[None, :]
        cost -= 2 * np.asarray(sums @ centres.T)
        nearest = cost.argmin(axis=1)
        for order in range(ORDERS):
            labels = _Placing(rules, units, cost, nearest, fixed, k).run(order)
            if labels is not None and not broken(rules, labels, n, k):
                break
        else:
            if best is None and number == 1:
                break  # two rounds in vain
            centres = _moved(points, nearest[units], centres, k)
            continue
        value = objective(X, labels, k, variant)
        if best is None or value < best[0]:
            best = value, labels
        centres = _moved(points, labels, centres, k)
    return best


def _units(rules: Rules, n: int) -> Ints:
    """The number of each row's must-link group."""
    left, right = rules.must.T
    graph = sparse.csr_matrix((np.ones(len(left)), (left, right)), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def _seeds(points: Any, rules: Rules, k: int, seed: int) -> Any:
    """Seeds of k-means++; clusters with pinned rows start at the mean of these."""
    centres = kmeans_plusplus(points, k, random_state=seed)[0]
    centres = centres.toarray() if sparse.issparse(centres) else centres.copy()
    if len(rules.pinned):
        known = np.bincount(rules.pins, minlength=k) > 0
        pinned = means(points[rules.pinned], rules.pins, k)
        # The seeds farthest from the pinned clusters are kept for the others.
        gaps = lengths(centres)[:, None] + lengths(pinned[known]) - 2 * centres @ pinned[known].T
        spare = iter(centres[np.argsort(-gaps.min(axis=1), kind="stable")])
        for j in range(k):
            centres[j] = pinned[j] if known[j] else next(spare)
    return centres


def _moved(points: Any, labels: Ints, centres: Any, k: int) -> Any:
    """Means of the clusters; an empty one keeps its centre."""
    counts = np.bincount(labels, minlength=k)
    return np.where(counts[:, None] > 0, means(points, labels, k), centres)


class _Placing:
    """One pass over the units that puts each into a cluster."""

    def __init__(
        self, rules: Rules, units: Ints, cost: Any, nearest: Ints, fixed: Ints, k: int
    ) -> None:
        self.rules, self.units, self.cost, self.fixed, self.k = rules, units, cost, fixed, k
        self.count = count = len(cost)
        self.label = [-1] * count
        self.members: list[set[int]] = [set() for _ in range(k)]
        self.amounts: list[list[float]] = []  # a list a sum, an entry a unit
        self.loads: list[list[float]] = []  # a list a sum, an entry a cluster
        self.lower: list[list[float]] = []  # what is reserved
        self.wanted: list[Any] = []  # what the labels must have
        self.upper: list[list[float]] = []
        self.left: list[float] = []  # what is not placed yet
        self.need: list[float] = []  # what the clusters still lack
        self._add_bounds(nearest)
        self.blocked: list[dict[int, int]] = [{} for _ in range(count)]
        self.apart: list[list[int]] = [[] for _ in range(count)]
        for a, b in units[rules.cannot].tolist():
            self.apart[a].append(b)
            self.apart[b].append(a)
        self.linked = bool(len(rules.cannot))

    def _add_bounds(self, nearest: Ints) -> None:
        """Sizes and totals as sums with bounds."""
        rules, k, units = self.rules, self.k, self.units
        weight = np.bincount(units)
        if rules.sizes is not None:
            # The largest size to the cluster that most rows are nearest to.
            wanted = np.bincount(nearest, weight, k)
            sizes = np.empty(k)
            sizes[np.argsort(-wanted, kind="stable")] = np.sort(rules.sizes)[::-1]
            self._add(weight, sizes, sizes)
        elif rules.least is not None or rules.most is not None:
            most = np.inf if rules.most is None else rules.most
            self._add(weight, np.full(k, rules.least or 0), np.full(k, most))
        for values, least, most in rules.totals:
            low = -np.inf if least is None else least
            high = np.inf if most is None else most
            self._add(np.bincount(units, values), np.full(k, low), np.full(k, high), values.mean())

    def _add(self, amounts: Any, lower: Any, upper: Any, grain: float = 0.0) -> None:
        """One more sum; what is placed already counts.

        ``grain`` is what a cluster may lack before the end: amounts that differ do not fill a
        bound exactly.
        """
        placed = np.array(self.label)
        load = np.bincount(placed[placed >= 0], amounts[placed >= 0], self.k)
        self.amounts.append(amounts.astype(float).tolist())
        self.loads.append(load.tolist())
        self.wanted.append(lower)
        lower = lower - grain
        self.lower.append(lower.astype(float).tolist())
        self.upper.append((upper + 1e-9).astype(float).tolist())
        self.left.append(float(amounts[placed < 0].sum()))
        self.need.append(float(np.maximum(lower - load, 0).sum()))

    def run(self, attempt: int) -> Ints | None:
        """Labels of the rows, or None if some unit found no place.

        The first attempt goes by regret, the others more and more by the size of the units.
        """
        two = np.partition(self.cost, 1, axis=1)
        regret = two[:, 1] - two[:, 0]
        if attempt and self.amounts:
            size = np.max([np.array(a) / np.mean(a) for a in self.amounts], axis=0)
            regret = np.argsort(np.argsort(regret)) / self.count + attempt * size
        if attempt and self.linked:
            degree = np.array([len(others) for others in self.apart])
            regret = np.argsort(np.argsort(regret)) / self.count + attempt * degree
        order = np.argsort(-regret, kind="stable")
        order = order[np.argsort(self.fixed[order] < 0, kind="stable")]
        near = min(NEAR, self.k)
        first = np.argpartition(self.cost, near - 1, axis=1)[:, :near]
        by_cost = np.argsort(np.take_along_axis(self.cost, first, axis=1), axis=1)
        self.near = np.take_along_axis(first, by_cost, axis=1).tolist()
        self.pushes = max(100, self.count // 100)
        done = self._by_groups(order) if self.rules.shares else self._all(order)
        return np.array(self.label)[self.units] if done and self._mend() else None

    def _by_groups(self, order: Ints) -> bool:
        """Place the units with rows of group 0, then the others.

        Group 0 leaves the others their part of sizes and totals.
        """
        first = np.bincount(self.units, self.rules.groups == 0)
        upper = self.upper
        self.upper = [[b * self.rules.shares[0][1] for b in bounds] for bounds in upper]
        if self.rules.least is not None:
            part = np.floor((self.rules.groups == 0).mean() * self.wanted[0])
            upper.append([np.inf] * self.k)
            self._add(first, part, np.full(self.k, np.inf))
            self.wanted[-1] = np.full(self.k, -np.inf)
        if not self._all(order[first[order] > 0]):
            return False
        self.upper = upper
        self._add_shares()
        return self._all(order[first[order] == 0])

    def _mend(self) -> bool:
        """Pull units, at the least rise, to clusters that lack something; False if none can."""
        if not any(np.isfinite(wanted).any() for wanted in self.wanted):
            return True
        amounts, label = np.array(self.amounts), np.array(self.label)
        loads, wanted, upper = np.array(self.loads), np.array(self.wanted), np.array(self.upper)
        rise = self.cost - self.cost[np.arange(self.count), label][:, None]
        for _ in range(10 * self.k):
            lack = (loads < wanted - 1e-9).any(axis=0)
            if not lack.any():
                break
            cluster = int(lack.argmax())
            able = (label != cluster) & (self.fixed < 0)
            able &= (loads[:, label] - amounts >= wanted[:, label] - 1e-9).all(axis=0)
            able &= (loads[:, [cluster]] + amounts <= upper[:, [cluster]]).all(axis=0)
            for unit in np.flatnonzero(able)[np.argsort(rise[able, cluster])].tolist():
                if not any(label[other] == cluster for other in self.apart[unit]):
                    break
            else:
                return False
            loads[:, label[unit]] -= amounts[:, unit]
            loads[:, cluster] += amounts[:, unit]
            label[unit] = cluster
            rise[unit] = self.cost[unit] - self.cost[unit, cluster]
        self.label = label.tolist()
        return True

    def _add_shares(self) -> None:
        """Bounds on the rows of group 1 from the numbers of rows of group 0 in the clusters."""
        label = np.array(self.label)[self.units]
        groups = self.rules.groups
        first = np.bincount(label[groups == 0], minlength=self.k)
        low = max(self.rules.shares[1][0], 1 - self.rules.shares[0][1])
        high = min(self.rules.shares[1][1], 1 - self.rules.shares[0][0])
        lower = np.ceil(first * low / max(1 - low, 1e-9) - 1e-6)
        upper = np.floor(first * high / max(1 - high, 1e-9) + 1e-6)
        self._add(np.bincount(self.units, groups == 1), lower, upper)

    def _all(self, order: Ints) -> bool:
        """Place these units."""
        for unit in order.tolist():
            fixed = int(self.fixed[unit])
            if fixed >= 0:
                self._put(unit, fixed)
            elif (cluster := self._choice(unit)) is not None:
                self._put(unit, cluster)
            elif not self._push(unit):
                # Beyond what is reserved, if nothing else is left.
                if (cluster := self._choice(unit, reserved=False)) is None:
                    return False
                self._put(unit, cluster)
        return True

    def _choice(self, unit: int, reserved: bool = True) -> int | None:
        """The nearest cluster that fits."""
        for cluster in self.near[unit]:
            if self._fits(unit, cluster, reserved):
                return int(cluster)
        if self.k > NEAR:
            for cluster in np.argsort(self.cost[unit])[NEAR:].tolist():
                if self._fits(unit, cluster, reserved):
                    return int(cluster)
        return None

    def _fits(self, unit: int, cluster: int, reserved: bool = True) -> bool:
        """Whether a cluster has room for a unit, and no unit that it must not meet."""
        if self.linked and self.blocked[unit].get(cluster):
            return False
        for q, amounts in enumerate(self.amounts):
            amount, load = amounts[unit], self.loads[q][cluster]
            if load + amount > self.upper[q][cluster]:
                return False
            gap = self.lower[q][cluster] - load
            helps = min(amount, gap) if gap > 0 else 0.0
            if reserved and self.left[q] - amount < self.need[q] - helps - 1e-9:
                return False
        return True

    def _put(self, unit: int, cluster: int, sign: int = 1) -> None:
        """Put a unit into a cluster, or take it out with sign -1."""
        for q, amounts in enumerate(self.amounts):
            amount, load = sign * amounts[unit], self.loads[q]
            before = max(self.lower[q][cluster] - load[cluster], 0.0)
            load[cluster] += amount
            after = max(self.lower[q][cluster] - load[cluster], 0.0)
            if before != after:
                self.need[q] += after - before
            self.left[q] -= amount
        self.label[unit] = cluster if sign > 0 else -1
        (self.members[cluster].add if sign > 0 else self.members[cluster].remove)(unit)
        if self.linked:
            for other in self.apart[unit]:
                blocked = self.blocked[other]
                blocked[cluster] = blocked.get(cluster, 0) + sign

    def _push(self, unit: int) -> bool:
        """Put a unit where one other makes place for it and goes elsewhere."""
        self.pushes -= 1
        if self.pushes < 0:
            return False
        for cluster in np.argsort(self.cost[unit])[:ASKED_CLUSTERS].tolist():
            if self.linked and self.blocked[unit].get(cluster, 0) > 1:
                continue
            others = [other for other in self.apart[unit] if self.label[other] == cluster]
            for other in others or sorted(self.members[cluster])[:ASKED]:
                if self.fixed[other] >= 0:
                    continue
                self._put(other, cluster, -1)
                if self._fits(unit, cluster):
                    self._put(unit, cluster)
                    elsewhere = self._choice(other)
                    if elsewhere is not None:
                        self._put(other, elsewhere)
                        return True
                    self._put(unit, cluster, -1)
                self._put(other, cluster)
        return False
