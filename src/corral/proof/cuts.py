"""Inequalities that every clustering obeys and the relaxation does not.

Let ``z_gh = y_gh / sqrt(w_g w_h)``.  In a clustering it is 1 / (weight of the cluster) if g and h
are in one cluster, and 0 otherwise.  So for a group g and any other groups T

- ``sum_{t in T} z_gt <= z_gg + sum_{s < t in T} z_st`` (a *star*), and
- ``sum_{t in T} z_gt >= z_gg`` if T has one group of every cluster (a *cover*).

The star of one group is a *pair*, and that of two a *triangle*.  Larger stars and covers are those
of groups that are all apart by cannot-links or pins.  With several kinds of clusters they hold for
the matrix of each kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import namespace, to_host
from .._typing import BoolArray, FloatArray, IntArray
from ..deadline import NEVER, Deadline
from .numbers import CUT_ENTRIES, CUTS_EACH
from .spectrum import EPS, Matrices

#: Corners of inequalities as in :class:`.cuts.Cuts`, and by how much each is violated.
Found = tuple[IntArray, FloatArray]


def violated(
    z: FloatArray,
    worth: float,
    most: int,
    apart: tuple[list[IntArray], int],
    random_state: np.random.RandomState,
    deadline: Deadline,
) -> list[Found]:
    """Inequalities that the matrices z, one for each kind, violate by more than ``worth``.

    ``apart`` are sets of groups that are all apart, and the number of clusters.  About ``most`` of
    the inequalities will be used.
    """
    found = []
    for kind, one in enumerate(z):
        mine = [_pairs(one, worth), *_triangles(one, worth, most, random_state, deadline)]
        found += [(_headed(kind, 1, corners), over) for corners, over in mine]
        for clique in apart[0]:
            gap = one[:, clique].sum(axis=1) - np.diag(one)
            found.append(_of_clique(kind, 1, clique, gap, worth))
            if len(clique) == apart[1]:
                found.append(_of_clique(kind, -1, clique, -gap, worth))
    return found


def _headed(kind: int, sign: int, corners: IntArray) -> IntArray:
    """The groups of inequalities with their kind and sign in front."""
    head = np.broadcast_to([kind, sign], (len(corners), 2))
    return np.concatenate([head, corners], axis=1)


def _of_clique(kind: int, sign: int, clique: IntArray, gap: FloatArray, worth: float) -> Found:
    """Violated stars or covers of one set of groups that are all apart."""
    gap = gap.copy()
    gap[clique] = 0.0  # exactly one of them is the group itself
    g = np.flatnonzero(gap > worth)
    groups = np.column_stack([g, np.broadcast_to(clique, (len(g), len(clique)))])
    return _headed(kind, sign, groups), gap[g]


def _pairs(z: FloatArray, worth: float) -> Found:
    """Violated pairs."""
    over = z - np.diag(z)[:, None]
    np.fill_diagonal(over, 0.0)
    g, h = np.nonzero(over > worth)
    return np.column_stack([g, h, np.full(len(g), -1)]), over[g, h]


def _triangles(
    z: FloatArray, worth: float, most: int, random_state: np.random.RandomState, deadline: Deadline
) -> list[Found]:
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


#: Violation from which an inequality is added, in units of the mean of ``z_gg``: at first, and at
#: last.  It falls by the factor whenever few are found.
FIRST_WORTH, LAST_WORTH, WORTH_FACTOR = 1e-3, 1e-6, 0.1
#: Steps of the projection in each iteration.  More make it more accurate and slower.
STEPS = 3


class Cuts:
    """Inequalities ``A y <= 0`` with one multiplier each, for symmetric matrices y.

    ``corners`` holds the kind, the sign (1 for a star, -1 for a cover), the group g and the groups
    of T, filled up with -1.  ``A`` has one column for each entry of an upper triangle that an
    inequality uses; an entry off the diagonal stands for two places of the matrix.
    """

    def __init__(
        self, weight: FloatArray, matrices: Matrices, cliques: list[IntArray], k: int
    ) -> None:
        self.matrices, self.cliques, self.k = matrices, cliques, k
        root = 1.0 / np.sqrt(weight)
        self.scale: FloatArray = root / root.mean()
        width = max((len(clique) for clique in cliques), default=0)
        self.corners: IntArray = np.empty((0, 3 + max(width, 2)), np.int64)
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
        corners = other.corners.copy()
        corners[:, 2:] = np.where(corners[:, 2:] < 0, -1, home[corners[:, 2:]])
        used = np.sort(corners[:, 2:], axis=1)
        distinct = ~((used[:, 1:] == used[:, :-1]) & (used[:, 1:] >= 0)).any(axis=1)
        _, first = np.unique(_keys(corners), return_index=True)
        kept = first[distinct[first]]
        if len(kept):
            self.corners = _widened(corners[kept], self.corners.shape[1])
            self.multiplier, self._worth = factor * other.multiplier[kept], other._worth
            self._build()

    def _build(self) -> None:
        """Make A for the present corners."""
        number, place, value = _entries(self.corners, self.scale)
        m = len(self.scale)
        entries, column = np.unique(place, return_inverse=True)
        kind, rest = np.divmod(entries, m * m)
        a, b = np.divmod(rest, m)
        half = np.where(a == b, 1.0, 0.5)
        A = sparse.csr_array((value, (number, column)), shape=(len(self), len(entries)))
        self._step = 1.0 / _norm(A, half)
        # Roundings of a sum over the inequalities of one entry, and the norms of the inequalities.
        self._terms = int(np.bincount(column).max()) + 8
        self._norms: FloatArray = np.sqrt(A.multiply(A) @ half)
        put = self.matrices.put
        self._at = put(kind), put(a), put(b)
        self._half, self._off = put(half), put(np.flatnonzero(a != b))
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
        error = 4 * self._terms * EPS * factor * float(self._norms @ self.multiplier)
        return self.moved(zero, factor), error

    def moved(self, V: Any, factor: float) -> Any:
        """``V + factor * A* multiplier``."""
        if not len(self):
            return V
        pull = factor * self._half * (self._AT @ self.matrices.put(self.multiplier))
        moved, (kinds, rows, columns), off = V + 0.0, self._at, self._off
        moved[kinds, rows, columns] += pull
        moved[kinds[off], columns[off], rows[off]] += pull[off]
        return moved

    @property
    def exhausted(self) -> bool:
        """Whether even small violations were looked for."""
        return self._worth <= LAST_WORTH

    def renew(
        self, Y: FloatArray, random_state: np.random.RandomState, deadline: Deadline = NEVER
    ) -> int:
        """Add the most violated inequalities and drop those without effect; how many were added."""
        z, m = Y * np.outer(self.scale, self.scale), Y.shape[1]
        worth = self._worth * float(np.trace(z, axis1=1, axis2=2).sum()) / m
        most = CUTS_EACH * m
        found = violated(z, worth, most, (self.cliques, self.k), random_state, deadline)
        violation = np.concatenate([over for _, over in found])
        corners = np.concatenate([_widened(c, self.corners.shape[1]) for c, _ in found])
        corners = corners[np.argsort(-violation, kind="stable")[: 2 * most]]
        corners = corners[~self._known(corners)][:most]
        if len(corners) < m and self._worth > LAST_WORTH:
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
        return np.isin(_keys(corners), _keys(self.corners))


def _keys(corners: IntArray) -> IntArray:
    """A number for each inequality; that of another is the same only by a rare chance."""
    keys = np.zeros(len(corners), np.int64)
    for column in corners.T:
        keys = keys * 6_364_136_223_846_793_005 + column + 2
    return keys


def _widened(corners: IntArray, width: int) -> IntArray:
    """The corners with as many columns, of which more are filled up."""
    more = np.full((len(corners), max(width - corners.shape[1], 0)), -1)
    return np.concatenate([corners[:, :width], more], axis=1)


def _entries(corners: IntArray, scale: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows, places and values of A: the entries of ``z_gt``, ``z_gg`` and ``z_st``."""
    (kind, sign, g), T, m = corners[:, :3].T, corners[:, 3:], len(scale)
    number, found = np.arange(len(corners)), []

    def add(rows: IntArray, a: IntArray, b: IntArray, value: Any) -> None:
        place = (kind[rows] * m + np.minimum(a, b)) * m + np.maximum(a, b)
        found.append((rows, place, value * scale[a] * scale[b]))

    add(number, g, g, -sign)
    for p in range(T.shape[1]):
        rows = np.flatnonzero(T[:, p] >= 0)
        add(rows, g[rows], T[rows, p], sign[rows])
        for q in range(p):
            stars = rows[sign[rows] > 0]
            add(stars, T[stars, q], T[stars, p], -1.0)
    number, place, value = (np.concatenate(part) for part in zip(*found, strict=True))
    return number, place, value


def _norm(A: sparse.csr_array, half: FloatArray) -> float:
    """The largest eigenvalue of A A* by the power method, and a little more."""
    x: FloatArray = np.ones(A.shape[0])
    size = 1.0
    for _ in range(15):
        x = A @ (half * (A.T @ x))
        size = float(np.linalg.norm(x))
        x /= size
    return 1.02 * size
