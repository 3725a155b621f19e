"""ConstrainedKernelKMeans: k-means in the feature space of a kernel, under rules."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import sound
from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline, OutOfTime
from ..estimator import ConstrainedKMeans
from ..exceptions import SolverTimeoutError
from ..inputs import brought
from ..settings import COUNT, NOT_NEGATIVE, POSITIVE, Limit
from .base import Found, ShapedClustering, Task
from .features import (
    Kernel,
    Machine,
    Spectrum,
    check_symmetric,
    machine_of_centers,
    machine_of_members,
    scale_gamma,
)

#: Rows up to which the feature vectors of a kernel are exact.  Above, they are those of a random
#: sample of the rows (Nystroem).  It bounds the memory and the time of the eigendecomposition, 5 s
#: at this number.
EXACT_KERNEL_ROWS = 3_000
#: Seconds that an eigendecomposition takes, for the cube of the rows, about, and the part of the
#: time limit that it may take; it cannot be interrupted.  Measured: 1.8e-10 for 1,000 rows on one
#: core.
EIGEN_SECONDS, EIGEN_SHARE = 2e-10, 0.4
#: Rows of the sample of Nystroem features.  More come nearer to the kernel and take longer.  1,000
#: rows of two moons in four equal clusters have the objective 733.294 with 100 (1.6 s), and 733.293
#: with 500 (2.4 s) and with all (2.5 s).
NYSTROEM_ROWS = 500

#: Names of kernels.
KERNELS = (*sorted(PAIRWISE_KERNEL_FUNCTIONS), "precomputed")


@dataclass(eq=False, repr=False)
class ConstrainedKernelKMeans(ShapedClustering):
    """k-means in the feature space of a kernel that obeys rules.

    Clusters need not be convex: rows belong together if the kernel says that they are similar.
    k-means works on the kernel's feature vectors, so the solver and the rules are those of
    ``ConstrainedKMeans``.  Every answer obeys every hard constraint.

    Parameters
    ----------
    n_clusters : int or "fewest", default=8
        "fewest" is the least number for which the hard rules can be obeyed, proven.
    kernel : str or callable, default="rbf"
        A name that scikit-learn's ``pairwise_kernels`` knows; "precomputed", where X is the kernel
        of all pairs of rows; or a function of two rows that gives a number.
    gamma : float or "scale", default="scale"
        Of the kernels rbf, laplacian, poly and sigmoid, and chi2.  "scale" is
        ``1 / (n_features * X.var())``, and scikit-learn's default for chi2.
    degree, coef0 : float, default=3 and 1
        Of the kernels poly and sigmoid.
    kernel_params : dict, default=None
        Other parameters of the kernel, by keyword.
    shift : float or "auto", default=0
        Added to the diagonal of a kernel that is not positive semidefinite.  "auto" adds the least
        that is enough.
    n_components : int, "auto" or None, default="auto"
        Rows whose kernel makes the feature vectors.  None, and "auto" up to 3,000 rows, takes all
        of them: the feature vectors are exact.  Otherwise they are those of a random sample, the
        Nystroem method; "auto" draws 500.
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
    inertia_ : float
        Weighted sum of the squared distances to the centre of one's own cluster, in feature space.
    cluster_centers_ : (n_clusters, n_features) array
        Means of the rows of each cluster in the units of X, NaN for empty ones.  The centres that
        k-means found are in feature space.  Not there if the kernel is precomputed.
    n_iter_ : int
        Iterations of k-means on the feature vectors, as in ``ConstrainedKMeans``.
    report_ : Report
        The audit, in feature space.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only for data frames.

    Notes
    -----
    k-means depends on differences only, so it is enough if the kernel is positive semidefinite for
    coefficients that sum to 0.  A shift of the diagonal adds a constant to the objective.

    References
    ----------
    I. Dhillon, Y. Guan, B. Kulis, "Kernel k-means, spectral clustering and normalized cuts", 2004.
    V. Roth, J. Laub, M. Kawanabe, J. Buhmann, "Optimal cluster preserving embedding of nonmetric
    proximity data", 2003: the shift.

    Examples
    --------
    >>> import numpy as np
    >>> from corral import ClusterSizes, ConstrainedKernelKMeans
    >>> words = ["kitten", "mitten", "sitting", "flour", "flower", "floor"]
    >>> pairs = [{a + b for a, b in zip(word, word[1:])} for word in words]
    >>> shared = np.array([[len(one & other) for other in pairs] for one in pairs])
    >>> model = ConstrainedKernelKMeans(2, kernel="precomputed", random_state=0)
    >>> labels = model.fit_predict(shared, constraints=ClusterSizes([3, 3]))
    >>> bool(labels[0] == labels[1] == labels[2]), model.report_.feasible
    (True, True)
    """

    _limits: ClassVar[dict[str, Limit]] = {
        "gamma": replace(POSITIVE, words=("scale",)),
        "degree": NOT_NEGATIVE,
        "coef0": Limit(),
        "shift": replace(NOT_NEGATIVE, words=("auto",)),
        "n_components": replace(COUNT, words=("auto", None)),
    }

    kernel: Any = "rbf"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 1
    kernel_params: Any = None
    shift: float | str = 0.0
    n_components: int | str | None = "auto"

    def _points(self, X: Any) -> FloatArray:
        if not callable(self.kernel) and self.kernel not in KERNELS:
            raise ValueError(
                f"`kernel` is {self.kernel!r}; it must be callable or one of "
                f"{', '.join(map(repr, KERNELS))}."
            )
        points = super()._points(X)
        if self.kernel == "precomputed":
            return check_symmetric(points)
        return points

    def _search(self, task: Task) -> Found:
        parameters = {name: getattr(self, name) for name in ("gamma", "degree", "coef0")}
        gamma = scale_gamma(task.points, task.weight)
        kernel = Kernel.of(self.kernel, parameters, self.kernel_params, gamma)
        n = len(task.points)
        rows = _sample(task, kernel_sample(n, self.n_components, task.deadline.limit))
        size = len(rows)
        sample = task.points[:0] if self.kernel == "precomputed" else task.points[rows]
        matrix = self._matrix(kernel, task.points, sample, rows, task.deadline)
        if eigen_seconds(size) > task.deadline.first.left:
            raise OutOfTime
        spectrum = Spectrum.of(check_symmetric(matrix[rows]), task.weight[rows], self.shift)
        features = spectrum.features(matrix) if size == n else matrix @ spectrum.projection()
        model = _kmeans(task, features)
        labels = model.labels_.astype(np.int64)
        if size == n:
            machine = machine_of_members(matrix, task.weight, labels, task.n_clusters)
        else:
            machine = machine_of_centers(rows, spectrum.projection(), model.cluster_centers_)
        attributes: dict[str, Any] = {
            "inertia_": model.inertia_,
            "n_iter_": model.n_iter_,
            "_kernel": kernel,
            "_sample": sample,
            "_machine": machine,
        }
        if self.kernel != "precomputed":
            attributes["cluster_centers_"] = _means(task, labels)
        kind = "exact" if size == n else f"Nystroem, of {size} rows"
        how = (
            ("clusters", f"means in the feature space of the kernel {self._name!r}"),
            ("features", f"{features.shape[1]}, {kind}"),
            *(() if model.report_.plan is None else model.report_.plan.table()),
        )
        return Found(labels, attributes, how, features)

    def predict(self, X: Any) -> IntArray:
        """Nearest cluster of each row in feature space, free of constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            If the kernel is precomputed, the kernel of these rows with the rows of the fit.
        """
        check_is_fitted(self)
        points = validate_data(self, sound(brought(X)), reset=False, dtype=np.float64)
        machine: Machine = self._machine
        matrix = self._matrix(self._kernel, points, self._sample, machine.rows, NEVER)
        return machine.nearest(matrix).astype(np.int32)

    @property
    def _name(self) -> str:
        """The kernel in words."""
        named = isinstance(self.kernel, str)
        return self.kernel if named else getattr(self.kernel, "__name__", repr(self.kernel))

    def _matrix(
        self,
        kernel: Kernel,
        points: FloatArray,
        sample: FloatArray,
        rows: IntArray,
        deadline: Deadline,
    ) -> FloatArray:
        """The kernel of points with the rows of a sample, (n, m)."""
        if self.kernel == "precomputed":
            return points[:, rows]
        return kernel(points, sample, deadline)

    def __sklearn_tags__(self) -> Any:
        """A precomputed kernel is cut in rows and columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def kernel_sample(n_rows: int, wanted: int | str | None, limit: float) -> int:
    """Number of rows whose kernel makes the feature vectors; all of them if these are exact.

    Parameters
    ----------
    n_rows : int
    wanted : int, "auto" or None
        What the user asks for; None is all rows.
    limit : float
        Time limit of the fit in seconds.
    """
    if wanted is None:
        return n_rows
    if wanted != "auto":
        return min(n_rows, int(wanted))
    slow = eigen_seconds(n_rows) > EIGEN_SHARE * limit
    return min(n_rows, NYSTROEM_ROWS) if slow or n_rows > EXACT_KERNEL_ROWS else n_rows


def eigen_seconds(n_rows: int) -> float:
    """Seconds that the eigendecomposition of a matrix takes, about."""
    return EIGEN_SECONDS * float(n_rows) ** 3


def _sample(task: Task, size: int) -> IntArray:
    """The rows whose kernel makes the feature vectors, in order; all or some that have weight."""
    if size == len(task.points):
        return np.arange(size)
    heavy = np.flatnonzero(task.weight > 0.0)
    return np.sort(task.random_state.choice(heavy, min(size, len(heavy)), replace=False))


def _means(task: Task, labels: IntArray) -> FloatArray:
    """Weighted means of the rows; of rows without weight, their plain mean."""
    means = np.full((task.n_clusters, task.points.shape[1]), np.nan)
    for j in np.unique(labels):
        own = labels == j
        weight = task.weight[own]
        means[j] = np.average(task.points[own], axis=0, weights=weight if weight.any() else None)
    return means


def _kmeans(task: Task, features: FloatArray) -> ConstrainedKMeans:
    """k-means under the rules on feature vectors."""
    seed = int(task.random_state.randint(np.iinfo(np.int32).max))
    options: Any = {"effort": task.effort, "time_limit": task.deadline.left}
    model = ConstrainedKMeans(task.n_clusters, random_state=seed, **options)
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(features, constraints=task.given, sample_weight=task.weight)
    except SolverTimeoutError as late:
        raise OutOfTime from late
    for warning in heard:
        # The fit says itself that its time limit ended it; other warnings are for its caller.
        if not str(warning.message).startswith("the fit was ended"):
            warnings.warn(warning.message, warning.category, stacklevel=4)
    return model
