"""Contradictions between the connection of clusters in a graph and other rules.

Each ``find_...`` function looks for one kind of contradiction; see :mod:`.contradictions`.  Others
are proven by the exact solver.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import Connected, ConstraintSet
from ..constraints._checks import RELATIVE_TOLERANCE, name_of, plural, sums_by
from ..constraints.clusters import cluster_name
from .facts import Facts, Found
from .pairs import components


def find_too_many_parts(facts: Facts) -> Found:
    """Find a graph with more parts than there are clusters."""
    for graph in facts.connected:
        part = components(facts.n, graph.pairs)
        number = int(part.max()) + 1
        if number > facts.k:
            firsts = np.unique(part, return_index=True)[1]
            alone = np.flatnonzero(np.bincount(part)[part] == 1)
            islands = f"; {_without(facts, alone)}" if len(alone) else ""
            sentence = (
                f"the graph of neighbours has {number} parts that are not connected (with samples "
                f"{facts.call(firsts)}){islands}; each needs a cluster of its own, but n_clusters "
                f"is {facts.k}."
            )
            return sentence, ConstraintSet(graph), True
    return None


def _without(facts: Facts, alone: IntArray) -> str:
    """What is said of rows that have no neighbours."""
    if len(alone) == 1:
        return f"sample {facts.call(alone)} has no neighbour"
    return f"samples {facts.call(alone)} have no neighbours"


def find_joined_across(facts: Facts) -> Found:
    """Find must-links, or pins to one cluster, between rows that no path of neighbours joins."""
    for graph in facts.connected:
        part = components(facts.n, graph.pairs)
        across = np.flatnonzero(np.diff(part[facts.must.values])[:, 0])
        if len(across):
            i, j = (name_of(int(row), facts.names) for row in facts.must.values[across[0]])
            sentence = (
                f"samples {i} and {j} must be together, but no path of neighbours joins them."
            )
            return sentence, ConstraintSet([*facts.must.cut(across[:1]), graph]), True
        rows, clusters = facts.pins.values.T
        _, first, which = np.unique(clusters, return_index=True, return_inverse=True)
        apart = np.flatnonzero(part[rows] != part[rows[first[which]]])
        if len(apart):
            one, other = int(first[which[apart[0]]]), int(apart[0])
            i, j = (name_of(int(rows[pin]), facts.names) for pin in (one, other))
            sentence = (
                f"samples {i} and {j} are pinned to cluster "
                f"{cluster_name(clusters[one], facts.names)}, but no path of neighbours joins them."
            )
            return sentence, ConstraintSet([*facts.pins.cut([one, other]), graph]), True
    return None


def find_hanging(facts: Facts) -> Found:
    """Find pins to one cluster between which all paths lead through rows pinned to others."""
    rows, clusters = facts.pins.values.T
    if not facts.connected or not len(rows):
        return None
    cluster = np.full(facts.n, -1, np.int64)
    by_group = np.full(len(facts.count), -1, np.int64)
    by_group[facts.group[rows]] = clusters
    cluster = by_group[facts.group]
    for graph in facts.connected:
        for j in np.unique(clusters).tolist():
            own = np.flatnonzero(cluster == j)
            blocked = (cluster >= 0) & (cluster != j)
            free = graph.pairs[~blocked[graph.pairs].any(axis=1)]
            part = components(facts.n, free)
            if len(np.unique(part[own])) > 1:
                return _hanging(facts, graph, part, own, blocked, j)
    return None


def _hanging(
    facts: Facts, graph: Connected, part: IntArray, own: IntArray, blocked: FloatArray, j: int
) -> Found:
    """Say it of the smallest of the parts that the rows of a cluster are in."""
    parts, first, _ = np.unique(part[own], return_index=True, return_inverse=True)
    size = np.bincount(part, minlength=part.max() + 1)[parts]
    small = int(np.argmin(size))
    one, other = int(own[first[small]]), int(own[first[small - 1]])
    inside = np.flatnonzero(part == parts[small])
    ends = np.concatenate([graph.pairs, graph.pairs[:, ::-1]])
    on = np.unique(ends[np.isin(ends[:, 0], inside) & blocked[ends[:, 1]], 1])
    i, o = (name_of(row, facts.names) for row in (one, other))
    many = len(on) > 1
    what = "samples" if len(inside) > 1 else "sample"
    hang = "hang" if len(inside) > 1 else "hangs"
    sentence = (
        f"{what} {facts.call(inside)} {hang} on sample{'s' if many else ''} {facts.call(on)}, "
        f"which {'are' if many else 'is'} pinned elsewhere, but sample {i} must be connected with "
        f"sample {o} in cluster {cluster_name(j, facts.names)}."
    )
    pinned = facts.pins.values[:, 0]
    used = np.isin(facts.group[pinned], facts.group[np.concatenate([on, own])])
    groups = np.unique(facts.group[pinned[used]])
    links = facts.forest(groups) if np.any(facts.count[groups] > 1) else []
    parts_of = [*links, *facts.pins.cut(np.flatnonzero(used)), graph]
    return sentence, ConstraintSet(parts_of), False


def find_small_part(facts: Facts) -> Found:
    """Find a part of the graph that is below every minimum, or that needs too many clusters."""
    for graph in facts.connected:
        part = components(facts.n, graph.pairs)
        size = np.bincount(part).astype(np.float64)
        sizes = facts.fewest_sizes(lambda bounds, s=size: bool(s.min() < bounds[0].min()))  # type: ignore[misc]
        if sizes:
            inside = np.flatnonzero(part == np.argmin(size))
            sentence = (
                f"{_alone(facts, inside)}, but every cluster has at least "
                f"{facts.merged(sizes)[0].min()} ({facts.call_sizes(sizes)})."
            )
            return sentence, ConstraintSet([*sizes, graph]), True
        for total in facts.totals:
            if total.minimum is None or total.values.min() < 0:
                continue
            least = float(total.bounds(facts.k)[0].min())
            sums = sums_by(part, total.values, len(size))
            if sums.min() < least - RELATIVE_TOLERANCE * total.values.sum():
                inside = np.flatnonzero(part == np.argmin(sums))
                rule = total.take([0])
                sentence = (
                    f"{_alone(facts, inside)}, and their values add up to {sums.min():.10g}, but "
                    f"every cluster has at least {least:.10g} ({rule.phrase()})."
                )
                return sentence, ConstraintSet([rule, graph]), True

        def needed(most: float, of: FloatArray) -> int:
            return int(np.ceil(np.maximum(of / max(most, 1e-300) * (1 - 1e-9), 1.0)).sum())

        sizes = facts.fewest_sizes(
            lambda bounds, s=size: needed(float(bounds[1].max()), s) > facts.k  # type: ignore[misc]
        )
        if sizes:
            most = int(facts.merged(sizes)[1].max())
            sentence = (
                f"the {plural(len(size), 'part')} of the graph of neighbours need "
                f"{needed(float(most), size)} clusters of at most {most} samples "
                f"({facts.call_sizes(sizes)}), but n_clusters is {facts.k}."
            )
            return sentence, ConstraintSet([*sizes, graph]), True
    return None


def _alone(facts: Facts, inside: IntArray) -> str:
    """Rows that are connected with no others."""
    if len(inside) == 1:
        return f"sample {facts.call(inside)} has no neighbour"
    return f"samples {facts.call(inside)} are connected with no others"
