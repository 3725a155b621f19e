"""The shards of a fit as futures of a Dask cluster, and tasks over all of them."""

from __future__ import annotations

import importlib
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Partitions:
    """Futures of shards, one a partition.

    Parameters
    ----------
    client : distributed.Client
    shards : list of Future
    """

    def __init__(self, client: Any, shards: Sequence[Any]) -> None:
        self.client, self.shards = client, list(shards)
        self._spent: list[Any] = []
        self._homes: list[list[str]] = self.same([])
        self._way = -1

    def __len__(self) -> int:
        """Number of partitions."""
        return len(self.shards)

    def same(self, a: T) -> list[T]:
        """One thing for every partition."""
        return [a] * len(self)

    def submit(
        self,
        name: str,
        function: Callable[..., Any],
        *columns: Sequence[Any],
        priority: int = 0,
    ) -> list[Any]:
        """Order one task a partition, under a name that Dask's dashboard shows.

        Orders go forth and back through the partitions, so that one begins with what the one
        before it has left in a worker's memory.  Those with a priority only read what tasks before
        them make, and go their way.
        """
        dask = importlib.import_module("dask")
        self._way = self._way if priority else -self._way
        token, way = uuid.uuid4().hex, slice(None, None, self._way)
        keys = [f"corral-{name}-{token}-{i}" for i in range(len(self))]
        # What a task must know to be run again elsewhere travels with it.
        with (
            dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}),
            dask.annotate(workers=_Homes(self._homes), allow_other_workers=True),
        ):
            futures: list[Any] = self.client.map(
                function, *(column[way] for column in columns), key=keys[way], priority=priority
            )
        return futures[way]

    def locate(self, futures: list[Any]) -> None:
        """From now on order tasks where these are; elsewhere only if that worker is lost.

        A partition that Dask has copied would otherwise wander, and its state with it.
        """
        where, load = self.client.who_has(futures), Counter[str]()
        self._homes = []
        for future in futures:
            home = min(where.get(future.key, ()), key=lambda worker: load[worker], default=None)
            self._homes.append([] if home is None else [home])
            load.update(self._homes[-1])

    def gather(self, futures: list[Any]) -> list[Any]:
        """Results in this process's memory, in order."""
        found: list[Any] = self.client.gather(futures)
        # A client waits 10 ms after every message.  Futures that end with the next ones, and not
        # now, let the next order leave at once.
        self._spent = futures
        return found

    def map(self, name: str, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Small results of one task a partition."""
        return self.gather(self.submit(name, function, *columns))


class _Homes:
    """Tells Dask which worker a task should go to, by the number at the end of its key."""

    def __init__(self, homes: list[list[str]]) -> None:
        self._homes = homes

    def __call__(self, key: str) -> list[str]:
        return self._homes[int(key.rpartition("-")[2])]
