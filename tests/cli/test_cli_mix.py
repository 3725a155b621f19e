"""``corral mix``: groups that are alike, from a class list."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

NAMES = [f"s{row}" for row in range(24)]


@pytest.fixture
def students(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with (tmp_path / "students.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "gender", "class", "maths", "reading"])
        for row, name in enumerate(NAMES):
            writer.writerow([name, "fm"[row % 2], "abc"[row % 3], *rng.integers(0, 21, 2)])
    (tmp_path / "friends.csv").write_text("s0,s1\ns2,s3\n")
    (tmp_path / "rivals.csv").write_text("s0,s2\n")
    return tmp_path


def labels_in(path):
    with path.open() as file:
        return {row["name"]: int(row["label"]) for row in csv.DictReader(file)}


BASE = ("mix", "students.csv", "-k", 4, "--together", "friends.csv", "--apart", "rivals.csv")


def test_groups_obey_friends_and_rivals_and_are_even(students, corral):
    done = corral(*BASE, "-o", "groups.csv", "--report", "groups.html")
    assert done.code == 0
    label = labels_in(students / "groups.csv")
    assert list(label) == NAMES
    assert label["s0"] == label["s1"]
    assert label["s0"] != label["s2"]
    of = np.array(list(label.values()))
    for period in (2, 3):
        counts = np.array([np.bincount(of[np.arange(24) % period == v]) for v in range(period)])
        assert (counts == 6 // period).all()
    assert done.out.startswith("group 0 (6): s")
    assert "mixed groups: every hard rule is obeyed" in done.out
    assert "<li>s0</li>" in (students / "groups.html").read_text()


def test_spread_names_the_columns(students, corral):
    found = json.loads(corral(*BASE, "--spread", "gender", "--json").out)
    assert set(found["balance"]["counts"]) == {"gender"}
    assert found["balance"]["features"] == ["maths", "reading"]
    assert [row["id"] for row in found["labels"]] == NAMES
    only = json.loads(corral(*BASE, "--columns", "gender", "--json").out)
    assert only["balance"]["counts"]["gender"] == {"f": [3, 3, 3, 3], "m": [3, 3, 3, 3]}


def test_a_sheet_for_each_group(students, corral):
    openpyxl = pytest.importorskip("openpyxl")
    assert corral(*BASE, "--keep-columns", "-o", "groups.xlsx").code == 0
    book = openpyxl.load_workbook("groups.xlsx")
    assert book.sheetnames == ["labels", "group 0", "group 1", "group 2", "group 3"]
    head, *rows = book["group 1"].iter_rows(values_only=True)
    assert head == ("name", "gender", "class", "maths", "reading", "label")
    assert len(rows) == 6
    assert {row[-1] for row in rows} == {1}


def test_without_a_column_to_mix_by(students, corral):
    done = corral("mix", "students.csv", "-k", 4, "--spread", "sex")
    assert done.code == 2
    assert "no column 'sex'" in done.err
    assert corral("mix", "students.csv", "-k", 40).code == 2


def test_quiet_prints_the_labels_alone(students, corral):
    done = corral(*BASE, "--quiet")
    assert done.out.splitlines()[0] == "name,label"
    assert len(done.out.splitlines()) == 25
