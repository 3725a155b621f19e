"""Numbers behind the decisions of a search for medoids; ``benchmarks/medoids.py`` measures them."""

from __future__ import annotations

#: Candidates of a cluster that a change of one or two groups may make its medoid.  More value
#: changes better and take longer.  Not measured.
POOL = 12
#: Numbers of 8 bytes that a search remembers of clusters it has seen: 64 MB.  Half of the clusters
#: that upheavals look at were seen before, most of them a moment ago (SJC4a).
CACHE_ENTRIES = 1 << 23
#: Entries of the costs that swaps without rules look at together.  Larger blocks make fewer calls
#: and take more memory.  Not measured.
BLOCK_ENTRIES = 1 << 17
#: Entries of the costs in all starts of swaps without rules, and the most starts.  More find better
#: medoids; one start of 1,800 rows takes about 0.1 s.
START_ENTRIES, MOST_STARTS = 3e7, 10
#: Upheavals, in units of the root of the clusters and of their square, whichever is less.  More
#: lower the objective and the differences between seeds.
UPHEAVALS, UPHEAVALS_EACH = 200, 8
#: Upheavals in a row without a better answer that end them, for each cluster.
UPHEAVAL_IDLE = 30
#: Work of all upheavals and what each costs besides, in pairs of a group and a near cluster, for
#: clusters of UPHEAVAL_GROUPS groups; larger ones take more steps to obey the rules again.
UPHEAVAL_WORK, UPHEAVAL_LEAST, UPHEAVAL_GROUPS = 8.5e6, 1_000, 10
#: The same where exact assignment needs no programs and does most of the search.  1,000 rows in 10
#: equal clusters take 0.3 s an upheaval.
LITTLE_UPHEAVAL_WORK = 8.5e5
#: Matrices of the size of the distances that a search holds: distances, costs and a work array.
MATRICES = 3
