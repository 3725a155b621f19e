"""Thresholds of the plan: numbers that decide how a problem is solved.

The unit of most is an *entry*: one of the ``n_groups * n_clusters`` entries of x.  Each comment
says what the number is, what changes when it grows, and the job of ``benchmarks/bench.py`` or the
script in ``benchmarks`` that set it.  ``benchmarks/thresholds.py`` divides and multiplies each by 4
and measures time and objective of the jobs that it names, such as *equal 60000*: 60,000 rows with
equal sizes.  Its table is ``benchmarks/thresholds.md``; "same objective" means within 1e-5.
"""

from __future__ import annotations

# --- Size classes -------------------------------------------------------------------------------

#: Entries up to which a problem is small: restarts also polish straight from their seeds, moves
#: have their full budget, and ADMM works in double precision.  Overhead hides the gain of single
#: precision there, which is 1.3 to 2.3 times above (jobs small-*, sizes-5000-10).  At 24,000, links
#: and sizes 3000 take 2.3 times as long at the same objective (thresholds.py).
SMALL = 6_000
#: Entries above which a problem is large: no single rows are exchanged, and far rows stay where
#: they are.  A larger limit makes fits of that size slower at the same inertia (job
#: sizes-100000-10); at 75,000 equal 3000, k = 40 ends 0.0008 % higher (thresholds.py).
LARGE = 300_000

# --- Time ----------------------------------------------------------------------------------------

#: Seconds after which a fit without ``time_limit`` ends with what it has, and seconds that the
#: integer programs of all its restarts have together.  Both hold up to ``TIMED_ROWS`` rows and grow
#: with the square of the rows above.  A longer ``time_limit`` gives programs the same part of it.
#: More programs lower the objective where they close (late.py).
FIT_SECONDS, PROGRAM_SECONDS, TIMED_ROWS = 17.0, 8.0, 2_000

#: Seconds left up to which restarts are made in this process whatever ``n_jobs`` says: to start the
#: others takes 2 to 3 s.
START_SECONDS = 10.0

# --- Restarts ----------------------------------------------------------------------------------

#: Entries that the restarts of ``n_init="auto"`` look at in all, and the most restarts.  More work
#: lowers the worst inertia of small problems (quality_start.py) and takes proportionally longer.
#: At 400,000 entries the objective is 0.008 % lower in the mean, and equal 3000, k = 40 takes 3.4
#: times as long.  With 1 restart the objective is 0.003 % higher, at worst 0.04 %; with 20 it is
#: the same, and small fits take 4 to 6 times as long (thresholds.py).
RESTART_ENTRIES = 100_000
MOST_RESTARTS = 5
#: Restarts of ``n_init="auto"`` whose equal best answers end the search, and restarts after which
#: answers that disagree are recombined instead.  More restarts find fewer good answers than
#: recombinations in the same time (small_pairs.py).
AGREE, DISAGREEING = 2, 3
#: Entries that all restarts look at where most groups are in cliques of cannot-links, and the part
#: of the groups that is most.  Fewer restarts end above the best of five (cliques.py, k = 30).
CROWDED_ENTRIES, CROWDED = 250_000, 0.5
#: Most restarts where labelled groups name every cluster and the problem is not small: one run
#: starts from their means.  More take longer and lower the objective of digits by at most 5e-5
#: (labels.py).
LABELLED_RESTARTS = 2
#: Recombinations without a better answer that end them, for each cluster.  More find better answers
#: where there are many local optima and take longer: 300 uniform points in 10 clusters take 0.39 s
#: at 5, with a mean gap of 4e-4, and 0.69 s at 10, without one.
IDLE_EACH = 10
#: Shaken answers without a better one that end the search where cannot-links tangle and are the
#: only rule: for each group with links, and at most; and most of them for each recombination.  With
#: half as many, 2 of 40 runs of glass, iris and wine with chance links end above the best known,
#: with none 6 of 40; each takes 3 ms (small_pairs.py).
SHAKEN_EACH, MOST_SHAKEN, MOST_SHAKES = 2, 400, 10
#: Most chains that change sides in a shaken answer.  With 2 nearly all of them return to where they
#: came from; with more than 16 an exchange takes longer (small_pairs.py, glass and iris).
MOST_FLIPS = 16
#: First shaken answers that end the others if all of them are the best answer.  Links that agree
#: with the classes of iris, wine and breast cancer lead 180 of 180 back, chance links 40 to 86 %.
CALM = 16

# --- The sample that ADMM sees ------------------------------------------------------------------

#: Groups in the sample, in all and for each cluster, where sizes or totals bound sums.  More of
#: them give better centres and a longer ADMM (jobs sizes-100000-10, million): with 80,000, equal
#: 60000 takes 2.7 times as long at the same objective (thresholds.py).
SAMPLE_SUMMED, SAMPLE_SUMMED_EACH = 20_000, 200
#: Groups in the sample, in all and for each cluster, where no sums are bounded and ADMM only has to
#: find the clusters (job pairs-10000).  With four times as many, links 6000 and pins 10000 take 2.4
#: to 3.1 times as long at the same objective (thresholds.py).
SAMPLE_FREE, SAMPLE_FREE_EACH = 2_000, 400
#: Factor by which a sample of rows of uneven weight may grow; it loses that much precision.  It is
#: a guard against weights of which a few rows have nearly all.
MOST_UNEVEN = 10.0
#: Part of the sample up to which all pinned groups are in it.  No difference was measured between
#: 0.025 and 0.4 (thresholds.py, pins 10000).
MOST_PINNED = 0.1
#: A sample is drawn only if the whole is larger by this factor; below, its noise costs more than
#: the passes it saves.  At 6, equal 60000, links 6000 and pins 10000 take 2.2 to 3.5 times as long
#: at the same objective (thresholds.py).
WORTH_SAMPLING = 1.5
#: Groups from which k-means++ draws the seeds.  More make seeding slower, not better (job million;
#: thresholds.py: equal 60000 has the same objective from 12,500 on).
SEED_ROWS = 50_000
#: Part of the time left that k-means++ may take; seeds are drawn at random after it.
SEED_SHARE = 0.3

# --- ADMM --------------------------------------------------------------------------------------

#: Entries around which the growth of the penalty changes from fast to slow, with and without bounds
#: on sums.  Where it is fast, exact steps and moves find what a slow ADMM would (jobs small-*;
#: quality_start.py).  At 24,000 with sums, the objective is up to 0.008 % higher (thresholds.py).
FAST_SUMMED, FAST_FREE = 6_000, 20_000
#: Part by which the penalty grows an iteration up to half of FAST_SUMMED or FAST_FREE entries.  At
#: 0.4 ADMM is faster and the objective up to 3.8 % higher; at 0.025 links 6000 and pins 10000 take
#: 2.9 times as long, and the worst objective is 0.15 % higher (thresholds.py).
FAST_GROWTH = 0.1
#: Entries that ADMM looks at in all its iterations where shifts and chains of groups follow, and
#: the most that its penalty then grows in an iteration.  More work lowers the objective of ADMM's
#: answer, not that of the chains' (capacities.py).
CHAINED_WORK, FASTEST_GROWTH = 4.0e7, 2.0
#: Entries up to which ADMM's answer competes with that from the seeds where shifts and chains solve
#: both.  Above, CHAINED_WORK leaves ADMM so few iterations that its centres are worse than seeds:
#: 3,000 points in 600 clusters take 6 of 10 s to be settled from them, and are not used.
CHAINED_COMPETES = 400_000
#: Factor, for each cluster, by which the ridge falls until ADMM knows the centres, about.
CHAINED_FALL = 20.0
#: Clusters up to which the penalty grows as asked; with more, the growth less one is multiplied by
#: ``sqrt(10 / k)``, as more clusters separate one after another (job sizes-20000-100).  At 40 equal
#: 3000, k = 40 ends 0.67 % higher; at 2 the mean objective is 0.005 % lower (thresholds.py).
SLOW_CLUSTERS = 10
#: Smallest factor by which many clusters slow the growth of the penalty.
SLOWEST = 0.4
#: Clusters up to which ADMM may end with the ridge where sizes are the only rule; exact sizes then
#: find the rest as fast (job sizes-100000-10).
EARLY_CLUSTERS = 10
#: Entries for each iteration between two counts of the violations, and the most iterations between
#: them.  Counting costs a pass over the labels; a larger COUNT_ENTRIES counts more often.
COUNT_ENTRIES, COUNT_SELDOM = 5_000, 50
#: Features up to which Algorithm 1 decomposes the Gram matrix of the points; with more, it solves
#: for w by conjugate gradients.  At 1,024 features the decomposition takes 0.7 s and makes an
#: iteration 1.4 times (300 points) to 3.3 times (2,000) as fast; at 2,048 it takes 4 to 6 s.
LARGEST_GRAM = 1024

# --- Rivals of ADMM's answer --------------------------------------------------------------------

#: Part of the time left that ADMM may take where no answer is known before it.
ADMM_SHARE = 0.6
#: Part of the time left that the polish straight from the seeds may take before ADMM.
DIRECT_SHARE = 0.3
#: Least loss by giving up a cluster, in units of the most saved by splitting one, above which the
#: answer from the seeds needs no rival.  A smaller number skips ADMM on more data.  Data without
#: clusters reach 13, blobs at a distance of five standard deviations 18 (clear.py).
CLEAR = 15.0
#: Room between bounds on sizes, in mean sizes, above which two clusters can settle in one dense
#: region.
LOOSE = 0.5
#: Range of the sizes, in mean sizes, above which their order matters (quality_random.py).
UNEQUAL = 0.2
#: Entries above which moves on all rows are too few to find the order of the sizes, so that a pilot
#: sample is solved with all of them; and entries of that sample up to which it has enough moves.
PILOT_FROM, PILOT_MOST = 10_000, 24_000
#: Groups of a pilot for each cluster, at least.
PILOT_EACH = 30
#: Entries of a sample up to which it is polished after ADMM where nothing is summed.
POLISHED = 200_000
#: Part of all groups below which a sample without bounded sums is polished with moves.
SMALL_PART = 0.2
#: Least trials of moves for each cluster on a sample that is polished with moves.
TRIALS_EACH_CLUSTER = 2
#: Part of the objective that relocating one cluster of a sample must save; smaller savings are left
#: to the polish of all groups.
LEAST_RELOCATION = 0.05
#: Rounds of assignment and means after which ADMM's centres and a pilot's are compared.
PILOT_ROUNDS = 10

# --- Polish --------------------------------------------------------------------------------------

#: Most rounds of means and exact assignment.
MAX_ROUNDS = 300
#: Relative fall of the objective below which rounds end, of a small problem; it grows with the cube
#: of the entries, up to the second number (jobs sizes-5000-10, million).
LEAST_DROP, MOST_DROP = 1e-12, 1e-7
#: Entries from which the second number grows in proportion, and the largest factor.  A smaller
#: drop takes more rounds: 1,500,000 rows of one normal distribution in 32 clusters make 150 at
#: 3e-6, for an inertia that is 0.03 % lower than at 1e-5.
DROP_ENTRIES, DROP_GROWTH = 3_000_000, 100.0
#: Sum of the squared shifts of the centres in a round, in mean variances of the features, below
#: which rounds of a large problem end, as those of scikit-learn's KMeans do, and entries from which
#: it holds; it falls in proportion with fewer, down to LARGE.  With it, centres are extrapolated.
#: A smaller number takes more rounds: a million rows of one normal distribution in 10 clusters end
#: 0.07 % above free KMeans at 1e-4, 0.04 % at 3e-5 in 1.6 times the time, and 0.004 % at 1e-6 in
#: 5.5 times the time.  100,000 such rows take 4 s and end 0.06 % lower than in 7 s without it.
LEAST_SHIFT, SHIFT_ENTRIES = 3e-5, 3_000_000
#: Entries from which the shift grows in proportion, and the largest shift, which is the tolerance
#: of scikit-learn's KMeans.  A smaller one takes more rounds (gpu.py, part e5).
SHIFT_GROWS, MOST_SHIFT = 30_000_000, 1e-4
#: Rows in shards on which rounds are made first, in all and for each cluster, and the factor by
#: which all rows must be more.  More of them leave fewer rounds to all rows, and take longer.
REHEARSED, REHEARSED_EACH, WORTH_REHEARSING = 400_000, 10_000, 2.0
#: Values of these rows, and of their costs, up to which they come into this process's memory where
#: passes are slow, as with Dask; 256 MB.
BROUGHT_VALUES = 32_000_000
#: Largest part of the time left that these rounds take, so that all rows have time for an answer.
REHEARSAL_SHARE = 0.5
#: Relative fall of the objective below which rounds with many clusters end; exchanges find more.
MANY_DROP = 1e-5
#: Entries that all rounds of exchanges of single groups look at.  More of them find more where each
#: round finds another: with a quarter, 3,000 points in 60 clusters end 0.2 % higher (same.py).
EXCHANGE_ENTRIES = 7_500_000
#: Relative gain below which exchanges end, from twice SMALL entries on; it falls to 0 at SMALL.
LEAST_EXCHANGE = 2e-5
#: Work of the moves of one search, in entries of cost matrices looked at (quality_start.py).
MOVE_BUDGET = 4.0e7
#: Rounds of assignment in one trial of a move, about.
ROUNDS_A_TRIAL = 6
#: Most trials of one kind of move on one answer, and of all kinds, in units of that.
MOST_TRIALS, MOST_TRIALS_TIMES = 60, 6
#: Power of the entries by which trials of moves become fewer beyond SMALL.
DECLINE = 1.5
#: Entries beyond which, and further power by which, trials become fewer where all clusters have the
#: same bounds: ADMM then leaves nothing to find (quality_start.py, digits and plane).  At a power
#: of 5 equal 2000 takes 5.5 times as long at the same objective (thresholds.py), and sizes-1000-10
#: longer than k-means-constrained.
SETTLED, DECLINE_SETTLED = 8_000, 20.0
#: Groups for each cluster up to which shifts and chains take the place of exact assignment under
#: totals, shares and linear rows, and entries up to which they do.  With more groups a cluster,
#: prices leave few groups to a program and a shift changes little (capacities.py).
CHAINED_EACH, CHAINED = 100, 10_000_000
#: Nearest clusters that a group may go to in a shift or chain.  More find a few more changes and
#: make scans longer (capacities.py).
NEAREST = 12
#: Upheavals in all runs, in units of the root of the clusters and of their square, whichever is
#: less.  More lower the objective and the differences between seeds (capacities.py).
UPHEAVALS, UPHEAVALS_EACH = 100.0, 6
#: Upheavals in a row without a better answer that end them, for each cluster.  Without an end, 600
#: blobs in 10 clusters under loose totals take 17 s in place of 2.2 s, with the same answer.
UPHEAVAL_IDLE = 5
#: Part by which an answer may be worse than the best and still be the start of further upheavals;
#: it falls to 0 at the last one.  At 0 five seeds of lin318_070 differ by 1.6 %, at 0.003 by 0.6 %
#: and at 0.01 by 0.8 %, in the same time (capacities.py).
UPHEAVAL_SLACK = 0.005
#: Work of all upheavals and what each costs besides, in pairs of a group and a near cluster.
UPHEAVAL_WORK, UPHEAVAL_LEAST = 3.0e6, 1_000
#: Entries up to which integer programs finish what upheavals found (capacities.py).
FINISHED = 2_000
#: Price of one exact assignment, in looks at every entry of x, by kind of rule: totals or linear
#: rows; sizes with pairs or unequal groups; pairs; sizes; none.
PRICES = {"program": 3000.0, "sizes and pairs": 300.0, "pairs": 20.0, "sizes": 10.0, "none": 1.0}
#: Seconds after which an exact assignment gives the best labels it has; and seconds in later rounds
#: of a problem whose first round ended so, which start from the greedy labels of the round before.
PATIENCE, LATER_PATIENCE = 3.0, 0.3

# --- Exact assignment ----------------------------------------------------------------------------

#: Entries of the costs above which prices first find the groups that need a program.  More give
#: the program all groups at once.  With sizes and pairs, 5,000 groups in 5 clusters take 0.06 s
#: with prices and 2.2 s without; 400 groups take 0.02 s and 0.01 s.
CONTESTED_ENTRIES = 10_000
#: Entries of the costs of a 2-core of pairs above which a descent solves it, not a program.  More
#: give a proof to larger ones and take longer.  1,000 groups in 5 clusters with 3 cannot-links each
#: take 1.7 s to solve exactly; a descent takes 0.02 s and costs 3.5 % more.
TANGLE_ENTRIES = 20_000
#: Entries of the costs up to which sizes and disjoint cliques are one flow; above, prices find the
#: groups that need a program.  1,500 groups in 10 clusters with cliques of 9 take 0.02 s as a flow
#: and 0.2 s with prices and programs (cliques.py).
NESTED_ENTRIES = 300_000
#: Groups of a 2-core of pairs up to which a program solves it at every look at prices; above, the
#: bound leaves the pairs out.  It is a guard: no difference was measured between 0 and 1,000.
TANGLE_GROUPS = 60
#: Entries of a program above which it is not begun in a large problem if an answer is known.  More
#: lower the cost a little: at 0 it is higher by 9e-6 with a total over 100,000 groups in 5
#: clusters.
PROGRAM_ENTRIES = 100_000
#: Seconds for one program if an answer is known, unless it is the last one of a problem that is not
#: large.  More can only prove or improve a known answer.
PROGRAM_PATIENCE = 2.0
#: Entries of the matrix of an integer program above which HiGHS solves it in a process of its own.
#: Starting that takes 0.3 s.  A larger number makes Ctrl-C wait longer for HiGHS: at 51,000 entries
#: it waited up to 30 s (limits.py --interrupts, relaxed).
APART_ENTRIES = 20_000
#: Columns of x up to which a program has all of them at once.  More save rounds of adding columns
#: and make a program larger: 300 groups in 5 clusters take 0.03 s at 600 and 0.05 s at 5,000.
FEW_COLUMNS = 600
#: Labelings of a component of pairs up to which all are tried; above, a program finds the best.
#: Sizes and 4,000 cannot-links of 8,000 rows in 5 clusters take 0.08 s, and 0.13 s with programs.
ENUMERATED = 5_000
#: Entries of the costs up to which sizes are one flow: with prices to start from, and without.
#: More make a flow longer than prices: 12,000 entries with prices take 1 ms, as one flow 7 ms;
#: 30,000 entries without prices take 5 ms, as one flow 16 ms.
FLOW_WARM, FLOW_COLD = 4_000, 20_000
#: Seconds that a flow takes for each of its arcs, about.  It cannot be interrupted, so that it does
#: not begin where that is more than the time left.  Measured: 3e-7 to 5e-7 from 200,000 arcs on.
FLOW_SECONDS = 5e-7
#: Rows for each cluster below which sizes without prices are one flow, because a sample would have
#: no row in some clusters.  More make flows larger: 6,000 rows in 200 clusters take 0.15 s at 5 and
#: 1.2 s at 40; at 0 they take 0.28 s.
FLOW_ROWS_EACH = 5
#: Most rows of the sample that gives the first prices, in all and for each cluster; the larger of
#: the two counts.  500,000 rows in 20 clusters take 0.55 s, and 0.65 s at a tenth or without limit.
PRICE_SAMPLE_MOST, PRICE_SAMPLE_EACH = 50_000, 1_000
#: Rows with equal costs in several clusters above which they are moved in bulk before the flow.
#: 50,000 rows in 10 clusters with costs of four values take 0.05 s with it and 0.9 s without.
MANY_TIES = 1_000
#: Most groups that a repair of totals may move, and most moves.  They bound the work of a repair to
#: their product times the clusters; no difference was measured from 300 groups on.
REPAIR_GROUPS, REPAIR_MOVES = 3_000, 400

# --- Conflicts -----------------------------------------------------------------------------------

#: Most parts of a conflict of presolve that is reduced by leaving them out in turn.  Each takes one
#: or two tests of at least 2 ms.
REDUCED_PARTS = 1_000
#: Entries up to which the solver decides whether such a part is needed, and presolve alone above.
#: With more, errors come later: one test of 5,000 rows in 20 clusters takes 0.4 to 2.3 s.
REDUCED_ENTRIES = 100_000

# --- Backends ------------------------------------------------------------------------------------

#: Groups from which ADMM's kernels on a GPU sum the points with 8 bits instead of 16; the rounding
#: errors average out over a cluster.  A larger number makes an iteration slower on problems of that
#: size (gpu.py parts a and b, "all bits").
LEAN_GROUPS = 200_000
#: Entries of x up to which ADMM keeps x on a GPU; above, labels are the rounding of its copy v1.  A
#: larger number takes 4 bytes of GPU memory for each entry (gpu.py part c).
DEVICE_X = 1 << 24
#: Entries of x up to which ADMM keeps x with Dask's workers.  A larger number takes 4 or 8 bytes of
#: their memory for each entry (dask_scale.py fit --all).
DASK_X = 1 << 20
#: Bytes of pulls of pairs that Dask may hold before the next checkpoint is written.  A larger
#: number saves checkpoints and takes memory of the scheduler (dask_scale.py iteration --links).
PULL_BYTES = 1 << 28

#: Random parts of the rows that an answer is compared with when a number of clusters is chosen, and
#: the share of the rows in each.  More parts give a less noisy stability and take longer; smaller
#: shares change the clusters more.  Not measured: 80 % is the usual share in the literature.
SUBSAMPLES, STABILITY_SHARE = 4, 0.8
#: Rows of which the silhouette is computed, at most.  It takes time and memory that grow with their
#: square: 2,000 rows x 10 take 0.03 s, 4,000 take 0.2 s.
SILHOUETTE_ROWS = 2_000
