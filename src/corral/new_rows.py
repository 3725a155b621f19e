"""What a fitted model does with new rows: nearest centres, distances, and exact assignment."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from ._arrays import sound
from ._scale import times
from ._typing import FloatArray, IntArray
from .backends import Backend, InMemory, backend_of
from .constraints import ConstraintSet
from .constraints._checks import Names
from .constraints.clusters import called, read_cluster_names
from .constraints.collection import rules_for
from .deadline import Deadline, OutOfTime
from .exact import NoAssignment, assign
from .exceptions import BrokenAnswerError, InfeasibleConstraintsError
from .geo.frames import as_points
from .infeasible import conflict_of, out_of_time
from .inputs import brought, check_weights, column_names, outline, refuse_others, row_names
from .report import Report
from .rows import METRICS, MemoryTable, Table, distances_to, measured
from .rules import presolve


class NewRows(TransformerMixin):
    """Methods of an estimator with fitted ``cluster_centers_``."""

    cluster_centers_: Any
    cluster_names: Any
    device: str | None
    metric: str
    time_limit: float | None

    def predict(self, X: Any) -> Any:
        """Nearest centre of each row, free of constraints.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        (n_samples,) int array
        """
        X = as_points(X, self.metric)
        backend = self._checked(X)
        with self._table(X, backend) as table:
            return backend.give(table.nearest(self._centers))

    def transform(self, X: Any) -> Any:
        """Distances of each row to the centres, by the metric of the model.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        (n_samples, n_clusters) array
        """
        X = as_points(X, self.metric)
        backend, metric = self._checked(X), METRICS[self.metric]
        if metric.bounded:
            with self._table(X, backend):
                pass  # rows that have no place in the metric are refused
        return backend.by_rows(distances_to, self._centers, metric)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the inertia of X at the nearest centres, free of constraints.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        refuse_others(y)
        nearest = np.min(brought(self.transform(X)), axis=1)
        weight = check_weights(brought(sample_weight), len(nearest))
        return -METRICS[self.metric].worth(nearest, weight)

    def assign(
        self, X: Any, *, constraints: Any = None, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Place new rows by exact assignment to the fitted centres, under rules of their own.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        constraints : Constraint, iterable of them, or None
            On the rows of this X.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        (n_samples,) int array

        Raises
        ------
        InfeasibleConstraintsError
            If no assignment obeys them.
        SolverTimeoutError
            If ``time_limit`` ran out first.
        """
        X, clusters = as_points(X, self.metric), read_cluster_names(self.cluster_names)
        backend, (given, _) = self._checked(X), rules_for(X, constraints, None, clusters)
        with self._table(X, backend, sample_weight) as table:
            centers, deadline = self._centers.astype(np.float64), Deadline.after(self.time_limit)
            names = called(row_names(X), clusters, sum(table.lengths))
            labels = place(table.home(), given, centers, deadline, names)
            k, weight = len(centers), table.weight
            report = Report.of(table, labels, given, k, weight, metric=self.metric)
        if not report.feasible:
            raise BrokenAnswerError(f"the assignment breaks a hard constraint:\n{report}")
        return backend.give(labels.astype(np.int32))

    @contextmanager
    def _table(
        self, X: Any, backend: Backend, sample_weight: ArrayLike | None = None
    ) -> Iterator[Table]:
        """The rows by the metric of the model."""
        with backend.opened(self, sample_weight) as table:
            yield measured(table, self.metric, row_names(X), column_names(backend.X))

    @property
    def _centers(self) -> FloatArray:
        """The fitted centres as a NumPy array."""
        return np.asarray(brought(self.cluster_centers_))

    def _checked(self, X: Any) -> Backend:
        """The backend of new rows, which have the features that were fitted."""
        check_is_fitted(self)
        backend = backend_of(X, self.device)
        if isinstance(backend, InMemory):
            X = validate_data(
                self,
                sound(brought(X)),
                reset=False,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
            )
            return InMemory(X)
        validate_data(self, outline(backend.X), reset=False, skip_check_array=True)
        return backend


def place(
    table: MemoryTable, given: ConstraintSet, centers: FloatArray, deadline: Deadline, names: Names
) -> IntArray:
    """Exact assignment of rows to given centres.

    Raises
    ------
    InfeasibleConstraintsError, SolverTimeoutError
    """
    table = table.beside(centers)
    n, k, scale = sum(table.lengths), len(centers), table.scale
    try:
        rules = presolve(given, n, k, names=names, scale=scale)
        rows = table.rows(rules.group)
        at = table.metric.taken(times(centers, -scale.points))
        cost = rows.costs(at - rows.middle).dense()
        step = assign(rules, cost, deadline=deadline, match_sizes=True)
    except (NoAssignment, InfeasibleConstraintsError) as failure:
        raise conflict_of(failure, n, k, given, deadline, names) from None
    except OutOfTime as late:
        raise out_of_time(deadline) from late
    if not step.optimal:
        warnings.warn(
            "the assignment obeys the rules, but time ran out before it was proven the cheapest",
            ConvergenceWarning,
            stacklevel=3,
        )
    return rules.to_rows(step.labels)
