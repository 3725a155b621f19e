"""Decisions for many clusters and many rows: candidates, centres, what a part of the rows sees."""

from __future__ import annotations

import numpy as np

from ..presolve import Rules
from ..settings import Settings
from . import many_thresholds as over
from . import thresholds as at
from .facts import Facts, entries, many_clusters, settled_by_sizes, sizes_loose


def candidates(rules: Rules, facts: Facts, settings: Settings) -> int:
    """Clusters that each group is first assigned among, tied groups before all others; 0 for all.

    Few tied groups among many rows hardly change the prices of the sizes.  Pins need no such help.
    """
    if not settled_by_sizes(rules, settings):
        return 0
    linked = rules.paired or np.ptp(rules.count) > 0
    large = entries(rules) > over.TIED_ENTRIES and linked and not facts.far
    few_tied = large and 0.0 < rules.tied.mean() <= over.MOST_TIED
    return over.CANDIDATES if few_tied or many_clusters(rules, facts, settings) else 0


def centers(rules: Rules, facts: Facts, settings: Settings) -> str:
    """What finds the centres, and from where.

    Where sizes tell how many clusters a region has, a tree of cuts is the start of graduation.
    """
    if not many_clusters(rules, facts, settings):
        return "ADMM"
    drawn = isinstance(settings.init, str) and settings.init == "k-means++"
    tree = drawn and not sizes_loose(rules) and not rules.numbered
    return "tree and graduation" if tree else "graduation"


def graduated(rules: Rules, facts: Facts, many: bool) -> int:
    """Groups that graduation sees: all in memory, where exchanges follow; in shards a sample."""
    m = rules.n_groups if many else 0
    enough = max(at.SAMPLE_SUMMED, over.GRADUATED_EACH * rules.n_clusters)
    return enough if facts.far and m > at.WORTH_SAMPLING * enough else m


def exact_rounds(rules: Rules, facts: Facts, many: bool) -> bool:
    """Whether flows are small enough for exact assignment in every round.

    Otherwise one exact round ends those in shards, and exchanges follow in memory.
    """
    small = rules.n_groups * over.CANDIDATES <= over.LARGE_FLOW
    return not many or (small and not facts.far)


def rehearsal(rules: Rules, facts: Facts, few_rounds: bool) -> int:
    """Groups of rows in shards that rounds see first, where all are many more."""
    if few_rounds:
        return 0
    enough = max(at.REHEARSED, at.REHEARSED_EACH * rules.n_clusters)
    return enough if facts.far and rules.n_groups > at.WORTH_REHEARSING * enough else 0
