"""
Regions of France in 1833
=========================

Guerry's moral statistics of 85 departments are a benchmark of regionalisation: five groups of
departments that are alike, each of them connected.  The share of the variance that lies between the
groups says how alike they are.  Here every group is connected, and more rules can be added.
"""

# %%
# The departments
# ---------------
# Six statistics in units of their deviation, and the pairs of departments that touch.  The picture
# needs no shapes: a line joins two neighbours of one group.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from corral import ClusterTotals, Connected, ConstrainedKMeans
from corral.datasets import load_guerry

EFFORT = 1.0

france = load_guerry()
values = (france.data - france.data.mean(axis=0)) / france.data.std(axis=0)
graph = Connected(france.neighbours, n_samples=len(values))
total = np.square(values).sum()


def between(model):
    """The share of the variance that lies between the groups."""
    return 1.0 - model.inertia_ / total


# %%
# Five connected groups
# ---------------------
# The literature has .3763 by SKATER, .4222 by tabu search and .4243 by annealing; five groups that
# need not be connected have .4975.

model = ConstrainedKMeans(5, random_state=0, effort=EFFORT).fit(values, constraints=graph)
print(f"between the groups: {between(model):.4f} of the variance")
print(model.report_)

# %%
# Groups of enough people
# -----------------------
# One rule more: each group has at least 3,236.67 thousand people, so that there can be nine groups.
# Max-p, which asks for as many groups as possible under this rule, has a share of .4900 at best in
# the literature.

people = ClusterTotals(france.population, minimum=3236.67, name="people (thousands)")
larger = ConstrainedKMeans(9, random_state=0, effort=EFFORT)
larger.fit(values, constraints=[graph, people])
loads = np.bincount(larger.labels_, weights=france.population)
print(f"between the groups: {between(larger):.4f}; least population {loads.min():,.0f} thousand")

# %%
# The groups on the map
# ---------------------

figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
titles = (
    f"five groups: {between(model):.4f}",
    f"nine groups with enough people: {between(larger):.4f}",
)
for ax, fitted, title in zip(axes, (model, larger), titles, strict=True):
    labels, places = fitted.labels_, france.places[:, ::-1]
    inside = labels[france.neighbours[:, 0]] == labels[france.neighbours[:, 1]]
    look = {"linewidths": 4.0, "colors": plt.cm.tab10(labels[france.neighbours[inside, 0]])}
    ax.add_collection(LineCollection(places[france.neighbours[inside]], alpha=0.5, **look))
    ax.scatter(*places.T, c=plt.cm.tab10(labels), s=40, edgecolors="white", zorder=3)
    ax.set(title=title, xlabel="longitude", ylabel="latitude")
    ax.set_aspect(1.0 / np.cos(np.radians(46.5)))
plt.show()
