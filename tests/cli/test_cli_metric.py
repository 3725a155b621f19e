"""The metric on the command line: distances, the file of a model, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from metrics_of import arcs
from sklearn.metrics.pairwise import cosine_distances

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


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--metric haversine --columns lon,lat", "takes the latitude first"),
        ("--metric haversine --scale standard", "--scale standard changes degrees"),
        ("--metric haversine --missing mean", "--missing mean has no mean of longitudes"),
        ("--metric cosine --prove 1", "lower bounds are known for metric='euclidean' alone"),
        ("--metric manhattan", "'manhattan' is not one of"),
    ],
)
def test_what_has_no_meaning_is_refused(corral, more, message):
    done = corral(*f"{FIT} {more}".split())
    assert done.code == 2
    assert message in done.err
