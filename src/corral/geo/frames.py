"""GeoPandas frames as data: coordinates of their shapes, checked."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from .._text import suggestion
from .._typing import FloatArray

MISSING = "maps need {}, which is not installed: pip install 'corral-clustering[geo]'"

#: Names of the coordinates, by whether they are degrees.
DEGREES, PLANE = ("latitude", "longitude"), ("x", "y")
#: The system of longitude and latitude that files of GeoJSON have.
WGS84 = 4326
#: Rows that a message names.
MOST_NAMED = 5


def library(name: str) -> Any:
    """Import a library of the extra ``geo``, or say in one sentence what is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != name:
            raise
        raise ModuleNotFoundError(MISSING.format(name), name=name) from error


def is_geo(X: Any) -> bool:
    """Whether it is a frame or a series of GeoPandas.

    Examples
    --------
    >>> is_geo([[0.0, 1.0]])
    False
    """
    return type(X).__module__.partition(".")[0] == "geopandas" and hasattr(X, "geometry")


def in_degrees(frame: Any) -> bool:
    """Whether the coordinates of a frame are longitude and latitude."""
    return frame.crs is not None and bool(frame.crs.is_geographic)


def crs_name(frame: Any) -> str:
    """The name of a frame's coordinate reference system."""
    if frame.crs is None:
        return "no coordinate reference system"
    code = frame.crs.to_epsg()
    return str(frame.crs.name) if code is None else f"EPSG:{code}"


def coordinates(frame: Any, columns: Sequence[str] = ()) -> Any:
    """Coordinates of the middles of shapes, and other columns that are asked for.

    Parameters
    ----------
    frame : GeoDataFrame or GeoSeries
        Points, lines or polygons.
    columns : sequence of str
        Columns of numbers to put behind the coordinates, as they are.

    Returns
    -------
    DataFrame
        With the index of the frame.  Of longitude and latitude the columns are ``latitude`` and
        ``longitude``, for ``metric="haversine"``; else ``x`` and ``y`` in metres.

    Raises
    ------
    ValueError
        If a shape is missing or empty, or coordinates are no degrees though the frame says so.

    Examples
    --------
    >>> import geopandas  # doctest: +SKIP
    >>> towns = geopandas.GeoSeries.from_xy([13.4, 2.4], [52.5, 48.9], crs=4326)  # doctest: +SKIP
    >>> coordinates(towns)  # doctest: +SKIP
       latitude  longitude
    0      52.5       13.4
    1      48.9        2.4
    """
    pandas = library("pandas")
    x, y = middles(frame).T
    names, values = (DEGREES, (y, x)) if in_degrees(frame) else (PLANE, (x, y))
    found = pandas.DataFrame(dict(zip(names, values, strict=True)), index=frame.index)
    for name in columns:
        if name not in getattr(frame, "columns", ()):
            known = [str(other) for other in getattr(frame, "columns", ())]
            raise ValueError(
                f"the frame has no column {name!r}{suggestion(name, known)}; its columns are "
                f"{', '.join(known)}."
            )
        found[name] = np.asarray(frame[name], np.float64)
    return found


def middles(frame: Any) -> FloatArray:
    """X and y of the centroids of the shapes of a frame, in metres or degrees."""
    shapely = library("shapely")
    shapes = checked_shapes(frame)
    middle = shapely.centroid(shapes)
    places: FloatArray = np.column_stack([shapely.get_x(middle), shapely.get_y(middle)])
    if in_degrees(frame):
        refuse_no_degrees(frame, places)
        return places
    if frame.crs is None:
        warnings.warn(
            "the frame has no coordinate reference system; its coordinates are taken as metres in "
            "a plane. Give it one by set_crs, such as set_crs(4326) for longitude and latitude.",
            stacklevel=3,
        )
        return places
    factor = float(frame.crs.axis_info[0].unit_conversion_factor)
    return places * factor if factor != 1.0 else places


def refuse_no_degrees(frame: Any, places: FloatArray) -> None:
    """Raise ``ValueError`` for coordinates that are no longitude and latitude."""
    wrong = (np.abs(places) > (180.0, 90.0)).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        x, y = places[row]
        raise ValueError(
            f"the frame has {crs_name(frame)}, which is degrees of longitude and latitude, but row "
            f"{frame.index[row]} is at {x:.10g}, {y:.10g}; give it the right system by "
            "set_crs(..., allow_override=True)."
        )


def checked_shapes(frame: Any) -> Any:
    """The shapes of a frame as an array; ``ValueError`` for those that are missing or empty."""
    shapely = library("shapely")
    try:
        shapes = np.asarray(frame.geometry, object)
    except AttributeError as error:
        raise ValueError(
            "the frame has no column of shapes; name it by set_geometry(column)."
        ) from error
    absent = shapely.is_missing(shapes)
    wrong = np.flatnonzero(absent | shapely.is_empty(shapes))
    if len(wrong):
        kind = "missing" if absent[wrong[0]] else "empty"
        rows = ", ".join(str(frame.index[row]) for row in wrong[:MOST_NAMED])
        more = f" and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        raise ValueError(
            f"the shape of row {frame.index[wrong[0]]} is {kind}; each row needs one. Rows without "
            f"a shape: {rows}{more}. Drop them, such as by frame[~frame.is_empty & "
            "frame.geometry.notna()]."
        )
    return shapes


def as_points(X: Any, metric: str = "euclidean") -> Any:
    """Coordinates of a geo frame for a metric; anything else as it is.

    Raises
    ------
    ValueError
        If the metric is not for the frame's coordinates.
    """
    if not is_geo(X):
        return X
    degrees = in_degrees(X)
    if degrees and metric != "haversine":
        raise ValueError(
            f"X has longitude and latitude ({crs_name(X)}), but metric is {metric!r}; give "
            "metric='haversine', or reproject X to metres by X.to_crs(X.estimate_utm_crs())."
        )
    if not degrees and metric == "haversine":
        raise ValueError(
            f"X has {crs_name(X)}, which is no longitude and latitude, but metric is 'haversine'; "
            "leave the metric out, or reproject X by X.to_crs(4326)."
        )
    return coordinates(X)


def to_system_of(other: Any, frame: Any, what: str) -> Any:
    """Another frame in the coordinate reference system of a frame.

    Raises
    ------
    ValueError
        One of them has none.
    """
    if other.crs == frame.crs:
        return other
    if other.crs is None or frame.crs is None:
        raise ValueError(
            f"{what} has {crs_name(other)}, and the data have {crs_name(frame)}; give both one by "
            "set_crs, so that they can be brought together."
        )
    return other.to_crs(frame.crs)
