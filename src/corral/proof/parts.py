"""Bounds for many groups: the sum of the bounds of parts that look like the whole.

In each part a clustering has at most k clusters, and their own means are at least as near as those
of the whole clusters.  So the objective of the whole is at least the sum of the least objectives of
the parts.  That holds without rules, with largest sizes, and with links, of which those inside a
part are used.  Least sizes say nothing about a part.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
from sklearn.cluster import KMeans

from .._typing import IntArray
from ..deadline import Deadline, OutOfTime
from .ascent import Ascent
from .groups import Grouped, most_together
from .numbers import PART_ITERATIONS, PART_LEAST, PART_SECONDS
from .spectrum import EPS


def part_size(grouped: Grouped, device: str | None, deadline: Deadline) -> int:
    """Groups in a part, so that all parts have time for iterations; that of the whole if it has.

    Large parts have tighter bounds and take longer.
    """
    m, most = len(grouped.weight), most_together(grouped.rules, device)
    if m <= most:
        return m
    in_time = deadline.left / (PART_SECONDS * m) if device is None else most
    return int(np.clip(in_time, min(_least(grouped), most), most))


def _least(grouped: Grouped) -> int:
    """Groups that a part should have at least."""
    return PART_LEAST * grouped.rules.n_clusters


def sum_of_parts(grouped: Grouped, size: int, device: str | None, deadline: Deadline) -> float:
    """A bound on the objective of the whole, from parts of about so many groups.

    Each part is a sample of the groups that are left.  If a part takes longer than its share of the
    time, the next ones are smaller.  Groups for which there is no time count as 0.
    """
    rest, values, least = in_regions(grouped), [], min(_least(grouped), size)
    while len(rest) and not deadline.passed:
        clock, n_parts = Deadline(), -(-len(rest) // size)
        groups, rest = np.sort(rest[::n_parts]), np.delete(rest, np.s_[::n_parts])
        with suppress(OutOfTime):
            # The scatter inside the groups is added at the end.
            own = replace(grouped.part(groups), scatter=0.0)
            search = Ascent(own.relaxation(device, deadline))
            values.append(search.run(deadline.within(deadline.left / 2), most=PART_ITERATIONS))
        # What the parts take together is proportional to their size.
        share = deadline.left / max(n_parts - 1, 1) / max(clock.elapsed, 1e-9)
        size = int(np.clip(size * min(share, 1.0), least, size))
    total = float(np.sum(values)) * (1.0 - 4 * (len(values) + 1) * EPS)
    return total + grouped.scatter - grouped.error


def in_regions(grouped: Grouped) -> IntArray:
    """The groups in an order in which every n-th is a sample of every region.

    It is that of their nearest of some centres, and of the distance to it.
    """
    seeds = KMeans(grouped.rules.n_clusters, init="random", n_init=1, max_iter=10, random_state=0)
    far = seeds.fit_transform(grouped.points, sample_weight=grouped.weight)
    order: IntArray = np.lexsort([far.min(axis=1), far.argmin(axis=1)])
    return order
