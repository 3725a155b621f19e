"""One NVIDIA GPU: correctness against the CPU, time of a pass, whole fits.

Parts, all by default (``--parts a,b,c,d,e,f,g``):

- a: the passes on the device in float32 against NumPy in float64, on the same inputs;
- b: time of a pass, beside one product of all rows and centres;
- c: fits of blobs, c1 with equal sizes against k-means without rules, c2 with must-links and
  cannot-links too, against the true labels (c stands for both);
- d: the same fits on the device and in memory;
- e: many clusters, and many rows, against plain Lloyd; e1 to e6 are its jobs;
- f: heavy tails, Zipf populations, and cosine with a maximum, against plain Lloyd; f1 to f3;
- g: shares, totals, and rows from a memory map in blocks; g1 to g3.

``--device cpu --shrink 40 --parts f,g`` tries these with few rows and without a GPU.

Exits with 1 where a figure falls short of what it should be.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial

import torch

#: Parts that one letter stands for.
GROUPS = {
    "c": ("c1", "c2"),
    "e": ("e1", "e2", "e3", "e4", "e5", "e6"),
    "f": ("f1", "f2", "f3"),
    "g": ("g1", "g2", "g3"),
}


def _parts(given: str) -> list[str]:
    """The parts one by one."""
    return [part for each in given.split(",") for part in GROUPS.get(each, (each,))]


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="a,b,c,d,e,f,g", help="parts to run")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of b and c")
    parser.add_argument("--features", type=int, default=64, help="of b and c")
    parser.add_argument("--clusters", type=int, default=100, help="of b and c")
    parser.add_argument("--links", type=int, default=1_000_000, help="of c, of each kind")
    parser.add_argument("--device", default="cuda", help="of f and g")
    parser.add_argument("--shrink", type=int, default=1, help="times fewer rows in f and g")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("This benchmark needs an NVIDIA GPU that PyTorch can use.")
    where = torch.cuda.get_device_name() if options.device == "cuda" else options.device
    print(f"{where}, PyTorch {torch.__version__}", flush=True)
    # scikit-learn takes tensors on the CPU if SciPy may, which it asks when it is imported.
    os.environ.setdefault("SCIPY_ARRAY_API", "1" if options.device == "cpu" else "0")
    from device import correct, fits, many, prices, short, sums

    shape = options.rows, options.features, options.clusters
    parts = {
        "a": correct.part_a,
        "b": lambda: correct.part_b(*shape),
        "c1": lambda: fits.part_c1(*shape),
        "c2": lambda: fits.part_c2(*shape, options.links),
        "d": fits.part_d,
        **{name: partial(many.part_e, name) for name in many.JOBS},
        **{
            name: partial(prices.part_f, name, options.device, options.shrink)
            for name in prices.JOBS
        },
        **{name: partial(sums.part_g, name, options.device, options.shrink) for name in sums.JOBS},
    }
    for part in _parts(options.parts):
        parts[part]()
        if options.device == "cuda":
            torch.cuda.empty_cache()
    for failure in short.failures:
        print(f"SHORT: {failure}")
    sys.exit(bool(short.failures))


if __name__ == "__main__":
    main()
