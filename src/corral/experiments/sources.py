"""Data sets by the names they have on the page, their sizes, and links drawn from their classes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from .. import CannotLink, ClusterSizes, Constraint, MustLink
from .. import datasets as data
from .._typing import FloatArray, IntArray

#: The sample of ImBalanced: on this one k-means comes to the same answer from nearly any start,
#: as it did on the paper's.
IMBALANCED_SAMPLE = 7

_LOADERS: Mapping[str, Callable[[], Any]] = {
    "wine": lambda: data.load_wine(return_X_y=True),
    "iris": lambda: data.load_iris(return_X_y=True),
    "glass": lambda: data.load_glass(return_X_y=True),
    "ionosphere": lambda: data.load_ionosphere(return_X_y=True),
    "Hepatitis": lambda: data.load_hepatitis(return_X_y=True),
    "Hepatitis1": lambda: data.load_hepatitis1(return_X_y=True),
    "breast cancer": lambda: data.load_breast_cancer(return_X_y=True),
    "Balanced (2, 2)": lambda: data.make_balanced(2, 2, random_state=0),
    "Balanced (3, 3)": lambda: data.make_balanced(3, 3, random_state=0),
    "Balanced (4, 4)": lambda: data.make_balanced(4, 4, random_state=0),
    "ImBalanced 0.1": lambda: data.make_imbalanced(0.1, random_state=IMBALANCED_SAMPLE),
    "ImBalanced 0.3": lambda: data.make_imbalanced(0.3, random_state=IMBALANCED_SAMPLE),
}

UCI = tuple(name for name in _LOADERS if "alanced" not in name)
SYNTHETIC = tuple(name for name in _LOADERS if "alanced" in name)

#: Links drawn at a time: few of them are the first of many, so that more pairs are other pairs
#: added.
MOST_LINKS = 400

#: The four variants of the paper's method, by the rules they have.
VARIANTS: Mapping[str, str] = {
    "free": "lpKm",
    "car": "lpKm-Car",
    "pair": "lpKm-Pair",
    "mix": "lpKm-Mix",
}


@cache
def points(name: str) -> tuple[FloatArray, IntArray, int]:
    """Points, classes and the number of classes of a data set."""
    X, y = _LOADERS[name]()
    return X, y, len(np.unique(y))


def seed_of(seed: int, *parts: str | int) -> int:
    """A seed for one purpose, the same on every machine."""
    words = [part if isinstance(part, int) else zlib.crc32(part.encode()) for part in parts]
    return int(np.random.SeedSequence([seed, *words]).generate_state(1)[0])


def rules_for(
    name: str, variant: str, must: int, cannot: int, draw: int, seed: int
) -> list[Constraint]:
    """Rules of a variant: the sizes of the classes, and links that agree with them."""
    _, y, _ = points(name)
    rules: list[Constraint] = []
    if variant in ("car", "mix"):
        rules.append(ClusterSizes(np.bincount(y).tolist()))
    if variant in ("pair", "mix"):
        rules += _links(name, must, cannot, seed_of(seed, "links", name, draw))
    return rules


def _links(name: str, must: int, cannot: int, seed: int) -> list[Constraint]:
    _, y, _ = points(name)
    rng = np.random.RandomState(seed)
    drawn = data.random_links(y, MOST_LINKS, MOST_LINKS, random_state=rng)
    together, apart = (rng.permutation(links.pairs) for links in drawn)
    return [MustLink(together[:must]), CannotLink(apart[:cannot])]
