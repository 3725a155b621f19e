"""
Depots and a river: medoids with a distance of one's own
========================================================

150 shops lie on both sides of a river with two bridges.  Five of the shops become depots.  A depot
can serve a limited demand, and what counts is the way to it: over a bridge if it is on the other
side.
"""

# %%
# The shops
# ---------
# The river runs along the horizontal axis.

import matplotlib.pyplot as plt
import numpy as np

from corral import ClusterTotals, ConstrainedKMedoids

K = 5
N_SHOPS = 150
BRIDGES = np.array([[1.0, 0.0], [9.0, 0.0]])

rng = np.random.default_rng(3)
shops = np.column_stack([rng.uniform(0, 10, N_SHOPS), rng.uniform(-1.8, 1.8, N_SHOPS)])
demand = rng.integers(1, 10, N_SHOPS)

# %%
# The distance
# ------------
# A metric of one's own is a function of two rows.  Here it is the length of the shortest way.


def way(a, b):
    """Length of the way from a to b: straight on one side of the river, else over a bridge."""
    if a[1] * b[1] >= 0.0:
        return np.linalg.norm(a - b)
    return min(np.linalg.norm(a - bridge) + np.linalg.norm(bridge - b) for bridge in BRIDGES)


# %%
# The rule
# --------
# No depot serves more than 110 % of the mean demand.  :class:`~corral.ConstrainedKMedoids` finds
# the depots and the shops of each.  It is called twice: with straight lines, and with ways.

rule = ClusterTotals(demand, maximum=1.1 * demand.sum() / K)
straight = ConstrainedKMedoids(K, time_limit=60, random_state=0).fit(shops, constraints=rule)
model = ConstrainedKMedoids(K, metric=way, time_limit=60, random_state=0)
model.fit(shops, constraints=rule)
print(model.report_)

# %%
# Depots that are chosen by straight lines have shops on the other side of the river, and their ways
# are longer.


def length(model):
    """Length of all ways from the shops to their depots."""
    depots = shops[model.medoid_indices_[model.labels_]]
    return sum(way(shop, depot) for shop, depot in zip(shops, depots, strict=True))


# Colours of Okabe and Ito, safe for colour-blind readers.
COLOURS = np.array(["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"])


def draw(ax, model, title):
    """Draw shops in the colour of their depot, with an area that shows the demand."""
    ax.axhline(0.0, color="#A9CCE3", lw=9, zorder=0)
    for bridge in BRIDGES:
        ax.plot(
            bridge[[0, 0]], [-0.28, 0.28], color="#555555", lw=5, solid_capstyle="butt", zorder=1
        )
    depots = shops[model.medoid_indices_]
    colours = COLOURS[np.argsort(np.argsort(depots[:, 0]))]
    ax.scatter(*shops.T, s=8 * demand, c=colours[model.labels_], ec="white", lw=0.4)
    ax.scatter(*depots.T, s=190, c=colours, ec="black", lw=1.4, marker="s", zorder=3)
    ax.set_title(f"{title}: ways of {length(model):.0f} in all", fontsize=11)
    ax.set_aspect("equal")
    ax.set_axis_off()


figure, axes = plt.subplots(2, 1, figsize=(7.5, 6.6), layout="constrained")
draw(axes[0], straight, "depots by straight lines")
draw(axes[1], model, "depots by ways")
plt.show()
