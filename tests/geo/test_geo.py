"""Frames of GeoPandas as data, and territories as shapes, against shapely and NumPy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from corral import ClusterSizes, Connected, ConstrainedKMeans, ConstrainedKMedoids, audit

geopandas = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")
pytest.importorskip("matplotlib").use("Agg")

from corral import geo  # noqa: E402
from corral.geo.frames import as_points, to_system_of  # noqa: E402
from corral.geo.shapes import cells  # noqa: E402
from corral.plots import plot_map  # noqa: E402

SIDE = 6


@pytest.fixture(scope="module")
def grid():
    """36 squares of a tenth of a degree."""
    x, y = 10 + np.arange(SIDE + 1) / 10, 50 + np.arange(SIDE + 1) / 10
    i, j = np.repeat(np.arange(SIDE), SIDE), np.tile(np.arange(SIDE), SIDE)
    boxes = shapely.box(x[i], y[j], x[i + 1], y[j + 1])
    people = np.random.default_rng(0).integers(1, 9, len(boxes))
    index = [f"z{row}" for row in range(len(boxes))]
    return geopandas.GeoDataFrame({"people": people}, geometry=boxes, crs=4326, index=index)


@pytest.fixture(scope="module")
def towns():
    rng = np.random.default_rng(1)
    return geopandas.GeoSeries.from_xy(*rng.uniform(0, 10_000, (2, 80)), crs=25832)


def test_middles_of_shapes_are_the_coordinates(grid):
    found = geo.coordinates(grid, ["people"])
    assert list(found.columns) == ["latitude", "longitude", "people"]
    assert list(found.index) == list(grid.index)
    middle = shapely.centroid(np.asarray(grid.geometry))
    np.testing.assert_allclose(found["longitude"], shapely.get_x(middle))
    np.testing.assert_allclose(found["latitude"], shapely.get_y(middle))


def test_projected_coordinates_are_metres(grid):
    metres = geo.coordinates(grid.to_crs(25832))
    feet = geo.coordinates(grid.to_crs(2263))  # New York, in feet
    assert list(metres.columns) == ["x", "y"]
    gaps = [np.linalg.norm(np.diff(table.to_numpy()[:2], axis=0)) for table in (metres, feet)]
    assert abs(gaps[0] - 11_120) < 50
    plain = np.linalg.norm(np.diff(shapely.get_coordinates(grid.to_crs(2263).centroid)[:2], axis=0))
    assert abs(gaps[1] / plain - 0.3048) < 1e-4


@pytest.mark.parametrize("kind", [ConstrainedKMeans, ConstrainedKMedoids])
def test_a_frame_is_clustered_as_its_coordinates(grid, kind):
    model = kind(4, metric="haversine", random_state=0).fit(grid)
    plain = kind(4, metric="haversine", random_state=0).fit(geo.coordinates(grid))
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.report_.map is not None
    assert plain.report_.map is None


def test_new_rows_may_be_frames(grid):
    model = ConstrainedKMeans(4, metric="haversine", random_state=0).fit(grid)
    np.testing.assert_array_equal(model.predict(grid), model.predict(geo.coordinates(grid)))
    assert model.transform(grid).shape == (36, 4)
    labels = model.assign(grid, constraints=ClusterSizes(maximum=10))
    found = audit(grid, labels, ClusterSizes(maximum=10), 4, metric="haversine")
    assert found.feasible
    assert found.map is not None


def test_joined_polygons_have_the_area_of_their_rows(grid):
    labels = np.arange(36) // 12
    made = geo.territories(grid, labels, names=["a", "b", "c"])
    assert made["cluster"].tolist() == ["a", "b", "c"]
    assert made["rows"].tolist() == [12, 12, 12]
    assert made.crs == grid.crs
    area = shapely.area(np.asarray(grid.geometry))
    np.testing.assert_allclose(shapely.area(made.geometry), np.bincount(labels, weights=area))
    assert shapely.get_num_geometries(np.asarray(made.geometry)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("degrees", [False, True])
def test_cells_cover_each_place_nearest_to_their_point(towns, degrees):
    shapes = towns.to_crs(4326) if degrees else towns
    points = np.asarray(shapes.geometry)
    places = shapely.get_coordinates(points)
    wide = np.cos(np.radians(places[:, 1].min() / 2 + places[:, 1].max() / 2)) if degrees else 1.0
    found = cells(points, np.zeros(80, int), degrees)
    assert shapely.contains(found, points).all()
    rng = np.random.default_rng(2)
    tried = rng.uniform(places.min(axis=0), places.max(axis=0), (300, 2))
    gaps = np.linalg.norm((tried[:, None] - places) * (wide, 1.0), axis=2)
    for at, nearest in zip(shapely.points(tried), gaps.argmin(axis=1), strict=True):
        inside = np.flatnonzero(shapely.contains(found, at))
        assert set(inside) <= {nearest}


def test_rows_at_one_place_share_a_cell():
    at = geopandas.GeoSeries.from_xy([0, 0, 5], [0, 0, 0], crs=3857)
    made = geo.territories(at, [0, 0, 1], reach=1.0)
    assert (shapely.area(made.geometry) > 0).all()
    assert not shapely.overlaps(*made.geometry)


def test_hulls_hold_their_points(towns):
    labels = np.arange(80) % 4
    made = geo.territories(towns, labels, method="hulls")
    for cluster, hull in enumerate(made.geometry):
        assert shapely.covers(hull, np.asarray(towns)[labels == cluster]).all()
        assert hull.equals(
            shapely.convex_hull(shapely.union_all(np.asarray(towns)[labels == cluster]))
        )


def test_files_hold_what_was_written(grid, tmp_path):
    labels = np.arange(36) // 12
    rows = geo.labelled(grid, labels, names=["a", "b", "c"])
    areas = geo.territories(grid, labels, names=["a", "b", "c"])
    geo.write(tmp_path / "all.gpkg", rows=rows, territories=areas)
    back = geopandas.read_file(tmp_path / "all.gpkg", layer="rows")
    assert back["label"].tolist() == rows["label"].tolist()
    assert back.geometry.geom_equals_exact(grid.geometry.set_axis(back.index), 1e-9).all()
    assert len(geopandas.read_file(tmp_path / "all.gpkg", layer="territories")) == 3
    geo.write(tmp_path / "areas.geojson", territories=areas.to_crs(25832))
    found = geopandas.read_file(tmp_path / "areas.geojson")
    assert found.crs.to_epsg() == 4326
    np.testing.assert_allclose(
        shapely.area(found.geometry), shapely.area(areas.geometry), rtol=1e-6
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.gpkg", "areas.geojson"]


def test_a_fit_on_a_map_of_neighbours(grid, tmp_path):
    rules = [Connected.from_polygons(grid), ClusterSizes(minimum=8)]
    names = ["a", "b", "c", "d"]
    model = ConstrainedKMeans(4, metric="haversine", random_state=0, cluster_names=names)
    model.fit(grid, constraints=rules)
    areas = geo.territories(grid, model.labels_, names=names)
    assert (shapely.get_num_geometries(np.asarray(areas.geometry)) == 1).all()
    page = model.report_.to_html()
    assert "The territories" in page
    assert model.report_.map is not None
    assert pickle.loads(pickle.dumps(model)).report_.to_html() == page


def test_the_map_shows_territories_names_and_a_bar(grid, towns):
    ax = plot_map(grid, np.arange(36) // 12, names=["a", "b", "c"], base=grid.to_crs(3857))
    gids = {artist.get_gid() for artist in ax.get_children()}
    assert {"territory 0", "territory 2", "name 1", "scale bar", "base", "outlines"} <= gids
    assert {text.get_text() for text in ax.texts} >= {"a", "b", "c"}
    (bar,) = (line for line in ax.lines if line.get_gid() == "scale bar")
    ends = bar.get_xydata()
    said = next(text.get_text() for text in ax.texts if text.get_text().endswith("km"))
    # The way on a sphere, by the haversine formula.
    (lon, _), (other, _) = np.radians(ends)
    middle = np.radians(50.3)
    way = 2 * 6371 * np.arcsin(np.cos(middle) * np.sin((other - lon) / 2))
    assert abs(way - float(said.split()[0])) < 0.01 * way
    ax = plot_map(towns, np.arange(80) % 4)
    assert {f"territory {j}" for j in range(4)} <= {each.get_gid() for each in ax.get_children()}


BAD = {
    "an empty shape": (
        lambda g: g.set_geometry([shapely.Polygon(), *g.geometry[1:]]),
        "z0 is empty",
    ),
    "a missing shape": (lambda g: g.set_geometry([*g.geometry[:-1], None]), "z35 is missing"),
    "no degrees": (
        lambda g: g.to_crs(25832).set_crs(4326, allow_override=True),
        "EPSG:4326, which is degrees",
    ),
}


@pytest.mark.parametrize(("make", "said"), BAD.values(), ids=BAD)
def test_bad_shapes(grid, make, said):
    with pytest.raises(ValueError, match=said):
        ConstrainedKMeans(3, metric="haversine").fit(make(grid.copy()))


def test_metrics_that_do_not_fit_the_system(grid):
    with pytest.raises(ValueError, match=r"longitude and latitude \(EPSG:4326\).*'haversine'"):
        ConstrainedKMeans(3).fit(grid)
    with pytest.raises(ValueError, match=r"EPSG:25832, which is no longitude"):
        ConstrainedKMeans(3, metric="haversine").fit(grid.to_crs(25832))


def test_a_frame_without_a_system_is_a_plane(grid):
    with pytest.warns(UserWarning, match="no coordinate reference system"):
        found = as_points(grid.set_crs(None, allow_override=True))
    assert list(found.columns) == ["x", "y"]


def test_systems_are_brought_together_or_named(grid):
    other = to_system_of(grid.to_crs(3857), grid, "the base map")
    assert other.crs == grid.crs
    bare = grid.set_crs(None, allow_override=True)
    with pytest.raises(
        ValueError, match=r"the base map has no coordinate.*the data have EPSG:4326"
    ):
        to_system_of(bare, grid, "the base map")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda g: geo.territories(g, [0, 1]), "2 entries, but the frame has 36 rows"),
        (lambda g: geo.territories(g, np.full(36, -1)), "labels count from 0"),
        (lambda g: geo.territories(g, np.full(36, 0.5)), "one integer a row"),
        (lambda g: geo.territories(g, np.full(36, 2), names=["a", "b"]), "2 names"),
        (lambda g: geo.territories(g, np.zeros(36, int), method="best"), "'best'"),
        (lambda g: geo.territories(g, np.zeros(36, int), reach=0), "above 0"),
        (lambda g: geo.coordinates(g, ["peple"]), r"did you mean 'people'"),
        (lambda g: geo.write("a.shp", rows=g), r"\.geojson or \.gpkg"),
        (lambda g: geo.write("a.geojson", rows=g, more=g), "one layer, not 2"),
    ],
)
def test_bad_calls(grid, call, said):
    with pytest.raises(ValueError, match=said):
        call(grid)


def test_a_map_of_what_has_no_shapes():
    with pytest.raises(TypeError, match="GeoDataFrame or GeoSeries, not list"):
        plot_map([[0.0, 1.0]], [0])


def test_the_studio_knows_the_map_and_the_names(grid):
    from dataclasses import replace

    from corral.studio.data import data_of, drawn_lines, plane_of
    from corral.studio.session import Session
    from corral.studio.state import phrase

    data = replace(data_of(grid, metric="haversine"), clusters=("a", "b", "c"))
    assert data.features == ("latitude", "longitude")
    assert data.number_columns == ("latitude", "longitude", "people")
    plane = plane_of(data, "map", "")
    (low, high), _ = plane.ends(data)
    np.testing.assert_allclose([low, high], np.radians([10.0, 10.6]) * 6_378_137.0)
    assert len(drawn_lines(data, plane, data.map.geometry)) == 36
    session = Session(data, ClusterSizes(minimum={"b": 9}), 3)
    assert phrase(session.document.rules[0], data) == "Minimum cluster sizes 9 in b"
    assert [data.cluster_name(j) for j in range(4)] == ["a", "b", "c", "3"]
