"""ConstrainedKMeans: inputs, rules, problem, solve, proof, audit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin
from sklearn.utils.validation import validate_data

from ._text import our_words
from .backends import Backend, backend_of
from .constraints import ConstraintSet
from .constraints.clusters import called, read_cluster_names
from .constraints.collection import rules_for
from .constraints.previous import check_named, read_previous
from .feasibility import with_clusters
from .geo.frames import as_points
from .geo.shapes import map_of
from .infeasible import NoAnswer, relax_or_raise
from .inputs import brought, column_names, outline, refuse_others, row_names, talking
from .named import NamedClusters
from .problem import Problem, paper_problem
from .progress import Progress
from .report import Report
from .rows import Table, measured
from .rules import presolve
from .search.events import Events
from .search.ready import ready_for
from .settings import Settings, called_init, make_random_state, make_settings, with_limit
from .solution import Solution, check_answer, in_numbers_of, in_user_units
from .solve import solve
from .streams import Streamed
from .versions import Versioned

if TYPE_CHECKING:
    from .proof.fitted import Prover


#: Keywords of ``fit``.
FIT_WORDS = ("constraints", "sample_weight", "callback", "previous", "stay")


class ConstrainedKMeans(
    Versioned,
    NamedClusters,
    Streamed,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    BaseEstimator,
):
    """K-means clustering that obeys rules.

    Every answer obeys every hard constraint; if no answer can, ``fit`` raises
    :class:`~corral.InfeasibleConstraintsError` and says why.

    Parameters
    ----------
    n_clusters : int or "fewest", default=8
        "fewest" is the least number for which the hard rules can be obeyed, proven; ``report_``
        says why fewer are not enough.
    solver : {"projected", "algorithm1", "exact"}, default="projected"
        "projected" takes every rule.  "algorithm1" is the paper's algorithm to the letter; it
        takes exact sizes, pairs and linear equalities.  "exact" goes on by branch and bound until
        the answer is proven optimal, or ``time_limit`` ends it; for some hundreds of rows.
    init : {"k-means++", "random"}, array of k centres or n labels, callable, default="k-means++"
        Where to start.  "random" is a random assignment.  A callable is called once, as
        ``init(X, n_clusters, random_state=random_state)``, and gives such an array.
    n_init : int or "auto", default="auto"
        Number of sets of seeds that start the search, while these take less than two fifths of its
        work; "auto" is up to six, and no more once two starts have given the same answer.  ADMM's
        centres start it as well.  ``effort`` lengthens the search.  Not used, with a warning, if
        ``init`` gives an array.
    max_iter : int, default=1000
        Limit on the iterations of ADMM.
    tol : float or "auto", default="auto"
        When ADMM has converged.  "projected": all primal residuals are below it (0.01).  With
        ``repair`` it ends earlier, because only its centres are used.  "algorithm1": the standard
        deviation of the last ten objectives is at most this (1e-5).
    rho : float or "auto", default="auto"
        Penalty: in units of the costs' scale for "projected" (1), as it is for "algorithm1" (20).
    rho_growth : float or "auto", default="auto"
        Growth of the penalty (1.03; 1.1 for "algorithm1").
    rho_every : int or "auto", default="auto"
        Iterations in which the penalty grows by that factor (1; 5 for "algorithm1").  In
        "projected" it grows a little in each of them, in "algorithm1" at the last.
    repair : bool, default=True
        Search for labels that obey every hard constraint, from the centres of ADMM and from seeds.
        False returns the plain rounding of ADMM's x, which may break constraints.
    on_infeasible : {"raise", "relax"}, default="raise"
        When no answer obeys the hard constraints: raise, or return the labels with the least
        total violation, which ``report_`` lists.
    time_limit : float, default=None
        Seconds after which, at most 1 s + 5 % later, the best answer so far is returned with a
        ``ConvergenceWarning`` and a line in ``report_``; without an answer it raises
        :class:`~corral.SolverTimeoutError`.  None: 17 s, times ``(n / 2000)**2`` above 2,000 rows.
    n_jobs : int, default=None
        Deprecated: it has no effect, because the search runs in one process.  A number gives a
        ``FutureWarning``.
    random_state : int, RandomState or None, default=None
        The same seed gives the same answer, unless ``time_limit`` cut the search short.
    verbose : bool or int, default=False
        Log the makers' answers, and the progress in a line a second.
    record_x : sequence of int, default=()
        Iterations at which ``history_`` keeps the relaxed assignment.
    max_samples : int, "auto" or None, default="auto"
        Groups of points that ADMM sees, at most, drawn at random; all points are searched from its
        centres.  "auto" is 40,000 by the number of clusters; ADMM is left out where that is fewer
        than five for each cluster.  None means all groups, as do ``repair=False``, ``record_x``,
        linear constraints and "algorithm1".  Of more than 8,000 groups, and 200 for each cluster,
        samples are searched first, and ADMM sees no others, unless it is to see all.  On a GPU and
        with Dask the number is that of the sample which is searched in memory (20,000 and at least
        100 for each cluster); None is "auto" there, with a ``FutureWarning``.  ``history_`` is
        about the points that ADMM saw.
    device : str, default=None
        "cuda" or "cuda:1" works on that GPU, which needs PyTorch.  A tensor or CuPy array that is
        on a GPU stays there without this parameter.

    prove : float, default=None
        Seconds to spend on a lower bound after the fit: ``report_.bound`` and ``report_.gap``.
    metric : {"euclidean", "cosine", "haversine"}, default="euclidean"
        What rows are compared by.  "cosine": one less the cosine; centres are unit vectors.
        "haversine": great-circle distance in kilometres between rows of two columns, latitude and
        longitude in degrees; in memory only.  With these two, ``solver`` is "projected" and there
        is no ``prove``.
    effort : float, default=1.0
        Work of the search, in units of the default: 2 lets it do twice as much.  The search counts
        work, not seconds, so a seed gives the same labels on a slow machine.
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none, for packages that call ``fit(X)``.  Rules with row numbers
        need ``n_samples=`` or ``index=``; data of another length are refused.
    cluster_names : sequence of str, default=None
        Names of the clusters, in the order of their numbers.  Rules may then have bounds by name,
        such as ``ClusterTotals(minutes, maximum={"north": 2400})``; the report shows the names.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    named_labels_ : (n_samples,) array of str
        Only with ``cluster_names``.
    n_clusters_ : int
    cluster_centers_ : (n_clusters, n_features) array
    inertia_ : float
        Weighted sum of the squared distances to the centre of one's own cluster; by haversine in
        square kilometres.  By cosine, the sum of the cosine distances.
    n_iter_ : int
        Iterations of ADMM.
    history_ : History
        What happened in them.
    report_ : Report
        The audit: sizes, and each constraint with its violations; printing it gives a table.
    stream_ : Stream
        Only after ``partial_fit``: rows, sums and room of the stream so far.
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

    @our_words
    def __init__(
        self,
        n_clusters: int | str = 8,
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
        max_samples: int | str | None = "auto",
        device: str | None = None,
        prove: float | None = None,
        metric: str = "euclidean",
        effort: float = 1.0,
        constraints: Any = None,
        cluster_names: Any = None,
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
        self.max_samples = max_samples
        self.device = device
        self.prove = prove
        self.metric = metric
        self.effort = effort
        self.constraints = constraints
        self.cluster_names = cluster_names

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        sample_weight: ArrayLike | None = None,
        callback: Callable[[Progress], Any] | None = None,
        previous: Any = None,
        stay: float | None = None,
        init: Any = None,
        **unknown: Any,
    ) -> Self:
        """Cluster the rows of X under the constraints.

        Parameters
        ----------
        X : array-like, data frame or CSR of shape (n_samples, n_features)
            Of a GeoDataFrame the middles of the shapes are clustered, and the report has a map;
            in longitude and latitude it needs ``metric="haversine"``.  Also a PyTorch tensor or
            CuPy array on a GPU, or a Dask array or data frame; these stay where they are, and
            labels come back in kind.  The path of a ``.npy`` or Parquet file, a folder of Parquet
            files, :class:`~corral.RowsOnDisk` and a memory map are read block by block.
        y : ignored
        constraints : Constraint, iterable of them, or None
            None means those of the constructor.  Rows are counted from 0.  Links and pins may also
            have names of rows, which are looked up in the index of the data frame X.  Rules mean
            the rows of this X: for a part of it, as in cross-validation, give
            ``ConstraintSet(constraints).subset(rows)``, or ``.for_folds(index)`` with data frames.
        sample_weight : array-like of shape (n_samples,), optional
            Sizes count points all the same; totals count their values.
        callback : callable, optional
            Called with a :class:`~corral.Progress`; its answer True ends the fit as a time limit.
        previous : array-like of shape (n_samples,), pandas series or mapping, optional
            Clusters that the rows had before, by number or name; -1, None or NaN for rows that
            are free.  A series is for the rows of the data frame X with the names in its index.
            ``report_.changes`` says what changed.
        stay : float, optional
            Price of each row that leaves its cluster of ``previous``, in units of the objective;
            inf if none may.
        init : optional
            Where to start this fit, in place of the parameter: also a fitted model, whose centres
            it begins with.
        **unknown
            Refused, with what corral calls the same thing where other packages have the keyword.

        Returns
        -------
        self
        """
        refuse_others(y, unknown, FIT_WORDS)
        shapes, X = map_of(X), as_points(X, self.metric)
        backend, clusters = backend_of(X, self.device), read_cluster_names(self.cluster_names)
        X = backend.X
        with talking(self.verbose), backend.opened(self, sample_weight) as opened:
            rows = row_names(X)
            given, outside = rules_for(X, constraints, self.constraints, clusters)
            table = measured(opened, self.metric, rows, column_names(X))
            n, scale, taken = sum(table.lengths), table.scale, table.metric.taken
            names, before = called(rows, clusters, n), read_previous(previous, stay, X, clusters)
            given = given.with_(before.pins if before else None)
            k, params, fewest = with_clusters(self.get_params(deep=False), n, given, names)
            check_named(clusters, before, n, k)
            ready_for(table, given, k)
            random_state = make_random_state(self.random_state)
            start = _start(self.init if init is None else init)
            params["init"] = called_init(start, X, k, random_state)
            settings = make_settings(params, (n, table.n_features), callback).in_units(scale, taken)
            settings = with_limit(settings, n)
            prover = None
            try:
                first = settings.deadline.first
                rules = presolve(given, n, k, names=names, scale=scale, deadline=first)
                problem = Problem.of(rules, table.rows(rules.group), settings)
                prover = _prover(given, table, settings, k, random_state)
                paper = paper_problem(given, table, settings, k)
                solution = solve(problem, random_state, paper)
            except NoAnswer as failure:
                solution = relax_or_raise(failure, given, table, k, settings, random_state, names)
            ended, dtype = settings.ended, table.dtype
            solution, proof = prover.proven(solution) if prover else (solution, None)
            settings.progress.finish(None if solution.may_violate else solution.objective)
            solution = in_numbers_of(solution, before, given, settings.init)
            report = Report.of(table, solution.labels, given, k, table.weight, metric=self.metric)
            report = report.named(rows, clusters, before, shapes)
            solution = in_user_units(solution, table)
        # Without the clock, which knows the user's callback.
        plan = Events(rows=solution.events.table())
        known: Any = {"history": solution.history, "plan": plan, "fewest": fewest}
        proof = proof and proof.confirmed(report.objective)
        ended = settings.ended if settings.exact else ended
        report = replace(report, **known, outside=outside, ended=ended, proof=proof)
        check_answer(solution, report, settings)
        self._store(X, solution, report, dtype, backend)
        return self

    def _store(
        self, X: Any, solution: Solution, report: Report, dtype: Any, backend: Backend
    ) -> None:
        """Set all fitted attributes, at the end so that a failed fit leaves none."""
        labels = backend.give(solution.labels.astype(np.int32))
        centers = backend.give_small(solution.centers.astype(dtype))
        validate_data(self, outline(X), skip_check_array=True)
        self.labels_, self.cluster_centers_ = labels, centers
        self.__dict__.pop("stream_", None)  # which a fit ends
        self.inertia_ = report.inertia
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.report_ = replace(report, features=getattr(self, "feature_names_in_", None))
        self.n_clusters_ = self._n_features_out = len(report.sizes)

    def fit_predict(
        self, X: Any, y: Any = None, *, constraints: Any = None, **fit_params: Any
    ) -> Any:
        """Fit, and give the labels that obey the constraints; parameters as in :meth:`fit`."""
        return self.fit(X, y, constraints=constraints, **fit_params).labels_

    def fit_transform(
        self, X: Any, y: Any = None, *, constraints: Any = None, **fit_params: Any
    ) -> Any:
        """Fit, and give the distances to the centres; parameters as in :meth:`fit`."""
        return self.fit(X, y, constraints=constraints, **fit_params).transform(X)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Let a pickle of an earlier version have what came later."""
        if "cluster_centers_" in state:
            state = {"n_clusters_": len(state["cluster_centers_"]), **state}
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        """Sparse input is fine and float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _start(init: Any) -> Any:
    """The centres of a fitted model; anything else as it is."""
    centers = getattr(init, "cluster_centers_", None)
    return init if centers is None else brought(centers)


def _prover(
    given: ConstraintSet,
    table: Table,
    settings: Settings,
    k: int,
    random_state: np.random.RandomState,
) -> Prover | None:
    """What proves a bound for the answer, if one is wanted."""
    if not settings.proves:
        return None
    # Fits without a proof need not wait for its modules.
    from .proof.fitted import Prover

    return Prover(given, table, settings, k, random_state)
