"""Fewer groups and fewer digits for the relaxed solver.

Where the clusters are shows in some thousands of points as well as in millions, and in seven digits
as well as in sixteen.  The relaxed solver finds that out on a sample, with rules in proportion, and
in single precision; the exact assignment and the polish after it see every group and every digit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ._typing import FloatArray, IntArray
from .admm.crew import Crew
from .admm.history import Relaxation
from .admm.projected import solve_projected
from .geometry import Geometry
from .problem import Problem, SizeBounds, SoftPairs, TotalBounds

#: Groups that are enough to see k clusters: so many in all and for each cluster, with sums to keep
ENOUGH, ENOUGH_EACH = 20_000, 200
#: and without.
ENOUGH_FREE, ENOUGH_FREE_EACH = 2_000, 400
#: Rows of uneven weight tell less; a sample grows for that by this factor at most.
MOST_UNEVEN = 10.0
#: All pinned groups are drawn if they are no more than this part of the sample.
MOST_PINNED = 0.1
#: A sample that is not smaller than the whole by this factor is not worth its noise.
WORTH = 1.5
#: Up to so many entries of x double precision costs nothing: calls take longer than numbers.
FEW_FOR_SINGLE = 6_000
#: Squared distances to the middle that single precision knows well: on average at least, at most.
SQUARES = 1e-20, 1e30


def sample_size(problem: Problem, max_samples: int | str | None) -> int:
    """Groups that the relaxed solver shall see: a number, all (None), or "auto"."""
    m = problem.n_groups
    if problem.linear is not None or max_samples is None:
        return m
    if isinstance(max_samples, str):
        kept = problem.summed
        least, each = (ENOUGH, ENOUGH_EACH) if kept else (ENOUGH_FREE, ENOUGH_FREE_EACH)
        enough = int(max(least, each * problem.n_clusters) * _unevenness(problem))
        return enough if m > WORTH * enough else m
    return min(m, max(max_samples, problem.n_clusters))


def _unevenness(problem: Problem) -> float:
    """How many rows tell as much as one would if all had the same weight, within limits."""
    count, total = problem.count.astype(np.float64), float(problem.weight.sum())
    if total <= 0.0:
        return 1.0
    squares = float(problem.weight @ (problem.weight / count))
    return float(np.clip(count.sum() * squares / total**2, 1.0, MOST_UNEVEN))


def draw(problem: Problem, size: int, random_state: np.random.RandomState) -> IntArray:
    """Groups drawn at random, in order; those that pins tie to a cluster are among them.

    Where pins are many they come as often as others do.
    """
    # A generator of its own draws a few of many without shuffling all.
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    pinned = np.unique(problem.pins[:, 0])
    if not len(pinned) or len(pinned) > MOST_PINNED * size:
        return np.sort(rng.choice(problem.n_groups, size, replace=False, shuffle=False))
    others = np.setdiff1d(np.arange(problem.n_groups), pinned, assume_unique=True)
    drawn = rng.choice(others, size - len(pinned), replace=False, shuffle=False)
    return np.sort(np.concatenate([pinned, drawn]))


def sampled(problem: Problem, groups: IntArray) -> Problem:
    """The problem of some of the groups, given in order.

    Pairs and pins stay where all their groups do; bounds shrink with what they bound.
    """
    place = np.full(problem.n_groups, -1, np.int64)
    place[groups] = np.arange(len(groups))
    count = problem.count[groups]
    part = float(count.sum()) / float(problem.count.sum())
    soft_pairs = place[problem.soft.pairs]
    kept = (soft_pairs >= 0).all(axis=1)
    pins = np.column_stack([place[problem.pins[:, 0]], problem.pins[:, 1]])
    return replace(
        problem,
        points=problem.points[groups],
        weight=problem.weight[groups],
        count=count,
        scatter=0.0,
        group=np.arange(len(groups)),
        pins=pins[pins[:, 0] >= 0],
        apart=_inside(place[problem.apart]),
        together=_inside(place[problem.together]),
        soft=SoftPairs(soft_pairs[kept], problem.soft.price[kept], problem.soft.together[kept]),
        sizes=None if problem.sizes is None else _fewer(problem.sizes, int(count.sum()), part),
        totals=tuple(
            TotalBounds(total.values[groups], total.lower * part, total.upper * part)
            for total in problem.totals
        ),
    )


def _inside(pairs: IntArray) -> IntArray:
    return pairs[(pairs >= 0).all(axis=1)]


def _fewer(sizes: SizeBounds, n: int, part: float) -> SizeBounds:
    """Bounds on the sizes of a part of the rows, which add up if they did before."""
    lower, upper = (_shrunk(bound, part) for bound in (sizes.lower, sizes.upper))
    upper = np.maximum(lower, np.where(sizes.upper > sizes.lower, upper + 1, upper))
    exact = bool(np.all(sizes.lower == sizes.upper))
    if exact:
        upper = lower = _shrunk(sizes.lower, n / float(sizes.lower.sum()))
    return replace(sizes, lower=lower, upper=upper)


def _shrunk(bound: IntArray, part: float) -> IntArray:
    """Each bound times the part, rounded so that the sums are too."""
    sums = np.floor(np.cumsum(bound.astype(np.float64)) * part + 1e-9)
    shrunk: FloatArray = np.diff(sums, prepend=0.0)
    return shrunk.astype(np.int64)


def relax(
    problem: Problem,
    geometry: Geometry,
    start_labels: IntArray,
    crew: Callable[[Geometry], Crew],
    *,
    coarse: bool,
    **options: Any,
) -> Relaxation:
    """The projected solver, in single precision where that is allowed.

    What it tells apart is some hundredths of the costs' scale, far more than rounding.

    Parameters
    ----------
    problem, geometry, start_labels
    crew : callable
        Who works on the points of a geometry.
    coarse : bool
        Whether the answer may be a little less exact than the points are.
    **options
        Of :func:`.admm.projected.solve_projected`.
    """
    if coarse and _has_digits_to_spare(problem, geometry):
        problem = replace(problem, points=geometry.centred(np.float32))
        geometry = Geometry(problem)
    return solve_projected(problem, geometry, start_labels, crew=crew(geometry), **options)


def _has_digits_to_spare(problem: Problem, geometry: Geometry) -> bool:
    """Whether points are dense, in double precision, and enough for single to be faster.

    Squares of very large or very small ones are beyond it, and so may be values of totals and
    linear rows.
    """
    points = geometry.points
    dense = isinstance(points, np.ndarray) and points.dtype == np.float64
    many = problem.n_groups * problem.n_clusters > FEW_FOR_SINGLE
    if not dense or not many or problem.totals or problem.linear is not None:
        return False
    least, most = SQUARES
    return geometry.spread > least * geometry.total_weight and geometry.farthest < most
