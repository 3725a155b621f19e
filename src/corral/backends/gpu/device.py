"""All rows as one shard of PyTorch tensors on one device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ...rows import Each, LocalShards, Shard


class DeviceShards(LocalShards):
    """One shard on one device, of float32 or float64; see :class:`corral.rows.Shards`."""

    def __init__(self, shard: Shard) -> None:
        super().__init__([shard])
        self.shard = shard
        self.dtype: Any = np.dtype(str(shard.points.dtype).removeprefix("torch."))

    def map(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """The result for the one shard."""
        with full_products():
            return super().map(function, *args, each=each)

    def transform(
        self, function: Callable[..., Shard], *args: Any, each: Each = None
    ) -> DeviceShards:
        """The shard that the function makes."""
        return DeviceShards(*self.map(function, *args, each=each))


@contextmanager
def full_products() -> Iterator[None]:
    """Keep PyTorch from multiplying float32 with fewer bits."""
    asked = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(asked)
