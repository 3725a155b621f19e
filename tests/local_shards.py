"""Shards of NumPy arrays in this process, and fits over any shards."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import pairwise
from unittest.mock import patch

import numpy as np

from corral import ConstrainedKMeans
from corral.admm.crew import Threads
from corral.backends import InMemory
from corral.rows import Shard, ShardTable, plus_plus


class LocalShards:
    """Shards in this process's memory; see :class:`corral.rows.Shards`."""

    quick = True

    def __init__(self, shards):
        self.shards = list(shards)

    @property
    def points(self):
        return np.concatenate([shard.points for shard in self.shards])

    @property
    def dtype(self):
        return self.shards[0].points.dtype

    @property
    def lengths(self):
        return [len(shard) for shard in self.shards]

    @property
    def n_features(self):
        return int(self.shards[0].points.shape[1])

    def map(self, function, *args, each=None):
        own = [()] * len(self.shards) if each is None else each
        return [function(shard, *args, *its) for shard, its in zip(self.shards, own, strict=True)]

    def transform(self, function, *args, each=None):
        return LocalShards(self.map(function, *args, each=each))

    def crew(self, points=None):
        return Threads(self.points if points is None else points)

    seeds = staticmethod(plus_plus)


def cut(points, pieces):
    """The points in so many shards of about the same length."""
    edges = np.linspace(0, len(points), pieces + 1).astype(int)
    return LocalShards([Shard(points[a:b]) for a, b in pairwise(edges)])


class InShards(InMemory):
    """A backend whose rows are the shards given: one class, one entry of ``BACKENDS``."""

    shards = None

    @contextmanager
    def opened(self, estimator, weight):
        yield ShardTable(self.shards, weight, "shards")


def fit_shards(X, shards, rules, k, weight=None, **parameters):
    """A model fitted to X by a backend that keeps it in these shards."""
    kind = type("Here", (InShards,), {"shards": shards})
    with patch("corral.backends.BACKENDS", (kind,)):
        model = ConstrainedKMeans(k, random_state=0, **parameters)
        return model.fit(X, constraints=rules, sample_weight=weight)
