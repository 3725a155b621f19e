"""ConstrainedKMedoids: clusters around members of the data, with any distance, under rules."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import haversine_distances
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import sound
from .._text import in_digits, shown
from .._typing import FloatArray, IntArray, Matrix
from ..audit.distances import sum_of_distances
from ..deadline import NEVER, Deadline
from ..exceptions import BrokenAnswerError
from ..inputs import brought, check_magnitude, column_names
from ..proof.relaxation import memory_at
from ..report import Report
from ..rows.arcs import EARTH_RADIUS
from ..rows.metrics import METRICS, refuse_columns
from ..settings import LIMITS, Limit, called_init, check_centers
from .base import FLOATS, Found, ShapedClustering, Task
from .medoid_search import NO_MEDOID, MedoidShape, best_medoids, numbered

#: Metrics of scikit-learn that take sparse rows.
SPARSE = ("cityblock", "cosine", "euclidean", "l1", "l2", "manhattan")
#: Metrics of scikit-learn that take missing values.
GAPPY = ("nan_euclidean",)
#: The metric of corral's own meaning: degrees, and kilometres.
HAVERSINE = "haversine"
#: Matrices of the size of the distances that a search holds: distances, costs and a work array.
MATRICES = 3
#: What distances are counted in, where that has a name.
UNITS = {"cosine": "in cosine distance", HAVERSINE: "kilometres"}


@dataclass(frozen=True, eq=False)
class OneNumber:
    """A metric of the user's that has to give one number for two rows; it asks the deadline."""

    metric: Callable[[Any, Any], Any]
    deadline: Deadline

    def __call__(self, x: Any, y: Any) -> float:
        """The distance of x from y."""
        self.deadline.check()
        value = self.metric(x, y)
        if not isinstance(value, Real):
            what = f"an array of shape {np.shape(value)}" if np.ndim(value) else repr(value)
            raise ValueError(f"`metric` gives {what} for two rows; it must give one number.")
        return float(value)


def distances(
    points: Matrix,
    others: Matrix,
    metric: Any,
    deadline: Deadline = NEVER,
    params: Mapping[str, Any] = MappingProxyType({}),
) -> FloatArray:
    """Distance of each row from each of the others, as scikit-learn defines the metric.

    By haversine, degrees are taken and kilometres given, as by ``ConstrainedKMeans``.
    A callable is called for every row and every other, in this order, so it need not be symmetric.
    Only that can take long; it raises OutOfTime.
    """
    if callable(metric):
        asked = OneNumber(partial(metric, **params), deadline)
        # Of other rows than the points themselves both orders are asked for.
        found = pairwise_distances(points, others[:], metric=asked)
    elif metric == "euclidean" and not params and not sparse.issparse(points):
        found = cdist(points, others)  # from differences, so that no digits cancel
    elif metric == HAVERSINE:
        found = EARTH_RADIUS * haversine_distances(np.radians(points), np.radians(others))
    else:
        try:
            found = pairwise_distances(points, others, metric=metric, **params)
        except (TypeError, ValueError) as error:
            if not params:
                raise
            said = str(error).partition("\n")[0]
            raise ValueError(
                f"`metric_params` is {shown(params)}, which metric={metric!r} refuses: {said}"
            ) from error
    return np.asarray(found, np.float64)


def check_params(metric: Any, params: Any) -> dict[str, Any]:
    """Parameters of the metric by name; ValueError where it takes none."""
    if params is None:
        return {}
    if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
        raise ValueError(f"`metric_params` is {shown(params)}; it must be a dict, or None.")
    if params and isinstance(metric, str) and metric in ("precomputed", HAVERSINE):
        raise ValueError(
            f"`metric_params` is {shown(params)}, but metric={metric!r} has no parameters."
        )
    return dict(params)


def known_params(metric: Any, params: Mapping[str, Any], points: Matrix) -> dict[str, Any]:
    """The parameters with what SciPy would take from the rows, so that new rows have the same."""
    named, known = metric if isinstance(metric, str) else "", dict(params)
    if named == "seuclidean" and "V" not in known:
        known["V"] = np.var(points, axis=0, ddof=1)
    if named == "mahalanobis" and "VI" not in known:
        try:
            known["VI"] = np.linalg.inv(np.atleast_2d(np.cov(points.T))).T
        except np.linalg.LinAlgError:
            raise ValueError(
                "the covariance of X has no inverse, which metric='mahalanobis' needs; give "
                "metric_params={'VI': ...}."
            ) from None
    # SciPy checks neither: it would read other numbers, and give no distances.
    d = points.shape[1]
    if named == "mahalanobis" and np.shape(known["VI"]) != (d, d):
        raise ValueError(
            f"`metric_params` has VI of shape {np.shape(known['VI'])}, but X has {d} features; it "
            f"must be of shape ({d}, {d})."
        )
    p = known.get("p")
    if named == "minkowski" and isinstance(p, Real) and not float(p) > 0.0:
        raise ValueError(f"`metric_params` has p={p}; metric='minkowski' needs p > 0.")
    return known


def candidate_distances(
    points: Matrix, metric: Any, deadline: Deadline, params: Mapping[str, Any]
) -> FloatArray:
    """Distances (n, c) of the rows to all candidates; ValueError or MemoryError if they are wrong.

    Precomputed distances are the points themselves.
    """
    given = isinstance(metric, str) and metric == "precomputed"
    n, c = points.shape if given else (points.shape[0], points.shape[0])
    check_memory(n, c)
    found = (
        np.asarray(points, np.float64)
        if given
        else distances(points, points, metric, deadline, params)
    )
    name = "X" if given else "`metric`"
    wrong = ~(np.isfinite(found) & (found >= 0.0))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"{name} gives the distance {found[i, j]} of row {i} to {'column' if given else 'row'} "
            f"{j}; distances must be finite and not negative."
        )
    own = np.diagonal(found)
    if n == c and own.any():
        i = int(np.flatnonzero(own)[0])
        raise ValueError(
            f"{name} gives the distance {own[i]} of row {i} to itself; it must be 0."
            + (" A square X holds the distances between all rows." if given else "")
        )
    with np.errstate(over="ignore"):
        total = found.sum()
    if not np.isfinite(total):
        raise ValueError(f"{name} gives distances up to {found.max():.3g}, whose sum is infinite.")
    return found


def check_degrees(points: FloatArray, columns: Sequence[Any] | None) -> None:
    """Raise ValueError unless rows are latitude and longitude in degrees, in this order."""
    if points.shape[1] != 2:
        raise ValueError(
            f"X has {points.shape[1]} columns; metric='haversine' takes two, latitude and "
            "longitude in degrees."
        )
    refuse_columns(columns)
    fault = METRICS[HAVERSINE].fault(points)
    if fault is not None:
        raise ValueError(f"row {fault[0]} of X has {fault[1]}.")


def check_memory(n: int, c: int) -> None:
    """Refuse distances that do not fit into memory."""
    needed, there = 8 * MATRICES * n * c, memory_at()
    if needed > there:
        raise MemoryError(
            f"medoids need the distances of {n:,} rows to {c:,} candidates, with work arrays about "
            f"{needed / 2**30:.1f} GiB of memory, and this machine has {there / 2**30:.1f}; take a "
            "sample of the rows and predict the others, or give precomputed distances to fewer "
            "candidates."
        )


@dataclass(eq=False, repr=False)
class ConstrainedKMedoids(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ShapedClustering):
    """Clustering around medoids, with any distance, that obeys rules.

    The centre of a cluster is one of its rows, its medoid.  The objective is the sum of the
    distances of all rows to the medoids of their clusters.  Every answer obeys every hard
    constraint.  With a capacity (``ClusterTotals``) this is the capacitated p-median problem.

    Parameters
    ----------
    n_clusters : int or "fewest", default=8
        "fewest" is the least number for which the hard rules can be obeyed, proven.
    metric : str or callable, default="euclidean"
        A metric of :func:`sklearn.metrics.pairwise_distances`; "haversine", which as in
        ``ConstrainedKMeans`` takes latitude and longitude in degrees and gives kilometres; a
        function of two rows that gives one number; or "precomputed": X is a matrix of distances.
        A square matrix has the distance of row i to row j at (i, j), 0 for i = j.  It need not be
        symmetric: j is the medoid.  Any other matrix has the distances of the rows to candidates,
        of which ``n_clusters`` different ones become medoids; these candidates are no rows and
        obey no rules.
    init : "k-medoids++", array-like or callable, default="k-medoids++"
        Medoids to start from: drawn; ``n_clusters`` indices of rows (of columns, if X has distances
        to candidates); their coordinates, (n_clusters, n_features), which must be those of rows; or
        a function ``init(X, n_clusters, random_state=...)`` that gives one of these arrays.
    metric_params : dict, default=None
        Parameters of the metric, as ``pairwise_distances`` takes them by keyword: ``p`` of
        "minkowski", ``V`` of "seuclidean", ``VI`` of "mahalanobis", or those of the function.
        Without ``V`` or ``VI`` it is the variance, or the inverse covariance, of X.
    n_init : int or "auto", default="auto"
        How often medoids are drawn; not used, with a warning, if ``init`` has medoids.
    effort : float, default=1.0
        Factor of the work of the search.
    time_limit : float, default=None
        Seconds; as in ``ConstrainedKMeans``.
    random_state : int, RandomState or None, default=None
    verbose : bool or int, default=False
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    n_clusters_ : int
    medoid_indices_ : (n_clusters,) int array
        Row of X of each medoid; its column, if X has distances to candidates.  A cluster that the
        rules leave empty has -1.
    cluster_centers_ : (n_clusters, n_features) array
        The medoids, NaN for empty clusters.  Not there if distances are precomputed.
    inertia_ : float
        Sum of the distances, each times the weight of the row.
    n_iter_ : int
        Answers that the search made: first ones, and variations of the best.
    report_ : Report
        The audit; its inertia is this sum, recomputed.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only for data frames.

    Notes
    -----
    All distances are in memory: n x n numbers of 8 bytes, and about as much again twice.  What does
    not fit into the machine's memory is refused.

    Without rules, medoids are swapped with candidates while that pays (FasterPAM).  With rules, it
    is the search of ``ConstrainedKMeans``: groups of rows are shifted, swapped and moved in chains,
    the medoids following.  Where rows are points and the metric is like the Euclidean one, it
    begins with the clusters of k-means under the same rules.

    Examples
    --------
    >>> import numpy as np
    >>> from corral import ClusterSizes, ConstrainedKMedoids
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [30.0]])
    >>> model = ConstrainedKMedoids(2, metric="manhattan", random_state=0)
    >>> labels = model.fit_predict(X, constraints=ClusterSizes([3, 3]))
    >>> sorted(model.medoid_indices_.tolist()), model.inertia_
    ([1, 4], 23.0)
    >>> bool(model.predict([[8.0]])[0] == labels[4])
    True
    """

    _limits: ClassVar[dict[str, Limit]] = {"n_init": LIMITS["n_init"]}

    metric: Any = "euclidean"
    init: Any = field(default="k-medoids++", kw_only=True)
    n_init: int | str = field(default="auto", kw_only=True)
    metric_params: Any = field(default=None, kw_only=True)

    def _search(self, task: Task) -> Found:
        params = known_params(
            self.metric, check_params(self.metric, self.metric_params), task.points
        )
        distance = candidate_distances(task.points, self.metric, task.deadline, params)
        n, c = distance.shape
        if c < task.n_clusters:
            raise ValueError(
                f"`n_clusters` is {task.n_clusters}, but X has distances to {c} candidates; "
                "there must be as many candidates as clusters."
            )
        rules = task.rules
        shape = MedoidShape(distance, task.weight, rules, inside=self._inside(task.points))
        drawn = None if self.n_init == "auto" else int(self.n_init)
        given = called_init(self.init, task.points, task.n_clusters, task.random_state)
        places = None if self._precomputed else task.points
        init = _init(given, task.n_clusters, c, places)
        if init is not None and drawn not in (None, 1):
            message = f"`n_init` is {drawn}, but `init` has the medoids: there is one start."
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        said = "precomputed" if self._precomputed else repr(self.metric)
        task.events.note("clusters", f"medoids, metric {said}")
        task.events.note("distances", f"{in_digits(n)} x {in_digits(c)} numbers")
        plain_metric = None if params else self.metric  # k-means knows no parameters
        found = best_medoids(task, shape, plain_metric, init, drawn)
        if init is None:
            found = numbered(found, rules, task.weight)
        used = np.bincount(found.labels, minlength=task.n_clusters) > 0
        medoids = np.where(used, found.clusters.at, NO_MEDOID)
        plain = not self._precomputed and self._accepted()["ensure_all_finite"] is True
        space = None if plain else distance[:, medoids[used]]
        fitted = {**self._fitted(task.points, medoids), "n_iter_": task.tally.answers}
        fitted["_metric_params"] = params
        compared = HAVERSINE if self.metric == HAVERSINE else "euclidean"
        how = tuple(task.events.table())
        return Found(rules.to_rows(found.labels), fitted, how, space, compared)

    def _fitted(self, points: Matrix, medoids: IntArray) -> dict[str, Any]:
        """Medoids, and the rows that they are."""
        known = {"medoid_indices_": medoids}
        if self._precomputed:
            return known
        rows: Any = points[np.maximum(medoids, 0)]
        centers: FloatArray = rows.toarray() if sparse.issparse(rows) else rows
        centers[medoids == NO_MEDOID] = np.nan
        return {**known, "cluster_centers_": centers}

    def _audited(self, report: Report, task: Task, found: Found) -> Report:
        """The report with the sum of distances, recomputed, and medoids that are members."""
        medoids, labels = found.attributes["medoid_indices_"], found.labels
        used = np.unique(labels)
        if self._inside(task.points) and np.any(labels[medoids[used]] != used):
            raise BrokenAnswerError("the medoid of a cluster is in another one.")
        params = found.attributes["_metric_params"]
        of: Any = {"weight": task.weight, "params": params}
        total = sum_of_distances(task.points, labels, medoids, self.metric, **of)
        name = self.metric if isinstance(self.metric, str) else "callable"
        return replace(report, inertia=total, metric=name, unit=UNITS.get(name, ""))

    def _store(self, X: Any, found: Found, report: Report) -> None:
        super()._store(X, found, report)
        self.inertia_ = report.inertia

    def predict(self, X: Any) -> IntArray:
        """Cluster of the nearest medoid of each row, free of constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            If distances are precomputed, those of the new rows to all rows (or candidates) that
            the model was fitted with.
        """
        labels: IntArray = self._distances(X)[0].argmin(axis=1).astype(np.int32)
        return labels

    def transform(self, X: Any) -> FloatArray:
        """Distances of rows to the medoids, infinite for empty clusters, (n_samples, n_clusters).

        Parameters
        ----------
        X : array-like
            As in :meth:`predict`.
        """
        found, dtype = self._distances(X)
        return found.astype(dtype, copy=False)

    def _distances(self, X: Any) -> tuple[FloatArray, Any]:
        """The same in double precision, and the precision of X."""
        check_is_fitted(self)
        given = validate_data(
            self, sound(brought(X)), reset=False, **{**self._accepted(), "dtype": FLOATS}
        )
        points = given.astype(np.float64, copy=False)
        if self.metric == HAVERSINE:
            check_degrees(points, None)
        used = self.medoid_indices_ != NO_MEDOID
        found: FloatArray = np.full((points.shape[0], len(used)), np.inf)
        if self._precomputed:
            found[:, used] = points[:, self.medoid_indices_[used]]
        else:
            centers = self.cluster_centers_[used].astype(np.float64)
            params = getattr(self, "_metric_params", {})  # pickles before 0.7.0 have none
            found[:, used] = distances(points, centers, self.metric, params=params)
        return found, given.dtype

    @property
    def _n_features_out(self) -> int:
        """Number of columns of :meth:`transform`, for their names."""
        return len(self.medoid_indices_)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _inside(self, points: Matrix) -> bool:
        """Whether candidates are the rows."""
        return not self._precomputed or points.shape[0] == points.shape[1]

    def _accepted(self) -> dict[str, Any]:
        """What X may be, as scikit-learn's checks take it."""
        named = self.metric if isinstance(self.metric, str) else ""
        return {
            "dtype": np.float64,
            "accept_sparse": "csr" if named in SPARSE else False,
            "ensure_all_finite": "allow-nan" if named in GAPPY else True,
        }

    def _points(self, X: Any) -> Any:
        points = check_array(sound(brought(X)), input_name="X", estimator=self, **self._accepted())
        if not self._precomputed:
            check_magnitude(points, type(self).__name__)
        if self.metric == HAVERSINE:
            check_degrees(points, column_names(X))
        return sparse.csr_array(points) if sparse.issparse(points) else points

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        accepted = self._accepted()
        tags.input_tags.sparse = bool(accepted["accept_sparse"])
        tags.input_tags.allow_nan = accepted["ensure_all_finite"] == "allow-nan"
        return tags


def _init(init: Any, n_clusters: int, n_candidates: int, places: Matrix | None) -> IntArray | None:
    """Medoids to start from, checked; None if they are drawn."""
    if isinstance(init, str):
        Limit(None, words=("k-medoids++",)).check("init", init)
        return None
    medoids = np.asarray(sound(init, "`init`"))
    if medoids.ndim == 2 and places is not None:
        medoids = _rows_at(check_centers(medoids, (n_clusters, places.shape[1])), places)
    whole = medoids.shape == (n_clusters,) and np.issubdtype(medoids.dtype, np.integer)
    if not whole or len(np.unique(medoids)) < n_clusters:
        raise ValueError(
            f"`init` is {shown(init)}; it must be 'k-medoids++', {n_clusters} different indices, "
            "or the coordinates of as many rows."
        )
    outside = medoids[(medoids < 0) | (medoids >= n_candidates)]
    if len(outside):
        raise ValueError(
            f"`init` names candidate {outside[0]}; indices must lie in [0, {n_candidates - 1}]."
        )
    return medoids.astype(np.int64)


def _rows_at(places: FloatArray, points: Matrix) -> IntArray:
    """A row of its own at each place."""
    given: Any = points
    rows = given.toarray() if sparse.issparse(points) else given
    found: list[int] = []
    for number, place in enumerate(places):
        there = np.flatnonzero((rows == place).all(axis=1))
        free = np.setdiff1d(there, found)
        if not len(free):
            fault = "equals no row of X" if not len(there) else "has fewer rows than it is given"
            raise ValueError(
                f"`init` has {shown(place.tolist())} at medoid {number}, which {fault}; medoids "
                "are different rows."
            )
        found.append(int(free[0]))
    return np.array(found)
