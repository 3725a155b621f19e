"""Numbers behind the decisions of a search for medoids; ``benchmarks/medoids.py`` measures them."""

from __future__ import annotations

#: Candidates of a cluster that a change of one or two groups may make its medoid.  More value
#: changes better.  150 rows with capacities in 8 clusters end the same, in the same time, with 3
#: and with 48.
POOL = 12
#: Numbers of 8 bytes that a search remembers of clusters it has seen: 64 MB.  Half of the clusters
#: that upheavals look at were seen before, most of them a moment ago (SJC4a).
CACHE_ENTRIES = 1 << 23
#: Entries of the costs that swaps without rules look at together.  Larger blocks make fewer calls
#: and take more memory; 600 rows take the same time with a quarter and with four times as many.
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
#: The same where exact assignment gives the first answer: with links.  Swaps with exact assignment
#: take half of the time with 1,000 rows, 100 + 100 links and sizes (17 s, not 32 s), but miss the
#: optimum of a problem of 7 rows with links and a pin, which chains find.
LITTLE_UPHEAVAL_WORK = 8.5e5
#: Swaps and exchanges of medoids that exact assignments try, at most, before one pays.  With 30
#: in place of 10, 200 rows in 10 clusters of different sizes end 0.8 % lower in 8 times the time;
#: equal sizes of 1,000 rows end the same.
SWAPS_TRIED = 10
#: Entries of the costs, for each cluster, in all draws of new medoids; the most draws; and draws in
#: vain that end them.  1,000 rows in 10 equal clusters: 20 draws take 2 s and end 0.00 to 0.06 %
#: above the best value known, 50 draws take 4 to 5 s and reach it from each of three seeds.  200
#: rows reach theirs from three seeds if 40 draws in vain end them, and from none of two with 25.
RESEEDING_WORK, MOST_RESEEDINGS, RESEEDING_IDLE = 4e8, 100, 40
#: Most clusters whose medoids are drawn anew together, as in upheavals of k-means.
MOST_RESEEDED = 8
#: Matrices of the size of the distances that a search holds: distances, costs and a work array.
MATRICES = 3
