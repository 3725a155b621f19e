"""What all baselines share: parameters and their limits, ``fit``, restarts, links, distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._arrays import sound
from .._typing import FloatArray, IntArray
from ..constraints import CannotLink, Constraint, ConstraintSet, MustLink
from ..constraints.collection import rules_for
from ..inputs import brought, check_magnitude, refuse_others
from ..report import audit
from ..settings import COUNT, Limit, check_n_clusters, make_random_state
from ..versions import Versioned


class DeadEndError(RuntimeError):
    """A greedy method found no labels that obey the constraints.

    This is no proof that there are none: an exact method may find some.
    """


def parameter(default: Any, limit: Limit) -> Any:
    """Declare a parameter of an estimator: its default and the values that ``fit`` accepts."""
    return field(default=default, metadata={"limit": limit})


@dataclass(frozen=True)
class Answer:
    """Result of one run: labels, the other attributes that ``fit`` sets, and the cost.

    The run with the lowest cost is kept.
    """

    labels: IntArray
    attributes: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 0.0


#: One run of a method, which draws its random numbers from the state.
Run: TypeAlias = Callable[[np.random.RandomState], Answer]


@dataclass(eq=False, repr=False)
class Baseline(Versioned, ClusterMixin, BaseEstimator, ABC):
    """Base class: ``fit`` validates, runs the method, audits the labels and stores the result.

    A subclass is a dataclass whose fields are its parameters, declared with :func:`parameter`.
    It implements ``_prepare``, names the constraints it takes in ``_kinds``, and says in
    ``_soft`` whether links may have a finite weight.
    """

    _kinds: ClassVar[tuple[type[Constraint], ...]] = (MustLink, CannotLink)
    _soft: ClassVar[bool] = False

    n_clusters: int = 8
    _: KW_ONLY
    random_state: Any = None
    constraints: Any = None

    def fit(self, X: Any, y: Any = None, *, constraints: Any = None, **unknown: Any) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : ignored
        constraints : Constraint, iterable of them, or None
            Kinds that the method cannot use raise ``ValueError``.
        **unknown
            Refused, as by ``ConstrainedKMeans``.

        Returns
        -------
        self
        """
        refuse_others(y, unknown, ("constraints",))
        points = check_array(sound(brought(X)), dtype=np.float64, input_name="X", estimator=self)
        check_magnitude(points, type(self).__name__)
        k = check_n_clusters(self.n_clusters, len(points))
        for declared in fields(self):
            if "limit" in declared.metadata:
                declared.metadata["limit"].check(declared.name, getattr(self, declared.name))
        given, outside = rules_for(X, constraints, self.constraints)
        rules = self._usable(given, len(points))
        # Integers of NumPy, such as uint8, would overflow.
        params = self.get_params(deep=False).items()
        plain = {name: int(v) if isinstance(v, np.integer) else v for name, v in params}
        method = type(self)(**plain)
        run = method._prepare(points, rules)
        answer = method._repeat(run, make_random_state(self.random_state))
        report = audit(points, answer.labels, rules, k)
        validate_data(self, X, skip_check_array=True)
        for name, value in answer.attributes.items():
            setattr(self, name, value)
        self.labels_ = answer.labels.astype(np.int32)
        self.report_ = replace(report, outside=outside)
        return self

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> IntArray:
        """Fit, and give the labels; parameters as in :meth:`fit`."""
        return self.fit(X, y, **fit_params).labels_

    @abstractmethod
    def _prepare(self, X: FloatArray, rules: ConstraintSet) -> Run:
        """Compute what all runs share, from validated input, and give one run as a function."""

    def _repeat(self, run: Run, random_state: np.random.RandomState) -> Answer:
        """Run the method as often as its parameters say; here once."""
        return run(random_state)

    def _usable(self, rules: ConstraintSet, n_samples: int) -> ConstraintSet:
        rules.check(n_samples, self.n_clusters)
        name = type(self).__name__
        for position, rule in enumerate(rules):
            if not isinstance(rule, self._kinds):
                kinds = " and ".join(kind.__name__ for kind in self._kinds)
                raise ValueError(
                    f"{name} takes {kinds} constraints only, but constraint {position} is {rule!r}."
                )
            if not self._soft and rule.part(hard=False) is not None:
                raise ValueError(
                    f"{name} takes hard links only, but constraint {position}, {rule!r}, has "
                    "pairs with a finite weight; leave the weight out."
                )
        return rules


@dataclass(eq=False, repr=False, kw_only=True)
class BestOfRuns(Baseline):
    """Base class of methods that run ``n_init`` times and keep the run with the lowest cost."""

    n_init: int = parameter(10, COUNT)

    def _repeat(self, run: Run, random_state: np.random.RandomState) -> Answer:
        answers = (run(random_state) for _ in range(self.n_init))
        return min(answers, key=lambda answer: answer.cost)


@dataclass(eq=False, repr=False, kw_only=True)
class FirstSuccess(Baseline):
    """Base class of greedy methods: a run may raise ``DeadEndError``, and the next one starts."""

    max_restarts: int = parameter(10, COUNT)

    def _repeat(self, run: Run, random_state: np.random.RandomState) -> Answer:
        for number in range(1, self.max_restarts + 1):
            try:
                answer = run(random_state)
            except DeadEndError as end:
                reason = str(end)
            else:
                return Answer(answer.labels, {**answer.attributes, "n_runs_": number})
        raise DeadEndError(
            f"{reason} in each of {self.max_restarts} runs; labels that obey the links may exist "
            "all the same."
        )


def alternate(
    assign: Callable[[FloatArray, IntArray], IntArray],
    update: Callable[[IntArray, FloatArray], FloatArray],
    centers: FloatArray,
    n_samples: int,
    max_iter: int,
) -> tuple[IntArray, FloatArray, int]:
    """Assignments and centres in turn, until the labels stay the same or ``max_iter`` is reached.

    The functions are ``assign(centers, labels)`` and ``update(labels, centers)``; the first labels
    are -1.  Returns the labels, the centres and the number of iterations.
    """
    labels = np.full(n_samples, -1)
    for n_iter in range(1, max_iter + 1):  # noqa: B007 - returned
        found = assign(centers, labels)
        if np.array_equal(found, labels):
            break
        labels = found
        centers = update(labels, centers)
    return labels, centers, n_iter


@dataclass(frozen=True)
class Links:
    """All must-links and all cannot-links of a set of constraints, with their weights."""

    must: IntArray
    cannot: IntArray
    must_weight: FloatArray
    cannot_weight: FloatArray

    @classmethod
    def of(cls, rules: ConstraintSet, price: float = np.inf) -> Links:
        """Collect the links; hard ones get the weight ``price``."""
        kinds: tuple[Any, Any] = MustLink, CannotLink
        links = [rules.of_kind(kind) for kind in kinds]
        none = np.empty((0, 2), np.int64)
        pairs = [np.concatenate([none, *(link.pairs for link in kind)]) for kind in links]
        weights = [np.concatenate([none[:, 0], *(link.weight for link in kind)]) for kind in links]
        return cls(*pairs, *(np.where(np.isinf(weight), price, weight) for weight in weights))


def squared_distances(X: FloatArray, centers: FloatArray) -> FloatArray:
    """Squared distances (n, k), computed from differences, which avoids cancellation."""
    return np.stack([((X - center) ** 2).sum(axis=1) for center in centers], axis=1)


def means(X: FloatArray, labels: IntArray, fallback: FloatArray) -> FloatArray:
    """Mean of each cluster; the fallback for an empty cluster."""
    member = (labels == np.arange(len(fallback))[:, None]).astype(float)
    count = member.sum(axis=1, keepdims=True)
    return np.where(count > 0, member @ X / np.maximum(count, 1.0), fallback)
