"""Graphs of links: connected components and cliques."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from .._typing import BoolArray, IntArray

MAX_WORK = 5_000_000
"""Most multiplications for counting the triangles of a graph.

They take 0.2 s on one core (5,000 vertices, 75,000 links).  Links of graphs that need more are
not pruned by triangles, so that fewer cliques are found.
"""
MAX_SEEDS = 64
"""Number of start vertices for the clique search; more find more cliques and take longer."""
MAX_NEIGHBOURS = 2_000
"""Most neighbours of a start vertex in the clique search; bounds a dense matrix of that size."""


def link_graph(n: int, pairs: IntArray) -> sparse.csr_array:
    """Return the symmetric 0/1 adjacency matrix of links among ``n`` vertices."""
    graph = _one_way(n, np.concatenate([pairs, pairs[:, ::-1]])).tocsr()
    graph.data[:] = 1.0  # duplicate links were summed
    return graph


def _one_way(n: int, pairs: IntArray) -> sparse.coo_array:
    """An entry for each link, from its first to its second vertex."""
    # SciPy's graph routines take 32-bit indices.
    ends = pairs.astype(np.int32 if n < 2**31 else np.int64)
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
    seeds = np.argsort(-degree, kind="stable")[:MAX_SEEDS]
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
    near = near[np.argsort(-np.diff(graph.indptr)[near], kind="stable")][:MAX_NEIGHBOURS]
    linked = graph[near][:, near].toarray() > 0
    open_: BoolArray = np.ones(len(near), bool)
    chosen: list[int] = []
    while len(chosen) < size - 1 and open_.any():
        score = np.where(open_, linked[:, open_].sum(axis=1), -1)
        chosen.append(int(np.argmax(score)))
        open_ &= linked[chosen[-1]]
    return np.array([seed, *near[chosen]]) if len(chosen) == size - 1 else None
