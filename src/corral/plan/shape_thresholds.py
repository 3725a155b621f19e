"""Thresholds of clusters of other shapes, as :mod:`.thresholds` has those of k-means.

Measurements are those of ``benchmarks/shapes.py`` unless they say otherwise.
"""

# --- Descents ------------------------------------------------------------------------------------

#: Rounds of one descent at most; it ends when the objective stops falling, usually after ten.  It
#: is a guard.
DESCENT_ROUNDS = 100
#: Seconds that the integer programs of one round may take.  More seconds make slow rounds slower;
#: any labels that lower the objective are enough for the next one.  Medoids of 150 rows with
#: capacities end the same with 0.125 and with 2.
DESCENT_PATIENCE = 0.5

# --- Gaussian clusters ---------------------------------------------------------------------------

#: Part of the time left that one start by k-means may take.  It only matters where the time limit
#: ends a fit; a larger part leaves less for the descents that follow.
START_SHARE = 0.3
#: Part of the time left that the choice of the covariance may take; the rest is for the fit.  It
#: only matters where the time limit ends a fit.
CHOICE_SHARE = 0.6
#: Parts in which links are held back in turn.  More parts keep more links for each fit, and take as
#: many more fits.  3, 5 and 10 parts: the same ARI on wine, iris and ionosphere, in 0.6, 1 and up
#: to 1.8 times the time; on Hepatitis 35, 35 and 48, two draws.
HELD_BACK_PARTS = 5
#: Links for each part from which those held back choose the covariance; with fewer, BIC does.  Not
#: measured.
HELD_BACK_EACH = 5
#: Restarts of k-means for each start of a fit with links held back, as ``n_init``.  One restart is
#: faster (ionosphere 4 s, not 11 s), but in one of three draws of 20 + 20 links it led to another
#: covariance, with an ARI of 12 in place of 73 (reproduction, table 7).
HELD_BACK_RESTARTS: int | str = "auto"
#: Times that the target of the shrinkage is taken from the answer before.  1, 3 and 6 give the same
#: ARI on wine, iris, ionosphere and Hepatitis; the time does not differ.
TARGET_ROUNDS = 3
#: Part by which the correlations of the target are shrunk.  A larger part makes the clusters of few
#: rows less oblique.  With 0.02, 0.1 and 0.5 the ARI is 100, 100 and 99 on wine, 98 on iris, 79 on
#: ionosphere, and 35, 35 and 42 on Hepatitis, two draws each.
CORRELATION_SHRINKAGE = 0.1
#: Least variance of a feature inside the clusters, as a part of its variance over all rows.  A
#: larger part lets a feature that is constant inside the clusters decide less.  1e-5, 1e-3 and 1e-2
#: give the same ARI on wine, iris, ionosphere and Hepatitis.
LEAST_VARIANCE = 1e-3

# --- Kernels -------------------------------------------------------------------------------------

#: Rows up to which the feature vectors of a kernel are exact.  Above, they are those of a random
#: sample of the rows (Nystroem).  It bounds the memory and the time of the eigendecomposition, 5 s
#: at this number.
EXACT_KERNEL_ROWS = 3_000
#: Seconds that an eigendecomposition takes, for the cube of the rows, about, and the part of the
#: time limit that it may take; it cannot be interrupted.  Measured: 1.8e-10 for 1,000 rows on one
#: core.
EIGEN_SECONDS, EIGEN_SHARE = 2e-10, 0.4
#: Rows of the sample of Nystroem features.  More come nearer to the kernel and take longer.  1,000
#: rows of two moons in four equal clusters have the objective 733.294 with 100 (1.6 s), and 733.293
#: with 500 (2.4 s) and with all (2.5 s).
NYSTROEM_ROWS = 500
#: Part of the trace of the kernel that feature vectors may leave out.  The objective is off by at
#: most that.  A larger part leaves fewer features.  It is a limit on an error.
KERNEL_TAIL = 1e-10
#: Smallest eigenvalue of a kernel, in units of the largest, that counts as a rounding error.  A
#: kernel in single precision has some of -1e-7.
LEAST_EIGENVALUE = -1e-6

# --- Propagated links ----------------------------------------------------------------------------

#: Rows up to which links are propagated.  More need more memory: about five matrices of rows x
#: rows, 0.8 GB each at this number.
PROPAGATED_ROWS = 10_000
