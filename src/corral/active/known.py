"""What links, pins and the number of clusters imply about pairs of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import BoolArray, IntArray
from ..constraints import ConstraintSet
from ..rules.facts import Facts
from ..rules.pairs import components, find_clique, link_graph, pair_keys, unique_pairs


@dataclass(frozen=True, eq=False)
class Known:
    """Rows that are known to be together, as groups, and groups that are known to be apart.

    Attributes
    ----------
    group : (n,) int array
        Group of each row.
    apart : (p, 2) int array
        Pairs of groups that no cluster can hold both of, each once, the smaller number first.

    Examples
    --------
    >>> from corral import CannotLink, MustLink
    >>> known = Known.of([MustLink([(0, 1)]), CannotLink([(1, 2), (2, 3)])], 5, n_clusters=2)
    >>> known.group  # with two clusters, whatever is apart from row 2 is together
    array([0, 0, 1, 0, 2])
    >>> known.implied([[3, 2], [0, 4]])
    array([ True, False])
    """

    group: IntArray
    apart: IntArray

    @classmethod
    def of(cls, constraints: Any, n_samples: int, n_clusters: int) -> Known:
        """Close the hard links and pins under what they imply; soft ones imply nothing."""
        facts = Facts(ConstraintSet(constraints), n_samples, n_clusters, None)
        rows, clusters = facts.pins.values.T
        # If there are pins, a vertex for each cluster: a pin joins its row with the vertex.
        n_places = n_clusters if len(rows) else 0
        pinned = np.column_stack([rows, n_samples + clusters])
        group = components(n_samples + n_places, np.concatenate([facts.must.values, pinned]))
        differ = n_samples + np.column_stack(np.triu_indices(n_places, 1))
        apart = group[np.concatenate([facts.cannot.values, differ])]
        closed = cls(group, unique_pairs(apart, len(group)))._closed(n_clusters)
        return closed._of_rows(n_samples)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group.max(initial=-1)) + 1

    @property
    def table(self) -> sparse.csr_array:
        """The pairs that are apart as a symmetric 0/1 matrix."""
        return link_graph(self.n_groups, self.apart)

    def implied(self, pairs: Any) -> BoolArray:
        """Whether the answer for each pair of rows is known already."""
        ends = self.group[np.asarray(pairs, np.int64).reshape(-1, 2)]
        keys = pair_keys(self.apart, self.n_groups)
        known: BoolArray = np.isin(pair_keys(ends, self.n_groups), keys)
        known |= ends[:, 0] == ends[:, 1]
        return known

    def _closed(self, k: int) -> Known:
        """Join groups that the number of clusters forces together, until none is left.

        Groups that are all apart from the same k - 1 groups, which are apart from each other, have
        one cluster left.
        """
        known = self
        while True:
            joined = _forced(known.n_groups, known.apart, k)
            if not len(joined):
                return known
            merged = components(known.n_groups, joined)
            apart = unique_pairs(merged[known.apart], int(merged.max()) + 1)
            known = Known(merged[known.group], apart)

    def _of_rows(self, n: int) -> Known:
        """Without the vertices of the clusters, with the groups numbered by their first rows."""
        names, group = np.unique(self.group[:n], return_inverse=True)
        inside = np.isin(self.apart, names).all(axis=1)
        return Known(group, np.searchsorted(names, self.apart[inside]))


def _forced(m: int, apart: IntArray, k: int) -> IntArray:
    """Pairs of different groups that k clusters force together."""
    graph = link_graph(m, apart)
    if k == 2:
        hubs = [graph.indices[a:b] for a, b in zip(graph.indptr, graph.indptr[1:], strict=False)]
    else:
        clique = find_clique(m, apart, k) if k > 2 else None
        near = np.zeros((0, m)) if clique is None else graph[clique].toarray()
        hubs = [np.flatnonzero(near.sum(axis=0) - own == k - 1) for own in near]
    chains = [np.column_stack([hub[:-1], hub[1:]]) for hub in hubs if len(hub) > 1]
    return np.concatenate([np.empty((0, 2), np.int64), *chains]).astype(np.int64)
