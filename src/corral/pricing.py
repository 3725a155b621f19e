"""The price of rules: refits of an answer without each of them, within a time budget."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ._typing import IntArray
from .constraints import ConstraintSet
from .constraints.collection import rules_for
from .deadline import Deadline
from .estimator import ConstrainedKMeans
from .exceptions import SolverTimeoutError
from .inputs import brought
from .report import Report
from .report.text import Prices
from .settings import POSITIVE


def price_rules(
    model: ConstrainedKMeans,
    X: Any,
    *,
    constraints: Any,
    sample_weight: ArrayLike | None = None,
    time_limit: float = 10.0,
) -> Report:
    """Give the report of a fit with the price of each rule, and a comparison with free k-means.

    The price of a rule is how much the objective falls without it.  It is found by refits that
    begin at the answer, first without any rule, then without each; what the time does not allow
    is left out.

    Parameters
    ----------
    model : fitted ConstrainedKMeans
    X : array-like, data frame or CSR of shape (n_samples, n_features)
        The rows that the model was fitted on.
    constraints : Constraint, iterable of them, or None
        The rules that it was fitted under.
    sample_weight : array-like of shape (n_samples,), optional
    time_limit : float, default=10.0
        Seconds for all refits together.

    Returns
    -------
    Report
        ``model.report_`` with ``prices``.

    Examples
    --------
    >>> from corral import ClusterSizes, ConstrainedKMeans, MustLink, price_rules
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> rules = [MustLink([(2, 3)]), ClusterSizes(minimum=1)]
    >>> model = ConstrainedKMeans(n_clusters=2, random_state=0).fit(X, constraints=rules)
    >>> prices = price_rules(model, X, constraints=rules).prices
    >>> prices.free, prices.moved
    (4.0, 1)
    >>> prices.price(0) == prices.objective - prices.free, prices.price(1)
    (True, 0.0)
    """
    check_is_fitted(model)
    if not isinstance(model, ConstrainedKMeans):
        raise TypeError(f"prices need a fitted ConstrainedKMeans, not {type(model).__name__}.")
    POSITIVE.check("time_limit", time_limit)
    rules, _ = rules_for(X, constraints, None, model.cluster_names)
    labels = np.asarray(brought(model.labels_), np.int64)
    stayed = model.report_.changes is not None and len(rules) == len(model.report_.entries) - 1
    if stayed:  # the pins that ``fit`` made of ``previous`` and ``stay``
        rules = rules.with_(model.report_.entries[-1].constraint)
    if len(rules) != len(model.report_.entries):
        raise ValueError(
            f"there are {len(rules)} constraints, but the model was fitted under "
            f"{len(model.report_.entries)}; give the same ones."
        )
    deadline = Deadline.after(time_limit)
    refit = _Refit(model, X, sample_weight, labels, deadline)
    free = refit.under(ConstraintSet(), 1 + len(rules))
    without: list[float | None] = []
    for number in range(len(rules)):
        others = rules[:number] + rules[number + 1 :]
        found = refit.under(others, len(rules) - number) if len(others) else free
        without.append(None if found is None else found.report_.objective)
    moved = None if free is None else _moved(labels, np.asarray(brought(free.labels_)))
    report = model.report_
    value = None if free is None else min(free.report_.objective, report.objective)
    prices = Prices(report.objective, tuple(without), value, moved, len(labels))
    return replace(report, prices=prices)


class _Refit:
    """Fits from the answer, under fewer rules, until the deadline."""

    def __init__(
        self, model: Any, X: Any, weight: ArrayLike | None, labels: IntArray, deadline: Deadline
    ) -> None:
        self._model, self._X, self._weight = model, X, weight
        self._labels, self._deadline = labels, deadline

    def under(self, rules: ConstraintSet, n_left: int) -> ConstrainedKMeans | None:
        """The fitted model, with its share of the time for so many refits; None if it is over."""
        if self._deadline.passed:
            return None
        seconds = self._deadline.left / n_left
        again: ConstrainedKMeans = clone(self._model).set_params(
            n_clusters=self._model.n_clusters_,
            init=self._labels,
            n_init=1,
            time_limit=seconds,
            prove=None,
            verbose=False,
        )
        if again.solver == "exact":
            again.set_params(solver="projected")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return again.fit(self._X, constraints=rules, sample_weight=self._weight)
        except SolverTimeoutError:
            return None


def _moved(labels: IntArray, others: IntArray) -> int:
    """Rows in another cluster, with the clusters matched so that they are as few as possible."""
    k = int(max(labels.max(), others.max())) + 1
    both = np.zeros((k, k), np.int64)
    np.add.at(both, (labels, others), 1)
    rows, columns = linear_sum_assignment(-both)
    return int(len(labels) - both[rows, columns].sum())
