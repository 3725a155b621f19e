"""One NVIDIA GPU: correctness against the CPU, bandwidth of an iteration, whole fits.

Parts, all by default (``--parts a,b,c,d``):

- a: the passes on the device against threads in NumPy with float64, on the same small inputs;
- b: time of an iteration against the bandwidth that a copy reaches;
- c: fits of blobs, c1 with equal sizes against k-means without rules, c2 with must-links and
  cannot-links too, against the true labels (c stands for both);
- d: the same fits on the device and in memory.

Exits with 1 where a figure falls short of what it should be.
"""

from __future__ import annotations

import argparse
import sys

import torch


def _parts(given: str) -> list[str]:
    """The parts one by one."""
    return [
        part for each in given.split(",") for part in (("c1", "c2") if each == "c" else (each,))
    ]


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="a,b,c,d", help="parts to run")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of b and c")
    parser.add_argument("--features", type=int, default=64, help="of b and c")
    parser.add_argument("--clusters", type=int, default=100, help="of b and c")
    parser.add_argument("--links", type=int, default=1_000_000, help="of c, of each kind")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("This benchmark needs an NVIDIA GPU that PyTorch can use.")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}", flush=True)
    from device import bandwidth, correct, fits, short

    shape = options.rows, options.features, options.clusters
    parts = {
        "a": correct.part_a,
        "b": lambda: bandwidth.part_b(*shape),
        "c1": lambda: fits.part_c1(*shape),
        "c2": lambda: fits.part_c2(*shape, options.links),
        "d": fits.part_d,
    }
    for part in _parts(options.parts):
        parts[part]()
        torch.cuda.empty_cache()
    for failure in short.failures:
        print(f"SHORT: {failure}")
    sys.exit(bool(short.failures))


if __name__ == "__main__":
    main()
