"""Decisions of a search for medoids."""

from __future__ import annotations

import numpy as np

from ..presolve import Rules
from . import medoid_thresholds as at
from .thresholds import NEAREST


def starts(n_groups: int, n_candidates: int) -> int:
    """Sets of medoids that swaps without rules start from."""
    return int(np.clip(at.START_ENTRIES / (n_groups * n_candidates), 1, at.MOST_STARTS))


def upheavals(rules: Rules) -> int:
    """Upheavals at most: more for more clusters, fewer where one takes long."""
    m, k = rules.n_groups, rules.n_clusters
    if k < 2:
        return 0
    wanted = min(at.UPHEAVALS * np.sqrt(k), at.UPHEAVALS_EACH * k**2)
    steps = m * min(k, NEAREST) * m / (k * at.UPHEAVAL_GROUPS)
    work = at.UPHEAVAL_WORK if settles_by_chains(rules) else at.LITTLE_UPHEAVAL_WORK
    affordable = work / (at.UPHEAVAL_LEAST + steps)
    return int(max(min(wanted, affordable), 1))


def settles_by_chains(rules: Rules) -> bool:
    """Whether chains look for a first answer, because exact assignment needs integer programs."""
    return bool(rules.totals) or rules.linear is not None


def by_swaps(rules: Rules) -> bool:
    """Whether swaps with exact assignment look for better clusters, and not chains.

    That is where exact assignment is quick: nearest medoids, or a flow of groups of equal count.
    """
    if rules.paired or rules.linear is not None or rules.totals or rules.soft_totals:
        return False
    sizes = rules.sizes
    if sizes is None:
        return True
    return bool(np.ptp(rules.count) == 0 and (sizes.soft is None or rules.count[0] == 1))


def reseedings(rules: Rules, n_candidates: int) -> int:
    """How often medoids are drawn anew, at most: less often where swaps take long."""
    if rules.n_clusters < 2:
        return 0
    each = rules.n_groups * n_candidates * rules.n_clusters
    return int(np.clip(at.RESEEDING_WORK / each, 1, at.MOST_RESEEDINGS))


def idle(n_clusters: int) -> int:
    """Upheavals in a row without a better answer that end them."""
    return at.UPHEAVAL_IDLE * n_clusters


def memory_of(n_rows: int, n_candidates: int) -> int:
    """Bytes that a search with so many distances needs, about."""
    return 8 * at.MATRICES * n_rows * n_candidates
