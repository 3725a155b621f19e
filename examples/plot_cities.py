"""
Regions of large cities on the globe
====================================

Cities of the world are divided into regions, each with a hub.  Distances are great circles: the
date line is no border, and the centre of a region is a place on the earth.  No region may have many
more people than the mean.
"""

# %%
# The cities
# ----------
# Latitude and longitude in degrees, and people in millions, rounded.

import matplotlib.pyplot as plt
import numpy as np

from corral import ClusterSizes, ClusterTotals, ConstrainedKMeans
from corral.plots import plot_totals

CITIES = {
    "Tokyo": (35.7, 139.7, 37.0),
    "Osaka": (34.7, 135.5, 19.0),
    "Seoul": (37.6, 127.0, 25.0),
    "Beijing": (39.9, 116.4, 22.0),
    "Shanghai": (31.2, 121.5, 29.0),
    "Guangzhou": (23.1, 113.3, 14.0),
    "Taipei": (25.0, 121.6, 7.0),
    "Manila": (14.6, 121.0, 15.0),
    "Jakarta": (-6.2, 106.8, 11.0),
    "Bangkok": (13.8, 100.5, 11.0),
    "Ho Chi Minh City": (10.8, 106.6, 9.0),
    "Singapore": (1.4, 103.8, 6.0),
    "Dhaka": (23.8, 90.4, 23.0),
    "Kolkata": (22.6, 88.4, 15.0),
    "Delhi": (28.6, 77.2, 33.0),
    "Mumbai": (19.1, 72.9, 21.0),
    "Bengaluru": (13.0, 77.6, 14.0),
    "Karachi": (24.9, 67.0, 17.0),
    "Tehran": (35.7, 51.4, 9.5),
    "Baghdad": (33.3, 44.4, 8.0),
    "Riyadh": (24.7, 46.7, 7.7),
    "Istanbul": (41.0, 29.0, 16.0),
    "Cairo": (30.0, 31.2, 22.0),
    "Moscow": (55.8, 37.6, 12.7),
    "London": (51.5, -0.1, 9.7),
    "Paris": (48.9, 2.4, 11.2),
    "Madrid": (40.4, -3.7, 6.8),
    "Lagos": (6.5, 3.4, 16.0),
    "Abidjan": (5.4, -4.0, 5.9),
    "Kinshasa": (-4.4, 15.3, 17.0),
    "Luanda": (-8.8, 13.2, 9.3),
    "Johannesburg": (-26.2, 28.0, 6.2),
    "Nairobi": (-1.3, 36.8, 5.5),
    "Addis Ababa": (9.0, 38.7, 5.7),
    "Khartoum": (15.5, 32.6, 6.5),
    "New York": (40.7, -74.0, 19.0),
    "Los Angeles": (34.1, -118.2, 12.5),
    "Chicago": (41.9, -87.6, 8.9),
    "Toronto": (43.7, -79.4, 6.4),
    "Vancouver": (49.3, -123.1, 2.7),
    "Mexico City": (19.4, -99.1, 22.5),
    "Bogota": (4.7, -74.1, 11.6),
    "Lima": (-12.0, -77.0, 11.2),
    "Santiago": (-33.4, -70.7, 7.0),
    "Buenos Aires": (-34.6, -58.4, 15.6),
    "Sao Paulo": (-23.6, -46.6, 22.8),
    "Rio de Janeiro": (-22.9, -43.2, 13.8),
    "Sydney": (-33.9, 151.2, 5.2),
    "Melbourne": (-37.8, 145.0, 5.3),
    "Auckland": (-36.8, 174.8, 1.7),
    "Suva": (-18.1, 178.4, 0.2),
    "Apia": (-13.8, -171.8, 0.04),
    "Honolulu": (21.3, -157.9, 1.0),
    "Anchorage": (61.2, -149.9, 0.3),
}
K = 8

names = list(CITIES)
places = np.array([CITIES[name][:2] for name in names])
people = np.array([CITIES[name][2] for name in names])

# %%
# The rules
# ---------
# ``metric="haversine"`` takes the latitude first and then the longitude.  Each region has at most
# 40 % more people than the mean, and at least four cities.

rules = [
    ClusterTotals(people, maximum=1.4 * people.sum() / K, name="people"),
    ClusterSizes(minimum=4),
]
model = ConstrainedKMeans(K, metric="haversine", n_init=1, random_state=0)
model.fit(places, constraints=rules)
print(model.report_)

# %%
# Each region with the distance of its farthest city from the hub.

kilometres = model.transform(places)[np.arange(len(names)), model.labels_]
for region, (latitude, longitude) in enumerate(model.cluster_centers_):
    inside = np.flatnonzero(model.labels_ == region)
    largest = ", ".join(names[i] for i in inside[np.argsort(-people[inside])][:3])
    where = f"{abs(latitude):.0f} {'NS'[int(latitude < 0)]}"
    where += f", {abs(longitude):.0f} {'EW'[int(longitude < 0)]}"
    print(f"region {region}: hub {where:12} {kilometres[inside].max():5.0f} km  {largest}, ...")

# %%
# The map
# -------
# Lines are the great circles from the cities to their hubs.  Where the islands of the Pacific
# belong to one region, they cross the date line.

# Colours of Okabe and Ito, safe for colour-blind readers, and grey.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#B8A700", "#777777"]


def great_circle(start, end, steps=60):
    """Latitudes and longitudes on the way, with a gap where the way leaves the map."""
    lat, lon = np.radians([start, end]).T
    a, b = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    angle = np.arccos(np.clip(a @ b, -1.0, 1.0))
    part = np.linspace(0.0, 1.0, steps)[:, None]
    way = (np.sin((1.0 - part) * angle) * a + np.sin(part * angle) * b) / np.sin(angle)
    latitude = np.degrees(np.arcsin(np.clip(way[:, 2], -1.0, 1.0)))
    longitude = np.degrees(np.arctan2(way[:, 1], way[:, 0]))
    latitude[1:][np.abs(np.diff(longitude)) > 180.0] = np.nan
    return latitude, longitude


figure, ax = plt.subplots(figsize=(9.5, 5.0), layout="constrained")
for region, hub in enumerate(model.cluster_centers_):
    inside = model.labels_ == region
    for place in places[inside]:
        latitude, longitude = great_circle(place, hub)
        ax.plot(longitude, latitude, color=COLOURS[region], lw=0.9, alpha=0.6, zorder=1)
    size = 8.0 * people[inside] + 8.0
    ax.scatter(*places[inside].T[::-1], s=size, c=COLOURS[region], ec="white", lw=0.5, zorder=2)
    ax.plot(*hub[::-1], marker="*", ms=11, color=COLOURS[region], mec="black", mew=0.7, zorder=3)
beside = {"Tokyo": (8, 6), "Delhi": (6, 9), "Cairo": (7, -12), "Lagos": (6, 7), "London": (6, 7)}
beside |= {"New York": (6, 7), "Sao Paulo": (6, 7), "Sydney": (-36, 7), "Apia": (4, 4)}
for name, offset in beside.items():
    place = places[names.index(name)][::-1]
    ax.annotate(name, place, offset, textcoords="offset points", fontsize=8, zorder=4)
ax.set(xlim=(-180, 180), ylim=(-60, 75), xlabel="longitude", ylabel="latitude")
ax.set_xticks(range(-180, 181, 60))
ax.set_yticks(range(-60, 61, 30))
ax.set_aspect(1.15)
ax.grid(color="0.9", lw=0.6)
ax.set_axisbelow(True)
ax.set_title("regions, with hubs as stars", loc="left", fontsize=10)

# %%
# The people of each region, with the bound.

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
plot_totals(model.labels_, rules, ax=[ax])
plt.show()
