"""What all estimators of other shapes share: parameters, ``fit``, the audit of the answer."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._arrays import one_blas_thread, sound
from .._typing import FloatArray, IntArray
from ..audit import InMemory
from ..constraints import ConstraintSet
from ..constraints.clusters import called, read_cluster_names
from ..constraints.collection import rules_for
from ..constraints.previous import check_named, read_previous
from ..deadline import Deadline, OutOfTime
from ..estimator import ConstrainedKMeans
from ..exact import NoAssignment
from ..exceptions import BrokenAnswerError, InfeasibleConstraintsError
from ..feasibility import with_clusters
from ..geo.frames import as_points
from ..geo.shapes import map_of
from ..infeasible import conflict_of, nearest_in_words, out_of_time
from ..inputs import brought, check_magnitude, check_weights, refuse_others, row_names, talking
from ..named import NamedClusters
from ..numbers import WIDTH
from ..report import Report
from ..rules import Rules, presolve
from ..search.budget import Budget
from ..search.descent import Answer, Descender
from ..search.engine import Maker, search
from ..search.events import HOME, Events
from ..search.ready import make_ready
from ..search.rescue import any_answer
from ..search.shape import Shape
from ..search.starts import group_labels
from ..search.vary import Variation
from ..settings import LIMITS, Limit, default_limit, make_random_state
from ..versions import Versioned

#: Precisions of X that are kept.
FLOATS = [np.float64, np.float32]


@dataclass
class Tally:
    """Answers that a fit has made: first ones and variations."""

    answers: int = 0


@dataclass(frozen=True)
class Task:
    """Checked input of a search.

    Attributes
    ----------
    points : (n, d) array
    weight : (n,) array
    given : ConstraintSet
        The user's constraints.
    rules : Rules
        What presolve made of them.
    random_state : RandomState
    deadline : Deadline
    effort : float
        Factor of the budget of searches.
    events : Events
        What happens in them.
    tally : Tally
        How many answers they made.
    X : object
        The rows as they were given.
    """

    points: FloatArray
    weight: FloatArray
    given: ConstraintSet
    rules: Rules
    random_state: np.random.RandomState
    deadline: Deadline
    effort: float = 1.0
    events: Events = field(default_factory=Events)
    tally: Tally = field(default_factory=Tally)
    X: Any = None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.rules.n_clusters


@dataclass(frozen=True)
class Found:
    """Result of a search: labels of the rows, other fitted attributes, and how it was found.

    ``space`` holds the rows as the audit shall see them, None if these are the points, and
    ``metric`` says how it shall compare them.
    """

    labels: IntArray
    attributes: Mapping[str, Any]
    how: tuple[tuple[str, str], ...] = ()
    space: FloatArray | None = None
    metric: str = "euclidean"

    def table(self) -> list[tuple[str, str]]:
        """Pairs of event and value, for ``report_.how()``."""
        return list(self.how)


@dataclass(eq=False, repr=False)
class ShapedClustering(Versioned, NamedClusters, ClusterMixin, BaseEstimator, ABC):
    """Base class: ``fit`` checks, presolves, searches, audits and stores.

    A subclass is a dataclass whose fields are its parameters.  It names their allowed values in
    ``_limits`` and implements ``_search``.
    """

    _limits: ClassVar[Mapping[str, Limit]] = {}

    n_clusters: int | str = 8
    effort: float = field(default=1.0, kw_only=True)
    time_limit: float | None = field(default=None, kw_only=True)
    random_state: Any = field(default=None, kw_only=True)
    verbose: bool | int = field(default=False, kw_only=True)
    constraints: Any = field(default=None, kw_only=True)
    cluster_names: Any = field(default=None, kw_only=True)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        sample_weight: ArrayLike | None = None,
        previous: Any = None,
        stay: float | None = None,
        **unknown: Any,
    ) -> Self:
        """Cluster the rows of X under the constraints.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : ignored
        constraints : Constraint, iterable of them, or None
            As in ``ConstrainedKMeans.fit``.
        sample_weight : array-like of shape (n_samples,), optional
        previous, stay
            As in ``ConstrainedKMeans.fit``; both or none.
        **unknown
            Refused, as by ``ConstrainedKMeans``.

        Returns
        -------
        self
        """
        refuse_others(y, unknown, ("constraints", "sample_weight", "previous", "stay"))
        clusters = read_cluster_names(self.cluster_names)
        shapes, X = map_of(X), as_points(X, getattr(self, "metric", "euclidean"))
        X, why_home = self._at_hand(X)
        make_ready()
        always = {name: LIMITS[name] for name in ("effort", "time_limit")}
        for name, allowed in {**always, **self._limits}.items():
            allowed.check(name, getattr(self, name))
        with talking(self.verbose):
            points, rows = self._points(X), row_names(X)
            given, outside = rules_for(X, constraints, self.constraints, clusters)
            n = points.shape[0]
            names, before = called(rows, clusters, n), read_previous(previous, stay, X, clusters)
            if before is not None and stay is None:
                raise ValueError(
                    f"`previous` is given to {type(self).__name__} without `stay`; give the price "
                    "of a row that leaves its cluster, or inf."
                )
            given = given.with_(before.pins if before else None)
            weight = check_weights(sample_weight, n)
            random_state = make_random_state(self.random_state)
            k, params, fewest = with_clusters(self.get_params(deep=False), n, given, names)
            check_named(clusters, before, n, k)
            given = self._completed(given, X, points, weight, k)
            given_limit = params["time_limit"]
            limit = self._default_limit(n) if given_limit is None else given_limit
            deadline = Deadline.after(limit)
            try:
                rules = presolve(given, n, k, names=names, deadline=deadline.first)
                mass = np.ones(n) if weight is None else weight
                effort, events = float(params["effort"]), Events(deadline)
                if why_home:
                    events.note(HOME, why_home)
                task = Task(points, mass, given, rules, random_state, deadline, effort, events, X=X)
                with one_blas_thread():
                    found = self._search(task)
            except (NoAssignment, InfeasibleConstraintsError) as failure:
                raise conflict_of(failure, n, k, given, deadline, names) from None
            except OutOfTime as late:
                raise out_of_time(
                    deadline, nearest=nearest_in_words(late, given, k, names)
                ) from late
            ended = f"by the time limit of {limit:.3g} s" if deadline.passed else ""
            space = points if found.space is None else found.space
            report = Report.of(InMemory(space), found.labels, given, k, weight, metric=found.metric)
            report = self._audited(report.named(rows, clusters, before, shapes), task, found)
        # What was found may hold all rows; the report keeps none of them.
        known: Any = {"plan": Events(rows=found.table()), "fewest": fewest}
        report = replace(report, **known, outside=outside, ended=ended)
        if not report.feasible:
            raise BrokenAnswerError(f"the answer breaks a hard constraint:\n{report}")
        if ended:
            message = f"the fit was ended {ended}: the answer is the best found until then."
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        self._store(X, found, report)
        return self

    def fit_predict(
        self, X: Any, y: Any = None, *, constraints: Any = None, **fit_params: Any
    ) -> Any:
        """Fit, and give the labels that obey the constraints; parameters as in :meth:`fit`."""
        return self.fit(X, y, constraints=constraints, **fit_params).labels_

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Let a pickle of version 0.5.0 have the number of clusters."""
        if "report_" in state:
            state = {"n_clusters_": len(state["report_"].sizes), **state}
        super().__setstate__(state)

    @abstractmethod
    def _search(self, task: Task) -> Found:
        """Find labels that obey the rules."""

    def _completed(
        self,
        given: ConstraintSet,
        X: Any,
        points: FloatArray,
        weight: FloatArray | None,
        n_clusters: int,
    ) -> ConstraintSet:
        """The user's rules, with those that hold by default."""
        return given

    def _audited(self, report: Report, task: Task, found: Found) -> Report:
        """The report of an answer with the inertia as the estimator defines it."""
        return report

    def _default_limit(self, n_rows: int) -> float:
        """Seconds that a fit may take if the user gave no limit."""
        return default_limit(n_rows)

    def _at_hand(self, X: Any) -> tuple[Any, str]:
        """X where any row can be looked at, and why it was brought there, or nothing."""
        return X, ""

    def _points(self, X: Any) -> FloatArray:
        """The rows of X as the search wants them, checked."""
        points: FloatArray = check_array(
            sound(brought(X)), dtype=np.float64, input_name="X", estimator=self
        )
        check_magnitude(points, type(self).__name__)
        return points

    def _store(self, X: Any, found: Found, report: Report) -> None:
        """Set all fitted attributes, at the end so that a failed fit leaves none.

        Public arrays have the precision of X.
        """
        accepted: Any = {"accept_sparse": True, "ensure_all_finite": False, "dtype": FLOATS}
        dtype = validate_data(self, brought(X), **accepted).dtype
        for name, value in found.attributes.items():
            real = isinstance(value, np.ndarray) and value.dtype == np.float64
            setattr(self, name, value.astype(dtype) if real and name[0] != "_" else value)
        self.labels_ = found.labels.astype(np.int32)
        self.n_clusters_ = len(report.sizes)
        names = getattr(self, "feature_names_in_", None) if found.space is None else None
        self.report_ = replace(report, features=names)


def searched(
    task: Task,
    rules: Rules,
    shape: Shape,
    makers: Iterable[tuple[str, Maker]],
    *,
    children: bool = True,
    quiet: bool = False,
    perfect: float = -np.inf,
    work: float = 1.0,
) -> Answer:
    """The best answer of a search; where no maker's obeys the rules, an exact solver finds one.

    Without ``children`` the search ends with the answers of the makers.  If it is ``quiet``, its
    events are not noted.  An objective of ``perfect`` or less ends it.  ``work`` is a
    factor of the budget.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the hard rules.
    OutOfTime
        The deadline came before any answer.
    """
    events, deadline = task.events, task.deadline
    # Mixed groups look at some of the others, however many there are.
    seen = min(rules.n_clusters, WIDTH) if shape.mixes else rules.n_clusters
    budget = Budget.of(shape.shape, seen, work * task.effort, deadline)
    budget.patience *= children

    def tell(name: str, answer: Answer | None) -> None:
        if not quiet:
            task.tally.answers += 1
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
            perfect=perfect,
        )
        best = found.top
    if not quiet:
        task.tally.answers += found.tried
        events.searched(best.objective, (found.tried, found.kept), descender.exact)
        events.stopped(deadline, found.ended)
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
