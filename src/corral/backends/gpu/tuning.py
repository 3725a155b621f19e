"""How the kernels are laid out on the device."""

from __future__ import annotations

from dataclasses import dataclass

from .layout import Segment


@dataclass(frozen=True)
class Tuning:
    """How a kernel is laid out on the device.

    Attributes
    ----------
    tile : int
        Groups of a tile, a multiple of 16.
    warps : int
    registers : int or None
        The most that a thread may have; None for as many as the compiler likes.
    programs : int
        On each multiprocessor.
    ahead : bool
        Whether a program has its next tile brought into the device's cache before it works on one.
    stages : int
        With 2, it also brings it into the memory that its threads share, with 3 the tile after
        that too, where there is room.
    run : int
        Tiles that the matrix units add up.
    """

    tile: int = 32
    warps: int = 8
    registers: int | None = None
    programs: int = 4
    ahead: bool = False
    stages: int = 1
    run: int = 16


@dataclass(frozen=True)
class Tunings:
    """Those of all kernels.

    Attributes
    ----------
    forward : Tuning
    graduate, settle : Tuning
        Of the second pass over plain groups, without and with the sphere.
    rows : Tuning
        Of the same over groups with numbers of their own.
    """

    forward: Tuning = Tuning()
    graduate: Tuning = Tuning(warps=4, programs=2, ahead=True, run=32)
    settle: Tuning = Tuning(tile=64, programs=1, ahead=True, stages=2)
    rows: Tuning = Tuning(programs=1, ahead=True, stages=3)

    def backward(self, sphere: bool, segment: Segment) -> Tuning:
        """Of the second pass over a segment."""
        if segment.rows is not None:
            return self.rows
        return self.settle if sphere else self.graduate
