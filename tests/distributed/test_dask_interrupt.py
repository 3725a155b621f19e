"""Ctrl-C while workers compute: tasks that wait for a worker are cancelled."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from threading import Thread

import pytest

distributed = pytest.importorskip("distributed")

from corral.backends.dask.cluster import Partitions  # noqa: E402

TASKS = 12


def slow(number, folder):
    """Say that the task has begun, and go on when the test says so."""
    (Path(folder) / f"begun {number}").touch()
    while not (Path(folder) / "go").exists():
        time.sleep(0.01)


def begun(folder):
    return sorted(path.name for path in folder.glob("begun *"))


def press_soon(folder, n_workers):
    """Press Ctrl-C when every worker is at work."""
    while len(begun(folder)) < n_workers:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def test_tasks_that_wait_for_a_worker_never_begin_after_ctrl_c(client, tmp_path):
    workers = list(client.scheduler_info()["workers"])
    partitions = Partitions(client, range(TASKS))
    Thread(target=press_soon, args=(tmp_path, len(workers)), daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        partitions.map("slow", slow, partitions.shards, partitions.same(str(tmp_path)))
    (tmp_path / "go").touch()
    for worker in workers:  # each has one thread: what it still had to do is done before this
        client.submit(abs, -1, workers=[worker], pure=False).result()
    # A worker may have been sent its next task before.
    assert len(begun(tmp_path)) <= 2 * len(workers) < TASKS
