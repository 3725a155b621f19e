"""The search of :mod:`corral.search` for clusters of a shape, with the task of an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._arrays import one_blas_thread
from .._typing import IntArray
from ..estimator import ConstrainedKMeans
from ..rules import Rules
from ..search.budget import Budget
from ..search.descent import Answer, Descender
from ..search.engine import Maker, search
from ..search.numbers import IDLE
from ..search.rescue import any_answer
from ..search.shape import Shape
from ..search.starts import group_labels
from ..search.vary import Variation
from .base import Task


def searched(
    task: Task,
    rules: Rules,
    shape: Shape,
    makers: Iterable[tuple[str, Maker]],
    *,
    children: bool = True,
    quiet: bool = False,
    factor: float = 1.0,
    patience: int = IDLE,
) -> Answer:
    """The best answer of a search; where no maker's obeys the rules, an exact solver finds one.

    Without ``children`` the search ends with the answers of the makers.  If it is ``quiet``, its
    events are not noted.  Its budget is that of k-means times the ``factor``, and ``patience``
    children without success end it.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the hard rules.
    OutOfTime
        The deadline came before any answer.
    """
    events, deadline = task.events, task.deadline
    budget = Budget.of(shape.shape, rules.n_clusters, factor * task.effort, deadline)

    def tell(name: str, answer: Answer | None) -> None:
        if not quiet:
            events.found(name, None if answer is None else answer.objective)

    with one_blas_thread():
        descender = Descender(rules, shape, budget, task.random_state)
        variation = Variation(rules, shape, task.random_state)
        found = search(
            descender,
            variation,
            makers,
            tell,
            lambda: any_answer(descender, deadline),
            lambda _: not children,
            patience=patience,
        )
        best = found.top
    if found.tried and not quiet:
        text = f"{found.tried} tried, {found.kept} of them the best when found"
        events.note("children", text)
        events.found("search", best.objective)
        over = "the budget" if budget.over else "children without success"
        events.note("search stopped by", "the deadline" if deadline.passed else over)
    return best


def kmeans_labels(task: Task, points: Any, share: float, **options: Any) -> IntArray:
    """Labels of the groups by k-means under the rules, in a part of the time left."""
    seed = int(task.random_state.randint(np.iinfo(np.int32).max))
    options |= {"effort": task.effort, "time_limit": share * task.deadline.check()}
    model = ConstrainedKMeans(task.n_clusters, random_state=seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the answer is only a start
        model.fit(points, constraints=task.given, sample_weight=task.weight)
    return group_labels(task.rules, model.labels_.astype(np.int64))
