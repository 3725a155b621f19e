"""Where points are drawn: principal components, two columns, or a map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._typing import FloatArray, IntArray
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

    def inside(self, x: FloatArray, y: FloatArray) -> IntArray:
        """Rows inside the polygon with these corners, by the even-odd rule.

        An edge of the polygon changes the side of the rows to its left that it passes.  These are
        neighbours in the order of their heights, so that an edge looks at no other rows, and a
        polygon with many short edges costs as much as one with few long ones.
        """
        across, up = self.x[self._by_height], self.y[self._by_height]
        within = np.zeros(len(up), bool)
        for x0, y0, x1, y1 in zip(x, y, np.roll(x, -1), np.roll(y, -1), strict=True):
            first, last = np.searchsorted(up, sorted((y0, y1)))
            if first < last:
                passed = x0 + (up[first:last] - y0) * ((x1 - x0) / (y1 - y0))
                within[first:last] ^= across[first:last] < passed
        return np.sort(self._by_height[within])

    def nearest(self, x: float, y: float, reach: tuple[float, float]) -> IntArray:
        """The row nearest to a place, if it is within ``reach``, the half axes of an ellipse."""
        far = np.hypot((self.x - x) / reach[0], (self.y - y) / reach[1])
        row = np.argmin(far)
        return np.array([row] if far[row] <= 1.0 else [], np.int64)

    @cached_property
    def _by_height(self) -> IntArray:
        return np.argsort(self.y, kind="stable")


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
