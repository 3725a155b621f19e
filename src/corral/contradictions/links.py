"""Cannot-links against must-links, and against the number of clusters."""

from __future__ import annotations

import numpy as np

from .._graphs import find_clique
from ..constraints import ConstraintSet
from ..constraints._checks import name_of
from .facts import Facts, Found, links_in_words, pair_keys, steps_of, verb

MAX_CHAINS = 16
"""How many clashing cannot-links are compared for the shortest chain."""


def apart_in_group(facts: Facts) -> Found:
    """Find a cannot-link between rows that must-links join."""
    ends = facts.group[facts.cannot.values]
    clashing = np.flatnonzero(ends[:, 0] == ends[:, 1])[:MAX_CHAINS]
    if not len(clashing):
        return None
    chains = [facts.chain(int(i), np.array([j])) for i, j in facts.cannot.values[clashing]]
    best = min(range(len(chains)), key=lambda number: len(chains[number]))
    steps = steps_of(chains[best])
    i, j = (name_of(row, facts.names) for row in (chains[best][0], chains[best][-1]))
    sentence = (
        f"samples {i} and {j} must not be together, but "
        f"{links_in_words(steps, facts.names)} {verb(steps)} them."
    )
    conflict = [*facts.must.cut(facts.links_of(steps)), *facts.cannot.cut([clashing[best]])]
    return sentence, ConstraintSet(conflict)


def too_many_apart(facts: Facts) -> Found:
    """Find more groups that must all be apart than there are clusters."""
    size = facts.k + 1
    if len(facts.cannot.values) < size * (size - 1) // 2:
        return None
    # With one cluster a cannot-link is enough, whatever must-links say.
    group = facts.group if facts.k > 1 else np.arange(facts.n)
    m = int(group.max()) + 1
    pairs = group[facts.cannot.values]
    across = pairs[:, 0] != pairs[:, 1]
    clique = find_clique(m, pairs[across], size)
    if clique is None:
        return None
    inside = np.isin(pairs, clique).all(axis=1) & across
    # one cannot-link for each pair of groups, the user's first
    candidates = np.flatnonzero(inside)
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
    return sentence, conflict
