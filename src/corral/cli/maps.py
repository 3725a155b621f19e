"""Shapes on the command line: neighbours, maps in reports, and files of territories."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import Connected
from ..constraints.files import read_weighted_pairs
from ..geo.frames import DEGREES, WGS84, library, to_system_of
from ..geo.territories import labelled, read, territories, write

if TYPE_CHECKING:
    from ..report import Report
    from .data import Points
    from .options import Options

#: Kilometres of a degree of latitude.
DEGREE = 111.195
#: Ways to find neighbours that need polygons, and the default of polygons and of points.
OF_POLYGONS, POLYGONS, POINTS = ("edge", "corner"), "edge", "delaunay"


def graph_of(options: Options, points: Points) -> Connected | None:
    """The rule that clusters are connected, as the options say it; None without it."""
    how = options.connected
    if how is None:
        for name in ("longest", "border", "tolerance", "bridge"):
            if getattr(options, name):
                raise ValueError(f"--{name} is given without --connected; give both.")
        return None
    price, frame = options.border or 0.0, points.table.frame
    bridge = "nearest" if options.bridge else None
    areas = _has_areas(points)
    how = (POLYGONS if areas else POINTS) if how == "auto" else how
    if how in OF_POLYGONS and not areas:
        raise ValueError(
            f"--connected {how} is for polygons, but {points.table.name} has points; give "
            "delaunay, gabriel, knn or a file of pairs."
        )
    if options.tolerance is not None and how not in OF_POLYGONS:
        raise ValueError("--tolerance is for polygons, with --connected edge or corner.")
    if options.longest is not None and how not in ("delaunay", "gabriel", "knn"):
        raise ValueError("--longest is for points, with --connected delaunay, gabriel or knn.")
    if how in OF_POLYGONS:
        own: Any = {"tolerance": options.tolerance or 0.0, "weight": price, "bridge": bridge}
        shapes = frame.geometry.set_axis(points.names)
        return Connected.from_polygons(shapes, how, **own)
    if Path(how).suffix:
        pairs, weight = read_weighted_pairs(how, points.names, decimal=options.decimal)
        return Connected(
            pairs,
            price if weight is None else weight,
            n_samples=len(points.X),
            bridge=bridge,
            points=_places(points, how) if bridge else None,
        )
    places = _places(points, how)
    return Connected.from_points(places, how, longest=options.longest, weight=price, bridge=bridge)


def _has_areas(points: Points) -> bool:
    """Whether all rows are polygons."""
    frame = points.table.frame
    return frame is not None and bool(
        (library("shapely").get_dimensions(frame.geometry) == 2).all()
    )


def written_graph(options: Options, points: Points) -> str:
    """The Python expression of :func:`graph_of`, of a ``table``; "" for pairs of a file."""
    how = options.connected or ""
    if Path(how).suffix:
        return ""
    how = (POLYGONS if _has_areas(points) else POINTS) if how == "auto" else how
    own: dict[str, Any] = {"tolerance": options.tolerance, "longest": options.longest}
    own |= {"weight": options.border, "bridge": "nearest" if options.bridge else None}
    more = "".join(f", {name}={value!r}" for name, value in own.items() if value)
    if how in OF_POLYGONS:
        return f"Connected.from_polygons(table.geometry, {how!r}{more})"
    names, flat = _place_columns(points)
    places = f"table[{[*names] if flat is None else [*names[::-1]]!r}]"
    if flat is not None:
        places = f"{DEGREE} * {places}.to_numpy() * ({flat!r}, 1.0)"
    return f"Connected.from_points({places}, {how!r}{more})"


def _place_columns(points: Points) -> tuple[Sequence[str], float | None]:
    """The columns of coordinates, and of degrees how much shorter those of longitude are."""
    table, space = points.table, points.space
    names = table.places or (space.columns if len(space.columns) == 2 else ())
    if not names or (tuple(names) != DEGREES and space.metric != "haversine"):
        return names, None
    latitude = table.numbers(names[0])
    return names, float(np.cos(np.radians((latitude.min() + latitude.max()) / 2.0)))


def _places(points: Points, how: str) -> FloatArray:
    """Where the rows are: kilometres of degrees, else two columns."""
    table, space = points.table, points.space
    names, flat = _place_columns(points)
    if not names:
        raise ValueError(
            f"--connected {how} needs two coordinates of each row, but {table.name} is clustered "
            f"by {len(space.columns)} columns; give a file of pairs of neighbours."
        )
    values = np.column_stack([table.numbers(name) for name in names])
    return values if flat is None else DEGREE * values[:, ::-1] * (flat, 1.0)


def frame_of(points: Points) -> Any:
    """The shapes of the rows; those of latitude and longitude are points, of others there are none.

    Raises
    ------
    ValueError
        The rows have no shapes.
    """
    if points.table.frame is not None:
        return points.table.frame
    if points.space.metric != "haversine":
        raise ValueError(
            f"{points.table.name} has no shapes; give a file of shapes, or --metric haversine with "
            "columns of latitude and longitude."
        )
    latitude, longitude = points.X.T
    geopandas = library("geopandas")
    made = geopandas.GeoSeries.from_xy(longitude, latitude, crs=WGS84)
    return geopandas.GeoDataFrame(geometry=made)


def base_of(path: str | None, points: Points) -> Any:
    """The base map of a file, in the coordinates of the rows; None if there is none."""
    if path is None:
        return None
    return to_system_of(read(path), frame_of(points), f"the base map {path}")


def on_map(report: Report, points: Points, base: Any) -> Report:
    """The report with a map, if the rows have shapes or there is a base map."""
    if points.table.frame is None and base is None:
        return report
    return report.on_map(frame_of(points), base)


def write_rows(
    path: str, points: Points, columns: dict[str, Any], beside: Callable[[str], Any] | None
) -> None:
    """Write the rows with their shapes and labels."""
    write_beside(path, beside, rows=_rows(points, columns))


def write_shapes(
    path: str,
    points: Points,
    columns: dict[str, Any],
    labels: IntArray,
    *,
    names: Sequence[str] | None,
    tolerance: float | None,
    beside: Callable[[str], Any] | None,
) -> None:
    """Write the territories, and into a GeoPackage the rows besides."""
    frame = frame_of(points)
    layers = {"territories": territories(frame, labels, names=names, tolerance=tolerance or 0.0)}
    if path.lower().endswith(".gpkg"):
        layers["rows"] = _rows(points, columns)
    write_beside(path, beside, **layers)


def _rows(points: Points, columns: dict[str, Any]) -> Any:
    """The shapes with all columns of their file, and the new ones."""
    frame = frame_of(points)
    own = {name: values for name, values in columns.items() if name in ("label", "distance")}
    if points.table.frame is None:
        own = columns
    made = labelled(frame, np.zeros(len(frame), np.int64))
    for name, values in own.items():
        made[name] = np.asarray(values)
    return made


def write_beside(path: str, beside: Callable[[str], Any] | None, **layers: Any) -> None:
    """Write layers; with ``beside``, a file that appeared meanwhile stays."""
    target = Path(path)
    if beside is None or not os.path.lexists(target):
        write(path, **layers)
        return
    number = 1
    while os.path.lexists(other := target.with_name(f"{target.stem}-{number}{target.suffix}")):
        number += 1
    write(other, **layers)
    beside(str(other))
