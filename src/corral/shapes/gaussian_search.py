"""Gaussian clusters from several starts, and the choice of their covariance.

Starts are the answers of k-means under the same rules, of the points as they are and whitened.
Others come from simpler covariances, and from an answer without bounds on sums: sizes and totals
hold a descent where it is, and links alone often lead to the right shape.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.exceptions import ConvergenceWarning

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints import CannotLink, ConstraintSet, MustLink
from ..deadline import OutOfTime
from ..estimator import ConstrainedKMeans
from ..exceptions import SolverTimeoutError
from ..plan.shape_thresholds import (
    CHOICE_SHARE,
    HELD_BACK_EACH,
    HELD_BACK_PARTS,
    HELD_BACK_RESTARTS,
    START_SHARE,
    TARGET_ROUNDS,
)
from ..presolve import Rules, presolve
from ..search.starts import group_labels
from .base import Task
from .gaussian import COVARIANCES, GaussianShape, parameters_of, target_of
from .shape import Fitted, descend


def fit_gaussians(task: Task, kind: str, starts: Sequence[IntArray]) -> Fitted:
    """The best of all starts, which are labels of the groups that obey the rules."""
    search = _Search(task, kind, starts[0])
    found = [search.from_labels(start) for start in starts]
    with suppress(OutOfTime):
        for start in starts:
            if task.rules.bounded:
                free = search.from_labels(start, task.rules.pairs_only())
                found.append(search.from_labels(free.labels))
            for simpler in COVARIANCES[: COVARIANCES.index(kind)]:
                other = _Search(task, simpler, start).from_labels(start)
                found.append(search.from_labels(other.labels))
    best = min(found, key=lambda each: each.objective)
    for _ in range(TARGET_ROUNDS - 1):
        known, best = best, _Search(task, kind, best.labels).from_labels(best.labels)
        if np.array_equal(known.labels, best.labels):
            break
    return best


def kmeans_starts(task: Task, n_init: int | str = "auto") -> list[IntArray]:
    """Labels of the groups by k-means under the rules, of the points as they are and whitened.

    Whitened points have the same variance in all directions, so these labels do not depend on the
    scale of the features.  ``n_init`` is the number of restarts.
    """
    starts = [_kmeans(task, task.points, n_init)]
    one = np.zeros(len(task.points), np.int64)
    factor = np.linalg.cholesky(target_of(task.points, task.weight, one, 1))
    with suppress(OutOfTime, SolverTimeoutError):
        white = solve_triangular(factor, task.points.T, lower=True).T
        starts.append(_kmeans(task, white, n_init))
    return starts


def _kmeans(task: Task, points: FloatArray, n_init: int | str) -> IntArray:
    """Labels of the groups by k-means under the rules."""
    seconds = START_SHARE * task.deadline.check()
    seed = int(task.random_state.randint(np.iinfo(np.int32).max))
    options: Any = {"n_init": n_init, "random_state": seed, "time_limit": seconds}
    model = ConstrainedKMeans(task.n_clusters, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the answer is only a start
        model.fit(points, constraints=task.given, sample_weight=task.weight)
    return group_labels(task.rules, model.labels_.astype(np.int64))


@dataclass(frozen=True)
class _Search:
    """Descents with one kind of covariance and the target of some labels of the groups."""

    task: Task
    kind: str
    labels: IntArray

    def from_labels(self, labels: IntArray, rules: Rules | None = None) -> Fitted:
        """The answer of a descent; without ``rules`` under those of the task."""
        task = self.task
        rows = task.rules.to_rows(self.labels)
        target = target_of(task.points, task.weight, rows, task.n_clusters)
        shape = GaussianShape(task.points, task.weight, task.rules, self.kind, target)
        return descend(shape, task.rules if rules is None else rules, labels, task.deadline)


def choose_covariance(task: Task, starts: Sequence[IntArray]) -> tuple[str, str]:
    """The kind of covariance, and why in words.

    A link that is held back and obeyed all the same speaks for the kind.  Where links are few, or
    do not decide, BIC does.
    """
    soon = replace(task, deadline=task.deadline.share(CHOICE_SHARE))
    links = _Links.of(task.given)
    kinds: tuple[str, ...] = COVARIANCES
    why = "least BIC"
    if len(links) >= HELD_BACK_PARTS * HELD_BACK_EACH:
        obeyed, asked = _obeyed(soon, links)
        if asked >= HELD_BACK_PARTS * HELD_BACK_EACH:
            kinds = tuple(kind for kind in COVARIANCES if obeyed[kind] == max(obeyed.values()))
            counts = ", ".join(f"{kind} {obeyed[kind]}" for kind in COVARIANCES)
            why = f"of {asked} links held back, obeyed: {counts}"
    if len(kinds) == 1:
        return kinds[0], why
    bic = _bic(task, kinds, starts)
    chosen = min(bic, key=lambda kind: bic[kind])
    return chosen, why if why == "least BIC" else f"{why}; of equals the least BIC"


def _bic(task: Task, kinds: tuple[str, ...], starts: Sequence[IntArray]) -> dict[str, float]:
    """BIC of the hard clustering with each kind."""
    rows = float(np.log(max(task.weight.sum(), 1.0)))
    free = {kind: parameters_of(kind, task.n_clusters, task.points.shape[1]) for kind in kinds}
    return {kind: fit_gaussians(task, kind, starts).objective + free[kind] * rows for kind in kinds}


def _obeyed(task: Task, links: _Links) -> tuple[dict[str, int], int]:
    """How many of the links held back each kind obeys, and how many were asked for.

    The other links are the only rules: bounds on sums make a fit slow, and the shape of clusters
    does not depend on them.
    """
    obeyed, asked = dict.fromkeys(COVARIANCES, 0), 0
    for kept, held in links.parts(task.random_state):
        given = kept.as_rules()
        rules = presolve(given, len(task.points), task.n_clusters)
        part = replace(task, given=given, rules=rules)
        try:
            starts = kmeans_starts(part, HELD_BACK_RESTARTS)
            fits = {kind: fit_gaussians(part, kind, starts).labels for kind in COVARIANCES}
        except (OutOfTime, SolverTimeoutError):
            break
        for kind, labels in fits.items():
            obeyed[kind] += held.obeyed_by(rules.to_rows(labels))
        asked += len(held)
    return obeyed, asked


@dataclass(frozen=True)
class _Links:
    """Hard links: pairs of rows, and whether these must be together."""

    pairs: IntArray
    together: BoolArray

    @classmethod
    def of(cls, given: ConstraintSet) -> _Links:
        must, cannot = (
            [rule.pairs for rule in given.hard.of_kind(kind)] for kind in (MustLink, CannotLink)
        )
        n_must = sum(map(len, must))
        pairs = np.concatenate([np.empty((0, 2), np.int64), *must, *cannot])
        return cls(pairs, np.arange(len(pairs)) < n_must)

    def __len__(self) -> int:
        return len(self.pairs)

    def parts(self, random_state: np.random.RandomState) -> Iterator[tuple[_Links, _Links]]:
        """Links to keep and links to hold back, in turn."""
        part = random_state.permutation(len(self)) % HELD_BACK_PARTS
        for number in range(HELD_BACK_PARTS):
            held = part == number
            yield self._some(~held), self._some(held)

    def _some(self, chosen: BoolArray) -> _Links:
        return _Links(self.pairs[chosen], self.together[chosen])

    def as_rules(self) -> ConstraintSet:
        """The links as constraints."""
        must, cannot = self.pairs[self.together], self.pairs[~self.together]
        return ConstraintSet([MustLink(must), CannotLink(cannot)])

    def obeyed_by(self, labels: IntArray) -> int:
        """How many of the links the labels of the rows obey."""
        same = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        return int(np.sum(same == self.together))
