"""The Dask cluster of a fit: its client, and one task for each partition."""

from __future__ import annotations

import importlib
import logging
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from joblib import cpu_count

T = TypeVar("T")

logger = logging.getLogger(__name__)


def find_client() -> tuple[Any, bool]:
    """The present client, or a new one of a local cluster with a process a core; and if it is new.

    :func:`close_client` closes a new one.  ImportError says that dask.distributed is missing,
    RuntimeError that no local cluster can be started.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise ImportError(
            "A fit of a Dask collection needs dask.distributed: "
            "pip install 'corral-clustering[dask]'"
        ) from error
    try:
        return distributed.get_client(), False
    except ValueError:
        logger.info("no Dask client; starting a local cluster of %d processes", cpu_count())
    try:
        client = distributed.Client(_cluster(n_workers=cpu_count(), threads_per_worker=1))
    except RuntimeError as error:
        raise RuntimeError(
            "Dask could not start processes for a local cluster. They import the script that "
            'starts them, so that what it does must stand under `if __name__ == "__main__":`.'
        ) from error
    logger.info("Dask's dashboard is at %s", client.dashboard_link)
    return client, True


def _cluster(**given: Any) -> Any:
    """A cluster on this machine that listens on the loopback interface only."""
    local = importlib.import_module("distributed").LocalCluster
    return local(host="127.0.0.1", dashboard_address="127.0.0.1:0", **given)


def close_client(client: Any) -> None:
    """Close a client that :func:`find_client` made, with its cluster."""
    cluster = client.cluster
    client.close()
    cluster.close()


class Partitions:
    """Futures of shards, one a partition, with their client."""

    def __init__(self, client: Any, shards: Sequence[Any]) -> None:
        self.client, self.shards = client, list(shards)
        self._spent: list[Any] = []
        self._begun: WeakSet[Any] = WeakSet()  # submitted since the last results came
        self._homes: list[list[str]] = self.same([])
        self._way = -1

    def __len__(self) -> int:
        """Number of partitions."""
        return len(self.shards)

    def release(self) -> None:
        """Release all futures."""
        self.shards, self._spent = [], []

    def same(self, a: T) -> list[T]:
        """One thing for every partition."""
        return [a] * len(self)

    def submit(
        self, name: str, function: Callable[..., Any], *columns: Sequence[Any], priority: int = 0
    ) -> list[Any]:
        """Submit one task a partition, under a name that Dask's dashboard shows.

        Submissions go through the partitions forwards and backwards in turn, so that each begins
        with the partitions that the one before left in a worker's memory.  Tasks with a priority
        only read results of the tasks before them, and go in the same direction.
        """
        dask = importlib.import_module("dask")
        self._way = self._way if priority else -self._way
        token, way = uuid.uuid4().hex, slice(None, None, self._way)
        keys = [f"corral-{name}-{token}-{i}" for i in range(len(self))]
        # A task carries all its arguments, so that Dask can run it again elsewhere.
        with (
            dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}),
            dask.annotate(workers=partial(_home, self._homes), allow_other_workers=True),
        ):
            futures: list[Any] = self.client.map(
                function, *(column[way] for column in columns), key=keys[way], priority=priority
            )
        self._begun.update(futures)
        return futures[way]

    def locate(self, futures: list[Any]) -> None:
        """Submit later tasks to the workers that hold these futures, as long as they live.

        Without it, Dask moves a partition that it has copied from worker to worker, and its state
        with it.
        """
        where, load = self.client.who_has(futures), Counter[str]()
        self._homes = []
        for future in futures:
            home = min(where.get(future.key, ()), key=lambda worker: load[worker], default=None)
            self._homes.append([] if home is None else [home])
            load.update(self._homes[-1])

    def gather(self, futures: list[Any]) -> list[Any]:
        """Results in this process's memory, in order.

        After Ctrl-C, or if a task fails, the tasks that wait for a worker are cancelled.
        """
        wait = importlib.import_module("distributed").wait
        try:
            wait(futures)  # a gather that is interrupted would log an error for each future
            found: list[Any] = self.client.gather(futures)
        except BaseException:
            self.client.cancel(list(self._begun), force=True)
            raise
        self._begun.clear()
        # Releasing futures sends a message, after which a client waits 10 ms.  They are kept until
        # the next results are here, so that the next submission leaves at once.
        self._spent = futures
        return found

    def map(self, name: str, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Small results of one task a partition."""
        return self.gather(self.submit(name, function, *columns))


def _home(homes: list[list[str]], key: str) -> list[str]:
    """The worker that a task should go to, by the number at the end of its key."""
    return homes[int(key.rpartition("-")[2])]
