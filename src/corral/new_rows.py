"""What a fitted model says of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._typing import FloatArray, Matrix
from .constraints import ConstraintSet
from .elsewhere import elsewhere, nearest_in_shards
from .exceptions import BrokenAnswerError
from .geometry import distances_to
from .kinds import brought, outline
from .outcome import place
from .report import audit
from .validate import check_points, check_weights, row_names


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
        check_is_fitted(self)
        away = elsewhere(X, self.device)
        if away is not None:
            validate_data(self, outline(X), reset=False, skip_check_array=True)
            with away.held() as holder:
                return away.give(nearest_in_shards(holder, self._centers))
        nearest = pairwise_distances_argmin(self._checked(X), self._centers)
        return np.asarray(nearest, np.int32)

    def transform(self, X: Any) -> Any:
        """Distances of each row to the centres.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        (n_samples, n_clusters) array
        """
        check_is_fitted(self)
        away = elsewhere(X, self.device)
        if away is not None:
            validate_data(self, outline(X), reset=False, skip_check_array=True)
            return away.by_rows(distances_to, self._centers)
        return distances_to(self._checked(X), self._centers)

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
        check_is_fitted(self)
        away = elsewhere(X, self.device)
        if away is not None:
            # Names of features are those of X, not of what is brought of it.
            validate_data(self, outline(X), reset=False, skip_check_array=True)
        points = self._checked(X) if away is None else check_points(brought(X), self)
        weight = check_weights(brought(sample_weight), points.shape[0])
        rules, centers = ConstraintSet(constraints), self._centers.astype(np.float64)
        labels = place(points, rules, centers, weight, self.time_limit, row_names(X))
        report = audit(points, labels, rules, len(centers), weight)
        if not report.feasible:
            raise BrokenAnswerError(f"the assignment breaks a hard constraint:\n{report}")
        return labels.astype(np.int32) if away is None else away.give(labels.astype(np.int32))

    @property
    def _centers(self) -> FloatArray:
        """The fitted centres as a NumPy array."""
        return np.asarray(brought(self.cluster_centers_))

    def _checked(self, X: Any) -> Matrix:
        """New rows, of the features that were fitted."""
        check_is_fitted(self)
        points: Matrix = validate_data(
            self, brought(X), reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        return points
