"""Sizes, totals and shares of the clusters and what is allowed: the numbers and their pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints import ClusterSizes, ClusterTotals, ConstraintSet, GroupShares
from ..constraints._checks import sums_by
from ..constraints.clusters import ClusterNames, called, read_cluster_names
from ..constraints.sizes import best_order
from ._style import (
    BROKEN,
    COLOURS,
    INK,
    checked_labels,
    inches,
    legend_columns,
    one_axes,
    panels,
    plain,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Half the width of a bar and of the mark of a bound, where clusters are 1 apart.
HALF_BAR, HALF_MARK = 0.36, 0.46
#: Most bars with names, most characters of a name, and characters to an inch of the axis.
NAMED_BARS, LONGEST, BAR_CHARACTERS = 40, 16, 11.0
#: Most characters in a line of a title: more would not fit over a panel.
TITLE_WIDTH = 44


@dataclass(frozen=True, eq=False)
class Measure:
    """One number for each of the k clusters, and what is allowed."""

    title: str
    values: FloatArray  # NaN where a cluster has none, such as the share in an empty cluster
    lower: FloatArray  # infinite where there is no bound
    upper: FloatArray  # infinite where there is no bound
    broken: BoolArray

    @property
    def bounded(self) -> bool:
        """Whether some cluster has a bound."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    @property
    def differs(self) -> bool:
        """Whether clusters have different bounds."""
        return any(bool(np.any(bound != bound[:1])) for bound in (self.lower, self.upper))


def plot_sizes(
    labels: ArrayLike,
    constraints: Any = None,
    *,
    n_clusters: int | None = None,
    ax: Axes | None = None,
    names: Sequence[str] | None = None,
) -> Axes:
    """Draw the sizes of the clusters, and the bounds on them if there are any.

    A bar out of its bounds is hatched.  Bounds that may go to any cluster are given to the
    clusters so that as little as possible is broken.

    Parameters
    ----------
    labels : (n_samples,) int array
    constraints : Constraint, iterable of them, or None
        Only those that are :class:`~corral.ClusterSizes` are shown.
    n_clusters : int, optional
        Needed only where the last clusters may be empty.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    names : sequence of str, optional
        Names of the clusters.

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
    axes, names = one_axes(ax), read_cluster_names(names, k)
    rules = ConstraintSet(constraints).resolve_clusters(names)
    draw_measure(axes, measure_sizes(np.bincount(label, minlength=k), rules), names)
    return axes


def plot_totals(
    labels: ArrayLike,
    constraints: Any,
    *,
    n_clusters: int | None = None,
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
    names: Sequence[str] | None = None,
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
    ax : Axes or sequence of Axes, optional
        One for each panel, or a single one whose place is divided into the panels; a new figure
        unless given.
    names : sequence of str, optional
        Names of the clusters.

    Returns
    -------
    array of Axes
        The panels.

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
    names = read_cluster_names(names, k)
    measures = measure_totals(label, ConstraintSet(constraints).resolve_clusters(names), k, names)
    if not measures:
        raise ValueError("constraints hold no ClusterTotals and no GroupShares; nothing to draw.")
    axes = panels(ax, len(measures), columns=2, sharex=False)
    for place, measure in zip(axes, measures, strict=True):
        draw_measure(place, measure, names)
    return axes


def draw_measure(ax: Axes, measure: Measure, names: Sequence[str] | None = None) -> None:
    """A bar for each cluster, hatched where broken, and a mark for each bound."""
    clusters = np.arange(len(measure.values))
    values = np.nan_to_num(measure.values)
    for which, face, hatch in ((~measure.broken, COLOURS[0], ""), (measure.broken, BROKEN, "//")):
        name = "out of bounds" if hatch and which.any() else None
        look: dict[str, Any] = {"color": face, "hatch": hatch, "edgecolor": "white"}
        ax.bar(clusters[which], values[which], 2 * HALF_BAR, label=name, linewidth=0.0, **look)
    if np.array_equal(measure.lower, measure.upper):
        _draw_bound(ax, measure.upper, "exactly this", "solid")
    else:
        _draw_bound(ax, measure.lower, "minimum", "dotted")
        _draw_bound(ax, measure.upper, "maximum", "solid")
    _scale_y(ax, measure)
    plain(ax, fill(measure.title, TITLE_WIDTH), x="cluster")
    whole_numbers(ax.xaxis)
    if names is not None and len(clusters) <= NAMED_BARS:
        _name_bars(ax, clusters, names)
    elif len(clusters) <= 20:
        ax.set_xticks(clusters)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=8, frameon=False, ncols=legend_columns(ax), loc="upper right")


def _name_bars(ax: Axes, clusters: IntArray, names: Sequence[str]) -> None:
    """Names below the bars, turned where they would overlap."""
    short = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in names]
    room = BAR_CHARACTERS * inches(ax)[0] / len(clusters)
    ax.set_xticks(clusters, short)
    if max(map(len, short)) > room:
        for text in ax.get_xticklabels():
            text.set(rotation=40, ha="right", rotation_mode="anchor")
    ax.set_xlabel("")


def _draw_bound(ax: Axes, bound: FloatArray, word: str, style: Any) -> None:
    """A short line across the bar of every cluster that has the bound."""
    where = np.flatnonzero(np.isfinite(bound))
    look = {"colors": INK, "linestyles": style, "linewidth": 2.0, "label": word}
    if len(where):
        ax.hlines(bound[where], where - HALF_MARK, where + HALF_MARK, **look)


def _scale_y(ax: Axes, measure: Measure) -> None:
    """Show zero, all values and all bounds, with room for the legend above."""
    seen = np.concatenate([measure.values, measure.lower, measure.upper, [0.0]])
    seen = seen[np.isfinite(seen)]
    low, high = float(seen.min()), float(seen.max())
    span = high - low or 1.0
    ax.set_ylim(low - (0.05 * span if low < 0 else 0.0), high + 0.22 * span)


def measure_sizes(sizes: ArrayLike, constraints: Any) -> Measure:
    """Sizes of the clusters against all bounds on them.

    Bounds that may go to any cluster are given to the clusters so that as little as possible is
    broken, as :meth:`ClusterSizes.violations` does.
    """
    size = np.asarray(sizes, np.int64)
    lower, upper = np.full(len(size), -np.inf), np.full(len(size), np.inf)
    for rule in ConstraintSet(constraints).of_kind(ClusterSizes):
        rule.check(int(size.sum()), len(size))
        low, high = rule.bounds(int(size.sum()), len(size))
        order = np.arange(len(size)) if rule.ordered else best_order(size, low, high)
        if rule.sizes is not None or rule.minimum is not None:
            lower = np.maximum(lower, low[order])
        if rule.sizes is not None or rule.maximum is not None:
            upper = np.minimum(upper, high[order])
    broken = (size < lower) | (size > upper)
    return Measure("points in each cluster", size.astype(float), lower, upper, broken)


def measure_totals(
    labels: IntArray, constraints: Any, n_clusters: int, names: ClusterNames = None
) -> list[Measure]:
    """Every total and every share that the constraints bound."""
    measures: list[Measure] = []
    for rule in ConstraintSet(constraints):
        if isinstance(rule, ClusterTotals) and rule.values.size:
            measures.append(_total(rule, labels, n_clusters, names))
        elif isinstance(rule, GroupShares) and rule.groups.size:
            measures.extend(_shares(rule, labels, n_clusters, names))
    return measures


def _total(rule: ClusterTotals, labels: IntArray, k: int, names: ClusterNames) -> Measure:
    values = sums_by(labels, rule.values, k)
    broken = np.zeros(k, bool)
    broken[rule.violations(labels, k).where] = True
    title = title_of(rule, k, called(None, names, 0))
    return Measure(title, values, *rule.bounds(k), broken)


def title_of(rule: ClusterTotals, n_clusters: int, names: Any) -> str:
    """The rule in words, without its bounds if clusters have different ones."""
    if all(bool(np.all(bound == bound[:1])) for bound in rule.bounds(n_clusters)):
        return rule.phrase(names)
    return "cluster totals" if rule.name is None else f"cluster totals of {rule.name!r}"


def _shares(rule: GroupShares, labels: IntArray, k: int, names: ClusterNames) -> Iterator[Measure]:
    """One measure for each group.

    The constraint numbers its rules by bound, minimum shares first, and then by cluster.
    """
    sizes = np.bincount(labels, minlength=k)
    sides = [*rule.minimum, *rule.maximum]
    broken = np.zeros((len(sides), k), bool)
    broken.ravel()[rule.violations(labels, k).where] = True
    for group in dict.fromkeys(sides):
        count = sums_by(labels, np.asarray(rule.groups == group, float), k)
        share = np.where(sizes > 0, count / np.maximum(sizes, 1), np.nan)
        low, high = np.full(k, -np.inf), np.full(k, np.inf)
        which = slice(None) if rule.clusters is None else list(map(int, rule.clusters))
        low[which], high[which] = rule.minimum.get(group, -np.inf), rule.maximum.get(group, np.inf)
        of_group = np.any(broken[[side == group for side in sides]], axis=0)
        yield Measure(f"share of {group!r}", share, low, high, of_group)
