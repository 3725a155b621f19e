"""Rules in plain arrays, drawn so that hidden labels obey them, and what corral calls them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class Rules:
    """What labels of n points in k clusters should obey, without a line of corral.

    Links are (pairs, prices), hard where the price is infinite.  Sizes are (lower, upper, ordered)
    with a bound for each cluster.  Totals are (values, lower, upper).  Shares are (groups, minimum,
    maximum) with a share for each group.  Linear rows are (A, lower, upper).
    """

    n: int
    k: int
    must: list[tuple[Ints, Floats]] = field(default_factory=list)
    cannot: list[tuple[Ints, Floats]] = field(default_factory=list)
    pins: list[Ints] = field(default_factory=list)
    labels: list[Ints] = field(default_factory=list)
    sizes: list[tuple[Ints, Ints, bool]] = field(default_factory=list)
    totals: list[tuple[Floats, Floats, Floats]] = field(default_factory=list)
    shares: list[tuple[NDArray[Any], dict[Any, float], dict[Any, float]]] = field(
        default_factory=list
    )
    linear: list[tuple[sparse.csr_array, Floats, Floats]] = field(default_factory=list)


def in_corral(rules: Rules) -> list[Any]:
    """The same as constraints of corral."""
    import corral

    given: list[Any] = [corral.MustLink(pairs, price) for pairs, price in rules.must]
    given += [corral.CannotLink(pairs, price) for pairs, price in rules.cannot]
    given += [corral.Pin([(int(row), int(j)) for row, j in pins]) for pins in rules.pins]
    given += [corral.from_labels(labels) for labels in rules.labels]
    for low, high, ordered in rules.sizes:
        if np.array_equal(low, high):
            given.append(corral.ClusterSizes(low, ordered=ordered))
        elif np.ptp(low) == np.ptp(high) == 0:
            given.append(corral.ClusterSizes(minimum=int(low[0]), maximum=int(high[0])))
        else:
            given.append(corral.ClusterSizes(minimum=low, maximum=high, ordered=ordered))
    for values, lower, upper in rules.totals:
        given.append(corral.ClusterTotals(values, minimum=lower, maximum=upper))
    for groups, minimum, maximum in rules.shares:
        given.append(corral.GroupShares(groups, minimum=minimum, maximum=maximum))
    given += [corral.LinearConstraint(A, low, high) for A, low, high in rules.linear]
    return given


@dataclass
class Draw:
    """What a rule is drawn from: a generator, the hidden labels and the prices' scale."""

    rng: np.random.Generator
    y: Ints
    k: int
    scale: float
    rules: Rules

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def count(self) -> Ints:
        return np.bincount(self.y, minlength=self.k)

    def pairs(self, number: int) -> Ints:
        """Distinct pairs of rows, as many as there are up to a number."""
        drawn = np.sort(self.rng.integers(0, self.n, (4 * number + 20, 2)), axis=1)
        drawn = np.unique(drawn[drawn[:, 0] < drawn[:, 1]], axis=0)
        self.rng.shuffle(drawn)
        return drawn

    def prices(self, pairs: Ints) -> Floats:
        return self.scale * self.rng.uniform(0.05, 2.0, len(pairs))


def draw_rules(names: str, y: Ints, k: int, scale: float, rng: np.random.Generator) -> Rules:
    """The rules of a job, such as ``must+sizes-equal``."""
    rules = Rules(len(y), k)
    for name in names.split("+"):
        DRAWS[name](Draw(rng, y, k, scale, rules))
    return rules


def _none(draw: Draw) -> None:
    pass


def _must(draw: Draw) -> None:
    pairs = draw.pairs(draw.n // 2)
    kept = pairs[draw.y[pairs[:, 0]] == draw.y[pairs[:, 1]]][: max(draw.n // 5, 2)]
    draw.rules.must.append((kept, np.full(len(kept), np.inf)))


def _cannot(draw: Draw) -> None:
    pairs = draw.pairs(draw.n // 2)
    kept = pairs[draw.y[pairs[:, 0]] != draw.y[pairs[:, 1]]][: max(draw.n // 8, 2)]
    draw.rules.cannot.append((kept, np.full(len(kept), np.inf)))


def _soft_must(draw: Draw) -> None:
    pairs = draw.pairs(max(draw.n // 5, 2))[: max(draw.n // 8, 2)]
    draw.rules.must.append((pairs, draw.prices(pairs)))


def _soft_cannot(draw: Draw) -> None:
    pairs = draw.pairs(max(draw.n // 5, 2))[: max(draw.n // 8, 2)]
    draw.rules.cannot.append((pairs, draw.prices(pairs)))


def _sizes_equal(draw: Draw) -> None:
    sizes = np.full(draw.k, draw.n // draw.k)
    sizes[: draw.n % draw.k] += 1
    draw.rules.sizes.append((sizes, sizes, False))


def _sizes_unequal(draw: Draw) -> None:
    sizes = np.sort(draw.count)
    draw.rules.sizes.append((sizes, sizes, False))


def _sizes_ordered(draw: Draw) -> None:
    draw.rules.sizes.append((draw.count, draw.count, True))


def _bounds(draw: Draw) -> None:
    count, mean = draw.count, draw.n / draw.k
    low, high = min(count.min(), int(0.8 * mean)), max(count.max(), int(1.2 * mean) + 1)
    draw.rules.sizes.append((np.full(draw.k, low), np.full(draw.k, high), False))


def _bounds_list(draw: Draw) -> None:
    count = draw.count
    low, high = (0.9 * count).astype(np.int64), np.ceil(1.1 * count).astype(np.int64) + 1
    draw.rules.sizes.append((low, high, False))


def _totals(draw: Draw) -> None:
    values = draw.rng.integers(1, 20, draw.n).astype(np.float64)
    load = np.bincount(draw.y, values, draw.k)
    upper = np.full(draw.k, 1.05 * load.max())
    draw.rules.totals.append((values, np.full(draw.k, -np.inf), upper))


def _totals_several(draw: Draw) -> None:
    _totals(draw)
    values = np.round(draw.rng.uniform(0, 5, draw.n), 1)
    load = np.bincount(draw.y, values, draw.k)
    draw.rules.totals.append((values, 0.9 * load, 1.1 * load + 1.0))


def _shares(draw: Draw) -> None:
    groups = draw.rng.choice(np.array(["a", "b", "c"]), draw.n, p=[0.5, 0.3, 0.2])
    shares = {
        str(group): np.bincount(draw.y, groups == group, draw.k) / draw.count
        for group in np.unique(groups)
    }
    minimum = {group: 0.9 * float(share.min()) for group, share in shares.items()}
    maximum = {group: min(1.0, 1.1 * float(share.max())) for group, share in shares.items()}
    draw.rules.shares.append((groups, minimum, maximum))


def _some(draw: Draw) -> Ints:
    return np.sort(draw.rng.choice(draw.n, max(draw.n // 15, 1), replace=False))


def _pins(draw: Draw) -> None:
    rows = _some(draw)
    draw.rules.pins.append(np.column_stack([rows, draw.y[rows]]))


def _from_labels(draw: Draw) -> None:
    """Some known rows of every cluster, so that classes and clusters have the same numbers."""
    known = np.unique(np.concatenate([_some(draw), np.unique(draw.y, return_index=True)[1]]))
    labels = np.full(draw.n, -1)
    labels[known] = draw.y[known]
    draw.rules.labels.append(labels)


def _linear(draw: Draw, *, equal: bool = False) -> None:
    """Some rows count some points of a cluster, others weigh points of all clusters."""
    matrix = sparse.lil_array((4, draw.n * draw.k))
    for row in range(4):
        rows = draw.rng.choice(draw.n, max(draw.n // 6, 2), replace=False)
        clusters = np.full(len(rows), row % draw.k) if row < 2 or equal else draw.y[rows]
        for i, j in zip(rows, clusters, strict=True):
            matrix[row, int(i) * draw.k + int(j)] = 1.0 if row < 2 or equal else 1.0 + row
    A = matrix.tocsr()
    x = np.zeros(draw.n * draw.k)
    x[np.arange(draw.n) * draw.k + draw.y] = 1.0
    value = A @ x
    room = np.zeros(4) if equal else np.array([0.0, 1.0, 20.0, 20.0])
    draw.rules.linear.append((A, value - room, value + room))


def _linear_equal(draw: Draw) -> None:
    _linear(draw, equal=True)


def _links(draw: Draw) -> None:
    """Links as corral draws them from classes."""
    from corral.datasets import random_links

    for own, links in zip(
        (draw.rules.must, draw.rules.cannot),
        random_links(draw.y, draw.n // 10, draw.n // 10, random_state=0),
        strict=True,
    ):
        own.append((np.array(links.pairs), np.full(len(links.pairs), np.inf)))


def _clique(draw: Draw) -> None:
    rows = draw.rng.choice(draw.n, draw.k + 1, replace=False)
    pairs = np.array([(a, b) for i, a in enumerate(rows) for b in rows[i + 1 :]])
    draw.rules.cannot.append((pairs, np.full(len(pairs), np.inf)))


def _must_against_cannot(draw: Draw) -> None:
    a, b, c, d = draw.rng.choice(draw.n, 4, replace=False)
    draw.rules.must.append((np.array([(a, b), (b, c), (c, d)]), np.full(3, np.inf)))
    draw.rules.cannot.append((np.array([(a, d)]), np.full(1, np.inf)))


def _pins_against_must(draw: Draw) -> None:
    a, b, c = draw.rng.choice(draw.n, 3, replace=False)
    draw.rules.must.append((np.array([(a, b), (b, c)]), np.full(2, np.inf)))
    draw.rules.pins.append(np.array([(a, 0), (c, 1)]))


def _minimum_too_large(draw: Draw) -> None:
    low = np.full(draw.k, draw.n // draw.k + 2)
    draw.rules.sizes.append((low, np.full(draw.k, draw.n), False))


def _totals_too_small(draw: Draw) -> None:
    values = draw.rng.integers(1, 9, draw.n).astype(np.float64)
    upper = np.full(draw.k, np.floor(0.9 * values.sum() / draw.k))
    draw.rules.totals.append((values, np.full(draw.k, -np.inf), upper))


def _group_too_large(draw: Draw) -> None:
    high = -(-draw.n // draw.k)
    rows = draw.rng.choice(draw.n, high + 2, replace=False)
    pairs = np.column_stack([rows[:-1], rows[1:]])
    draw.rules.must.append((pairs, np.full(len(pairs), np.inf)))
    draw.rules.sizes.append((np.zeros(draw.k, np.int64), np.full(draw.k, high), False))


DRAWS: dict[str, Callable[[Draw], None]] = {
    "none": _none,
    "must": _must,
    "cannot": _cannot,
    "soft-must": _soft_must,
    "soft-cannot": _soft_cannot,
    "sizes-equal": _sizes_equal,
    "sizes-unequal": _sizes_unequal,
    "sizes-ordered": _sizes_ordered,
    "bounds": _bounds,
    "bounds-list": _bounds_list,
    "totals": _totals,
    "totals-several": _totals_several,
    "shares": _shares,
    "pins": _pins,
    "from-labels": _from_labels,
    "linear": _linear,
    "linear-equal": _linear_equal,
    "links": _links,
    "clique": _clique,
    "must-against-cannot": _must_against_cannot,
    "pins-against-must": _pins_against_must,
    "minimum-too-large": _minimum_too_large,
    "totals-too-small": _totals_too_small,
    "group-too-large": _group_too_large,
}
