"""Numbers behind the decisions of a search for medoids; ``benchmarks/medoids.py`` measures them."""

from __future__ import annotations

#: Candidates of a cluster that a change of one or two groups may make its medoid.  More value
#: changes better and take longer.
POOL = 12
#: Numbers of 8 bytes that a search remembers of clusters it has seen: 64 MB.  More are seldom of
#: use: most clusters that come back were seen a moment ago.
CACHE_ENTRIES = 1 << 23
#: Entries of the costs that swaps look at together.  Larger blocks make fewer calls and take more
#: memory.
BLOCK_ENTRIES = 1 << 17
#: Entries of the costs in all starts of swaps without rules, and the most starts.
START_ENTRIES, MOST_STARTS = 3e7, 10
#: Upheavals, in units of the root of the clusters.
UPHEAVALS, UPHEAVAL_IDLE = 300, 30
UPHEAVAL_WORK, UPHEAVAL_LEAST = 1.5e7, 1_000
#: Matrices of the size of the distances that a search holds: distances, costs and a work array.
MATRICES = 3
