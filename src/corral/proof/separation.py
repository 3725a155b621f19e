"""The search for inequalities that the present matrices violate."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline
from .numbers import CUT_ENTRIES

#: Corners of inequalities as in :class:`.cuts.Cuts`, and by how much each is violated.
Found = tuple[IntArray, FloatArray]


def cliques(m: int, apart: IntArray, deadline: Deadline) -> list[IntArray]:
    """Sets of three or more groups that are all apart, at most m of them.

    Each grows from a pair that is in none before, by the groups with the most pairs.
    """
    near: list[set[int]] = [set() for _ in range(m)]
    for a, b in apart.tolist():
        near[a].add(b)
        near[b].add(a)
    found: list[IntArray] = []
    covered: set[tuple[int, int]] = set()
    for a, b in np.sort(apart, axis=1).tolist():
        if (a, b) in covered or len(found) == m:
            continue
        deadline.check()
        clique, common = [a, b], near[a] & near[b]
        while common:
            best = max(common, key=lambda g: (len(near[g]), g))
            clique.append(best)
            common &= near[best]
        clique.sort()
        covered.update(combinations(clique, 2))
        if len(clique) > 2:
            found.append(np.array(clique))
    return found


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
    z: FloatArray,
    worth: float,
    most: int,
    random_state: np.random.RandomState,
    deadline: Deadline,
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
