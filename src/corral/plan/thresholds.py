"""Thresholds of the plan: numbers that decide how a problem is solved.

The unit of most is an *entry*: one of the ``n_groups * n_clusters`` entries of x.  Each comment says
what the number is, what changes when it grows, and the job of ``benchmarks/bench.py`` or the script
in ``benchmarks`` that set it.  ``benchmarks/thresholds.py`` varies each of them and measures time and
objective.
"""

from __future__ import annotations

# --- Size classes -------------------------------------------------------------------------------

#: Entries up to which a problem is small: restarts also polish straight from their seeds, and moves
#: have their full budget.  More of them make small fits better and slower (jobs small-*).
SMALL = 6_000
#: Entries above which a problem is large: rounds end at a relative drop of 1e-7, nothing is exchanged
#: row by row, and far rows stay where they are.  A larger limit makes fits of that size slower at
#: the same inertia (job sizes-100000-10).
LARGE = 300_000

# --- Restarts ----------------------------------------------------------------------------------

#: Entries that the restarts of ``n_init="auto"`` look at in all, and the most restarts.  More work
#: lowers the worst inertia of small problems (quality_start.py) and takes proportionally longer.
RESTART_ENTRIES = 100_000
MOST_RESTARTS = 5

# --- The sample that ADMM sees ------------------------------------------------------------------

#: Groups in the sample, in all and for each cluster, where sizes or totals bound sums.  More of them
#: give better centres and a longer ADMM (jobs sizes-100000-10, million).
SAMPLE_SUMMED, SAMPLE_SUMMED_EACH = 20_000, 200
#: The same without sums, where ADMM only has to find the clusters (job pairs-10000).
SAMPLE_FREE, SAMPLE_FREE_EACH = 2_000, 400
#: Factor by which a sample of rows of uneven weight may grow; it loses that much precision.
MOST_UNEVEN = 10.0
#: Part of the sample up to which all pinned groups are in it.
MOST_PINNED = 0.1
#: A sample is drawn only if the whole is larger by this factor; below, its noise costs more than
#: the passes it saves.
WORTH_SAMPLING = 1.5
#: Groups from which k-means++ draws the seeds.  More make seeding slower, not better (job million).
SEED_ROWS = 50_000

# --- ADMM --------------------------------------------------------------------------------------

#: Entries above which ADMM works in single precision; below, overhead hides the gain of 1.3 to 2.3
#: times (jobs sizes-5000-10, sizes-20000-10).
SINGLE_ENTRIES = 6_000
#: Entries up to which the penalty grows fast, with and without bounds on sums.  Exact steps and
#: moves then find what a slow ADMM would (jobs small-*; quality_start.py).
FAST_SUMMED, FAST_FREE = 6_000, 20_000
#: Growth of the penalty an iteration there.
FAST_GROWTH = 1.1
#: Clusters up to which the penalty grows as asked; with more, the growth less one is multiplied by
#: ``sqrt(10 / k)``, as more clusters separate one after another (job sizes-20000-100).
SLOW_CLUSTERS = 10
#: Least such factor.
SLOWEST = 0.4
#: Clusters up to which ADMM may end with the ridge where sizes are the only rule; exact sizes then
#: find the rest as fast (job sizes-100000-10).
EARLY_CLUSTERS = 10
#: Entries up to which violations are counted in every iteration, and up to which in every tenth;
#: above, in every fiftieth.  Counting costs a pass over the labels.
COUNT_EVERY, COUNT_TENTH = 5_000, 10_000_000

# --- Rivals of ADMM's answer --------------------------------------------------------------------

#: Part of the time left that the polish straight from the seeds may take before ADMM.
DIRECT_SHARE = 0.3
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
#: Part of all groups below which such a sample is polished with moves.
SMALL_PART = 0.2
#: Trials of moves for each cluster there, at least.
TRIALS_EACH_CLUSTER = 2

# --- Polish --------------------------------------------------------------------------------------

#: Most rounds of means and exact assignment.
MAX_ROUNDS = 300
#: Relative fall of the objective below which rounds end: of small and middle problems, and of large
#: ones, where a round is expensive (job million).
LEAST_DROP, LEAST_DROP_LARGE = 1e-12, 1e-7
#: Rounds of exchanges of single groups above SMALL entries, and the relative gain below which they
#: end: on data without structure each round finds another (job sparse-20000-10).
EXCHANGES, LEAST_EXCHANGE = 25, 2e-5
#: Work of the moves of one search, in entries of cost matrices looked at (quality_start.py).
MOVE_BUDGET = 4.0e7
#: Rounds of assignment in one trial of a move, about.
ROUNDS_A_TRIAL = 6
#: Most trials of one kind of move on one answer, and of all kinds, in units of that.
MOST_TRIALS, MOST_TRIALS_TIMES = 60, 6
#: Entries above which no moves are tried where clusters have equal sizes: ADMM leaves nothing to
#: find (quality_start.py, digits).
SETTLED = 8_000
#: Price of one exact assignment, in looks at every entry of x, by kind of rule: totals or linear
#: rows; sizes with pairs or unequal groups; pairs; sizes; none.
PRICES = {"program": 3000.0, "sizes and pairs": 300.0, "pairs": 20.0, "sizes": 10.0, "none": 1.0}
#: Seconds after which an exact assignment gives the best labels it has, and the same in later
#: rounds where greedy labels go on from the round before.
PATIENCE, LATER_PATIENCE = 3.0, 0.3

# --- Exact assignment ----------------------------------------------------------------------------

#: Entries of the costs above which prices first tell which groups need a program at all.
CONTESTED_ENTRIES = 10_000
#: Entries of the costs of a tangle of pairs above which it is solved well instead of exactly.
TANGLE_ENTRIES = 20_000
#: Groups of a tangle of pairs up to which it is solved anew at every look at prices.
TANGLE_GROUPS = 60
#: Entries of a program that is not begun in a large problem when an answer is at hand.
PROGRAM_ENTRIES = 100_000
#: Seconds for one program when an answer is at hand, unless it is the last of a problem that is not
#: large.
PROGRAM_PATIENCE = 2.0
#: Labelings of a component of pairs that are tried one by one instead of by a program.
ENUMERATED = 5_000
#: Entries of the costs up to which sizes are one flow, with prices to start from and without.
FLOW_WARM, FLOW_COLD = 4_000, 20_000
#: Rows for each cluster below which sizes without prices are one flow too: a sample would have too
#: few.
FLOW_ROWS_EACH = 40

# --- Backends ------------------------------------------------------------------------------------

#: Rows whose margins give the quantiles of all margins of rows in shards.  More of them make the
#: reach of the prices more exact and send more numbers to this process (gpu.py part c and
#: dask_scale.py fit).
MARGINS = 200_000
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
