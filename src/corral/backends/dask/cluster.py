"""The Dask cluster of a fit: its client, and one task for each partition."""

from __future__ import annotations

import asyncio
import importlib
import logging
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from weakref import WeakSet

from joblib import cpu_count

T = TypeVar("T")

logger = logging.getLogger(__name__)


def find_client() -> tuple[Any, bool]:
    """The present client, or a new one of a cluster in this process; and if it is new.

    :func:`close_client` closes a new one.  ImportError says that dask.distributed is missing.
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
        logger.info("no Dask client; starting %d threads in this process", cpu_count())
    return distributed.Client(_cluster(distributed, cpu_count())), True


def _cluster(distributed: Any, n_threads: int) -> Any:
    """A cluster of threads that nobody outside this process can reach.

    Whoever reaches a scheduler or a worker can run code in it.  So their messages stay in this
    process, no port is left open, and what a worker moves to disk is in a folder of this user
    alone.  :class:`distributed.LocalCluster` would serve a worker's state to the network.
    """
    folder = TemporaryDirectory(prefix="corral-dask-")
    # Dask opens a port for web pages in any case.  It has no pages here, and is closed at once.
    common = {"protocol": "inproc://", "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    own = {"nthreads": n_threads, "local_directory": folder.name}
    sides = ("scheduler", "worker")
    routes: dict[str, list[str]] = {f"distributed.{side}.http.routes": [] for side in sides}
    try:
        with importlib.import_module("dask").config.set(routes):
            cluster = distributed.SpecCluster(
                scheduler={"cls": distributed.Scheduler, "options": {**common, "port": 0}},
                workers={0: {"cls": distributed.Worker, "options": {**common, **own}}},
                silence_logs=logging.WARNING,
            )
        cluster.sync(_close_ports, cluster)
    except BaseException:
        folder.cleanup()
        raise
    cluster.corral_folder = folder
    return cluster


async def _close_ports(cluster: Any) -> None:
    """Listen to nobody, in the thread of the cluster."""
    for server in (cluster.scheduler, *cluster.workers.values()):
        server.http_server.stop()


def close_client(client: Any) -> None:
    """Close a client that :func:`find_client` made, with its cluster."""
    cluster = client.cluster
    client.close()
    cluster.close()
    cluster.corral_folder.cleanup()


@contextmanager
def connected(client: Any, doing: str) -> Iterator[None]:
    """Raise ConnectionError in place of what Dask says after its cluster was closed.

    That is one of many errors, by what a call was about to do.  ``doing`` says what it was.
    """
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        if type(error).__name__ == "KilledWorker":
            raise ConnectionError(
                f"Dask's workers died again and again while corral {doing}: {error} Most often "
                "their memory is too small: give them more, or X in smaller partitions. Nothing "
                "was fitted."
            ) from error
        running = client.status == "running"
        if running and not isinstance(error, (CancelledError, asyncio.CancelledError)):
            raise
        what = (
            "its tasks were cancelled, as Client.restart() and Client.cancel() do"
            if running
            else f"the client or its cluster was closed (the client is {client.status})"
        )
        raise ConnectionError(
            f"Dask ended while corral {doing}: {what}. Nothing was fitted. Keep the client and its "
            "cluster as they are until corral returns, and call it again."
        ) from error


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
            connected(self.client, f"sent the tasks {name!r} to {len(self)} partitions"),
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
        with connected(self.client, "asked which worker holds which partition"):
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
        name = "-".join(futures[0].key.split("-")[1:-2]) if futures else ""
        with connected(self.client, f"computed the tasks {name!r} of {len(futures)} partitions"):
            try:
                wait(futures)  # a gather that is interrupted would log an error for each future
                found: list[Any] = self.client.gather(futures)
            except BaseException:
                with suppress(Exception):  # of a client that is closed
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
