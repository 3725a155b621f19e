"""How many clusters: fits under the same rules with several numbers of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.utils import check_array

from .._typing import FloatArray
from ..constraints import ConstraintSet
from ..constraints.collection import rules_for
from ..deadline import Deadline
from ..estimator import ConstrainedKMeans
from ..exceptions import InfeasibleConstraintsError, SolverTimeoutError
from ..inputs import check_weights
from ..settings import LIMITS, Limit, check_n_clusters, make_random_state
from .choice import Candidate, Choice

__all__ = ["Candidate", "Choice", "choose_n_clusters"]
#: Random parts of the rows that an answer is compared with when a number of clusters is chosen, and
#: the share of the rows in each.  More parts give a less noisy stability and take longer; smaller
#: shares change the clusters more.  Not measured: 80 % is the usual share in the literature.
SUBSAMPLES, STABILITY_SHARE = 4, 0.8
#: Rows of which the silhouette is computed, at most.  It takes time and memory that grow with their
#: square: 2,000 rows x 10 take 0.03 s, 4,000 take 0.2 s.
SILHOUETTE_ROWS = 2_000


def choose_n_clusters(
    X: Any,
    n_clusters: Iterable[int],
    *,
    constraints: Any = None,
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = None,
    random_state: Any = None,
    n_subsamples: int = SUBSAMPLES,
    **parameters: Any,
) -> Choice:
    """Fit under the same rules with several numbers of clusters, and compare the answers.

    Parameters
    ----------
    X : array-like, data frame or CSR of shape (n_samples, n_features)
    n_clusters : iterable of int
        The numbers to try, such as ``range(2, 9)``.
    constraints : Constraint, iterable of them, or None
        Rules that are made for one number of clusters, such as a list of sizes, exclude the others.
    sample_weight : array-like of shape (n_samples,), optional
    time_limit : float, default=None
        Seconds for all fits together.  When it is over, what is not known yet stays empty.
    random_state : int, RandomState or None, default=None
    n_subsamples : int, default=4
        Random parts of the rows that each answer is compared with, for the stability; 0 for none.
    **parameters
        Other parameters of :class:`ConstrainedKMeans`.

    Returns
    -------
    Choice

    Examples
    --------
    >>> from corral import ClusterSizes, choose_n_clusters
    >>> X = [[0.0], [1.0], [9.0], [10.0], [20.0], [21.0]]
    >>> rules = ClusterSizes(maximum=3)
    >>> found = choose_n_clusters(X, range(1, 5), constraints=rules, random_state=0)
    >>> found.n_clusters
    3
    """
    LIMITS["time_limit"].check("time_limit", time_limit)
    Limit(Integral, least=0).check("n_subsamples", n_subsamples)
    deadline, (rules, _) = Deadline.after(time_limit), rules_for(X, constraints)
    points = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    numbers = sorted({check_n_clusters(k, points.shape[0]) for k in n_clusters})
    if not numbers:
        raise ValueError("`n_clusters` is empty; give one number at least, such as range(2, 9).")
    weight = check_weights(sample_weight, points.shape[0])
    seed = int(make_random_state(random_state).randint(np.iinfo(np.int32).max))
    search = _Search(points, rules, weight, seed, parameters, deadline)
    first = [search.fitted(k, len(numbers) - place) for place, k in enumerate(numbers)]
    able = sum(each.model is not None for each in first)
    found = []
    for each in first:
        if each.model is None or not n_subsamples:
            found.append(each)
            continue
        found.append(search.compared(each, n_subsamples, able * n_subsamples))
        able -= 1
    return Choice(tuple(found))


@dataclass(frozen=True)
class _Search:
    """Fits of the same points under the same rules, all of them before one deadline."""

    points: Any
    rules: ConstraintSet
    weight: FloatArray | None
    seed: int
    parameters: dict[str, Any]
    deadline: Deadline

    def fitted(self, k: int, left: int) -> Candidate:
        """The answer with k clusters; ``left`` fits share half of the time that is left."""
        rows = np.arange(self.points.shape[0])
        try:
            self.rules.check(len(rows), k)
        except ValueError as misfit:
            return Candidate(k, False, f"the rules are not for that number: {misfit}")
        if self.deadline.passed:
            return Candidate(k, None, "time ran out before it was tried.")
        try:
            model = self._fit(k, rows, self.rules, 2 * left)
        except InfeasibleConstraintsError as clash:
            return Candidate(k, False, str(clash))
        except SolverTimeoutError as late:
            return Candidate(k, None, str(late))
        found = Candidate(k, True, inertia=model.inertia_, model=model)
        return replace(
            found, objective=model.report_.objective, silhouette=self._silhouette(model.labels_)
        )

    def compared(self, candidate: Candidate, number: int, left: int) -> Candidate:
        """The candidate with its stability over random parts of the rows."""
        n, model = self.points.shape[0], candidate.model
        rng, agreement = np.random.default_rng(self.seed), []
        why = ""
        for part in range(number):
            rows = np.sort(rng.choice(n, max(int(STABILITY_SHARE * n), 1), replace=False))
            if len(rows) < candidate.n_clusters or model is None:
                why = "the stability is not known: a part has fewer rows than clusters."
                break
            if self.deadline.passed:
                why = "time ran out before the stability was known."
                break
            try:
                there = self.rules.subset(rows)
                again = self._fit(candidate.n_clusters, rows, there, left - part)
            except (ValueError, SolverTimeoutError) as failure:
                why = f"the stability is not known: {failure}"
                break
            agreement.append(adjusted_rand_score(model.labels_[rows], again.labels_))
        if not agreement:
            return replace(candidate, why=why)
        return replace(
            candidate,
            stability=float(np.mean(agreement)),
            spread=float(np.std(agreement)),
        )

    def _fit(self, k: int, rows: Any, rules: ConstraintSet, left: int) -> ConstrainedKMeans:
        """A fit of some rows that leaves time for the others, of which so many are left."""
        options = dict(self.parameters)
        if self.deadline.finite:
            options["time_limit"] = max(self.deadline.left / left, 1e-3)
        weight = None if self.weight is None else self.weight[rows]
        model = ConstrainedKMeans(k, random_state=self.seed, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a fit was cut short; the table says so
            return model.fit(self.points[rows], constraints=rules, sample_weight=weight)

    def _silhouette(self, labels: Any) -> float | None:
        """Mean silhouette of the rows, or of some of many; None unless clusters differ."""
        rng, n = np.random.default_rng(self.seed), len(labels)
        rows = np.arange(n)
        if n > SILHOUETTE_ROWS:
            rows = np.sort(rng.choice(n, SILHOUETTE_ROWS, replace=False))
        if not 1 < len(np.unique(labels[rows])) < len(rows):
            return None
        metric = self.parameters.get("metric", "euclidean")
        points = self.points[rows]
        if metric == "haversine":  # scikit-learn takes it in radians
            points = np.radians(points)
        return float(silhouette_score(points, labels[rows], metric=metric))
