"""How far labels miss the rules, and how a change of one or two groups alters that.

Sums (sizes, totals and shares), linear rows and hard pairs are measured alike.  Sums and linear
rows count in units of the mean magnitude of their values, so that 1 is about one group in the wrong
cluster; a broken pair counts 1.  Soft sums count their prices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from ..constraints._checks import sums_by
from ..presolve import LinearRows, PairGraph, Rules, Sums
from ..presolve.soft import outside


@dataclass(frozen=True)
class Steps:
    """Changes to compare: group ``g`` goes from cluster ``a`` to ``b``, and ``h`` from b to ``c``.

    All arrays have one entry a change.  Without ``h`` and ``c`` a change is one shift; where c is
    a, two groups change places.
    """

    g: IntArray
    a: IntArray
    b: IntArray
    h: IntArray | None = None
    c: IntArray | None = None

    def __len__(self) -> int:
        """Number of changes."""
        return len(self.g)

    @property
    def clusters(self) -> list[IntArray]:
        """The clusters that each change touches, two or three arrays."""
        return [self.a, self.b] if self.c is None else [self.a, self.b, self.c]

    def take(self, which: IntArray) -> Steps:
        """Some of the changes."""
        second = () if self.h is None or self.c is None else (self.h[which], self.c[which])
        return Steps(self.g[which], self.a[which], self.b[which], *second)

    def and_(self, others: Steps) -> Steps:
        """These changes and others of the same kind."""
        both = zip(vars(self).values(), vars(others).values(), strict=True)
        return Steps(*(np.concatenate(each) for each in both))

    def moved(self) -> tuple[IntArray, IntArray]:
        """All groups that move, and their new clusters."""
        if self.h is None or self.c is None:
            return self.g, self.b
        return np.concatenate([self.g, self.h]), np.concatenate([self.b, self.c])


class Excess:
    """What the sums and linear rows of some labels miss, and how changes alter that."""

    def __init__(self, sums: Sums, scale: FloatArray, linear: LinearRows | None = None) -> None:
        self.sums, self.n_clusters = sums, sums.lower.shape[1]
        self._scale, self._linear = scale, linear
        if linear is not None:
            self._columns = sparse.csc_array(linear.A)
            size = np.asarray(np.abs(linear.A).sum(axis=1)).ravel()
            number = np.diff(linear.A.indptr)
            self._row_scale = np.where(size > 0.0, number, 1) / np.where(size > 0.0, size, 1.0)
        self.reached = np.zeros_like(self.sums.lower)
        self._any_sign = np.any(self.sums.values < 0.0, axis=1, keepdims=True)
        self.missed: FloatArray = np.zeros(self.n_clusters)
        self.short = self._full = self.missed
        self._row_reached: FloatArray = np.zeros(0)
        self.rows_missed = 0.0

    @classmethod
    def of(cls, rules: Rules) -> Excess:
        """What the hard rules miss."""
        sums = rules.sums()
        return cls(sums, 1.0 / sums.unit, rules.linear)

    @classmethod
    def priced(cls, rules: Rules) -> Excess | None:
        """What the soft sizes and totals cost; None if there are none."""
        return cls(rules.soft_sums, rules.soft_sums.price) if rules.priced_sums else None

    def look(self, labels: IntArray) -> None:
        """Look at labels; changes are compared with these."""
        self.reached = self.sums.reached(labels)
        missed = self.sums.outside(self.reached) * self._scale
        self.missed = missed.sum(axis=0)
        over = self.reached > self.sums.upper
        self._full = np.where(over | self._any_sign, missed, 0.0).sum(axis=0)
        self.short = np.where(over & ~self._any_sign, 0.0, missed).sum(axis=0)
        if self._linear is not None:
            own = self._column(np.arange(len(labels)), labels)
            _, row, value = self._entries(own)
            self._row_reached = sums_by(row, value, len(self._row_scale))
            self.rows_missed = float(self._outside_rows(self._row_reached).sum())

    @property
    def total(self) -> float:
        """What all sums and linear rows miss."""
        return float(self.missed.sum()) + self.rows_missed

    def most_saved(self, steps: Steps, *, lacking: bool = False) -> FloatArray:
        """The most that each of the changes can save: of a what is too much, of c what it lacks.

        ``lacking`` adds the most that any cluster lacks.
        """
        saved = self._full[steps.a] + self.missed[steps.b] + self.rows_missed
        saved = saved if steps.c is None else saved + self.short[steps.c]
        return np.asarray(saved + self.short.max(initial=0.0) if lacking else saved)

    def change(self, steps: Steps) -> FloatArray:
        """By how much each of the changes raises the total."""
        value, (g, a, b) = self.sums.values, (steps.g, steps.a, steps.b)
        if steps.h is None or steps.c is None:
            found = self._at(a, -value[:, g]) + self._at(b, value[:, g])
        else:
            swap, net = steps.c == a, value[:, g] - value[:, steps.h]
            found = self._at(a, np.where(swap, -net, -value[:, g])) + self._at(b, net)
            found += np.where(swap, 0.0, self._at(steps.c, value[:, steps.h]))
        return found if self._linear is None else found + self._at_rows(steps)

    def _at(self, cluster: IntArray, added: FloatArray) -> FloatArray:
        """By how much the sums of clusters miss more when something is added to them."""
        now = self.reached[:, cluster] + added
        missed = outside(now, self.sums.lower[:, cluster], self.sums.upper[:, cluster])
        result: FloatArray = (missed * self._scale).sum(axis=0) - self.missed[cluster]
        return result

    def _at_rows(self, steps: Steps) -> FloatArray:
        """By how much the linear rows miss more after each change."""
        signed = [(1.0, steps.g, steps.b), (-1.0, steps.g, steps.a)]
        if steps.h is not None and steps.c is not None:
            signed += [(1.0, steps.h, steps.c), (-1.0, steps.h, steps.b)]
        parts = [(sign, *self._entries(self._column(*at))) for sign, *at in signed]
        n_rows = len(self._row_reached)
        keys, place = np.unique(
            np.concatenate([change * n_rows + row for _, change, row, _ in parts]),
            return_inverse=True,
        )
        added = sums_by(place, np.concatenate([sign * v for sign, _, _, v in parts]), len(keys))
        change, row = np.divmod(keys, n_rows)
        before = self._row_reached[row]
        more = self._outside_rows(before + added, row) - self._outside_rows(before, row)
        return sums_by(change, more, len(steps))

    def _entries(self, columns: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """The entries of columns of the linear rows: place of the column, row, and value."""
        A = self._columns
        number = np.diff(A.indptr)[columns].astype(np.int64)
        which = np.repeat(np.arange(len(columns)), number)
        place = np.arange(len(which)) + np.repeat(
            A.indptr[columns] - np.cumsum(number) + number, number
        )
        return which, A.indices[place].astype(np.int64), A.data[place]

    def _column(self, groups: IntArray, clusters: IntArray) -> IntArray:
        column: IntArray = groups * self.n_clusters + clusters
        return column

    def _outside_rows(self, reached: FloatArray, row: IntArray | slice = slice(None)) -> FloatArray:
        linear = self._linear
        assert linear is not None
        give = np.broadcast_to(linear.give, linear.lower.shape)[row]
        missed = outside(reached, linear.lower[row] - give, linear.upper[row] + give)
        return np.asarray(missed * self._row_scale[row])


class PairCosts:
    """What groups pay for their pairs in each cluster, the others being where the labels have them.

    A group pays ``same - differ`` of a pair for being in the cluster of its partner.  A hard pair
    counts as one unit of excess, at a price.
    """

    def __init__(self, graph: PairGraph, n_clusters: int) -> None:
        self._graph, self._k, m = graph, n_clusters, graph.n_groups
        self._keys = graph.a * m + graph.b
        hard = np.isinf(graph.same).astype(float) - np.isinf(graph.differ)
        soft = _finite(graph.same) - _finite(graph.differ)
        self._of_pair = soft, hard
        ends = np.concatenate([graph.a, graph.b]), np.concatenate([graph.b, graph.a])
        self._links = [
            sparse.csr_array((np.concatenate([each, each]), ends), shape=(m, m))
            for each in self._of_pair
        ]
        self._most = [np.abs(each).sum(axis=1) for each in self._links]

    def look(self, labels: IntArray) -> None:
        """Look at labels."""
        m = len(labels)
        shape = m, self._k
        member = sparse.csr_array((np.ones(m), labels, np.arange(m + 1)), shape=shape)
        self._at = [(links @ member).toarray() for links in self._links]
        self.broken = np.count_nonzero(np.isinf(self._graph.paid(labels)))

    @property
    def soft(self) -> FloatArray:
        """What every group would pay for its soft pairs in every cluster, (m, k)."""
        return np.asarray(self._at[0])

    def at(self, groups: IntArray, clusters: IntArray, price: float) -> FloatArray:
        """What groups would pay in clusters."""
        soft, hard = (each[groups, clusters] for each in self._at)
        return np.asarray(soft + price * hard)

    def most(self, price: float) -> FloatArray:
        """Sum of the magnitudes of what each group may pay or save, (m,)."""
        soft, hard = self._most
        return np.asarray(soft + price * hard)

    def between(self, g: IntArray, h: IntArray, price: float) -> FloatArray:
        """What g and h pay for being in one cluster; 0 if they are no pair."""
        keys = np.minimum(g, h) * self._graph.n_groups + np.maximum(g, h)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        soft, hard = (each[place] for each in self._of_pair)
        return np.where(self._keys[place] == keys, soft + price * hard, 0.0)


def _finite(price: FloatArray) -> FloatArray:
    return np.where(np.isinf(price), 0.0, price)
