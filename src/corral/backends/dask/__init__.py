"""Fits of Dask arrays and data frames: a partition is a shard, and only small sums travel.

Nothing here imports Dask before a Dask collection is there.
"""

from .arrays import by_rows, give_back, hold
from .holder import DaskHolder

__all__ = ["DaskHolder", "by_rows", "give_back", "hold"]
