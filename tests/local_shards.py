"""Fits over any shards."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import pairwise
from unittest.mock import patch

import numpy as np

from corral import ConstrainedKMeans
from corral.backends import InMemory
from corral.rows import LocalShards, Shard, ShardTable


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


def brought_home(model):
    """Why the rows came into this process's memory, or nothing if they stayed."""
    return dict(model.report_.plan.table()).get("brought into memory because", "")


def fit_shards(X, shards, rules, k, weight=None, callback=None, **parameters):
    """A model fitted to X by a backend that keeps it in these shards."""
    kind = type("Here", (InShards,), {"shards": shards})
    with patch("corral.backends.BACKENDS", (kind,)):
        model = ConstrainedKMeans(k, **{"random_state": 0, **parameters})
        return model.fit(X, constraints=rules, sample_weight=weight, callback=callback)
