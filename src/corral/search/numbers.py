"""The numbers that steer the search, each with its unit and what changes when it grows."""

from __future__ import annotations

#: Factor by which the temperature of the soft assignment falls.  Larger: more passes, prices that
#: follow more closely.
COOLING = 0.3
#: Steps of Newton's method at one temperature, at most.
NEWTON_STEPS = 8
#: Mean miss of the bounds, in mean loads, at which prices are good enough at the last temperature,
#: and at those before it.  With 0.1 for the latter up to a third of the passes is saved, but 20,000
#: rows of Zipf populations in 400 clusters end with a miss of 0.1 instead of 0.005.
PRICE_ACCURACY, TRACKED = 5e-3, 0.03
#: Part of the groups that may be undecided at the last temperature, and the least temperature in
#: mean costs.
UNDECIDED, COLDEST = 0.02, 1e-8
#: Rounds of prices, labels and means before single moves begin, at most.
ROUNDS = 8
#: Relative drop of the objective that ends these rounds.
ROUND_DROP = 2e-3
#: Nearest clusters that the groups of a cluster look at.
WIDTH = 16
#: Groups of a full cluster that are tried as partners of one that finds no room there: those that
#: leave it at the least rise.  To mend a broken rule, twice as many members are tried.  With 12 and
#: 48 answers of a part of the grid are the same within noise (0.05 %).
PARTNERS = 24
#: Most groups of a Kempe chain.  Longer chains are rarely worth their length.
LONGEST_CHAIN = 24
#: Most members of a cluster whose medoid follows a move while it is valued.  In larger clusters a
#: move is valued at the present medoid, which is never too low; the medoid follows when it is made.
#: More find more moves and take longer for each.
FOLLOWED = 64
#: Rise at the prices up to which a group without room is worth a swap, in their temperatures.
MARGIN = 2.0
#: Sweeps over the groups in one descent, at most.
SWEEPS = 8
#: First penalty of hard rules, in mean costs of a group, and the factor by which it rises while a
#: rule is broken, and how often it may.
PENALTY, PENALTY_RISE, PENALTY_RISES = 1.0, 4.0, 10
#: Factors by which the first penalty falls after a search that needed no rise, and rises otherwise.
PENALTY_DOWN, PENALTY_UP = 0.95, 1.1
#: Work of a search with effort 1, in numbers read or about nanoseconds: a part that every search
#: has, and a part for each entry of X times the number of clusters.
WORK, WORK_EACH = 2.5e8, 120.0
#: Answers that are kept as parents.
PARENTS = 6
#: Part of the work after which no further start is made.
MAKING = 0.2
#: Children without success that end the search: a number, and one for each cluster.
IDLE, IDLE_EACH = 60, 4
#: How much worse than the best a child may be and still take the place of its parent, at the
#: beginning; it falls to nothing with the budget.
SLACK = 0.005
#: How much above the target the objective may be after rounds, as a part, for moves to follow.
PROMISING = 0.03
#: Part of the local children that give up a cluster and split another; the rest are seeded anew.
RELOCATED = 0.6
#: Clusters of which the one is given up whose groups cost least elsewhere.  More give up cheaper
#: ones, and the same ones more often.
GIVEN_UP = 8
#: Most clusters that a variation seeds anew together.
RESEEDED = 8
#: Part of the children that put a cluster around another group, where centres are groups.  With 0,
#: 0.5 and 0.9 instances of the literature end 0.28, 0.24 and 0.36 % above the best values known.
REPLACED = 0.4
#: Part of the children that cross two parents, for few clusters; it falls with their number.
CROSSED, CROSSED_CLUSTERS = 0.5, 10
#: Groups that ADMM sees, at most; entries of its x, at most, but so many groups for each cluster.
ADMM_GROUPS, ADMM_ENTRIES, ADMM_EACH = 2_000, 40_000, 5
#: Work of an iteration of ADMM for each entry of x.
ADMM_WORK = 8.0
#: Groups of the coarse level, and for each cluster.
COARSE, COARSE_EACH = 5_000, 50
#: Part of the time left that ADMM may take, and k-means++ for seeds, which are drawn at random
#: after it.
ADMM_SHARE, SEED_SHARE = 0.3, 0.3
#: Entries of x up to which ADMM counts broken rules in every iteration.
COUNTED = 1_000_000
#: Groups from which k-means++ draws the seeds.
SEED_ROWS = 50_000
#: Part of a sample up to which all labelled groups are in it.
MOST_PINNED = 0.1
#: Part of the work of a search that the coarse level may do.
COARSE_WORK = 0.5
#: Seconds after which a fit of up to ``TIMED_ROWS`` rows without ``time_limit`` ends with what it
#: has; it grows with the square of the rows above.
FIT_SECONDS, TIMED_ROWS = 17.0, 2_000
#: Entries of a table of costs up to which labels are made exact at the centres at the end.
EXACT = 1 << 22
#: Work between two questions to the deadline: about 0.1 s; and pieces of it that a descent may take
#: when the budget is spent.
PIECE, LAST_PIECES = 1e8, 2
