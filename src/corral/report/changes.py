"""What changed since an earlier answer: which rows moved, and how clusters grew and shrank."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._text import in_digits
from .._typing import BoolArray, IntArray
from ..constraints.clusters import ClusterNames


class ClusterChange(NamedTuple):
    """How the rows of one cluster changed: ``after == before - left + came + new``."""

    cluster: str
    before: int
    after: int
    left: int
    came: int
    new: int


@dataclass(frozen=True, eq=False)
class Changes:
    """What changed since an earlier answer; printing it says so in words.

    Attributes
    ----------
    before, after : (n_samples,) int arrays
        Clusters of the rows; before it is -1 for rows that had none.
    n_clusters : int
    names : sequence or None
        Names of the rows.
    clusters : tuple of str or None
        Names of the clusters.
    gone : int
        Rows of the earlier answer that are not in the data any more.

    Examples
    --------
    >>> changes = Changes(np.array([0, 0, 1, -1]), np.array([0, 1, 1, 1]), 2)
    >>> print(changes)
    1 of 3 rows moved to another cluster; 1 is new
    >>> changes.rows()
    [('1', '0', '1'), ('3', '', '1')]
    >>> changes.by_cluster()[1]
    ClusterChange(cluster='1', before=1, after=3, left=0, came=1, new=1)
    """

    before: IntArray
    after: IntArray
    n_clusters: int
    names: Sequence[Any] | None = None
    clusters: ClusterNames = None
    gone: int = 0

    @property
    def moved(self) -> BoolArray:
        """Rows that were in another cluster before."""
        moved: BoolArray = (self.before >= 0) & (self.before != self.after)
        return moved

    @property
    def new(self) -> BoolArray:
        """Rows that had no cluster before."""
        new: BoolArray = self.before < 0
        return new

    def called(self, cluster: int) -> str:
        """The name of a cluster, or its number; nothing for -1."""
        if cluster < 0:
            return ""
        return str(cluster) if self.clusters is None else self.clusters[cluster]

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows that moved or are new: what they are called, their cluster before, and now."""
        which = np.flatnonzero(self.moved | self.new).tolist()
        return [
            (
                str(row if self.names is None else self.names[row]),
                self.called(int(self.before[row])),
                self.called(int(self.after[row])),
            )
            for row in which
        ]

    def by_cluster(self) -> list[ClusterChange]:
        """For each cluster: rows before and now, and how many left, came, and are new."""
        k, known = self.n_clusters, ~self.new
        before, after = self.before[known], self.after
        moved = self.moved
        counts = (
            np.bincount(before, minlength=k),
            np.bincount(after, minlength=k),
            np.bincount(self.before[moved], minlength=k),
            np.bincount(after[moved], minlength=k),
            np.bincount(after[self.new], minlength=k),
        )
        each = zip(*(count.tolist() for count in counts), strict=True)
        return [ClusterChange(self.called(j), *row) for j, row in enumerate(each)]

    def columns(self) -> dict[str, list[str]]:
        """The rows that moved or are new, as columns of a table."""
        found = self.rows()
        names = ("id", "before", "after")
        made = {name: [row[i] for row in found] for i, name in enumerate(names)}
        return {**made, "change": ["moved" if before else "new" for before in made["before"]]}

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows that moved or are new: id, before, after, change."""
        import csv

        from ..constraints.files import atomic_writer, safe_text

        columns = self.columns()
        with atomic_writer(path) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(map(safe_text, row) for row in zip(*columns.values(), strict=True))

    def __str__(self) -> str:
        known, moved, new = (int(which.sum()) for which in (~self.new, self.moved, self.new))
        text = f"{in_digits(moved)} of {in_digits(known)} rows moved to another cluster"
        for count, word in ((new, "new"), (self.gone, "gone")):
            if count:
                text += f"; {in_digits(count)} {'is' if count == 1 else 'are'} {word}"
        return text
