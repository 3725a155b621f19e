"""ConstrainedKMeans: validate, solve, audit, store."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._typing import FloatArray, IntArray, Matrix
from .audit import Report, audit
from .constraints import ConstraintSet
from .exceptions import BrokenAnswerError
from .geometry import distances_to
from .outcome import find_solution, place
from .settings import Progress, check_n_clusters, make_random_state, make_settings, talking
from .solve import Solution
from .validate import check_points, check_weights, row_names


class ConstrainedKMeans(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """K-means clustering that obeys rules.

    Every answer obeys every hard constraint; if no answer can, ``fit`` raises
    :class:`~corral.InfeasibleConstraintsError` and says why.

    Parameters
    ----------
    n_clusters : int, default=8
    solver : {"projected", "algorithm1"}, default="projected"
        "projected" is the dependable one.  "algorithm1" is the paper's algorithm to the letter;
        it knows exact sizes, pairs and linear equalities.
    init : {"k-means++", "random"}, array of k centres or array of n labels, default="k-means++"
        Where to start.  "random" is a random assignment.
    n_init : int or "auto", default="auto"
        Number of restarts, of which the best is kept; "auto" gives small problems more.
    max_iter : int, default=1000
        Limit on the iterations of ADMM.
    tol : float or "auto", default="auto"
        When ADMM has converged: "projected" wants all primal residuals below it (0.01),
        "algorithm1" the standard deviation of the last ten objectives (1e-5).
    rho : float or "auto", default="auto"
        Penalty: in units of the costs' scale for "projected" (1), as it is for "algorithm1" (20).
    rho_growth : float or "auto", default="auto"
        Growth of the penalty (1.03, or 1.08 for small data with ``repair``; 1.1 for "algorithm1").
    rho_every : int or "auto", default="auto"
        Iterations in which the penalty grows by that factor (1; 5 for "algorithm1"): little by
        little in "projected", at once in "algorithm1".
    repair : bool, default=True
        Make the answer obey every hard constraint by exact assignment, and polish it.  False
        returns the plain rounding of ADMM's x, which may break constraints.
    on_infeasible : {"raise", "relax"}, default="raise"
        When no answer obeys the hard constraints: raise, or return the labels with the least
        total violation, which ``report_`` lists.
    time_limit : float, default=None
        Seconds after which the best answer so far is returned; without one,
        :class:`~corral.SolverTimeoutError` is raised.
    n_jobs : int, default=None
        Processes for the restarts.
    random_state : int, RandomState or None, default=None
        The same seed gives the same answer, unless time cut a search short: ``time_limit``, or an
        exact assignment that took longer than a few seconds.
    verbose : bool or int, default=False
        Log the progress, one line a restart.
    record_x : sequence of int, default=()
        Iterations at which ``history_`` keeps the relaxed assignment.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    cluster_centers_ : (n_clusters, n_features) array
    inertia_ : float
        Weighted sum of the squared distances to the centre of one's own cluster.
    n_iter_ : int
        Iterations of ADMM in the best run.
    history_ : History
        What happened in them.
    report_ : Report
        The audit: sizes, and each constraint with its violations; printing it gives a table.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only for data frames.

    Examples
    --------
    >>> from corral import CannotLink, ClusterSizes, ConstrainedKMeans, MustLink
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> rules = [MustLink([(2, 3)]), CannotLink([(1, 2)]), ClusterSizes([2, 4])]
    >>> model = ConstrainedKMeans(n_clusters=2, random_state=0).fit(X, constraints=rules)
    >>> model.labels_.tolist()
    [0, 0, 1, 1, 1, 1]
    >>> model.report_.feasible
    True
    """

    #: Called once an iteration, as (iteration, objective, residual, rules broken).
    _progress: Progress | None = None

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        solver: str = "projected",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 1000,
        tol: float | str = "auto",
        rho: float | str = "auto",
        rho_growth: float | str = "auto",
        rho_every: int | str = "auto",
        repair: bool = True,
        on_infeasible: str = "raise",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
        record_x: Any = (),
    ) -> None:
        self.n_clusters = n_clusters
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.rho = rho
        self.rho_growth = rho_growth
        self.rho_every = rho_every
        self.repair = repair
        self.on_infeasible = on_infeasible
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.record_x = record_x

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Cluster the rows of X under the constraints.

        Parameters
        ----------
        X : array-like, data frame or CSR of shape (n_samples, n_features)
        y : ignored
        constraints : Constraint, iterable of them, or None
            Rows are counted from 0; with ``index=`` links and pins take names instead.  They mean
            the rows of this X: for a part of it, as in cross-validation, give
            ``ConstraintSet(constraints).subset(rows)``.
        sample_weight : array-like of shape (n_samples,), optional
            Sizes count points all the same; totals count their values.

        Returns
        -------
        self
        """
        points = check_points(X, self)
        weight = check_weights(sample_weight, points.shape[0])
        check_n_clusters(self.n_clusters, points.shape[0])
        settings = make_settings(self.get_params(deep=False), points, self._progress)
        rules = ConstraintSet(constraints)
        with talking(self.verbose):
            solution = find_solution(
                points,
                rules,
                self.n_clusters,
                weight,
                settings,
                make_random_state(self.random_state),
                row_names(X),
            )
        report = replace(
            audit(points, solution.labels, rules, self.n_clusters, weight),
            history=solution.history,
            names=row_names(X),
        )
        self._judge(solution, report)
        self._store(X, points, solution, report)
        return self

    def _judge(self, solution: Solution, report: Report) -> None:
        """Raise on a broken answer, warn of an unfinished one."""
        if not (report.feasible or solution.may_violate):
            raise BrokenAnswerError(
                "the answer found breaks a hard constraint, which is a fault of corral; please "
                f"report it with your data:\n{report}"
            )
        short = solution.n_iter >= self.max_iter
        if not solution.converged and (short or not self.repair):
            cause = f"stopped at max_iter={self.max_iter}" if short else "gave up"
            warnings.warn(
                f"ADMM {cause} before it converged; "
                f"{'raise max_iter' if short else 'its x may not be binary'}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        meant = 0 if solution.sizes is None else int(np.sum(solution.sizes.upper == 0))
        empty = report.sizes.count(0)
        if empty > meant:
            warnings.warn(
                f"{empty} of {self.n_clusters} clusters are empty: the points and rules found no "
                "use for more.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _store(self, X: Any, points: Matrix, solution: Solution, report: Report) -> None:
        """Set all fitted attributes, at the end so that a failed fit leaves none."""
        validate_data(self, X, skip_check_array=True)
        self.labels_ = solution.labels.astype(np.int32)
        self.cluster_centers_ = solution.centers.astype(points.dtype)
        self.inertia_ = report.inertia
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.report_ = report
        self._n_features_out = self.n_clusters

    def fit_predict(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> IntArray:
        """Fit, and give the labels that obey the constraints; parameters as in :meth:`fit`."""
        labels: IntArray = self.fit(
            X, y, constraints=constraints, sample_weight=sample_weight
        ).labels_
        return labels

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> FloatArray:
        """Fit, and give the distances to the centres; parameters as in :meth:`fit`."""
        return self.fit(X, y, constraints=constraints, sample_weight=sample_weight).transform(X)

    def predict(self, X: Any) -> IntArray:
        """Nearest centre of each row, free of constraints.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        (n_samples,) int array
        """
        points = self._checked(X)
        nearest = pairwise_distances_argmin(points, self.cluster_centers_)
        return np.asarray(nearest, np.int32)

    def transform(self, X: Any) -> FloatArray:
        """Distances of each row to the centres.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        (n_samples, n_clusters) array
        """
        return distances_to(self._checked(X), self.cluster_centers_)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the inertia of X at the nearest centres, free of constraints.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        points = self._checked(X)
        weight = check_weights(sample_weight, points.shape[0])
        squares = distances_to(points, self.cluster_centers_).min(axis=1) ** 2
        return -float(np.dot(squares, np.ones(len(squares)) if weight is None else weight))

    def assign(
        self, X: Any, *, constraints: Any = None, sample_weight: ArrayLike | None = None
    ) -> IntArray:
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
        points = self._checked(X)
        weight = check_weights(sample_weight, points.shape[0])
        rules = ConstraintSet(constraints)
        labels = place(
            points,
            rules,
            np.asarray(self.cluster_centers_, np.float64),
            weight,
            self.time_limit,
            row_names(X),
        )
        report = audit(points, labels, rules, len(self.cluster_centers_), weight)
        if not report.feasible:
            raise BrokenAnswerError(f"the assignment breaks a hard constraint:\n{report}")
        return labels.astype(np.int32)

    def _checked(self, X: Any) -> Matrix:
        """New rows, of the features that were fitted."""
        check_is_fitted(self)
        points: Matrix = validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        return points

    def __sklearn_tags__(self) -> Any:
        """Sparse input is fine and float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
