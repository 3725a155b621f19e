"""Sizes, totals and shares of the clusters against what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray
from ._style import BROKEN, COLOURS, INK, one_axes, panels, plain, whole_numbers
from .measures import Measure, checked_labels, measure_sizes, measure_totals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Half the width of a bar and of the mark of a bound.
HALF_BAR, HALF_MARK = 0.36, 0.46


def plot_sizes(
    labels: ArrayLike,
    constraints: Any = None,
    *,
    n_clusters: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the sizes of the clusters, and the bounds on them if there are any.

    A bar out of its bounds is hatched.  Bounds that are tied to no cluster are handed out so
    that the least is broken.

    Parameters
    ----------
    labels : (n_samples,) int array
    constraints : Constraint, iterable of them, or None
        Only those that are :class:`~corral.ClusterSizes` are shown.
    n_clusters : int, optional
        Needed only where the last clusters may be empty.
    ax : Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from corral import ClusterSizes
    >>> from corral.plots import plot_sizes
    >>> ax = plot_sizes([0, 0, 1], ClusterSizes(maximum=2))  # doctest: +SKIP
    """
    label, k = checked_labels(labels, n_clusters)
    axes = one_axes(ax)
    draw_measure(axes, measure_sizes(np.bincount(label, minlength=k), constraints))
    return axes


def plot_totals(
    labels: ArrayLike,
    constraints: Any,
    *,
    n_clusters: int | None = None,
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Draw the totals and shares of the clusters against their bounds, a panel each.

    Parameters
    ----------
    labels : (n_samples,) int array
    constraints : Constraint or iterable of them
        Only :class:`~corral.ClusterTotals` (one panel each) and :class:`~corral.GroupShares`
        (one panel for each group that has a bound) are shown.
    n_clusters : int, optional
        Needed only where the last clusters may be empty.
    ax : Axes or as many Axes as panels, optional
        Where to draw; the place of a single one is divided into the panels.  A new figure unless
        given.

    Returns
    -------
    array of Axes
        One for each panel.

    Raises
    ------
    ValueError
        If no total and no share is bounded.

    Examples
    --------
    >>> from corral import ClusterTotals
    >>> from corral.plots import plot_totals
    >>> panels = plot_totals([0, 1, 1], ClusterTotals([3, 4, 5], maximum=8))  # doctest: +SKIP
    """
    label, k = checked_labels(labels, n_clusters)
    measures = measure_totals(label, constraints, k)
    if not measures:
        raise ValueError("constraints hold no ClusterTotals and no GroupShares; nothing to draw.")
    axes = panels(ax, len(measures), columns=2, sharex=False)
    for place, measure in zip(axes, measures, strict=True):
        draw_measure(place, measure)
    return axes


def draw_measure(ax: Axes, measure: Measure) -> None:
    """A bar for each cluster, hatched where broken, and a mark for each bound."""
    clusters = np.arange(len(measure.values))
    values = np.nan_to_num(measure.values)
    for which, face, hatch in ((~measure.broken, COLOURS[0], ""), (measure.broken, BROKEN, "//")):
        ax.bar(
            clusters[which],
            values[which],
            2 * HALF_BAR,
            color=face,
            hatch=hatch,
            edgecolor="white",
            linewidth=0.0,
            label="out of bounds" if hatch and measure.broken.any() else None,
        )
    if np.array_equal(measure.lower, measure.upper):
        _draw_bound(ax, measure.upper, "exactly this", "solid")
    else:
        _draw_bound(ax, measure.lower, "minimum", "dotted")
        _draw_bound(ax, measure.upper, "maximum", "solid")
    _scale_y(ax, measure)
    ax.set_xlabel("cluster", color=INK, fontsize=9)
    whole_numbers(ax.xaxis)
    if len(clusters) <= 20:
        ax.set_xticks(clusters)
    plain(ax, measure.title)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=8, frameon=False, ncols=3, loc="upper right")


def _draw_bound(ax: Axes, bound: FloatArray, word: str, style: Any) -> None:
    """A short line across the bar of every cluster that has the bound."""
    where = np.flatnonzero(np.isfinite(bound))
    if len(where):
        ax.hlines(
            bound[where],
            where - HALF_MARK,
            where + HALF_MARK,
            colors=INK,
            linestyles=style,
            linewidth=2.0,
            label=word,
        )


def _scale_y(ax: Axes, measure: Measure) -> None:
    """From zero, or below it if need be, with room for the legend above."""
    seen = np.concatenate([measure.values, measure.lower, measure.upper, [0.0]])
    seen = seen[np.isfinite(seen)]
    low, high = float(seen.min()), float(seen.max())
    span = high - low or 1.0
    ax.set_ylim(low - (0.05 * span if low < 0 else 0.0), high + 0.22 * span)
