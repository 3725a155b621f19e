"""Fits whose rows live elsewhere: on a GPU, or with Dask's workers.

``holder`` says what those who hold rows in shards must do, ``passes`` what is done on one shard;
``geometry``, ``costs``, ``refine`` and ``solve`` are the way of the data from there.
"""

from .holder import Holder, Local
from .report import audit_shards, bring_home, label_means
from .shard import Shard
from .solve import grouped, solve_sharded

__all__ = [
    "Holder",
    "Local",
    "Shard",
    "audit_shards",
    "bring_home",
    "grouped",
    "label_means",
    "solve_sharded",
]
