"""Sets of rules.  Each comes with labels that obey it, so that every cell is feasible.

A set is made around *hidden* labels: sizes are counted, links and pins drawn so that the hidden
labels keep them.  Bounds are the nominal ones, such as 5 % around the mean, and widened to what the
hidden labels have where dealing out the rows does not reach the nominal ones.  ``make`` checks at
last that the hidden labels obey everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .check import as_wide, broken, lengths, means

Random = np.random.Generator
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NO_PAIRS: Ints = np.empty((0, 2), dtype=np.int64)
NO_ROWS: Ints = np.empty(0, dtype=np.int64)


@dataclass
class Rules:
    """A set of rules in plain numbers, and labels that obey it."""

    hidden: Ints
    sizes: Ints | None = None  #: exact sizes in any order
    least: int | None = None  #: bounds on all sizes
    most: int | None = None
    totals: list[tuple[Floats, float | None, float | None]] = field(default_factory=list)
    groups: Ints = field(default_factory=lambda: NO_ROWS)
    shares: dict[int, tuple[float, float]] = field(default_factory=dict)
    must: Ints = field(default_factory=lambda: NO_PAIRS)
    cannot: Ints = field(default_factory=lambda: NO_PAIRS)
    pinned: Ints = field(default_factory=lambda: NO_ROWS)
    pins: Ints = field(default_factory=lambda: NO_ROWS)

    def constraints(self) -> list[Any]:
        """The same for corral."""
        from corral import CannotLink, ClusterSizes, ClusterTotals, GroupShares, MustLink, Pin

        made: list[Any] = []
        if self.sizes is not None:
            made.append(ClusterSizes(self.sizes.tolist()))
        if self.least is not None or self.most is not None:
            made.append(ClusterSizes(minimum=self.least, maximum=self.most))
        made += [ClusterTotals(v, minimum=low, maximum=high) for v, low, high in self.totals]
        if self.shares:
            least = {group: low for group, (low, _) in self.shares.items()}
            most = {group: high for group, (_, high) in self.shares.items()}
            made.append(GroupShares(self.groups, minimum=least, maximum=most))
        if len(self.must):
            made.append(MustLink(self.must))
        if len(self.cannot):
            made.append(CannotLink(self.cannot))
        if len(self.pinned):
            made.append(Pin(dict(zip(self.pinned.tolist(), self.pins.tolist(), strict=True))))
        return made


def balanced(n: int, k: int, rng: Random) -> Ints:
    """Random labels whose counts differ by at most one."""
    return rng.permutation(np.arange(n) % k)


def dealt(amounts: Floats, k: int, units: Ints, fixed: Ints) -> Ints:
    """Labels with even sums: units, the largest first, each to where the fullest sum is lowest.

    ``amounts`` has a column a sum; ``units`` numbers the groups of rows that stay together;
    ``fixed`` has the labels of rows that are placed already, else -1.
    """
    count = int(units.max()) + 1
    scaled = amounts / (amounts.sum(axis=0) / k)
    weight = np.stack([np.bincount(units, column, count) for column in scaled.T], axis=1)
    place = np.full(count, -1, dtype=np.int64)
    place[units[fixed >= 0]] = fixed[fixed >= 0]
    load = np.zeros((weight.shape[1], k))
    for column, of_units in zip(load, weight.T, strict=True):
        column += np.bincount(place[place >= 0], of_units[place >= 0], k)
    order = np.argsort(-weight.max(axis=1), kind="stable")
    # Rows without a group and of equal weights are dealt in the same way, whatever their order.
    for unit in order[place[order] < 0].tolist():
        each = weight[unit]
        fullest = load[0] + each[0]
        for column, amount in zip(load[1:], each[1:], strict=True):
            fullest = np.maximum(fullest, column + amount)
        best = int(fullest.argmin())
        place[unit] = best
        load[:, best] += each
    return place[units]


def own_units(n: int) -> Ints:
    return np.arange(n)


def free(n: int) -> Ints:
    return np.full(n, -1, dtype=np.int64)


def total_within(
    values: Floats, hidden: Ints, k: int, low: float | None, high: float | None
) -> tuple[Floats, float | None, float | None]:
    """Bounds on a total, as parts of the mean; widened to what the hidden labels have."""
    load, mean = np.bincount(hidden, values, k), values.sum() / k
    least = None if low is None else float(min(low * mean, load.min()))
    most = None if high is None else float(max(high * mean, load.max()))
    return values, least, most


def whole_values(n: int, rng: Random) -> Floats:
    """Amounts such as minutes: integers from 1 to 20."""
    return rng.integers(1, 21, n).astype(np.float64)


def two_groups(X: Any, rng: Random) -> Ints:
    """Two groups, 35 % and 65 % of the rows, that lie in different parts of the data."""
    n, d = X.shape
    along = np.asarray(as_wide(X) @ rng.standard_normal(d)).ravel()
    spread = np.subtract(*np.percentile(along, [75, 25])) + 1e-300
    score = along / spread + rng.standard_normal(n)
    return (np.argsort(np.argsort(score, kind="stable")) >= round(0.35 * n)).astype(np.int64)


def shares_within(groups: Ints, hidden: Ints, k: int, points: float) -> dict[int, Any]:
    """Bounds on the shares around the overall ones; widened to what the hidden labels have."""
    bounds = {}
    counts = np.maximum(np.bincount(hidden, minlength=k), 1)
    for group in (0, 1):
        overall = round(float((groups == group).mean()), 2)
        share = np.bincount(hidden[groups == group], minlength=k) / counts
        low = min(overall - points, np.floor(100 * share.min()) / 100)
        high = max(overall + points, np.ceil(100 * share.max()) / 100)
        bounds[group] = (round(max(low, 0.0), 2), round(min(high, 1.0), 2))
    return bounds


def linked_groups(X: Any, share: float, most: int, rng: Random) -> tuple[Ints, Ints]:
    """Must-links that join rows in groups of 2 to ``most``, and the number of each row's group.

    Half of the groups have random rows, half have rows that are near along a random direction.
    """
    n, d = X.shape
    along = np.asarray(as_wide(X) @ rng.standard_normal(d)).ravel()
    taken = rng.permutation(n)[: int(share * n)]
    near, far = taken[: len(taken) // 2], taken[len(taken) // 2 :]
    row_order = np.concatenate([near[np.argsort(along[near], kind="stable")], far])
    pairs, units, start = [], own_units(n), 0
    while start + 2 <= len(row_order):
        rows = row_order[start : start + int(rng.integers(2, most + 1))]
        pairs += [(a, b) for a, b in zip(rows[:-1].tolist(), rows[1:].tolist(), strict=True)]
        units[rows] = rows[0]
        start += len(rows)
    return np.array(pairs, dtype=np.int64), np.unique(units, return_inverse=True)[1]


def apart_pairs(hidden: Ints, count: int, rng: Random) -> Ints:
    """Random pairs, each once, that the hidden labels keep apart."""
    n = len(hidden)
    pairs = np.sort(rng.integers(n, size=(3 * count + 50, 2)), axis=1)
    pairs = pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]]
    _, first = np.unique(pairs[:, 0] * n + pairs[:, 1], return_index=True)
    return pairs[np.sort(first)][:count]


def cliques(n: int, k: int, rng: Random) -> tuple[Ints, Ints]:
    """A third of the rows in cliques of min(k, 7), and balanced labels that keep them apart.

    Clique after clique takes the next clusters in turn, so all its labels differ.
    """
    size = min(k, 7)
    rows = rng.permutation(n)
    hidden = np.empty(n, dtype=np.int64)
    hidden[rows] = rng.permutation(k)[np.arange(n) % k]
    sets = rows[: n // 3 // size * size].reshape(-1, size)
    left, right = np.triu_indices(size, 1)
    return np.stack([sets[:, left].ravel(), sets[:, right].ravel()], axis=1), hidden


def some_kmeans(X: Any, k: int, rng: Random) -> Ints:
    """Labels of a few rounds of k-means from random rows, by NumPy alone; no empty cluster."""
    X = as_wide(X)
    centres = X[np.sort(rng.choice(X.shape[0], k, replace=False))]
    centres = centres.toarray() if sparse.issparse(centres) else centres
    labels = np.zeros(X.shape[0], dtype=np.int64)
    for _ in range(4):
        for start in range(0, X.shape[0], 20_000):
            part = slice(start, start + 20_000)
            labels[part] = (lengths(centres) - 2 * np.asarray(X[part] @ centres.T)).argmin(axis=1)
        counts = np.bincount(labels, minlength=k)
        centres = np.where(counts[:, None] > 0, means(X, labels, k), centres)
    return labels


def none(X: Any, k: int, rng: Random) -> Rules:
    """No rules."""
    return Rules(balanced(X.shape[0], k, rng))


def equal(X: Any, k: int, rng: Random) -> Rules:
    """Equal sizes."""
    hidden = balanced(X.shape[0], k, rng)
    return Rules(hidden, sizes=np.bincount(hidden, minlength=k))


def bounded(X: Any, k: int, rng: Random) -> Rules:
    """Sizes of half to one and a half of the mean."""
    return Rules(balanced(X.shape[0], k, rng), **_sizes_within(X.shape[0], k, 0.5, 1.5))


def maximum(X: Any, k: int, rng: Random) -> Rules:
    """Sizes of at most 1.15 of the mean."""
    most = _sizes_within(X.shape[0], k, 0.0, 1.15)["most"]
    return Rules(balanced(X.shape[0], k, rng), most=most)


def _sizes_within(n: int, k: int, low: float, high: float) -> dict[str, int]:
    return {
        "least": min(int(np.ceil(low * n / k)), n // k),
        "most": max(int(high * n / k), -(-n // k)),
    }


def unequal(X: Any, k: int, rng: Random) -> Rules:
    """Exact sizes from a third of the mean to five thirds."""
    n = X.shape[0]
    ends = np.rint(np.linspace(1, 5, k).cumsum() / (3 * k) * n).astype(np.int64)
    sizes = np.diff(ends, prepend=0)
    sizes[-1] += n - sizes.sum()
    return Rules(rng.permutation(np.repeat(np.arange(k), sizes)), sizes=rng.permutation(sizes))


def _capacity(X: Any, k: int, rng: Random, full: float) -> Rules:
    n = X.shape[0]
    values = whole_values(n, rng)
    hidden = dealt(values[:, None], k, own_units(n), free(n))
    return Rules(hidden, totals=[total_within(values, hidden, k, None, 1 / full)])


def capacity85(X: Any, k: int, rng: Random) -> Rules:
    """A capacity, 85 % of which is used."""
    return _capacity(X, k, rng, 0.85)


def capacity97(X: Any, k: int, rng: Random) -> Rules:
    """A capacity, 97 % of which is used."""
    return _capacity(X, k, rng, 0.97)


def band(X: Any, k: int, rng: Random) -> Rules:
    """Totals within 5 % of their mean."""
    n = X.shape[0]
    values = whole_values(n, rng)
    hidden = dealt(values[:, None], k, own_units(n), free(n))
    return Rules(hidden, totals=[total_within(values, hidden, k, 0.95, 1.05)])


def two_totals(X: Any, k: int, rng: Random) -> Rules:
    """A capacity, 90 % of which is used, and a second total within 15 % of its mean."""
    n = X.shape[0]
    first, second = whole_values(n, rng), np.round(rng.lognormal(0.0, 0.5, n), 3)
    hidden = dealt(np.stack([first, second], axis=1), k, own_units(n), free(n))
    totals = [
        total_within(first, hidden, k, None, 1 / 0.9),
        total_within(second, hidden, k, 0.85, 1.15),
    ]
    return Rules(hidden, totals=totals)


def shares(X: Any, k: int, rng: Random) -> Rules:
    """Two groups, each with a share within 10 points of the overall one."""
    groups = two_groups(X, rng)
    hidden = np.empty(len(groups), dtype=np.int64)
    hidden[np.argsort(groups, kind="stable")] = np.arange(len(groups)) % k
    return Rules(hidden, groups=groups, shares=shares_within(groups, hidden, k, 0.10))


def must_sizes(X: Any, k: int, rng: Random) -> Rules:
    """A fifth of the rows in must-link groups of 2 to 6; sizes within 20 % of the mean."""
    n = X.shape[0]
    pairs, units = linked_groups(X, 0.2, 6, rng)
    hidden = dealt(np.ones((n, 1)), k, units, free(n))
    return Rules(hidden, must=pairs, **_sizes_within(n, k, 0.8, 1.2))


def cannot(X: Any, k: int, rng: Random) -> Rules:
    """n/2 random cannot-links."""
    hidden = balanced(X.shape[0], k, rng)
    return Rules(hidden, cannot=apart_pairs(hidden, X.shape[0] // 2, rng))


def cannot_sizes(X: Any, k: int, rng: Random) -> Rules:
    """n/2 random cannot-links, and equal sizes."""
    made = cannot(X, k, rng)
    made.sizes = np.bincount(made.hidden, minlength=k)
    return made


def clique(X: Any, k: int, rng: Random) -> Rules:
    """A third of the rows in cliques of min(k, 7) cannot-linked rows."""
    pairs, hidden = cliques(X.shape[0], k, rng)
    return Rules(hidden, cannot=pairs)


def clique_sizes(X: Any, k: int, rng: Random) -> Rules:
    """Cliques, and sizes within 20 % of the mean."""
    pairs, hidden = cliques(X.shape[0], k, rng)
    return Rules(hidden, cannot=pairs, **_sizes_within(X.shape[0], k, 0.8, 1.2))


def pins(X: Any, k: int, rng: Random) -> Rules:
    """2 % of the rows pinned to their clusters in a k-means labelling."""
    hidden = some_kmeans(X, k, rng)
    pinned = np.sort(rng.permutation(len(hidden))[: max(len(hidden) // 50, 1)])
    return Rules(hidden, pinned=pinned, pins=hidden[pinned])


def mixture(X: Any, k: int, rng: Random) -> Rules:
    """All kinds: sizes, a capacity, shares, must-links, cannot-links and pins.

    1 % of the rows are pinned by a k-means labelling, at most a tenth of a mean cluster to each.
    The others are dealt around these, must-link groups as a whole, so that sizes, the total and the
    groups are even.  Cannot-links are drawn from what the labels then keep apart.
    """
    n = X.shape[0]
    near, values, groups = some_kmeans(X, k, rng), whole_values(n, rng), two_groups(X, rng)
    pairs, units = linked_groups(X, 0.06, 3, rng)
    alone = np.bincount(units)[units] == 1
    chosen = rng.permutation(np.flatnonzero(alone))[: max(n // 100, 1)]
    room = max(n // k // 10, 1)
    pinned = np.sort([row for j in range(k) for row in chosen[near[chosen] == j][:room].tolist()])
    fixed = free(n)
    fixed[pinned] = near[pinned]
    amounts = np.stack([np.ones(n), values, groups == 0, groups == 1], axis=1).astype(float)
    hidden = dealt(amounts, k, units, fixed)
    counts, bounds = np.bincount(hidden, minlength=k), _sizes_within(n, k, 0.6, 1.5)
    return Rules(
        hidden,
        least=min(bounds["least"], int(counts.min())),
        most=max(bounds["most"], int(counts.max())),
        totals=[total_within(values, hidden, k, None, 1 / 0.85)],
        groups=groups,
        shares=shares_within(groups, hidden, k, 0.15),
        must=pairs,
        cannot=apart_pairs(hidden, n // 10, rng),
        pinned=pinned,
        pins=near[pinned],
    )


RULES: dict[str, Callable[[Any, int, Random], Rules]] = {
    rules.__name__: rules
    for rules in (
        none,
        equal,
        bounded,
        maximum,
        unequal,
        capacity85,
        capacity97,
        band,
        two_totals,
        shares,
        must_sizes,
        cannot,
        cannot_sizes,
        clique,
        clique_sizes,
        pins,
        mixture,
    )
}


def make(name: str, X: Any, k: int, rng: Random) -> Rules:
    """A set of rules for the data; an error if its hidden labels break it."""
    made = RULES[name](X, k, rng)
    wrong = broken(made, made.hidden, X.shape[0], k)
    if wrong:
        raise AssertionError(f"the hidden labels of {name} break {wrong}")
    return made
