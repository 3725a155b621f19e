"""What pictures need of an answer, small enough to be kept with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray, Matrix
from ..constraints import CannotLink, Constraint, ConstraintSet, MustLink

#: Limits on the sample: more points make a picture no clearer, more numbers make models heavy.
MOST_ROWS = 2_000
MOST_ENTRIES = 1_000_000


@dataclass(frozen=True, eq=False)
class View:
    """Labels of all rows, and a sample of the points.

    Attributes
    ----------
    labels : (n,) int array
    centers : (k, d) array
    rows : (m,) int array
        Which rows the sample holds, in ascending order; the ends of links come first.
    points : (m, d) array or CSR
        Copies of these rows.
    """

    labels: IntArray
    centers: FloatArray
    rows: IntArray
    points: Matrix

    @classmethod
    def of(cls, X: Matrix, labels: IntArray, constraints: Any, centers: FloatArray) -> View:
        """Take a sample of the rows, always the same one.

        Parameters
        ----------
        X : (n, d) array or CSR
        labels : (n,) int array
        constraints : Constraint, iterable of them, or None
        centers : (k, d) array
        """
        n, d = X.shape
        per_row = sparse.csr_array(X).nnz / max(n, 1) if sparse.issparse(X) else d
        room = int(np.clip(MOST_ENTRIES / max(per_row, 1), 1, MOST_ROWS))
        rows = np.arange(n) if n <= room else _sample(n, room, labels, ConstraintSet(constraints))
        return cls(labels, centers, rows, X[rows])

    def links(self, constraints: Any) -> tuple[Constraint, ...]:
        """The links between rows of the sample, in its own numbers."""
        rules = ConstraintSet(constraints)
        inside = (link.subset(self.rows) for link in _links(rules))
        return tuple(link for link in inside if link is not None)


def _links(rules: ConstraintSet) -> tuple[MustLink | CannotLink, ...]:
    return (*rules.of_kind(MustLink), *rules.of_kind(CannotLink))


def _sample(n: int, room: int, labels: IntArray, rules: ConstraintSet) -> IntArray:
    """``room`` rows: ends of broken links, then of other links, then any."""
    links = _links(rules)
    enough = 2 * room
    broken = [link.pairs[link.violations(labels).where[:enough]].ravel() for link in links]
    linked = [link.pairs[:enough].ravel() for link in links]
    others = np.random.default_rng(0).choice(n, min(n, enough), replace=False)
    queue = np.concatenate([*broken, *linked, others])
    first = np.unique(queue, return_index=True)[1]
    return np.sort(queue[np.sort(first)[:room]])
