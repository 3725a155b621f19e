"""Inequalities that every clustering obeys and the relaxation does not.

Let ``z_gh = y_gh / sqrt(w_g w_h)``.  In a clustering it is 1 / (weight of the cluster) if g and h
are in one cluster, and 0 otherwise.  So for all groups g, h, i

- ``z_gh <= z_gg`` (a *pair*), and
- ``z_gh + z_gi <= z_gg + z_hi`` (a *triangle*).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import namespace, to_host
from .._typing import BoolArray, FloatArray, IntArray
from ..deadline import NEVER, Deadline
from ..plan.thresholds import CUT_ENTRIES, CUTS_EACH
from .matrices import Matrices
from .spectrum import EPS

#: Violation from which an inequality is added, in units of the mean of ``z_gg``: at first, and at
#: last.  It falls by the factor whenever few are found.
FIRST_WORTH, LAST_WORTH, WORTH_FACTOR = 1e-3, 1e-6, 0.1
#: Steps of the projection in each iteration.  More make it more accurate and slower.
STEPS = 3


class Cuts:
    """Inequalities ``A y <= 0`` with one multiplier each, for symmetric matrices y.

    ``corners`` holds the groups (g, h, i) of a triangle, or (g, h, -1) of a pair.  ``A`` has one
    column for each entry of the upper triangle that an inequality uses; an entry off the diagonal
    stands for two places of the matrix.
    """

    def __init__(self, weight: FloatArray, matrices: Matrices) -> None:
        self.matrices = matrices
        root = 1.0 / np.sqrt(weight)
        self.scale: FloatArray = root / root.mean()
        self.corners: IntArray = np.empty((0, 3), np.int64)
        self.multiplier: FloatArray = np.empty(0)
        self._worth = FIRST_WORTH

    def __len__(self) -> int:
        """Number of inequalities."""
        return len(self.corners)

    def take_over(self, other: Cuts, home: IntArray, factor: float) -> None:
        """Take over the inequalities of groups that these groups join.

        ``home`` is the new group of each old one.  Inequalities between fewer groups than before
        are left out.
        """
        corners = np.where(other.corners < 0, -1, home[other.corners])
        g, h, i = corners.T
        distinct = (g != h) & (g != i) & (h != i)
        base = len(self.scale) + 1
        _, first = np.unique((corners + 1) @ [base * base, base, 1], return_index=True)
        kept = first[distinct[first]]
        if len(kept):
            self.corners, self.multiplier = corners[kept], factor * other.multiplier[kept]
            self._worth = other._worth
            self._build()

    def _build(self) -> None:
        """Make A for the present corners."""
        (g, h, i), r, m = self.corners.T, self.scale, len(self.scale)
        number, third = np.arange(len(g)), np.flatnonzero(i >= 0)
        gt, ht, it = g[third], h[third], i[third]
        rows = np.concatenate([number, number, third, third])
        ends = [(g, h), (g, g), (gt, it), (ht, it)]
        place = np.concatenate([np.minimum(a, b) * m + np.maximum(a, b) for a, b in ends])
        signs = (1.0, -1.0, 1.0, -1.0)
        values = np.concatenate([s * r[a] * r[b] for s, (a, b) in zip(signs, ends, strict=True)])
        entries, column = np.unique(place, return_inverse=True)
        a, b = np.divmod(entries, m)
        half = np.where(a == b, 1.0, 0.5)
        A = sparse.csr_array((values, (rows, column)), shape=(len(g), len(entries)))
        self._step = 1.0 / _norm(A, half)
        put = self.matrices.put
        self._at, self._half, self._off = (put(a), put(b)), put(half), put(np.flatnonzero(a != b))
        self._A, self._AT = put(A), put(sparse.csr_array(A.T))

    def project(self, V: Any, lower: Any, upper: Any) -> Any:
        """``V - A* multiplier`` with better multipliers for the projection onto box and cuts.

        Cut to the bounds, the result is nearly the point of the box that obeys the cuts and is
        nearest to V.  The multipliers make a few accelerated gradient steps of the dual problem;
        the bound is valid for any multipliers that are not negative.
        """
        if not len(self):
            return V
        xp, (own, low, high) = namespace(V), (each[self._at] for each in (V, lower, upper))
        last = ahead = self.matrices.put(self.multiplier)
        momentum = 1.0
        for _ in range(STEPS):
            point = xp.clip(own - self._half * (self._AT @ ahead), low, high)
            new = xp.clip(ahead + self._step * (self._A @ point), 0.0, None)
            grown = (1.0 + (1.0 + 4.0 * momentum**2) ** 0.5) / 2.0
            ahead = new + (momentum - 1.0) / grown * (new - last)
            last, momentum = new, grown
        self.multiplier = to_host(last)
        return self.moved(V, -1.0)

    def pull(self, zero: Any, factor: float) -> tuple[Any, float]:
        """``factor * A* multiplier``, and a bound on the Frobenius norm of its rounding errors."""
        if not len(self):
            return zero, 0.0
        largest = float(self.scale.max()) ** 2
        error = 64 * EPS * factor * largest * float(self.multiplier.sum())
        return self.moved(zero, factor), error

    def moved(self, V: Any, factor: float) -> Any:
        """``V + factor * A* multiplier``."""
        pull = factor * self._half * (self._AT @ self.matrices.put(self.multiplier))
        moved, (rows, columns), off = V + 0.0, self._at, self._off
        moved[rows, columns] += pull
        moved[columns[off], rows[off]] += pull[off]
        return moved

    @property
    def exhausted(self) -> bool:
        """Whether even small violations were looked for."""
        return self._worth <= LAST_WORTH

    def renew(
        self, Y: FloatArray, random_state: np.random.RandomState, deadline: Deadline = NEVER
    ) -> int:
        """Add the most violated inequalities and drop those without effect; how many were added."""
        z = Y * np.outer(self.scale, self.scale)
        worth = self._worth * float(np.diag(z).mean())
        most = CUTS_EACH * len(z)
        found = [_pairs(z, worth), *_triangles(z, worth, most, random_state, deadline)]
        corners = np.concatenate([c for c, _ in found])
        violation = np.concatenate([v for _, v in found])
        corners = corners[np.argsort(-violation, kind="stable")[: 2 * most]]
        corners = corners[~self._known(corners)][:most]
        if len(corners) < len(z) and self._worth > LAST_WORTH:
            self._worth *= WORTH_FACTOR
        if not len(corners):
            return 0
        kept = self.multiplier > 0.0
        self.corners = np.concatenate([self.corners[kept], corners])
        self.multiplier = np.concatenate([self.multiplier[kept], np.zeros(len(corners))])
        self._build()
        return len(corners)

    def _known(self, corners: IntArray) -> BoolArray:
        """Which of the corners are here already."""
        base = len(self.scale) + 1
        powers = np.array([base * base, base, 1])
        return np.isin((corners + 1) @ powers, (self.corners + 1) @ powers)


def _norm(A: sparse.csr_array, half: FloatArray) -> float:
    """The largest eigenvalue of A A* by the power method, and a little more."""
    x: FloatArray = np.ones(A.shape[0])
    size = 1.0
    for _ in range(15):
        x = A @ (half * (A.T @ x))
        size = float(np.linalg.norm(x))
        x /= size
    return 1.02 * size


def _pairs(z: FloatArray, worth: float) -> tuple[IntArray, FloatArray]:
    """Violated pairs."""
    over = z - np.diag(z)[:, None]
    np.fill_diagonal(over, 0.0)
    g, h = np.nonzero(over > worth)
    return np.column_stack([g, h, np.full(len(g), -1)]), over[g, h]


def _triangles(
    z: FloatArray,
    worth: float,
    most: int,
    random_state: np.random.RandomState,
    deadline: Deadline,
) -> list[tuple[IntArray, FloatArray]]:
    """Violated triangles; of large matrices only some of the groups near each g are looked at."""
    m = len(z)
    near = max(int((CUT_ENTRIES / m) ** 0.5), 3)
    keep = max(2 * most // m, 50)
    found = []
    for g in range(m):
        deadline.check()
        # Both z_gh and z_gi are positive in a violated triangle.
        ends = np.flatnonzero(z[g] > worth)
        ends = ends[ends != g]
        if len(ends) > near:
            ends = np.sort(random_state.choice(ends, near, replace=False))
        over = z[g, ends][:, None] + (z[g, ends] - z[g, g]) - z[np.ix_(ends, ends)]
        h, i = np.nonzero(np.triu(over, 1) > worth)
        values = over[h, i]
        if len(values) > keep:
            best = np.argpartition(-values, keep)[:keep]
            h, i, values = h[best], i[best], values[best]
        found.append((np.column_stack([np.full(len(h), g), ends[h], ends[i]]), values))
    return found
