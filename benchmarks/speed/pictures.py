"""Pictures of time against n and against k."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullFormatter

from .methods import ACTIVE, COP, CORRAL, ILP, KMC, STAND_IN
from .scaling import exponent
from .summary import Run, lines
from .table import scaling_points

#: Colour and marker of each method; the colours are those of Okabe and Ito.
LOOKS = {
    CORRAL: ("#0072B2", "o"),
    KMC: ("#D55E00", "s"),
    COP: ("#E69F00", "^"),
    STAND_IN: ("#E69F00", "v"),
    ACTIVE: ("#009E73", "D"),
    ILP: ("#CC79A7", "P"),
}
INK = "#333333"

Results = dict[str, list[Run]]
Series = dict[str, dict[int, tuple[float, bool]]]


def series(results: Results, names: dict[int, str]) -> Series:
    """For each method: seconds at each n or k, and whether the run was stopped."""
    found: Series = {}
    for place, name in sorted(names.items()):
        for method, line in lines(results.get(name, [])).items():
            stopped = line.limit is not None and not line.answered
            if line.answered or stopped:
                found.setdefault(method, {})[place] = (line.seconds, stopped)
    return found


def draw(ax: Any, found: Series, title: str, label: str) -> None:
    """Draw the times of each method; an open marker on a dotted line is a stopped run."""
    for method, points in found.items():
        colour, marker = LOOKS[method]
        ended = {place: seconds for place, (seconds, stopped) in points.items() if not stopped}
        all_seconds = [seconds for seconds, _ in points.values()]
        ax.plot(list(points), all_seconds, ":", color=colour, lw=1.2, zorder=2)
        ax.plot(list(ended), list(ended.values()), color=colour, lw=1.6, zorder=2)
        for place, (seconds, stopped) in points.items():
            fill = "white" if stopped else colour
            ax.plot(place, seconds, marker, ms=6.5, mec=colour, mfc=fill, mew=1.5, zorder=3)
    _axes(ax, title, label, "seconds per fit")


def _axes(ax: Any, title: str, label: str, value: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_title(title, fontsize=10, color=INK, loc="left")
    ax.set_xlabel(label, color=INK)
    ax.set_ylabel(value, color=INK)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.10g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.grid(color="#DDDDDD", lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=INK, labelsize=9)
    ax.set_axisbelow(True)
    low, high = ax.get_xlim()
    ax.set_xlim(low / 1.15, high * 1.15)


def legend(figure: Any, drawn: list[Series]) -> None:
    """Draw the legend below the panels."""
    methods = dict.fromkeys(method for found in drawn for method in found)
    handles = [
        plt.Line2D([], [], color=LOOKS[name][0], marker=LOOKS[name][1], ms=6.5, label=name)
        for name in methods
    ]
    if any(stopped for found in drawn for line in found.values() for _, stopped in line.values()):
        open_mark = {"ls": "", "marker": "o", "mfc": "white", "mec": INK}
        handles.append(plt.Line2D([], [], **open_mark, label="longer: stopped at the limit"))
    columns = min(len(handles), 3)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)


def time_n(results: Results, path: Path) -> None:
    """Draw three panels: sizes, pairs, and an iteration of ADMM."""
    sizes = {n: f"sizes-{n}-10" for n in (1_000, 5_000, 20_000, 100_000)}
    pairs = {n: f"pairs-{n}" for n in (1_000, 10_000, 100_000)}
    found = [series(results, names) for names in (sizes, pairs)]
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
    draw(axes[0], found[0], "Equal sizes, d = 10, k = 10", "points n")
    draw(axes[1], found[1], "n/10 + n/10 pairs, d = 5, k = 5", "points n")
    points = scaling_points(results.get("scaling", []))
    if points:
        colour, marker = LOOKS[CORRAL]
        axes[2].plot(list(points), [1e3 * s for s in points.values()], marker + "-", color=colour)
        slope = f" (exponent {exponent(points):.2f})" if len(points) > 1 else ""
        title = f"An iteration, d = 16, k = 10{slope}"
        _axes(axes[2], title, "points n", "milliseconds per iteration")
    legend(figure, found)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def time_k(results: Results, path: Path) -> None:
    """Draw one panel for each n."""
    counts = {5_000: (10, 50, 100), 20_000: (5, 10, 20, 50, 100), 100_000: (10, 50, 100)}
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained", sharey=True)
    drawn = []
    for ax, (n, ks) in zip(axes, counts.items(), strict=True):
        found = series(results, {k: f"sizes-{n}-{k}" for k in ks})
        drawn.append(found)
        draw(ax, found, f"Equal sizes, {n:,} points, d = 10", "clusters k")
        ax.set_xticks(ks)
        ax.label_outer()
    legend(figure, drawn)
    figure.savefig(path, dpi=150)
    plt.close(figure)
