"""How long a search goes on: rounds, exchanges, trials, and what restarts share."""

from __future__ import annotations

import numpy as np

from ..presolve import Rules
from ..settings import Settings
from . import many_thresholds as over
from . import thresholds as at
from .kinds import steered


def shared(rules: Rules, restarts: int, trials: int, settings: Settings) -> tuple[int, int]:
    """Equal answers that end restarts, and recombinations where they disagree.

    Where the user leaves the number open, moves that later restarts would have tried go to
    recombinations.
    """
    if isinstance(settings.n_init, int) or restarts < at.AGREE or not settings.reorders:
        return 0, 0
    trials = 0 if rules.n_clusters < 2 else trials
    return at.AGREE, max(restarts - at.DISAGREEING, 0) * trials


def rounds_of(far: bool, many: bool) -> int:
    """Rounds of assignment and means at most; exchanges follow those of many clusters in memory."""
    if not many:
        return at.MAX_ROUNDS
    return over.FAR_ROUNDS if far else over.MANY_ROUNDS


def least_drop(rules: Rules, far: bool, many: bool) -> float:
    """Relative fall of the objective below which rounds end: it grows with their cost."""
    if steered(rules):
        return at.LEAST_DROP
    if many:
        return over.FAR_DROP if far else at.MANY_DROP
    size = rules.n_groups * rules.n_clusters
    most = at.MOST_DROP * np.clip(size / at.DROP_ENTRIES, 1.0, at.DROP_GROWTH)
    return float(min(at.LEAST_DROP * max(size / at.SMALL, 1.0) ** 3, most))


def least_shift(rules: Rules, whole: int) -> float:
    """Shift of the centres below which rounds of a large problem end: it grows with their cost.

    ``whole`` is the number of groups that those in hand are a part of.
    """
    size = max(whole, rules.n_groups) * rules.n_clusters
    if size <= at.LARGE or steered(rules):
        return 0.0
    part = min(size / at.SHIFT_ENTRIES, 1.0)
    return float(
        part * np.clip(at.LEAST_SHIFT * size / at.SHIFT_GROWS, at.LEAST_SHIFT, at.MOST_SHIFT)
    )


def exchanges_of(size: int, far: bool, many: bool) -> tuple[int, float]:
    """Rounds of exchanges of groups in memory, and the gain below which they end."""
    if many and not far:
        rounds = np.clip(over.EXCHANGED_WORK // size, over.FEW_EXCHANGES, over.MANY_EXCHANGES)
        return int(rounds), over.LEAST_MANY_EXCHANGE
    if size > at.LARGE or far:
        return 0, 0.0
    least = at.LEAST_EXCHANGE * float(np.clip(size / at.SMALL - 1.0, 0.0, 1.0))
    return min(at.MAX_ROUNDS, at.EXCHANGE_ENTRIES // max(size, 1)), least


def trials_each(rules: Rules) -> int:
    """Trials of one kind of move on one answer.

    One for every two clusters if sizes are free, two if they are given, three if they may also
    change hands.
    """
    twos = rules.n_clusters * (rules.n_clusters - 1) // 2
    times = 1 if rules.sizes is None else 3 if rules.sizes_vary else 2
    return min(times * twos, at.MOST_TRIALS)


def tangled(rules: Rules) -> bool:
    """Whether cannot-links are the only rule but pins, and an exact assignment needs programs.

    Components that are cliques need none: each is a linear assignment.
    """
    if not len(rules.apart) or not rules.greedy or rules.sizes is not None:
        return False
    _, others = rules.pairs.graph.complete(2)
    return bool(others.tangle * np.log(rules.n_clusters) > np.log(at.ENUMERATED))


def idle(rules: Rules, children: int) -> int:
    """Recombinations without success that end them."""
    return min(at.IDLE_EACH * rules.n_clusters, children)


def shakes(rules: Rules, children: int) -> int:
    """Shaken answers for each recombination.

    Cannot-links have to be the only rule but pins.  Where they do not tangle, one is enough.
    """
    if not children or not len(rules.apart) or not rules.greedy or rules.sizes is not None:
        return 0
    if not tangled(rules):
        return 1
    wanted = min(at.SHAKEN_EACH * len(np.unique(rules.apart)), at.MOST_SHAKEN)
    return int(np.ceil(min(wanted / idle(rules, children), at.MOST_SHAKES)))


def work_of_trial(rules: Rules) -> float:
    """What it costs to refine an answer, in entries looked at."""
    return _price(rules) * at.ROUNDS_A_TRIAL * rules.n_groups * rules.n_clusters


def _price(rules: Rules) -> float:
    """What an exact assignment costs, in looks at every entry of x."""
    if rules.totals or rules.soft_totals or rules.linear is not None:
        return at.PRICES["program"]
    paired = bool(len(rules.apart) or len(rules.soft.price))
    if rules.sizes is None:
        return at.PRICES["pairs" if paired else "none"]
    return at.PRICES["sizes and pairs" if paired or np.ptp(rules.count) > 0 else "sizes"]
