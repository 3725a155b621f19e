"""Where points are drawn: principal components, two columns, or a map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray
from .data import Data

#: Radius of the sphere of the map's projection in metres, and its largest latitude in degrees.
EARTH, POLE = 6_378_137.0, 85.0

COMPONENTS, MAP = "principal components", "map"


@dataclass(frozen=True)
class Plane:
    """Coordinates of the rows, and what the axes are called."""

    x: FloatArray
    y: FloatArray
    x_name: str
    y_name: str
    is_map: bool = False


def views_of(data: Data) -> list[str]:
    """The choices of a picture as a whole: a map if there are places, and principal components."""
    return ([MAP] if data.place else []) + [COMPONENTS]


def plane_of(data: Data, x: str, y: str) -> Plane:
    """The picture of this choice: two names of columns, or one of :func:`views_of` as ``x``.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    if x == MAP and data.place:
        return _map(data)
    if x == COMPONENTS:
        return _components(data)
    for name in (x, y):
        if name not in data.number_columns:
            raise ValueError(f"there is no column of numbers {name!r} to draw.")
    return Plane(data.columns[x], data.columns[y], x, y)


def _map(data: Data) -> Plane:
    """Mercator's projection: angles on the map are those on the ground."""
    longitude, latitude = (np.radians(data.columns[name]) for name in data.place or ())
    north = np.clip(latitude, -np.radians(POLE), np.radians(POLE))
    y = EARTH * np.log(np.tan(np.pi / 4 + north / 2))
    return Plane(EARTH * longitude, y, "longitude", "latitude", is_map=True)


def _components(data: Data) -> Plane:
    """Two columns as they are, one against the number of the row, more by their components."""
    from sklearn.decomposition import PCA

    n, d = data.X.shape
    if d == 1:
        return Plane(data.X[:, 0], np.arange(n, dtype=np.float64), data.features[0], "row")
    if d == 2 or n <= 2:
        return Plane(data.X[:, 0], data.X[:, 1], data.features[0], data.features[1])
    pca = PCA(n_components=2, random_state=0)
    flat = pca.fit_transform(data.X)
    shares = np.nan_to_num(pca.explained_variance_ratio_)
    first, second = (f"principal component ({share:.0%})" for share in shares)
    return Plane(flat[:, 0], flat[:, 1], f"first {first}", f"second {second}")
