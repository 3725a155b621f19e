"""All rows as one shard of PyTorch tensors on one device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ...rows import Each, LocalShards, Shard


class DeviceShards(LocalShards):
    """Shards on one device, of float32 or float64; see :class:`corral.rows.Shards`."""

    def __init__(self, *shards: Shard) -> None:
        super().__init__(shards)
        self.shard = self.shards[0]

    def map(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """The results for the shards."""
        with full_products():
            return super().map(function, *args, each=each)

    def transform(
        self, function: Callable[..., Shard], *args: Any, each: Each = None
    ) -> DeviceShards:
        """The shards that the function makes."""
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
