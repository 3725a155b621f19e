"""Contracted points wherever they are: the protocol, its form in memory, its form in shards."""

from .memory import MemoryRows
from .metrics import METRICS
from .passes import Look
from .protocol import Rows, Table
from .shard import Each, LocalShards, Shard, Shards
from .shards import Passes, Placement, ShardLabels, ShardRows
from .tables import MemoryTable, ShardTable, distances_to, measured

__all__ = [
    "METRICS",
    "Each",
    "LocalShards",
    "Look",
    "MemoryRows",
    "MemoryTable",
    "Passes",
    "Placement",
    "Rows",
    "Shard",
    "ShardLabels",
    "ShardRows",
    "ShardTable",
    "Shards",
    "Table",
    "distances_to",
    "measured",
]
