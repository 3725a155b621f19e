"""One NVIDIA GPU: correctness against the CPU, bandwidth of an iteration, whole fits.

Parts, all by default (``--parts a,b,c,d,e``):

- a: the passes on the device against threads in NumPy with float64, on the same small inputs;
- b: time of an iteration against the bandwidth that a copy reaches;
- c: fits of blobs, c1 with equal sizes against k-means without rules, c2 with must-links and
  cannot-links too, against the true labels (c stands for both);
- d: the same fits on the device and in memory;
- e: many clusters, and many rows, against plain Lloyd; e1 to e6 are its jobs.

Exits with 1 where a figure falls short of what it should be.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

import torch

#: Parts that one letter stands for.
GROUPS = {"c": ("c1", "c2"), "e": ("e1", "e2", "e3", "e4", "e5", "e6")}


def _parts(given: str) -> list[str]:
    """The parts one by one."""
    return [part for each in given.split(",") for part in GROUPS.get(each, (each,))]


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="a,b,c,d,e", help="parts to run")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of b and c")
    parser.add_argument("--features", type=int, default=64, help="of b and c")
    parser.add_argument("--clusters", type=int, default=100, help="of b and c")
    parser.add_argument("--links", type=int, default=1_000_000, help="of c, of each kind")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("This benchmark needs an NVIDIA GPU that PyTorch can use.")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}", flush=True)
    from device import bandwidth, correct, fits, many, short

    shape = options.rows, options.features, options.clusters
    parts = {
        "a": correct.part_a,
        "b": lambda: bandwidth.part_b(*shape),
        "c1": lambda: fits.part_c1(*shape),
        "c2": lambda: fits.part_c2(*shape, options.links),
        "d": fits.part_d,
        **{name: partial(many.part_e, name) for name in many.JOBS},
    }
    for part in _parts(options.parts):
        parts[part]()
        torch.cuda.empty_cache()
    for failure in short.failures:
        print(f"SHORT: {failure}")
    sys.exit(bool(short.failures))


if __name__ == "__main__":
    main()
