"""A solution, and which of its clusters is number 0.

Clusters that no rule ties to a number keep the numbers of the centres or labels that the user gave
to start from.  Otherwise they are numbered so that the sizes stand in the order in which the user
wrote them, and then by the coordinates of their centres.  So the numbers do not depend on where a
run started.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances

from ._scale import NO_SCALE, times
from ._typing import FloatArray, IntArray
from .admm.history import History
from .constraints import ConstraintSet
from .constraints.previous import Previous, named_clusters
from .exceptions import BrokenAnswerError
from .rows import Table
from .rules import Rules, SizeBounds
from .search.events import Events
from .settings import Settings


@dataclass(frozen=True)
class Solution:
    """Labels of the rows, and how they were found.

    Attributes
    ----------
    labels : (n,) array
    centers : (k, d) array
    objective : float
        Inertia plus the price of the soft rules broken.
    sizes : SizeBounds or None
        In the order that the clusters obey.
    history : History
    n_iter : int
    converged : bool
        Whether the relaxed solver stopped by its own rule.
    events : Events
        What happened in the search.
    may_violate : bool
        Whether hard rules may be broken, as the user asked for.
    """

    labels: IntArray
    centers: FloatArray
    objective: float
    sizes: SizeBounds | None
    history: History
    n_iter: int
    converged: bool
    events: Events
    may_violate: bool = False


def in_user_units(solution: Solution, table: Table) -> Solution:
    """The solution with centres and objectives in the units of the user's points and weights."""
    scale = table.scale
    solution = replace(solution, centers=table.metric.given(solution.centers))
    if scale == NO_SCALE:
        return solution
    objectives = times(solution.history.objective, scale.cost)
    return replace(
        solution,
        centers=times(solution.centers, scale.points),
        objective=float(times(np.float64(solution.objective), scale.cost)),
        history=replace(solution.history, objective=objectives),
    )


def check_answer(solution: Solution, report: Any, settings: Settings) -> None:
    """Raise on a broken answer, warn of an unfinished one and of a parameter without use.

    Parameters
    ----------
    solution : Solution
    report : Report
        Its audit.
    settings : Settings

    Raises
    ------
    BrokenAnswerError
    """
    if not (report.feasible or solution.may_violate):
        raise BrokenAnswerError(
            "the answer found breaks a hard constraint, which is a fault of corral; please "
            f"report it with your data:\n{report}"
        )
    short = solution.n_iter >= settings.max_iter and not settings.repair
    if report.ended:
        advice = "; raise time_limit for a better one" if not settings.deadline.stopped else ""
        _warn(f"the fit was ended {report.ended}: the answer is the best found until then{advice}.")
    elif not solution.converged and (short or not settings.repair):
        cause = f"stopped at max_iter={settings.max_iter}" if short else "gave up"
        advice = "raise max_iter" if short else "its x may not be binary"
        _warn(f"ADMM {cause} before it converged; {advice}.")
    if empty := of_empty(report.sizes, solution.sizes, bool(report.ended)):
        _warn(empty)
    if not isinstance(settings.init, str) and settings.n_init not in ("auto", 1):
        what = "labels" if settings.init.ndim == 1 else "centres"
        message = f"`n_init` is {settings.n_init}, but `init` has the {what}: there is one start."
        warnings.warn(message, RuntimeWarning, stacklevel=3)


def of_empty(sizes: Sequence[int], bounds: Any, ended: bool) -> str:
    """Words about clusters that are empty though their bounds allow rows; "" if there are none.

    ``ended`` says that the fit ended early, so that they may be empty for want of time.
    """
    meant = 0 if bounds is None else int(np.sum(bounds.aimed[1] == 0))
    empty = sum(size == 0 for size in sizes)
    if empty <= meant:
        return ""
    cause = "the fit ended before labels with more of them were found"
    if not ended:
        cause = "no labels with more of them were found that obey the rules and cost less"
    return f"{empty} of {len(sizes)} clusters are empty: {cause}."


def _warn(message: str) -> None:
    """Warn at the user's call of ``fit``."""
    warnings.warn(message, ConvergenceWarning, stacklevel=4)


def numbered(solution: Solution, rules: Rules, start: FloatArray | None) -> Solution:
    """Number the clusters, by the centres that the user gave to start from if there are any."""
    return renumber(solution, rules) if start is None else follow(solution, start, rules)


def renumber(solution: Solution, rules: Rules) -> Solution:
    """Number the clusters of a solution under rules whose clusters may change numbers."""
    k = rules.n_clusters
    wanted: IntArray = np.zeros((2, k), np.int64)
    found = wanted
    if rules.sizes is not None and solution.sizes is not None:
        wanted, found = rules.sizes.columns[::-1], solution.sizes.columns[::-1]
    coordinates = solution.centers.T[::-1]
    clusters = np.lexsort(np.concatenate([coordinates, found]))
    number = np.empty(k, np.int64)
    number[clusters] = np.lexsort(np.concatenate([np.arange(k)[None, :], wanted]))
    return _renamed(solution, number)


def follow(solution: Solution, start: FloatArray, rules: Rules) -> Solution:
    """Number the clusters as the centres they started from, each to the nearest in all.

    Sizes in an order of the user's come first.
    """
    gaps = euclidean_distances(solution.centers, start, squared=True)
    if rules.sizes is not None and rules.sizes.ordered and solution.sizes is not None:
        wanted, found = rules.sizes.columns, solution.sizes.columns
        other = np.any(found[:, :, None] != wanted[:, None], axis=0)
        gaps = np.where(other, 1.0 + gaps.sum(), gaps)
    return _renamed(solution, np.asarray(linear_sum_assignment(gaps)[1]))


#: Clusters up to which pairs of them are exchanged; of more there are too many pairs.
MOST_EXCHANGED = 100


def in_numbers_of(
    solution: Solution, before: Previous | None, given: ConstraintSet, init: Any = None
) -> Solution:
    """Number the clusters so that most rows keep the number that they had before.

    Without labels before, but with centres to start from, each is numbered as one near it.  Where
    the number of a cluster matters to a rule, two are exchanged only if no rule is worse off.
    """
    k = len(solution.centers)
    known = None if before is None else before.labels >= 0
    worth: FloatArray = np.zeros((k, k))  # of calling a cluster by a number
    if before is not None and known is not None:
        np.add.at(worth, (solution.labels[known], before.labels[known]), 1.0)
    elif isinstance(init, np.ndarray) and init.ndim == 2 and np.isfinite(solution.centers).all():
        worth = -euclidean_distances(solution.centers, init, squared=True)
    else:
        return solution
    fixed = named_clusters(given, k)
    free = np.array(sorted(set(range(k)) - fixed), np.int64)
    number: IntArray = np.arange(k)
    if before is not None and len(free) > 1:
        old, new = linear_sum_assignment(worth[np.ix_(free, free)], maximize=True)
        number[free[old]] = free[new]
    if fixed and k <= MOST_EXCHANGED:
        number = _exchanged(number, worth, solution.labels, given)
    return _renamed(solution, number)


def _exchanged(
    number: IntArray, worth: FloatArray, labels: IntArray, given: ConstraintSet
) -> IntArray:
    """Exchange the numbers of two clusters while that is worth more and breaks no rule."""
    k = len(number)
    parts = given.hard, given.soft

    def cost(tried: IntArray) -> tuple[float, ...]:
        found = (part.violations(tried[labels], k) for part in parts)
        return tuple(sum(each.amount for each in own) for own in found)

    now, better = cost(number), True
    while better:
        better = False
        for i, j in combinations(range(k), 2):
            gain = worth[i, number[j]] + worth[j, number[i]]
            if gain <= worth[i, number[i]] + worth[j, number[j]]:
                continue
            tried = number.copy()
            tried[[i, j]] = number[[j, i]]
            if cost(tried) <= now:
                number, now, better = tried, cost(tried), True
    return number


def _renamed(solution: Solution, number: IntArray) -> Solution:
    """Call cluster j ``number[j]`` everywhere."""
    old = np.argsort(number)
    kept = {iteration: x[:, old] for iteration, x in solution.history.x.items()}
    return replace(
        solution,
        labels=number[solution.labels],
        centers=solution.centers[old],
        sizes=None if solution.sizes is None else solution.sizes.permuted(old),
        history=replace(solution.history, x=kept),
    )
