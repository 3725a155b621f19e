"""Pins against each other and against links."""

from __future__ import annotations

import numpy as np

from ..constraints import ConstraintSet
from ..constraints._checks import name_of
from .facts import Facts, Found, links_in_words, steps_of, verb


def pinned_twice(facts: Facts) -> Found:
    """Find pins of one row, or of rows that must-links join, to different clusters."""
    rows, clusters = facts.pins.values.T
    for key in (rows, facts.group[rows]):
        first = np.full(facts.n, -1, np.int64)
        first[key[::-1]] = np.arange(len(key))[::-1]
        clashing = np.flatnonzero(clusters != clusters[first[key]])
        if len(clashing):
            return _two_pins(facts, int(first[key][clashing[0]]))
    return None


def _two_pins(facts: Facts, one: int) -> Found:
    rows, clusters = facts.pins.values.T
    group = facts.group[rows]
    others = np.flatnonzero((group == group[one]) & (clusters != clusters[one]))
    chain = facts.chain(int(rows[one]), rows[others])
    other = int(others[rows[others] == chain[-1]][0])
    i, j = (name_of(int(rows[pin]), facts.names) for pin in (one, other))
    a, b = clusters[[one, other]]
    conflict = facts.pins.cut([one, other])
    if len(chain) == 1:
        return f"sample {i} is pinned to cluster {a} and to cluster {b}.", ConstraintSet(conflict)
    steps = steps_of(chain)
    sentence = (
        f"samples {i} and {j} are pinned to clusters {a} and {b}, but "
        f"{links_in_words(steps, facts.names)} {verb(steps)} them."
    )
    return sentence, ConstraintSet([*facts.must.cut(facts.links_of(steps)), *conflict])


def pinned_together(facts: Facts) -> Found:
    """Find a cannot-link between rows that pins, maybe through must-links, put together."""
    rows, clusters = facts.pins.values.T
    cluster = np.full(facts.n, -1, np.int64)
    cluster[facts.group[rows]] = clusters
    ends = cluster[facts.group[facts.cannot.values]]
    clashing = np.flatnonzero((ends[:, 0] == ends[:, 1]) & (ends[:, 0] >= 0))
    if not len(clashing):
        return None
    pair = facts.cannot.values[clashing[0]]
    group = facts.group[rows]
    chains = [facts.chain(int(end), rows[group == facts.group[end]]) for end in pair]
    pins = [int(np.flatnonzero(rows == chain[-1])[0]) for chain in chains]
    steps = np.concatenate([steps_of(chain) for chain in chains])
    i, j = (name_of(int(row), facts.names) for row in pair)
    sentence = f"samples {i} and {j} must not be together, but "
    if len(steps):
        p, q = (name_of(chain[-1], facts.names) for chain in chains)
        sentence += (
            f"samples {p} and {q} are pinned to cluster {clusters[pins[0]]} and "
            f"{links_in_words(steps, facts.names)} {verb(steps)} them to these."
        )
    else:
        sentence += f"both are pinned to cluster {clusters[pins[0]]}."
    conflict = [
        *facts.must.cut(facts.links_of(steps)),
        *facts.cannot.cut(clashing[:1]),
        *facts.pins.cut(pins),
    ]
    return sentence, ConstraintSet(conflict)
