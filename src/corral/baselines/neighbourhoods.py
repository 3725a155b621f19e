"""What PCKMeans and MPCKMeans share: the first centres and the assignment by pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray
from ..presolve.graphs import components
from .base import Links, squared_distances


def first_centers(
    X: FloatArray,
    links: Links,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    spread: bool,
) -> FloatArray:
    """Centres of must-link neighbourhoods, and more where they are too few.

    With more neighbourhoods than clusters, the largest ones lead; with ``spread`` they are
    chosen one by one, far from those before and large (weighted farthest-first).  With fewer, a
    point that cannot be with any neighbourhood comes next, and then points drawn with a chance
    in proportion to their squared distance from the centres so far.
    """
    group = components(len(X), links.must)
    count = np.bincount(group)
    hoods = np.flatnonzero(count > 1)
    hoods = hoods[np.argsort(-count[hoods], kind="stable")]
    centers = np.array([X[group == hood].mean(axis=0) for hood in hoods]).reshape(-1, X.shape[1])
    if len(hoods) >= n_clusters:
        size = count[hoods].astype(float)
        chosen = _farthest_first(centers, size, n_clusters) if spread else slice(n_clusters)
        return np.asarray(centers[chosen])
    outsider = _outsider(links.cannot, group, hoods)
    if outsider is not None:
        centers = np.concatenate([centers, X[outsider : outsider + 1]])
    while len(centers) < n_clusters:
        chance = squared_distances(X, centers).min(axis=1) if len(centers) else np.ones(len(X))
        chance = chance / chance.sum() if chance.any() else np.full(len(X), 1.0 / len(X))
        centers = np.concatenate([centers, X[random_state.choice(len(X), 1, p=chance)]])
    return centers


def _farthest_first(centers: FloatArray, size: FloatArray, n_clusters: int) -> IntArray:
    """Begin with the largest; then, again and again, the largest size times distance."""
    chosen = [0]
    away = squared_distances(centers, centers[:1])[:, 0]
    while len(chosen) < n_clusters:
        score = size * np.sqrt(away)
        score[chosen] = -1.0
        chosen.append(int(score.argmax()))
        away = np.minimum(away, squared_distances(centers, centers[chosen[-1:]])[:, 0])
    return np.array(chosen)


def _outsider(cannot: IntArray, group: IntArray, hoods: IntArray) -> int | None:
    """The first point that cannot-links part from every neighbourhood, if there is one."""
    if not len(hoods):
        return None
    ends = np.concatenate([cannot, cannot[:, ::-1]])
    foes = np.column_stack([ends[:, 0], group[ends[:, 1]]])
    foes = np.unique(foes[np.isin(foes[:, 1], hoods)], axis=0)
    point, met = np.unique(foes[:, 0], return_counts=True)
    outside = point[(met == len(hoods)) & ~np.isin(group[point], hoods)]
    return int(outside[0]) if len(outside) else None


@dataclass(frozen=True)
class Prices:
    """What pairs cost when broken.

    A must-link p with ends in clusters h and l costs ``(must[p, h] + must[p, l]) / 2``, and a
    cannot-link p with both ends in h costs ``cannot[p, h]``.
    """

    must: FloatArray
    cannot: FloatArray

    def total(self, links: Links, labels: IntArray) -> float:
        """Cost of all pairs that labels break."""
        h, l_ = labels[links.must].T
        p = np.arange(len(h))
        torn = np.where(h != l_, (self.must[p, h] + self.must[p, l_]) / 2.0, 0.0).sum()
        h, l_ = labels[links.cannot].T
        joined = np.where(h == l_, self.cannot[np.arange(len(h)), h], 0.0).sum()
        return float(torn + joined)


class Sweeper:
    """Assignment with prices: linked points one by one in a random order, the others at once."""

    def __init__(self, links: Links, n_samples: int) -> None:
        self._links = links
        self._must = _partners(links.must, n_samples)
        self._cannot = _partners(links.cannot, n_samples)
        self._linked = np.unique(np.concatenate([links.must, links.cannot]))

    def assign(
        self,
        cost: FloatArray,
        prices: Prices,
        labels: IntArray,
        random_state: np.random.RandomState,
    ) -> IntArray:
        """Better labels than these: by one pass over them, or by one from scratch.

        A pass over the labels never raises the total, but points that are together hold each
        other; a pass from scratch sets them free.  Labels -1 mark a beginning without any.
        """
        order = random_state.permutation(self._linked).tolist()
        fresh = self._sweep(cost, prices, np.full_like(labels, -1), order)
        if (labels < 0).all():
            return fresh
        moved = self._sweep(cost, prices, labels, order)
        return min(moved, fresh, key=lambda found: self.total(cost, prices, found))

    def total(self, cost: FloatArray, prices: Prices, labels: IntArray) -> float:
        """Cost of the points and of the pairs broken."""
        own = float(cost[np.arange(len(labels)), labels].sum())
        return own + prices.total(self._links, labels)

    def _sweep(
        self, cost: FloatArray, prices: Prices, labels: IntArray, order: list[int]
    ) -> IntArray:
        """Every linked point takes its cheapest cluster given the others that have one."""
        result = cost.argmin(axis=1)
        result[self._linked] = labels[self._linked]
        for point in order:
            own = cost[point].copy()
            for pair, other in self._must[point]:
                home = result[other]
                if home >= 0:
                    own += (prices.must[pair] + prices.must[pair, home]) / 2.0
                    own[home] -= prices.must[pair, home]
            for pair, other in self._cannot[point]:
                home = result[other]
                if home >= 0:
                    own[home] += prices.cannot[pair, home]
            result[point] = own.argmin()
        return np.asarray(result)


def _partners(pairs: IntArray, n_samples: int) -> Sequence[list[tuple[int, int]]]:
    """For each point, its pairs by number and their other ends."""
    partners: list[list[tuple[int, int]]] = [[] for _ in range(n_samples)]
    for pair, (i, j) in enumerate(pairs.tolist()):
        partners[i].append((pair, j))
        partners[j].append((pair, i))
    return partners
