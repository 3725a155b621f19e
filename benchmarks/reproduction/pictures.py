"""Draw the pictures of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corral.plots._style import COLOURS, GREY, INK, MARKERS, colour, marker, plain, pyplot

from .cells import Record
from .inputs import FloatArray, IntArray

#: Resolution of the pictures, in dots per inch.
DPI = 110


def save(figure: Any, path: Path) -> None:
    """Write the picture and close the figure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the version of matplotlib in the file, the same run gives the same bytes.
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    pyplot().close(figure)


def _grid(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Any, Any]:
    figure, axes = pyplot().subplots(
        rows,
        columns,
        figsize=(width * columns, height * rows),
        layout="constrained",
        squeeze=False,
        **options,
    )
    return figure, axes


def draw_sets(path: Path, rows: Sequence[Sequence[tuple[str, FloatArray, IntArray]]]) -> None:
    """Scatter plots of data sets with their classes, in rows."""
    columns = max(map(len, rows))
    figure, axes = _grid(len(rows), columns, 3.3, 3.4)
    for ax in axes.ravel():
        ax.set_axis_off()
    for sets, line in zip(rows, axes, strict=True):
        for (title, X, y), ax in zip(sets, line, strict=False):
            ax.set_axis_on()
            for cluster in np.unique(y):
                ax.plot(
                    *X[y == cluster].T,
                    marker(cluster),
                    ms=2.6,
                    color=colour(cluster),
                    label=f"cluster {cluster + 1}, {np.sum(y == cluster)} points",
                )
            ax.set_aspect("equal", adjustable="datalim")
            plain(ax, title)
        line[0].legend(
            fontsize=8, frameon=False, markerscale=2, loc="upper center", bbox_to_anchor=(0.5, -0.1)
        )
    save(figure, path)


def draw_assignments(path: Path, runs: Mapping[str, Record], order: IntArray) -> None:
    """The columns of x at some iterations: a row for each run, a panel for each iteration."""
    columns = max(len(run["x"]) for run in runs.values())
    figure, axes = _grid(len(runs), columns, 3.4, 2.5, sharex=True, sharey="row")
    rows = np.argsort(order, kind="stable")
    for (name, run), line in zip(runs.items(), axes, strict=True):
        for ax in line[len(run["x"]) :]:
            ax.set_axis_off()
        for (iteration, x), ax in zip(run["x"].items(), line, strict=False):
            for cluster, piece in enumerate(np.array(x)[rows].T):
                ax.plot(piece, marker(cluster), ms=2.4, color=colour(cluster), mew=0)
            plain(ax, _state(name, run, int(iteration)))
    for ax in axes[-1]:
        ax.set_xlabel("sample, sorted by class", fontsize=9, color=INK)
    for line in axes:
        line[0].set_ylabel("share of the sample in the cluster", fontsize=8, color=INK)
    _cluster_legend(figure, np.array(x).shape[1])
    save(figure, path)


def _state(name: str, run: Record, iteration: int) -> str:
    """Title of a panel: the solver, the iteration, and the rules that x breaks."""
    broken = [run[kind][iteration - 1] for kind in ("card", "must", "cannot")]
    title = f"{name}: iteration {iteration}"
    if not any(map(any, (run["card"], run["must"], run["cannot"]))):
        return title
    return title + "\nCardV {}, MLV {}, CLV {}".format(*broken)


def _cluster_legend(figure: Any, n_clusters: int) -> None:
    line = pyplot().Line2D
    handles = [
        line([], [], linestyle="", marker=marker(cluster), color=colour(cluster))
        for cluster in range(n_clusters)
    ]
    names = [f"cluster {cluster + 1}" for cluster in range(n_clusters)]
    figure.legend(
        handles, names, loc="outside upper center", ncols=n_clusters, frameon=False, fontsize=9
    )


def draw_objectives(
    path: Path, panels: Mapping[str, Mapping[str, Sequence[float]]], level: float, name: str
) -> None:
    """Objectives over the iterations, with a horizontal line for comparison."""
    figure, axes = _grid(1, len(panels), 5.0, 3.6)
    for (title, curves), ax in zip(panels.items(), axes[0], strict=True):
        for number, (method, values) in enumerate(curves.items()):
            iterations = np.arange(1, len(values) + 1)
            ax.plot(iterations, values, color=COLOURS[number], lw=1.6, label=method)
            ax.plot(iterations[-1], values[-1], MARKERS[number], color=COLOURS[number], ms=6)
        ax.axhline(level, color=GREY, lw=1.2, ls="--", label=name)
        if min(map(min, curves.values())) < 0.0:
            # If x has negative entries, the objective is not a sum of squares and may be huge.
            ax.set_yscale("symlog", linthresh=2.0 * level)
        else:
            ax.set_ylim(bottom=0.0)
        ax.set_xscale("log")
        plain(ax, title)
        ax.set_xlabel("iteration (the marker is the last one)", fontsize=9, color=INK)
        ax.set_ylabel("objective", fontsize=9, color=INK)
        ax.legend(fontsize=8, frameon=False, loc="lower left")
    save(figure, path)


@dataclass(frozen=True)
class Curve:
    """Means and standard deviations for each number of links."""

    counts: Sequence[int]
    means: Sequence[float]
    deviations: Sequence[float]


def draw_growth(
    path: Path,
    panels: Sequence[tuple[str, str, Mapping[str, Curve], Mapping[str, float]]],
    columns: int = 2,
) -> None:
    """ARI over the number of links; a panel is (title, axis label, curves, horizontal lines)."""
    rows = -(-len(panels) // columns)
    figure, axes = _grid(rows, min(columns, len(panels)), 4.6, 3.3)
    for (title, label, curves, levels), ax in zip(panels, axes.ravel(), strict=False):
        for number, (name, curve) in enumerate(curves.items()):
            middle, width = np.array(curve.means), np.array(curve.deviations)
            ax.plot(
                curve.counts,
                middle,
                marker=MARKERS[number],
                color=COLOURS[number],
                ms=5,
                label=name,
            )
            ax.fill_between(
                curve.counts,
                middle - width,
                np.minimum(middle + width, 100.0),
                color=COLOURS[number],
                alpha=0.15,
                lw=0,
            )
        for number, (name, level) in enumerate(levels.items()):
            style = ("--", ":", "-.")[number % 3]
            ax.axhline(level, color=INK, lw=1.2, ls=style, label=name)
        plain(ax, title)
        ax.set_ylim(top=103)
        ax.set_xlabel(label, fontsize=9, color=INK)
        ax.set_ylabel("ARI (%)", fontsize=9, color=INK)
        ax.legend(fontsize=8, frameon=False)
    save(figure, path)


def draw_contest(
    path: Path,
    methods: Sequence[str],
    data: Sequence[str],
    scores: FloatArray,
    ranks: FloatArray,
    feasible: Sequence[float | None],
    own: Sequence[bool],
) -> None:
    """Mean ARI of each method on each set, its mean rank, and how often it obeys its rules.

    Methods of ``own`` have a colour of their own.
    """
    plt = pyplot()
    figure, (left, middle, right) = plt.subplots(
        1,
        3,
        figsize=(14.5, 0.36 * len(methods) + 1.6),
        layout="constrained",
        width_ratios=(3.4, 1.1, 1.1),
        sharey=True,
    )
    _heat_map(left, methods, data, scores)
    rows = np.arange(len(methods))
    colours = [COLOURS[int(mine)] for mine in own]
    middle.hlines(rows, 1, ranks, color=GREY, lw=1)
    middle.scatter(ranks, rows, color=colours, zorder=2)
    for row, rank in enumerate(ranks):
        middle.annotate(
            f"{rank:.1f}", (rank, row), xytext=(6, -3), textcoords="offset points", fontsize=8
        )
    middle.set_xlim(0.5, float(np.nanmax(ranks)) + 2.0)
    plain(middle, "mean rank by ARI (1 is best)")
    known = np.array([np.nan if share is None else 100.0 * share for share in feasible])
    right.barh(rows, np.nan_to_num(known), color=colours, height=0.6)
    for row, share in enumerate(known):
        text = "no rules" if np.isnan(share) else f"{share:.0f} %"
        right.annotate(
            text,
            (0.0 if np.isnan(share) else share, row),
            xytext=(4, -3),
            textcoords="offset points",
            fontsize=8,
        )
    right.set_xlim(0, 125)
    right.set_xticks([0, 50, 100])
    plain(right, "runs that obey their rules (%)")
    save(figure, path)


def _heat_map(ax: Any, methods: Sequence[str], data: Sequence[str], scores: FloatArray) -> None:
    """Scores as colours and numbers; the colours span the worst to the best of each data set."""
    low, high = np.nanmin(scores, axis=0), np.nanmax(scores, axis=0)
    relative = (scores - low) / np.maximum(high - low, 1e-9)
    shades = pyplot().get_cmap("cividis").with_extremes(bad="white")
    ax.imshow(np.ma.masked_invalid(relative), cmap=shades, aspect="auto", vmin=0, vmax=1)
    for (row, column), score in np.ndenumerate(scores):
        light = bool(np.isnan(score)) or relative[row, column] > 0.55
        text = "x" if np.isnan(score) else f"{score:.0f}"
        ax.text(
            column, row, text, ha="center", va="center", fontsize=8, color=INK if light else "white"
        )
    ax.set_xticks(range(len(data)), data, rotation=30, ha="right")
    ax.set_yticks(range(len(methods)), methods)
    plain(ax, "mean ARI (%); bright is best on the data set")
