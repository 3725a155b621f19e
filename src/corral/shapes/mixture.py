"""ConstrainedGaussianMixture: Gaussian clusters under rules, and the choice of their covariance.

Starts are the answers of k-means under the same rules, of the points as they are and whitened.
Others come from simpler covariances, and from an answer without bounds on sums: sizes and totals
hold a descent where it is, and links alone often lead to the right shape.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import sound
from .._text import in_digits
from .._typing import BoolArray, FloatArray, IntArray
from ..constraints import CannotLink, ConstraintSet, MustLink
from ..deadline import OutOfTime
from ..exceptions import SolverTimeoutError
from ..inputs import brought, check_weights
from ..rules import Rules, presolve
from ..search.budget import Budget
from ..search.descent import Answer, Descender
from ..search.engine import Maker
from ..search.events import Events
from ..settings import COUNT, Limit, make_random_state
from ..solution import of_empty
from .base import FLOATS, Found, ShapedClustering, Tally, Task, kmeans_labels, searched
from .gaussian import COVARIANCES, Gaussians, GaussianShape, parameters_of, target_of


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
        otherwise the one whose fit has the least :meth:`bic`.  The answer is that fit, the same as
        with this kind given.  ``report_.how()`` says which and why.
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
    weights_ : (n_clusters,) array
        Shares of the clusters.
    means_ : (n_clusters, n_features) array
    covariances_ : array
        (k, d, d) for "full", (d, d) for "tied", (k, d) for "diag", (k,) for "spherical".
    precisions_ : array
        Their inverses, in the same shape.
    cluster_centers_ : (n_clusters, n_features) array
        The means.
    n_iter_ : int
        Answers that the search made: first ones, and variations of the best.
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
        starts = kmeans_starts(task)
        auto = self.covariance == "auto"
        kinds, why = likely_kinds(task) if auto else ((self.covariance,), "as given")
        chosen = best_kind(task, kinds, starts)
        kind, found = chosen.kind, chosen.answer
        task.events.note("clusters", f"Gaussian, covariance {kind!r}")
        task.events.note("covariance", "; ".join(filter(None, (why, chosen.why))))
        task.events.rows.extend(chosen.task.events.rows)
        clusters, labels = found.clusters, task.rules.to_rows(found.labels)
        sizes = np.bincount(labels, minlength=task.n_clusters)
        if empty := of_empty(sizes.tolist(), found.rules.sizes, task.deadline.passed):
            warnings.warn(empty, ConvergenceWarning, stacklevel=3)
        attributes = {
            "weights_": clusters.weights,
            "means_": clusters.means,
            "covariances_": clusters.covariances(kind),
            "precisions_": clusters.precisions(kind),
            "cluster_centers_": clusters.means.copy(),
            "n_iter_": chosen.task.tally.answers,
            "covariance_": kind,
            "_clusters": clusters,
        }
        return Found(labels, attributes, tuple(task.events.table()))

    def _default_limit(self, n_rows: int) -> float:
        """That of all fits: "auto" makes one for each kind."""
        return super()._default_limit(n_rows) * (
            len(COVARIANCES) if self.covariance == "auto" else 1
        )

    def predict(self, X: Any) -> IntArray:
        """Most likely cluster of each row, free of constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        labels: IntArray = self._densities(X)[0].argmax(axis=1).astype(np.int32)
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each cluster for each row, (n_samples, n_clusters)."""
        log, dtype = self._densities(X)
        shares: FloatArray = np.exp(log - logsumexp(log, axis=1, keepdims=True))
        return shares.astype(dtype, copy=False)

    def score_samples(self, X: Any) -> FloatArray:
        """Logarithm of the density of each row."""
        log, dtype = self._densities(X)
        found: FloatArray = logsumexp(log, axis=1)
        return found.astype(dtype, copy=False)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean logarithm of the density of the rows."""
        return float(logsumexp(self._densities(X)[0], axis=1).mean())

    def bic(self, X: Any, sample_weight: ArrayLike | None = None) -> float:
        """Bayesian information criterion of the mixture on X; lower is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two rows.
        """
        return self._criterion(X, sample_weight, bic_of)

    def aic(self, X: Any, sample_weight: ArrayLike | None = None) -> float:
        """Akaike's information criterion of the mixture on X; parameters as in :meth:`bic`."""
        return self._criterion(X, sample_weight, aic_of)

    def sample(self, n_samples: int = 1) -> tuple[FloatArray, IntArray]:
        """Draw rows from the mixture, by ``random_state``.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : (n_samples, n_features) array
            Cluster by cluster.
        labels : (n_samples,) int array
            The cluster of each row.
        """
        check_is_fitted(self)
        COUNT.check("n_samples", n_samples)
        clusters: Gaussians = self._clusters
        found, labels = clusters.drawn(int(n_samples), make_random_state(self.random_state))
        return found.astype(self.means_.dtype, copy=False), labels.astype(np.int32)

    def _criterion(
        self,
        X: Any,
        sample_weight: ArrayLike | None,
        of: Callable[[FloatArray, FloatArray, int], float],
    ) -> float:
        """A criterion of the densities, weights and number of free parameters."""
        log = self._densities(X)[0]
        weight = check_weights(sample_weight, len(log))
        free = parameters_of(self.covariance_, *self.means_.shape)
        return of(log, np.ones(len(log)) if weight is None else weight, free)

    def _densities(self, X: Any) -> tuple[FloatArray, Any]:
        """Log densities in double precision, and the precision of X."""
        check_is_fitted(self)
        given = validate_data(self, sound(brought(X)), reset=False, dtype=FLOATS)
        clusters: Gaussians = self._clusters
        return clusters.densities(given.astype(np.float64, copy=False)), given.dtype


#: Part of the time left that one start by k-means may take.  It only matters where the time limit
#: ends a fit; a larger part leaves less for the descents that follow.
START_SHARE = 0.3
#: Part of the time left that the fits without some links may take; the rest is for the fit.  It
#: only matters where the time limit ends a fit.
CHOICE_SHARE = 0.6
#: Parts in which links are held back in turn.  More parts keep more links for each fit, and take as
#: many more fits.  3, 5 and 10 parts: the same ARI on wine, iris and ionosphere, in 0.6, 1 and up
#: to 1.8 times the time; on Hepatitis 35, 35 and 48, two draws.
HELD_BACK_PARTS = 5
#: Links for each part from which those held back choose the covariance; with fewer, BIC does.  Not
#: measured.
HELD_BACK_EACH = 5
#: Times that the target of the shrinkage is taken from the answer before.  1, 3 and 6 give the same
#: ARI on wine, iris, ionosphere and Hepatitis; the time does not differ.
TARGET_ROUNDS = 3


def fit_gaussians(
    task: Task, kind: str, starts: Sequence[IntArray], *, children: bool = True
) -> Answer:
    """The best answer from starts, which are labels of the groups that obey the rules.

    Without ``children`` the answers of the makers are not varied, and nothing is noted.
    """
    makers = _makers(task, kind, starts)
    shape, quiet = _shape(task, kind, starts[0]), not children
    options: Any = {"children": children, "quiet": quiet}
    try:
        best = searched(task, task.rules, shape, makers, **options)
    except OutOfTime:
        if quiet:
            raise
        task.events.stopped(task.deadline, "the deadline")
        return _as_it_is(task.rules, shape, starts[0])
    for _ in range(TARGET_ROUNDS - 1):
        if task.deadline.passed:
            break
        known, again = best.labels, _shape(task, kind, best.labels)
        makers = iter([("the same answer", partial(np.copy, known))])
        best = searched(task, task.rules, again, makers, children=False, quiet=True)
        if np.array_equal(known, best.labels):
            break
    return best


def _as_it_is(rules: Rules, shape: GaussianShape, labels: IntArray) -> Answer:
    """Labels that obey the rules as an answer, where there is no time to improve them."""
    clusters = shape.clusters(labels)
    objective = shape.objective(labels, clusters) + rules.soft_cost(labels)
    return Answer(labels, clusters, objective, rules, None)


def _makers(task: Task, kind: str, starts: Sequence[IntArray]) -> Iterator[tuple[str, Maker]]:
    """Names and makers of labels, or of clusters where the labels do not obey all rules."""
    for number, start in enumerate(starts):
        name = "k-means" if number == 0 else "k-means of whitened points"
        yield name, partial(np.copy, start)
    own = _shape(task, kind, starts[0])

    def free(start: IntArray) -> Gaussians:
        return own.clusters(_descended(task, task.rules.pairs_only(), own, start))

    def with_simpler(simpler: str, start: IntArray) -> IntArray:
        return _descended(task, task.rules, _shape(task, simpler, start), start)

    for start in starts:
        if task.rules.bounded:
            yield "links alone", partial(free, start)
        for simpler in COVARIANCES[: COVARIANCES.index(kind)]:
            yield f"covariance {simpler!r}", partial(with_simpler, simpler, start)


def _descended(task: Task, rules: Rules, shape: GaussianShape, start: IntArray) -> IntArray:
    """Labels after a descent; those of the start if it gives no answer."""
    budget = Budget.of(shape.shape, rules.n_clusters, task.effort, task.deadline)
    found = Descender(rules, shape, budget, task.random_state).from_labels(start)
    return start if found is None else found.labels


def _shape(task: Task, kind: str, labels: IntArray) -> GaussianShape:
    """The shape with the target of some labels of the groups."""
    rows = task.rules.to_rows(labels)
    target = target_of(task.points, task.weight, rows, task.n_clusters)
    return GaussianShape(task.points, task.weight, task.rules, kind, target)


def kmeans_starts(task: Task) -> list[IntArray]:
    """Labels of the groups by k-means under the rules, of the points as they are and whitened.

    Whitened points have the same variance in all directions, so these labels do not depend on the
    scale of the features.
    """
    starts = [kmeans_labels(task, task.points, START_SHARE)]
    one = np.zeros(len(task.points), np.int64)
    factor = np.linalg.cholesky(target_of(task.points, task.weight, one, 1))
    with suppress(OutOfTime, SolverTimeoutError):
        white = solve_triangular(factor, task.points.T, lower=True).T
        starts.append(kmeans_labels(task, white, START_SHARE))
    return starts


def bic_of(log: FloatArray, weight: FloatArray, free: int) -> float:
    """Bayes's criterion of log densities (n, k), weights of the rows, and free parameters."""
    rows = float(np.log(max(weight.sum(), 1.0)))
    return float(-2.0 * weight @ logsumexp(log, axis=1)) + free * rows


def aic_of(log: FloatArray, weight: FloatArray, free: int) -> float:
    """Akaike's criterion of the same."""
    return float(-2.0 * weight @ logsumexp(log, axis=1)) + 2.0 * free


def likely_kinds(task: Task) -> tuple[tuple[str, ...], str]:
    """The kinds of covariance that most links speak for, and why in words.

    A link that is held back and obeyed all the same speaks for the kind.  Where links are few, all
    kinds are likely.
    """
    links = _Links.of(task.given)
    least = HELD_BACK_PARTS * HELD_BACK_EACH
    soon = replace(_again(task), deadline=task.deadline.share(CHOICE_SHARE))
    obeyed, asked = _obeyed(soon, links) if len(links) >= least else ({}, 0)
    if asked < least:
        return COVARIANCES, ""
    counts = ", ".join(f"{kind} {obeyed[kind]}" for kind in COVARIANCES)
    kinds = tuple(kind for kind in COVARIANCES if obeyed[kind] == max(obeyed.values()))
    return kinds, f"of {asked} links held back, obeyed: {counts}"


@dataclass(frozen=True)
class _Candidate:
    """The fit with one kind of covariance: its task, with the events, and its answer.

    ``why`` says why it was chosen.
    """

    kind: str
    task: Task
    answer: Answer
    why: str = ""

    @property
    def bic(self) -> float:
        """Bayes's criterion of the fit."""
        clusters: Gaussians = self.answer.clusters
        free = parameters_of(self.kind, *clusters.means.shape)
        return bic_of(clusters.densities(self.task.points), self.task.weight, free)

    @property
    def told(self) -> str:
        cut = ", ended by the time limit" if self.task.deadline.passed else ""
        return f"{self.kind} {in_digits(self.bic)}{cut}"


def best_kind(task: Task, kinds: Sequence[str], starts: Sequence[IntArray]) -> _Candidate:
    """The fit of least BIC; each is that of its kind alone, in an equal part of the time."""
    fits = []
    for number, kind in enumerate(kinds):
        own = replace(_again(task), deadline=task.deadline.share(1.0 / (len(kinds) - number)))
        answer = fit_gaussians(own, kind, starts)
        fits.append(_Candidate(kind, own, answer))
    if len(fits) == 1:
        return fits[0]
    told = "; ".join(fit.told for fit in fits)
    return replace(min(fits, key=lambda fit: fit.bic), why=f"least BIC: {told}")


def _again(task: Task) -> Task:
    """The same task with events of its own; all draw the same random numbers."""
    own = deepcopy(task.random_state)
    return replace(task, random_state=own, events=Events(task.events.clock), tally=Tally())


def _labels(task: Task, kind: str, starts: Sequence[IntArray]) -> IntArray:
    """Labels of the groups with one kind of covariance."""
    return fit_gaussians(task, kind, starts, children=False).labels


def _obeyed(task: Task, links: _Links) -> tuple[dict[str, int], int]:
    """How many of the links held back each kind obeys, and how many were asked for.

    The other links are the only rules: bounds on sums make a fit slow, and the shape of clusters
    does not depend on them.
    """
    obeyed, asked = dict.fromkeys(COVARIANCES, 0), 0
    for kept, held in links.parts(task.random_state):
        given = kept.as_rules()
        rules = presolve(given, len(task.points), task.n_clusters)
        part = replace(task, given=given, rules=rules)
        try:
            starts = kmeans_starts(part)
            fits = {kind: _labels(part, kind, starts) for kind in COVARIANCES}
        except (OutOfTime, SolverTimeoutError):
            break
        for kind, labels in fits.items():
            obeyed[kind] += held.obeyed_by(rules.to_rows(labels))
        asked += len(held)
    return obeyed, asked


@dataclass(frozen=True)
class _Links:
    """Hard links: pairs of rows, and whether these must be together."""

    pairs: IntArray
    together: BoolArray

    @classmethod
    def of(cls, given: ConstraintSet) -> _Links:
        must, cannot = (
            [rule.pairs for rule in given.hard.of_kind(kind)] for kind in (MustLink, CannotLink)
        )
        n_must = sum(map(len, must))
        pairs = np.concatenate([np.empty((0, 2), np.int64), *must, *cannot])
        return cls(pairs, np.arange(len(pairs)) < n_must)

    def __len__(self) -> int:
        return len(self.pairs)

    def parts(self, random_state: np.random.RandomState) -> Iterator[tuple[_Links, _Links]]:
        """Links to keep and links to hold back, in turn."""
        part = random_state.permutation(len(self)) % HELD_BACK_PARTS
        for number in range(HELD_BACK_PARTS):
            held = part == number
            yield self._some(~held), self._some(held)

    def _some(self, chosen: BoolArray) -> _Links:
        return _Links(self.pairs[chosen], self.together[chosen])

    def as_rules(self) -> ConstraintSet:
        """The links as constraints."""
        must, cannot = self.pairs[self.together], self.pairs[~self.together]
        return ConstraintSet([MustLink(must), CannotLink(cannot)])

    def obeyed_by(self, labels: IntArray) -> int:
        """How many of the links the labels of the rows obey."""
        same = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        return int(np.sum(same == self.together))
