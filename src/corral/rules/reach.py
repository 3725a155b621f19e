"""What linear rows can reach: the least and the greatest value that labels give each of them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet, LinearConstraint
from ..constraints._checks import shortened, sums_by
from .facts import Facts, Found


def reach(
    A: sparse.csr_array, n_clusters: int, group: IntArray, pinned: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest value of each row of ``A vec(x)``.

    Each group of samples is in one cluster: where ``pinned`` is a cluster, in that one, and where
    it is -1, in the one whose coefficients add up to the least, or to the most.

    Examples
    --------
    >>> A, free = sparse.csr_array([[1.0, 0.0, 2.0, -3.0]]), np.array([-1, -1])
    >>> reach(A, 2, np.arange(2), free)
    (array([-3.]), array([3.]))
    """
    k, m = n_clusters, len(pinned)
    row, column = A.tocoo().coords
    moved = group[column // k] * k + column % k
    summed = sparse.csr_array((A.tocoo().data, (row, moved)), shape=(A.shape[0], m * k)).tocoo()
    row, column = summed.coords
    of = pinned[column // k]
    possible = (of < 0) | (of == column % k)
    row, column, value = row[possible], column[possible], summed.data[possible]
    # Coefficients of a row in a group stand together.  Those that A does not store are 0.
    key = row.astype(np.int64) * m + column // k
    first = np.flatnonzero(np.diff(key, prepend=-1))
    if not len(first):
        return np.zeros(A.shape[0]), np.zeros(A.shape[0])
    stored, choices = np.diff(first, append=len(key)), np.where(of[possible][first] < 0, k, 1)
    ends = []
    for best in (np.minimum, np.maximum):
        chosen = best.reduceat(value, first)
        chosen = np.where(stored < choices, best(chosen, 0.0), chosen)
        ends.append(sums_by(row[first], chosen, A.shape[0]))
    return ends[0], ends[1]


def find_unreachable_rows(facts: Facts) -> Found:
    """Find a bound of a linear row that no labels reach, also because of links and pins."""
    if not facts.linear:
        return None
    alone = np.arange(facts.n), np.full(facts.n, -1)
    pinned = np.full(int(facts.group.max()) + 1, -1)
    pinned[facts.group[facts.pins.values[:, 0]]] = facts.pins.values[:, 1]
    for group, cluster in (alone, (facts.group, pinned)):
        for rule in facts.linear:
            least, most = reach(rule.A, facts.k, group, cluster)
            row, side = rule.sides().T
            missed = np.where(side == 0, rule.lower[row] - most[row], least[row] - rule.upper[row])
            part = np.flatnonzero(missed > rule.allowed()[row])
            if not len(part):
                continue
            chosen, at = rule.take(part[:1]), int(row[part[0]])
            needed = f"at least {rule.lower[at]:.10g}", f"at most {rule.upper[at]:.10g}"
            found = f"at most {most[at]:.10g}", f"at least {least[at]:.10g}"
            asked, reached = (words[side[part[0]]] for words in (needed, found))
            if group is alone[0]:
                sentence = f"linear row {at} should be {asked}, but is {reached} for any labels."
                return sentence, ConstraintSet(chosen), True
            others = _joined(facts, chosen)
            sentence = (
                f"a linear row should be {asked}, but is {reached} with "
                f"{others.phrase(facts.names)}."
            )
            return sentence, ConstraintSet([*others, chosen]), False
    return None


def _joined(facts: Facts, rule: LinearConstraint) -> ConstraintSet:
    """The must-links and pins of the groups that a linear row has coefficients for."""
    groups = np.unique(facts.group[rule.A.indices // facts.k])
    pins = np.flatnonzero(np.isin(facts.group[facts.pins.values[:, 0]], groups))
    return ConstraintSet([*facts.forest(groups), *facts.pins.cut(pins)])


def ranges_in_words(conflict: ConstraintSet, n_clusters: int) -> str:
    """Say between which values each linear row of a conflict can be; nothing without such rows."""
    said = []
    for rule in conflict.of_kind(LinearConstraint):
        n = rule.A.shape[1] // n_clusters
        ends = zip(*reach(rule.A, n_clusters, np.arange(n), np.full(n, -1)), strict=True)
        said += [f"{least:.10g} to {most:.10g}" for least, most in ends]
    if not said:
        return ""
    who = "itself the linear row reaches" if len(said) == 1 else "themselves the linear rows reach"
    return f" By {who} {shortened(said, len(said))}."
