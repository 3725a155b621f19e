"""
Sales territories of named reps
===============================

Customers of fourteen people, each with a base, and with minutes that they have.  A month later
there are new customers, and few of the others should change hands.
"""

# %%
# Customers and reps
# ------------------
# Places are made up, around the bases: latitude and longitude of German towns.

import geopandas
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics.pairwise import haversine_distances

from corral import ClusterTotals, Connected, ConstrainedKMeans, Pin
from corral.plots import plot_map

N_CUSTOMERS = 2_000

bases = {
    **{"Anna": (53.55, 9.99), "Bela": (52.52, 13.40), "Cem": (48.14, 11.58), "Dora": (50.94, 6.96)},
    **{
        "Emil": (50.11, 8.68),
        "Fatma": (48.78, 9.18),
        "Greta": (51.34, 12.37),
        "Hugo": (51.05, 13.74),
    },
    **{"Ida": (52.37, 9.73), "Jan": (49.45, 11.08), "Kaja": (53.08, 8.80), "Leo": (51.51, 7.47)},
    **{"Mila": (54.09, 12.13), "Nils": (48.00, 7.85)},
}
names = list(bases)
rng = np.random.default_rng(0)
home = rng.choice(len(names), N_CUSTOMERS, p=rng.dirichlet(np.full(len(names), 6.0)))
places = np.array(list(bases.values()))[home] + rng.normal(0, (0.45, 0.7), (N_CUSTOMERS, 2))
minutes = rng.integers(20, 90, N_CUSTOMERS)

# %%
# The first fit
# -------------
# Everybody has about the same time, but for Anna, who works half of it.  Territories start at the
# bases, are connected, and the customer nearest to a base is a customer of that rep: so a territory
# is where its base is.


def rules_of(where, minutes, slack):
    """Connected territories around the bases, with the time that everybody has."""
    least = haversine_distances(np.radians(list(bases.values())), np.radians(where)).argmin(axis=1)
    share = slack * minutes.sum() / (len(names) - 0.5)
    maximum = {name: share * (0.5 if name == "Anna" else 1.0) for name in names}
    kilometres = 111.2 * where[:, ::-1] * (np.cos(np.radians(51)), 1.0)
    return [
        ClusterTotals(minutes, maximum=maximum, name="minutes"),
        Connected.from_points(kilometres),
        Pin(dict(zip(least.tolist(), names, strict=True))),
    ]


rules = rules_of(places, minutes, 1.1)
model = ConstrainedKMeans(
    len(names),
    metric="haversine",
    init=np.array(list(bases.values())),
    cluster_names=names,
    random_state=0,
)
model.fit(places, constraints=rules)
for name, has in zip(names, np.bincount(model.labels_, weights=minutes), strict=True):
    print(f"{name:<6} {has:6,.0f} minutes")

# %%
# The next month
# --------------
# Three customers in a hundred are new.  A customer who changes hands costs as much as 500 square
# kilometres, which is the unit of the objective; without ``stay`` many more would move.

count = N_CUSTOMERS * 3 // 100
more = np.array(list(bases.values()))[rng.choice(len(names), count)]
everywhere = np.vstack([places, more + rng.normal(0, (0.45, 0.7), (count, 2))])
time = np.concatenate([minutes, rng.integers(20, 90, count)])
before = np.concatenate([model.labels_, np.full(count, -1)])
later = rules_of(everywhere, time, 1.1)
for stay in (None, 500.0):
    again = ConstrainedKMeans(
        len(names), metric="haversine", cluster_names=names, random_state=0
    ).fit(everywhere, constraints=later, previous=before, stay=stay)
    print(f"stay={stay}: {again.report_.changes}")

# %%
# The map
# -------
# Territories of points are Voronoi's cells.

towns = geopandas.GeoSeries.from_xy(everywhere[:, 1], everywhere[:, 0], crs=4326)
fig, ax = plt.subplots(figsize=(7, 8), layout="constrained")
plot_map(towns, again.labels_, names=names, ax=ax)
plt.show()
