"""Numbers of the proof: how large, how long, how often."""

#: Groups above which a projection onto the spectral set computes only the leading eigenvectors.
#: An iteration of 600 groups in 10 clusters takes 44 ms with all and 50 ms with some; one of 800
#: takes 89 ms and 76 ms (proof.py thresholds).
LANCZOS_FROM = 700
#: Most cuts that are added in one round, for each group.  More tighten the bound in fewer rounds
#: and make iterations slower.  Iris without rules is closed to 0.1 % in 3.1 s with 1, 1.5 s with 5
#: and 1.3 s with 20 (proof.py thresholds).
CUTS_EACH = 5
#: Entries that one search for violated triangles looks at, about.  More find more of them in each
#: round and take longer.  It is a guard for large matrices: no difference was measured between
#: 300,000 and 30,000,000 for iris and blobs of 210 rows (proof.py thresholds).
CUT_ENTRIES = 30_000_000
#: Most kinds of clusters that each have a matrix of their own.  More tighten the bound under sizes
#: that differ and make iterations slower.  Iris with sizes 25, 50 and 75 has a gap of 8.3 % with
#: one kind and 0.07 % with three, after 2.6 s each (proof.py thresholds).
MOST_KINDS = 8
#: Iterations for the bound of the first node of a tree, at most.  More prove hard problems without
#: branching.  40 points without clusters take 2.6 s with 200 and 3.2 s with 2,000 (proof.py
#: thresholds).
ROOT_ITERATIONS = 2_000
#: Iterations for the bound of each other node, at most.  Fewer make more nodes: 40 points without
#: clusters take 4.4 s with 100, and 3.0 s with 400 and with 1,600 (proof.py thresholds).
NODE_ITERATIONS = 400
#: Evaluations that the gap of a node may still need at the present rate before it is branched on.
#: More make fewer nodes that take longer: 40 points without clusters take 2.8 s with 5 and 3.2 s
#: with 20 (proof.py thresholds).
NODE_PATIENCE = 20
#: Seconds that the matrices of a relaxation take for each pair of groups and kind, about: what
#: cannot be interrupted is not begun without the time for it.  2.5e-8 were measured for 2 features
#: (proof.py thresholds); more features take longer.
SETUP_SECONDS = 1e-7
#: Seconds that the leading eigenvectors by LAPACK take for each cube of the rows, about: 7e-11 for
#: 1,000 rows (proof.py thresholds).
DENSE_SECONDS = 1e-10
#: Groups above which a bound is the sum of the bounds of parts, where the rules allow it, and most
#: groups of a part.  It is a guard: the whole takes minutes above.
PART_GROUPS = 2_000
#: The same on a GPU.
DEVICE_PART_GROUPS = 10_000
#: Least groups of a part for each cluster.  Clusters have means of their own in each part: with 10
#: the gap of wine is 3.3 %, with 20 1.1 %; of breast cancer 3.8 % and 1.1 % (proof.py parts).
PART_LEAST = 10
#: Iterations for each part, at most.  Wine in parts of 60 has a gap of 2.3 % after 50, 1.1 % after
#: 100 and 0.6 % after 200 and more, which the parts cause (proof.py parts).
PART_ITERATIONS = 100
#: Seconds that these iterations take for each pair of groups in a part, about: an iteration of 800
#: groups takes 76 ms (proof.py thresholds).
PART_SECONDS = 1.5e-5
