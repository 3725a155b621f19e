"""The next question: which pairs of rows to ask about, and what the answers add to the rules."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array

from .._arrays import sound
from .._text import suggestion
from .._typing import FloatArray, IntArray, Matrix
from ..constraints import CannotLink, ConstraintSet, MustLink
from ..constraints._checks import as_pairs, check_count, positions_of, table_of
from ..constraints.collection import rules_for
from ..inputs import brought
from ..rows import METRICS
from ..settings import make_random_state
from .known import Known
from .strategies import STRATEGIES, Questions, Scene

__all__ = ["Known", "answer", "next_pairs"]


def next_pairs(
    model: Any,
    X: Any,
    *,
    constraints: Any = None,
    n: int = 10,
    strategy: str = "uncertainty",
    skip: ArrayLike = (),
    random_state: Any = 0,
) -> IntArray:
    """Choose the pairs of rows whose answer, same cluster or not, helps most.

    No pair is chosen whose answer follows from what is known: from chains of must-links, from
    cannot-links between the rows that they join, from pins, and from the number of clusters.

    Parameters
    ----------
    model : fitted ConstrainedKMeans
        Or another model with ``labels_`` of the rows of X.  Fitted under ``constraints``; a fit
        after every few answers makes the next questions better.
    X : array-like, data frame or CSR of shape (n_samples, n_features)
        The rows that the model was fitted on.
    constraints : Constraint, iterable of them, or None
        The rules so far, with the answers so far.
    n : int, default=10
        Number of pairs; fewer are returned if no more is to be learned.
    strategy : {"uncertainty", "margin", "explore", "random"}, default="uncertainty"
        "uncertainty" asks about rows that are most probably in a wrong cluster, judged by the
        model and by the answers about rows near them.  "margin" asks about rows between two
        centres.  "explore" first looks for one row of each cluster, far apart, then asks about
        rows at random.  "random" asks about random pairs.
    skip : (p, 2) integers, default=()
        Pairs of rows that nobody could answer.  They are not asked again, nor is the same about
        rows that are known to be together with theirs.
    random_state : int, RandomState or None, default=0
        Only "explore", "random" and samples of more than 5,000 rows are random.

    Returns
    -------
    (m, 2) int array
        Pairs of row numbers, m at most ``n``, the most helpful first.

    Examples
    --------
    >>> from corral import ConstrainedKMeans
    >>> from corral.active import answer, next_pairs
    >>> X = [[0.0], [1.0], [2.0], [6.0], [10.0], [11.0], [12.0]]
    >>> model = ConstrainedKMeans(2, random_state=0).fit(X)
    >>> pairs = next_pairs(model, X, n=1)
    >>> pairs.tolist()[0][0]  # the row between the clusters
    3
    >>> rules = answer(None, pairs, [True])
    >>> len(next_pairs(model.fit(X, constraints=rules), X, constraints=rules, n=1))
    1
    """
    if not hasattr(model, "labels_"):
        raise NotFittedError(f"{type(model).__name__} has no labels_; call its fit first.")
    check_count(n, "`n`")
    if strategy not in STRATEGIES:
        hint, allowed = suggestion(strategy, STRATEGIES), ", ".join(map(repr, STRATEGIES))
        raise ValueError(f"`strategy` is {strategy!r}{hint}; it must be one of {allowed}.")
    given, _ = rules_for(X, constraints, None, getattr(model, "cluster_names", None))
    scene = _scene(model, X, given, as_pairs(skip, "skip"), make_random_state(random_state))
    if scene.n_clusters == 1 or len(scene.labels) == 1:
        return np.empty((0, 2), np.int64)
    questions = islice(_new(STRATEGIES[strategy](scene), scene), int(n))
    return np.array(list(questions), np.int64).reshape(-1, 2)


def _new(questions: Questions, scene: Scene) -> Questions:
    """Without pairs between groups that are skipped or were asked just before."""
    group = scene.known.group
    asked = {frozenset(group[pair].tolist()) for pair in scene.skip}
    for row, other in questions:
        ends = frozenset((int(group[row]), int(group[other])))
        if ends not in asked:
            asked.add(ends)
            yield row, other


def _scene(
    model: Any, X: Any, rules: ConstraintSet, skip: IntArray, rng: np.random.RandomState
) -> Scene:
    """The points and the clusters, checked against each other."""
    points: Matrix = check_array(
        sound(brought(X)), accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X"
    )
    rows, labels = points.shape[0], np.asarray(brought(model.labels_), np.int64)
    if len(labels) != rows:
        raise ValueError(
            f"the model was fitted on {len(labels)} rows, but X has {rows}; give the same rows."
        )
    k = int(model.n_clusters)
    rules.check(rows, k)
    if skip.size and not 0 <= skip.min() <= skip.max() < rows:
        raise ValueError(f"`skip` names row {skip.max()}; rows must lie in [0, {rows - 1}].")
    known = Known.of(rules, rows, k)
    metric = getattr(model, "metric", None)
    if isinstance(metric, str) and metric in METRICS:
        points = METRICS[metric].embedded(points)  # where the model compares them
    squares = np.square(pairwise_distances(points, _centers(points, labels, k)))
    return Scene(points, squares, labels, known, skip, rng)


def _centers(points: Matrix, labels: IntArray, k: int) -> FloatArray:
    """The means of the clusters; an empty one has the mean of all rows."""
    means = np.empty((k, points.shape[1]))
    for cluster in range(k):
        rows = np.flatnonzero(labels == cluster)
        means[cluster] = points[rows if len(rows) else slice(None)].mean(axis=0)
    return means


def answer(
    constraints: Any,
    pairs: Any,
    same: Iterable[bool | None],
    *,
    weight: float = math.inf,
    index: Iterable[Any] | None = None,
) -> ConstraintSet:
    """Add answers to the rules: must-links for "same", cannot-links for "different".

    Parameters
    ----------
    constraints : Constraint, iterable of them, or None
        The rules so far.  They are not changed.
    pairs : (m, 2) integers
        What was asked, such as the result of :func:`next_pairs`; names of rows with ``index``.
    same : sequence of m values
        True for the same cluster, False for different clusters, None for "don't know", which adds
        nothing.
    weight : float, default=inf
        Cost of breaking an answer; ``inf`` makes the answers hard.  Soft answers imply nothing.
    index : sequence, optional
        Names of all rows, if ``pairs`` holds names.

    Returns
    -------
    ConstraintSet
        Links of the same kind that stood last become one with the new ones.

    Examples
    --------
    >>> from corral.active import answer
    >>> rules = answer(None, [(0, 5), (5, 7), (1, 2)], [True, False, None])
    >>> answer(rules, [(3, 4)], [True]).phrase()
    'must-links 0-5, 3-4; cannot-link 5-7'
    """
    rows = _rows(pairs, index)
    given = list(same)
    if len(given) != len(rows):
        raise ValueError(f"there are {len(given)} answers, but {len(rows)} pairs; give one each.")
    for number, value in enumerate(given):
        if value is not None and not isinstance(value, (bool, np.bool_)):
            allowed = "True (same), False (different) or None (don't know)"
            raise ValueError(f"answer {number} is {value!r}; it must be {allowed}.")
    rules = list(ConstraintSet(constraints))
    for kind, sought in ((MustLink, True), (CannotLink, False)):
        chosen = [number for number, value in enumerate(given) if value is not None]
        chosen = [number for number in chosen if bool(given[number]) is sought]
        if chosen:
            rules = _appended(rules, kind(rows[chosen], weight))
    return ConstraintSet(rules)


def _rows(pairs: Any, index: Iterable[Any] | None) -> IntArray:
    if index is None:
        return as_pairs(pairs, "pairs")
    names = [name for pair in pairs for name in pair]
    return positions_of(names, table_of(index), "pairs").reshape(-1, 2)


def _appended(rules: list[Any], links: MustLink | CannotLink) -> list[Any]:
    """Add links to the last constraint of their kind, if that has row numbers."""
    for place in reversed(range(len(rules))):
        if type(rules[place]) is type(links) and not rules[place].named:
            return [*rules[:place], rules[place] + links, *rules[place + 1 :]]
    return [*rules, links]
