"""What decisions depend on: facts about rows, size and kind of the rules, time in proportion."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import FloatArray, IntArray
from ..presolve import Rules
from ..settings import Settings
from . import many_thresholds as over
from . import thresholds as at


@dataclass(frozen=True)
class Facts:
    """What a plan needs to know of the rows.

    ``far`` rows are outside this process's memory; ``fits_single`` says that single precision is
    enough for ADMM; ``unevenness`` is that of the weights (:func:`unevenness`).
    """

    far: bool = False
    fits_single: bool = True
    unevenness: float = 1.0


def entries(rules: Rules) -> int:
    """Entries of x."""
    return rules.n_groups * rules.n_clusters


def is_large(rules: Rules) -> bool:
    """Whether passes over x are expensive."""
    return entries(rules) > at.LARGE


def prices_first(rules: Rules) -> bool:
    """Whether prices tell which groups need a program, instead of one program for all."""
    return entries(rules) > at.CONTESTED_ENTRIES and rules.linear is None


def many_clusters(rules: Rules, facts: Facts, settings: Settings) -> bool:
    """Whether clusters of bounded sizes are too many for passes over all entries of x."""
    least = over.MANY_FAR if facts.far else over.MANY_CLUSTERS
    many = rules.n_clusters >= least and entries(rules) > over.MANY_ENTRIES
    return many and settled_by_sizes(rules, settings)


def settled_by_sizes(rules: Rules, settings: Settings) -> bool:
    """Whether sizes are the only sums that are bounded, with exact steps to follow."""
    sized = rules.sizes is not None and not rules.totals and rules.linear is None
    return sized and not is_soft(rules) and settings.coarse


def is_soft(rules: Rules) -> bool:
    """Whether pins, sizes or totals are soft, which only assignment in memory takes."""
    return rules.priced_sums or len(rules.soft_pins) > 0


def sizes_loose(rules: Rules) -> bool:
    """Whether bounds on the sizes leave room for two clusters in one dense region."""
    if rules.sizes is None:
        return False
    n = rules.n_rows
    lower, upper = rules.sizes.aimed
    room = np.minimum(upper, n) - lower
    return bool(np.max(room) > at.LOOSE * n / rules.n_clusters)


def unevenness(weight: FloatArray, count: IntArray) -> float:
    """Rows that tell as much as one would if all had the same weight, at most ``MOST_UNEVEN``."""
    total = float(weight.sum())
    if total <= 0.0:
        return 1.0
    squares = float(weight @ (weight / count.astype(np.float64)))
    return float(np.clip(count.sum() * squares / total**2, 1.0, at.MOST_UNEVEN))


def with_limit(settings: Settings, n_rows: int) -> Settings:
    """The settings with a default limit, if the user gave none and the search is not exact."""
    if settings.limited or settings.exact:
        return settings
    return replace(settings, deadline=settings.deadline.limited(default_limit(n_rows)))


def default_limit(n_rows: int) -> float:
    """Seconds that a fit of so many rows may take if the user gave no limit."""
    return patience(n_rows) * at.FIT_SECONDS


def program_seconds(rules: Rules, settings: Settings) -> float:
    """Seconds for integer programs in all; more in proportion to a longer limit of the user's."""
    asked = settings.deadline.limit / at.FIT_SECONDS if settings.limited else 0.0
    return at.PROGRAM_SECONDS * max(patience(rules.n_rows), asked)


def patience(n_rows: int) -> float:
    """Factor by which a fit of so many rows may take longer than a small one."""
    return max(1.0, n_rows / at.TIMED_ROWS) ** 2


def pilot_groups(rules: Rules) -> int:
    """Groups of a pilot sample."""
    k = rules.n_clusters
    return min(rules.n_groups, max(at.SMALL // k, at.PILOT_EACH * k))
