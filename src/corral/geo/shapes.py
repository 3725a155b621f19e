"""What a map draws: shapes of rows as plain bytes, and the territories that they make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from .frames import WGS84, checked_shapes, in_degrees, is_geo, library, to_system_of

#: Part of the width of a map up to which borders may be drawn elsewhere; larger ones are coarser.
COARSE = 1 / 4000
#: Rows of points of which a map draws territories; cells of more take seconds.
MOST_CELLS = 50_000
#: Radius around points that belongs to territories, in median distances of neighbours.
REACH = 2.5


@dataclass(frozen=True, eq=False)
class Map:
    """Shapes of rows, and lines below them.

    Attributes
    ----------
    shapes : tuple of bytes
        A shape for each row, in the well-known binary form.
    degrees : bool
        Whether coordinates are longitude and latitude.
    metre : float or None
        Length of a metre in the unit of the coordinates; None if it is not known.
    base : tuple of bytes
        Shapes that are drawn below, such as those of a base map.
    """

    shapes: tuple[bytes, ...]
    degrees: bool
    metre: float | None = None
    base: tuple[bytes, ...] = ()

    def __len__(self) -> int:
        return len(self.shapes)

    @property
    def geometry(self) -> Any:
        """The shapes as an array."""
        return library("shapely").from_wkb(np.array(self.shapes, object))

    @property
    def base_geometry(self) -> Any:
        """The shapes of the base map as an array."""
        return library("shapely").from_wkb(np.array(self.base, object))

    @property
    def of_points(self) -> bool:
        """Whether the rows are points."""
        return bool((library("shapely").get_dimensions(self.geometry) == 0).all())

    def take(self, rows: IntArray) -> Map:
        """The map of some rows."""
        return replace(self, shapes=tuple(self.shapes[row] for row in rows))


def map_of(X: Any, base: Any = None) -> Map | None:
    """The map of a frame of GeoPandas, with a base map; None of anything else.

    Borders are made coarser by less than the eye sees.
    """
    if not is_geo(X):
        return None
    shapely = library("shapely")
    shapes = checked_shapes(X)
    left, low, right, high = shapely.total_bounds(shapes)
    fine = COARSE * max(right - left, high - low)
    below: tuple[bytes, ...] = ()
    if base is not None:
        lines = np.asarray(to_system_of(base, X, "the base map").geometry, object)
        lines = lines[~(shapely.is_missing(lines) | shapely.is_empty(lines))]
        below = tuple(shapely.to_wkb(shapely.simplify(lines, fine)).tolist())
    metre = None
    if X.crs is not None and not in_degrees(X):
        metre = 1.0 / float(X.crs.axis_info[0].unit_conversion_factor)
    coarser = tuple(shapely.to_wkb(_coarser(shapes, fine)).tolist())
    return Map(coarser, in_degrees(X), metre, below)


def map_of_places(places: FloatArray, base: Any = None) -> Map:
    """The map of places of latitude and longitude in degrees."""
    shapely = library("shapely")
    points = shapely.points(np.asarray(places, np.float64)[:, ::-1])
    if base is None:
        return Map(tuple(shapely.to_wkb(points).tolist()), degrees=True)
    made = map_of(library("geopandas").GeoSeries(points, crs=WGS84), base)
    return made or Map((), degrees=True)


def _coarser(shapes: Any, fine: float) -> Any:
    """Shapes with borders that differ by less than ``fine``; neighbours keep a common border."""
    shapely = library("shapely")
    areas = shapely.get_dimensions(shapes) == 2
    if not areas.all() or not fine:
        return shapes
    try:
        if hasattr(shapely, "coverage_simplify") and bool(shapely.coverage_is_valid(shapes)):
            return shapely.coverage_simplify(shapes, fine)
    except shapely.errors.GEOSException:
        pass  # such as of a library without coverages
    return shapely.simplify(shapes, fine)


def joined(shapes: Any, labels: IntArray, n_clusters: int, gap: float = 0.0) -> Any:
    """The union of the shapes of each cluster, as an array; an empty shape for an empty one.

    Gaps inside a cluster of up to ``gap`` are closed.
    """
    shapely = library("shapely")
    made = np.empty(n_clusters, object)
    order = np.argsort(labels, kind="stable")
    groups = np.split(shapes[order], np.cumsum(np.bincount(labels, minlength=n_clusters))[:-1])
    for cluster, own in enumerate(groups):
        try:
            made[cluster] = shapely.union_all(own)
        except shapely.errors.GEOSException:  # borders that cross themselves
            made[cluster] = shapely.union_all(shapely.make_valid(own))
    if gap > 0.0:
        wider = shapely.buffer(made, gap / 2, join_style="mitre", mitre_limit=2.0)
        made = shapely.buffer(wider, -gap / 2, join_style="mitre", mitre_limit=2.0)
    return np.asarray(made)


def cells(shapes: Any, labels: IntArray, degrees: bool, reach: float | None = None) -> Any:
    """Voronoi's cell of each point, up to ``reach`` around the points, as an array.

    In degrees the plane is that of the middle latitude.  Without ``reach`` it is some median
    distances of points to their nearest neighbour.
    """
    shapely = library("shapely")
    middle = shapely.centroid(shapes)
    places = np.column_stack([shapely.get_x(middle), shapely.get_y(middle)])
    wide = narrowing(places) if degrees else 1.0
    flat = places * (wide, 1.0)
    unique, which = np.unique(flat, axis=0, return_inverse=True)
    which = which.ravel()
    if reach is None:
        reach = _reach_of(unique)
    around = shapely.union_all(shapely.buffer(shapely.points(unique), reach, quad_segs=6))
    around = shapely.union_all(shells_of(around))  # without holes
    if len(unique) < 2:
        made = np.array([around], object)
    else:
        box = shapely.buffer(around, reach)
        every = shapely.voronoi_polygons(shapely.multipoints(unique), extend_to=box)
        parts = shapely.get_parts(every)
        tree = shapely.STRtree(parts)
        of = tree.query(shapely.points(unique), predicate="intersects")
        own = np.zeros(len(unique), np.int64)
        own[of[0]] = of[1]
        made = shapely.intersection(parts[own], around)
    back = shapely.transform(made, lambda at: at / (wide, 1.0))
    # Rows at one place share its cell; the first row of each cluster there has it.
    found = np.full(len(flat), shapely.Polygon(), object)
    lead = np.unique(np.column_stack([which, labels]), axis=0, return_index=True)[1]
    found[lead] = back[which[lead]]
    return found


def narrowing(places: FloatArray) -> float:
    """Length of a degree of longitude in degrees of latitude, in the middle of the places."""
    middle = np.radians((places[:, 1].min() + places[:, 1].max()) / 2.0)
    return float(max(np.cos(middle), 0.05))


def _reach_of(places: FloatArray) -> float:
    from scipy.spatial import cKDTree

    if len(places) < 2:
        return 1.0
    nearest = cKDTree(places).query(places, k=2)[0][:, 1]
    return float(REACH * np.median(nearest)) or 1.0


def outlines(drawn: Map, labels: IntArray, n_clusters: int, *, hulls: bool = False) -> Any:
    """The territory of each cluster as a shape: polygons joined, cells of points, or hulls."""
    shapely = library("shapely")
    shapes = drawn.geometry
    areas = bool((shapely.get_dimensions(shapes) == 2).all())
    if areas and not hulls:
        left, low, right, high = shapely.total_bounds(shapes)
        return joined(shapes, labels, n_clusters, 4 * COARSE * max(right - left, high - low))
    if hulls or len(shapes) > MOST_CELLS:
        return shapely.convex_hull(joined(shapes, labels, n_clusters))
    return joined(cells(shapes, labels, drawn.degrees), labels, n_clusters)


def lines_of(shapes: Any) -> list[FloatArray]:
    """The borders of areas, and lines, as arrays of places."""
    shapely = library("shapely")
    parts = shapely.get_parts(shapes)
    areas = shapely.get_dimensions(parts) == 2
    rings = shapely.get_parts(shapely.boundary(parts[areas]))
    lines = parts[shapely.get_dimensions(parts) == 1]
    return [np.asarray(line.coords)[:, :2] for line in (*rings, *lines)]


def shells_of(shape: Any) -> Any:
    """The parts of an area without their holes, as an array."""
    shapely = library("shapely")
    parts = shapely.get_parts(shape)
    areas = parts[shapely.get_dimensions(parts) == 2]
    return shapely.polygons(shapely.get_exterior_ring(areas)) if len(areas) else areas
