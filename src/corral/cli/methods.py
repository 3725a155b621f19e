"""``corral fit --method``: the estimators, and the options that each of them has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.core import ParameterSource

from .options import choice_option, stacked

if TYPE_CHECKING:
    from .._typing import FloatArray
    from .data import Points

#: Options that only some methods have, with the parameters of the estimators that they set; None
#: for those that set none.
OWN: dict[str, dict[str, str | None]] = {
    "kmeans": {
        "n_init": "n_init",
        "jobs": "n_jobs",
        "on_infeasible": "on_infeasible",
        "prove": "prove",
        "metric": "metric",
        "keep_best": None,
        "model": None,
    },
    "gaussian": {"covariance": "covariance"},
    "medoids": {"n_init": "n_init", "metric": "metric"},
    "kernel": {"kernel": "kernel", "gamma": "gamma"},
}


def read_gamma(ctx: click.Context, param: click.Parameter, value: str) -> float | str:
    """Read a number, or the word scale."""
    try:
        return value if value == "scale" else float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither scale nor a number.") from None


method_options = stacked(
    choice_option(
        "--method",
        tuple(OWN),
        "Means of equal width; Gaussians of their own width and direction; rows as centres and "
        "plain distances; or a kernel's means.",
    ),
    choice_option(
        "--covariance",
        ("auto", "full", "tied", "diag", "spherical"),
        "With --method gaussian: what widths and directions clusters may have.",
    ),
    choice_option(
        "--kernel",
        ("rbf", "linear", "poly", "sigmoid", "laplacian", "cosine", "chi2", "additive_chi2"),
        "With --method kernel: how similar two rows are.",
    ),
    click.option(
        "--gamma",
        callback=read_gamma,
        default="scale",
        show_default=True,
        metavar="NUMBER|scale",
        help="With --method kernel: how fast the similarity falls.",
    ),
)


def make_estimator(method: str, n_clusters: int | str, **values: Any) -> Any:
    """The estimator of a method, with the values of its options.

    Raises
    ------
    ValueError
        If an option was given that the method does not have.
    """
    from .. import (
        ConstrainedGaussianMixture,
        ConstrainedKernelKMeans,
        ConstrainedKMeans,
        ConstrainedKMedoids,
    )

    makers = {
        "kmeans": ConstrainedKMeans,
        "gaussian": ConstrainedGaussianMixture,
        "medoids": ConstrainedKMedoids,
        "kernel": ConstrainedKernelKMeans,
    }
    _refuse_others(method)
    own = {name: values[option] for option, name in OWN[method].items() if name is not None}
    common = {name: values[name] for name in ("effort", "time_limit")}
    return makers[method](n_clusters, random_state=values["seed"], **common, **own)


def _refuse_others(method: str) -> None:
    context = click.get_current_context()
    for option in sorted({name for own in OWN.values() for name in own} - set(OWN[method])):
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            others = " or ".join(other for other, own in OWN.items() if option in own)
            raise ValueError(
                f"--{option.replace('_', '-')} is not for --method {method}; it is for --method "
                f"{others}."
            )


def centers_of(model: Any, points: Points) -> FloatArray:
    """Centres of the clusters among the points: those of the model, or the means of its labels."""
    if hasattr(model, "cluster_centers_"):
        return np.asarray(model.cluster_centers_)
    weight = np.ones(len(points.X)) if points.weight is None else points.weight
    centers = np.zeros((model.n_clusters_, points.X.shape[1]))
    for j in np.unique(model.labels_):
        own = model.labels_ == j
        # A cluster whose rows all have no weight has their plain mean.
        share = weight[own] if weight[own].any() else None
        centers[j] = np.average(points.X[own], axis=0, weights=share)
    return centers


def as_lists(centers: FloatArray) -> list[list[float] | None]:
    """Centres for JSON; null for a cluster that has none because the rules leave it empty."""
    return [center.tolist() if np.isfinite(center).all() else None for center in centers]
