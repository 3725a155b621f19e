"""The metrics that rows may be compared by: how they come in, and how centres go out.

Solvers see points for which costs are squared Euclidean distances, or the rows of :mod:`.arcs`.  A
metric says which points those are (``embedded``), where the user's centres are among them
(``taken``) and what to call a centre that was found (``given``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import namespace
from .._scale import sum_of_squares
from .._typing import FloatArray
from .arcs import EARTH_RADIUS, ArcRows, arcs_of, to_degrees, to_space
from .distance import EUCLIDEAN, Distance
from .memory import MemoryRows
from .sphere import Chord, OnSphere

#: Names of the columns of places, and the least and the largest of their degrees.
PLACES = {
    "latitude": (re.compile(r"lat(itude)?|breite(ngrad)?", re.IGNORECASE), -90, 90),
    "longitude": (re.compile(r"lo?ng?(itude)?|l(ae|ä)nge(ngrad)?", re.IGNORECASE), -180, 360),
}
#: Radius of the sphere on which a squared distance is one less the cosine.
COSINE_RADIUS = 0.5**0.5


@dataclass(frozen=True)
class Metric:
    """Squared Euclidean distance: everything stays as it is."""

    name: str = "euclidean"
    distance: Distance = EUCLIDEAN
    bounded: bool = False  # whether the points of the solvers have one magnitude, whatever X has
    rows: type[MemoryRows] = MemoryRows  # what the solvers' points in memory are

    def check_table(self, table: Any, columns: Sequence[Any] | None) -> None:
        """Raise ValueError for a :class:`.protocol.Table` that this metric cannot compare."""

    def fault(self, points: Any) -> tuple[int, str] | None:
        """The first row of a piece that has no place in this metric, and what it has instead."""
        return None

    def embedded(self, points: Any) -> Any:
        """Points as the solvers see them, of the library and on the device of these."""
        return points

    def taken(self, centers: FloatArray) -> FloatArray:
        """The user's centres as the solvers see them; ValueError for one without a place."""
        fault = self.fault(centers)
        if fault is not None:
            raise ValueError(f"centre {fault[0]} has {fault[1]}.")
        placed: FloatArray = self.embedded(centers)
        return placed

    def given(self, centers: FloatArray) -> FloatArray:
        """Centres that the solvers found, as the user sees them."""
        return centers

    def lengths(self, squares: FloatArray) -> FloatArray:
        """Distances from squared distances of the solvers' points."""
        return np.sqrt(squares, out=squares)

    def worth(self, lengths: FloatArray, weight: FloatArray | None) -> float:
        """The inertia of rows at these distances from their centres."""
        return sum_of_squares(lengths, weight)


class Cosine(Metric):
    """One less the cosine: rows count by their direction, centres are unit vectors."""

    def fault(self, points: Any) -> tuple[int, str] | None:
        """A row of zeros has no direction."""
        none = _largest_entries(points) <= 0.0
        if not none.any():
            return None
        return int(none.argmax()), "zeros in every column; metric='cosine' needs a direction"

    def embedded(self, points: Any) -> Any:
        """Rows of the length of the sphere's radius."""
        return _of_length(points, COSINE_RADIUS)

    def given(self, centers: FloatArray) -> FloatArray:
        """Unit vectors."""
        units: FloatArray = _of_length(centers, 1.0)
        return units

    def lengths(self, squares: FloatArray) -> FloatArray:
        """The squares are one less the cosine."""
        return squares

    def worth(self, lengths: FloatArray, weight: FloatArray | None) -> float:
        """Their sum."""
        return float(lengths.sum() if weight is None else lengths @ weight)


class Haversine(Metric):
    """Great-circle distance in kilometres between latitudes and longitudes in degrees."""

    def check_table(self, table: Any, columns: Sequence[Any] | None) -> None:
        """Two dense columns in memory, the latitude first."""
        if table.place != "memory":
            raise ValueError(
                f"metric='haversine' works in this process's memory, but X is on {table.place!r}; "
                "give X as a NumPy array, without `device`."
            )
        if table.n_features != 2:
            raise ValueError(
                f"X has {table.n_features} columns; metric='haversine' takes two, latitude and "
                "longitude in degrees."
            )
        if sparse.issparse(table.points):
            raise ValueError("X is sparse; metric='haversine' takes a dense array.")
        refuse_columns(columns)

    def fault(self, points: Any) -> tuple[int, str] | None:
        """Degrees out of range."""
        for (name, (_, least, most)), values in zip(PLACES.items(), points.T, strict=True):
            wrong = np.flatnonzero((values < least) | (values > most))
            if len(wrong):
                row = int(wrong[0])
                said = f"{name} {values[row]:g}; it must lie in [{least}, {most}] degrees"
                return row, said
        return None

    def embedded(self, points: Any) -> Any:
        """Points in space, in kilometres from the centre of the earth."""
        return to_space(points)

    def given(self, centers: FloatArray) -> FloatArray:
        """Latitudes and longitudes in degrees."""
        return to_degrees(centers)

    def lengths(self, squares: FloatArray) -> FloatArray:
        """Arcs from squared chords."""
        return arcs_of(squares)


METRICS: dict[str, Metric] = {
    "euclidean": Metric(),
    "cosine": Cosine("cosine", Chord(COSINE_RADIUS), bounded=True),
    "haversine": Haversine("haversine", OnSphere(EARTH_RADIUS), bounded=True, rows=ArcRows),
}


def _largest_entries(points: Any) -> FloatArray:
    """Largest magnitude in each row of an array of any library, as a NumPy array."""
    if sparse.issparse(points):
        return np.asarray(abs(points).max(axis=1).toarray()).ravel()
    top = namespace(points).max(abs(points), axis=1)
    return np.asarray(top.cpu() if hasattr(top, "cpu") else top)


def _of_length(points: Any, length: float) -> Any:
    """Rows scaled to this length; rows of zeros stay.  Entries of any magnitude are safe."""
    if sparse.issparse(points):
        top = _largest_entries(points)
        first = _divided(points, np.where(top > 0.0, top, 1.0))
        size = np.sqrt(first.multiply(first).sum(axis=1, dtype=np.float64)).ravel()
        return _divided(first, np.where(size > 0.0, size, 1.0) / length)
    xp = namespace(points)
    top = xp.max(abs(points), axis=1, keepdims=True)
    scaled = points / xp.where(top > 0.0, top, xp.ones_like(top))
    size = xp.sqrt(xp.sum(scaled * scaled, axis=1, keepdims=True))
    return scaled * (length / xp.where(size > 0.0, size, xp.ones_like(size)))


def _divided(points: Any, by: FloatArray) -> Any:
    """CSR rows, each divided by a number."""
    data = points.data / np.repeat(by, np.diff(points.indptr)).astype(points.dtype)
    return sparse.csr_array((data, points.indices, points.indptr), shape=points.shape)


def place_of(columns: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first columns of numbers that are latitude and longitude in degrees by name and values.

    Examples
    --------
    >>> place_of(
    ...     {"height": np.zeros(2), "Lon": np.array([8.0, 9.0]), "lat": np.array([47.0, 48.0])}
    ... )
    ('lat', 'Lon')
    """
    latitude, longitude = (
        next((name for name, values in columns.items() if _is(form, -least, name, values)), None)
        for form, least, _ in PLACES.values()
    )
    return None if latitude is None or longitude is None else (latitude, longitude)


def _is(form: re.Pattern[str], most: float, name: str, values: Any) -> bool:
    return form.fullmatch(name.strip()) is not None and bool(np.nanmax(np.abs(values)) <= most)


def refuse_columns(columns: Sequence[Any] | None) -> None:
    """Raise ValueError if the names of the columns say that longitude comes first."""
    if columns is None or len(columns) != 2:
        return
    first, second = (str(name).strip().lower() for name in columns)
    if first.startswith(("lon", "lng")) or second.startswith("lat"):
        raise ValueError(
            f"X has the columns {columns[0]!r} and {columns[1]!r}; metric='haversine' takes the "
            "latitude first and then the longitude."
        )
