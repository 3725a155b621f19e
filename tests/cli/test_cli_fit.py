"""``corral fit``: what comes out obeys what went in, in every format."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corral import ClusterSizes, ConstraintSet, MustLink
from corral.search.budget import Budget

BASE = ("fit", "points.csv", "--id-column", "id", "--columns", "x,y")


def test_labels_obey_links_and_sizes(folder, corral, labels_of):
    rules = ("--must-link", "ml.csv", "--cannot-link", "cl.csv", "--sizes", "5,4,3")
    done = corral(*BASE, *rules, "-o", "labels.csv")
    assert done.code == 0
    assert done.err == ""
    assert "every hard rule is obeyed" in done.out
    label = labels_of((folder / "labels.csv").read_text())
    assert list(label) == [f"p{row}" for row in range(12)]
    assert label["p0"] == label["p4"]
    assert label["p1"] != label["p2"]
    assert sorted(np.bincount(list(label.values()))) == [3, 4, 5]


def test_distances_are_to_the_means(folder, corral, points):
    corral(*BASE, "-k", 3, "-o", "labels.npy")
    found = np.load("labels.npy")
    means = np.array([points[found["label"] == j].mean(axis=0) for j in range(3)])
    expected = np.linalg.norm(points - means[found["label"]], axis=1)
    np.testing.assert_allclose(found["distance"], expected)
    assert found["id"].tolist() == [f"p{row}" for row in range(12)]


def test_without_a_file_the_labels_have_the_standard_output(folder, corral, labels_of):
    done = corral(*BASE, "-k", 3)
    assert len(labels_of(done.out)) == 12
    assert "every hard rule is obeyed" in done.err
    quiet = corral(*BASE, "-k", 3, "--quiet")
    assert (quiet.out, quiet.err) == (done.out, "")


def test_jobs_are_spoken_of_once(folder, corral, labels_of):
    plain, quiet = corral(*BASE, "-k", 3, "-q"), corral(*BASE, "-k", 3, "-q", "--jobs", 2)
    assert (quiet.out, quiet.err) == (plain.out, "")
    done = corral(*BASE, "-k", 3, "--jobs", 2)
    assert done.out == plain.out
    assert done.err.count("--jobs is deprecated and has no effect") == 1


def test_every_output_format_holds_the_same(folder, corral, labels_of):
    parquet = pytest.importorskip("pyarrow.parquet")
    for ending in ("csv", "tsv", "npy", "parquet"):
        assert corral(*BASE, "-k", 3, "-o", f"out.{ending}").code == 0
    label = labels_of((folder / "out.csv").read_text())
    assert labels_of((folder / "out.tsv").read_text(), "\t") == label
    array = np.load("out.npy")
    assert dict(zip(array["id"].tolist(), array["label"].tolist(), strict=True)) == label
    table = parquet.read_table("out.parquet").to_pydict()
    assert dict(zip(table["id"], table["label"], strict=True)) == label
    np.testing.assert_allclose(table["distance"], array["distance"])


def test_every_input_format_reads_the_same(folder, corral, points, labels_of):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    np.save("points.npy", points)
    parquet.write_table(pa.table({"x": points[:, 0], "y": points[:, 1]}), "points.parquet")
    lines = [f"{x};{y}" for x, y in points]
    (folder / "semicolons.csv").write_text("x;y\n" + "\n".join(lines) + "\n\n")
    (folder / "bare.csv").write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    (folder / "points.tsv").write_text("x\ty\n" + "\n".join(lines).replace(";", "\t"))
    names = ("points.npy", "points.parquet", "semicolons.csv", "bare.csv", "points.tsv")
    found = [labels_of(corral("fit", name, "-k", 3).out) for name in names]
    assert all(other == found[0] for other in found)
    assert list(found[0]) == [str(row) for row in range(12)]
    named = labels_of(corral(*BASE, "-k", 3).out)
    assert list(named.values()) == list(found[0].values())


def test_the_header_can_be_told(folder, corral):
    (folder / "years.csv").write_text("2019,2020\n1,2\n3,4\n5,6\n")
    assert len(corral("fit", "years.csv", "-k", 1).out.splitlines()) == 1 + 4
    told = corral("fit", "years.csv", "-k", 1, "--header")
    assert len(told.out.splitlines()) == 1 + 3


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scaling_is_fitting_scaled_points(folder, corral, points, scale):
    tall = points * [1.0, 1000.0] + [5.0, -3.0]
    np.save("tall.npy", tall)
    if scale == "standard":
        scaled = (tall - tall.mean(axis=0)) / tall.std(axis=0)
    else:
        scaled = (tall - tall.min(axis=0)) / np.ptp(tall, axis=0)
    np.save("scaled.npy", scaled)
    corral("fit", "tall.npy", "-k", 3, "--scale", scale, "-o", "a.npy")
    corral("fit", "scaled.npy", "-k", 3, "-o", "b.npy")
    ours, theirs = np.load("a.npy"), np.load("b.npy")
    assert ours["label"].tolist() == theirs["label"].tolist()
    np.testing.assert_allclose(ours["distance"], theirs["distance"])


def test_a_constant_column_scales_to_zero(folder, corral):
    np.save("flat.npy", np.column_stack([np.arange(6.0), np.full(6, 7.0)]))
    for scale in ("standard", "minmax"):
        assert corral("fit", "flat.npy", "-k", 2, "--scale", scale).code == 0


def test_capacity_share_and_pins_are_obeyed(folder, corral, labels_of):
    rules = ("--capacity", "demand:30", "--share", "kind:0.4:0.6", "--pin", "known")
    done = corral("fit", "points.csv", "--id-column", "id", "-k", 3, *rules)
    label = np.array(list(labels_of(done.out).values()))
    assert np.bincount(label, weights=np.arange(1, 13)).max() <= 30
    kind = np.arange(12) % 2
    shares = np.bincount(label, weights=kind) / np.bincount(label)
    assert shares.min() >= 0.4
    assert shares.max() <= 0.6
    assert (label[0], label[11]) == (2, 0)


@pytest.mark.parametrize("rule", ["--capacity demand:5", "--total demand:5:6"])
def test_a_contradiction_of_totals_names_the_column(folder, corral, rule):
    done = corral(*BASE, "-k", 3, *rule.split())
    assert done.code == 3
    assert "(cluster totals of 'demand', at most" in done.err


def test_columns_of_rules_are_no_coordinates(folder, corral):
    rules = ("--capacity", "demand:40", "--share", "kind::1", "--pin", "known")
    default = corral("fit", "points.csv", "--id-column", "id", "-k", 3, *rules)
    chosen = corral(*BASE, "-k", 3, *rules)
    assert default.code == 0
    assert default.out == chosen.out


def test_pins_by_name_follow_the_sorted_names(folder, corral, labels_of):
    (folder / "named.csv").write_text("x,known\n0,west\n1,\n10,east\n11,nan\n")
    label = labels_of(corral("fit", "named.csv", "-k", 2, "--pin", "known").out)
    assert list(label.values()) == [1, 1, 0, 0]


def test_bounds_on_sizes(folder, corral, labels_of):
    label = labels_of(corral(*BASE, "-k", 2, "--min-size", 6, "--max-size", 6).out)
    assert np.bincount(list(label.values())).tolist() == [6, 6]


def test_soft_links_have_their_price(folder, corral, labels_of):
    (folder / "far.csv").write_text("p0,p11\n")
    far = (*BASE, "-k", 3, "--must-link", "far.csv")
    cheap = labels_of(corral(*far, "--soft", "0.001").out)
    assert cheap["p0"] != cheap["p11"]
    hard = labels_of(corral(*far).out)
    assert hard["p0"] == hard["p11"]
    # Weights in the file are the user's own and stay.
    (folder / "far.csv").write_text("p0,p11,1e9\n")
    own = labels_of(corral(*far, "--soft", "0.001").out)
    assert own["p0"] == own["p11"]
    (folder / "far.csv").write_text("p0,p11,inf\n")
    own = labels_of(corral(*far, "--soft", "0.001").out)
    assert own["p0"] == own["p11"]


def test_each_column_of_pins_counts(folder, corral, labels_of):
    """Numbers are clusters; a name is the same cluster in all columns of names."""
    (folder / "pins.csv").write_text(
        "id,x,number,first,second\na,0,,red,\nb,1,2,,\nc,2,,,blue\nd,3,,,red\ne,4,,,green\n"
    )
    words = ("fit", "pins.csv", "--id-column", "id", "--columns", "x", "-k", 3)
    every = ("--pin", "number", "--pin", "first", "--pin", "second")
    label = labels_of(corral(*words, *every).out)
    assert label == {"a": 2, "b": 2, "c": 0, "d": 2, "e": 1}
    assert labels_of(corral(*words, *every[4:], *every[:4]).out) == label
    done = corral(*words[:-1], 2, *every[2:])
    assert done.code == 2
    assert "columns 'first', 'second': --pin finds 3 names, but there are 2 clusters" in done.err


@pytest.mark.parametrize("pair", [(0, 11), ("p0", "p11")])
def test_rules_from_json(folder, corral, labels_of, pair):
    ConstraintSet([MustLink([pair]), ClusterSizes([6, 6])]).to_json("set.json")
    label = labels_of(corral(*BASE, "-k", 2, "--constraints", "set.json").out)
    assert label["p0"] == label["p11"]
    assert np.bincount(list(label.values())).tolist() == [6, 6]


def test_json_says_all(folder, corral):
    done = corral(*BASE, "-k", 3, "--must-link", "ml.csv", "--json")
    found = json.loads(done.out)
    assert found["feasible"] is True
    assert sum(found["sizes"]) == len(found["labels"]) == 12
    assert [rule["constraint"] for rule in found["constraints"]] == ["must-link p0-p4"]
    squares = sum(row["distance"] ** 2 for row in found["labels"])
    assert found["inertia"] == pytest.approx(squares)
    shorter = json.loads(corral(*BASE, "-k", 3, "--json", "-o", "labels.csv").out)
    assert "labels" not in shorter
    assert (folder / "labels.csv").exists()


def test_the_same_seed_gives_the_same(folder, corral):
    words = (*BASE, "-k", 4, "--seed", 3, "--n-init", 2)
    assert corral(*words).out == corral(*words).out


def works_of_searches(monkeypatch):
    """A list that the work of each search to come is added to."""
    works, plain = [], Budget.of.__func__

    def noted(*given):
        made = plain(*given)
        works.append(made.work)
        return made

    monkeypatch.setattr(Budget, "of", classmethod(noted))
    return works


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "-k", 2),
        ("fit", "-k", 2, "--method", "gaussian"),
        ("fit", "-k", 2, "--method", "medoids", "--max-size", 8),
        ("fit", "-k", 2, "--method", "kernel"),
        ("choose", "-k", "2,3"),
        ("compare", "-k", 2),
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_the_effort_reaches_the_search(folder, corral, monkeypatch, words):
    command, *others = words
    works = works_of_searches(monkeypatch)
    assert corral(command, "near.csv", "--id-column", "id", *others, "--effort", 0.5).code == 0
    half = [*works]
    works.clear()
    assert corral(command, "near.csv", "--id-column", "id", *others).code == 0
    assert max(works) == pytest.approx(2 * max(half))


def test_report_and_picture(folder, corral):
    pytest.importorskip("matplotlib")
    words = ("--report", "report.html", "--plot", "picture.png", "--quiet", "-o", "labels.csv")
    done = corral(*BASE, "-k", 3, "--must-link", "ml.csv", *words)
    assert (done.code, done.out, done.err) == (0, "", "")
    page = (folder / "report.html").read_text()
    assert "<title>corral: points.csv</title>" in page
    assert "must-link p0-p4" in page
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")
    left = {path.name for path in folder.iterdir()}
    assert left == {
        *("points.csv", "ml.csv", "cl.csv", "near.csv"),
        *("report.html", "picture.png", "labels.csv"),
    }


def test_warnings_are_sentences(folder, corral):
    np.save("same.npy", np.zeros((5, 2)))
    done = corral("fit", "same.npy", "-k", 3)
    assert done.code == 0
    lines = [line for line in done.err.splitlines() if "warning" in line]
    assert all(line.startswith("corral: warning: ") for line in lines)
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "method", [("gaussian", "--covariance", "tied"), ("kernel", "--kernel", "rbf", "--gamma", 0.1)]
)
def test_other_shapes_obey_the_same_rules(folder, corral, points, labels_of, method):
    pytest.importorskip("matplotlib")
    rules = ("--must-link", "ml.csv", "--cannot-link", "cl.csv", "--sizes", "5,4,3")
    files = ("--plot", "p.png", "--keep-columns")
    done = corral(*BASE, "--method", *method, *rules, *files, "-o", "out.npy")
    assert done.code == 0
    assert "every hard rule is obeyed" in done.out
    found = np.load("out.npy")
    label = found["label"]
    assert label[0] == label[4]
    assert label[1] != label[2]
    assert sorted(np.bincount(label)) == [3, 4, 5]
    means = np.array([points[label == j].mean(axis=0) for j in range(3)])
    np.testing.assert_allclose(found["distance"], np.linalg.norm(points - means[label], axis=1))
    assert (folder / "p.png").stat().st_size > 1000
    again = json.loads(corral(*BASE, "--method", *method, *rules, "--json").out)
    assert [row["label"] for row in again["labels"]] == label.tolist()


def test_distances_are_to_the_medoids(folder, corral, points):
    corral(*BASE, "--method", "medoids", "--sizes", "5,4,3", "--n-init", 2, "-o", "out.npy")
    found = np.load("out.npy")
    own = [np.flatnonzero(found["label"] == j) for j in range(3)]
    assert sorted(map(len, own)) == [3, 4, 5]
    for rows in own:
        (medoid, *_) = rows[found["distance"][rows] == 0.0]
        expected = np.linalg.norm(points[rows] - points[medoid], axis=1)
        np.testing.assert_allclose(found["distance"][rows], expected)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gaussian", "--prove", 1), "--prove is not for --method gaussian; it is for --method"),
        (("kernel", "--model", "m.json"), "--model is not for --method kernel"),
        (("kmeans", "--covariance", "full"), "--covariance is not for --method kmeans"),
        (("gaussian", "--gamma", 2), "--gamma is not for --method gaussian"),
        (("kernel", "--gamma", "wide"), "'wide' is neither scale nor a number"),
        (("kernel", "--gamma", -1), "`gamma` is -1.0"),
        (("round",), "'round' is not one of"),
    ],
)
def test_options_of_other_methods_are_refused(folder, corral, words, said):
    done = corral(*BASE, "-k", 2, "--method", *words)
    assert done.code == 2
    assert said in done.err
    assert not (folder / "m.json").exists()


def test_soft_rules_are_priced(folder, corral):
    rules = ("--sizes", "12,0,0", "--soft-sizes", "0.001", "-k", 3, "--json")
    found = json.loads(corral(*BASE, *rules, "-o", "labels.csv").out)
    (rule,) = found["constraints"]
    assert not rule["hard"]
    assert found["feasible"]
    assert rule["soft_cost"] == pytest.approx(0.001 * rule["units"])
    assert rule["units"] > 0


def test_a_price_without_its_rule_is_refused(folder, corral):
    for option in ("--soft-sizes", "--soft-totals", "--soft-shares", "--soft-pins"):
        done = corral(*BASE, "-k", 3, option, 1.0)
        assert done.code == 2
        assert f"{option} is 1, but" in done.err
