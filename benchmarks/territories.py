"""Connected clusters: Guerry's departments, US counties, a large grid, and peers.

    python benchmarks/territories.py guerry counties grid peers

Parts that need more packages say which (bokeh_sampledata, shapely, spopt, pygeoda, libpysal and
geopandas).  Guerry's data are read from the folder in ``CORRAL_DATA``.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corral import ClusterTotals, Connected, ConstrainedKMeans

DATA = Path(os.environ.get("CORRAL_DATA", "../shared/data"))


def shown(name, *values):
    """One line of a table."""
    print("  ".join([f"{name:<34}", *map(str, values)]), flush=True)


class Seconds(NamedTuple):
    """Seconds on the wall, and of the processors; others may use the machine besides."""

    wall: float
    processor: float

    @classmethod
    def now(cls):
        return cls(time.perf_counter(), time.process_time())

    def since(self):
        """Seconds since then."""
        return Seconds(*(now - then for now, then in zip(Seconds.now(), self, strict=True)))

    def __str__(self):
        return f"{self.wall:.2f} s ({self.processor:.2f} s of processors)"


def timed(X, k, rules, **options):
    """A fitted model and its seconds; the first fit of a process is made ready outside."""
    begun = Seconds.now()
    model = ConstrainedKMeans(k, **options).fit(X, constraints=rules)
    return model, begun.since()


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
        shown(f"Guerry, k = 5, seed {seed}", f"{between(X, model.inertia_):.4f}", took)
    for k in (9, 8):
        rules = [rule, ClusterTotals(population, minimum=3236.67)]
        for seed in range(5):
            model, took = timed(X, k, rules, random_state=seed)
            share = f"{between(X, model.inertia_):.4f}"
            shown(f"Guerry, floor, k = {k}, seed {seed}", share, took)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"random_state": 0, "solver": "exact", "time_limit": seconds}
        model, took = timed(X, 5, rule, **options)
    bound = between(X, model.report_.bound)
    share = f"{between(X, model.inertia_):.4f}, at most {bound:.4f}"
    shown("Guerry, k = 5, solver='exact'", share, took)


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
        rings = [np.column_stack(part) for part in parts]
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
            shown(f"counties, area within {100 * give:g} %", type(error).__name__, str(error))
            continue
        sums = np.bincount(model.labels_, area, minlength=50)
        off = np.abs(sums / mean - 1.0).max()
        found = f"feasible {model.report_.feasible}, off {100 * off:.3f} %"
        shown(
            f"counties, area within {100 * give:g} %",
            found,
            f"{model.inertia_:.6g}",
            took,
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
        shown(f"{len(X)} cells, 200 regions, {100 * give:g} %", found, took)


# Peers


def examples():
    """Names, z-scored variables and neighbours of libpysal's examples and of grids of cells."""
    import geopandas
    import libpysal

    for name, shapes in (
        ("georgia", "G_utm.shp"),
        ("tokyo", "tokyomet262.shp"),
        ("virginia", "virginia.shp"),
        ("mexico", "mexicojoin.shp"),
    ):
        folder = Path(libpysal.examples.__path__[0]) / name
        frame = geopandas.read_file(folder / shapes)
        numbers = frame.select_dtypes("number")
        numbers = numbers.loc[:, numbers.nunique() > len(frame) // 3].iloc[:, -5:]
        X = numbers.to_numpy(float)
        yield name, (X - X.mean(axis=0)) / X.std(axis=0), frame, (5, 10)
    for side, sizes in ((20, (5, 20)), (50, (20, 50)), (100, (100,))):
        rng = np.random.default_rng(side)
        y, x = np.divmod(np.arange(side * side), side)
        waves = [np.sin(x / a) + np.cos(y / b) for a, b in ((3, 7), (9, 4), (5, 5))]
        X = np.column_stack(waves) + 0.3 * rng.normal(size=(side * side, 3))
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        boxes = geopandas.GeoSeries.from_wkt(
            [
                f"POLYGON (({a} {b}, {a + 1} {b}, {a + 1} {b + 1}, {a} {b + 1}, {a} {b}))"
                for a, b in zip(x, y, strict=True)
            ]
        )
        yield f"grid {side} x {side}", X, geopandas.GeoDataFrame(geometry=boxes), sizes


def peer_methods(X, frame, w, k, small):
    """Labels by the methods of spopt and pygeoda, as pairs of name and function."""
    import geopandas
    from spopt.region import RegionKMeansHeuristic, Skater, WardSpatial

    columns = [f"v{i}" for i in range(X.shape[1])]
    data = geopandas.GeoDataFrame(dict(zip(columns, X.T, strict=True)), geometry=frame.geometry)

    def fitted(kind, *arguments, **options):
        model = kind(*arguments, **options)
        model.solve()
        return np.asarray(model.labels_)

    yield "spopt Ward", lambda: fitted(WardSpatial, data, w, columns, n_clusters=k)
    if small:
        yield "spopt SKATER", lambda: fitted(Skater, data, w, columns, n_clusters=k)
        yield "spopt k-means", lambda: fitted(RegionKMeansHeuristic, X, k, w)
    try:
        import pygeoda
    except ImportError:
        return
    geoda = pygeoda.open(data)
    rook, columns = pygeoda.rook_weights(geoda), [geoda[name] for name in columns]

    def clusters(method, *arguments, **options):
        found = method(k, rook, columns, *arguments, **options)
        return np.asarray(found["Clusters"])

    yield "pygeoda SKATER", lambda: clusters(pygeoda.skater)
    yield "pygeoda REDCAP", lambda: clusters(pygeoda.redcap, "fullorder-wardlinkage")
    yield "pygeoda Ward", lambda: clusters(pygeoda.schc, "ward")
    if small:
        yield "pygeoda AZP", lambda: clusters(pygeoda.azp_greedy)
        yield "pygeoda AZP annealing", lambda: clusters(pygeoda.azp_sa, cooling_rate=0.85)


def peers():
    """The sum of squares within clusters of peers by ours, and their seconds by ours."""
    import libpysal

    for name, X, frame, sizes in examples():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = libpysal.weights.Rook.from_dataframe(frame, use_index=False)
            # Peers do not take several components: the largest.
            inside = w.component_labels == np.bincount(w.component_labels).argmax()
            frame, X = frame[inside].reset_index(drop=True), X[inside]
            w = libpysal.weights.Rook.from_dataframe(frame, use_index=False)
        rule = Connected(w)
        for k in sizes:
            model, took = timed(X, k, rule, random_state=0)
            shown(f"{name}, k = {k}", f"{model.inertia_:.6g}", took)
            for method, solve in peer_methods(X, frame, w, k, len(X) <= 500):
                begun = Seconds.now()
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        labels = np.unique(solve(), return_inverse=True)[1]
                except Exception as error:
                    shown(f"  {method}", type(error).__name__, str(error)[:80])
                    continue
                ratio = f"{begun.since().processor / took.processor:.2f} of our processor time"
                parts = [X[labels == j] for j in range(labels.max() + 1)]
                inertia = sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)
                whole = rule.violations(labels).count == 0
                found = f"{inertia / model.inertia_:.4f} of ours, {len(parts)} groups"
                shown(f"  {method}", found, ratio, f"connected {whole}")


def main():
    """Run the parts that were named."""
    known = {"guerry": guerry, "counties": counties, "grid": large_grid, "peers": peers}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="+", choices=known)
    ConstrainedKMeans(2).fit([[0.0], [1.0], [2.0]], constraints=Connected([(0, 1), (1, 2)]))
    for part in parser.parse_args().part:
        known[part]()


if __name__ == "__main__":
    main()
