"""Contradictions between amounts: sizes, totals, shares and linear rows that no labels meet.

Each ``find_...`` function looks for one kind of contradiction; see :mod:`.contradictions`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from ..constraints import ClusterSizes, ConstraintSet, GroupShares, LinearConstraint
from ..constraints._checks import RELATIVE_TOLERANCE, plural, shortened, sums_by
from ..numbers import MAX_WORK
from .facts import Bounds, Facts, Found, Kind


def find_wrong_sizes(facts: Facts) -> Found:
    """Find sizes that contradict each other or the number of rows."""
    for size in facts.sizes:
        total = facts.n if size.sizes is None else int(size.sizes.sum())
        if total != facts.n:
            sentence = f"{size.phrase(facts.names)} add up to {total}, but X has {facts.n} samples."
            return sentence, ConstraintSet(size.take([int(total < facts.n)])), True

    def clash(bounds: Bounds) -> bool:
        lower, upper, _ = bounds
        return bool((lower > upper).any() or not lower.sum() <= facts.n <= upper.sum())

    sizes = facts.fewest_sizes(clash)
    if not sizes:
        return None
    said = facts.call_sizes(sizes)
    lower, upper, _ = facts.merged(sizes)
    empty = np.flatnonzero(lower > upper)
    if len(empty) and len(sizes) == 1:  # whose own bounds agree
        sentence = (
            f"{said} cannot be obeyed: a cluster would have to hold {lower[empty[0]]}, but X has "
            f"{facts.n} samples."
        )
    elif len(empty):
        sentence = (
            f"{said} contradict each other: the size of a cluster would have to be at "
            f"least {lower[empty[0]]} and at most {upper[empty[0]]}."
        )
    else:
        side, total = ("least", lower.sum()) if lower.sum() > facts.n else ("most", upper.sum())
        sentence = (
            f"with {said} the clusters hold at {side} {total} in all, but X has {facts.n} samples."
        )
    return sentence, ConstraintSet(sizes), True


def find_group_too_large(facts: Facts) -> Found:
    """Find a must-link group that is larger than the maximum size of every cluster."""
    count = facts.count
    sizes = facts.fewest_sizes(lambda bounds: bool(count.max() > bounds[1].max()))
    if not sizes:
        return None
    upper = facts.merged(sizes)[1]
    most = int(upper.max())
    rows = np.flatnonzero(facts.group == np.argmax(count))
    sentence = (
        f"must-links join {len(rows)} samples ({facts.call(rows)}), but no cluster may have "
        f"more than {most} ({facts.call_sizes(sizes)})."
    )
    # most + 1 rows of the group are enough for a contradiction.  Of any two parts of them the
    # larger fits into the largest cluster and the smaller, at most half, into the second.
    links = facts.must.cut(facts.around(int(rows[0]), most + 1))
    return sentence, ConstraintSet([*links, *sizes]), bool(np.sort(upper)[-2] >= (most + 1) // 2)


def find_unreachable_sizes(facts: Facts) -> Found:
    """Find a size that no set of must-link groups adds up to."""
    count = facts.count
    # Enough single rows fill every gap between sums of groups.
    if not facts.sizes or np.count_nonzero(count == 1) >= count.max() - 1:
        return None
    sums = _subset_sums(count)
    sizes = facts.fewest_sizes(lambda bounds: _unreached(sums, bounds) is not None)
    if not sizes:
        return None
    least, most = _unreached(sums, facts.merged(sizes)) or (0, 0)
    below, above = (sums & ((1 << least) - 1)).bit_length() - 1, sums >> most
    nearest = [str(below)] if below >= 0 else []
    nearest += [str(most + (above & -above).bit_length() - 1)] if above else []
    wanted = f"{least}" if least == most else f"{least} to {most}"
    joined = np.flatnonzero(count > 1)
    rows = facts.call(np.flatnonzero(np.isin(facts.group, joined)))
    sentence = (
        f"must-links join samples ({rows}) into {_groups_in_words(count)}; no set of these has "
        f"{wanted} samples in all ({facts.call_sizes(sizes)}), the nearest "
        f"{'sums are' if len(nearest) > 1 else 'sum is'} {' and '.join(nearest)}."
    )
    return sentence, ConstraintSet([*facts.forest(joined), *sizes]), False


def _subset_sums(count: IntArray) -> int:
    """Return the sums of all sets of counts: bit s is set if a set adds up to s."""
    sums = 1
    for value, times in zip(*np.unique(count, return_counts=True), strict=True):
        left, taken = int(times), 1
        while left > 0:
            sums |= sums << (int(value) * min(taken, left))
            left, taken = left - taken, 2 * taken
    return sums


def _unreached(sums: int, bounds: Bounds) -> tuple[int, int] | None:
    """Return the first bounds of a cluster between which there is no sum."""
    for least, most in np.unique(np.column_stack(bounds[:2]), axis=0).tolist():
        if not (sums >> least) & ((1 << (most - least + 1)) - 1):
            return least, most
    return None


def _groups_in_words(count: IntArray) -> str:
    """Write the sizes of groups: ``3 groups of 37 and 5 single samples``."""
    value, times = np.unique(count, return_counts=True)
    groups = [f"{plural(q, 'group')} of {c}" for c, q in zip(value, times, strict=True) if c > 1]
    text = shortened(reversed(groups), len(groups))
    return f"{text} and {plural(times[0], 'single sample')}" if value[0] == 1 else text


def find_crowded_sizes(facts: Facts) -> Found:
    """Find must-link groups of which the clusters have room for fewer than there are."""
    count = facts.count
    if count.max() == 1:
        return None
    sizes = facts.fewest_sizes(lambda bounds: crowd(count, bounds[1])[0] > 0)
    if not sizes:
        return None
    number, fit = crowd(count, facts.merged(sizes)[1])
    groups = np.argsort(-count, kind="stable")[:number]
    rows = facts.call(np.flatnonzero(np.isin(facts.group, groups)))
    sentence = (
        f"must-links join samples ({rows}) into {_groups_in_words(count[groups])}, but the "
        f"clusters have room for at most {fit} of these ({facts.call_sizes(sizes)})."
    )
    return sentence, ConstraintSet([*facts.forest(groups), *sizes]), False


def crowd(values: FloatArray | IntArray, room: FloatArray | IntArray) -> tuple[int, int]:
    """Find the largest values of which too few fit into rooms; values must not be negative.

    Returns the smallest number m such that fewer than m of the m largest values fit, and how many
    of them fit at most: a room has place for as many as the smallest of them fill.  0 and 0 if
    all fit by this count.

    Examples
    --------
    >>> import numpy as np
    >>> crowd(np.array([3, 1, 3, 1, 3]), np.array([5, 5]))
    (3, 2)
    """
    slack = RELATIVE_TOLERANCE * values.sum()
    if values.sum() + len(room) * values.max(initial=0) <= room.sum():
        return 0, 0
    rooms, times = np.unique(room, return_counts=True)
    largest = np.sort(values[values > 0])[::-1][: MAX_WORK // len(rooms)]
    sums = np.concatenate([[0], np.cumsum(largest)])
    number = np.arange(1, len(sums))
    fit = np.zeros(len(number), np.int64)
    for size, copies in zip(rooms, times, strict=True):
        left = np.searchsorted(sums, sums[1:] - size - slack)
        fit += copies * np.maximum(number - left, 0)
    over = np.flatnonzero(fit < number)
    return (int(number[over[0]]), int(fit[over[0]])) if len(over) else (0, 0)


def find_wrong_sums(facts: Facts) -> Found:
    """Find totals whose bounds add up to less, or to more, than the values of all rows."""
    for total in facts.totals:
        value = float(total.values.sum())
        slack = _allowance(facts, float(np.abs(total.values).sum()))
        for rule in _single(total):
            lower, upper = (float(bound.sum()) for bound in rule.bounds(facts.k))
            if lower - slack <= value <= upper + slack:
                continue
            bound = f"at least {lower:.10g}" if value < lower else f"at most {upper:.10g}"
            sentence = (
                f"the values of all samples add up to {value:.10g}, but the clusters must have "
                f"{bound} in all ({rule.phrase(facts.names)})."
            )
            return sentence, ConstraintSet(rule), True
    return None


def find_crowded_totals(facts: Facts) -> Found:
    """Find rows or must-link groups whose values are more than the clusters have room for."""
    for every, rule, room in facts.capacities():
        for group in (np.arange(facts.n), *([facts.group] if len(facts.must.values) else [])):
            values = sums_by(group, every, int(group.max()) + 1)
            number, fit = crowd(values, room)
            if number:
                chosen = np.argsort(-values, kind="stable")[:number]
                rows = np.flatnonzero(np.isin(group, chosen))
                links = facts.forest(chosen) if len(rows) > number else []
                sentence = _heavy_in_words(facts, rows, values[chosen], fit, float(room.max()))
                conflict = ConstraintSet([*links, rule])
                return f"{sentence} ({rule.phrase(facts.names)}).", conflict, not links
    return None


def _heavy_in_words(facts: Facts, rows: IntArray, values: FloatArray, fit: int, most: float) -> str:
    """Name the rows and the values, and say how many of the values the clusters can hold."""
    said = shortened((f"{value:.10g}" for value in values), len(values))
    if len(values) == 1:
        one = f"sample {facts.call(rows)} has the value {said}"
        group = f"must-links join samples {facts.call(rows)}, whose values add up to {said}"
        return f"{one if len(rows) == 1 else group}, but no cluster may have more than {most:.10g}"
    each = f"samples {facts.call(rows)} have the values {said}"
    groups = f"must-links join samples {facts.call(rows)} into groups with the values {said}"
    who = each if len(rows) == len(values) else groups
    return f"{who}, but the clusters have room for at most {fit} of these"


def find_wrong_shares(facts: Facts) -> Found:
    """Find a share that the rows do not have in all."""
    for rule, least, group, share, count in _shares(facts):
        excess = (count - share * facts.n) * (-1 if least else 1)
        if excess > _allowance(facts, facts.n):
            here, bound = _percent(count / facts.n, 3), _percent(share)
            here = _percent(count / facts.n) if here == bound else here
            sentence = (
                f"{count} of {facts.n} samples are {group}, {here}, so not every cluster can have "
                f"at {'least' if least else 'most'} {bound}."
            )
            return sentence, ConstraintSet(rule), True
    return None


def find_shares_of_sizes(facts: Facts) -> Found:
    """Find a share that whole numbers of rows cannot meet in clusters of the given sizes."""
    for rule, least, group, share, count in _shares(facts):
        # At most a share of a group is at least the rest of the other rows.
        part, have = (share, count) if least else (1.0 - share, facts.n - count)
        these, others = ("such", "other") if least else ("other", "such")
        for sign, of, rows, text in (
            (1, part, have, f"needs {{}} {these} samples"),
            (-1, 1.0 - part, facts.n - have, f"leaves room for {{}} {others} samples"),
        ):
            sizes, number = _whole(facts, of, rows, sign)
            if not sizes:
                continue
            sentence = (
                f"with {facts.call_sizes(sizes)}, at {'least' if least else 'most'} "
                f"{_percent(share)} {group} in every cluster {text.format(number)} in all, but X "
                f"has {rows}."
            )
            conflict = ConstraintSet([rule, *sizes])
            return sentence, conflict, sum(each.n_parts for each in conflict) == 2
    return None


def _whole(facts: Facts, part: float, rows: int, sign: int) -> tuple[list[ClusterSizes], int]:
    """Find sizes of which at least a part is more than ``rows``, or at most a part is less.

    ``sign`` is 1 or -1 for these two.  Returns the sides of the sizes, and the number of rows.
    """
    slack = RELATIVE_TOLERANCE * facts.n

    def needed(bounds: Bounds) -> int:
        return int(np.ceil(sign * part * bounds[0 if sign > 0 else 1] - slack).sum())

    sizes = facts.fewest_sizes(lambda bounds: needed(bounds) > sign * rows)
    return sizes, sign * needed(facts.merged(sizes)) if sizes else 0


def _shares(facts: Facts) -> Iterator[tuple[GroupShares, bool, str, float, int]]:
    """Yield each bound as a rule, whether it is a minimum, its group, its share, and the count."""
    for rule in facts.shares:
        for one in _single(rule) if rule.groups.size else ():
            ((group, share),) = (one.minimum or one.maximum).items()
            said = repr(group) if isinstance(group, str) else f"of group {group}"
            yield one, bool(one.minimum), said, share, int((rule.groups == group).sum())


def _single(rule: Kind) -> list[Kind]:
    """Return each part of a constraint as a constraint."""
    return [rule.take([number]) for number in range(rule.n_parts)]


def _percent(share: float, digits: int = 10) -> str:
    return f"{100 * share:.{digits}g} %"


def _allowance(facts: Facts, magnitude: float) -> float:
    """Return by how much the sums of all clusters together may miss their bounds by rounding."""
    return facts.k * RELATIVE_TOLERANCE * magnitude


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
    pinned = np.full(len(facts.count), -1)
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
