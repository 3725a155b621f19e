"""Random small sets of rules of every kind, and a check of conflicts by trying all labels.

Nothing here asks corral whether labels obey a rule, or what the parts of a rule are.
"""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np

from corral.constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)


class AllLabels:
    """All labels of n rows in k clusters; a mask says which of them obey something."""

    def __init__(self, n, k):
        self.n, self.k = n, k
        self.labels = np.indices((k,) * n, dtype=np.int8).reshape(n, -1)
        self.inside = [self.labels == j for j in range(k)]
        self.size = np.array([inside.sum(axis=0) for inside in self.inside])

    def feasible(self, rules):
        """Whether some labels obey all rules."""
        return bool(self._obeyed([self.whole(rule) for rule in rules]).any())

    def faults(self, conflict):
        """What is wrong with a conflict: that it can be obeyed, or a part that it does not need."""
        whole = [self.whole(rule) for rule in conflict]
        if self._obeyed(whole).any():
            return ["can be obeyed"]
        found = []
        for place, rule in enumerate(conflict):
            others = self._obeyed(whole[:place] + whole[place + 1 :])
            for part, mask in enumerate(self.without_one(rule)):
                if not (others & mask).any():
                    found.append(f"does not need part {part} of {rule!r}")
        return found

    def _obeyed(self, masks):
        return np.all(masks, axis=0) if masks else np.ones(self.labels.shape[1], bool)

    def whole(self, rule):
        """Where the labels obey a rule."""
        if isinstance(rule, ClusterSizes):
            return self._sizes(rule, *bounds_of(rule))
        return self._obeyed(self._parts(rule))

    def without_one(self, rule):
        """Where they obey a rule of which one part is left out, for each of its parts."""
        if isinstance(rule, ClusterSizes):
            low, high = bounds_of(rule)
            both = [] if low is None else [self._sizes(rule, None, high)]
            return both + ([] if high is None else [self._sizes(rule, low, None)])
        masks = self._parts(rule)
        return [self._obeyed(masks[:i] + masks[i + 1 :]) for i in range(len(masks))]

    def _parts(self, rule):
        return getattr(self, f"_{type(rule).__name__}")(rule)

    def _MustLink(self, rule):
        return [self.labels[a] == self.labels[b] for a, b in rule.pairs]

    def _CannotLink(self, rule):
        return [self.labels[a] != self.labels[b] for a, b in rule.pairs]

    def _Pin(self, rule):
        return [self.labels[i] == j for i, j in zip(rule.rows, rule.clusters, strict=True)]

    def _sizes(self, rule, low, high):
        low, high = (np.broadcast_to(b if b is not None else d, self.k) for b, d in
                     ((low, 0), (high, self.n)))  # fmt: skip
        orders = {(tuple(low[list(o)]), tuple(high[list(o)])) for o in permutations(range(self.k))}
        orders = {(tuple(low), tuple(high))} if rule.ordered else orders
        fits = [
            ((self.size >= np.array(a)[:, None]) & (self.size <= np.array(b)[:, None])).all(axis=0)
            for a, b in orders
        ]
        return np.any(fits, axis=0)

    def _ClusterTotals(self, rule):
        sums = np.array([rule.values @ inside for inside in self.inside])
        return [
            mask.all(axis=0)
            for mask in (
                None if rule.minimum is None else sums >= rule.minimum.reshape(-1, 1),
                None if rule.maximum is None else sums <= rule.maximum.reshape(-1, 1),
            )
            if mask is not None
        ]

    def _GroupShares(self, rule):
        masks = []
        for sign, shares in ((1, rule.minimum), (-1, rule.maximum)):
            for group, share in shares.items():
                member = np.array([sign * int(g == group) for g in rule.groups])
                has = np.array([member @ inside for inside in self.inside])
                assert np.isclose(100 * share, round(100 * share))
                masks.append((100 * has >= sign * round(100 * share) * self.size).all(axis=0))
        return masks

    def _LinearConstraint(self, rule):
        masks = []
        for row, low, high in zip(rule.A.toarray(), rule.lower, rule.upper, strict=True):
            by_cluster = row.reshape(self.n, self.k).T
            value = sum(a @ inside for a, inside in zip(by_cluster, self.inside, strict=True))
            masks += [value >= low] if np.isfinite(low) else []
            masks += [value <= high] if np.isfinite(high) else []
        return masks


def bounds_of(rule):
    """Smallest and largest sizes; exact sizes are both."""
    return (rule.minimum, rule.maximum) if rule.sizes is None else (rule.sizes, rule.sizes)


def random_rules(rng, n, k):
    """Some rules of some kinds; numbers are such that sums of floats are exact."""
    pairs = rng.permutation(list(combinations(range(n), 2)))
    kinds = rng.choice(len(MAKERS), rng.integers(1, 5), replace=False)
    return [MAKERS[kind](rng, n, k, rng.permutation(pairs)) for kind in kinds]


def must_links(rng, n, k, pairs):
    if rng.random() < 0.5:
        return MustLink(pairs[: rng.integers(1, n)])
    length, order = int(rng.integers(2, 5)), rng.permutation(n)
    linked = [i for i in range(n - 1) if (i + 1) % length]
    return MustLink(np.column_stack([order[linked], order[np.array(linked) + 1]]))


def cannot_links(rng, n, k, pairs):
    return CannotLink(pairs[: rng.integers(1, 2 * n)])


def pins(rng, n, k, pairs):
    rows = rng.integers(0, n, rng.integers(1, n))
    return Pin(np.column_stack([rows, rng.integers(0, k, len(rows))]))


def drawn_sizes(rng, n, k):
    size = np.bincount(rng.integers(0, k, n), minlength=k)
    size[rng.integers(k)] += rng.choice([-1, 0, 0, 0, 0, 0, 1])
    return np.maximum(size, 0)


def exact_sizes(rng, n, k, pairs):
    return ClusterSizes(drawn_sizes(rng, n, k), ordered=bool(rng.integers(2)))


def one_size_for_all(rng, n, k, pairs):
    low, high = max(n // k - rng.integers(0, 2), 0), -(-n // k) + rng.integers(0, 2)
    side = rng.integers(3)
    return ClusterSizes(minimum=low if side != 1 else None, maximum=high if side else None)


def size_lists(rng, n, k, pairs):
    size = drawn_sizes(rng, n, k)
    low, high = np.maximum(size - rng.integers(0, 3, k), 0), size + rng.integers(0, 2, k)
    side = rng.integers(4)
    return ClusterSizes(
        minimum=low if side != 1 else None,
        maximum=high if side else None,
        ordered=bool(rng.integers(2)),
    )


def totals(rng, n, k, pairs):
    values = rng.integers(-1 if rng.random() < 0.3 else 0, 8, n) / 4
    mean = values.sum() / k
    low = np.round(4 * (mean - rng.random(k))) / 4
    high = np.maximum(low, np.round(4 * (mean + rng.random(k))) / 4)
    side = rng.integers(4)
    if rng.random() < 0.5:
        low, high = low[0], high[0]
    return ClusterTotals(values, minimum=low if side != 1 else None, maximum=high if side else None)


def shares(rng, n, k, pairs):
    groups = rng.integers(0, rng.integers(2, 4), n)
    names, least, most = np.unique(groups), {}, {}
    for name in names.tolist():
        here = float(np.mean(groups == name))
        if rng.random() < 0.6:
            least[name] = min(1.0, np.round(here - 0.15 + 0.2 * rng.random(), 2) % 1)
        if rng.random() < 0.6:
            most[name] = max(least.get(name, 0.0), min(1.0, np.round(here + 0.2 * rng.random(), 2)))
    return GroupShares(groups, minimum=least, maximum=most)


def linear_rows(rng, n, k, pairs):
    r = int(rng.integers(1, 4))
    A = rng.integers(-2, 3, (r, n * k)) * (rng.random((r, n * k)) < 0.6)
    at = A[:, np.arange(n) * k + rng.integers(0, k, n)].sum(axis=1) + rng.integers(-3, 4, r)
    low = np.where(rng.random(r) < 0.6, at - rng.integers(0, 3, r), -np.inf)
    return LinearConstraint(A, low, np.where(rng.random(r) < 0.6, at, np.inf))


MAKERS = [
    must_links,
    must_links,
    cannot_links,
    pins,
    exact_sizes,
    one_size_for_all,
    size_lists,
    totals,
    shares,
    linear_rows,
]
