"""What the solver did, over its iterations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import IntArray
from ._style import LEGEND_CLUSTERS, colour, legend_columns, panels, plain, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..admm.history import History

#: Smallest residual that is drawn.  Smaller ones, zeros among them, would stretch the logarithmic
#: axis.
LEAST_RESIDUAL = 1e-12
#: Styles of the curves of one panel, in order, so that they differ in black and white too.
STYLES = ("solid", "dashed", "dashdot", "dotted")


def plot_convergence(
    history: Any, *, ax: Axes | Sequence[Axes] | NDArray[Any] | None = None
) -> NDArray[Any]:
    """Draw the objective, the residuals and the broken rules over the iterations.

    Parameters
    ----------
    history : ConstrainedKMeans or History
        A fitted model, or its ``history_``.
    ax : Axes or three Axes, optional
        Where to draw; the place of a single one is divided into the three panels.  A new figure
        unless given.

    Returns
    -------
    array of three Axes
        Objective, residuals (logarithmic), rules broken by the rounded x.

    Raises
    ------
    ValueError
        If there is no iteration to draw.

    Examples
    --------
    >>> from corral import ConstrainedKMeans
    >>> from corral.plots import plot_convergence
    >>> model = ConstrainedKMeans(n_clusters=2, random_state=0).fit([[0.0], [1.0], [5.0]])
    >>> axes = plot_convergence(model)  # doctest: +SKIP
    """
    history = _history(history)
    if not len(history):
        raise ValueError("the history has no iterations; nothing to draw.")
    axes = panels(ax, 3, columns=3, sharex=True)
    iterations = np.arange(1, len(history) + 1)
    _draw_curves(axes[0], iterations, {"objective": history.objective})
    shown = {
        name: np.where(values > LEAST_RESIDUAL, values, np.nan)
        for name, values in history.residuals.items()
        if np.max(values) > LEAST_RESIDUAL
    }
    _draw_curves(axes[1], iterations, shown)
    if shown:
        axes[1].set_yscale("log")
    broken = {
        "sizes (points to move)": history.card_violations,
        "must-links": history.must_link_violations,
        "cannot-links": history.cannot_link_violations,
    }
    _draw_curves(axes[2], iterations, broken)
    whole_numbers(axes[2].yaxis)
    axes[2].set_ylim(bottom=0.0)
    for place, title in zip(axes, ("objective", "residuals", "rules broken by x"), strict=True):
        plain(place, title, x="iteration")
    return axes


def plot_assignment(
    history: Any,
    *,
    order: ArrayLike | None = None,
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Draw the relaxed assignment x at the recorded iterations, as the paper does.

    A panel shows one iteration: for every cluster, in its colour, the share of each sample that is
    in it.  The shares become zero or one as the solver goes on.

    Parameters
    ----------
    history : ConstrainedKMeans or History
        A fitted model with ``record_x=`` set to the iterations of interest, or its ``history_``.
    order : (n_samples,) array, optional
        What to sort the samples by, such as ``labels_``; in their own order unless given.
    ax : Axes or as many Axes as panels, optional
        Where to draw; the place of a single one is divided into the panels.  A new figure unless
        given.

    Returns
    -------
    array of Axes
        One for each recorded iteration.

    Raises
    ------
    ValueError
        If no x was recorded.

    Examples
    --------
    >>> from corral import ConstrainedKMeans
    >>> from corral.plots import plot_assignment
    >>> model = ConstrainedKMeans(n_clusters=2, random_state=0, record_x=(1, 10))
    >>> model = model.fit([[0.0], [1.0], [5.0], [6.0]])
    >>> axes = plot_assignment(model)  # doctest: +SKIP
    """
    history = _history(history)
    if not history.x:
        raise ValueError("no x was recorded; fit with record_x=(1, 10, 50), say.")
    iterations = sorted(history.x)
    rows = _sorted_rows(order, len(history.x[iterations[0]]))
    axes = panels(ax, len(iterations), columns=2, sharex=True)
    for place, iteration in zip(axes, iterations, strict=True):
        x = history.x[iteration][rows]
        for cluster, piece in enumerate(x.T):
            place.plot(piece, ".", ms=3.5, color=colour(cluster), label=f"cluster {cluster}")
        place.set_ylim(min(-0.05, float(x.min()) - 0.05), max(1.05, float(x.max()) + 0.05))
        plain(place, f"x at iteration {iteration}", x="sample")
    if x.shape[1] <= LEGEND_CLUSTERS:
        above = {"loc": "lower left", "bbox_to_anchor": (0.3, 1)}
        axes[0].legend(fontsize=8, frameon=False, ncols=legend_columns(axes[0]), **above)
    return axes


def _history(given: Any) -> History:
    """The history of a fitted model, or the one given."""
    history = getattr(given, "history_", given)
    if not hasattr(history, "objective"):
        raise TypeError(
            f"{type(given).__name__} has no history; give a fitted ConstrainedKMeans or its "
            "history_."
        )
    return history  # type: ignore[no-any-return]


def _draw_curves(ax: Axes, iterations: IntArray, curves: dict[str, Any]) -> None:
    for number, (name, values) in enumerate(curves.items()):
        style, marker = STYLES[number % len(STYLES)], "o" if len(iterations) == 1 else None
        look: dict[str, Any] = {"color": colour(number), "linestyle": style, "marker": marker}
        ax.plot(iterations, values, linewidth=1.6, label=name, **look)
    if len(curves) > 1:
        ax.legend(fontsize=8, frameon=False)


def _sorted_rows(order: ArrayLike | None, n_samples: int) -> IntArray:
    key = np.arange(n_samples) if order is None else np.asarray(order)
    if key.shape != (n_samples,):
        raise ValueError(f"`order` has shape {key.shape}; it must be ({n_samples},), like x.")
    return np.argsort(key, kind="stable")
