"""The numbers that steer the engine, each with its unit and what changes when it grows.

Those of the search are in :mod:`.search.numbers`.  A number that follows from machine precision, or
from the sizes of the data, is computed where it is used.
"""

from __future__ import annotations

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
#: Number of open groups in the first program; later ones have four times as many.  More make a
#: program slower and a proof likelier.
FIRST_OPEN = 300
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
#: Mean change of a group's box copy in an iteration, sum over the clusters, below which x rests.  A
#: larger number ends settling sooner: 600 rows in 6 clusters need 1.27 times the iterations
#: with 7.5e-5 and 0.85 times with 1.2e-3, and inertia differs by less than 1 %.
AT_REST = 3e-4
#: Number of groups whose costs give the scale of the costs in every iteration.  More of them make
#: the scale less noisy and its computation slower: an iteration on 2,000 x 10, k = 20 takes 0.17 ms
#: with 75, 0.18 ms with 300 and 0.23 ms with all.
SCALE_SAMPLE = 300
