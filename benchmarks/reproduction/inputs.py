"""Data sets, rules and methods, by the names that they have on the page."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from corral import (
    CannotLink,
    ClusterSizes,
    ConstrainedGaussianMixture,
    ConstrainedKernelKMeans,
    ConstrainedKMeans,
    ConstrainedKMedoids,
    Constraint,
    LinkPropagation,
    MustLink,
    baselines,
    datasets,
)

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

#: Random state of ImBalanced.  On this sample k-means gives the same clusters from nearly every
#: start, as in the paper.
IMBALANCED_SAMPLE = 7

_LOADERS: Mapping[str, Callable[[], Any]] = {
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "glass": lambda: datasets.load_glass(return_X_y=True),
    "ionosphere": lambda: datasets.load_ionosphere(return_X_y=True),
    "Hepatitis": lambda: datasets.load_hepatitis(return_X_y=True),
    "Hepatitis1": lambda: datasets.load_hepatitis1(return_X_y=True),
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "Balanced (2, 2)": lambda: datasets.make_balanced(2, 2, random_state=0),
    "Balanced (3, 3)": lambda: datasets.make_balanced(3, 3, random_state=0),
    "Balanced (4, 4)": lambda: datasets.make_balanced(4, 4, random_state=0),
    "ImBalanced 0.1": lambda: datasets.make_imbalanced(0.1, random_state=IMBALANCED_SAMPLE),
    "ImBalanced 0.3": lambda: datasets.make_imbalanced(0.3, random_state=IMBALANCED_SAMPLE),
}

UCI = tuple(name for name in _LOADERS if "alanced" not in name)
SYNTHETIC = tuple(name for name in _LOADERS if "alanced" in name)

#: Number of links of each kind that a draw makes.  A cell uses the first of them, so that a
#: larger number of links contains the smaller one.
MOST_LINKS = 400


@cache
def points(name: str) -> tuple[FloatArray, IntArray, int]:
    """Points, classes and the number of classes of a data set."""
    X, y = _LOADERS[name]()
    return X, y, len(np.unique(y))


def seed_of(seed: int, *parts: str | int) -> int:
    """A seed made of the run's seed and the parts, the same on every machine."""
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
    drawn = datasets.random_links(y, MOST_LINKS, MOST_LINKS, random_state=rng)
    together, apart = (rng.permutation(links.pairs) for links in drawn)
    return [MustLink(together[:must]), CannotLink(apart[:cannot])]


#: Makes an estimator from the points, the number of clusters and the seed.
Maker = Callable[[FloatArray, int, int], Any]


@dataclass(frozen=True)
class Start:
    """k-means from one random start: the K-means of the paper, and the start of its method."""

    n_clusters: int
    seed: int

    def fit(self, X: FloatArray, *, constraints: Any = None) -> Any:
        """Cluster the points; constraints are ignored."""
        return KMeans(self.n_clusters, init="random", n_init=1, random_state=self.seed).fit(X)


def _kmeans(X: FloatArray, n_clusters: int, seed: int) -> Start:
    return Start(n_clusters, seed)


def _projected(**options: Any) -> Maker:
    def make(X: FloatArray, n_clusters: int, seed: int) -> Any:
        return ConstrainedKMeans(n_clusters, random_state=seed, **options)

    return make


def _algorithm1(**options: Any) -> Maker:
    """Algorithm 1 of the paper: its x, rounded, without repair or polish."""

    def make(X: FloatArray, n_clusters: int, seed: int) -> Any:
        return ConstrainedKMeans(
            n_clusters, solver="algorithm1", n_init=1, repair=False, random_state=seed, **options
        )

    return make


def _algorithm1_from_kmeans(X: FloatArray, n_clusters: int, seed: int) -> Any:
    start = Start(n_clusters, seed).fit(X).labels_
    return _algorithm1(init=start)(X, n_clusters, seed)


def _plain(kind: type[Any]) -> Maker:
    def make(X: FloatArray, n_clusters: int, seed: int) -> Any:
        return kind(n_clusters, random_state=seed)

    return make


@dataclass(frozen=True)
class Propagated:
    """k-means under the rules on the embedding of propagated links."""

    n_clusters: int
    random_state: int

    def fit(self, X: FloatArray, *, constraints: Any = None) -> Any:
        """Cluster the points."""
        embedding = LinkPropagation(self.n_clusters).fit_transform(X, constraints=constraints)
        model = ConstrainedKMeans(self.n_clusters, random_state=self.random_state)
        return model.fit(embedding, constraints=constraints)


#: A penalty that is small enough for Algorithm 1 to leave a random start, and that grows slowly.
SMALL_RHO: Mapping[str, Any] = {"rho": 1.0, "rho_growth": 1.005, "rho_every": 1}

#: Methods with one start per run, as in the tables of the paper.
SINGLE: Mapping[str, Maker] = {
    "K-means": _kmeans,
    "projected, random start": _projected(init="random", n_init=1),
    "algorithm1, random start": _algorithm1(init="random"),
    "algorithm1, random start, small rho": _algorithm1(init="random", max_iter=5000, **SMALL_RHO),
    "projected, one start": _projected(n_init=1),
    "algorithm1": _algorithm1_from_kmeans,
}

#: Methods with the library's default parameters.
DEFAULT: Mapping[str, Maker] = {
    "projected": _projected(),
    "Gaussian": _plain(ConstrainedGaussianMixture),
    "kernel": _plain(ConstrainedKernelKMeans),
    "propagation": _plain(Propagated),
    "medoids": _plain(ConstrainedKMedoids),
    "K-means, best of 10": _plain(baselines.PlainKMeans),
    "COP-KMEANS": _plain(baselines.COPKMeans),
    "COP-COBWEB": _plain(baselines.COPCobweb),
    "CCL": _plain(baselines.ConstrainedCompleteLink),
    "E2CP": _plain(baselines.E2CP),
    "NCut": _plain(baselines.ConstrainedNCut),
    "PPC": _plain(baselines.PPC),
    "PCKMeans": _plain(baselines.PCKMeans),
    "MPCKMeans": _plain(baselines.MPCKMeans),
    "min-size K-means": _plain(baselines.MinSizeKMeans),
    "equi-sized FCM": _plain(baselines.EquiSizedFCM),
}

METHODS: Mapping[str, Maker] = {**SINGLE, **DEFAULT}
