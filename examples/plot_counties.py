"""
Counties of equal area
======================

The counties of some states are joined to connected districts of nearly equal area, and drawn as a
map.  The shapes are those of the package ``bokeh_sampledata``.  All 3,100 counties of the mainland,
in 50 districts, are in ``benchmarks/territories.py``.
"""

# %%
# The counties
# ------------
# Their shapes are in longitude and latitude.  Areas need a projection that keeps them: Albers'
# equal-area conic, EPSG:5070.  Islands would be an error; ``bridge="nearest"`` joins them.

import warnings

import geopandas
import matplotlib.pyplot as plt
import numpy as np
from bokeh_sampledata import us_counties

from corral import ClusterTotals, Connected, ConstrainedKMeans
from corral.geo import coordinates, territories
from corral.plots import plot_map

STATES = ("IA", "MO", "IL")
DISTRICTS = 12
WITHIN = 0.02
GAP = 100.0  # metres

records = [record for state in STATES for record in us_counties.records(state)]
counties = geopandas.GeoDataFrame(records, geometry="geometry", crs=4269)
counties = counties.set_index("fips").to_crs(5070)
area = counties.area.to_numpy() / 1e6
print(f"{len(counties)} counties, {area.sum():,.0f} square kilometres")

# %%
# The rules
# ---------
# Neighbours have a common border.  Some shapes leave gaps of some metres, or overlap, of which
# corral warns: the tolerance closes the gaps, and the warning is left out here.  Each district may
# differ from the mean area by 2 %.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    graph = Connected.from_polygons(counties, tolerance=GAP, bridge="nearest")
mean = area.sum() / DISTRICTS
equal = ClusterTotals(
    area, minimum=(1 - WITHIN) * mean, maximum=(1 + WITHIN) * mean, name="area (km²)"
)
model = ConstrainedKMeans(DISTRICTS, random_state=0)
model.fit(coordinates(counties), constraints=[graph, equal])
districts = np.bincount(model.labels_, weights=area)
print(f"largest difference from the mean: {np.abs(districts / mean - 1).max():.2%}")

# %%
# The map
# -------
# The districts are shapes as well, ready for a file: ``corral.geo.write("districts.gpkg",
# territories=joined)``.

joined = territories(counties, model.labels_, tolerance=GAP)
print(joined.assign(area=(joined.area / 1e6).round())[["cluster", "rows", "area"]])

fig, ax = plt.subplots(figsize=(7.5, 7), layout="constrained")
plot_map(counties, model.labels_, ax=ax)
plt.show()
