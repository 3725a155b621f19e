"""What all pictures share: colours, axes, labels, and matplotlib, which is optional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._text import in_digits
from .._typing import IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours of the clusters.  The first six are those of Okabe and Ito, which colour-blind readers
#: can tell apart.  Each later one is as far as possible from all before it, from white, grey and
#: ``BROKEN`` in the CIELAB space.
COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#CC79A7", "#000000", "#0000FF", "#B469FF"),
    *("#FF005A", "#5A4B00", "#87E14B", "#870F2D", "#780F78", "#C3C369", "#F01EC3", "#003CA5"),
    *("#5A3C5A", "#FFB496", "#C300FF", "#3CE1E1", "#0F2DD2", "#1E4B2D", "#C31E78", "#A596FF"),
    *("#007887", "#FF7887", "#A55A3C", "#00961E", "#D2C3FF", "#A50F0F", "#1E691E", "#0069FF"),
    *("#8700B4", "#FF4B3C", "#96875A", "#F078E1", "#A5D2B4", "#694B96", "#2DE11E", "#0F78E1"),
)
#: Markers of the clusters.  Seven markers and forty colours make the first 280 clusters differ.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK, GREY, BROKEN = "#333333", "#A8A8A8", "#D55E00"
#: Soft pairs that are not obeyed: a wish, and no mistake.
MISSED = "#3D6FB4"

#: Most clusters that a legend lists.  More would hide the picture.
LEGEND_CLUSTERS = 20
#: Digits of a number at an axis, and where its exponents begin: longer numbers would overlap.
TICK_DIGITS, TICK_MOST = 10, 1e9
#: Width and height of one panel, and of a figure of one picture, in inches.
PANEL, FIGURE = (4.6, 3.2), (6.4, 4.8)
#: Width of a column of a legend, about, in inches.
LEGEND_COLUMN = 1.3

MISSING = "pictures need matplotlib, which is not installed: pip install 'corral-clustering[plot]'"


def pyplot() -> Any:
    """Import matplotlib's pyplot, or say in one sentence what is missing."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(MISSING, name="matplotlib") from error
    return plt


def colour(cluster: int) -> str:
    """The colour of a cluster."""
    return COLOURS[cluster % len(COLOURS)]


def marker(cluster: int) -> str:
    """The marker of a cluster."""
    return MARKERS[cluster % len(MARKERS)]


def one_axes(ax: Axes | None) -> Axes:
    """The Axes given, or those of a new figure."""
    if ax is not None:
        return ax
    made: Axes = pyplot().subplots(figsize=FIGURE, layout="constrained")[1]
    return made


def inches(ax: Axes) -> tuple[float, float]:
    """Width and height of Axes."""
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    return float(box.width / dpi), float(box.height / dpi)


def legend_columns(ax: Axes) -> int:
    """Columns of a legend that fit side by side into Axes, at most 3."""
    return int(np.clip(inches(ax)[0] // LEGEND_COLUMN, 1, 3))


def panels(
    ax: Axes | Sequence[Axes] | NDArray[Any] | None, count: int, columns: int, *, sharex: bool
) -> NDArray[Any]:
    """Give ``count`` Axes: new ones, those given, or new ones in the place of a single one."""
    columns = min(columns, count)
    rows = -(-count // columns)
    if ax is None:
        size = PANEL[0] * columns, PANEL[1] * rows
        figure = pyplot().figure(figsize=size, layout="constrained")
        return _grid(figure, figure.add_gridspec(rows, columns), count, sharex)
    given = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(given) == count:
        return given
    place = given[0].get_subplotspec() if len(given) == 1 else None
    if place is None:
        raise ValueError(
            f"`ax` has {len(given)} Axes, but {count} panels are needed; give {count} Axes, or one "
            "made by subplots, whose place is then divided."
        )
    given[0].set_axis_off()
    return _grid(given[0].figure, place.subgridspec(rows, columns), count, sharex)


def _grid(figure: Any, grid: Any, count: int, sharex: bool) -> NDArray[Any]:
    made = np.empty(count, dtype=object)
    for number in range(count):
        leader = made[0] if sharex and number else None
        made[number] = figure.add_subplot(grid[number], sharex=leader)
    return made


def whole_numbers(axis: Any) -> None:
    """Ticks of an axis at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def tick(value: float, _: Any = None) -> str:
    """A number at an axis."""
    return in_digits(value, TICK_DIGITS, TICK_MOST).replace("-", "\N{MINUS SIGN}")


def feature_names(X: Any) -> list[str] | None:
    """The names of a data frame's columns; None where columns have none."""
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def plain(ax: Axes, title: str, *, x: str = "", y: str = "") -> None:
    """Set the title and the names of the axes, if any; write numbers in full; hide two borders."""
    from matplotlib.ticker import ScalarFormatter

    ax.set_title(title, fontsize=10, color=INK, loc="left")
    for name, set_name in ((x, ax.set_xlabel), (y, ax.set_ylabel)):
        if name:
            set_name(name, fontsize=9, color=INK)
    for axis in (ax.xaxis, ax.yaxis):
        # Ticks that were given names have another formatter.
        numbers = isinstance(axis.get_major_formatter(), ScalarFormatter)
        if axis.get_scale() == "linear" and numbers:
            axis.set_major_formatter(tick)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=INK, labelsize=9)


def checked_labels(labels: ArrayLike, n_clusters: int | None) -> tuple[IntArray, int]:
    """Labels as integers, and the number of clusters: the largest label plus 1 unless given."""
    label = np.asarray(labels)
    if label.ndim != 1 or not np.issubdtype(label.dtype, np.integer):
        raise ValueError(
            f"`labels` is {label.dtype} of shape {label.shape}; it must be one integer a sample."
        )
    least, most = int(label.min(initial=0)), int(label.max(initial=0))
    k = most + 1 if n_clusters is None else n_clusters
    if least < 0 or most >= k:
        wrong = least if least < 0 else most
        raise ValueError(f"`labels` holds {wrong}; labels must lie in [0, {k - 1}].")
    return label.astype(np.int64, copy=False), k
