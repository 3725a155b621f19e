"""The first ``corral fit`` on a machine: how long do imports and the compilation of kernels take?

``python benchmarks/first_call.py`` runs ``corral fit`` on 300 rows in a new process whose numba
cache is empty, and then once more with the cache that the first has filled.  It prints seconds of
wall time and of processor time: of the imports, of the kernels that every fit makes ready, and of
the whole process.  The exit code is 1 if a first call takes longer than its target.

Python compiles modules when they are first imported, unless the installer has done so before; with
``PYTHONDONTWRITEBYTECODE`` in the environment it does that in each process, and imports take three
times as long.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

import numpy as np

#: Seconds of wall time that a first call may take on two cores.
TARGET = 8.0

#: What the new process runs: the command, with the steps that are timed.
PROGRAM = """
import json, sys, time

def now():
    return time.perf_counter(), time.process_time()

moments = [now()]
import corral.estimator, corral.cli.app
moments.append(now())
ready_for = corral.estimator.ready_for

def timed(*arguments):
    moments.append(now())
    ready_for(*arguments)
    moments.append(now())

corral.estimator.ready_for = timed
code = corral.cli.app.run(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump(moments, file)
sys.exit(code)
"""

Seconds = tuple[float, float]  # wall time and processor time


def call(folder: Path) -> dict[str, Seconds]:
    """Run the command in a new process; the seconds of its steps."""
    times, cache = folder / "times.json", folder / "cache"
    fit = ["fit", str(folder / "points.csv"), "-k", "4", "--max-size", "80", "--quiet", "--force"]
    begun, used = time.perf_counter(), _used()
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(times), *fit, "-o", str(folder / "labels.csv")],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        check=True,
    )
    whole = time.perf_counter() - begun, _used() - used
    start, imported, begin, ready = json.loads(times.read_text())
    return {
        "imports": (imported[0] - start[0], imported[1] - start[1]),
        "kernels": (ready[0] - begin[0], ready[1] - begin[1]),
        "whole": whole,
    }


def _used() -> float:
    """Processor time of all child processes so far."""
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description="Time the first corral fit, and the second.")
    parser.add_argument("--runs", type=int, default=3, help="how often; each with an empty cache")
    runs: int = parser.parse_args().runs
    print("seconds of wall time (processor time)")
    first = []
    for run in range(runs):
        with TemporaryDirectory() as name:
            folder = Path(name)
            points = np.random.RandomState(run).normal(size=(300, 5))
            named = {"delimiter": ",", "header": "a,b,c,d,e", "comments": ""}
            np.savetxt(folder / "points.csv", points, **named)
            for which in ("first", "second"):
                steps = call(folder)
                first += [steps["whole"][0]] if which == "first" else []
                text = "  ".join(f"{name} {a:5.2f} ({b:5.2f})" for name, (a, b) in steps.items())
                print(f"{which:6}  {text}", flush=True)
    print(f"first call: {min(first):.1f} s at best, the target is {TARGET:g} s")
    return int(min(first) > TARGET)


if __name__ == "__main__":
    sys.exit(main())
