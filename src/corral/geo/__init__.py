"""Maps: GeoPandas frames as data, territories as polygons, and files of both.

What needs GeoPandas and shapely, the extra ``geo``, imports them when it is called.
"""

from __future__ import annotations

from .frames import coordinates, is_geo
from .shapes import Map, map_of
from .territories import labelled, territories, write

__all__ = ["Map", "coordinates", "is_geo", "labelled", "map_of", "territories", "write"]
