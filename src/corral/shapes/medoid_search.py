"""The search for medoids under rules, and what it starts from.

Without rules, swaps of medoids and candidates (:mod:`.fasterpam`) are the whole method.  Otherwise
the search of :mod:`corral.search.engine` begins with the clusters of k-means under the same rules,
where rows are points, with medoids after free swaps, and with medoids drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import OutOfTime
from ..exceptions import SolverTimeoutError
from ..rules import Rules
from ..search.descent import Answer
from ..search.engine import Maker
from ..search.starts import TimedDraws, seed_order
from .base import Task
from .fasterpam import draw_medoids, swap_medoids
from .medoid_shape import Medoids, MedoidShape
from .searched import kmeans_labels, searched

#: Entries of the costs in all starts of swaps without rules, and the most starts.  More find better
#: medoids; one start of 1,800 rows takes about 0.1 s.
START_ENTRIES, MOST_STARTS = 3e7, 10
#: Part of the time left that k-means may take for the first clusters.  It only matters where the
#: time limit ends a fit; a larger part leaves less for the medoids.
KMEANS_SHARE = 0.4
#: Seconds below which k-means is left out.
KMEANS_LEAST = 0.3
#: Work of a search for medoids in that of k-means with as many groups and clusters.  More find
#: better medoids and take longer: instances of the literature with 25 to 100 clusters end 0.3 to
#: 1 % above the best values known with 1, and 0 to 0.4 % with 8, in three times the time (1.7 s).
WORK_FACTOR = 8.0
#: Children without success that end a search for medoids, at least and for each cluster.
PATIENCE, PATIENCE_EACH = 400, 10
#: Time limit in seconds up to which the labels of random medoids come first: moves repair them
#: sooner than prices or k-means give an answer.
SHORT_LIMIT = 5.0
#: Metrics whose clusters k-means finds, and the metric that it takes for them.
LIKE_MEANS = {
    **dict.fromkeys(("euclidean", "l2", "sqeuclidean"), "euclidean"),
    **dict.fromkeys(("manhattan", "l1", "cityblock", "chebyshev", "minkowski"), "euclidean"),
    "haversine": "haversine",
}


def best_medoids(
    task: Task, shape: MedoidShape, metric: Any, init: IntArray | None, n_init: int | None
) -> Answer:
    """The best answer under the rules.

    ``init`` are medoids to start from; without it they are drawn, ``n_init`` times if that is
    given.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the hard rules.
    OutOfTime
        The deadline came before any answer.
    """
    rules = task.rules
    if rules.free and np.all(rules.count == 1):
        return _free(task, shape, init, n_init)
    makers = _makers(task, shape, metric, init, n_init)
    patience = max(PATIENCE, PATIENCE_EACH * rules.n_clusters)
    return searched(task, rules, shape, makers, factor=WORK_FACTOR, patience=patience)


def _free(task: Task, shape: MedoidShape, init: IntArray | None, n_init: int | None) -> Answer:
    """The best of the local optima of swaps, where nothing but costs decides where a row goes."""
    m, c = shape.cost.shape
    starts = n_init or int(np.clip(START_ENTRIES / (m * c), 1, MOST_STARTS))
    best: Answer | None = None
    for _ in range(1 if init is not None else starts):
        if best is not None and task.deadline.passed:
            break
        try:
            drawn = init if init is not None else _drawn(task, shape)
        except OutOfTime:
            if best is not None:
                break
            drawn = _rows(task, shape)
        at = swap_medoids(shape.cost, drawn, task.deadline)
        labels = shape.nearest(Medoids(at))
        clusters = shape.clusters(labels, Medoids(at))
        objective = shape.objective(labels, clusters)
        answer = Answer(labels, clusters, objective, task.rules, None)
        task.events.found("swaps of medoids", objective)
        best = answer if answer.beats(best) else best
    if best is None:
        raise OutOfTime
    return best


def _makers(
    task: Task, shape: MedoidShape, metric: Any, init: IntArray | None, n_init: int | None
) -> Iterator[tuple[str, Maker]]:
    """Names and makers of labels or medoids."""
    rules = task.rules
    if init is not None:
        yield "medoids that were given", lambda: Medoids(init)
        return
    if task.deadline.limit <= SHORT_LIMIT:
        # Labels need no prices, which take long where clusters are many.
        yield "rows drawn", lambda: shape.nearest(_matched(rules, shape, _rows(task, shape)))
        yield "swaps", lambda: shape.nearest(_matched(rules, shape, _swapped(task, shape)))
    like = LIKE_MEANS.get(metric) if isinstance(metric, str) else None
    short = KMEANS_SHARE * task.deadline.left < KMEANS_LEAST
    if like is not None and task.weight.any() and not short:
        # k-means takes the time that it needs here, so that a failure is no maker at all.
        with suppress(SolverTimeoutError, OutOfTime):
            labels = kmeans_labels(task, task.points, KMEANS_SHARE, metric=like)
            yield "k-means", lambda: labels
    yield "swaps without rules", lambda: _matched(rules, shape, _swapped(task, shape))
    for _ in range(1, n_init or 1):
        yield "k-medoids++", lambda: _matched(rules, shape, _drawn(task, shape))


def _rows(task: Task, shape: MedoidShape) -> IntArray:
    """Random candidates; if they are rows, those of different groups, as far as possible."""
    k, (m, c) = task.n_clusters, shape.cost.shape
    if shape.own is None or m < k:
        return task.random_state.choice(c, k, replace=False)
    return shape.own[task.random_state.choice(m, k, replace=False)]


def _drawn(task: Task, shape: MedoidShape) -> IntArray:
    """Medoids by k-medoids++."""
    late = task.deadline if task.deadline.limit <= SHORT_LIMIT else task.deadline.first
    draws = TimedDraws(task.random_state, late)
    return draw_medoids(shape.cost, task.n_clusters, draws, own=shape.own)


def _swapped(task: Task, shape: MedoidShape) -> IntArray:
    """Medoids drawn, after swaps without rules."""
    return swap_medoids(shape.cost, _drawn(task, shape), task.deadline)


def _matched(rules: Rules, shape: MedoidShape, medoids: IntArray) -> Medoids:
    """The medoids in the order that suits the pins and the ordered rules."""
    order = seed_order(
        rules,
        lambda groups: shape.some_costs(groups, Medoids(medoids)),
        lambda: shape.table(Medoids(medoids)).argmin(axis=1),
    )
    return Medoids(medoids[order])


def numbered(answer: Answer, given: Rules, weight: FloatArray) -> Answer:
    """The answer with other numbers of the clusters, which do not depend on the start.

    Sizes stand in the order in which the user wrote them.  Of clusters with equal bounds the
    heaviest comes first.  Numbers stay as they are where rules name clusters.
    """
    if given.numbered:
        return answer
    k, rows = given.n_clusters, given.to_rows(answer.labels)
    wanted = found = np.zeros((2, k), np.int64)
    if given.sizes is not None and answer.rules.sizes is not None:
        wanted = np.stack([given.sizes.upper, given.sizes.lower])
        found = np.stack([answer.rules.sizes.upper, answer.rules.sizes.lower])
    mass = np.bincount(rows, weight, k)
    number = np.empty(k, np.int64)
    number[np.lexsort([-mass, *found])] = np.lexsort([np.arange(k), *wanted])
    clusters = Medoids(answer.clusters.at[np.argsort(number)])
    return Answer(number[answer.labels], clusters, answer.objective, given, answer.prices)
