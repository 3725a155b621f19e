"""What all baselines share: the face, the validation and the audit of the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from .._typing import FloatArray, IntArray
from ..constraints import CannotLink, Constraint, ConstraintSet, MustLink
from ..parameters import check_n_clusters
from ..report import audit


class DeadEndError(RuntimeError):
    """A greedy method found no labels that obey the constraints.

    It proves nothing: such labels may exist, and an exact method may find them.
    """


@dataclass(frozen=True)
class Limit:
    """What a parameter may be: a number from ``least`` to ``most``, or one of the words."""

    least: float = -np.inf
    most: float = np.inf
    whole: bool = False
    words: tuple[str, ...] = ()
    number: bool = True

    def check(self, name: str, value: Any) -> None:
        """Raise ``ValueError`` with the parameter, its value and what is allowed."""
        if isinstance(value, str) and value in self.words:
            return
        kind = Integral if self.whole else Real
        right = self.number and isinstance(value, kind) and not isinstance(value, bool)
        if not right or not np.isfinite(value) or not self.least <= value <= self.most:
            raise ValueError(f"`{name}` is {value!r}; it must be {self._allowed()}.")

    def _allowed(self) -> str:
        options = [repr(word) for word in self.words]
        if self.number:
            noun = "an integer" if self.whole else "a finite number"
            above = f" up to {self.most:g}" if np.isfinite(self.most) else ""
            options.append(f"{noun} from {self.least:g}{above}")
        return " or ".join(options)


def limits(**by_name: Limit) -> Mapping[str, Limit]:
    """Collect the limits of parameters, read-only."""
    return MappingProxyType(by_name)


COUNT = Limit(least=1, whole=True)
POSITIVE = Limit(least=float(np.finfo(float).tiny))
NOT_NEGATIVE = Limit(least=0.0)


@dataclass(frozen=True)
class Answer:
    """Labels, and the other attributes that a fit leaves, by name."""

    labels: IntArray
    attributes: Mapping[str, Any] = field(default_factory=dict)


class Baseline(ClusterMixin, BaseEstimator, ABC):
    """Base class: ``fit`` validates, calls ``_cluster``, audits and stores.

    A subclass names the constraints it takes in ``_kinds``, whether links may have a finite
    weight in ``_soft``, and what its parameters may be in ``_limits``.
    """

    n_clusters: int
    random_state: Any

    _kinds: ClassVar[tuple[type[Constraint], ...]] = (MustLink, CannotLink)
    _soft: ClassVar[bool] = False
    _limits: ClassVar[Mapping[str, Limit]] = limits()

    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : ignored
        constraints : Constraint, iterable of them, or None
            Kinds that the method cannot use raise ``ValueError``.

        Returns
        -------
        self
        """
        points = check_array(X, dtype=np.float64, input_name="X", estimator=self)
        check_n_clusters(self.n_clusters, len(points))
        for name, limit in self._limits.items():
            limit.check(name, getattr(self, name))
        rules = self._usable(ConstraintSet(constraints), len(points))
        answer = self._cluster(points, rules, check_random_state(self.random_state))
        report = audit(points, answer.labels, rules, self.n_clusters)
        validate_data(self, X, skip_check_array=True)
        for name, value in answer.attributes.items():
            setattr(self, name, value)
        self.labels_ = answer.labels.astype(np.int32)
        self.report_ = report
        return self

    @abstractmethod
    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        """Do the work; everything is validated."""

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


@dataclass(frozen=True)
class Links:
    """All the must-links and all the cannot-links of a set, with their weights."""

    must: IntArray
    cannot: IntArray
    must_weight: FloatArray
    cannot_weight: FloatArray

    @classmethod
    def of(cls, rules: ConstraintSet, price: float = np.inf) -> Links:
        """Collect the links; hard ones get the weight ``price``."""
        must, must_weight = _stacked(rules.of_kind(MustLink), price)
        cannot, cannot_weight = _stacked(rules.of_kind(CannotLink), price)
        return cls(must, cannot, must_weight, cannot_weight)


def _stacked(
    links: tuple[MustLink, ...] | tuple[CannotLink, ...], price: float
) -> tuple[IntArray, FloatArray]:
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(link.pairs for link in links)])
    weight = np.concatenate([np.empty(0), *(link.weight for link in links)])
    return pairs, np.where(np.isinf(weight), price, weight)


def squared_distances(X: FloatArray, centers: FloatArray) -> FloatArray:
    """Squared distances (n, k), from differences so that no digits cancel."""
    return np.stack([((X - center) ** 2).sum(axis=1) for center in centers], axis=1)


def means(X: FloatArray, labels: IntArray, fallback: FloatArray) -> FloatArray:
    """Mean of each cluster; an empty one keeps its fallback."""
    member = (labels == np.arange(len(fallback))[:, None]).astype(float)
    count = member.sum(axis=1, keepdims=True)
    return np.where(count > 0, member @ X / np.maximum(count, 1.0), fallback)
