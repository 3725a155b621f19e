"""What a fitted model says of new rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from ._typing import FloatArray, IntArray
from .assign import NoAssignment, assign
from .backends import Backend, InMemory, backend_of
from .constraints import ConstraintSet
from .deadline import Deadline, OutOfTime
from .exceptions import BrokenAnswerError
from .infeasible import out_of_time, raise_conflict
from .inputs import brought, check_weights, outline, row_names
from .presolve import presolve
from .report import Report
from .rows import Table, distances_to


class NewRows(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods of an estimator with ``cluster_centers_``, ``device`` and ``time_limit``."""

    cluster_centers_: Any
    device: str | None
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
        backend = self._checked(X)
        with backend.opened(self, None) as table:
            return backend.give(table.nearest(self._centers))

    def transform(self, X: Any) -> Any:
        """Distances of each row to the centres.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        (n_samples, n_clusters) array
        """
        return self._checked(X).by_rows(distances_to, self._centers)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the inertia of X at the nearest centres, free of constraints.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        squares = np.min(brought(self.transform(X)), axis=1) ** 2
        weight = check_weights(brought(sample_weight), len(squares))
        return -float(np.dot(squares, np.ones(len(squares)) if weight is None else weight))

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
        backend, given = self._checked(X), ConstraintSet(constraints)
        with backend.opened(self, sample_weight) as table:
            k = len(self._centers)
            labels = self._placed(table.home(), given, row_names(X))
            report = Report.of(table, labels, given, k, table.weight)
        if not report.feasible:
            raise BrokenAnswerError(f"the assignment breaks a hard constraint:\n{report}")
        return backend.give(labels.astype(np.int32))

    def _placed(self, table: Table, given: ConstraintSet, names: Any) -> IntArray:
        """Exact assignment of rows to the fitted centres."""
        deadline, centers = Deadline.after(self.time_limit), self._centers.astype(np.float64)
        n, k = sum(table.lengths), len(centers)
        rules = presolve(given, n, k, names=names)
        rows = table.rows(rules.group)
        try:
            cost = rows.costs(centers - rows.middle).dense()
            step = assign(rules, cost, deadline=deadline, match_sizes=True)
        except NoAssignment:
            raise_conflict(n, k, given, deadline, names)
        except OutOfTime as late:
            raise out_of_time(deadline) from late
        if not step.optimal:
            warnings.warn(
                "the assignment obeys the rules, but time ran out before it was proven the "
                "cheapest",
                ConvergenceWarning,
                stacklevel=3,
            )
        return rules.invert(step.labels)

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
                self, brought(X), reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
            )
            return InMemory(X)
        validate_data(self, outline(X), reset=False, skip_check_array=True)
        return backend
