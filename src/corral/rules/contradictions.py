"""Contradictions between constraints that can be found without a solver.

Each ``find_...`` function looks for one kind of contradiction.  It returns a sentence that names
the user's rows, the few constraints that contradict each other, and whether it is certain that they
are irreducible.  The search for a smaller conflict, which needs a solver, is in
:mod:`corral.infeasible`.  Contradictions of sizes, totals, shares and linear rows are in
:mod:`.amounts`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import IntArray
from ..constraints import ConstraintSet
from ..constraints._checks import RELATIVE_TOLERANCE, name_of, sums_by
from ..constraints.clusters import cluster_name
from ..deadline import Deadline
from ..exceptions import InfeasibleConstraintsError
from ..numbers import MAX_WORK
from . import amounts, connection
from .amounts import find_unreachable_rows
from .facts import Facts, Found, links_in_words, steps_of
from .pairs import find_clique, pair_keys, unique_pairs


def raise_contradictions(facts: Facts, deadline: Deadline) -> None:
    """Raise the first contradiction found; OutOfTime after the deadline."""
    # With one cluster every cannot-link is a contradiction; no must-link is needed to explain it.
    first = [find_too_many_apart] if facts.k == 1 else []
    for find in (*first, *FINDERS):
        deadline.check()
        found = find(facts)
        if found is not None:
            raise InfeasibleConstraintsError(*found)


def find_apart_in_group(facts: Facts) -> Found:
    """Find a cannot-link between two rows that must-links join."""
    if not np.any(facts.apart[:, 0] == facts.apart[:, 1]):
        return None
    ends = facts.group[facts.cannot.values]
    clashing = np.flatnonzero(ends[:, 0] == ends[:, 1])[: max(MAX_WORK // facts.n, 1)]
    chains = [facts.chain(int(i), np.array([j])) for i, j in facts.cannot.values[clashing]]
    best = min(range(len(chains)), key=lambda number: len(chains[number]))
    steps = steps_of(chains[best])
    i, j = (name_of(row, facts.names) for row in (chains[best][0], chains[best][-1]))
    sentence = (
        f"samples {i} and {j} must not be together, but {links_in_words(steps, facts.names)} them."
    )
    links = facts.must.cut(facts.links_of(steps))
    return sentence, ConstraintSet([links, facts.cannot.cut([clashing[best]])]), True


def find_two_pins(facts: Facts) -> Found:
    """Find pins of one row, or of rows that must-links join, to different clusters."""
    rows, clusters = facts.pins.values.T
    group = facts.group[rows]
    for key in (rows, group):
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        clashing = np.flatnonzero(clusters != clusters[first[which]])
        if len(clashing):
            break
    else:
        return None
    one = int(first[which][clashing[0]])
    others = np.flatnonzero((group == group[one]) & (clusters != clusters[one]))
    chain = facts.chain(int(rows[one]), rows[others])
    other = int(others[rows[others] == chain[-1]][0])
    i, j = (name_of(int(rows[pin]), facts.names) for pin in (one, other))
    a, b = (cluster_name(j, facts.names) for j in clusters[[one, other]])
    conflict = facts.pins.cut([one, other])
    if len(chain) == 1:
        sentence = f"sample {i} is pinned to cluster {a} and to cluster {b}."
        return sentence, ConstraintSet(conflict), True
    steps = steps_of(chain)
    joined = f"{links_in_words(steps, facts.names)} them"
    sentence = f"samples {i} and {j} are pinned to clusters {a} and {b}, but {joined}."
    return sentence, ConstraintSet([*facts.must.cut(facts.links_of(steps)), *conflict]), True


def find_pinned_together(facts: Facts) -> Found:
    """Find a cannot-link between rows that pins put together, directly or through must-links."""
    rows, clusters = facts.pins.values.T
    if not len(rows):
        return None
    group = facts.group[rows]
    cluster = np.full(facts.n, -1, np.int64)
    cluster[group] = clusters
    ends = cluster[facts.group[facts.cannot.values]]
    clashing = np.flatnonzero((ends[:, 0] == ends[:, 1]) & (ends[:, 0] >= 0))
    if not len(clashing):
        return None
    pair = facts.cannot.values[clashing[0]]
    chains = [facts.chain(int(end), rows[group == facts.group[end]]) for end in pair]
    pins = [int(np.flatnonzero(rows == chain[-1])[0]) for chain in chains]
    steps = np.concatenate([steps_of(chain) for chain in chains])
    i, j = (name_of(int(row), facts.names) for row in pair)
    p, q = (name_of(chain[-1], facts.names) for chain in chains)
    who = f"samples {p} and {q}" if len(steps) else "both"
    joined = f" and {links_in_words(steps, facts.names)} them to these" if len(steps) else ""
    sentence = (
        f"samples {i} and {j} must not be together, but {who} are pinned to cluster "
        f"{cluster_name(clusters[pins[0]], facts.names)}{joined}."
    )
    links = facts.must.cut(facts.links_of(steps))
    parts = [links, facts.cannot.cut(clashing[:1]), facts.pins.cut(pins)]
    return sentence, ConstraintSet(parts), True


def find_pinned_too_many(facts: Facts) -> Found:
    """Find a cluster with more rows than its maximum, counting pinned rows and their groups."""
    if not facts.sizes or not len(facts.pins.values):
        return None
    rows, clusters = facts.pins.values.T
    groups, first = np.unique(facts.group[rows], return_index=True)
    pinned = np.bincount(clusters[first], weights=facts.count[groups], minlength=facts.k)
    over = np.flatnonzero(pinned > facts.most(facts.merged(facts.sizes)))
    if not len(over):
        return None
    cluster = int(over[0])
    sizes = facts.fewest_sizes(lambda bounds: bool(pinned[cluster] > facts.most(bounds)[cluster]))
    bounds = facts.merged(sizes)
    most = int(facts.most(bounds)[cluster])
    pins = first[clusters[first] == cluster]
    inside = np.flatnonzero(np.isin(facts.group, facts.group[rows[pins]]))
    linked = " and must-links" if len(inside) > len(pins) else ""
    sentence = (
        f"pins{linked} put {len(inside)} samples ({facts.call(inside)}) into cluster "
        f"{cluster_name(cluster, facts.names)}, "
        f"which may have at most {most} ({facts.call_sizes(sizes)})."
    )
    conflict = ConstraintSet([*_enough_pins(facts, pins, most + 1), *sizes])
    # A group, or a part of it, that is free to leave the cluster fits into another one.
    largest = facts.count[facts.group[rows[pins]]].max()
    return sentence, conflict, bool(np.sort(bounds[1])[-2] >= largest)


def find_pinned_total(facts: Facts) -> Found:
    """Find a cluster whose pinned rows and their groups have values above its maximum total."""
    if not len(facts.pins.values):
        return None
    rows, clusters = facts.pins.values.T
    groups, first = np.unique(facts.group[rows], return_index=True)
    for every, rule, most in facts.capacities():
        values = sums_by(facts.group, every, len(facts.count))[groups]
        pinned = sums_by(clusters[first], values, facts.k)
        over = np.flatnonzero(pinned > most + RELATIVE_TOLERANCE * every.sum())
        if not len(over):
            continue
        cluster = int(over[0])
        inside = np.flatnonzero(clusters[first] == cluster)
        inside = inside[np.argsort(-values[inside], kind="stable")]
        enough = np.cumsum(values[inside]) <= most[cluster]
        inside = inside[: np.count_nonzero(enough) + 1]
        taken = np.flatnonzero(np.isin(facts.group, groups[inside]))
        linked = " and must-links" if len(taken) > len(inside) else ""
        sentence = (
            f"pins{linked} put samples ({facts.call(taken)}) into cluster "
            f"{cluster_name(cluster, facts.names)}, whose values "
            f"add up to {values[inside].sum():.10g}, but it may have at most "
            f"{most[cluster]:.10g} ({rule.phrase(facts.names)})."
        )
        links = facts.forest(groups[inside]) if linked else []
        return sentence, ConstraintSet([*links, *facts.pins.cut(first[inside]), rule]), False
    return None


def _enough_pins(facts: Facts, pins: IntArray, needed: int) -> Iterator[ConstraintSet]:
    """Yield pins and must-links that put ``needed`` rows into a cluster, largest groups first."""
    rows = facts.pins.values[pins, 0]
    count = facts.count[facts.group[rows]]
    for number in np.argsort(-count, kind="stable"):
        if needed <= 0:
            return
        taken = min(int(count[number]), needed)
        yield ConstraintSet(facts.must.cut(facts.around(int(rows[number]), taken)))
        yield ConstraintSet(facts.pins.cut(pins[[number]]))
        needed -= taken


def find_too_many_apart(facts: Facts) -> Found:
    """Find more groups with cannot-links between all of them than there are clusters."""
    size = facts.k + 1
    if len(facts.cannot.values) < size * (size - 1) // 2:
        return None
    # With one cluster a single cannot-link is enough, so must-links are ignored.
    group = facts.group if facts.k > 1 else np.arange(facts.n)
    m = int(group.max()) + 1
    apart = facts.apart if facts.k > 1 else unique_pairs(facts.cannot.values, m)
    clique = find_clique(m, apart[apart[:, 0] < apart[:, 1]], size)
    if clique is None:
        return None
    pairs = group[facts.cannot.values]
    # Keep one cannot-link, the user's first, for each pair of groups.
    across = pairs[:, 0] != pairs[:, 1]
    candidates = np.flatnonzero(np.isin(pairs, clique).all(axis=1) & across)
    chosen = candidates[np.unique(pair_keys(pairs[candidates], m), return_index=True)[1]]
    ends = np.unique(facts.cannot.values[chosen])
    terminals = [ends[group[ends] == g] for g in np.sort(clique)]
    joining = np.concatenate([facts.tree(rows) for rows in terminals])
    conflict = ConstraintSet([*facts.must.cut(joining), *facts.cannot.cut(chosen)])
    firsts = facts.call([int(rows[0]) for rows in terminals], limit=50)
    why = f" ({conflict.phrase(facts.names)})" if len(joining) else ""
    sentence = (
        f"samples {firsts} must all be apart from each other{why}, which needs {size} clusters, "
        f"but n_clusters is {facts.k}."
    )
    return sentence, conflict, True


#: In the order of the checks: the first contradiction found is raised.
FINDERS = (
    amounts.find_wrong_sizes,
    amounts.find_wrong_sums,
    amounts.find_wrong_shares,
    find_apart_in_group,
    find_two_pins,
    find_pinned_together,
    connection.find_too_many_parts,
    connection.find_joined_across,
    connection.find_hanging,
    amounts.find_group_too_large,
    find_pinned_too_many,
    find_pinned_total,
    find_too_many_apart,
    connection.find_small_part,
    amounts.find_crowded_totals,
    amounts.find_shares_of_sizes,
    amounts.find_unreachable_sizes,
    amounts.find_crowded_sizes,
    find_unreachable_rows,
)
