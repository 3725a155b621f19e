"""Territories as polygons, rows with their labels, and files of both."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import IntArray
from ..constraints.clusters import read_cluster_names
from .frames import WGS84, crs_name, in_degrees, library
from .shapes import cells, joined

METHODS = ("auto", "cells", "hulls")
#: Endings of files, and the drivers that write them.
DRIVERS = {".geojson": "GeoJSON", ".gpkg": "GPKG"}


def territories(
    frame: Any,
    labels: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    method: str = "auto",
    reach: float | None = None,
    tolerance: float = 0.0,
) -> Any:
    """One shape a cluster: polygons joined, cells of points, or convex hulls.

    Parameters
    ----------
    frame : GeoDataFrame or GeoSeries
        The rows.
    labels : (n_samples,) int array
        Their clusters.
    names : sequence of str, optional
        Names of the clusters.
    method : {"auto", "cells", "hulls"}, default="auto"
        "auto" joins polygons, and takes cells of points.  "cells" are Voronoi's, clipped to a
        distance around the points; "hulls" are convex, and may overlap.
    reach : float, optional
        That distance, in units of the coordinates; by default twice the median distance of a
        point to its nearest.
    tolerance : float, default=0
        Gaps between polygons of a cluster that are closed, in units of the coordinates.

    Returns
    -------
    GeoDataFrame
        With a row for each cluster: ``cluster``, ``rows`` (their number) and ``geometry``.

    Examples
    --------
    >>> import geopandas  # doctest: +SKIP
    >>> towns = geopandas.GeoSeries.from_xy([0, 1, 9, 10], [0, 1, 0, 1], crs=3857)  # doctest: +SKIP
    >>> territories(towns, [0, 0, 1, 1], names=["west", "east"])["rows"].tolist()  # doctest: +SKIP
    [2, 2]
    """
    geopandas, shapely = library("geopandas"), library("shapely")
    from .frames import checked_shapes

    shapes, label = checked_shapes(frame), _labels(labels, len(frame))
    k = int(label.max(initial=-1)) + 1 if names is None else len(names)
    called = read_cluster_names(names, max(k, int(label.max(initial=-1)) + 1))
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; it must be one of {', '.join(METHODS)}.")
    if reach is not None and not 0.0 < reach < np.inf:
        raise ValueError(f"reach is {reach!r}; it must be a distance above 0.")
    if not 0.0 <= tolerance < np.inf:
        raise ValueError(f"tolerance is {tolerance!r}; it must be a distance of at least 0.")
    areas = bool((shapely.get_dimensions(shapes) == 2).all())
    if method == "hulls":
        made = shapely.convex_hull(joined(shapes, label, k))
    elif areas and method == "auto":
        made = joined(shapes, label, k, tolerance)
    else:
        made = joined(cells(shapes, label, in_degrees(frame), reach), label, k)
    columns = {
        "cluster": list(range(k)) if called is None else list(called),
        "rows": np.bincount(label, minlength=k),
    }
    return geopandas.GeoDataFrame(columns, geometry=list(made), crs=frame.crs)


def labelled(
    frame: Any, labels: ArrayLike, *, names: Sequence[str] | None = None, column: str = "label"
) -> Any:
    """The frame with a column of labels, as names if the clusters have any.

    Examples
    --------
    >>> import geopandas  # doctest: +SKIP
    >>> towns = geopandas.GeoSeries.from_xy([0, 9], [0, 0])  # doctest: +SKIP
    >>> labelled(towns, [1, 0], names=["west", "east"])["label"].tolist()  # doctest: +SKIP
    ['east', 'west']
    """
    geopandas, label = library("geopandas"), _labels(labels, len(frame))
    called = read_cluster_names(names)
    made = frame.copy() if hasattr(frame, "columns") else geopandas.GeoDataFrame(geometry=frame)
    made[column] = label if called is None else np.array(called, object)[label]
    return made


def write(path: str | os.PathLike[str], **layers: Any) -> None:
    """Write frames to a file, completely or not at all.

    Parameters
    ----------
    path : path
        A GeoPackage (.gpkg) holds all layers.  A GeoJSON file (.geojson) holds one, in longitude
        and latitude as its standard says.
    **layers : GeoDataFrame
        By their names.

    Raises
    ------
    ValueError
        For another ending, or several layers in one GeoJSON file.
    """
    library("geopandas")
    target = Path(path)
    driver = DRIVERS.get(target.suffix.lower())
    if driver is None:
        allowed = " or ".join(DRIVERS)
        raise ValueError(f"{os.fspath(path)}: a file of shapes must end in {allowed}.")
    if driver == "GeoJSON" and len(layers) != 1:
        raise ValueError(
            f"{os.fspath(path)}: a GeoJSON file holds one layer, not {len(layers)}; write a .gpkg."
        )
    draft = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        for name, frame in layers.items():
            kept = frame
            if driver == "GeoJSON" and frame.crs is not None:
                kept = frame.to_crs(WGS84)
            kept.to_file(draft, driver=driver, layer=name)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def read(path: str) -> Any:
    """Read a file of shapes.

    Raises
    ------
    ValueError
        It cannot be read, or has no shapes.
    """
    geopandas = library("geopandas")
    try:
        frame = geopandas.read_file(path)
    except Exception as error:  # the drivers raise errors of many kinds
        raise ValueError(f"{path} cannot be read as a file of shapes: {error}.") from error
    if not hasattr(frame, "geometry") or not len(frame):
        raise ValueError(f"{path} has no shapes; it must have one for each row.")
    return frame


def said_of(frame: Any) -> str:
    """How many shapes a frame has, and in which system."""
    return f"{len(frame)} shapes in {crs_name(frame)}"


def _labels(labels: ArrayLike, n_rows: int) -> IntArray:
    """Labels as integers, one for each row."""
    label = np.asarray(labels)
    if label.ndim != 1 or not np.issubdtype(label.dtype, np.integer):
        raise ValueError(
            f"`labels` is {label.dtype} of shape {label.shape}; it must be one integer a row."
        )
    if len(label) != n_rows:
        raise ValueError(f"`labels` has {len(label)} entries, but the frame has {n_rows} rows.")
    if (label < 0).any():
        raise ValueError(f"`labels` holds {label.min()}; labels count from 0.")
    return label.astype(np.int64)
