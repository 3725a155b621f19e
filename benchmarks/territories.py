"""Connected clusters: Guerry's departments, US counties, a large grid, and peers.

    python benchmarks/territories.py guerry counties grid peers brute

Parts that need more packages say which (bokeh_sampledata, shapely, spopt, pygeoda, libpysal and
geopandas).  Guerry's data are read from the folder in ``CORRAL_DATA``.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import numpy as np

from corral import ClusterTotals, Connected, ConstrainedKMeans

DATA = Path(os.environ.get("CORRAL_DATA", "../shared/data"))


def shown(name, *values):
    """One line of a table."""
    print("  ".join([f"{name:<34}", *map(str, values)]), flush=True)


def timed(X, k, rules, **options):
    """A fitted model and its seconds; the first fit of a process is made ready outside."""
    begun = time.perf_counter()
    model = ConstrainedKMeans(k, **options).fit(X, constraints=rules)
    return model, time.perf_counter() - begun


# Guerry's departments


def guerry_data():
    """Six variables z-scored, populations in thousands, and pairs of neighbours."""
    table = np.genfromtxt(DATA / "guerry.csv", delimiter=",", names=True, dtype=None, encoding=None)
    columns = table.dtype.names
    X = np.column_stack([table[name] for name in columns[4:]]).astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    pairs = np.genfromtxt(DATA / "guerry_neighbours.csv", delimiter=",", skip_header=1, dtype=int)
    return X, table[columns[3]].astype(float), pairs


def between(X, inertia):
    """Share of the sum of squares that is between clusters."""
    return 1.0 - inertia / float(((X - X.mean(axis=0)) ** 2).sum())


def guerry(seconds=300.0):
    """Against the published shares: k = 5 .4243; population of at least 3,236.67, .4900."""
    X, population, pairs = guerry_data()
    rule = Connected(pairs, n_samples=len(X))
    for seed in range(5):
        model, took = timed(X, 5, rule, random_state=seed)
        shown(f"Guerry, k = 5, seed {seed}", f"{between(X, model.inertia_):.4f}", f"{took:.2f} s")
    for k in (9, 8):
        rules = [rule, ClusterTotals(population, minimum=3236.67)]
        for seed in range(5):
            model, took = timed(X, k, rules, random_state=seed)
            share = f"{between(X, model.inertia_):.4f}"
            shown(f"Guerry, floor, k = {k}, seed {seed}", share, f"{took:.2f} s")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"random_state": 0, "solver": "exact", "time_limit": seconds}
        model, took = timed(X, 5, rule, **options)
    bound = between(X, model.report_.bound)
    share = f"{between(X, model.inertia_):.4f}, at most {bound:.4f}"
    shown("Guerry, k = 5, solver='exact'", share, f"{took:.0f} s")


# US counties


def albers(longitude, latitude):
    """Kilometres in the equal-area conic projection of Albers for the United States."""
    first, second, middle, origin = np.radians([29.5, 45.5, -96.0, 37.5])
    x, y = np.radians(longitude), np.radians(latitude)
    n = (np.sin(first) + np.sin(second)) / 2.0
    c = np.cos(first) ** 2 + 2.0 * n * np.sin(first)
    far, near = np.sqrt(c - 2.0 * n * np.sin(y)) / n, np.sqrt(c - 2.0 * n * np.sin(origin)) / n
    angle = n * (x - middle)
    return 6371.0 * far * np.sin(angle), 6371.0 * (near - far * np.cos(angle))


def county_polygons():
    """The counties but those of Alaska, Hawaii and the islands, as shapely polygons."""
    import shapely
    from bokeh_sampledata.us_counties import data

    far = {"ak", "hi", "pr", "gu", "vi", "mp", "as"}
    shapes = []
    for county in data.values():
        if county["state"] in far:
            continue
        x, y = albers(np.asarray(county["lons"], float), np.asarray(county["lats"], float))
        ends = np.flatnonzero(np.isnan(x))
        parts = zip(np.split(x, ends), np.split(y, ends), strict=True)
        rings = [
            np.column_stack(part)
            for part in parts
        ]
        rings = [ring[~np.isnan(ring[:, 0])] for ring in rings]
        made = shapely.union_all(
            [shapely.make_valid(shapely.Polygon(r)) for r in rings if len(r) > 3]
        )
        if made.geom_type == "GeometryCollection":
            made = shapely.union_all([part for part in made.geoms if "Polygon" in part.geom_type])
        shapes.append(made)
    return np.array(shapes, object)


def counties():
    """50 groups of equal area: within 1 %, and within 0.1 %."""
    import shapely

    shapes = county_polygons()
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        rule = Connected.from_polygons(shapes, tolerance=1.0, bridge="nearest")
    for each in told:
        print("  ", each.message)
    shown(f"{len(shapes)} counties, neighbours", rule, f"{time.perf_counter() - begun:.1f} s")
    area, middle = shapely.area(shapes), shapely.centroid(shapes)
    X = np.column_stack([shapely.get_x(middle), shapely.get_y(middle)])
    mean = area.sum() / 50
    for give, seconds in ((0.01, 60.0), (0.001, 120.0)):
        rules = [rule, ClusterTotals(area, minimum=(1 - give) * mean, maximum=(1 + give) * mean)]
        try:
            model, took = timed(X, 50, rules, random_state=0, time_limit=seconds)
        except Exception as error:
            shown(f"counties, area within {100 * give:g} %", type(error).__name__, str(error)[:200])
            continue
        sums = np.bincount(model.labels_, area, minlength=50)
        off = np.abs(sums / mean - 1.0).max()
        found = f"feasible {model.report_.feasible}, off {100 * off:.3f} %"
        shown(
            f"counties, area within {100 * give:g} %",
            found,
            f"{model.inertia_:.6g}",
            f"{took:.1f} s",
        )


# Grids


def grid(side, holes, seed=0):
    """Places of the cells of a grid with round holes, the pairs of cells that share a side."""
    from scipy import ndimage

    rng = np.random.default_rng(seed)
    keep = np.ones((side, side), bool)
    y, x = np.ogrid[:side, :side]
    for _ in range(holes):
        (a, b), r = rng.integers(0, side, 2), rng.integers(1, max(side // 14, 2))
        keep &= (x - a) ** 2 + (y - b) ** 2 > r * r
    part = ndimage.label(keep)[0]
    keep = part == np.bincount(part[part > 0]).argmax()
    number = np.full(keep.shape, -1)
    number[keep] = np.arange(keep.sum())
    across, along = keep[:, :-1] & keep[:, 1:], keep[:-1] & keep[1:]
    pairs = [
        np.stack([number[:, :-1][across], number[:, 1:][across]], axis=1),
        np.stack([number[:-1][along], number[1:][along]], axis=1),
    ]
    return np.argwhere(keep).astype(float), np.concatenate(pairs), rng


def large_grid():
    """About 20,000 cells in 200 regions whose totals are within 5 %."""
    X, pairs, rng = grid(148, 6)
    for give in (0.05, 0.01):
        values = rng.lognormal(0.0, 0.5, len(X))
        mean = values.sum() / 200
        rules = [
            Connected(pairs, n_samples=len(X)),
            ClusterTotals(values, minimum=(1 - give) * mean, maximum=(1 + give) * mean),
        ]
        model, took = timed(X, 200, rules, random_state=0, time_limit=120.0)
        found = f"feasible {model.report_.feasible}, {model.inertia_:.6g}"
        shown(f"{len(X)} cells, 200 regions, {100 * give:g} %", found, f"{took:.1f} s")
