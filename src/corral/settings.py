"""How to solve: the estimator's parameters, checked, with the solver's defaults filled in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._arrays import sound
from ._scale import NO_SCALE, Scale, largest, times
from ._text import shown
from ._typing import FloatArray, IntArray
from .deadline import Deadline
from .numbers import COARSE, COARSE_EACH, FIT_SECONDS, TIMED_ROWS
from .progress import QUIET, Reporter

#: What "auto" means for each solver.
AUTO: Mapping[str, Mapping[str, float]] = {
    "projected": {"tol": 1e-2, "rho": 1.0, "rho_growth": 1.03, "rho_every": 1},
    "algorithm1": {"tol": 1e-5, "rho": 20.0, "rho_growth": 1.1, "rho_every": 5},
}


@dataclass(frozen=True)
class Limit:
    """Allowed values of a parameter: some words (or None), and finite numbers of one type.

    Numbers are above ``above`` and from ``least`` to ``most``.  If ``number`` is None, only the
    words are allowed.
    """

    number: type[Any] | None = Real
    least: float = -np.inf
    above: float = -np.inf
    most: float = np.inf
    words: tuple[str | None, ...] = ()

    def check(self, name: str, value: Any) -> None:
        """Raise ``ValueError`` with the parameter, its value and what is allowed."""
        if value is None or isinstance(value, str):
            right = value in self.words
        else:
            number = self.number is not None and isinstance(value, self.number)
            right = number and not isinstance(value, bool) and self._holds(value)
        if not right:
            huge = "" if self._fits(value) else " that fits into 64 bits"
            raise ValueError(f"`{name}` is {shown(value)}; it must be {self._allowed()}{huge}.")

    def _fits(self, value: Any) -> bool:
        """Whether a number is a float, or an integer of 64 bits; True for anything else."""
        if not isinstance(value, Real) or value in (np.inf, -np.inf) or value != value:
            return True
        try:
            most = np.iinfo(np.int64).max if self.number is Integral else np.inf
            return abs(float(value)) < most
        except OverflowError:
            return False

    def _holds(self, value: Any) -> bool:
        inside = self.above < value < np.inf and self.least <= value <= self.most
        return bool(inside and self._fits(value))

    def _allowed(self) -> str:
        options = [repr(word) for word in self.words]
        if self.number is not None:
            noun = "an integer" if self.number is Integral else "a finite number"
            bound = (
                f"above {self.above:g}" if self.above > -np.inf else f"of at least {self.least:g}"
            )
            if self.most < np.inf:
                bound = f"from {self.least:g} up to {self.most:g}"
            options.append(f"{noun} {bound}")
        return " or ".join(options)


COUNT = Limit(Integral, least=1)
POSITIVE = Limit(above=0.0)
NOT_NEGATIVE = Limit(least=0.0)

#: Parameters of the estimator whose values can be checked one by one.
LIMITS = {
    "metric": Limit(None, words=("euclidean", "cosine", "haversine")),
    "solver": Limit(None, words=("projected", "algorithm1", "exact")),
    "on_infeasible": Limit(None, words=("raise", "relax")),
    "n_init": replace(COUNT, words=("auto",)),
    "max_iter": COUNT,
    "tol": replace(NOT_NEGATIVE, words=("auto",)),
    "rho": replace(POSITIVE, words=("auto",)),
    "rho_growth": Limit(least=1.0, words=("auto",)),
    "rho_every": replace(COUNT, words=("auto",)),
    "max_samples": replace(COUNT, words=("auto", None)),
    "time_limit": replace(NOT_NEGATIVE, words=(None,)),
    "effort": POSITIVE,
    "prove": replace(NOT_NEGATIVE, words=(None,)),
}
#: Largest magnitude of given centres, in the unit of the points: the sum of squares is a float.
FARTHEST = 2.0**100
INIT = Limit(None, words=("k-means++", "random"))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The estimator's parameters, validated, with defaults filled in.

    ``relaxes`` says that the labels of least violation are wanted where no labels obey the rules.
    ``exact`` says that the search goes on until the answer is proven optimal; ``prove`` is the time
    for a bound.  ``limited`` says that the user gave a time limit.
    """

    solver: str
    init: str | FloatArray | IntArray
    n_init: int | str
    max_iter: int
    tol: float
    rho: float
    rho_growth: float
    rho_every: int
    repair: bool
    relaxes: bool
    record_x: tuple[int, ...]
    max_samples: int | str | None
    exact: bool
    prove: float | None
    limited: bool
    effort: float
    deadline: Deadline
    progress: Reporter = QUIET

    @property
    def reorders(self) -> bool:
        """Whether sizes in a given order may be solved in any order and numbered at the end."""
        return self.repair and self.solver == "projected"

    @property
    def ended(self) -> str:
        """What ended the fit, in words: a request of the callback, or the time limit."""
        if self.deadline.stopped:
            return "on request"
        return f"by the time limit of {self.deadline.limit:.3g} s" if self.deadline.passed else ""

    @property
    def proves(self) -> bool:
        """Whether a lower bound is wanted with the answer."""
        return self.exact or self.prove is not None

    def in_units(self, scale: Scale, taken: Callable[[FloatArray], FloatArray]) -> Settings:
        """The same with given centres, and the objectives of the progress, as the solvers see them.

        ``taken`` puts centres where the metric has them.
        """
        if scale != NO_SCALE:
            self.progress.unit = lambda objective: float(times(np.float64(objective), scale.cost))
        if isinstance(self.init, str) or self.init.ndim != 2:
            return self
        return replace(self, init=taken(_near(times(self.init, -scale.points), scale)))

    def for_part(self, groups: IntArray, rules: Any) -> Settings:
        """How to solve some of the groups: their answers are no progress of the whole.

        Labels to start from are those of the groups.
        """
        init: Any = self.init
        if not isinstance(init, str) and init.ndim == 1:
            init = init[groups] if rules.group is None else init[rules.first_rows[groups]]
        return replace(self, progress=QUIET, init=init)

    def for_branch(self) -> Settings:
        """How to solve a branch of an exact search: without progress or records."""
        start: Any = {"init": "k-means++", "n_init": 1}
        return replace(self, progress=QUIET, **start, record_x=())


def make_settings(
    parameters: Mapping[str, Any], shape: tuple[int, int], callback: Any = None
) -> Settings:
    """Check the parameters of the estimator against each other and the data.

    ``parameters`` is ``get_params()`` of the estimator, ``shape`` is (n_samples, n_features).
    ``callback`` is told of the progress; the deadline, which can stop the fit, begins here.

    Raises
    ------
    ValueError, TypeError
        With the parameter, its value and what is allowed.
    """
    for name, limit in LIMITS.items():
        limit.check(name, parameters[name])
    repair, exact = parameters["repair"], parameters["solver"] == "exact"
    solver = "projected" if exact else parameters["solver"]
    if not isinstance(repair, (bool, np.bool_)):
        raise ValueError(f"`repair` is {repair!r}; it must be True or False.")
    filled = {
        name: float(default if isinstance(parameters[name], str) else parameters[name])
        for name, default in AUTO[solver].items()
    }
    _check_metric(parameters)
    _check_jobs(parameters["n_jobs"])
    progress = Reporter(callback, parameters["time_limit"])
    return Settings(
        solver=solver,
        init=_init(parameters["init"], shape, int(parameters["n_clusters"])),
        n_init=_plain(parameters["n_init"]),
        max_iter=int(parameters["max_iter"]),
        tol=filled["tol"],
        rho=filled["rho"],
        rho_growth=filled["rho_growth"],
        rho_every=int(filled["rho_every"]),
        repair=bool(repair),
        relaxes=parameters["on_infeasible"] == "relax",
        record_x=_iterations(parameters["record_x"]),
        max_samples=_plain(parameters["max_samples"]),
        exact=exact,
        prove=parameters["prove"],
        limited=parameters["time_limit"] is not None,
        effort=float(parameters["effort"]),
        deadline=progress.deadline,
        progress=progress,
    )


def _check_metric(parameters: Mapping[str, Any]) -> None:
    """Raise ValueError for what only squared Euclidean distances have."""
    metric = parameters["metric"]
    if metric == "euclidean":
        return
    if parameters["solver"] != "projected":
        raise ValueError(
            f"`solver` is {parameters['solver']!r} and `metric` is {metric!r}; solvers other than "
            "'projected' take metric='euclidean' alone."
        )
    if parameters["prove"] is not None:
        raise ValueError(
            f"`prove` is {parameters['prove']!r} and `metric` is {metric!r}; lower bounds are "
            "known for metric='euclidean' alone."
        )


def check_n_clusters(n_clusters: Any, n_samples: int) -> int:
    """The number of clusters as an int; raises unless there are enough samples for it."""
    COUNT.check("n_clusters", n_clusters)
    if n_samples < n_clusters:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters={n_clusters}: every cluster needs a "
            "sample."
        )
    return int(n_clusters)


def _plain(value: Any) -> Any:
    """A NumPy integer as an int; words stay."""
    return int(value) if isinstance(value, Integral) else value


def _check_jobs(value: Any) -> None:
    """Raise for a wrong number of processes, and warn of any other, which has no effect."""
    if value is None:
        return
    if not _whole(value) or value == 0:
        raise ValueError(f"`n_jobs` is {value!r}; it must be an integer other than 0, or None.")
    message = "`n_jobs` is deprecated and has no effect; leave it out."
    warnings.warn(message, FutureWarning, stacklevel=4)


def _iterations(values: Any) -> tuple[int, ...]:
    given = tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else None
    if given is None or not all(_whole(value) and value >= 1 for value in given):
        raise ValueError(f"`record_x` is {values!r}; it must hold integers of at least 1.")
    return tuple(int(value) for value in given)


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def called_init(init: Any, X: Any, n_clusters: int, random_state: np.random.RandomState) -> Any:
    """What a callable ``init`` gives, called as scikit-learn does; anything else as it is."""
    return init(X, n_clusters, random_state=random_state) if callable(init) else init


def _init(init: Any, shape: tuple[int, int], n_clusters: int) -> str | FloatArray | IntArray:
    """The name of a start, or centres or labels as arrays."""
    if isinstance(init, str):
        INIT.check("init", init)
        return init
    given = np.asarray(sound(init, "`init`"))
    if given.ndim == 2:
        return check_centers(given, (n_clusters, shape[1]))
    if given.ndim == 1:
        return _init_labels(given, shape[0], n_clusters)
    raise ValueError(
        f"`init` has {given.ndim} dimensions; it must be 'k-means++', 'random', an array of "
        f"{n_clusters} centres or an array of {shape[0]} labels."
    )


def check_centers(given: Any, shape: tuple[int, int]) -> FloatArray:
    """The first centres that a parameter ``init`` holds: finite numbers of this shape."""
    centers = as_floats(given, "init")
    if centers.shape != shape:
        raise ValueError(f"`init` has shape {centers.shape}; centres must have shape {shape}.")
    if not np.isfinite(centers).all():
        row, column = np.argwhere(~np.isfinite(centers))[0]
        raise ValueError(
            f"`init` holds {centers[row, column]} at centre {row}, feature {column}; centres must "
            "be finite."
        )
    return centers


def _near(centers: FloatArray, scale: Scale) -> FloatArray:
    """Centres in the units of the points; ValueError if their squares would be no floats."""
    size = largest(centers)
    if not size <= FARTHEST:
        unit = times(np.float64(1.0), scale.points)
        raise ValueError(
            f"`init` has magnitudes up to {size * unit:.3g}, too far from the rows of X to square "
            f"the distance; the largest may be {FARTHEST * unit:.3g}."
        )
    return centers


def _init_labels(given: Any, n_samples: int, n_clusters: int) -> IntArray:
    if given.shape != (n_samples,):
        raise ValueError(
            f"`init` has {len(given)} labels, but X has {n_samples} samples; there must be one "
            "label a sample."
        )
    if not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"`init` has dtype {given.dtype}; labels must be integers.")
    outside = np.flatnonzero((given < 0) | (given >= n_clusters))
    if len(outside):
        raise ValueError(
            f"`init` gives sample {outside[0]} the label {given[outside[0]]}; labels must lie in "
            f"[0, {n_clusters - 1}]."
        )
    labels: IntArray = given.astype(np.int64)
    return labels


def as_floats(values: Any, name: str) -> FloatArray:
    """An array of float64, or an error that names the parameter."""
    sound(values, f"`{name}`")
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` must hold numbers: {error}.") from error


def make_random_state(random_state: Any) -> np.random.RandomState:
    """A generator from the estimator's parameter; ``ValueError`` with what is allowed."""
    try:
        return check_random_state(random_state)  # type: ignore[no-any-return]
    except ValueError as error:
        raise ValueError(
            f"`random_state` is {shown(random_state)}; it must be None, an integer in "
            "[0, 2**32 - 1] or a RandomState."
        ) from error


def with_limit(settings: Settings, n_rows: int) -> Settings:
    """The settings with a default limit, if the user gave none and the search is not exact."""
    if settings.limited or settings.exact:
        return settings
    return replace(settings, deadline=settings.deadline.limited(default_limit(n_rows)))


def default_limit(n_rows: int) -> float:
    """Seconds that a fit of so many rows may take if the user gave no limit."""
    return FIT_SECONDS * max(1.0, n_rows / TIMED_ROWS) ** 2


def coarse_groups(n_clusters: int) -> int:
    """Groups of the coarse level: of more, a sample is searched first."""
    return max(COARSE, COARSE_EACH * n_clusters)
