"""Cells of the grid: names, random parts and seeds, all by a stable hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from .kinds import KINDS
from .rules import RULES

#: Rows and clusters.
SIZES = ("300x3", "2000x5", "2000x100", "20000x20", "20000x400", "200000x50")

#: Ways to hand over the data and estimators.  All but the first are tried on a part of the cells.
VARIANTS = ("euclidean", "cosine", "medoids", "csr", "float32", "tensor", "dask")

#: Sizes of the variants, and the share of their cells that exists.
VARIANT_SIZES = ("300x3", "2000x5", "2000x100", "20000x20")
VARIANT_SHARE = 0.08

#: Share of the cells in the table of version 0.6.0, by size.
TABLE_SHARE = {
    "300x3": 0.45,
    "2000x5": 0.45,
    "2000x100": 0.45,
    "20000x20": 0.3,
    "20000x400": 0.25,
    "200000x50": 0.08,
}

#: Combinations that mean nothing: sparse rows on another backend or twice, and data whose
#: differences are lost in 32 bits or in the angle.
SKIPPED = {
    ("text", "csr"),
    ("text", "tensor"),
    ("text", "dask"),
    ("offset", "float32"),
    ("offset", "cosine"),
}


def number(*parts: object) -> int:
    """64 bits that depend on the parts alone."""
    text = "/".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def fraction(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    return number(*parts) / 2.0**64


@dataclass(frozen=True)
class Cell:
    """One problem of the grid, named such as ``2000x100/heavy/capacity85/euclidean``."""

    size: str
    kind: str
    rules: str
    variant: str

    @classmethod
    def named(cls, name: str) -> Cell:
        return cls(*name.split("/"))

    @property
    def name(self) -> str:
        return f"{self.size}/{self.kind}/{self.rules}/{self.variant}"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and clusters."""
        n, k = self.size.split("x")
        return int(n), int(k)

    def rng(self, purpose: str, seed: int) -> np.random.Generator:
        """Random numbers: the same data for all rules, the same rules for all variants."""
        parts = [purpose, self.size, self.kind] + [self.rules] * (purpose != "data")
        return np.random.default_rng(number(*parts, seed))

    def exists(self) -> bool:
        """Whether the cell is in the grid."""
        if self.variant == "euclidean":
            return True
        if (self.kind, self.variant) in SKIPPED or self.size not in VARIANT_SIZES:
            return False
        if self.variant == "medoids" and self.shape[0] > 2000:
            return False
        return fraction("variant", self.name) < VARIANT_SHARE

    def in_part(self, part: str, seed: int) -> bool:
        """Whether the cell is in a part: a share of all, or "table", that of version 0.6.0."""
        share = TABLE_SHARE.get(self.size, 0.3) if part == "table" else float(part)
        return fraction("part", self.name, seed) < share


def grid(
    sizes: tuple[str, ...] = SIZES,
    kinds: tuple[str, ...] = tuple(KINDS),
    rules: tuple[str, ...] = tuple(RULES),
    variants: tuple[str, ...] = VARIANTS,
) -> list[Cell]:
    """All cells of these sizes, kinds, rules and variants."""
    cells = (Cell(s, d, r, v) for s in sizes for d in kinds for r in rules for v in variants)
    return [cell for cell in cells if cell.exists()]


def shuffled(cells: list[Cell], seed: int) -> list[Cell]:
    """The cells in a fixed random order, so that a run that was cut off is a random part."""
    return sorted(cells, key=lambda cell: fraction("order", cell.name, seed))
