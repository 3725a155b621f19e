"""How many clusters: fits under the same rules with several numbers of them, beside each other."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.utils import check_array

from ._arrays import sound
from ._text import in_digits
from ._typing import FloatArray
from .constraints import ConstraintSet
from .constraints.collection import rules_for
from .deadline import Deadline
from .estimator import ConstrainedKMeans
from .exceptions import InfeasibleConstraintsError, SolverTimeoutError
from .inputs import brought, check_weights
from .plots._style import BROKEN, GREY, colour, panels, plain, whole_numbers
from .settings import LIMITS, Limit, check_n_clusters, make_random_state

if TYPE_CHECKING:
    from matplotlib.axes import Axes


HEAD = ("clusters", "feasible", "inertia", "objective", "silhouette", "stability")
#: What the two criteria of the suggestion are called.
CRITERIA = {"silhouette": "silhouette", "stability": "stability over random parts of the rows"}


@dataclass(frozen=True)
class Candidate:
    """One number of clusters.

    Attributes
    ----------
    n_clusters : int
    feasible : bool or None
        Whether the rules can be obeyed; None if time ran out before that was decided.
    why : str
        Why they cannot, or what is not known; empty if nothing is missing.
    inertia, objective : float or None
        Of the fit; the objective has the prices of soft rules.
    silhouette : float or None
        Mean silhouette of the rows, or of some thousands of them; None for one cluster.
    stability : float or None
        Mean adjusted Rand index between this fit and fits of random parts of the rows.
    spread : float
        Standard deviation of the same over the parts.
    model : ConstrainedKMeans or None
    """

    n_clusters: int
    feasible: bool | None
    why: str = ""
    inertia: float | None = None
    objective: float | None = None
    silhouette: float | None = None
    stability: float | None = None
    spread: float = 0.0
    model: ConstrainedKMeans | None = field(default=None, repr=False, compare=False)

    @property
    def score(self) -> float:
        """Mean of silhouette and stability, of those that are known; infinitely low without."""
        known = [value for value in (self.silhouette, self.stability) if value is not None]
        return float(np.mean(known)) if self.feasible and known else -math.inf

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        word = {True: "yes", False: "no", None: "not decided"}[self.feasible]
        numbers = (self.inertia, self.objective, self.silhouette, self.stability)
        shown = ["" if value is None else in_digits(value) for value in numbers[:2]]
        shown += ["" if value is None else f"{value:.3f}" for value in numbers[2:]]
        return (str(self.n_clusters), word, *shown)


@dataclass(frozen=True, repr=False)
class Choice:
    """Several numbers of clusters and what speaks for each; printing it gives a table.

    Attributes
    ----------
    candidates : tuple of Candidate
        In increasing order of ``n_clusters``.
    n_clusters : int or None
        The number that is suggested; None if no number has an answer.
    suggestion : str
        The same in words.

    Examples
    --------
    >>> from corral import ClusterSizes, choose_n_clusters
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> print(choose_n_clusters(X, [1, 2], constraints=ClusterSizes(maximum=3), random_state=0))
    clusters  feasible  inertia  objective  silhouette  stability
           1        no
           2       yes        1          1       0.900      1.000
    <BLANKLINE>
    Suggestion: 2 clusters, the only number tried that has an answer. With 1: with maximum cluster \
size 3 the clusters hold at most 3 in all, but X has 4 samples.
    """

    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate | None:
        """The candidate that is suggested: the highest score, the smaller number of equals."""
        found = [each for each in self.candidates if each.feasible]
        return max(found, key=lambda each: (each.score, -each.n_clusters)) if found else None

    @property
    def n_clusters(self) -> int | None:
        """The number that is suggested; None if no number has an answer."""
        return None if self.best is None else self.best.n_clusters

    @property
    def suggestion(self) -> str:
        """What is suggested and why, and which numbers cannot obey the rules, in sentences."""
        return " ".join([*_advice(self), *_excluded(self.candidates)])

    def to_dict(self) -> dict[str, Any]:
        """Give all numbers as plain data, ready for JSON."""
        names = ("n_clusters", "feasible", "why", "inertia", "objective", "silhouette", "stability")
        rows = [{name: getattr(each, name) for name in names} for each in self.candidates]
        return {"n_clusters": self.n_clusters, "suggestion": self.suggestion, "candidates": rows}

    def plot(self, path: str | os.PathLike[str] | None = None, *, ax: Any = None) -> Any:
        """Draw inertia, silhouette and stability over the number of clusters.

        Parameters
        ----------
        path : path, optional
            Where to write the picture: .png, .pdf or .svg.
        ax : three Axes, optional
            Where to draw; a new figure unless given.
        """
        numbers = [each.n_clusters for each in self.candidates]
        curves = {
            name: [getattr(each, name) for each in self.candidates]
            for name in ("inertia", "silhouette", "stability")
        }
        closed = [each.n_clusters for each in self.candidates if each.feasible is False]
        spread = [each.spread for each in self.candidates]
        axes = plot_choice(numbers, curves, spread, closed, self.n_clusters, ax=ax)
        if path is not None:
            axes[0].figure.savefig(path, dpi=150)
        return axes

    def __str__(self) -> str:
        rows = [HEAD, *(each.cells() for each in self.candidates)]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, wide, strict=True))
            for row in rows
        ]
        return "\n".join([*(line.rstrip() for line in lines), "", self.suggestion])

    __repr__ = __str__


def _advice(choice: Choice) -> list[str]:
    """What is suggested, by which criteria, and which criteria say otherwise."""
    best = choice.best
    if best is None:
        open_ones = [each for each in choice.candidates if each.feasible is None]
        if open_ones:
            return ["No number of clusters is suggested: time ran out before there was an answer."]
        return ["No number of clusters is suggested: none of them can obey the rules."]
    noun = "1 cluster" if best.n_clusters == 1 else f"{best.n_clusters} clusters"
    able = [each for each in choice.candidates if each.feasible]
    if len(able) == 1:
        return [f"Suggestion: {noun}, the only number tried that has an answer."]
    leads, others = [], []
    for name, words in CRITERIA.items():
        known = [each for each in able if getattr(each, name) is not None]
        if not known:
            continue
        top = max(known, key=lambda each: (getattr(each, name), -each.n_clusters))
        value = getattr(top, name)
        if top is best:
            leads.append(f"the highest {words} ({value:.3f})")
        else:
            others.append(f"The {words} alone is highest with {top.n_clusters} ({value:.3f}).")
    if not (leads or others):
        return [f"Suggestion: {noun}, the smallest number; neither criterion is known."]
    means = "the highest mean of silhouette and stability"
    reason = " and ".join(leads) if leads and not others else means
    return [f"Suggestion: {noun}, with {reason}.", *others]


def _excluded(candidates: tuple[Candidate, ...]) -> list[str]:
    """Why numbers of clusters are infeasible or not decided, numbers with one reason together."""
    reasons: dict[str, list[int]] = {}
    for each in candidates:
        if each.why:
            reasons.setdefault(each.why, []).append(each.n_clusters)
    return [f"With {_listed(numbers)}: {_sentence(why)}" for why, numbers in reasons.items()]


def _listed(numbers: list[int]) -> str:
    """Numbers in words: ``2``, ``2 and 3``, ``2 to 5``, ``2, 4 and 7``."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


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
    dtypes = [np.float64, np.float32]
    points = check_array(sound(brought(X)), accept_sparse="csr", dtype=dtypes, input_name="X")
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
            candidate, stability=float(np.mean(agreement)), spread=float(np.std(agreement))
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


def plot_choice(
    numbers: Sequence[int],
    curves: Mapping[str, Sequence[float | None]],
    spread: Sequence[float],
    infeasible: Sequence[int],
    chosen: int | None,
    *,
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Draw a curve in each panel over the number of clusters.

    Parameters
    ----------
    numbers : numbers of clusters, in increasing order
    curves : mapping of name to values, None where one is not known
    spread : standard deviations of the last curve
    infeasible : numbers of clusters that cannot obey the rules; they are shaded
    chosen : the number that is suggested, marked in all panels; None for none
    ax : Axes, one for each curve, optional

    Returns
    -------
    array of Axes
    """
    axes = panels(ax, len(curves), columns=len(curves), sharex=True)
    for number, (place, (name, values)) in enumerate(zip(axes, curves.items(), strict=True)):
        known = [i for i, value in enumerate(values) if value is not None]
        x = [numbers[i] for i in known]
        y = [float(values[i] or 0.0) for i in known]
        last = number == len(curves) - 1
        bars = [spread[i] for i in known] if last else None
        place.errorbar(
            x, y, yerr=bars, color=colour(number), marker="o", markersize=5, capsize=3, zorder=3
        )
        for k in infeasible:
            place.axvspan(k - 0.5, k + 0.5, color=GREY, alpha=0.3, linewidth=0)
        if chosen is not None:
            place.axvline(chosen, color=BROKEN, linestyle="dashed", linewidth=1.2, zorder=2)
        plain(place, name, x="number of clusters")
        whole_numbers(place.xaxis)
        place.set_xlim(numbers[0] - 0.6, numbers[-1] + 0.6)
    _explain(axes[0], bool(len(infeasible)), chosen)
    top = [value for value in curves[next(iter(curves))] if value is not None]
    if top:
        axes[0].set_ylim(bottom=0.0, top=1.08 * float(np.max(top)) or 1.0)
    return axes


def _explain(place: Axes, shaded: bool, chosen: int | None) -> None:
    """A legend of what is not a curve."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown: list[Any] = []
    if chosen is not None:
        shown.append(Line2D([], [], color=BROKEN, linestyle="dashed", label=f"suggested: {chosen}"))
    if shaded:
        shown.append(Patch(color=GREY, alpha=0.3, label="rules cannot be obeyed"))
    if shown:
        place.legend(handles=shown, fontsize=8, frameon=False, loc="upper right")
