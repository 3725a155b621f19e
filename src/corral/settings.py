"""How to solve: the estimator's parameters, checked, with the solver's defaults filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._typing import FloatArray, IntArray
from .deadline import Deadline

SOLVERS = ("projected", "algorithm1")
INITS = ("k-means++", "random")

#: What "auto" means for each solver.
AUTO: Mapping[str, Mapping[str, float]] = {
    "projected": {"tol": 1e-2, "rho": 1.0, "rho_growth": 1.03, "rho_every": 1},
    "algorithm1": {"tol": 1e-5, "rho": 20.0, "rho_growth": 1.1, "rho_every": 5},
}

#: Called once an iteration, as (iteration, objective, residual, rules broken).
Progress = Callable[[int, float, float, int], None]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The estimator's parameters, validated, with defaults filled in.

    ``hurries`` says that the growth of the penalty is left to the plan, ``relaxes`` that the
    labels of least violation are wanted where no labels obey the rules.
    """

    solver: str
    init: str | FloatArray | IntArray
    n_init: int | str
    max_iter: int
    tol: float
    rho: float
    rho_growth: float
    rho_every: int
    hurries: bool
    repair: bool
    relaxes: bool
    record_x: tuple[int, ...]
    max_samples: int | str | None
    n_jobs: int | None
    deadline: Deadline
    progress: Progress | None = None

    @property
    def coarse(self) -> bool:
        """Whether ADMM may see fewer groups and digits than there are: exact steps see all."""
        exact = self.repair and self.solver == "projected"
        return exact and not self.record_x and self.max_samples is not None

    @property
    def reorders(self) -> bool:
        """Whether sizes in a given order may be solved in any order and numbered at the end."""
        return self.repair and self.solver == "projected"

    def for_pilot(self) -> Settings:
        """How to solve a small sample of the problem: once, and without telling anyone."""
        once = replace(self, init="k-means++", n_init=1, max_samples=None)
        return replace(once, record_x=(), progress=None)


def make_settings(
    parameters: Mapping[str, Any], shape: tuple[int, int], progress: Progress | None = None
) -> Settings:
    """Check the parameters of the estimator against each other and the data.

    Parameters
    ----------
    parameters : mapping
        ``get_params()`` of the estimator.
    shape : (n_samples, n_features)
    progress : callable, optional
        Called once an iteration of ADMM.

    Raises
    ------
    ValueError, TypeError
        With the parameter, its value and what is allowed.
    """
    solver = _choice(parameters, "solver", SOLVERS)
    relaxes = _choice(parameters, "on_infeasible", ("raise", "relax")) == "relax"
    _flag(parameters, "repair")
    limit = _number(parameters, "time_limit", least=0.0)
    return Settings(
        solver=solver,
        init=_init(parameters["init"], shape, parameters["n_clusters"]),
        n_init=_auto_or_count(parameters, "n_init", "auto"),
        max_iter=_count(parameters, "max_iter"),
        tol=_auto_number(parameters, "tol", solver, least=0.0),
        rho=_auto_number(parameters, "rho", solver, above=0.0),
        rho_growth=_auto_number(parameters, "rho_growth", solver, least=1.0),
        rho_every=int(_auto_or_count(parameters, "rho_every", int(AUTO[solver]["rho_every"]))),
        hurries=solver == "projected"
        and isinstance(parameters["rho_growth"], str)
        and bool(parameters["repair"]),
        repair=parameters["repair"],
        relaxes=relaxes,
        record_x=_iterations(parameters["record_x"]),
        max_samples=None
        if parameters["max_samples"] is None
        else _auto_or_count(parameters, "max_samples", "auto"),
        n_jobs=_jobs(parameters["n_jobs"]),
        deadline=Deadline.after(limit),
        progress=progress,
    )


def check_n_clusters(n_clusters: Any, n_samples: int) -> None:
    """Raise unless there are enough samples for the clusters."""
    _count({"n_clusters": n_clusters}, "n_clusters")
    if n_samples < n_clusters:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters={n_clusters}: every cluster needs a "
            "sample."
        )


def _choice(parameters: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    value = parameters[name]
    if not isinstance(value, str) or value not in allowed:
        options = " or ".join(repr(option) for option in allowed)
        raise ValueError(f"`{name}` is {value!r}; it must be {options}.")
    return value


def _flag(parameters: Mapping[str, Any], name: str) -> None:
    if not isinstance(parameters[name], (bool, np.bool_)):
        raise ValueError(f"`{name}` is {parameters[name]!r}; it must be True or False.")


def _count(parameters: Mapping[str, Any], name: str) -> int:
    value = parameters[name]
    if not _whole(value) or value < 1:
        raise ValueError(f"`{name}` is {value!r}; it must be an integer of at least 1.")
    return int(value)


def _auto_or_count(parameters: Mapping[str, Any], name: str, auto: int | str) -> int | str:
    if isinstance(parameters[name], str):
        if parameters[name] == "auto":
            return auto
        raise ValueError(
            f'`{name}` is {parameters[name]!r}; it must be "auto" or an integer of at least 1.'
        )
    return _count(parameters, name)


def _number(
    parameters: Mapping[str, Any],
    name: str,
    *,
    least: float = -np.inf,
    above: float = -np.inf,
    other: str = "None",
) -> float | None:
    value = parameters[name]
    if value is None and other == "None":
        return None
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not np.isfinite(value) or value < least or value <= above:
        bound = f"above {above:g}" if above > -np.inf else f"of at least {least:g}"
        raise ValueError(f"`{name}` is {value!r}; it must be a finite number {bound}, or {other}.")
    return float(value)


def _auto_number(
    parameters: Mapping[str, Any],
    name: str,
    solver: str,
    *,
    least: float = -np.inf,
    above: float = -np.inf,
) -> float:
    if isinstance(parameters[name], str) and parameters[name] == "auto":
        return AUTO[solver][name]
    value = _number(parameters, name, least=least, above=above, other='"auto"')
    return AUTO[solver][name] if value is None else value


def _jobs(value: Any) -> int | None:
    """Number of processes as joblib understands it: negative ones count from the last core."""
    if value is None or (_whole(value) and value != 0):
        return value  # type: ignore[no-any-return]
    raise ValueError(f"`n_jobs` is {value!r}; it must be an integer other than 0, or None.")


def _iterations(values: Any) -> tuple[int, ...]:
    given = tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else None
    if given is None or not all(_whole(value) and value >= 1 for value in given):
        raise ValueError(f"`record_x` is {values!r}; it must hold integers of at least 1.")
    return tuple(int(value) for value in given)


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _init(init: Any, shape: tuple[int, int], n_clusters: int) -> str | FloatArray | IntArray:
    """The name of a start, or centres or labels as arrays."""
    if isinstance(init, str):
        return _choice({"init": init}, "init", INITS)
    given = np.asarray(init)
    if given.ndim == 2:
        return _init_centers(given, shape[1], n_clusters)
    if given.ndim == 1:
        return _init_labels(given, shape[0], n_clusters)
    raise ValueError(
        f"`init` has {given.ndim} dimensions; it must be 'k-means++', 'random', an array of "
        f"{n_clusters} centres or an array of {shape[0]} labels."
    )


def _init_centers(given: Any, n_features: int, n_clusters: int) -> FloatArray:
    if given.shape != (n_clusters, n_features):
        raise ValueError(
            f"`init` has shape {given.shape}; centres must have shape ({n_clusters}, {n_features})."
        )
    centers = as_floats(given, "init")
    if not np.isfinite(centers).all():
        row, column = np.argwhere(~np.isfinite(centers))[0]
        raise ValueError(
            f"`init` holds {centers[row, column]} at centre {row}, feature {column}; centres must "
            "be finite."
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
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` must hold numbers: {error}.") from error


def make_random_state(random_state: Any) -> np.random.RandomState:
    """A generator from the estimator's parameter.

    Raises
    ------
    ValueError
    """
    try:
        return check_random_state(random_state)  # type: ignore[no-any-return]
    except ValueError as error:
        raise ValueError(
            f"`random_state` is {random_state!r}; it must be None, an integer in [0, 2**32 - 1] or "
            "a RandomState."
        ) from error
