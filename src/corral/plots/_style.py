"""What all pictures share: colours, axes and panels, and matplotlib, which is optional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe and Ito's colours, told apart by everyone; vermilion is kept for what is broken.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#CC79A7", "#000000")
#: Seven markers to six colours: the first 42 clusters all look different, in print too.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK, GREY, BROKEN = "#333333", "#A8A8A8", "#D55E00"

#: Width and height of one panel in inches.
PANEL = (4.6, 3.2)

MISSING = "pictures need matplotlib, which is not installed: pip install 'corral[plot]'"


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


def one_axes(ax: Axes | None, size: tuple[float, float] = (6.4, 4.8)) -> Axes:
    """The Axes given, or those of a new figure."""
    if ax is not None:
        return ax
    made: Axes = pyplot().subplots(figsize=size, layout="constrained")[1]
    return made


def panels(
    ax: Axes | Sequence[Axes] | NDArray[Any] | None, count: int, columns: int, *, sharex: bool
) -> NDArray[Any]:
    """``count`` Axes: new ones, those given, or the place of the single one given divided.

    Raises
    ------
    ValueError
        If another number of them is given, or one that has no place in a grid.
    """
    columns = min(columns, count)
    rows = -(-count // columns)
    if ax is None:
        figure = pyplot().figure(
            figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained"
        )
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


def plain(ax: Axes, title: str) -> None:
    """Title to the left, no frame at the top and right."""
    ax.set_title(title, fontsize=10, color=INK, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=INK, labelsize=9)
