"""Graphs of neighbours: read from what other packages have, and made from points and polygons."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from .._typing import BoolArray, FloatArray, IntArray
from ._checks import check_count, index_of, plural, refuse, shortened
from .rows import listed

#: Part of the size of a polygon up to which a gap to the next one is probably a fault of the data.
NEARLY = 1e-3


def read_graph(graph: Any) -> tuple[Any, list[Any] | None, int | None]:
    """Pairs of ends, all nodes if they may be names, and the number of rows if it is known."""
    if sparse.issparse(graph):
        return _of_matrix(sparse.coo_array(graph))
    if isinstance(graph, np.ndarray) and graph.ndim == 2 and graph.shape[1] != 2:
        return _of_matrix(sparse.coo_array(graph))
    if hasattr(graph, "edges") and hasattr(graph, "nodes"):  # of networkx
        ends = [tuple(edge[:2]) for edge in graph.edges]
        return _of_nodes(ends, list(graph.nodes))
    near = getattr(graph, "neighbors", graph)  # of libpysal
    if isinstance(near, Mapping) and not isinstance(near, Set):  # networkx's edges are both
        lists = {node: list(others) for node, others in near.items()}
        return _of_lists(lists)
    pairs = listed(graph)
    return pairs, _nodes_of(pairs), None


def _nodes_of(pairs: Any) -> list[Any] | None:
    """The ends of a list of pairs, which may be names."""
    if isinstance(pairs, np.ndarray) and pairs.dtype.kind in "iu":
        return pairs.ravel().tolist()
    try:
        return [end for pair in pairs for end in pair]
    except TypeError:
        return None  # refused later


def _of_nodes(ends: list[Any], nodes: list[Any]) -> tuple[Any, list[Any], int | None]:
    """Edges between nodes; numbers from 0 on without a gap are all rows."""
    whole = all(isinstance(node, (int, np.integer)) for node in nodes)
    counted = whole and sorted(map(int, nodes)) == list(range(len(nodes)))
    pairs = np.array(ends, np.int64).reshape(-1, 2) if counted else ends
    return pairs, nodes, len(nodes) if counted else None


def _of_lists(lists: Mapping[Any, Sequence[Any]]) -> tuple[Any, list[Any], int | None]:
    """Neighbours of each node, which must be mutual."""
    every = {node: set(others) for node, others in lists.items()}
    for node, others in every.items():
        for other in others:
            if other not in every:
                raise ValueError(f"the graph names {other!r} as a neighbour, which is no node.")
            if node not in every[other]:
                raise ValueError(
                    f"{other!r} is a neighbour of {node!r}, but not the other way round; "
                    "neighbours must be mutual (libpysal: w.symmetrize())."
                )
    rank = {node: number for number, node in enumerate(every)}
    ends = [
        (node, other)
        for node, others in every.items()
        for other in sorted(others, key=rank.__getitem__)
        if rank[node] <= rank[other]
    ]
    return _of_nodes(ends, list(every))


def _of_matrix(matrix: sparse.coo_array) -> tuple[IntArray, None, int]:
    """The entries of a symmetric matrix above its diagonal."""
    n, columns = matrix.shape
    if n != columns:
        raise ValueError(f"the matrix of the graph has shape {matrix.shape}; it must be square.")
    table = sparse.csr_array(matrix)
    table.eliminate_zeros()
    there = sparse.csr_array((np.ones(table.nnz), table.indices, table.indptr), table.shape)
    apart = sparse.coo_array(there != there.T)
    if apart.nnz:
        i, j = (int(end[0]) for end in apart.coords)
        i, j = (i, j) if there[i, j] else (j, i)
        raise ValueError(
            f"the matrix of the graph has an entry at ({i}, {j}), but none at ({j}, {i}); it must "
            "be symmetric, such as graph + graph.T."
        )
    if there.diagonal().any():
        i = int(np.argmax(there.diagonal()))
        raise ValueError(
            f"the matrix of the graph has an entry at ({i}, {i}); a row is no neighbour of itself."
        )
    upper = sparse.coo_array(sparse.triu(there, 1))
    return np.stack(upper.coords, axis=1).astype(np.int64), None, n


def islands_in_words(names: Sequence[Any]) -> str:
    """What is said of rows without neighbours."""
    listed_names = shortened(map(str, names), len(names), 10)
    have = "has no neighbour" if len(names) == 1 else "have no neighbours"
    return (
        f"{plural(len(names), 'row')} {have}: {listed_names}; give bridge='nearest' to join the "
        "parts of the graph, or bridge='keep' to let islands be clusters of their own."
    )


def bridged(n: int, pairs: IntArray, points: FloatArray) -> IntArray:
    """The shortest edges that join the parts of a graph, the smallest part first."""
    from scipy.spatial import cKDTree

    more: list[tuple[int, int]] = []
    while True:
        every = np.concatenate([pairs, np.array(more, np.int64).reshape(-1, 2)])
        graph = sparse.coo_array((np.ones(len(every)), (every[:, 0], every[:, 1])), shape=(n, n))
        number, part = csgraph.connected_components(graph, directed=False)
        if number <= 1:
            return np.array(more, np.int64).reshape(-1, 2)
        own = part == np.bincount(part).argmin()
        inside, outside = np.flatnonzero(own), np.flatnonzero(~own)
        far, nearest = cKDTree(points[outside]).query(points[inside])
        i = int(far.argmin())
        more.append((int(inside[i]), int(outside[nearest[i]])))


def spatial_pairs(
    points: FloatArray, method: str, neighbours: int, longest: float | None
) -> IntArray:
    """Edges between points by a method of :meth:`Connected.from_points`."""
    from scipy.spatial import cKDTree

    if points.ndim != 2 or points.shape[1] < 1:
        raise ValueError(f"coordinates have shape {points.shape}; it must be (n_samples, 2).")
    refuse(~np.isfinite(points), points, "coordinates", "they must be finite")
    if method == "knn":
        check_count(neighbours, "neighbours")
        number = min(int(neighbours), len(points) - 1)
        near = cKDTree(points).query(points, number + 1)[1].reshape(len(points), -1)
        own = np.repeat(np.arange(len(points)), near.shape[1])
        pairs = np.stack([own, near.ravel()], axis=1)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    elif method in ("delaunay", "gabriel"):
        pairs = _triangulated(points)
        if method == "gabriel":
            a, b = points[pairs[:, 0]], points[pairs[:, 1]]
            half = np.linalg.norm(a - b, axis=1) / 2.0
            least = cKDTree(points).query((a + b) / 2.0)[0]
            pairs = pairs[least >= half * (1.0 - 1e-9)]
    else:
        raise ValueError(f"method is {method!r}; it must be 'delaunay', 'knn' or 'gabriel'.")
    if longest is not None:
        length = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
        pairs = pairs[length <= longest]
    return np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int64).reshape(-1, 2)


def _triangulated(points: FloatArray) -> IntArray:
    """The edges of Delaunay's triangulation; equal points are neighbours."""
    from scipy.spatial import Delaunay, QhullError, cKDTree

    first, which = np.unique(points, axis=0, return_index=True, return_inverse=True)[1:]
    which = which.ravel()
    same = np.flatnonzero(first[which] != np.arange(len(points)))
    equal = np.stack([first[which[same]], same], axis=1)
    if len(first) <= 2:
        edges = np.array([first], np.int64) if len(first) == 2 else np.empty((0, 2), np.int64)
        return np.concatenate([edges, equal])
    try:
        corners = Delaunay(points[first]).simplices
    except QhullError as error:
        raise ValueError(
            "the points lie on a line, so that they have no triangulation; use method='knn'."
        ) from error
    sides = [(a, b) for a in range(corners.shape[1]) for b in range(a)]
    edges = np.concatenate([corners[:, list(side)] for side in sides])
    left = np.setdiff1d(np.arange(len(first)), corners)
    if len(left):  # too near to others to be a corner
        near = cKDTree(points[first[corners.ravel()]]).query(points[first[left]])[1]
        edges = np.concatenate([edges, np.stack([left, corners.ravel()[near]], axis=1)])
    return np.concatenate([first[edges], equal])


def polygon_pairs(
    polygons: Any, touch: str, tolerance: float
) -> tuple[IntArray, FloatArray, list[Any] | None]:
    """Edges between polygons that touch, a point inside each, and their names."""
    try:
        import shapely
    except ImportError as error:
        raise ImportError("neighbours of polygons need shapely: pip install shapely") from error
    if touch not in ("edge", "corner"):
        raise ValueError(f"touch is {touch!r}; it must be 'edge' or 'corner'.")
    if not 0.0 <= tolerance < np.inf:
        raise ValueError(f"tolerance is {tolerance}; it must be a distance of at least 0.")
    shapes = np.asarray(getattr(polygons, "geometry", polygons), object)
    index = index_of(polygons)
    names = None if index is None else list(index)
    _refuse_shapes(shapely, shapes, names)
    tree = shapely.STRtree(shapes)
    size = np.sqrt(float(np.median(shapely.area(shapes))))
    reach = max(tolerance, NEARLY * size)
    a, b = tree.query(shapes, predicate="dwithin", distance=reach)
    a, b = a[a < b], b[a < b]
    apart = shapely.distance(shapes[a], shapes[b])
    near = apart > tolerance
    if touch == "edge":  # where tolerance would not make a corner a common edge
        near[near] = _has_edge(shapely, shapes[a[near]], shapes[b[near]], apart[near])
    if near.any():
        warnings.warn(
            f"{plural(int(near.sum()), 'pair')} of polygons nearly touch, with gaps of up to "
            f"{apart[near].max():.3g}; they are no neighbours unless tolerance is as large.",
            stacklevel=3,
        )
    a, b = a[apart <= tolerance], b[apart <= tolerance]
    shared = shapely.area(shapely.intersection(shapes[a], shapes[b]))
    over = shared > NEARLY * size * size
    if over.any():
        raise_most = int(np.argmax(shared))
        warnings.warn(
            f"{plural(int(over.sum()), 'pair')} of polygons overlap, most "
            f"{_named(names, a[raise_most])} and {_named(names, b[raise_most])}; they count as "
            "neighbours.",
            stacklevel=3,
        )
    if touch == "edge":
        long = _has_edge(shapely, shapes[a], shapes[b], np.full(len(a), tolerance))
        a, b = a[long], b[long]
    inside = shapely.point_on_surface(shapes)
    points = np.stack([shapely.get_x(inside), shapely.get_y(inside)], axis=1)
    return np.stack([a, b], axis=1).astype(np.int64), points, names


def _has_edge(shapely: Any, one: Any, other: Any, tolerance: FloatArray) -> BoolArray:
    """Whether polygons have an edge in common, but for gaps up to a tolerance."""
    grown = np.where(tolerance > 0.0, shapely.buffer(other, tolerance), other)
    border = shapely.length(shapely.intersection(shapely.boundary(one), grown))
    # Around a corner there is so much of the border within the tolerance.
    long: BoolArray = border > 4.0 * tolerance
    return long


def _named(names: list[Any] | None, row: Any) -> Any:
    return int(row) if names is None else names[row]


def _refuse_shapes(shapely: Any, shapes: Any, names: list[Any] | None) -> None:
    """Raise ``ValueError`` for what is no polygon."""
    faults = {
        "is no geometry": ~shapely.is_geometry(shapes),
        "is empty": shapely.is_empty(shapes),
        "is not valid (shapely.make_valid repairs it)": ~shapely.is_valid(shapes),
        "is no polygon": ~np.isin(shapely.get_type_id(shapes), (3, 6)),
    }
    for fault, wrong in faults.items():
        if wrong.any():
            rows = [_named(names, row) for row in np.flatnonzero(wrong)]
            listed_rows = shortened(map(str, rows), len(rows), 10)
            raise ValueError(f"the polygon of {plural(len(rows), 'row')} {fault}: {listed_rows}.")
