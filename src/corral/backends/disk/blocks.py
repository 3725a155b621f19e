"""Blocks of files as shards: read when a pass comes to them, the next one in a thread meanwhile.

What passes keep of the rows (labels, margins, amounts) stays in memory, the points do not.  On a
GPU a block goes through one buffer of pinned memory, and is copied while the GPU works on another.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any, Self

import numpy as np

from ...rows import Each, LocalShards, Shard
from ...rows.shard import chosen
from . import sources
from .sources import RowsOnDisk, Source, cut

#: Bytes of memory that a fit takes beside the blocks, and for each row, at most: 20,000,000 rows in
#: 20 clusters took 33 a row with equal sizes, 43 with a least and a greatest share.
BESIDE, EACH = 1 << 26, 44
#: Part of the free memory of a GPU that a block may take, and bytes that it takes at most.
PART_OF_GPU, MOST_ON_GPU = 8, 1 << 31


class Block(Shard):
    """A shard whose points are read when a pass asks for them."""

    def __init__(self, read: Callable[[], Any], like: Any, length: int, **own: Any) -> None:
        self._read, self._like, self._length, self._points = read, like, length, None
        self.weight, self.amounts, self.pins = (own.get(name) for name in self.parts)
        self.memo = {}

    parts = ("weight", "amounts", "pins")

    @property
    def points(self) -> Any:
        """The points, read once for each pass."""
        if self._points is None:
            self._points = self._read()
        return self._points

    @property
    def example(self) -> Any:
        """No row of the points."""
        return self._like

    def __len__(self) -> int:
        """Number of rows, which are not read for it."""
        return self._length

    def like(self, **changes: Any) -> Shard:
        """The same with other arrays over its rows."""
        own = {name: getattr(self, name) for name in self.parts} | changes
        return Block(lambda: self.points, self._like, self._length, **own)

    def remade(self, function: Callable[..., Any], *args: Any, length: int | None = None) -> Shard:
        """The same with other points, which are made when they are asked for."""
        own = {name: getattr(self, name) for name in self.parts} if length is None else {}
        number = self._length if length is None else length
        return Block(lambda: function(self.points, *args), self._like, number, **own)


class BlockShards:
    """The blocks of a source; see :class:`corral.rows.Shards`.

    ``steps`` make the shards of the blocks as they are read: functions with arguments for all
    blocks, and one tuple for each.  As a context manager it ends the thread that reads.
    """

    def __init__(self, source: Source, device: Any, reader: Reader, steps: Any = ()) -> None:
        self.source, self.device, self._reader, self._steps = source, device, reader, steps
        self.dtype, self.n_features = source.dtype, source.n_features
        self._memos: list[dict[str, Any]] = [{} for _ in source.blocks]
        self._began = list(np.cumsum([0] + [stop - start for _, start, stop in source.blocks]))
        self.lengths: Sequence[int] = [len(self._block(i, None)) for i in range(len(self._memos))]

    @classmethod
    def of(cls, rows: RowsOnDisk, device: str | None) -> BlockShards:
        """The rows of files, to be worked on here or on a device."""
        source, where, most = rows.source, None, sources.BLOCK_BYTES
        if device not in (None, "cpu"):
            from ..gpu.tensors import device_of

            where = device_of(device)
            free = importlib.import_module("torch").cuda.mem_get_info(where)[0]
            most = min(free // PART_OF_GPU, MOST_ON_GPU)
        width = source.n_features * source.dtype.itemsize
        source.blocks[:] = cut(source.files, width, most)
        return cls(source, where, Reader(source, where))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    @property
    def held(self) -> int:
        """How many rows may be kept in memory beside the blocks, to look at again and again."""
        row = self.n_features * int(self.dtype.itemsize)
        return max(sources.BLOCK_BYTES // row, 1)

    @property
    def memory(self) -> str:
        """What bounds the memory that a fit takes here, in words."""
        rows = max(stop - start for _, start, stop in self.source.blocks)
        longest = rows * self.n_features * self.dtype.itemsize
        most = 3 * longest + 2 * sources.BLOCK_BYTES + BESIDE
        most += EACH * sum(self.lengths)
        return (
            f"{len(self.source.blocks)} blocks of at most {longest / 2**20:.0f} MiB are read, "
            "three of them in memory at a time; with up to two sums at most "
            f"{most / 2**30:.1f} GiB are used beyond Python and its libraries"
        )

    def map(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """The results for the blocks, one after another."""
        own = [()] * len(self.lengths) if each is None else [*each]
        with _full_products(self.device), self._reader as reader:
            blocks = (self._block(i, reader) for i in range(len(own)))
            both = zip(blocks, own, strict=True)
            return [_in_memory(self.device, function)(block, *args, *its) for block, its in both]

    def transform(self, function: Callable[..., Shard], *args: Any, each: Each = None) -> Any:
        """Shards that are made as they are read; those of some rows are kept in memory."""
        if function is chosen:
            return _kept(self.map(function, *args, each=each), self.device)
        own = [()] * len(self.lengths) if each is None else [*each]
        steps = (*self._steps, (function, args, own))
        return BlockShards(self.source, self.device, self._reader, steps)

    def _block(self, number: int, reader: Reader | None) -> Shard:
        """A block whose points the reader gives, with what passes kept of it."""

        def read() -> Any:
            if reader is None:
                raise AssertionError("blocks are read in a pass")
            points = reader.take(number)
            if not self._reader.checked[number]:
                self._check(number, points)
            return points

        block: Shard = Block(read, self._reader.example, int(np.diff(self._began)[number]))
        for function, args, own in self._steps:
            block = function(block, *args, *own[number])
        block.memo = self._memos[number]
        return block

    def _check(self, number: int, points: Any) -> None:
        """Raise ValueError for a value of a block that is not finite, the first time it is read."""
        xp = Shard(points).xp
        with np.errstate(over="ignore", invalid="ignore"):
            finite = bool(xp.isfinite(xp.sum(points)))
        bad = [] if finite else xp.nonzero(~xp.isfinite(points))
        if len(bad) and len(bad[0]):
            row, column = int(bad[0][0]), int(bad[1][0])
            file, start, _ = self.source.blocks[number]
            names = getattr(self.source, "columns", range(self.n_features))
            kind = "NaN" if bool(xp.isnan(points[row, column])) else "infinity"
            raise ValueError(
                f"X contains {kind}, in row {start + row} of {self.source.files[file].path}, "
                f"column {names[column]!r} (row {self._began[number] + row} of X); all values must "
                "be finite."
            )
        self._reader.checked[number] = True


def _kept(shards: list[Shard], device: Any) -> Any:
    """Shards in memory, here or on the device."""
    filled = [shard for shard in shards if len(shard)] or shards[:1]
    if device is None:
        return LocalShards(filled)
    from ..gpu.device import DeviceShards

    return DeviceShards(*filled)


def _full_products(device: Any) -> Any:
    if device is None:
        return nullcontext()
    from ..gpu.device import full_products

    return full_products()


def _in_memory(device: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which is tried with smaller work arrays on a device without memory."""
    if device is None:
        return function
    from ..gpu.device import in_memory

    return partial(in_memory, function)


class Reader:
    """Reads blocks for one pass at a time, the next one in a thread while one is worked on.

    As a context manager it begins and ends a pass.
    """

    def __init__(self, source: Source, device: Any) -> None:
        self._source, self._device = source, device
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="corral-read")
        self._next: tuple[int, Future[Any]] | None = None
        self._pinned: Any = None
        self.checked = [False] * len(source.blocks)
        self.reads = 0  # of blocks, since the beginning
        self.example: Any = np.empty((0, source.n_features), source.dtype)
        if device is not None:
            torch = importlib.import_module("torch")
            self.example = torch.as_tensor(self.example).to(device)
            self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._next is not None:
            self._next[1].exception()  # wait for it: the source is read by one thread at a time
            self._next = None

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()

    def take(self, block: int) -> Any:
        """The points of a block; that of the next one begins."""
        ahead, self._next = self._next, None
        if ahead is not None and ahead[0] != block:
            ahead[1].exception()
            ahead = None
        points = (self._thread.submit(self._read, block) if ahead is None else ahead[1]).result()
        if block + 1 < len(self._source.blocks):
            self._next = block + 1, self._thread.submit(self._read, block + 1)
        return points

    def _read(self, block: int) -> Any:
        """The points of a block, on the device."""
        self.reads += 1
        _, start, stop = self._source.blocks[block]
        shape = stop - start, self._source.n_features
        if self._device is None:
            points = np.empty(shape, self._source.dtype)
            self._source.read(block, points)
            return points
        torch = importlib.import_module("torch")
        if self._pinned is None or self._pinned.shape[0] < shape[0]:
            longest = max(b - a for _, a, b in self._source.blocks)
            kind, pinned = self.example.dtype, self._stream is not None
            self._pinned = torch.empty((longest, shape[1]), dtype=kind, pin_memory=pinned)
        buffer = self._pinned[: shape[0]]
        self._source.read(block, buffer.numpy())
        if self._stream is None:
            return buffer.clone()
        with torch.cuda.stream(self._stream):
            points = buffer.to(self._device, non_blocking=True)
        self._stream.synchronize()
        return points
