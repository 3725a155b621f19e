"""What the studio reads and where it draws it: names, gaps, maps, files that are hostile."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import corral
from corral import ConstrainedKMeans, ConstraintSet
from corral.studio.data import (
    COMPONENTS,
    EARTH,
    MAP,
    MOST_COLUMNS,
    MOST_POINTS,
    Data,
    data_of,
    plane_of,
    views_of,
)
from corral.studio.export import python_lines
from corral.studio.fitting import Task, fitted
from corral.studio.state import about, row_values, selection

HOSTILE = "<script>alert(1)</script>"


def read_file(path, *words):
    """What ``corral studio`` reads by these words of the command line."""
    pytest.importorskip("click")
    from corral.cli.options import Options
    from corral.cli.studio import read, studio

    asked = studio.make_context("studio", [str(path), *words]).params
    own = ("seed", "effort", "port", "browser")
    return read(Options(**{k: v for k, v in asked.items() if k not in own}))


def test_missing_numbers_become_means_and_are_told():
    data = data_of([[1.0, np.nan], [3.0, 4.0], [np.inf, 6.0]])
    np.testing.assert_array_equal(data.X, [[1.0, 5.0], [3.0, 4.0], [2.0, 6.0]])
    assert "2 missing or infinite values in 2 columns" in data.told[0]
    with pytest.raises(ValueError, match="no finite number"):
        data_of([[np.nan, 1.0], [np.nan, 2.0]])


def test_data_frames_bring_names_and_groups():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [1, 2, 3], "sex": ["f", "m", "f"]}, index=["ann", "bob", "eve"])
    data = data_of(frame)
    assert data.features == ("x",)
    assert data.names == ("ann", "bob", "eve")
    assert data.group_columns == {"sex": ["f", "m"]}
    assert data.find("eve, Ann").tolist() == [2, 0]
    assert data_of(frame.reset_index(drop=True)).names is None


def test_names_that_differ_only_in_case_are_told_apart():
    data = data_of(np.zeros((6, 1)), ["P1", "p1", "Ann", "twin", "twin", "row 0"])
    for row in (0, 1, 2):
        assert data.find(data.names[row]).tolist() == [row]
    assert data.find("ann, row 3, 4").tolist() == [2, 3, 4]
    assert data.find("row 0").tolist() == [5], "a name comes before a number"
    for text, said in (("twin", "'twin' (row 3), 'twin' (row 4)"), ("TWIN", "'row 3'")):
        with pytest.raises(ValueError, match="can mean 2 rows") as refused:
            data.find(text)
        assert said in str(refused.value)
    folded = data_of(np.zeros((2, 1)), ["ab", "aB"])
    with pytest.raises(ValueError, match="'ab' \\(row 0\\), 'aB' \\(row 1\\)"):
        folded.find("AB")


@pytest.mark.parametrize(
    "names", [[1, "1", "a"], ["a", "a", "a"], ["1 (2)", 1, "1"], ["1", 1, "1 (2)"]]
)
def test_each_column_of_a_frame_stays_whatever_it_is_called(names):
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(5, 3))
    data = data_of(pd.DataFrame(X, columns=pd.Index(names, dtype=object)))
    np.testing.assert_array_equal(data.X, X)
    assert len(set(data.features)) == 3
    for feature, values in zip(data.features, X.T, strict=True):
        np.testing.assert_array_equal(data.columns[feature], values)
    renamed = [place for place in range(3) if data.features[place] != str(names[place])]
    assert renamed
    for place in renamed:
        assert f"column {place} is called {data.features[place]!r}" in data.told[0]


def test_the_page_says_by_which_columns_it_clusters():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [1, 2], "kind": ["a", "b"], "y": [3, 4]})
    assert data_of(frame).using() == "Clustering by 2 of 3 columns: x, y; left out: kind (text)."
    assert data_of(frame[["x", "y"]]).using() == "Clustering by all 2 columns: x, y."
    assert data_of(frame[["x"]]).using() == "Clustering by the only column: x."
    many = data_of(np.zeros((2, 40)))
    assert many.using().startswith("Clustering by all 40 columns: feature 0, feature 1,")
    assert many.using().endswith("and 28 more.")


@pytest.mark.parametrize("X", [[1.0, 2.0], np.zeros((0, 2)), [["a"], ["b"]]])
def test_what_is_no_table_of_numbers_is_refused(X):
    with pytest.raises(ValueError, match=r"shape|convert"):
        data_of(X)


def test_a_number_beyond_floats_is_refused():
    with pytest.raises(ValueError, match="too large"):
        data_of([[10**400], [1]])


@pytest.mark.parametrize("text", ["7", "row 7", "-1", "nobody", "0, nobody", "9" * 5000])
def test_unknown_rows_are_said(text):
    with pytest.raises(ValueError, match="No row is called"):
        data_of(np.zeros((7, 1))).find(text)


def test_many_columns_are_cut_in_the_page_and_clustered_by(tmp_path):
    path = tmp_path / "wide.csv"
    header = ",".join(f"c{j}" for j in range(20_000))
    rows = "\n".join(",".join(str((i * j) % 7) for j in range(20_000)) for i in range(1, 4))
    path.write_text(f"{header}\n{rows}\n", encoding="utf-8")
    data, _, _ = read_file(path)
    assert data.X.shape == (3, 20_000)
    assert len(data.number_columns) == MOST_COLUMNS
    assert "20,000 columns" in data.told[0]
    assert len(about(data)) < 20_000
    assert len(row_values(data, 0)) == MOST_COLUMNS


def test_a_hostile_file_is_read_as_text(tmp_path):
    path = tmp_path / "hostile.csv"
    path.write_text(
        f"name,{HOSTILE},b,nearly,group\n"
        f"{HOSTILE},1,NaN,1,{HOSTILE}\n=cmd(),2,5,2,g\neve,3,7,inf,g\n",
        encoding="utf-8",
    )
    data, _, k = read_file(path)
    assert k == 3
    assert data.names == (HOSTILE, "=cmd()", "eve")
    assert data.features == (HOSTILE, "b")
    assert data.columns["b"].tolist() == [6.0, 5.0, 7.0]
    said = " ".join(data.told)
    assert "Not clustered by 'nearly'" in said
    assert "'inf'" in said
    assert "mean of the column replaces 1 missing value" in said
    values = json.loads(selection(data, np.array([0]), None))
    assert values["names"] == [HOSTILE]
    assert ["b", "6"] in values["row"]


def test_dropping_rows_is_refused_since_rules_count_the_rows_of_the_file(tmp_path):
    click = pytest.importorskip("click")
    path = tmp_path / "points.csv"
    path.write_text("a,b\n1,2\n3,\n", encoding="utf-8")
    with pytest.raises(click.UsageError, match="--missing drop"):
        read_file(path, "--missing", "drop")


def test_places_are_found_by_name_and_range():
    def made(**columns):
        arrays = {name: np.asarray(values, float) for name, values in columns.items()}
        X = np.column_stack(list(arrays.values()))
        return Data("places", X, tuple(arrays), arrays)

    assert made(lat=[47.0, 48.0], lon=[8.0, 9.0]).place == ("lat", "lon")
    assert made(Latitude=[47.0], Longitude=[181.0]).place is None
    assert made(lat=[47.0], other=[8.0]).place is None
    data = made(lat=[47.0, -33.9, 60.0], lng=[8.0, 151.2, -150.0])
    assert views_of(data) == [MAP, COMPONENTS]
    plane = plane_of(data, MAP, "")
    # The inverse of Mercator's projection, by another formula.
    np.testing.assert_allclose(np.degrees(np.arctan(np.sinh(plane.y / EARTH))), data.X[:, 0])
    np.testing.assert_allclose(np.degrees(plane.x / EARTH), data.X[:, 1])


def test_principal_components_are_those_of_the_singular_values():
    X = np.random.default_rng(0).normal(size=(40, 5)) * [5, 3, 1, 1, 1]
    plane = plane_of(data_of(X), COMPONENTS, "")
    left, scale, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    for found, wanted in ((plane.x, left[:, 0] * scale[0]), (plane.y, left[:, 1] * scale[1])):
        np.testing.assert_allclose(np.abs(found), np.abs(wanted), atol=1e-8)
    share = scale**2 / (scale**2).sum()
    assert f"({share[0]:.0%})" in plane.x_name


def test_columns_are_drawn_as_they_are():
    data = data_of(np.arange(12.0).reshape(4, 3))
    plane = plane_of(data, "feature 2", "feature 0")
    np.testing.assert_array_equal(plane.x, data.X[:, 2])
    np.testing.assert_array_equal(plane.y, data.X[:, 0])
    with pytest.raises(ValueError, match="no column"):
        plane_of(data, "feature 2", "nothing")


def test_rows_inside_a_polygon_are_those_that_matplotlib_finds():
    from matplotlib.path import Path as Polygon

    rng = np.random.default_rng(0)
    for corners in (3, 4, 9, 200):
        X, polygon = rng.normal(size=(300, 2)), rng.normal(size=(corners, 2))
        found = plane_of(data_of(X), COMPONENTS, "").inside(*polygon.T)
        np.testing.assert_array_equal(found, np.flatnonzero(Polygon(polygon).contains_points(X)))


def test_a_click_means_the_nearest_row_within_reach():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 2))
    plane = plane_of(data_of(X), COMPONENTS, "")
    for place in rng.normal(size=(40, 2)):
        for reach in ((0.2, 0.2), (0.1, 1.0)):
            far = (((X - place) / reach) ** 2).sum(axis=1)
            expected = [far.argmin()] if far.min() <= 1 else []
            assert plane.nearest(*place, reach).tolist() == expected


def test_of_too_many_rows_a_sample_is_drawn():
    data = data_of(np.zeros((MOST_POINTS + 5, 1)))
    shown = data.shown
    assert len(shown) == len(set(shown.tolist())) == MOST_POINTS
    assert "random sample" in data.told[0]


def test_scripts_of_the_page_fetch_nothing_and_write_no_html():
    page = Path(corral.__file__).parent / "studio" / "page"
    for file in page.iterdir():
        text = file.read_text(encoding="utf-8")
        assert "://" not in text, file
        assert not any(word in text for word in ("innerHTML", "outerHTML", "eval(")), file


CITIES = {
    "height": [400.0, 10.0, 0.0, 5.0],
    "lon": [179.0, -179.0, 2.0, 3.0],
    "lat": [60.0, 61.0, 1.0, 2.0],
}


def test_places_are_compared_on_the_ground_if_that_is_asked_for():
    frame = pd.DataFrame(CITIES)
    data = data_of(frame, metric="haversine")
    assert data.features == ("lat", "lon")
    np.testing.assert_array_equal(data.X, frame[["lat", "lon"]])
    assert "lat, lon, by great-circle distance" in data.using()
    answer = fitted(Task(data, ConstraintSet(), 2))
    own = ConstrainedKMeans(2, metric="haversine", random_state=0).fit(frame[["lat", "lon"]])
    np.testing.assert_array_equal(answer.labels, own.labels_)
    assert answer.inertia == own.inertia_
    assert "metric='haversine'" in python_lines(answer.task)
    # In degrees, the first two are at opposite ends.
    plain = data_of(frame)
    assert "'lat' and 'lon' are compared as plain numbers" in plain.ground
    assert data.ground == ""


def test_other_columns_are_clustered_as_if_they_had_been_given():
    frame = pd.DataFrame({**CITIES, "kind": list("abab")})
    data = data_of(frame)
    for names, metric in ((["height"], "euclidean"), (["height", "lon"], "cosine")):
        own = data_of(frame[names], metric=metric)
        chosen = data.by(names, metric)
        assert (chosen.features, chosen.metric) == (own.features, metric)
        np.testing.assert_array_equal(chosen.X, own.X)
    # Great circles take the places, whatever is chosen, and leave the other columns for rules.
    chosen = data.by(["height"], "haversine")
    assert chosen.features == ("lat", "lon")
    np.testing.assert_array_equal(chosen.X, frame[["lat", "lon"]])
    assert set(chosen.columns) == set(frame)
    assert data.by(data.features, data.metric) is data


@pytest.mark.parametrize("scale", ["none", "standard", "minmax"])
def test_chosen_columns_have_the_scale_of_the_file(tmp_path, scale):
    path = tmp_path / "points.csv"
    frame = pd.DataFrame({"a": [1.0, 5.0, 2.0], "b": [7.0, 7.0, 7.0], "c": [3.0, None, 9.0]})
    frame.to_csv(path, index=False)
    every, _, _ = read_file(path, "--scale", scale)
    some, _, _ = read_file(path, "--scale", scale, "--columns", "b,c")
    np.testing.assert_allclose(every.by(["b", "c"], "euclidean").X, some.X, atol=1e-12)


@pytest.mark.parametrize(
    ("names", "metric", "message"),
    [
        ([], "euclidean", "no column is chosen"),
        (["kind"], "euclidean", "'kind' is no column of numbers"),
        (["height"], "manhattan", "`metric` is 'manhattan'"),
        (["height"], "haversine", "'lat' of row 1 is missing"),
    ],
)
def test_columns_that_cannot_be_clustered_are_refused(names, metric, message):
    frame = pd.DataFrame({**CITIES, "kind": list("abab")})
    frame.loc[1, "lat"] = np.nan
    with pytest.raises(ValueError, match=message):
        data_of(frame).by(names, metric)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.0], "b": [2.0], "c": [3.0]}, "3 columns of numbers, none of them called lat"),
        ({"lat": [1.0, np.nan], "lon": [2.0, 3.0]}, "row 1 of `X` has no place"),
        ({"longitude": [1.0], "y": [2.0]}, "takes the latitude first"),
        ({"a": [91.0], "b": [0.0]}, "row 0 of `X` has"),
    ],
)
def test_what_are_no_places_is_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        data_of(pd.DataFrame(columns), metric="haversine")
    with pytest.raises(ValueError, match="`metric` is 'manhattan'"):
        data_of(pd.DataFrame(columns), metric="manhattan")


def test_the_command_line_finds_the_places(tmp_path):
    path = tmp_path / "cities.csv"
    pd.DataFrame(CITIES).to_csv(path, index=False)
    data, _, _ = read_file(path, "-k", "2", "--metric", "haversine")
    assert data.features == ("lat", "lon")
    assert data.metric == "haversine"
