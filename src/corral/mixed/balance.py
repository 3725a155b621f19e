"""How alike groups are: means and spreads against the whole, and what could be reached at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._text import in_digits
from .._typing import FloatArray, IntArray
from .columns import Category, Columns


@dataclass(frozen=True, eq=False)
class Balance:
    """Means, spreads and counts of groups beside those of all rows.

    Attributes
    ----------
    features : tuple of str
        Columns of numbers.
    sizes : (k,) array
    means, spreads : (k, d) arrays
        Mean and standard deviation of each group, NaN for empty ones.
    mean, spread : (d,) arrays
        Those of all rows.
    counts : dict
        By the name of a column of categories: the categories, and how many rows of each the groups
        have, (k, categories).
    share : float
        The objective as a part of what no groups can exceed.
    """

    features: tuple[str, ...]
    sizes: IntArray
    means: FloatArray
    spreads: FloatArray
    mean: FloatArray
    spread: FloatArray
    counts: dict[str, tuple[tuple[str, ...], IntArray]]
    share: float

    @property
    def differences(self) -> FloatArray:
        """Means of the groups less that of all rows, in standard deviations of all rows, (k, d)."""
        unit = np.where(self.spread > 0.0, self.spread, np.inf)
        return np.asarray((self.means - self.mean) / unit)

    @property
    def imbalance(self) -> float:
        """The largest standardised difference of a mean of a group from that of all rows."""
        return float(np.nanmax(np.abs(self.differences), initial=0.0))

    @property
    def uneven(self) -> int:
        """Rows of categories that groups have beyond an even share, rounded either way."""
        missed = 0
        for _, counts in self.counts.values():
            wanted = np.outer(self.sizes, counts.sum(axis=0)) / max(self.sizes.sum(), 1)
            low, high = np.floor(wanted + 1e-9), np.ceil(wanted - 1e-9)
            missed += int((np.maximum(counts - high, 0) + np.maximum(low - counts, 0)).sum())
        return missed

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, ready for JSON; null where a group is empty."""
        means, spreads = (
            [[None if np.isnan(v) else float(v) for v in row] for row in table]
            for table in (self.means, self.spreads)
        )
        return {
            "imbalance": self.imbalance,
            "share": self.share,
            "features": list(self.features),
            "mean": self.mean.tolist(),
            "spread": self.spread.tolist(),
            "means": means,
            "spreads": spreads,
            "counts": {
                name: {level: counts[:, z].tolist() for z, level in enumerate(levels)}
                for name, (levels, counts) in self.counts.items()
            },
        }

    def rows(self) -> tuple[list[str], list[list[Any]]]:
        """The heads and the rows of the table; the last row is that of all rows."""
        head = ["group", "rows"]
        for name in self.features:
            head += [name, "±"]
        for levels, _ in self.counts.values():
            head += list(levels)
        table: list[list[Any]] = []
        for j in [*range(len(self.sizes)), -1]:
            of_all = j < 0
            row: list[Any] = ["all" if of_all else j]
            row.append(int(self.sizes.sum() if of_all else self.sizes[j]))
            means, spreads = (
                (self.mean, self.spread) if of_all else (self.means[j], self.spreads[j])
            )
            for pair in zip(means, spreads, strict=True):
                row += ["" if np.isnan(value) else in_digits(float(value), 4) for value in pair]
            for _, counts in self.counts.values():
                row += (counts.sum(axis=0) if of_all else counts[j]).tolist()
            table.append(row)
        return head, table

    def __str__(self) -> str:
        """The table as text, of the groups that differ most if they are many."""
        head, table = self.rows()
        if len(table) > MOST_LINES + 1:
            worst = np.nanmax(np.abs(self.differences), axis=1, initial=0.0)
            shown = np.sort(np.argsort(-worst, kind="stable")[:MOST_LINES])
            table = [table[j] for j in [*shown.tolist(), -1]]
        cells = [head, *([str(cell) for cell in row] for row in table)]
        wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(f"{c:>{w}}" for c, w in zip(row, wide, strict=True)) for row in cells]
        return "\n".join(lines)


#: Groups of the table in the text, at most.
MOST_LINES = 40


def balance_of(
    columns: Columns, labels: IntArray, n_clusters: int, weight: FloatArray | None, share: float
) -> Balance:
    """Compare the groups of some labels, in the units of the columns."""
    names, numbers = columns.names, columns.numbers
    mass = np.ones(len(labels)) if weight is None or not weight.any() else weight
    middle = mass @ numbers / mass.sum()
    moved = numbers - middle
    means, spreads = (np.full((n_clusters, numbers.shape[1]), np.nan) for _ in range(2))
    total = np.bincount(labels, mass, n_clusters)
    some = total > 0.0
    for f in range(numbers.shape[1]):
        first = np.bincount(labels, mass * moved[:, f], n_clusters)[some] / total[some]
        gap = np.zeros(n_clusters)
        gap[some] = first
        square = np.bincount(labels, mass * (moved[:, f] - gap[labels]) ** 2, n_clusters)
        means[some, f] = middle[f] + first
        spreads[some, f] = np.sqrt(square[some] / total[some])
    return Balance(
        names,
        np.bincount(labels, minlength=n_clusters),
        means,
        spreads,
        middle,
        np.sqrt(mass @ moved**2 / mass.sum()),
        {
            each.name: (each.levels, counts_of(each, labels, n_clusters))
            for each in columns.categories
        },
        share,
    )


def counts_of(category: Category, labels: IntArray, n_clusters: int) -> IntArray:
    """Rows of each category in each group, (k, categories)."""
    size = len(category.levels)
    keys = labels.astype(np.int64) * size + category.codes
    return np.bincount(keys, minlength=n_clusters * size).reshape(n_clusters, size)


def least_loss(columns: FloatArray, spreads: FloatArray, sizes: IntArray) -> float:
    """A lower bound on the sum of ``|S|^2 / n`` of groups of these sizes, by counting.

    The sums of a column of whole numbers are whole, so they cannot all be what they should be.
    ``columns`` are as they were given, without weights, and ``spreads`` what each is divided by.

    Examples
    --------
    >>> float(least_loss(np.array([[0.0], [0.0], [0.0], [1.0]]), np.ones(1), np.array([2, 2])))
    0.25
    """
    total, sizes = 0.0, sizes[sizes > 0]
    for values, spread in zip(columns.T, spreads, strict=True):
        unit = unit_of(values)
        if unit is None or spread <= 0.0:
            continue
        whole = np.rint((values - values.min()) / unit)
        wanted = whole.mean() * sizes
        taken = np.floor(wanted)
        rise = (2.0 * (taken - wanted) + 1.0) / sizes
        taken[np.argsort(rise, kind="stable")[: round(whole.sum() - taken.sum())]] += 1.0
        while True:  # the costs are convex, so pairs of steps that do not pay are enough
            up, down = (
                (2.0 * (taken - wanted) + 1.0) / sizes,
                (1.0 - 2.0 * (taken - wanted)) / sizes,
            )
            here, there = int(up.argmin()), int(down.argmin())
            if up[here] + down[there] >= -1e-12 * abs(up[here]):
                break
            taken[here], taken[there] = taken[here] + 1.0, taken[there] - 1.0
        total += float(((taken - wanted) ** 2 / sizes).sum()) * (unit / spread) ** 2
    return total


def unit_of(values: FloatArray) -> float | None:
    """The largest number of which all differences of values are whole multiples; None if not seen.

    Decimal fractions of up to three digits are seen.
    """
    moved = values - values.min()
    for scale in (1.0, 10.0, 100.0, 1000.0):
        whole = np.rint(moved * scale)
        if whole.max(initial=0.0) > 2.0**50:
            return None
        if np.all(np.abs(whole - moved * scale) <= 1e-9 * np.maximum(scale * np.abs(values), 1.0)):
            divisor = int(np.gcd.reduce(whole.astype(np.int64)))
            return divisor / scale if divisor else None
    return None
