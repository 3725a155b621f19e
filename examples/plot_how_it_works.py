r"""
How the solver works, in pictures
=================================

This script draws the pictures of :doc:`/how`: the clusters separate, the assignment is repaired
exactly, and the labels are improved.
"""

# %%
# Graduation: clusters separate at tau = 2 k lambda
# -------------------------------------------------
# With a ridge, the best relaxed assignment of a point to given centres minimises
# ``sum_j x_j B_j + tau/2 |x|^2`` on the simplex.  The solution is the projection of ``-B / tau``.
# Alternate this assignment and the means: while tau is large, all centres are equal; when tau is
# smaller than 2 k lambda, they separate.  Here lambda is the largest eigenvalue of the covariance.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from corral import CannotLink, ClusterSizes, ConstrainedKMeans
from corral.metrics import violations
from corral.plots import plot_clusters

N_SEEDS = 12
BLUE, ORANGE, GREEN, RED, INK = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#333333"

X, _ = make_blobs(300, 2, centers=[(-6, 0), (-2, 1.5), (2, -1.5), (6, 0)], random_state=0)
k = 4
leading, axis = np.linalg.eigh(np.cov(X.T, bias=True))
leading, axis = leading[-1], axis[:, -1]


def to_simplex(v):
    """Project each row on the simplex."""
    u = -np.sort(-v, axis=1)
    excess = (np.cumsum(u, axis=1) - 1) / np.arange(1, v.shape[1] + 1)
    last = np.sum(u > excess, axis=1) - 1
    return np.maximum(v - excess[np.arange(len(v)), last][:, None], 0)


def centres_at(tau, centres):
    """Alternate relaxed assignment and means until the centres stop moving."""
    for _ in range(1000):
        squares = ((X[:, None] - centres) ** 2).sum(axis=2)
        x = to_simplex(-squares / tau)
        means = (x.T @ X) / x.sum(axis=0)[:, None]
        if np.abs(means - centres).max() < 1e-5:
            break
        centres = means
    return centres


ratios = np.geomspace(3.0, 0.02, 80)
rng = np.random.default_rng(0)
centres = rng.normal(scale=3.0, size=(k, 2))
track = []
for ratio in ratios:
    centres = centres_at(ratio * 2 * k * leading, centres + rng.normal(scale=1e-3, size=(k, 2)))
    track.append(centres @ axis)

figure, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
ax.plot(ratios, np.array(track), ".", color=BLUE, ms=6)
ax.axvline(1.0, color=RED, ls="--", lw=1.4)
ax.annotate("tau = 2 k lambda", (1.0, 4.5), (1.12, 4.5), color=RED, va="center", ha="right")
ax.set(
    xscale="log",
    xlim=(ratios[0], ratios[-1]),
    xlabel="tau / (2 k lambda), which falls during the solve",
    ylabel="centres, along the leading axis",
)
ax.spines[["top", "right"]].set_visible(False)

# %%
# The same in the solver.  It starts at 2 k lambda and reduces tau a little in every iteration.
# First the centres separate into two groups along the leading axis.  Then each group separates, and
# the centres move to the four clusters.

# sphinx_gallery_thumbnail_number = 2
model = ConstrainedKMeans(k, n_init=1, random_state=0, record_x=range(1, 1000)).fit(X)
x = model.history_.x
boxed = [np.clip(x[t], 0, 1) for t in sorted(x)]  # the copy of x whose means are the centres
path = np.array([z.T @ X / z.sum(axis=0)[:, None] for z in boxed])

figure, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
ax.scatter(*X.T, s=14, c="#B0B0B0", lw=0)
for j, colour in enumerate((BLUE, ORANGE, GREEN, RED)):
    ax.plot(*path[:, j].T, color=colour, lw=1.6, marker=".", ms=5)
    ax.plot(*path[-1, j], "o", ms=11, mfc="white", mec=colour, mew=2.5)
ax.set_title(f"the centres in {len(path)} iterations", loc="left", fontsize=10, color=INK)
ax.set_aspect("equal")
ax.set_axis_off()

# %%
# Repair
# ------
# Rounding the relaxed assignment can break rules.  The search starts from the centres instead:
# prices of the sizes and moves of single points give labels that obey all rules.

rng = np.random.default_rng(1)
middle = np.flatnonzero(np.abs(X[:, 0]) < 3)
rules = [
    CannotLink(rng.choice(middle, (25, 2), replace=False)),
    ClusterSizes([100, 80, 70, 50]),
]
rounded = ConstrainedKMeans(k, n_init=1, random_state=0, repair=False)
with warnings.catch_warnings():  # without repair, x may not be binary everywhere
    warnings.simplefilter("ignore", ConvergenceWarning)
    rounded.fit(X, constraints=rules)
repaired = ConstrainedKMeans(k, n_init=1, random_state=0).fit(X, constraints=rules)

figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.6), layout="constrained")
for ax, fitted, name in zip(axes, (rounded, repaired), ("rounded", "repaired"), strict=True):
    plot_clusters(X, fitted.labels_, rules, ax=ax)
    ax.get_legend().remove()
    broken = sum(violations(fitted.labels_, rules, k).values())
    sizes = " ".join(map(str, fitted.report_.sizes))
    ax.set_title(f"{name}: {broken} rules broken, sizes {sizes}", loc="left", fontsize=10)
    ax.set_axis_off()

# %%
# Search: the start has little influence
# --------------------------------------
# Moves of single points end in a local optimum.  Then clusters are given up, split and seeded anew,
# and answers are crossed; what lowers the objective is kept.  The picture shows the inertia from
# several seeds, with one start each.

Y, _ = make_blobs(600, 8, centers=12, cluster_std=4.0, random_state=0)
ends = {
    "k-means, random start": [
        KMeans(12, init="random", n_init=1, random_state=seed).fit(Y).inertia_
        for seed in range(N_SEEDS)
    ],
    "k-means, k-means++": [
        KMeans(12, n_init=1, random_state=seed).fit(Y).inertia_ for seed in range(N_SEEDS)
    ],
    "corral, random start": [
        ConstrainedKMeans(12, init="random", n_init=1, random_state=seed).fit(Y).inertia_
        for seed in range(N_SEEDS)
    ],
}
best = min(map(min, ends.values()))
figure, ax = plt.subplots(figsize=(7.5, 2.6), layout="constrained")
for row, values in enumerate(ends.values()):
    gap = 100 * (np.array(values) / best - 1)
    ax.plot(gap, np.full(len(gap), row), "o", color=(ORANGE, GREEN, BLUE)[row], alpha=0.6)
ax.set_yticks(range(len(ends)), ends)
ax.set(ylim=(2.5, -0.5), xlabel="inertia above the best found, per cent")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
