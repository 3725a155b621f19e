"""The metric on the command line: distances, the file of a model, and what is refused."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from metrics_of import arcs
from sklearn.metrics.pairwise import cosine_distances

from corral import ConstrainedKMeans
from corral.active import next_pairs

PLACES = np.array(
    [[60.0, 179.0], [61.0, -179.0], [60.0, -178.0], [1.0, 2.0], [2.0, 3.0], [1.0, 0.0]]
)


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """A folder with a file of places."""
    monkeypatch.chdir(tmp_path)
    lines = ["id,lat,lon", *(f"p{i},{a},{b}" for i, (a, b) in enumerate(PLACES))]
    (tmp_path / "places.csv").write_text("\n".join(lines))


FIT = "fit places.csv --id-column id -k 2 --n-init 1 --json"


@pytest.mark.parametrize("metric", ["cosine", "haversine"])
def test_distances_are_those_of_the_metric(corral, metric):
    done = corral(*f"{FIT} --metric {metric} --sizes 3,3 --model m.json --plot p.png".split())
    assert done.code == 0, done.err
    found = json.loads(done.out)
    between = arcs if metric == "haversine" else cosine_distances
    own = np.array([row["label"] for row in found["labels"]])
    expected = between(PLACES, np.array(found["centers"]))[np.arange(6), own]
    np.testing.assert_allclose([row["distance"] for row in found["labels"]], expected, atol=1e-9)
    assert found["metric"] == metric
    placed = corral("assign", "places.csv", "--id-column", "id", "--model", "m.json", "--json")
    assert placed.code == 0, placed.err
    assert json.loads(placed.out)["labels"] == found["labels"]


def test_the_audit_takes_it(corral):
    corral(*f"{FIT} --metric haversine -o l.csv".split())
    done = corral("audit", "places.csv", "l.csv", "--id-column", "id", "--metric", "haversine")
    assert "square kilometres" in done.out


@pytest.mark.parametrize("metric", ["cosine", "haversine"])
def test_medoids_are_rows_at_the_distances_of_the_metric(corral, metric):
    words = f"{FIT} --method medoids --metric {metric} --sizes 3,3 --plot p.png --report r.html"
    done = corral(*words.split())
    assert done.code == 0, done.err
    found = json.loads(done.out)
    between = arcs if metric == "haversine" else cosine_distances
    own = np.array([row["label"] for row in found["labels"]])
    centers = np.array(found["centers"])
    assert all((center == PLACES).all(axis=1).any() for center in centers)
    expected = between(PLACES, centers)[np.arange(6), own]
    np.testing.assert_allclose([row["distance"] for row in found["labels"]], expected, atol=1e-9)
    assert found["inertia"] == pytest.approx(expected.sum())
    assert found["metric"] == metric


@pytest.mark.parametrize("metric", ["cosine", "haversine"])
def test_compare_never_takes_another_metric(corral, metric):
    words = f"compare places.csv --id-column id -k 2 --max-size 4 --metric {metric} --json"
    done = corral(*words.split())
    assert done.code == 0, done.err
    found = {line["method"]: line for line in json.loads(done.out)}
    able = {name for name, line in found.items() if line["inertia"] is not None}
    assert able == {"corral", "corral, medoids"}
    refused = [line["note"] for name, line in found.items() if name not in able]
    assert set(refused) == {f"takes no metric {metric}"}
    fitted = json.loads(corral(*f"{FIT} --max-size 4 --metric {metric}".split()).out)
    assert found["corral"]["inertia"] == pytest.approx(fitted["inertia"])
    assert found["corral"]["inertia"] <= found["corral, medoids"]["inertia"] * (1.0 + 1e-9)


def test_compare_refuses_rows_without_a_place(corral, tmp_path):
    (tmp_path / "zero.csv").write_text("x,y\n1,2\n0,0\n2,1\n")
    done = corral("compare", "zero.csv", "-k", 2, "--metric", "cosine")
    assert done.code == 2
    assert "row 1 of X is zero" in done.err


@pytest.mark.parametrize("method", ["kmeans", "medoids", "gaussian", "kernel"])
def test_the_rules_say_how_many_clusters(corral, method):
    words = f"fit places.csv --id-column id -k fewest --max-size 2 --method {method} --json"
    done = corral(*words.split())
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["sizes"] == [2, 2, 2]
    assert found["fewest"].startswith("3 is the least number of clusters")
    assert len(found["centers"]) == 3


def test_prices_are_those_of_the_same_number(corral):
    words = "fit places.csv --id-column id -k fewest --max-size 2 --n-init 1 --prices 5 --json"
    found = json.loads(corral(*words.split()).out)
    free = json.loads(corral("fit", "places.csv", "--id-column", "id", "-k", 3, "--json").out)
    assert found["free"]["objective"] == pytest.approx(free["inertia"])


def test_what_no_number_of_clusters_obeys_names_the_ids(corral, tmp_path):
    (tmp_path / "ml.csv").write_text("p0,p1\np1,p2\n")
    words = "fit places.csv --id-column id -k fewest --must-link ml.csv --max-size 2"
    done = corral(*words.split())
    assert done.code == 3
    assert "p0" in done.err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--metric haversine --columns lon,lat", "takes the latitude first"),
        ("--metric haversine --scale standard", "--scale standard changes degrees"),
        ("--metric haversine --missing mean", "--missing mean has no mean of longitudes"),
        ("--metric cosine --prove 1", "lower bounds are known for metric='euclidean' alone"),
        ("--metric manhattan", "'manhattan' is not one of"),
        ("--metric cosine --method kernel", "--metric is not for --method kernel"),
    ],
)
def test_what_has_no_meaning_is_refused(corral, more, message):
    done = corral(*f"{FIT} {more}".split())
    assert done.code == 2
    assert message in done.err


def test_a_number_of_clusters_that_is_none_is_refused(corral):
    done = corral(*FIT.replace("-k 2", "-k few").split())
    assert done.code == 2
    assert "'few' is neither fewest nor an integer of at least 1" in done.err


def test_questions_are_about_places_on_the_ground(corral, monkeypatch):
    """Rows 0 to 2 are neighbours across the date line; in degrees they are far apart."""
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    words = "ask places.csv --id-column id -k 2 -o a.json --strategy margin"
    done = corral(*words.split(), "--metric", "haversine")
    assert done.code == 0, done.err
    model = ConstrainedKMeans(2, metric="haversine", random_state=0).fit(PLACES)
    first = next_pairs(model, PLACES, n=1, strategy="margin").tolist()[0]
    assert all(f"p{row}" in done.out for row in first)
    refused = corral(*words.split(), "--metric", "haversine", "--scale", "standard")
    assert refused.code == 2
    assert "changes degrees" in refused.err


@pytest.mark.parametrize("metric", ["cosine", "haversine"])
def test_questions_do_not_depend_on_how_a_place_is_written(metric):
    """The same places, turned around the axis or of other lengths: the same questions."""
    model = ConstrainedKMeans(2, metric=metric, random_state=0).fit(PLACES)
    if metric == "haversine":
        other = np.column_stack([PLACES[:, 0], (PLACES[:, 1] + 270.0) % 360.0 - 180.0])
    else:
        other = PLACES * np.arange(1.0, 7.0)[:, None]
    asked = [next_pairs(model, X, n=4, strategy="margin").tolist() for X in (PLACES, other)]
    assert asked[0] == asked[1]
