"""The numbers that steer the engine, each with its unit and what changes when it grows.

A number that follows from machine precision, or from the sizes of the data, is computed where it is
used.
"""

from __future__ import annotations

# Of several parts

#: Change in an iteration below which iterations end: of the objective, as a part of it, in two
#: rounds in turn over rows elsewhere; of x of ADMM, sum over the clusters and mean over the groups,
#: before x is made binary.  Less takes more of them: one normal distribution in many clusters falls
#: for hundreds of rounds, and x of 600 rows in 6 clusters needs 1.2 times the iterations with a
#: quarter and 0.82 times with four times this number, at the same inertia within 0.01 %.
AT_REST = 1e-4
#: Factor by which something grows that was not enough: the open groups of a program, the open rows
#: elsewhere, which are as many at first for each row in the wrong cluster, the penalty of hard
#: rules, and the sample that starts all rows.  More take fewer attempts, of which the last costs
#: more.  With a first sample only, fits of 200,000 rows end 0.7 % higher in the median.
GROWTH = 4
#: Groups that are looked at where all would take long: the open ones of the first program, and
#: those whose costs give ADMM their scale in every iteration.  More make a program slower and a
#: proof likelier; an iteration on 2,000 x 10, k = 20 takes 0.17 ms with 75, 0.18 ms with 300 and
#: 0.23 ms with all.
FEW_GROUPS = 300

# Exact assignment

#: Rows for one row of the sample that gives the first prices of sizes, and for one row of small
#: margin, which is looked at first.  More misplace more rows, and look at fewer of them: 200,000
#: rows in 20 clusters take 0.2 s with 2, 0.12 s with 8 and 0.8 s with 32.
SAMPLED = 8
#: Seconds that a flow takes for each of its arcs, about.  It cannot be interrupted, so that it does
#: not begin where twice that is more than the time left.  More end a fit earlier.  20,000 rows in
#: 20 clusters take 1.5e-6, 2,000 rows in 100 clusters 0.8e-6.
FLOW_SECONDS = 5e-7
#: Entries of a program, in its costs or its matrix, above which it is a large one.  HiGHS solves a
#: large matrix in a process of its own, which takes 0.3 s to start; inside this one, Ctrl-C waited
#: up to 30 s at 51,000 entries (limits.py --interrupts).  A 2-core of pairs with larger costs is
#: solved by a descent, without a proof: 1,000 groups in 5 clusters with 3 cannot-links each take
#: 1.7 s; a descent takes 0.02 s and costs 3.5 % more.
PROGRAM_ENTRIES = 20_000
#: Seconds for a program, or a search on one core, after which there is something else to try.  More
#: prove or improve a little more.
PROGRAM_SECONDS = 2.0
#: Seconds, and part of the limit, in which cheap methods may still look for a first answer after
#: the end; a process of HiGHS has so many seconds to hand over its answer.  More give an answer to
#: more fits whose limit is short, and end them later.
GRACE, GRACE_PART = 0.4, 0.03

# Rules

#: Most steps of a search for cliques, for values that do not fit or for links that contradict:
#: multiplications for the triangles of a graph, neighbours that are looked at, pairs of a value
#: and a bound.  They take 0.2 s on one core (the triangles of 5,000 vertices with 75,000 links).
#: Above, links are not pruned by triangles, and only the vertices of highest degree and the largest
#: values are looked at, so that fewer cliques and contradictions are found.
MAX_WORK = 5_000_000

# Rows

#: Entries of one array of a block: a table of costs, or x of ADMM.  Larger blocks leave a core's
#: own cache; with smaller ones the calls of NumPy cost more than their work.  An iteration of ADMM
#: on 200,000 x 8, k = 10 takes 19 ms, with 2**16 entries 21 ms and with 2**21 33 ms.
BLOCK_ENTRIES = 1 << 17
#: Squared distance of the middle from the origin, in units of the mean squared distance to the
#: middle, above which dense points are centred in a copy.  A larger number saves the copy and
#: loses digits in the difference of large squares.
FAR = 1e3

# ADMM

#: Ridge, in scales of the costs, at which graduation ends.  A larger number ends it sooner, with
#: clusters that are less separated.  With 0.02 answers of a fifth of the grid are the same within
#: noise, and fits take 0.1 longer.
RIDGE_END = 0.1

# Search: prices of sums

#: Factor by which the temperature of the soft assignment falls.  Larger: more passes, prices that
#: follow more closely.  280 price problems of the grid take 11 passes each with 0.3 and 9 with 0.1.
COOLING = 0.1
#: Mean miss of the bounds, in mean loads, at which prices are good enough at the last temperature,
#: and at those before it.  With 0.1 for the latter up to a third of the passes is saved, but 20,000
#: rows of Zipf populations in 400 clusters end with a miss of 0.1 instead of 0.005.
PRICE_ACCURACY, TRACKED = 5e-3, 0.03
#: Part of the groups that may be undecided at the last temperature.  More leave more to the moves.
UNDECIDED = 0.02
#: Largest difference of costs, in temperatures, at which a cluster has a share at all, and longest
#: step of a price by the mean amount.  With 30 a pass takes 1.4 times as long, for the same prices.
NO_SHARE = 10.0
#: Part of the curvature that is added to its diagonal at first, and the factor by which it falls at
#: most after a step that raised the dual as promised.  After a step that is taken back it rises by
#: twice that, then by four times that (Nielsen's rule).
DAMPING, DAMPING_STEP = 1e-3, 4.0
#: Clusters with a share of a group up to which all such groups count for the curvature; of groups
#: with more, which are many at high temperatures, so many products count.  With 12 groups for 400
#: clusters every second step had to be taken back.
FEW_SHARES, CURVED_WORK = 12, 1 << 28

# Search: descents

#: Rounds of prices, labels and means, sweeps of single moves, and steps of Newton's method at one
#: temperature, at most.  Two rounds instead of eight: 2,000 rows in 100 clusters end 0.5 % higher
#: after the same time.
ITERATIONS = 8
#: Relative drop of the objective that ends rounds.
ROUND_DROP = 2e-3
#: Clusters near one: those that its groups look at, that a child may change beside it, that are
#: seeded anew together, or of which one is given up.
WIDTH = 16
#: Groups of a full cluster that are noted as partners of one that finds no room there, and most
#: groups of a Kempe chain.  With 12 and 48 partners answers of a part of the grid are the same
#: within noise (0.05 %).
LONGEST = 24
#: Rise at the prices up to which a group without room is worth a swap, in their temperatures.
MARGIN = 2.0
#: Most members of a cluster whose medoid follows a move while it is valued.  In larger clusters a
#: move is valued at the present medoid, which is never too low; the medoid follows when it is made.
#: More find more moves and take longer for each.
FOLLOWED = 64
#: How often the penalty of hard rules, in mean costs of a group, may rise while a rule is broken,
#: and the factor by which the first one falls after a descent that needed no rise; it rises by the
#: square of that otherwise.
PENALTY_RISES, PENALTY_DRIFT = 10, 0.95
#: Steps of a random walk that divides connected clusters anew, at least, more for many groups.
#: More obey tight bounds oftener.  With 7,000 for two of 50 groups of US counties the first descent
#: leaves 0.6 % of an area outside bounds of 0.1 %, with 20,000 nothing.
WALK = 20_000
#: Entries of a table of costs up to which it is kept; up to a few times as many, a descent ends
#: with labels that are exact at the centres.  With the same number for both, 13 cells of 20,000
#: rows in 400 clusters take 0.86 of the time and end 1.8 % higher.
EXACT = 1 << 22

# Search: the loop

#: Work of a search with effort 1, in about nanoseconds: a part that every search has; for each
#: number of X that the coarse level sees, times clusters; and for each number of X, times clusters.
#: With a first part of 4e8, 410 cells of the grid take half as long again in the median and end
#: 0.05 % lower; with 1.5e8 they take two thirds of the time and end 0.14 % higher, a few with
#: separated clusters 5 to 9 %.  With a last part of 30, 130 cells take a fifth less time and end
#: 0.2 % higher, those of 20,000 rows 0.5 %.
WORK, WORK_EACH, WORK_ALL = 2.5e8, 30.0, 60.0
#: Work of a child, or of a round of prices, labels and centres, beside its entries; of a pass over
#: the groups, a seed, or half an iteration of ADMM, beside its entries; and of such an iteration
#: for each entry.  They are nanoseconds of one core, so that small problems keep to the budget.
CHILD_WORK, PASS_WORK, ADMM_WORK = 5e5, 1.5e5, 8.0
#: Work of a descent between two looks at the deadline.
PIECE = 3e7
#: Groups of the coarse level, at least, and for each cluster.  20,000 rows in 20 clusters end
#: 0.3 % lower with 2,000 than with 3,000 and 0.5 % lower than with 5,000, after the same time.
COARSE, COARSE_EACH = 2_000, 50
#: Entries of ADMM's x, at most.  It is left out where these are fewer than so many groups for each
#: cluster, which do not show where the clusters are.
ADMM_ENTRIES, ADMM_EACH = 40_000, 5
#: Part of the time left that one step may take (the sample, seeds, ADMM), part of the work after
#: which no further start is made, and part of it that samples leave to all rows: children cost less
#: there.  Where samples leave 0.6, 238 cells of 20,000 rows end 0.13 % higher after the same time.
STEP = 0.4
#: Answers that are kept as parents, at most; fewer with many clusters: all parents together have
#: about so many clusters.  Local children improve one answer of many clusters faster than several.
PARENTS, PARENT_CLUSTERS = 6, 60
#: Children without success that end the search, at least; with more clusters, one for each.
IDLE = 100
#: How much above the target the objective may be after rounds, as a part, for moves to follow.
PROMISING = 0.03
#: Seconds after which a fit of up to ``TIMED_ROWS`` rows without ``time_limit`` ends with what it
#: has; it grows with the square of the rows above.
FIT_SECONDS, TIMED_ROWS = 17.0, 2_000

# Rows elsewhere: a GPU, or Dask's workers

#: Groups of the sample that shows where the centres are, at least, and for each cluster; up to as
#: many are all searched in memory.  More take longer there and leave fewer rounds over all rows.
SAMPLE, SAMPLE_EACH = 20_000, 100
#: Rounds over all rows, at most.  More take longer where the objective goes on falling.
ROUNDS = 50
#: Entries of a work array on a device, and of the costs of open rows that come home; smaller ones
#: do not keep all of a GPU busy.
ENTRIES_ON_DEVICE = 1 << 26
#: Prices, clusters times sums, up to which a pass gives the whole curvature of the soft dual as one
#: matrix.  Above, it gives the curvature of some rows in factors, and shares are made over the
#: cheapest few clusters of each row: a pass over all of 65,536 clusters takes some seconds for
#: 5,000,000 rows on an H200, over 2,048 a tenth of one.  Less made smaller problems slower.
CURVED = 2048
#: Clusters of each row that shares are made over, or that count for the curvature in memory, where
#: prices are more than that.  More take more memory and time; fewer miss shares of rows that lie
#: between many clusters.
CHEAPEST = 32
#: Sum of the other shares, by the largest one, from which a row is undecided; shares count for the
#: curvature from its square on.  More end prices sooner, with a curvature that leaves out more.
DECIDED = 0.1
#: Largest share up to which a row counts for the curvature: that of a row whose others are such a
#: square together.
SURE = 1.0 - DECIDED**2
#: Products for the curvature for each share of a pass, at most, and in factors shares for each
#: cluster; of more rows only some count.  With this number products take about as long as the
#: shares themselves.
BENT = 128
#: Labels that a shard keeps: those of the best answer, and of the steps of the next one.
KEPT = 6
#: Least rows of a block, and clusters from which sums on a device are those of sorted rows.  A
#: matrix of all rows and clusters takes longer there: 1.4 times with 256 clusters of 10,000,000 x
#: 64 rows.
SORTED_FROM = 256
