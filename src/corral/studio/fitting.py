"""A fit in a thread of its own, what changed by it, and the questions that follow it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._text import in_digits
from .._typing import BoolArray, FloatArray, IntArray
from ..active import answer, next_pairs
from ..active.judgements import REPLIES, Judgement
from ..constraints import Constraint, ConstraintSet, Pin
from ..constraints._checks import plural
from ..constraints.previous import named_clusters
from ..deadline import Deadline, OutOfTime
from ..estimator import ConstrainedKMeans
from ..exceptions import InfeasibleConstraintsError, SolverTimeoutError
from ..infeasible import explain
from ..mixed.balance import balance_of
from ..mixed.columns import Frame, read_columns
from ..mixed.estimator import MixedGroups
from ..mixed.report import MixedReport, percent
from ..progress import Progress
from ..report import Report, audit
from .data import Data
from .rules import parts

Pair = tuple[int, int]

#: Questions between two fits: more wait less often, fewer are better chosen.
BATCH = 3


@dataclass(frozen=True)
class Interview:
    """Questions that were asked, and those that wait.

    Attributes
    ----------
    waiting : tuple of pairs
        The first one is asked now.
    unknown : tuple of pairs
        Nobody could answer these; they are not asked again.
    answered : int
    ended : bool
        Whether there is nothing more to ask.
    """

    waiting: tuple[Pair, ...] = ()
    unknown: tuple[Pair, ...] = ()
    answered: int = 0
    ended: bool = False

    def given(self, pairs: IntArray) -> Interview:
        """With the next questions."""
        waiting = tuple((int(row), int(other)) for row, other in pairs)
        return replace(self, waiting=waiting, ended=not waiting)

    def after(self, before: Sequence[Judgement], now: Sequence[Judgement]) -> Interview:
        """When answers have been given, or taken back, which are asked next then."""
        same = sum(
            1 for _ in takewhile(lambda both: both[0] == both[1], zip(before, now, strict=False))
        )
        gone, new = ([s for s in log[same:] if not s.again] for log in (before, now))
        pairs = [said.pair for said in new]
        back = tuple(said.pair for said in gone if said.pair not in pairs)
        dropped = [said.pair for said in gone if not said.known]
        unknown = tuple(pair for pair in self.unknown if pair not in dropped)
        return replace(
            self,
            waiting=(*back, *(pair for pair in self.waiting if pair not in pairs)),
            unknown=(*unknown, *(said.pair for said in new if not said.known)),
            answered=sum(said.known and not said.again for said in now),
            ended=self.ended and not back,
        )

    @property
    def words(self) -> str:
        """How far it is."""
        if self.ended:
            return "Nothing more can be learned by questions."
        if not self.answered and not self.unknown:
            return "Judge pairs of rows, the most helpful first."
        said = plural(self.answered, "answer")
        return f"{said}, {len(self.unknown)} not known." if self.unknown else f"{said}."


def next_questions(model: Any, X: Any, rules: ConstraintSet, unknown: tuple[Pair, ...]) -> IntArray:
    """The pairs to ask about after a fit."""
    return next_pairs(model, X, constraints=rules, n=BATCH, skip=list(unknown) or ())


def with_reply(rules: ConstraintSet, pair: Pair, says: str) -> ConstraintSet:
    """Rules with a reply."""
    return answer(rules, [pair], [REPLIES[says]])


#: Seconds for explaining a conflict again with the names of the rows.
RENAME_SECONDS = 5.0


@dataclass(frozen=True)
class Task:
    """What is to be fitted: a document of the session, and the labels before.

    ``stay`` is the price of a row that changes its cluster.  With ``interview`` the next questions
    are chosen after the fit.  ``effort`` is that of the estimator.  With ``mixed`` groups become
    alike, and not their rows.
    """

    data: Data
    rules: ConstraintSet
    n_clusters: int
    seed: int = 0
    before: IntArray | None = None
    stay: float = 0.0
    interview: Interview | None = None
    effort: float = 1.0
    mixed: bool = False

    @property
    def known(self) -> IntArray:
        """The clusters before; -1 where there is none of this number any more."""
        before = np.full(len(self.data), -1) if self.before is None else self.before
        return np.where(before < self.n_clusters, before, -1)

    @property
    def pins(self) -> Pin | None:
        """Soft pins of all rows to the clusters that they had; None if changes are free."""
        return Pin(self.known, weight=self.stay) if self.stay else None


@dataclass(frozen=True)
class Answer:
    """Labels that a fit found.

    Attributes
    ----------
    labels : (n_samples,) ints
        In the numbers that the studio shows: ``order[label of the fit]``.
    order : (n_clusters,) ints
    task : Task
    found : Report
        That of the estimator, in the numbers of the fit.
    changed : (n_samples,) bools
        Rows that the fit before had in another cluster.
    stopped : bool
        Whether the user ended the fit, so that the labels are the best so far.
    questions : (m, 2) ints, or None
        Pairs to ask about next, if the task asks for them.
    """

    labels: IntArray
    order: IntArray
    task: Task
    found: Report
    changed: BoolArray
    stopped: bool = False
    questions: IntArray | None = None

    @property
    def sizes(self) -> IntArray:
        """Rows of each cluster."""
        return np.bincount(self.labels, minlength=self.task.n_clusters)

    @property
    def inertia(self) -> float:
        """That of the fit."""
        return self.found.inertia

    def cost_by(self, data: Data, *, mixed: bool) -> float:
        """The mean cost of a row, by the columns of other data on the same rows.

        Mixed groups see columns in standard deviations.
        """
        if mixed:
            return float(len(data.features))
        own: Any = {"sample_weight": data.weight, "metric": data.metric}
        return audit(data.X, self.labels, None, self.task.n_clusters, **own).inertia / len(data)

    @property
    def report(self) -> Report:
        """The report, in the numbers that the studio shows, with the names of the user."""
        task, data, k = self.task, self.task.data, self.task.n_clusters
        own: Any = {"sample_weight": data.weight, "metric": data.metric}
        names = None if data.clusters is None else [data.cluster_name(j) for j in range(k)]
        made = audit(data.X, self.labels, task.rules, k, **own, cluster_names=names)
        if isinstance(self.found, MixedReport):
            columns = read_columns(frame_of(data), data.spread, MixedGroups())
            balance = balance_of(columns, self.labels, k, data.weight, self.found.share)
            known = vars(made) | {"inertia": self.inertia, "balance": balance}
            made = MixedReport(**known, most=self.found.most)
        own = {"names": data.names, "features": list(data.features), "scaler": data.in_units}
        own |= {"map": data.map, "plan": self.found.plan, "ended": self.found.ended}
        return replace(made, **own)

    @property
    def sentence(self) -> str:
        """What the fit led to, in words."""
        clusters = plural(self.task.n_clusters, "cluster")
        how = "Stopped early; the best so far: " if self.stopped else ""
        text = f"{how}{len(self.labels):,} rows in {clusters}, inertia {in_digits(self.inertia)}."
        if isinstance(self.found, MixedReport):
            groups = plural(self.task.n_clusters, "mixed group")
            share = percent(self.found.share)
            text = f"{len(self.labels):,} rows in {groups}, {share} as alike as is possible."
        if self.task.before is not None:
            count = int(self.changed.sum())
            text += f" {count:,} row{'s' * (count != 1)} changed since the fit before."
        return text[0].upper() + text[1:]


@dataclass(frozen=True)
class Conflict:
    """Rules that cannot be obeyed together: a sentence, and each part of them."""

    sentence: str
    parts: tuple[Constraint, ...]
    smallest: bool


class Job:
    """A fit in the background.

    ``tell`` is called in the thread of the fit: with a :class:`~corral.Progress` while it runs, and
    at the end with an :class:`Answer`, a :class:`Conflict` or a text that says what went wrong.
    """

    def __init__(self, task: Task, tell: Callable[[Job, Any], None]) -> None:
        self.task, self._tell = task, tell
        self.stopping = False
        self._thread = threading.Thread(target=self._run, name="corral studio fit", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Ask for the best answer so far."""
        self.stopping = True

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(seconds)

    def _watch(self, progress: Progress) -> bool:
        self._tell(self, progress)
        return self.stopping

    def _run(self) -> None:
        try:
            outcome = fitted(self.task, self._watch, lambda: self.stopping)
        except InfeasibleConstraintsError as clash:
            outcome = conflict_of(clash, self.task)
        except (SolverTimeoutError, ValueError) as error:
            stopped = self.stopping and isinstance(error, SolverTimeoutError)
            outcome = "Stopped before there was an answer." if stopped else str(error)
        except Exception as error:  # the page must say so, or it would wait forever
            outcome = f"The fit failed with {type(error).__name__}: {error}"
        self._tell(self, outcome)


def fitted(
    task: Task,
    callback: Callable[[Progress], Any] | None = None,
    stopped: Callable[[], bool] = bool,
) -> Any:
    """Fit the task."""
    data, rules = task.data, ConstraintSet([task.rules, task.pins])
    given: Any = {"random_state": task.seed, "effort": task.effort}
    own: Any = {"constraints": rules, "sample_weight": data.weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what ended early is said in the answer
        if task.mixed:
            model: Any = MixedGroups(task.n_clusters, spread=list(data.spread), **given)
            model.fit(frame_of(data), **own)
        else:
            model = ConstrainedKMeans(task.n_clusters, **given, metric=data.metric)
            model.fit(data.X, **own, callback=callback)
    found = np.asarray(model.labels_, np.int64)
    order = renumbering(found, task)
    labels = order[found]
    changed = np.zeros(len(labels), bool) if task.before is None else labels != task.before
    questions = None
    if task.interview is not None:
        questions = next_questions(model, data.X, task.rules, task.interview.unknown)
    ended = stopped() and not task.mixed
    return Answer(labels, order, task, model.report_, changed, ended, questions)


def frame_of(data: Data) -> Frame:
    """The columns that mixed groups are alike in, in the user's units, and those to spread."""
    texts = {name: np.array([cell or None for cell in data.columns[name]]) for name in data.spread}
    return Frame({name: data.columns[name] for name in data.features} | texts)


def renumbering(labels: IntArray, task: Task) -> IntArray:
    """New numbers of the clusters, such that most rows keep the number that they had.

    A cluster that a rule names, such as by a pin, keeps its number.
    """
    k = task.n_clusters
    order = np.arange(k)
    free = np.array(sorted(set(range(k)) - named_clusters(task.rules, k)), np.int64)
    if task.before is None or task.pins is not None or len(free) < 2:
        return order
    known = task.before < k
    common: FloatArray = np.zeros((k, k))
    np.add.at(common, (labels[known], task.before[known]), 1.0)
    old, new = linear_sum_assignment(common[np.ix_(free, free)], maximize=True)
    order[free[old]] = free[new]
    return order


def conflict_of(clash: InfeasibleConstraintsError, task: Task) -> Conflict:
    """The conflict in the names of the user's rows, if the time suffices, with all its parts."""
    data = task.data
    if data.called is not None:
        deadline = Deadline.after(RENAME_SECONDS)
        try:
            again = explain(
                len(data), task.n_clusters, clash.conflict, deadline=deadline, names=data.called
            )
        except OutOfTime:
            again = None
        clash = again or clash
    return Conflict(str(clash), tuple(parts(clash.conflict)), clash.irreducible)
