"""Kinds of rules that a plan tells apart: cliques of cannot-links, known labels."""

from __future__ import annotations

import numpy as np

from ..presolve import Rules
from . import thresholds as at


def is_nested(rules: Rules) -> bool:
    """Whether one flow assigns under sizes and disjoint cliques, the only rules.

    Where few groups are in cliques, prices settle nearly all of a larger problem.
    """
    most = at.NESTED_ENTRIES if crowded(rules) else at.CONTESTED_ENTRIES
    return rules.nested and rules.n_groups * rules.n_clusters <= most


def told(rules: Rules) -> int:
    """Number of clusters that labelled groups name."""
    return len(np.unique(rules.labelled[:, 1]))


def crowded(rules: Rules) -> bool:
    """Whether the pairs are disjoint cliques, some of more than two groups, of most groups."""
    cliques, _ = rules.pairs.graph.complete(2)
    return rules.in_cliques and len(cliques.members) > at.CROWDED * rules.n_groups


def steered(rules: Rules) -> bool:
    """Whether rounds straight from the seeds are a good rival, and quick."""
    quick = rules.in_cliques and (rules.nested or not rules.bounded)
    return quick and (crowded(rules) or told(rules) > 1)
