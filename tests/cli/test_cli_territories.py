"""Clusters with names and bounds from a file, and labels of an earlier fit."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

READ = ("shops.csv", "--id-column", "shop", "--columns", "lat,lon")
NAMED = (*READ, "--clusters", "reps.csv", "--total", "minutes")


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def shops(tmp_path, monkeypatch):
    """60 shops around three bases, and the table of the reps."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    middles = {"ann": (54.0, 10.0), "bob": (48.0, 11.0), "eve": (51.0, 6.0)}
    lines = ["shop,lat,lon,minutes,account"]
    for row in range(60):
        name = list(middles)[row % 3]
        lat, lon = np.array(middles[name]) + rng.normal(0, 0.8, 2)
        account = "eve" if row in (0, 1) else ""
        lines.append(f"s{row},{lat:.4f},{lon:.4f},{rng.integers(20, 60)},{account}")
    (tmp_path / "shops.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "reps.csv").write_text(
        "Name,minimum,maximum,latitude,longitude,telephone\n"
        "eve,,900,51,6,1\nann,,,54,10,2\nbob,700,,48,11,3\n"
    )
    return tmp_path


def totals_of(folder, labels="labels.csv"):
    minutes = {row["shop"]: float(row["minutes"]) for row in rows_of(folder / "shops.csv")}
    found = dict.fromkeys(("ann", "bob", "eve"), 0.0)
    for row in rows_of(folder / labels):
        found[row["label"]] += minutes[row["shop"]]
    return found


def test_bounds_by_name_from_a_file(shops, corral):
    done = corral("fit", *NAMED, "--metric", "haversine", "-o", "labels.csv", "--report", "r.html")
    assert (done.code, done.err) == (0, "")
    found = totals_of(shops)
    assert found["eve"] <= 900
    assert found["bob"] >= 700
    page = (shops / "r.html").read_text()
    assert page.count("at most 900") == 1
    again = corral("audit", "shops.csv", "labels.csv", *NAMED[1:], "--metric", "haversine")
    assert again.code == 0
    assert "every hard rule is obeyed" in again.out
    assert corral("check", *NAMED).code == 0


def test_bases_give_each_cluster_its_name(shops, corral):
    (shops / "free.csv").write_text("name,lat,lon\neve,51,6\nann,54,10\nbob,48,11\n")
    words = (*READ, "--clusters", "free.csv", "--metric", "haversine", "-q")
    assert corral("fit", *words, "-o", "labels.csv").code == 0
    labels = {row["shop"]: row["label"] for row in rows_of(shops / "labels.csv")}
    assert all(labels[f"s{row}"] == ("ann", "bob", "eve")[row % 3] for row in range(60))


def test_fixed_bases_are_the_centres(shops, corral):
    words = (*NAMED, "--metric", "haversine", "-q", "--json", "--bases", "fix")
    found = json.loads(corral("fit", *words, "-o", "labels.csv").out)
    np.testing.assert_allclose(found["centers"], [[51, 6], [54, 10], [48, 11]])
    assert found["feasible"]
    assert totals_of(shops)["eve"] <= 900


def test_sizes_and_totals_by_heading(shops, corral):
    (shops / "reps.csv").write_text(
        "name,maximum,maximum minutes,min minutes\nann,18,,\nbob,,650,\neve,,,800\n"
    )
    words = (*READ, "--clusters", "reps.csv", "-o", "labels.csv", "-q")
    assert corral("fit", *words).code == 0
    found = totals_of(shops)
    assert found["bob"] <= 650
    assert found["eve"] >= 800
    assert sum(row["label"] == "ann" for row in rows_of(shops / "labels.csv")) <= 18


def test_pins_of_a_column_are_names_of_the_file(shops, corral):
    assert corral("fit", *NAMED, "--pin", "account", "-o", "labels.csv", "-q").code == 0
    labels = {row["shop"]: row["label"] for row in rows_of(shops / "labels.csv")}
    assert labels["s0"] == labels["s1"] == "eve"


def test_a_model_knows_the_names(shops, corral):
    words = (*NAMED, "--metric", "haversine", "-q", "-o", "labels.csv", "--model", "m.json")
    assert corral("fit", *words).code == 0
    (shops / "new.csv").write_text("shop,lat,lon\nn0,47.9,11.1\nn1,54.1,10.2\n")
    done = corral("assign", "new.csv", "--id-column", "shop", "--model", "m.json", "-q")
    assert [line.split(",")[:2] for line in done.out.splitlines()[1:]] == [
        ["n0", "bob"],
        ["n1", "ann"],
    ]


def test_labels_before_and_what_changed(shops, corral):
    assert corral("fit", *NAMED, "-o", "labels.csv", "-q").code == 0
    lines = (shops / "shops.csv").read_text().splitlines()
    gone, lines = lines[-1], lines[:-1]
    (shops / "shops.csv").write_text("\n".join([*lines, "new,48.1,11.1,30,"]) + "\n")
    words = (*NAMED, "--previous", "labels.csv", "--stay", "1000", "--changes", "changes.csv")
    done = corral("fit", *words, "-o", "second.csv")
    assert done.code == 0
    assert "changed  0 of 59 rows moved to another cluster; 1 is new; 1 is gone" in done.out
    assert rows_of(shops / "changes.csv") == [
        {"id": "new", "before": "", "after": "bob", "change": "new"}
    ]
    before = {row["shop"]: row["label"] for row in rows_of(shops / "labels.csv")}
    after = {row["shop"]: row["label"] for row in rows_of(shops / "second.csv")}
    assert before.pop(gone.split(",")[0]) in ("ann", "bob", "eve")
    assert {shop: after[shop] for shop in before} == before


def test_a_rep_that_left_frees_the_rows(shops, corral):
    assert corral("fit", *NAMED, "-o", "labels.csv", "-q").code == 0
    left = sum(row["label"] == "ann" for row in rows_of(shops / "labels.csv"))
    (shops / "reps.csv").write_text("name,minimum,maximum\neve,,\nbob,700,\n")
    done = corral("fit", *NAMED, "--previous", "labels.csv", "--stay", "5", "-o", "second.csv")
    assert done.code == 0
    assert f"does not have: 'ann' ({left} rows); their rows are free" in done.err
    assert f"{left} are new" in done.out


def test_numbers_before_without_names(folder, corral, labels_of):
    words = ("points.csv", "--id-column", "id", "--columns", "x,y", "-k", "3", "-q")
    assert corral("fit", *words, "-o", "labels.csv").code == 0
    turned = labels_of((folder / "labels.csv").read_text())
    lines = [f"{name},{(label + 1) % 3}" for name, label in turned.items()]
    (folder / "turned.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    done = corral("fit", *words, "--previous", "turned.csv")
    assert labels_of(done.out) == {name: (label + 1) % 3 for name, label in turned.items()}


BAD = {
    "no name": ("reps.csv", "nome,max\na,1\n", "has no column 'name'"),
    "a name twice": ("reps.csv", "name\na\nb\na\n", "line 4: 'a' is already in line 2"),
    "a blank name": ("reps.csv", "name,max\na,1\n ,2\n", "line 3: no name"),
    "a misspelt heading": ("reps.csv", "name,maximun\na,1\nb,2\n", "write 'maximum'"),
    "a bound that is no number": ("reps.csv", "name,max\na,x\nb,2\n", "column 'max'"),
    "a minimum above its maximum": ("reps.csv", "name,min,max\na,5,1\nb,2,\n", "above"),
    "no bounds": ("reps.csv", "name\na\nb\n", "no column 'minimum' or 'maximum'"),
    "another label": ("old.csv", "shop,label\ns0,zoe\n", "does not have: 'zoe' (1 row)"),
    "other ids": ("old.csv", "shop,label\nx,eve\n", "no id in the column 'shop'"),
    "an id twice": ("old.csv", "shop,label\ns0,eve\ns0,ann\n", "line 3: the id 's0'"),
    "too few labels": ("old.csv", "label\neve\n", "1 label and no column of ids"),
    "no label column": ("old.csv", "shop,rep\ns0,eve\n", "has no column 'label'"),
}


@pytest.mark.parametrize(("name", "text", "said"), BAD.values(), ids=BAD)
def test_bad_files(shops, corral, name, text, said):
    (shops / name).write_text(text)
    more = ("--previous", "old.csv", "--stay", "1") if name == "old.csv" else ()
    done = corral("fit", *NAMED, *more, "-o", "labels.csv")
    assert said in done.err
    assert done.code == (0 if "does not have" in said else 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-k", "4"), "-k is 4, but reps.csv has 3 clusters"),
        (("--sizes", "30,30"), "--sizes has 2"),
        (("--total", "lat"), "'minutes' and 'lat' without bounds"),
        (("--stay", "3"), "--previous is not given"),
        (("--changes", "c.csv"), "--previous is not given"),
        (("--bases", "fix", "--method", "medoids"), "--bases is for --method kmeans"),
        (("--previous", "shops.csv", "-o", "shops.csv", "--force"), "which is a file that it read"),
    ],
)
def test_options_that_do_not_fit(shops, corral, words, said):
    done = corral("fit", *NAMED, *words)
    assert done.code == 2
    assert said in done.err


def test_bases_need_columns_of_the_table(shops, corral):
    words = ("shops.csv", "--id-column", "shop", "--columns", "minutes", "--clusters", "reps.csv")
    done = corral("fit", *words, "--total", "minutes", "--bases", "start")
    assert (done.code, "no columns 'minutes'" in done.err) == (2, True)


def test_a_total_without_bounds_needs_the_file(shops, corral):
    done = corral("fit", *READ, "-k", "3", "--total", "minutes")
    assert (done.code, "bounds by name in --clusters" in done.err) == (2, True)
