"""A map of clusters: their territories with names, a graticule and a scale bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray, IntArray
from ..constraints.clusters import read_cluster_names
from ..geo.frames import library
from ..geo.shapes import Map, lines_of, map_of, narrowing, outlines
from ._style import GREY, INK, checked_labels, colour, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kilometres of a degree of latitude.
DEGREE = 111.195
#: Part of the width that the scale bar takes, at most.
BAR = 0.25
#: Opacity of polygons, and of territories of points.
FILL, PALE = 0.72, 0.22
#: Corners of all shapes from which fills are drawn as pixels; vectors would make files too large.
RASTER_FROM = 60_000
#: Most names that are written; more would cover the map.
MOST_NAMES = 80
#: Longest side of a picture of a map, in inches.
LONGEST = 7.4
#: Room around the shapes, as a part of their width and height.
MARGIN = 0.04


def plot_map(
    X: Any,
    labels: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    base: Any = None,
    hulls: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the territories of clusters with their names, a graticule and a scale bar.

    Nothing is fetched.  Needs the extra ``geo``.

    Parameters
    ----------
    X : GeoDataFrame or GeoSeries
        Polygons or points.  Territories of points are Voronoi's cells around them.
    labels : (n_samples,) int array
    names : sequence of str, optional
        Names of the clusters; their numbers are shown unless given.
    base : GeoDataFrame or GeoSeries, optional
        Borders, coasts or roads to draw below.
    hulls : bool, default=False
        Draw convex hulls in place of cells.
    ax : Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
        Its artists have a ``gid``, such as "territory 0", "name 0", "scale bar" and "base".

    Examples
    --------
    >>> import geopandas  # doctest: +SKIP
    >>> from corral.plots import plot_map
    >>> towns = geopandas.GeoSeries.from_xy([0, 1, 9], [50, 51, 50], crs=4326)  # doctest: +SKIP
    >>> ax = plot_map(towns, [0, 0, 1], names=["west", "east"])  # doctest: +SKIP
    """
    drawn = map_of(X, base)
    if drawn is None:
        raise TypeError(
            f"a map needs a GeoDataFrame or GeoSeries, not {type(X).__name__}; for coordinates "
            "without shapes there is plot_clusters."
        )
    label, k = checked_labels(labels, None if names is None else len(names))
    if len(label) != len(drawn):
        raise ValueError(f"`labels` has {len(label)} entries, but X has {len(drawn)} rows.")
    axes = one_axes(ax)
    draw_map(axes, drawn, label, k, names=read_cluster_names(names, k), hulls=hulls)
    return axes


def size_of(drawn: Map) -> tuple[float, float]:
    """Width and height of a figure for a map, in inches."""
    left, low, right, high = library("shapely").total_bounds(drawn.geometry)
    wide = narrowing(np.array([[left, low], [right, high]])) if drawn.degrees else 1.0
    across, up = max(right - left, 1e-12) * wide, max(high - low, 1e-12) * 1.1
    shape = float(np.clip(across / up, 0.5, 2.2))
    return (LONGEST, LONGEST / shape) if shape > 1.0 else (LONGEST * shape + 0.6, LONGEST)


def draw_map(
    ax: Axes,
    drawn: Map,
    labels: IntArray,
    n_clusters: int,
    *,
    names: Sequence[str] | None = None,
    hulls: bool = False,
) -> None:
    """Draw a map on Axes; see :func:`plot_map`."""
    shapely = library("shapely")
    shapes, of_points = drawn.geometry, drawn.of_points
    areas = outlines(drawn, labels, n_clusters, hulls=hulls)
    every = np.concatenate([shapes, areas[~shapely.is_empty(areas)]])
    box = shapely.total_bounds(every)
    _frame(ax, drawn, box)
    if drawn.base:
        _draw_base(ax, drawn)
    heavy = shapely.get_num_coordinates(shapes).sum() > RASTER_FROM
    _fill(ax, areas, PALE if of_points else FILL, "territory", rasterized=bool(heavy))
    if of_points:
        _draw_points(ax, shapes, labels)
    else:
        _draw_borders(ax, shapes, "white", 0.25, "borders", rasterized=bool(heavy))
    _draw_borders(ax, areas, INK, 0.9, "outlines", rasterized=False)
    _draw_names(ax, areas, names)
    _draw_bar(ax, drawn, box)


def _frame(ax: Axes, drawn: Map, box: FloatArray) -> None:
    """The part of the plane, of equal lengths on both axes, and its graticule."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    left, low, right, high = box
    across, up = max(right - left, 1e-12), max(high - low, 1e-12)
    ax.set_xlim(left - MARGIN * across, right + MARGIN * across)
    # The scale bar is below the shapes.
    ax.set_ylim(low - (MARGIN + 0.06) * up, high + MARGIN * up)
    ax.set_aspect(1.0 / narrowing(np.array([[left, low], [right, high]])) if drawn.degrees else 1.0)
    for axis, letters in ((ax.xaxis, "EW"), (ax.yaxis, "NS")):
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        if drawn.degrees:
            axis.set_major_formatter(FuncFormatter(lambda v, _, s=letters: _degrees(v, s)))
        else:
            unit = 1000.0 * (drawn.metre or 1.0)
            axis.set_major_formatter(FuncFormatter(lambda v, _, u=unit: f"{v / u:,.6g}"))
    ax.grid(visible=True, color="#D9D9D9", linewidth=0.5, zorder=0)
    ax.set_axisbelow(True)
    ax.tick_params(colors="#6B6B6B", labelsize=7, length=2)
    ax.spines[:].set(color="#BDBDBD", linewidth=0.6)
    if not drawn.degrees and drawn.metre is not None:
        ax.set_xlabel("kilometres", fontsize=8, color="#6B6B6B")


def _degrees(value: float, letters: str) -> str:
    """Degrees as maps have them, such as 10°W."""
    rounded = round(value, 6) + 0.0
    if letters == "EW" and abs(rounded) > 180.0:
        return ""
    return f"{abs(rounded):g}°" + (letters[0] if rounded > 0 else letters[1] if rounded < 0 else "")


def _paths(shape: Any) -> Any:
    """The polygons of a shape as one path with holes; None if it has no area."""
    from matplotlib.path import Path

    shapely = library("shapely")
    rings = []
    for part in shapely.get_parts(shape):
        if shapely.get_type_id(part) == 3:
            rings += [part.exterior, *part.interiors]
    if not rings:
        return None
    return Path.make_compound_path(*(Path(np.asarray(ring.coords)[:, :2]) for ring in rings))


def _fill(ax: Axes, areas: Any, alpha: float, word: str, *, rasterized: bool) -> None:
    from matplotlib.patches import PathPatch

    for cluster, area in enumerate(areas):
        path = _paths(area)
        if path is not None:
            look: Any = {"facecolor": colour(cluster), "alpha": alpha, "linewidth": 0.0}
            patch = PathPatch(path, **look, zorder=2, rasterized=rasterized)
            patch.set_gid(f"{word} {cluster}")
            ax.add_patch(patch)


def _draw_borders(
    ax: Axes, shapes: Any, line: str, width: float, gid: str, *, rasterized: bool
) -> None:
    from matplotlib.collections import LineCollection

    lines = lines_of(shapes)
    if lines:
        drawn = LineCollection(lines, colors=line, linewidths=width, zorder=3)
        drawn.set(gid=gid, rasterized=rasterized)
        ax.add_collection(drawn, autolim=False)


def _draw_base(ax: Axes, drawn: Map) -> None:
    from matplotlib.collections import LineCollection

    lines = LineCollection(lines_of(drawn.base_geometry), colors=GREY, linewidths=0.6, zorder=1)
    lines.set_gid("base")
    ax.add_collection(lines, autolim=False)


def _draw_points(ax: Axes, shapes: Any, labels: IntArray) -> None:
    shapely = library("shapely")
    size = float(np.clip(2500.0 / max(len(shapes), 1), 1.5, 18.0))
    ax.scatter(
        shapely.get_x(shapely.centroid(shapes)),
        shapely.get_y(shapely.centroid(shapes)),
        s=size,
        c=np.array([colour(j) for j in range(labels.max(initial=0) + 1)])[labels],
        edgecolors="white",
        linewidths=0.3 if size > 6.0 else 0.0,
        zorder=4,
        gid="points",
        rasterized=len(shapes) > 3000,
    )


def _draw_names(ax: Axes, areas: Any, names: Sequence[str] | None) -> None:
    """The name of each cluster inside the largest part of its territory."""
    from matplotlib.patheffects import withStroke

    shapely = library("shapely")
    some = [j for j, area in enumerate(areas) if not area.is_empty]
    if len(some) > MOST_NAMES:
        return
    look: Any = {"ha": "center", "va": "center", "fontweight": "bold", "color": INK, "zorder": 6}
    size = float(np.clip(60.0 / np.sqrt(max(len(some), 1)), 5.5, 9.0))
    for cluster in some:
        parts = shapely.get_parts(areas[cluster])
        largest = parts[int(np.argmax(shapely.area(parts)))]
        inside = _middle_of(largest)
        text = ax.annotate(
            str(cluster) if names is None else names[cluster],
            (inside.x, inside.y),
            fontsize=size,
            gid=f"name {cluster}",
            **look,
        )
        text.set_path_effects([withStroke(linewidth=2.0, foreground="white")])


def _middle_of(shape: Any) -> Any:
    """The centre of the largest circle in an area; of others, a point on it."""
    shapely = library("shapely")
    if shapely.area(shape) > 0.0:
        fine = float(np.sqrt(shapely.area(shape))) / 50
        return library("shapely.ops").polylabel(shape, fine)
    return shapely.point_on_surface(shape)


def _draw_bar(ax: Axes, drawn: Map, box: FloatArray) -> None:
    """A bar of a round length, in kilometres or metres."""
    left, low, right, high = box
    if drawn.degrees:
        unit = 1.0 / (DEGREE * max(float(np.cos(np.radians((low + high) / 2.0))), 0.05))
    elif drawn.metre is not None:
        unit = 1000.0 * drawn.metre
    else:
        return
    most = BAR * (right - left) / unit  # kilometres
    if not most > 0.0:
        return
    power = 10.0 ** np.floor(np.log10(most))
    length = next(step * power for step in (5.0, 2.0, 1.0) if step * power <= most)
    start, bottom = left, low - (MARGIN + 0.035) * (high - low)
    ends = np.array([start, start + length * unit])
    (bar,) = ax.plot(ends, [bottom, bottom], color=INK, linewidth=2.0, solid_capstyle="butt")
    bar.set(gid="scale bar", zorder=6)
    text = f"{length:g} km" if length >= 1.0 else f"{1000 * length:g} m"
    where = (ends[1], bottom)
    look: Any = {"fontsize": 7, "color": INK, "va": "center", "zorder": 6}
    ax.annotate(text, where, (4, 0), textcoords="offset points", **look)
