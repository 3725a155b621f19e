"""A process that runs one job by one method: ``python -m speed.worker JOB METHOD``.

It prints a line when it is ready.  Then it reads lines with the number of a start, runs the method
from that start, and prints the result as a line of JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import IO

import numpy as np
from reference import Rules, inertia, violations
from scipy import sparse
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import make_blobs

from corral.datasets import random_links

from .jobs import Job, all_jobs, equal_sizes
from .methods import METHODS, Data, Labels, Method

STATUS = Path("/proc/self/status")


def own_output() -> IO[str]:
    """Reserve the standard output for the runner; what libraries print goes to standard error."""
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return channel


def warm_up(job: Job, method: Method) -> None:
    """Solve a tiny job of the same kind, so that imports and first calls are not measured."""
    X, y = make_blobs(120, 3, centers=3, random_state=0)
    given = {}
    if job.kind != "sizes":
        must, cannot = random_links(y, 5, 5, random_state=0)
        given = {"must": must.pairs, "cannot": cannot.pairs}
    if job.kind != "pairs":
        given["sizes"] = equal_sizes(120, 3)
    centers, _ = kmeans_plusplus(X, 3, random_state=0)
    method(sparse.csr_array(X) if job.csr else X, Rules(n=120, k=3, **given), centers, 0)


def resident(field: str) -> int | None:
    """Bytes in memory: now (VmRSS) or at the peak since :func:`forget_peak` (VmHWM); Linux only."""
    if not STATUS.exists():
        return None
    fields = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return 1024 * int(fields[field].split()[0])


def forget_peak() -> None:
    """Return free memory to the system and reset the peak."""
    if STATUS.exists():
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")


def spread(X: Data, labels: Labels) -> float:
    """Inertia; the reference accepts no CSR, so sparse clusters are made dense one at a time."""
    if not sparse.issparse(X):
        return inertia(X, labels)
    clusters = (X[labels == j].toarray() for j in np.unique(labels))
    return sum(inertia(points, np.zeros(len(points))) for points in clusters)


def measure(
    job: Job, method: Method, X: Data, rules: Rules, start: int, base: int | None
) -> dict[str, object]:
    """Run the method once: seconds, peak memory above ``base``, inertia and broken rules.

    The process warms up again before each run, because the system may have reclaimed its memory
    while it waited.
    """
    centers, _ = kmeans_plusplus(X, rules.k, random_state=start)
    warm_up(job, method)
    forget_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    labels = method(X, rules, centers, start)
    seconds, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = None if base is None else resident("VmHWM") - base
    answer = {"start": start, "seconds": seconds, "cpu": cpu, "memory": memory}
    if labels is not None:
        answer |= {"inertia": spread(X, labels), "broken": violations(rules, labels)}
    return answer


def main() -> None:
    """Run the method for each line of the input."""
    warnings.simplefilter("ignore")
    channel = own_output()
    job, method = all_jobs()[sys.argv[1]], METHODS[sys.argv[2]]
    warm_up(job, method)
    forget_peak()
    base = resident("VmRSS")
    X, rules = job.make()
    channel.write(json.dumps({"ready": True}) + "\n")
    for line in sys.stdin:
        start = int(line)
        try:
            answer = measure(job, method, X, rules, start, base)
        except Exception as error:
            traceback.print_exc()
            answer = {"start": start, "failed": type(error).__name__}
        channel.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
