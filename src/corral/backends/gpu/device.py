"""All rows as one shard of PyTorch tensors on one device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from ...rows import Each, LocalShards, Shard

#: Factor by which work arrays become smaller after there was no memory for them, and the largest
#: part of their size that they may lose.
SHRINK, LEAST_WORK = 4, 256


class DeviceShards(LocalShards):
    """Shards on one device, of float32 or float64; see :class:`corral.rows.Shards`."""

    def __init__(self, *shards: Shard) -> None:
        super().__init__(shards)
        self.shard = self.shards[0]

    def map(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """The results for the shards."""
        with full_products():
            return super().map(partial(in_memory, function), *args, each=each)

    def transform(
        self, function: Callable[..., Shard], *args: Any, each: Each = None
    ) -> DeviceShards:
        """The shards that the function makes."""
        return DeviceShards(*self.map(function, *args, each=each))


def in_memory(function: Callable[..., Any], shard: Shard, *args: Any) -> Any:
    """The result for a shard, with smaller work arrays where a device has no memory left.

    Raises
    ------
    MemoryError
        The device has too little memory for the smallest, too.
    """
    while True:
        try:
            return function(shard, *args)
        except torch.cuda.OutOfMemoryError as error:
            shrunk = shard.memo.get("shrunk", 1) * SHRINK
            if shrunk > LEAST_WORK:
                raise out_of_memory(shard.example) from error
            shard.memo["shrunk"] = shrunk
            for name in ("cheapest", "measured"):  # which are computed again where they are needed
                shard.memo.pop(name, None)
        torch.cuda.empty_cache()


def out_of_memory(points: Any) -> MemoryError:
    """The error for rows, of the kind of these, that a device has no memory for."""
    free = ""
    if points.device.type == "cuda":
        free = " ({:.1f} of {:.1f} GiB are free)".format(
            *(each / 2**30 for each in torch.cuda.mem_get_info(points.device))
        )
    return MemoryError(
        f"the memory of {points.device} is too small for the rows and what a pass needs{free}. "
        "Nothing was fitted.  Give X as the path of a .npy or Parquet file, or as a memory map, "
        "which go through the GPU block by block; or let go of what else is there."
    )


@contextmanager
def full_products() -> Iterator[None]:
    """Keep PyTorch from multiplying float32 with fewer bits."""
    asked = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(asked)
