"""The Dask client of a fit."""

from __future__ import annotations

import importlib
import logging
from typing import Any

from joblib import cpu_count

logger = logging.getLogger(__name__)


def find_client() -> tuple[Any, bool]:
    """The present client, or a new one of a local cluster with a process a core.

    Returns
    -------
    client : distributed.Client
    new : bool
        Whether it was made here; :func:`close_client` closes it.

    Raises
    ------
    ImportError
        If dask.distributed is not installed, with what to do.
    RuntimeError
        If no local cluster can be started.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise ImportError(
            "A fit of a Dask collection needs dask.distributed: pip install corral[dask]"
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
    """A cluster on this machine, which nobody else can reach."""
    local = importlib.import_module("distributed").LocalCluster
    return local(host="127.0.0.1", dashboard_address="127.0.0.1:0", **given)


def close_client(client: Any) -> None:
    """Close a client that :func:`find_client` made, with its cluster."""
    cluster = client.cluster
    client.close()
    cluster.close()
