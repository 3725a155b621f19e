"""Thresholds of many clusters; see :mod:`.thresholds`."""

from __future__ import annotations

#: Clusters, and entries, from which centres come from graduation and rows look only at some of the
#: clusters.  100 clusters of 20,000 rows take 3.8 s, 24 to 36 times less than k-means-constrained,
#: at an inertia 0.16 to 0.36 % below its own; ADMM takes 12 s and ends 0.3 % lower
#: (sizes-20000-100).
MANY_CLUSTERS, MANY_ENTRIES = 100, 1_000_000
#: The same clusters of rows in shards, where no exchanges follow and ADMM's kernels are fast.  With
#: 100 clusters ADMM on a sample takes 6.7 s on an H200 and ends 0.2 % below free k-means (gpu.py,
#: part c1); with 256 it takes 13 s where graduation in 1,024 clusters takes 4 s (part e1).
MANY_FAR = 128
#: Entries from which tied groups are assigned before all others, and the largest part of all groups
#: that they may be.  More tied groups change the prices of the sizes by more.  100,000 normal rows
#: in 10 clusters with 1,000 cannot-links take 3.5 s, and 26 s at 3,000,000 entries at an inertia
#: 0.04 % higher; 60,000 rows of blobs with 2,500 take 0.4 s and 1.0 s at the same inertia.
TIED_ENTRIES, MOST_TIED = 300_000, 0.1
#: Candidates of each row.  More make rounds slower; fewer need more passes until no other cluster
#: is better.  30,000 rows in 300 to 500 clusters take 0.88 times as long as with 16, at the same
#: inertia; with 8 well separated blobs take 5 times as long.
CANDIDATES = 12
#: Temperatures at which graduation begins and ends, in those at which a cluster would split, and
#: rounds between them.  More rounds lower the inertia and take longer: with 10, 20,000 rows in 100
#: clusters end 0.2 % higher in 0.9 times the time, with 40 0.05 % lower in 1.1 times.
GRADUATION_START, GRADUATION_END, GRADUATION_ROUNDS = 1.0, 0.05, 20
#: Parts that one cut of the tree makes, most rounds of a cut, and rows for each cluster that it
#: looks at.  More make better starts and take longer: inertia is 0.3 % higher with 3 parts, 0.14 %
#: higher with 2 rounds in place of 10 and 0.26 % lower with 40, 0.19 % higher with 12 rows
#: (thresholds.py, equal 12000, k = 120).
SPLIT_BRANCHES, SPLIT_ROUNDS, SPLIT_ROWS_EACH = 12, 20, 50
#: Parts of a cut, and rounds, of rows in shards, where all parts of a level are cut at once by
#: graduation.  40,000 rows in 256 clusters end 0.1 to 0.3 % higher with 4 parts and 0.05 to 0.15 %
#: higher with 64; with 24 rounds they end 0.02 to 0.2 % lower.
LEVEL_BRANCHES, LEVEL_ROUNDS = 16, 12
#: Rows for each cluster that graduation sees of rows in shards; all rows see its centres.  40,000
#: rows in 256 clusters end 0.2 to 0.3 % higher with 40 than with 80, and 0.4 % lower with all 156.
GRADUATED_EACH = 256
#: Rounds of graduation in shards between two searches among all clusters; in the others rows keep
#: their candidates.  A larger number saves passes and lets candidates grow old: with 1 in place of
#: 3, 40,000 rows in 256 clusters take 1.15 times as long and end 0.01 % higher to 0.2 % lower; with
#: 6 they take 0.95 to 1.03 times as long and end 0.01 % lower to 0.13 % higher.
RENEWED_EVERY = 5
#: Rounds of assignment after graduation in shards, where no exchanges follow, and the relative fall
#: of the objective below which they end.  40,000 rows in 256 clusters end 0.4 to 0.7 % higher with
#: 4 rounds in 0.7 times the time, and 0.3 to 0.4 % lower with 16 and 1e-5 in 1.4 times the time.
FAR_ROUNDS, FAR_DROP = 8, 1e-4
#: Rounds of assignment after graduation, then most rounds of exchanges, many groups at a time, and
#: the relative gain below which these end.  With 10 rounds and 1e-4, 20,000 rows in 100 clusters
#: take 2.6 s in place of 4.6 s and end 0.4 to 0.8 % higher; with 60 and 3e-6 they take 5.8 s and
#: end 0.1 % lower.
MANY_ROUNDS, MANY_EXCHANGES, LEAST_MANY_EXCHANGE = 2, 40, 1e-5
#: Entries that all rounds of exchanges look at, and the fewest rounds.  Each takes a search among
#: all clusters, which 1,000,000 rows in 4,096 clusters can afford a few times (many.py, job large).
EXCHANGED_WORK, FEW_EXCHANGES = 4_000_000_000, 5
#: Part of the rows, misplaced by the prices of sizes over candidates, above which Newton's method
#: improves these prices before a flow: in memory, and in shards.  A step takes two passes over all
#: candidates, and a flow grows with the misplaced rows.  300 of 30,000 rows take 14 ms a pass and
#: 40 ms as a flow; on a GPU a pass takes a hundredth of that.
STEPPED_NEAR, STEPPED_FAR = 1e-2, 2e-4
#: Candidates that a row may move to in a flow: those that cost at most so many reaches more.  A
#: larger number makes flows longer; the check of all candidates after it needs fewer of them.  With
#: 1 and with 4, 30,000 rows of 60 blobs in 600 clusters end the same, in the same time.
ARC_REACH = 2.0
#: Candidates of all rows up to which a flow takes all of them where half would take part, and the
#: number of rows taking part, in all rows, from which it does so however many there are.  A flow
#: over more candidates is large: rounds in memory need not be exact then.  If that were so for all
#: flows, or for those over 200,000 candidates, 30,000 rows of 60 blobs in 600 clusters would
#: end 0.1 % higher in 0.9 times the time; with 2 in place of 8 they end the same.
LARGE_FLOW, WIDEST = 2_000_000, 8
#: Factor of the rows taking part from which a flow that does not fit asks for more candidates.  A
#: larger number makes larger flows first, which take minutes with 1,000,000 rows in 4,096 clusters;
#: with 1 and with 16, 30,000 rows of 60 blobs in 600 clusters end within 0.02 %, in the same time.
GIVE_UP = 4
#: Rows that take part in a flow from known labels for each that another candidate suits better.
#: With 1 and 4, 30,000 rows in 600 clusters end within 0.1 %.
HOMES_EACH = 2
#: Parts with room that each row gets a way into, where its candidates have none.  More make wider
#: tables; 1 or 4 change nothing for 30,000 rows of 60 blobs in 600 clusters.
DOORS = 2
#: Rows for each cluster that seeds are drawn from where the sizes make no tree.  More make seeding
#: slower: its time grows with their number times the clusters.
SEEDS_EACH = 20
