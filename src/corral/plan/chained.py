"""Decisions for problems that shifts and chains of groups solve (:mod:`corral.polish.chains`)."""

from __future__ import annotations

import numpy as np

from ..presolve import Rules
from . import thresholds as at


def is_chained(rules: Rules, far: bool) -> bool:
    """Whether shifts and chains take the place of exact assignment; ``far`` rows are elsewhere.

    They do where totals or shares make exact assignment an integer program, and where clusters have
    so few groups that prices leave much of it open.  Linear rows with many entries make a look at
    all changes slow.
    """
    m, k = rules.n_groups, rules.n_clusters
    few = m <= at.CHAINED_EACH * k and m * k <= at.CHAINED
    sparse = rules.linear is None or rules.linear.A.nnz <= m
    return few and k > 1 and not far and bool(rules.totals or rules.soft_totals) and sparse


def upheavals(rules: Rules, far: bool, restarts: int) -> int:
    """Upheavals in one run: more for more clusters, fewer where one takes long or runs are many."""
    if not is_chained(rules, far):
        return 0
    m, k = rules.n_groups, rules.n_clusters
    wanted = min(at.UPHEAVALS * np.sqrt(k), at.UPHEAVALS_EACH * k**2)
    affordable = at.UPHEAVAL_WORK / (at.UPHEAVAL_LEAST + m * min(k, at.NEAREST))
    return int(max(min(wanted, affordable) / restarts, 1))


def growth(rules: Rules) -> float:
    """Growth of ADMM's penalty with which all its iterations take about the same time."""
    m, k = rules.n_groups, rules.n_clusters
    wanted = float(np.exp(np.log(at.CHAINED_FALL * k) * m * k / at.CHAINED_WORK))
    return min(max(1.0 + at.FAST_GROWTH, wanted), at.FASTEST_GROWTH)
