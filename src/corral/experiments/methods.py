"""The methods compared, by the names they have on the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.cluster import KMeans

from .. import ConstrainedKMeans
from .. import baselines as others
from .._typing import FloatArray, IntArray

#: How to make an estimator for these points, this many clusters and this seed.
Maker = Callable[[FloatArray, int, int], Any]


@dataclass(frozen=True)
class Start:
    """Plain k-means from one random start: the paper's K-means, and the start of its method."""

    n_clusters: int
    seed: int

    def fit(self, X: FloatArray, *, constraints: Any = None) -> Any:
        """Cluster the points; constraints are ignored."""
        return KMeans(self.n_clusters, init="random", n_init=1, random_state=self.seed).fit(X)


def _start(X: FloatArray, n_clusters: int, seed: int) -> IntArray:
    labels: IntArray = Start(n_clusters, seed).fit(X).labels_
    return labels


def _kmeans(X: FloatArray, n_clusters: int, seed: int) -> Start:
    return Start(n_clusters, seed)


def _projected(**options: Any) -> Maker:
    def make(X: FloatArray, n_clusters: int, seed: int) -> Any:
        return ConstrainedKMeans(n_clusters, random_state=seed, **options)

    return make


def _algorithm1(**options: Any) -> Maker:
    """The paper's algorithm as it is: its own x, rounded, without repair or polish."""

    def make(X: FloatArray, n_clusters: int, seed: int) -> Any:
        return ConstrainedKMeans(
            n_clusters, solver="algorithm1", n_init=1, repair=False, random_state=seed, **options
        )

    return make


def _algorithm1_from_kmeans(X: FloatArray, n_clusters: int, seed: int) -> Any:
    return _algorithm1(init=_start(X, n_clusters, seed))(X, n_clusters, seed)


def _plain(kind: type[Any]) -> Maker:
    def make(X: FloatArray, n_clusters: int, seed: int) -> Any:
        return kind(n_clusters, random_state=seed)

    return make


#: A penalty that is small enough for Algorithm 1 to leave a random start, and grows slowly.
SMALL_RHO: Mapping[str, Any] = {"rho": 1.0, "rho_growth": 1.005, "rho_every": 1}

#: One start a run, as in the paper's tables.
SINGLE: Mapping[str, Maker] = {
    "K-means": _kmeans,
    "projected, random start": _projected(init="random", n_init=1),
    "algorithm1, random start": _algorithm1(init="random"),
    "algorithm1, random start, small rho": _algorithm1(init="random", max_iter=5000, **SMALL_RHO),
    "projected, one start": _projected(n_init=1),
    "algorithm1": _algorithm1_from_kmeans,
}

#: Each method as the library offers it.
DEFAULT: Mapping[str, Maker] = {
    "projected": _projected(),
    "K-means, best of 10": _plain(others.PlainKMeans),
    "COP-KMEANS": _plain(others.COPKMeans),
    "COP-COBWEB": _plain(others.COPCobweb),
    "CCL": _plain(others.ConstrainedCompleteLink),
    "E2CP": _plain(others.E2CP),
    "NCut": _plain(others.ConstrainedNCut),
    "PPC": _plain(others.PPC),
    "PCKMeans": _plain(others.PCKMeans),
    "MPCKMeans": _plain(others.MPCKMeans),
    "min-size K-means": _plain(others.MinSizeKMeans),
    "equi-sized FCM": _plain(others.EquiSizedFCM),
}

METHODS: Mapping[str, Maker] = {**SINGLE, **DEFAULT}
