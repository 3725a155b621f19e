"""``corral audit`` and ``corral assign``: what was written is used again.  And Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from corral import ClusterSizes, ConstrainedKMeans, ConstraintSet, SolverTimeoutError, audit

POINTS = ("points.csv", "--id-column", "id", "--columns", "x,y")
RULES = ("--must-link", "ml.csv", "--cannot-link", "cl.csv", "--max-size", "5")
QUICK = ("--n-init", "1", "-q")


@pytest.fixture
def labelled(folder, corral):
    assert corral("fit", *POINTS, "-k", 3, *RULES, "-o", "labels.csv", *QUICK).code == 0
    return folder


def test_labels_of_a_fit_obey_its_rules(labelled, corral, points):
    done = corral("audit", "points.csv", "labels.csv", *POINTS[1:], *RULES)
    assert (done.code, done.err) == (0, "")
    assert "12 points in 3 clusters: every hard rule is obeyed" in done.out


def test_the_order_of_the_labels_does_not_matter(labelled, corral):
    head, *rows = (labelled / "labels.csv").read_text().splitlines()
    (labelled / "turned.csv").write_text("\n".join([head, *rows[::-1]]))
    words = (*POINTS[1:], *RULES, "--json")
    one = corral("audit", "points.csv", "labels.csv", *words)
    assert one.out == corral("audit", "points.csv", "turned.csv", *words).out


def test_a_broken_rule_is_exit_code_1(labelled, corral, points):
    text = (labelled / "labels.csv").read_text()
    label = [int(line.split(",")[1]) for line in text.splitlines()[1:]]
    done = corral("audit", "points.csv", "labels.csv", *POINTS[1:], "--sizes", "10,1,1", "--json")
    assert done.code == 1
    expected = audit(points, label, ClusterSizes([10, 1, 1]), 3)
    assert json.loads(done.out) == expected.to_dict()
    assert not expected.feasible
    quiet = corral("audit", "points.csv", "labels.csv", *POINTS[1:], "--max-size", 1, "-q")
    assert (quiet.code, quiet.out) == (1, "")


def test_labels_without_ids_are_in_the_order_of_the_rows(folder, corral):
    (folder / "plain.csv").write_text("label\n" + "0\n1\n" * 6)
    words = ("points.csv", "plain.csv", "--columns", "x")
    assert "sizes    6 6" in corral("audit", *words).out
    np.save("labels.npy", np.array([[0], [1]] * 6))
    assert corral("audit", "points.csv", "labels.npy", *words[2:], "--label-column", 0).code == 0


BAD_LABELS = {
    "missing id": ("id,label\np0,0\n", "bad.csv has no label for 'p1' of points.csv"),
    "unknown id": ("id,label\np00,0\n", "line 2: 'p00' names no row of points.csv (did you mean"),
    "id twice": ("id,label\np0,0\np0,1\n", "line 3: 'p0' is already in line 2"),
    "no label": ("id,cluster\np0,0\n", "bad.csv has no column 'label'"),
    "no whole number": ("id,label\np0,0.5\n", "line 2, column 'label': 0.5 is not a label"),
    "negative": ("id,label\np0,-1\n", "-1 is not a label"),
    "huge": ("id,label\np0,1e300\n", "1e+300 is not a label"),
    "text": ("id,label\np0,red\n", "'red' is not a finite number"),
    "other ids": ("name,label\np0,0\n", "bad.csv has no column 'id'"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels(folder, corral, case):
    text, expected = BAD_LABELS[case]
    (folder / "bad.csv").write_text(text)
    done = corral("audit", "points.csv", "bad.csv", *POINTS[1:])
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert expected in done.err


@pytest.mark.parametrize("scale", ["none", "standard", "minmax"])
def test_new_rows_go_to_the_nearest_centre_in_the_scale_of_the_fit(folder, corral, scale, points):
    words = ("--scale", scale, "--model", "model.json", "-o", "labels.csv", *QUICK)
    assert corral("fit", *POINTS, "-k", 3, *words).code == 0
    (folder / "new.csv").write_text("name,y,x\nu,0,1\nv,30,60\nw,6,12\n")
    done = corral("assign", "new.csv", "--id-column", "name", "--model", "model.json", "--json")
    assert done.code == 0
    fitted = json.loads((folder / "model.json").read_text())
    middle = {"none": 0, "standard": points.mean(0), "minmax": points.min(0)}[scale]
    width = {"none": 1, "standard": points.std(0), "minmax": np.ptp(points, axis=0)}[scale]
    new = (np.array([[1, 0], [60, 30], [12, 6]]) - middle) / width
    distance = np.linalg.norm(new[:, None] - np.array(fitted["centers"]), axis=2)
    found = json.loads(done.out)["labels"]
    assert [row["id"] for row in found] == ["u", "v", "w"]
    assert [row["label"] for row in found] == distance.argmin(axis=1).tolist()
    np.testing.assert_allclose([row["distance"] for row in found], distance.min(axis=1))


def test_new_rows_obey_rules_of_their_own(folder, corral, labels_of):
    corral("fit", *POINTS, "-k", 3, "--model", "model.json", "-o", "labels.csv", *QUICK)
    model = ("--model", "model.json", "--id-column", "id")
    label = labels_of(corral("assign", "points.csv", *model, *RULES, "--sizes", "5,5,2").out)
    assert label["p0"] == label["p4"]
    assert label["p1"] != label["p2"]
    assert sorted(np.bincount(list(label.values()))) == [2, 5, 5]
    clash = corral("assign", "points.csv", *model, "--max-size", 3, "--json")
    assert clash.code == 3
    assert json.loads(clash.out)["feasible"] is False
    # Fewer rows than clusters are no mistake.
    (folder / "one.csv").write_text("x,y\n1,1\n")
    assert corral("assign", "one.csv", "--model", "model.json", "-o", "one-label.csv").code == 0
    done = corral("audit", "one.csv", "one-label.csv", "-k", 3, "--json")
    assert done.code == 0
    assert sorted(json.loads(done.out)["sizes"]) == [0, 0, 1]


def test_missing_values_of_new_rows_become_the_mean_of_the_fit(folder, corral, points):
    corral("fit", *POINTS, "-k", 1, "--model", "model.json", "-o", "labels.csv")
    (folder / "new.csv").write_text(f"x,y\n,{points[:, 1].mean()}\n")
    done = corral("assign", "new.csv", "--model", "model.json", "--missing", "mean", "--json")
    assert json.loads(done.out)["labels"][0]["distance"] == pytest.approx(0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "model.json is not a JSON file"),
        ("[" * 100_000, "model.json is not a JSON file"),
        ("[]", "model.json is not a model"),
        ('{"format": ["corral model"], "version": 1}', "model.json is not a model"),
        ('{"format": "corral model", "version": 2}', '"version": 1'),
        ('{"format": "corral model", "version": 1}', "model.json is not complete"),
        (
            '{"format": "corral model", "version": 1, "columns": ["x"], "middle": [0],'
            ' "width": [0], "fill": [0], "centers": [[1]]}',
            "model.json is not complete",
        ),
    ],
)
def test_bad_models(folder, corral, text, expected):
    (folder / "model.json").write_text(text)
    done = corral("assign", "points.csv", "--model", "model.json")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert expected in done.err


def test_weights_move_the_centres(folder, corral, points):
    found = json.loads(corral("fit", *POINTS, "-k", 1, "--weight", "demand", "--json").out)
    center = np.average(points, axis=0, weights=np.arange(1, 13))
    np.testing.assert_allclose(found["centers"], [center])


def test_totals_have_two_bounds(folder, corral):
    words = ("--total", "demand:20:32", "--json", *QUICK)
    found = json.loads(corral("fit", *POINTS, "-k", 3, *words).out)
    label = np.array([row["label"] for row in found["labels"]])
    totals = np.bincount(label, weights=np.arange(1, 13))
    assert totals.min() >= 20
    assert totals.max() <= 32


def test_relaxed_rules_are_broken_least(folder, corral):
    words = ("-k", 3, "--max-size", 3, "--on-infeasible", "relax", "--json")
    done = corral("fit", *POINTS, *words)
    found = json.loads(done.out)
    assert (done.code, found["feasible"]) == (0, False)
    assert sum(max(size - 3, 0) for size in found["sizes"]) == 12 - 9


@pytest.mark.parametrize("command", ["fit", "check"])
def test_json_holds_the_conflict(folder, corral, command):
    done = corral(command, *POINTS, "--n-clusters", 3, "--min-size", 5, "--json")
    assert done.code == 3
    found = json.loads(done.out)
    assert found["feasible"] is False
    rules = ConstraintSet(map(ClusterSizes.from_dict, found["conflict"]))
    assert rules == ConstraintSet(ClusterSizes(minimum=5))
    assert found["reason"]


def interrupted(words, n_signals, answer):
    """A fit that is interrupted, and ends as soon as its callback asks for it."""
    plain = ConstrainedKMeans.fit

    def fit(model, X, y=None, *, callback=None, **given):
        for _ in range(n_signals):
            os.kill(os.getpid(), signal.SIGINT)
        if "--keep-best" in words:
            progress = SimpleNamespace(phase="", restart=1, n_restarts=1)
            assert callback(progress) is (n_signals > 0)
        if not answer:
            raise SolverTimeoutError("no answer", 1.0, "none")
        return plain(model, X, y, **given)

    return fit


@pytest.mark.parametrize(
    ("words", "n_signals", "answer", "code", "written"),
    [
        (["--keep-best"], 0, True, 0, True),
        (["--keep-best"], 1, True, 130, True),
        (["--keep-best"], 1, False, 130, False),
        (["--keep-best"], 2, True, 130, False),
        (["--keep-best"], 0, False, 4, False),
        ([], 1, True, 130, False),
    ],
)
def test_interrupted(folder, corral, monkeypatch, words, n_signals, answer, code, written):
    """Ctrl-C keeps the best answer if asked to; the exit code is 130 either way."""
    monkeypatch.setattr(ConstrainedKMeans, "fit", interrupted(words, n_signals, answer))
    before = signal.getsignal(signal.SIGINT)
    done = corral("fit", *POINTS, "-k", 3, *words, "-o", "labels.csv", "--model", "m.json", *QUICK)
    assert done.code == code
    assert signal.getsignal(signal.SIGINT) is before
    assert (folder / "labels.csv").exists() == (folder / "m.json").exists() == written
    assert list(folder.glob(".*")) == []
    if code == 130:
        assert "corral: interrupted" in done.err


def test_interrupted_during_an_import():
    code = (
        "import sys\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'corral.cli.app': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from corral.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "corral: interrupted\n")
