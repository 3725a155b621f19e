"""Decisions for tangles of cannot-links, which are annealed (:mod:`corral.polish.anneal`)."""

from __future__ import annotations

import numpy as np

from ..presolve import Rules
from . import anneal_thresholds as at
from . import thresholds
from .facts import entries, patience


def anneals(rules: Rules) -> tuple[int, int]:
    """Rounds of annealing in one run, and copies of the labels: more rounds for larger tangles."""
    _, others = rules.pairs.graph.complete(2)
    labelings = others.tangle * float(np.log(rules.n_clusters))
    if labelings < at.TANGLED:
        return 0, 0
    size = entries(rules)
    copies = int(np.clip(at.COPIED_ENTRIES // size, 1, at.MOST_COPIES))
    work = at.SWEEPS_A_STEP * copies * (size + 2 * len(rules.apart))
    budget = at.ANNEAL_WORK * patience(rules.n_rows)
    affordable = np.log2(budget / (at.FIRST_STEPS * work) + 1.0)
    wanted = np.rint(at.LEAST_ROUNDS + np.log2(labelings / at.TANGLED))
    return int(min(wanted, affordable, at.MOST_ROUNDS)), copies


def competes(rules: Rules, moves: int, rounds: int) -> bool:
    """Whether ADMM's answer competes with that from the seeds, by moves or rounds of annealing.

    In a small problem that is annealed, other steps have better use for the time of its repair.
    """
    if rounds:
        return entries(rules) > thresholds.SMALL
    return not moves or entries(rules) <= thresholds.CHAINED_COMPETES
