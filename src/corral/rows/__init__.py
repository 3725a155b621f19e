"""Contracted points wherever they are: the protocol, its form in memory, its form in shards."""

from .distance import EUCLIDEAN, Distance, SquaredEuclidean, plus_plus
from .memory import MemoryRows
from .metrics import METRICS, Metric
from .passes import Look
from .protocol import Rows, Table
from .shard import Each, LocalShards, Shard, Shards
from .shards import Passes, Placement, ShardLabels, ShardRows, contracted_shards
from .tables import MemoryTable, ShardTable, distances_to, measured

__all__ = [
    "EUCLIDEAN",
    "METRICS",
    "Distance",
    "Each",
    "LocalShards",
    "Look",
    "MemoryRows",
    "MemoryTable",
    "Metric",
    "Passes",
    "Placement",
    "Rows",
    "Shard",
    "ShardLabels",
    "ShardRows",
    "ShardTable",
    "Shards",
    "SquaredEuclidean",
    "Table",
    "contracted_shards",
    "distances_to",
    "measured",
    "plus_plus",
]
