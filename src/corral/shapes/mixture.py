"""ConstrainedGaussianMixture: Gaussian clusters under rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted, validate_data

from .._typing import FloatArray, IntArray
from ..settings import Limit
from .base import Found, ShapedClustering, Task
from .gaussian import COVARIANCES, Gaussians, parameters_of
from .gaussian_search import choose_covariance, fit_gaussians, kmeans_starts


@dataclass(eq=False, repr=False)
class ConstrainedGaussianMixture(ShapedClustering):
    """Clustering with Gaussian clusters that obeys rules.

    Clusters may have different widths and directions.  Each row belongs to one cluster (hard
    expectation maximisation), by the search of ``ConstrainedKMeans``.  Every answer obeys every
    hard constraint.

    Parameters
    ----------
    n_clusters : int or "fewest", default=8
        "fewest" is the least number for which the hard rules can be obeyed, proven.
    covariance : {"auto", "full", "tied", "diag", "spherical"}, default="auto"
        "full": one matrix a cluster; "tied": one for all; "diag": variances of the features;
        "spherical": one variance a cluster.  "auto" tries all of them.  If there are enough links,
        some are held back in turn, and the covariance whose clusters obey most of these is taken;
        otherwise the one of least BIC.  ``report_.how()`` says which and why.
    effort : float, default=1.0
        Factor of the work of the search.
    time_limit : float, default=None
        Seconds; as in ``ConstrainedKMeans``.
    random_state : int, RandomState or None, default=None
    verbose : bool or int, default=False

    Attributes
    ----------
    labels_ : (n_samples,) int array
    n_clusters_ : int
    weights_ : (n_clusters,) array
        Shares of the clusters.
    means_ : (n_clusters, n_features) array
    covariances_ : array
        (k, d, d) for "full", (d, d) for "tied", (k, d) for "diag", (k,) for "spherical".
    covariance_ : str
        The kind of covariance that was used.
    report_ : Report
        The audit; its inertia is that of k-means.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only for data frames.

    Notes
    -----
    Covariances are shrunk towards the pooled one, so that few rows in many features are no error;
    see :mod:`corral.shapes.gaussian`.

    Examples
    --------
    >>> import numpy as np
    >>> from corral import ClusterSizes, ConstrainedGaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate(
    ...     [rng.normal(0, (5, 0.2), (30, 2)), rng.normal((0, 3), (5, 0.2), (30, 2))]
    ... )
    >>> model = ConstrainedGaussianMixture(2, random_state=0)
    >>> labels = model.fit_predict(X, constraints=ClusterSizes([30, 30]))
    >>> len(set(labels[:30].tolist())), model.report_.feasible
    (1, True)
    """

    _limits: ClassVar[dict[str, Limit]] = {"covariance": Limit(None, words=("auto", *COVARIANCES))}

    covariance: str = "auto"

    def _search(self, task: Task) -> Found:
        kind, why, starts = self.covariance, "as given", kmeans_starts(task)
        if kind == "auto":
            kind, why = choose_covariance(task, starts)
        task.events.note("clusters", f"Gaussian, covariance {kind!r}")
        task.events.note("covariance", why)
        found = fit_gaussians(task, kind, starts)
        clusters = found.clusters
        attributes = {
            "weights_": clusters.weights,
            "means_": clusters.means,
            "covariances_": clusters.covariances(kind),
            "covariance_": kind,
            "_clusters": clusters,
        }
        return Found(task.rules.to_rows(found.labels), attributes, tuple(task.events.table()))

    def predict(self, X: Any) -> IntArray:
        """Most likely cluster of each row, free of constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        labels: IntArray = self._densities(X).argmax(axis=1).astype(np.int32)
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each cluster for each row, (n_samples, n_clusters)."""
        log = self._densities(X)
        shares: FloatArray = np.exp(log - logsumexp(log, axis=1, keepdims=True))
        return shares

    def score_samples(self, X: Any) -> FloatArray:
        """Logarithm of the density of each row."""
        log: FloatArray = logsumexp(self._densities(X), axis=1)
        return log

    def score(self, X: Any, y: Any = None) -> float:
        """Mean logarithm of the density of the rows."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion of the mixture on X; lower is better."""
        log = self.score_samples(X)
        free = parameters_of(self.covariance_, *self.means_.shape)
        return float(-2.0 * log.sum() + free * np.log(len(log)))

    def _densities(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
        clusters: Gaussians = self._clusters
        return clusters.densities(points)
