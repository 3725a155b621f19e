"""Clusters that are connected in a graph of neighbours, such as territories on a map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from .._text import our_words
from .._typing import FloatArray, IntArray
from . import _checks
from ._checks import Names, name_of, plural, refuse, shortened
from .base import Constraint, Violations, numbers_from_json
from .clusters import cluster_name
from .links import MustLink
from .neighbours import bridged, islands_in_words, polygon_pairs, read_graph, spatial_pairs
from .rows import RowRule, is_name, listed, look_up


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Connected(RowRule):
    """Every cluster is connected in a graph of neighbours.

    Between any two rows of a cluster there is a path of neighbours inside the cluster.  Rows that
    must-links join but that are no neighbours have to be connected through their cluster.

    Parameters
    ----------
    graph : pairs of rows or names, sparse matrix, networkx graph, libpysal weights, or mapping
        Which rows are neighbours.  A matrix is symmetric, and every entry but 0 is an edge.  A
        mapping gives the neighbours of each row.  Nodes are positions of rows, or their names,
        which are looked up as by :class:`MustLink`.
    weight : float or one for each pair, default 0
        Price of each edge whose ends are in different clusters, in units of the objective: a
        larger one makes clusters rounder.  The connection itself is hard all the same.
    index : sequence, optional
        Names of all rows.
    n_samples : int, optional
        Number of rows of the data; graphs that are no list of pairs know it.
    bridge : {"nearest", "keep"}, optional
        What to do about islands, rows without neighbours: "nearest" joins the parts of the graph
        by the shortest edges between them, "keep" leaves them as they are, each in a cluster of
        its own.  By default islands are an error where the number of rows is known.
    points : (n_samples, 2) array, optional
        Where the rows are, for ``bridge="nearest"``.

    Notes
    -----
    ``predict`` places new rows at the nearest centre, whatever their neighbours; ``assign`` takes a
    graph of the new rows.  A part of the data has the edges between its own rows.  Rows on a GPU or
    with Dask are brought into memory.

    Examples
    --------
    >>> path = Connected([(0, 1), (1, 2), (2, 3)])
    >>> path.violations([0, 1, 1, 0]).messages()
    ['cluster 0 is in 2 parts that are not connected: samples 0; 3']
    >>> from corral import ConstrainedKMeans
    >>> X = [[0.0], [5.0], [0.0], [5.0]]
    >>> ConstrainedKMeans(2, random_state=0).fit(X, constraints=path).inertia_
    16.666666666666664
    """

    pairs: IntArray
    weight: FloatArray

    _parts = ("pairs", "weight")
    _keys = ("pairs", "weight", "n_samples")
    _what = "the graph's pairs"

    @our_words
    def __init__(
        self,
        graph: Any,
        weight: ArrayLike = 0.0,
        *,
        index: Iterable[Any] | None = None,
        n_samples: int | None = None,
        bridge: str | None = None,
        points: ArrayLike | None = None,
    ) -> None:
        index, (pairs, nodes, count) = listed(index), read_graph(graph)
        n_samples = count if n_samples is None else n_samples
        if nodes is None or (index is None and not any(map(is_name, nodes))):
            pairs = _checks.as_pairs(pairs, self._what, _checks.NAMES_HINT)
        else:
            twos = _checks.as_twos(pairs, "an edge has two ends", "edge")
            ends = list(chain.from_iterable(twos))
            if index is not None:
                look_up(nodes, index, n_samples, "nodes of the graph")
            found, n_samples = look_up(ends, index, n_samples, self._what)
            pairs = found.reshape(-1, 2)
        self._set(pairs=pairs)
        if not self.named:
            self._refuse(pairs.min(axis=1, initial=0) < 0, "; rows count from 0")
        self._refuse(pairs[:, 0] == pairs[:, 1], "; a row is no neighbour of itself")
        price = _checks.as_numbers(weight, "weight of the graph")
        wrong = ~((price >= 0) & np.isfinite(price))
        refuse(wrong, price, "weight of the graph", "it must be a finite price of at least 0")
        summed = price.ndim > 0
        price = _checks.as_column(price, "weight of the graph", len(pairs), "pair", "there are")
        self._set(pairs=pairs, weight=price)
        self._set_count(n_samples)
        self._set(**_each_once(self.pairs, self.weight, summed))
        self._bridge(bridge, points, nodes)
        self._remember(index)

    def _bridge(self, bridge: str | None, points: ArrayLike | None, nodes: Any) -> None:
        """Join islands, refuse them or leave them."""
        if bridge not in (None, "nearest", "keep"):
            raise ValueError(f"bridge is {bridge!r}; it must be 'nearest', 'keep' or None.")
        if bridge == "keep":
            return
        if bridge == "nearest":
            if points is None or self.named:
                raise ValueError(
                    "bridge='nearest' needs points=, where the rows are, and rows by number."
                )
            where = _checks.as_numbers(points, "points")
            n = len(where) if self.n_samples is None else self.n_samples
            if where.ndim != 2 or len(where) != n:
                raise ValueError(f"points has shape {where.shape}; it must be ({n}, 2).")
            more = bridged(n, self.pairs, where)
            least = float(self.weight.min(initial=0.0))
            weight = np.concatenate([self.weight, np.full(len(more), least)])
            self._set(**_each_once(np.concatenate([self.pairs, more]), weight, False), n_samples=n)
            return
        if self.named:
            known = set(self.pairs.flat)
            alone = [node for node in nodes or () if node not in known]
        elif self.n_samples is not None:
            alone = np.setdiff1d(np.arange(self.n_samples), self.pairs).tolist()
        else:
            return
        if alone and (self.n_samples or len(nodes or ())) > 1:
            raise ValueError(islands_in_words(alone))

    @classmethod
    def from_points(
        cls,
        X: ArrayLike,
        method: str = "delaunay",
        *,
        neighbours: int = 8,
        longest: float | None = None,
        weight: ArrayLike = 0.0,
        bridge: str | None = None,
    ) -> Self:
        """Connect points that are near each other.

        Parameters
        ----------
        X : (n_samples, 2) array
            Coordinates; a data frame keeps its index for messages.
        method : {"delaunay", "knn", "gabriel"}
            "gabriel" is the part of Delaunay's triangulation whose edges have no point in the
            circle around them; "knn" joins each point with its nearest ``neighbours``.
        neighbours : int, default=8
            For "knn".
        longest : float, optional
            Longest edge.
        weight, bridge
            As for the constructor.

        Examples
        --------
        >>> Connected.from_points([[0, 0], [0, 1], [1, 0.1], [1, 1.2]], "gabriel").pairs.tolist()
        [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
        """
        points = _checks.as_numbers(np.asarray(X), "coordinates")
        pairs = spatial_pairs(points, method, neighbours, longest)
        return cls(pairs, weight, n_samples=len(points), bridge=bridge, points=points)

    @classmethod
    def from_polygons(
        cls,
        polygons: Any,
        touch: str = "edge",
        *,
        tolerance: float = 0.0,
        weight: ArrayLike = 0.0,
        bridge: str | None = None,
    ) -> Self:
        """Connect polygons that touch each other; needs shapely.

        Parameters
        ----------
        polygons : GeoSeries, GeoDataFrame or sequence of shapely polygons
        touch : {"edge", "corner"}
            Whether neighbours share a piece of their border, or at least a point.
        tolerance : float, default=0
            Distance, in the unit of the coordinates, up to which polygons touch all the same.
        weight, bridge
            As for the constructor; distances are those between the polygons' inner points.
        """
        pairs, points, names = polygon_pairs(polygons, touch, tolerance)
        try:
            return cls(pairs, weight, n_samples=len(points), bridge=bridge, points=points)
        except ValueError as error:
            alone = np.setdiff1d(np.arange(len(points)), pairs)
            if names is None or bridge is not None or not len(alone):
                raise
            raise ValueError(islands_in_words([names[row] for row in alone])) from error

    def _refuse(self, wrong: Any, fault: str) -> None:
        if wrong.any():
            pair = int(np.argmax(wrong))
            i, j = self.pairs[pair]
            raise ValueError(f"the graph's pair {pair} is ({i}, {j}){fault}.")

    @property
    def n_parts(self) -> int:
        """One: without an edge the rule would be stricter."""
        return 1

    def take(self, which: ArrayLike) -> Self:
        """Return the constraint, which has one part."""
        return self

    def part(self, *, hard: bool) -> Constraint | None:
        """Return the connection alone, or the price of cut edges as soft must-links."""
        priced = np.flatnonzero(self.weight > 0.0)
        if hard:
            return self._with(weight=np.zeros(len(self.pairs))) if len(priced) else self
        if not len(priced):
            return None
        if self.named:
            return MustLink(self.pairs[priced].tolist(), self.weight[priced])
        return MustLink(self.pairs[priced], self.weight[priced], n_samples=self.n_samples)

    def dearest(self, n_samples: int, n_clusters: int) -> float:
        """Return the price of all edges."""
        return float(self.weight.sum())

    def resolve(self, index: Iterable[Any]) -> Self:
        """Return the constraint with positions in ``index`` in place of names."""
        if not self.named:
            return self
        found = super().resolve(index)
        made = found._with(**_each_once(found.pairs, found.weight, True))
        made._remember(list(index))
        return made

    def subset(self, rows: ArrayLike) -> Self:
        """Return the rule for ``X[rows]``: the edges between these rows.

        A path through other rows does not connect them any more.
        """
        self._refuse_names()
        if self.n_samples is not None:
            rows = _checks.rows_within(rows, self.n_samples, "the graph")
        new = _checks.renumbering(rows, self._n_needed)[self.pairs]
        inside = (new >= 0).all(axis=1)
        count = len(_checks.as_rows(rows)[0])
        return self._with(**_each_once(new[inside], self.weight[inside], True), n_samples=count)

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the clusters that are not connected, and the edges cut if these have a price.

        Rule number j is cluster j, and ``n_clusters + e`` edge e.
        """
        self._refuse_names()
        found = _checks.as_labels(labels, self._n_needed, self.n_samples)
        k = _checks.clusters_in(found, n_clusters)
        part = _parts_of(self.pairs, found)
        number = np.bincount(found[np.unique(part, return_index=True)[1]], minlength=k)
        broken = np.flatnonzero(number > 1)
        parts, units = float((number[broken] - 1).sum()), None
        cut = np.flatnonzero((self.weight > 0.0) & (np.diff(found[self.pairs])[:, 0] != 0))
        if self.weight.any():
            units = float(len(cut))
        where = np.concatenate([broken, k + cut])
        text = partial(self._describe, labels=found, part=part, k=k)
        amount = parts + float(self.weight[cut].sum())
        return Violations(len(where), amount, where, text, units)

    def _describe(
        self, rule: int, names: Names, *, labels: IntArray, part: IntArray, k: int
    ) -> str:
        if rule >= k:
            i, j = (name_of(int(row), names) for row in self.pairs[rule - k])
            return f"neighbours {i} and {j} are in different clusters"
        rows = np.flatnonzero(labels == rule)
        size = np.bincount(part[rows], minlength=part.max() + 1)
        largest = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
        parts = [_some(rows[part[rows] == each], names) for each in largest[:MOST_PARTS]]
        more = f"; and {len(largest) - MOST_PARTS} more" if len(largest) > MOST_PARTS else ""
        listed_parts = "; ".join(parts) + more
        return (
            f"cluster {cluster_name(rule, names)} is in {len(largest)} parts that are not "
            f"connected: samples {listed_parts}"
        )

    def phrase(self, names: Names = None) -> str:
        """Describe the rule, such as ``connected clusters (3 pairs of neighbours)``."""
        price = ""
        if self.weight.any():
            low, high = self.weight.min(), self.weight.max()
            range_ = f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"
            price = f", {range_} for each that is cut"
        pairs = plural(len(self.pairs), "pair")
        return f"connected clusters ({pairs} of neighbours{price})"

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports."""
        values = super().to_dict()
        if len(set(values["weight"])) <= 1:
            values["weight"] = (values["weight"] or [0.0])[0]
        return values

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        weight = numbers_from_json(values.get("weight", 0.0))
        return cls(values["pairs"], weight, n_samples=values.get("n_samples"), bridge="keep")

    def __repr__(self) -> str:
        tail = (" by name" if self.named else "") + (", weighted" if self.weight.any() else "")
        return f"Connected({plural(len(self.pairs), 'edge')}{tail})"


#: Parts of a cluster that a message lists, and rows of each.
MOST_PARTS, MOST_ROWS = 4, 5


def _some(rows: IntArray, names: Names) -> str:
    """The first rows of a part: ``3, 5``."""
    return shortened((name_of(int(row), names) for row in rows), len(rows), MOST_ROWS)


def _parts_of(pairs: IntArray, labels: IntArray) -> IntArray:
    """The connected part of its cluster that each row is in."""
    inside = pairs[labels[pairs[:, 0]] == labels[pairs[:, 1]]]
    n, one = len(labels), np.ones(len(inside))
    graph = sparse.coo_array((one, (inside[:, 0], inside[:, 1])), shape=(n, n))
    part: IntArray = csgraph.connected_components(graph, directed=False)[1].astype(np.int64)
    return part


def _each_once(pairs: NDArray[Any], weight: FloatArray, summed: bool) -> dict[str, Any]:
    """Each edge once, the smaller end first; names stay as they are.

    The weights of equal edges add up, or are those of the first.
    """
    if pairs.dtype == object:
        known = {frozenset(pair): number for number, pair in reversed(list(enumerate(pairs)))}
        first = np.sort(np.fromiter(known.values(), np.int64, len(known)))
        if summed and len(first) < len(pairs):
            raise ValueError("the graph has an edge twice, so that its weight is not clear.")
        return {"pairs": pairs[first], "weight": weight[first]}
    pairs = np.sort(pairs, axis=1)
    unique, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    total: FloatArray = weight[first]
    if summed:
        total = _checks.sums_by(which.ravel(), weight, len(unique))
    return {"pairs": unique.astype(np.int64).reshape(-1, 2), "weight": total}
