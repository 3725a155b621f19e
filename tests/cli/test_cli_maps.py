"""Files of shapes on the command line: read, connected, and written as territories."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

geopandas = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")


@pytest.fixture
def zones(tmp_path, monkeypatch):
    """A grid of 30 squares, in degrees and in metres."""
    monkeypatch.chdir(tmp_path)
    x, y = (each.ravel() for each in np.meshgrid(np.arange(6), np.arange(5)))
    boxes = shapely.box(
        500_000 + 1000 * x, 5_600_000 + 1000 * y, 501_000 + 1000 * x, 5_601_000 + 1000 * y
    )
    people = np.random.default_rng(0).integers(10, 30, 30)
    frame = geopandas.GeoDataFrame(
        {"zone": [f"z{row}" for row in range(30)], "people": people}, geometry=boxes, crs=25832
    )
    frame.to_file(tmp_path / "zones.gpkg")
    frame.to_crs(4326).to_file(tmp_path / "zones.geojson")
    return frame


@pytest.mark.parametrize("ending", ["geojson", "gpkg"])
def test_zones_to_connected_territories(zones, corral, tmp_path, ending):
    least = int(zones["people"].sum() * 0.29)
    words = ("--connected", "--id-column", "zone", "--total", f"people:{least}:", "-k", "3")
    files = ("-o", f"out.{ending}", "--territories", "areas.gpkg", "--report", "report.html")
    done = corral("fit", f"zones.{ending}", *words, *files, "--plot", "map.png")
    assert (done.code, done.err) == (0, "")
    rows = geopandas.read_file(tmp_path / f"out.{ending}")
    assert list(rows["zone"]) == list(zones["zone"])
    labels = rows["label"].to_numpy()
    assert np.bincount(labels, weights=rows["people"]).min() >= least
    areas = geopandas.read_file(tmp_path / "areas.gpkg", layer="territories")
    wanted = [shapely.union_all(np.asarray(rows.geometry)[labels == j]) for j in range(3)]
    if ending == "gpkg":
        assert all(a.equals(b) for a, b in zip(areas.geometry, wanted, strict=True))
    assert (shapely.get_num_geometries(shapely.make_valid(np.array(wanted))) == 1).all()
    assert "The territories" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "map.png").stat().st_size > 5_000


def test_degrees_are_compared_on_the_ground(zones, corral):
    assert "square kilometres" in corral("fit", "zones.geojson", "-k", "3", "-o", "l.csv").out


def test_points_have_cells(folder, corral, tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"s{i},{50 + a:.4f},{10 + b:.4f}" for i, (a, b) in enumerate(rng.uniform(0, 1, (40, 2)))
    ]
    (tmp_path / "shops.csv").write_text("\n".join(["id,lat,lon", *lines]) + "\n")
    words = ("shops.csv", "--id-column", "id", "--metric", "haversine", "-k", "4", "-q")
    done = corral("fit", *words, "--connected", "--territories", "areas.geojson", "-o", "l.geojson")
    assert (done.code, done.err) == (0, "")
    rows = geopandas.read_file(tmp_path / "l.geojson")
    areas = geopandas.read_file(tmp_path / "areas.geojson")
    for point, label in zip(rows.geometry, rows["label"], strict=True):
        assert areas.geometry[label].buffer(1e-9).contains(point)


def test_pairs_of_a_file_are_neighbours(folder, corral, labels_of):
    pairs = "\n".join(f"p{i},p{i + 1}" for i in range(11))
    (folder / "near.csv").write_text(f"first,second\n{pairs}\n")
    words = ("points.csv", "--id-column", "id", "--columns", "demand,x,y", "-k", "3", "-q")
    done = corral("fit", *words, "--connected", "near.csv")
    found = list(labels_of(done.out).values())
    assert sum(a != b for a, b in itertools.pairwise(found)) == 2


def test_files_that_exist_stay(zones, corral, tmp_path):
    (tmp_path / "areas.gpkg").write_text("mine")
    done = corral("fit", "zones.gpkg", "-k", "2", "--territories", "areas.gpkg", "-o", "l.csv")
    assert (done.code, "exists" in done.err) == (2, True)
    assert (tmp_path / "areas.gpkg").read_text() == "mine"


def test_a_base_map_of_another_system_is_brought_along(zones, corral, tmp_path):
    words = ("zones.gpkg", "-k", "2", "--base-map", "zones.geojson", "-o", "l.csv", "-q")
    assert corral("fit", *words, "--report", "r.html").code == 0


BAD = [
    (("zones.gpkg", "-k", "2", "--connected", "nonsense"), "neither one of edge, corner"),
    (("zones.gpkg", "-k", "2", "--longest", "5"), "without --connected"),
    (("zones.gpkg", "-k", "2", "--connected", "edge", "--longest", "5"), "--longest is for points"),
    (("points.csv", "--columns", "x,y", "-k", "2", "--connected", "edge"), "is for polygons"),
    (("points.csv", "--columns", "x", "-k", "2", "--connected"), "needs two coordinates"),
    (("points.csv", "--columns", "x,y", "-k", "2", "--territories", "a.gpkg"), "has no shapes"),
    (("zones.gpkg", "-k", "2", "--territories", "a.shp"), "must be one of .gpkg, .geojson"),
    (("zones.gpkg", "-k", "2", "--base-map", "points.csv"), "points.csv"),
]


@pytest.mark.parametrize(("words", "said"), BAD)
def test_what_does_not_fit(zones, folder, corral, words, said):
    done = corral("fit", *words)
    assert done.code == 2
    assert said in done.err


def test_an_empty_shape_names_its_row(zones, corral, tmp_path):
    broken = zones.copy()
    broken.loc[3, "geometry"] = shapely.Polygon()
    broken.to_file(tmp_path / "broken.gpkg")
    done = corral("fit", "broken.gpkg", "-k", "2")
    assert done.code == 2
    assert "broken.gpkg: the shape of row 3 is" in done.err
