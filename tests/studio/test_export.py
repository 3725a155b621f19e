"""The Python lines of the studio: named clusters, and clusters that are connected on a map."""

from __future__ import annotations

import numpy as np
import pytest

from corral import Connected
from corral.studio.actions import do
from corral.studio.data import Data, data_of
from corral.studio.session import Session

pd = pytest.importorskip("pandas")
pytest.importorskip("click")


def read_file(path, *words):
    from corral.cli.options import Options
    from corral.cli.studio import read
    from corral.cli.studio import studio as command

    asked = command.make_context("studio", [str(path), *words]).params
    for name in ("seed", "effort", "port", "browser"):
        del asked[name]
    return read(Options(**asked))


def fitted_twice(session):
    """Fit, change the sizes, and fit again, so that numbers are those of the first fit."""
    for action in ({"do": "fit"}, {"do": "sizes", "least": "5"}, {"do": "fit"}):
        do(session, action)
        job = session.job
        if job is not None:
            job.wait()
    assert session.answer is not None, session.message
    return session.answer


def run(session, **space):
    exec(do(session, {"do": "python"}), space)
    return space


def test_clusters_have_their_names_in_the_script():
    X = np.random.default_rng(4).normal(size=(60, 2))
    names = ("north", "south", "east", "west")
    columns = {"a": X[:, 0], "b": X[:, 1]}
    session = Session(Data("points", X, ("a", "b"), columns, clusters=names), n_clusters=4)
    answer = fitted_twice(session)
    made = run(session, X=X)
    np.testing.assert_array_equal(made["labels"], answer.labels)
    assert list(made["model"].named_labels_) == [names[j] for j in answer.labels]


def test_a_short_graph_is_written_out_and_a_long_one_is_in_the_file():
    X = np.random.default_rng(0).normal(size=(30, 2))
    columns = {"a": X[:, 0], "b": X[:, 1]}
    path = Connected([(i, i + 1) for i in range(29)], weight=0.25)
    session = Session(Data("points", X, ("a", "b"), columns), [path], 3)
    answer = fitted_twice(session)
    made = run(session, X=X)
    np.testing.assert_array_equal(made["labels"], answer.labels)
    assert made["rules"][0].to_dict() == {**path.to_dict(), "n_samples": 30}
    long = Session(Data("points", X, ("a", "b"), columns), [Connected.from_points(X)], 3)
    assert 'from_json("rules.json")' in do(long, {"do": "python"})


@pytest.mark.parametrize(
    "words",
    [
        ("--connected",),
        ("--connected=corner", "--border", "0.5"),
        ("--connected=knn", "--bridge"),
        ("--connected", "--columns", "people"),
    ],
)
@pytest.mark.parametrize("degrees", [False, True])
def test_a_graph_of_shapes_is_made_by_one_line(tmp_path, words, degrees):
    geopandas = pytest.importorskip("geopandas")
    shapely = pytest.importorskip("shapely")
    x, y = (1000.0 * each.ravel() for each in np.meshgrid(np.arange(9), np.arange(6)))
    boxes = shapely.box(500_000 + x, 5_600_000 + y, 501_000 + x, 5_601_000 + y)
    people = np.random.default_rng(0).integers(10, 30, 54)
    frame = geopandas.GeoDataFrame({"people": people}, geometry=boxes, crs=25832)
    path = tmp_path / "zones.gpkg"
    (frame.to_crs(4326) if degrees else frame).to_file(path)
    data, rules, k = read_file(path, "-k", "3", *words)
    session = Session(data, rules, k)
    answer = fitted_twice(session)
    text = do(session, {"do": "python"})
    assert "Connected.from_" in text
    space = run(session)
    np.testing.assert_array_equal(space["labels"], answer.labels)
    (graph,) = rules.of_kind(Connected)
    np.testing.assert_array_equal(space["rules"][0].pairs, graph.pairs)
    np.testing.assert_array_equal(space["rules"][0].weight, graph.weight)


def test_a_frame_of_shapes_is_clustered_by_its_other_columns_too():
    geopandas = pytest.importorskip("geopandas")
    rng = np.random.default_rng(2)
    points = geopandas.points_from_xy(*rng.uniform(0, 9000, (2, 40)), crs=25832)
    frame = geopandas.GeoDataFrame({"people": rng.uniform(0, 9, 40)}, geometry=points)
    session = Session(data_of(frame), n_clusters=3)
    for names in (session.data.features, ("people",)):
        do(session, {"do": "by_columns", "columns": list(names), "metric": "euclidean"})
        answer = fitted_twice(session)
        np.testing.assert_array_equal(run(session, X=frame)["labels"], answer.labels)


def test_the_graph_of_places_in_a_file_is_made_by_one_line(tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "shops.csv"
    frame = pd.DataFrame({"lat": rng.uniform(45, 48, 60), "lon": rng.uniform(5, 9, 60)})
    frame.round(4).to_csv(path, index=False)
    for words in ((), ("--metric", "haversine", "--longest", "200")):
        data, rules, k = read_file(path, "-k", "4", "--connected=delaunay", *words)
        session = Session(data, rules, k)
        answer = fitted_twice(session)
        space = run(session)
        np.testing.assert_array_equal(space["labels"], answer.labels)
        np.testing.assert_array_equal(space["rules"][0].pairs, rules.of_kind(Connected)[0].pairs)
