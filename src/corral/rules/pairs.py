"""Pairs of groups: links as a graph, its components and cliques, and what pairs cost.

A clique of cannot-links is a set of groups of which no two may share a cluster.  All pairs of a
labelled subset make one.  It says more than its pairs one by one: each cluster has at most one of
its groups, so that its assignment alone is a linear assignment, and in a program one row for each
cluster replaces one for each pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by
from ..numbers import MAX_WORK


def link_graph(n: int, pairs: IntArray) -> sparse.csr_array:
    """Return the symmetric 0/1 adjacency matrix of links among ``n`` vertices."""
    graph = _one_way(n, np.concatenate([pairs, pairs[:, ::-1]])).tocsr()
    graph.data[:] = 1.0  # duplicate links were summed
    return graph


def _one_way(n: int, pairs: IntArray) -> sparse.coo_array:
    """An entry for each link, from its first to its second vertex."""
    # SciPy's graph routines take 32-bit indices.
    ends = pairs.astype(np.int32 if n <= np.iinfo(np.int32).max else np.int64)
    return sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))


def components(n: int, pairs: IntArray) -> IntArray:
    """Return the component of each vertex, numbered in the order of their first vertices."""
    if not len(pairs):
        return np.arange(n)
    found = csgraph.connected_components(_one_way(n, pairs), directed=False)[1]
    first, label = np.unique(found, return_index=True, return_inverse=True)[1:]
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[label]


def find_clique(m: int, pairs: IntArray, size: int) -> IntArray | None:
    """Look for ``size`` vertices that are all linked with each other.

    The search is greedy, from the vertices of highest degree, after vertices and links that
    cannot be in such a clique are removed.  Its work is bounded, so None is not a proof that
    there is no clique.
    """
    graph = _pruned(link_graph(m, pairs), size)
    degree = np.diff(graph.indptr)
    seeds = np.argsort(-degree, kind="stable")[: MAX_WORK // m]
    for seed in seeds[degree[seeds] >= size - 1]:
        clique = _grown(graph, int(seed), size)
        if clique is not None:
            return clique
    return None


def _pruned(graph: sparse.csr_array, size: int) -> sparse.csr_array:
    """Remove vertices with too few links, and links in too few triangles, for such a clique."""
    for _ in range(10):
        before = graph.nnz
        keep = sparse.diags_array((np.diff(graph.indptr) >= size - 1).astype(np.float64))
        graph = sparse.csr_array(keep @ graph @ keep)
        graph.eliminate_zeros()
        if size > 2 and np.square(np.diff(graph.indptr).astype(float)).sum() <= MAX_WORK:
            graph = sparse.csr_array((graph @ graph) * graph)
            graph.data = (graph.data >= size - 2).astype(np.float64)
            graph.eliminate_zeros()
        if graph.nnz in (0, before):
            break
    return graph


def _grown(graph: sparse.csr_array, seed: int, size: int) -> IntArray | None:
    """Grow a clique from a vertex; always add the candidate with most links to the others."""
    near = graph.indices[graph.indptr[seed] : graph.indptr[seed + 1]]
    near = near[np.argsort(-np.diff(graph.indptr)[near], kind="stable")][: math.isqrt(MAX_WORK)]
    linked = graph[near][:, near].toarray() > 0
    open_: BoolArray = np.ones(len(near), bool)
    chosen: list[int] = []
    while len(chosen) < size - 1 and open_.any():
        score = np.where(open_, linked[:, open_].sum(axis=1), -1)
        chosen.append(int(np.argmax(score)))
        open_ &= linked[chosen[-1]]
    return np.array([seed, *near[chosen]]) if len(chosen) == size - 1 else None


@dataclass(frozen=True)
class Cliques:
    """Sets of groups that are pairwise apart, one after another.

    Clique c has ``members[start[c]:start[c + 1]]``, in order.
    """

    start: IntArray
    members: IntArray

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def size(self) -> IntArray:
        """Number of groups of each clique."""
        return np.diff(self.start)

    @property
    def of_member(self) -> IntArray:
        """The clique of each entry of ``members``."""
        return np.repeat(np.arange(len(self)), self.size)


def clique_cover(n_groups: int, pairs: IntArray) -> Cliques:
    """Cliques that contain every pair, found greedily.

    The links in most triangles are grown first.  A link in no triangle is a clique of two, and so
    is a group that is linked with itself, which has no cluster.

    Examples
    --------
    >>> import numpy as np
    >>> found = clique_cover(5, np.array([[0, 1], [0, 2], [1, 2], [2, 3]]))
    >>> found.start, found.members
    (array([0, 3, 5]), array([0, 1, 2, 2, 3]))
    """
    pairs = np.sort(pairs, axis=1)
    grown = _cliques_of(*_in_triangles(n_groups, pairs[pairs[:, 0] < pairs[:, 1]]))
    start = np.cumsum([0, *map(len, grown)])
    members = np.array([g for clique in grown for g in clique], np.int64)
    if grown:
        inside = np.concatenate([np.array(list(combinations(clique, 2))) for clique in grown])
        keys = inside[:, 0] * n_groups + inside[:, 1]
        pairs = pairs[~np.isin(pairs[:, 0] * n_groups + pairs[:, 1], keys)]
    more = start[-1] + 2 * np.arange(1, len(pairs) + 1)
    return Cliques(np.concatenate([start, more]), np.concatenate([members, pairs.ravel()]))


def _in_triangles(n_groups: int, pairs: IntArray) -> tuple[sparse.csr_array, IntArray]:
    """The graph of the pairs that may be in triangles, and these, those in most triangles first."""
    graph = link_graph(n_groups, pairs)
    degree = np.diff(graph.indptr)
    if np.square(degree.astype(float)).sum() > MAX_WORK:
        return graph, pairs[(degree[pairs] > 1).all(axis=1)]
    common = sparse.csr_array((graph @ graph) * graph)
    upper = sparse.coo_array(sparse.triu(common, 1))
    order = np.argsort(-upper.data, kind="stable")
    graph = sparse.csr_array((np.ones(common.nnz), common.indices, common.indptr), graph.shape)
    return graph, np.stack(upper.coords, axis=1)[order].astype(np.int64)


def _cliques_of(graph: sparse.csr_array, pairs: IntArray) -> list[list[int]]:
    """Cliques of at least three groups, each grown from a pair that is in none yet."""
    near = {
        g: set(graph.indices[graph.indptr[g] : graph.indptr[g + 1]].tolist())
        for g in np.unique(pairs).tolist()
    }
    covered: set[tuple[int, int]] = set()
    found: list[list[int]] = []
    work = 0
    for a, b in pairs.tolist():
        if (a, b) in covered:
            continue
        if work > MAX_WORK:
            break
        clique, common = [a, b], near[a] & near[b]
        work += len(near[a]) + len(near[b])
        while common:
            clique.append(min(common))
            common &= near[clique[-1]]
        if len(clique) > 2:
            work += len(clique) ** 2
            found.append(sorted(clique))
            covered.update(combinations(found[-1], 2))
    return found


def pair_keys(pairs: IntArray, n: int) -> IntArray:
    """Number the unordered pairs among ``n`` groups or rows, each differently."""
    a, b = pairs.T
    keys: IntArray = np.minimum(a, b) * n + np.maximum(a, b)
    return keys


def unique_pairs(pairs: IntArray, n: int) -> IntArray:
    """Give each unordered pair among ``n`` groups or rows once, the smaller end first.

    Where many pairs are among few, such as all pairs of labelled rows, they are marked in a table
    instead of sorted.
    """
    used = np.zeros(n, bool)
    used[pairs] = True
    names = np.flatnonzero(used)
    m = len(names)
    if m * m <= len(pairs):
        place = np.cumsum(used) - 1
        a, b = place[pairs].T
        seen = np.zeros((m, m), bool)
        seen[a, b] = True
        ends: IntArray = names[np.argwhere(np.triu(seen | seen.T))]
        return ends
    return np.column_stack(np.divmod(np.unique(pair_keys(pairs, n)), max(n, 1)))


@dataclass(frozen=True)
class PairGraph:
    """Pairs ``a[p] < b[p]`` of groups, each once, with what agreeing and differing cost.

    ``same`` is infinite for a hard cannot-link and ``differ`` for a hard must-link.  The graph is
    ``impossible`` if a group must be apart from itself.
    """

    n_groups: int
    a: IntArray
    b: IntArray
    same: FloatArray
    differ: FloatArray
    impossible: bool = False
    _complete: dict[int, tuple[Cliques, PairGraph]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def of_pairs(
        cls, n_groups: int, pairs: IntArray, same: FloatArray, differ: FloatArray
    ) -> PairGraph:
        """Make it of pairs in any order: parallel ones add up, and loops are left out.

        Examples
        --------
        >>> import numpy as np
        >>> pairs, price = np.array([[1, 0], [0, 1], [2, 2]]), np.array([3.0, 4.0, 5.0])
        >>> graph = PairGraph.of_pairs(3, pairs, price, np.zeros(3))
        >>> graph.a, graph.b, graph.same
        (array([0]), array([1]), array([7.]))
        """
        keys, index = np.unique(pair_keys(pairs, n_groups), return_inverse=True)
        a, b = np.divmod(keys, n_groups)
        same, differ = sums_by(index, same, len(keys)), sums_by(index, differ, len(keys))
        loop = a == b
        impossible = bool(np.isinf(same[loop]).any())
        return cls(n_groups, a, b, same, differ, impossible).of(~loop)

    def of(self, keep: BoolArray | IntArray) -> PairGraph:
        """The same groups with the pairs selected by a mask or by number."""
        pairs = self.a[keep], self.b[keep], self.same[keep], self.differ[keep]
        return PairGraph(self.n_groups, *pairs, self.impossible)

    @cached_property
    def component(self) -> IntArray:
        """The connected component of each group."""
        return components(self.n_groups, np.stack([self.a, self.b], axis=1))

    def complete(self, more_than: int) -> tuple[Cliques, PairGraph]:
        """Components of more than so many groups that are cliques, and the graph of the others.

        All pairs of such a component are hard cannot-links.
        """
        if more_than not in self._complete:
            self._complete[more_than] = self._split(more_than)
        return self._complete[more_than]

    def _split(self, more_than: int) -> tuple[Cliques, PairGraph]:
        component = self.component
        groups = np.unique(np.concatenate([self.a, self.b]))
        size = np.bincount(component[groups], minlength=self.n_groups)
        apart = np.isinf(self.same) & (self.differ == 0.0)
        linked = np.bincount(component[self.a], apart, self.n_groups)
        whole = (size > more_than) & (2 * linked == size * (size - 1))
        members = groups[whole[component[groups]]]
        members = members[np.argsort(component[members], kind="stable")]
        start = np.concatenate([[0], np.cumsum(size[whole])])
        return Cliques(start, members), self.of(~whole[component[self.a]])

    def paid(self, labels: IntArray) -> FloatArray:
        """What each pair costs under these labels."""
        return np.where(labels[self.a] == labels[self.b], self.same, self.differ)

    def broken(self, labels: IntArray) -> BoolArray:
        """Which pairs cost something under these labels."""
        return self.paid(labels) > 0


def no_pairs() -> IntArray:
    """An array of pairs without any."""
    return np.empty((0, 2), np.int64)


@dataclass(frozen=True)
class SoftPairs:
    """Pairs of groups with a price for breaking them.

    ``together[p]`` is True for a must-link (broken when the labels differ) and False for a
    cannot-link (broken when they agree).
    """

    pairs: IntArray
    price: FloatArray
    together: BoolArray

    @classmethod
    def none(cls) -> SoftPairs:
        """No soft pair at all."""
        return cls(no_pairs(), np.empty(0), np.empty(0, bool))

    def cost(self, labels: IntArray) -> float:
        """Sum of the prices of the pairs that the labels break."""
        same = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        return float(self.price[same != self.together].sum())

    def part(self, place: IntArray) -> SoftPairs:
        """The pairs between groups whose place is not negative, by place."""
        pairs = place[self.pairs]
        kept = (pairs >= 0).all(axis=1)
        return SoftPairs(pairs[kept], self.price[kept], self.together[kept])


@dataclass(frozen=True)
class Pairs:
    """All pairs of the groups; its graph is made once and shared by rules that share the pairs.

    ``apart`` holds hard cannot-links, each once, and ``together`` the hard must-links that were not
    contracted.
    """

    n_groups: int
    apart: IntArray = field(default_factory=no_pairs)
    together: IntArray = field(default_factory=no_pairs)
    soft: SoftPairs = field(default_factory=SoftPairs.none)

    def __len__(self) -> int:
        """Number of pairs of every kind."""
        return len(self.apart) + len(self.together) + len(self.soft.price)

    @cached_property
    def graph(self) -> PairGraph:
        """What agreeing and differing cost for each pair; infinite for hard pairs."""
        soft = self.soft
        apart, together = np.zeros((2, len(self.apart))), np.zeros((2, len(self.together)))
        apart[0] = together[1] = np.inf
        prices = np.where(soft.together == [[False], [True]], soft.price, 0.0)
        pairs = np.concatenate([self.apart, self.together, soft.pairs])
        costs = np.concatenate([apart, together, prices], axis=1)
        return PairGraph.of_pairs(self.n_groups, pairs, same=costs[0], differ=costs[1])

    @cached_property
    def links(self) -> sparse.csr_array:
        """The symmetric 0/1 adjacency matrix of the hard cannot-links."""
        return link_graph(self.n_groups, self.apart)

    @cached_property
    def cliques(self) -> Cliques:
        """Cliques that contain every hard cannot-link: whole components, and a cover of others."""
        whole, others = self.graph.complete(2)
        apart = np.stack([others.a, others.b], axis=1)[np.isinf(others.same)]
        loops = self.apart[self.apart[:, 0] == self.apart[:, 1]]
        more = clique_cover(self.n_groups, np.concatenate([apart, loops]))
        start = np.concatenate([whole.start, whole.start[-1] + more.start[1:]])
        return Cliques(start, np.concatenate([whole.members, more.members]))

    @cached_property
    def clique(self) -> IntArray:
        """The clique of each group, -1 if it is in none; of several, the largest one."""
        cliques, clique = self.cliques, np.full(self.n_groups, -1)
        for c in np.argsort(-cliques.size, kind="stable").tolist():
            members = cliques.members[cliques.start[c] : cliques.start[c + 1]]
            clique[members[clique[members] < 0]] = c
        return clique

    def part(self, place: IntArray, n_groups: int) -> Pairs:
        """The pairs between groups whose place is not negative, by place."""
        return Pairs(
            n_groups,
            _inside(place[self.apart]),
            _inside(place[self.together]),
            self.soft.part(place),
        )


def _inside(pairs: IntArray) -> IntArray:
    return pairs[(pairs >= 0).all(axis=1)]


def labelled_groups(n_clusters: int, count: IntArray, pins: IntArray, apart: IntArray) -> IntArray:
    """Pairs (group, cluster), (p, 2); groups of different clusters here are never together.

    They tell where clusters are (the neighbourhoods of Basu, Banerjee and Mooney, 2002).
    All pins are among them.  Then groups of several rows are taken, the largest first, if
    cannot-links keep them apart from one group at least of every cluster that is taken already.
    These clusters have no pins, and are numbered in the order of their groups.

    Examples
    --------
    >>> import numpy as np
    >>> pins, apart = np.array([[3, 1]]), np.array([[0, 3], [0, 1], [1, 3]])
    >>> labelled_groups(3, np.array([2, 5, 4, 1]), pins, apart)
    array([[3, 1],
           [1, 0],
           [0, 2]])
    """
    graph = link_graph(len(count), apart)
    degree = np.diff(graph.indptr).tolist()
    label = np.full(len(count), -1)
    label[pins[:, 0]] = pins[:, 1]
    free = np.setdiff1d(np.arange(n_clusters), pins[:, 1]).tolist()
    taken = n_clusters - len(free)
    found: list[tuple[int, int]] = []
    joined = np.flatnonzero((count > 1) & (label < 0))
    joined = joined[np.argsort(-count[joined], kind="stable")]
    for g in joined.tolist() if free else ():
        if degree[g] < taken:
            continue
        near = label[graph.indices[graph.indptr[g] : graph.indptr[g + 1]]]
        if len(np.unique(near[near >= 0])) < taken:
            continue
        label[g] = free[len(found)]
        found.append((g, free[len(found)]))
        taken += 1
        if len(found) == len(free):
            break
    return np.concatenate([pins, np.array(found, np.int64).reshape(-1, 2)])
