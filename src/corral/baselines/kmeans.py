"""K-means that looks at no constraint."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from .._typing import FloatArray
from ..constraints import Constraint, ConstraintSet
from .base import COUNT, Answer, Baseline, limits


class PlainKMeans(Baseline):
    """scikit-learn's k-means with the face of the other baselines.

    Constraints of any kind are accepted and ignored; ``report_`` tells what the labels break.

    Parameters
    ----------
    n_clusters : int, default=8
    n_init : int, default=10
        Restarts from k-means++ seeds, of which the best is kept.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : (n_samples,) int array
    cluster_centers_ : (n_clusters, n_features) array
    n_iter_ : int
    report_ : Report

    Examples
    --------
    >>> from corral import MustLink
    >>> from corral.baselines import PlainKMeans
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> model = PlainKMeans(n_clusters=2, random_state=0).fit(X, constraints=MustLink([(1, 2)]))
    >>> model.report_.inertia, model.report_.feasible
    (1.0, False)
    """

    _kinds = (Constraint,)
    _soft = True
    _limits = limits(n_init=COUNT)

    def __init__(self, n_clusters: int = 8, *, n_init: int = 10, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.random_state = random_state

    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        found = KMeans(self.n_clusters, n_init=self.n_init, random_state=random_state).fit(X)
        attributes = {"cluster_centers_": found.cluster_centers_, "n_iter_": found.n_iter_}
        return Answer(found.labels_, attributes)
