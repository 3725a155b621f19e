"""Every way to go wrong: the exit code, and one readable sentence."""

from __future__ import annotations

import gzip
import subprocess
import sys

import numpy as np
import pytest

from corral import ConstrainedKMeans, ConstraintSet, MustLink, SolverTimeoutError
from corral.cli import MISSING
from corral.deadline import OutOfTime

BASE = ("fit", "points.csv", "--id-column", "id", "--columns", "x,y")

# What is typed after ``fit``, and words of the sentence.
BAD_INPUT = {
    "no such file": (("nowhere.csv", "-k", "3"), "'nowhere.csv' does not exist"),
    "no such option": (("near.csv", "--what"), "No such option"),
    "misspelt option": (("near.csv", "--must-lnk", "ml.csv"), "--must-link"),
    "misspelt column": (
        ("points.csv", "-k", "2", "--columns", "X,Demnd"),
        "no column 'X' (did you mean 'x'?); its columns are id, x, y, demand",
    ),
    "misspelt id": (
        ("near.csv", "-k", "2", "--id-column", "id", "--must-link", "typo.csv"),
        "typo.csv, line 1: 'p00' names no row (did you mean 'p0'?)",
    ),
    "no number of clusters": (("near.csv",), "give -k or --sizes"),
    "k is no number": (("near.csv", "-k", "many"), "'many' is neither fewest"),
    "k too large": (("near.csv", "--id-column", "id", "-k", "13"), "near.csv has 12 rows"),
    "k is zero": (("near.csv", "-k", "0"), "'0' is neither fewest nor an integer of at least 1"),
    "kind of file": (("notes.doc", "-k", "2"), "GeoJSON, GeoPackage and shapefiles can"),
    "empty": (("empty.csv", "-k", "2"), "empty.csv has no rows"),
    "header only": (("header.csv", "-k", "2"), "header.csv has no rows"),
    "ragged": (("ragged.csv", "-k", "2"), "ragged.csv, line 3: 1 cells, but there are 2 columns"),
    "text": (
        ("near.csv", "-k", "2", "--columns", "id"),
        "near.csv, line 2, column 'id': 'p0' is not a finite number; the column holds texts",
    ),
    "gap": (("gap.csv", "-k", "2"), "gap.csv, line 3, column 'y': '' is not a finite number"),
    "infinite": (("inf.csv", "-k", "2"), "inf.csv, line 2, column 'y': 'inf'"),
    "not text": (("latin.csv", "-k", "2"), "latin.csv is not UTF-8 text"),
    "npz as npy": (("several.npy", "-k", "2"), "several.npy is an npz file, of several arrays"),
    "half an npz as npy": (("zip.npy", "-k", "2"), "zip.npy is an npz file"),
    "an array without end": (("endless.npy", "-k", "2"), "endless.npy is not an npy file"),
    "rules of endless rows": (
        ("near.npy", "-k", "2", "--rules", "endless.json"),
        "endless.json: constraints[0]: LinearConstraint cannot be read",
    ),
    "same names": (("twice.csv", "-k", "2"), "two columns 'x'"),
    "no such column": (
        ("near.csv", "-k", "2", "--columns", "x,z"),
        "near.csv has no column 'z'; its columns are id, x, y",
    ),
    "no such id column": (("near.csv", "-k", "2", "--id-column", "name"), "no column 'name'"),
    "same ids": (
        ("double.csv", "-k", "2", "--id-column", "id"),
        "double.csv, line 3: the id 'a' is already in line 2",
    ),
    "no columns": (("only.csv", "-k", "2", "--id-column", "id"), "no column left to cluster by"),
    "a vector": (("vector.npy", "-k", "2"), "float64 of shape (3,)"),
    "no npy": (("broken.npy", "-k", "2"), "broken.npy is not an npy file of numbers"),
    "no parquet": (("broken.parquet", "-k", "2"), "broken.parquet is not a Parquet file"),
    "sizes": (("near.csv", "--sizes", "4,x"), "'4,x' is not a list of integers such as 59,71,48"),
    "sizes and k": (("near.npy", "-k", "3", "--sizes", "6,6"), "--sizes has 2 sizes, but -k is 3"),
    "seeds": (("near.npy", "-k", "2", "--n-init", "0"), "neither auto nor an integer"),
    "scale": (("near.npy", "-k", "2", "--scale", "log"), "'log' is not one of"),
    "soft": (("near.npy", "-k", "2", "--soft", "0"), "x>0"),
    "capacity without number": (
        ("near.npy", "-k", "2", "--capacity", "0"),
        "--capacity is '0'; it must be COLUMN:MAX",
    ),
    "capacity not a number": (
        ("near.npy", "-k", "2", "--capacity", "0:much", "--columns", "1"),
        "'much' is not a number",
    ),
    "total form": (("near.npy", "-k", "2", "--total", "0:5"), "it must be COLUMN:MIN:MAX"),
    "total without bound": (("near.npy", "-k", "2", "--total", "0::"), "give MIN, MAX or both"),
    "total upside down": (
        ("near.npy", "-k", "2", "--total", "0:5:3"),
        "minimum is 5, above maximum, which is 3",
    ),
    "weight of no column": (("near.npy", "-k", "2", "--weight", "z"), "has no column 'z'"),
    "weight below zero": (("minus.csv", "-k", "2", "--weight", "w"), "sample_weight"),
    "no values": (("blank.csv", "-k", "2", "--missing", "drop"), "each row lacks a value"),
    "no mean": (("blank.csv", "-k", "2", "--missing", "mean"), "column 'y' has no value"),
    "half a gzip file": (("half.csv.gz", "-k", "2"), "half.csv.gz is not a complete gzip file"),
    "no sheet": (("broken.xlsx", "-k", "2"), "broken.xlsx cannot be read as an Excel file"),
    "overwrite the points": (
        ("near.csv", "-k", "2", "--id-column", "id", "-o", "near.csv", "--force"),
        "--output is 'near.csv', which is a file that it reads",
    ),
    "overwrite the pairs": (
        ("near.csv", "-k", "2", "--id-column", "id", "--must-link", "ml.csv", "-o", "./ml.csv"),
        "--output is './ml.csv', which is a file that it reads",
    ),
    "overwrite another": (
        ("near.csv", "-k", "2", "--id-column", "id", "-o", "cl.csv"),
        "--output is 'cl.csv', which exists; give another name, or --force",
    ),
    "a column of labels": (
        ("labels.csv", "-k", "2", "--columns", "x", "--keep-columns"),
        "cannot be written after a column 'label'",
    ),
    "rules of numbers too large": (
        ("near.npy", "-k", "2", "--rules", "large.json"),
        "large.json: constraints[0]: LinearConstraint cannot be read",
    ),
    "share form": (("near.npy", "-k", "2", "--share", "0:0.5"), "it must be COLUMN:MIN:MAX"),
    "share too large": (
        ("points.csv", "-k", "2", "--columns", "x", "--share", "kind:2:"),
        "a share must lie in [0, 1]",
    ),
    "share with gaps": (
        ("points.csv", "-k", "2", "--columns", "x", "--share", "known:0:1"),
        "points.csv, line 3, column 'known': no group",
    ),
    "pin out of range": (
        ("points.csv", "-k", "2", "--columns", "x", "--pin", "known"),
        "clusters must lie in [0, 1]",
    ),
    "unknown id in pairs": (
        ("near.csv", "-k", "2", "--id-column", "id", "--must-link", "strange.csv"),
        "strange.csv, line 2: 'zoe' names no row; the rows are 'p0', 'p1'",
    ),
    "unknown ids on the first line": (
        ("near.csv", "-k", "2", "--id-column", "id", "--cannot-link", "strangers.csv"),
        "strangers.csv, line 1: 'zoe' names no row",
    ),
    "pairs of ids without ids": (
        ("near.npy", "-k", "2", "--must-link", "ids.csv"),
        "ids.csv, line 1: 'p0' is not the number of a row",
    ),
    "a pair of one": (
        ("near.npy", "-k", "2", "--must-link", "self.csv"),
        "self.csv, line 1: 3 is paired with itself",
    ),
    "weight in pairs": (
        ("near.npy", "-k", "2", "--must-link", "dear.csv"),
        "dear.csv, line 1: weight 'dear' is not a number",
    ),
    "no such pairs": (("near.npy", "-k", "2", "--must-link", "no.csv"), "'no.csv' does not exist"),
    "no such set": (("near.npy", "-k", "2", "--constraints", "no.json"), "does not exist"),
    "row out of range": (
        ("near.npy", "-k", "2", "--cannot-link", "far.csv"),
        "indices must lie in [0, 11]",
    ),
    "no JSON": (("near.npy", "-k", "2", "--constraints", "ml.csv"), "ml.csv is not a JSON file"),
    "other JSON": (
        ("near.npy", "-k", "2", "--constraints", "list.json"),
        "list.json: not a file of constraints",
    ),
    "JSON of an unknown kind": (
        ("near.npy", "-k", "2", "--constraints", "magic.json"),
        "magic.json: constraints[0]: kind is 'Magic'; it must be one of CannotLink",
    ),
    "deep JSON": (
        ("near.npy", "-k", "2", "--constraints", "deep.json"),
        "deep.json: lists or objects are nested too deep",
    ),
    "constraints of other data": (
        ("near.npy", "-k", "2", "--constraints", "set.json"),
        "must_link pair 0 is (0, 99), but X has 12 samples",
    ),
    "size below zero": (("near.npy", "--sizes", "-1,13"), "sizes[0] is -1"),
    "least above largest": (
        ("near.npy", "-k", "2", "--min-size", "7", "--max-size", "5"),
        "minimum is 7, above maximum, which is 5",
    ),
    "least size below zero": (("near.npy", "-k", "2", "--min-size", "-1"), "x>=0"),
    "jobs": (("near.npy", "-k", "2", "--jobs", "0"), "leave --jobs out"),
    "seed": (("near.npy", "-k", "2", "--seed", "-1"), "0<=x<=4294967295"),
    "time limit": (("near.npy", "-k", "2", "--time-limit", "0"), "x>0"),
    "effort": (("near.npy", "-k", "2", "--effort", "0"), "x>0"),
    "soft without pairs": (("near.npy", "-k", "2", "--soft", "1"), "--soft is the weight of pairs"),
    "capacity NaN": (
        ("near.npy", "-k", "2", "--capacity", "0:nan"),
        "--capacity is '0:nan', but 'nan' is not a number",
    ),
    "capacity of no column": (("near.npy", "-k", "2", "--capacity", "z:3"), "has no column 'z'"),
    "share of no column": (("near.npy", "-k", "2", "--share", "z:0:1"), "has no column 'z'"),
    "share not a number": (
        ("near.npy", "-k", "2", "--share", "0:few:", "--columns", "1"),
        "--share is '0:few:', but 'few' is not a number",
    ),
    "share upside down": (
        ("points.csv", "-k", "2", "--columns", "x", "--share", "kind:0.9:0.1"),
        "minimum of group 'a' is 0.9, above its maximum",
    ),
    "pin of no column": (("near.npy", "-k", "2", "--pin", "z"), "has no column 'z'"),
    "too many names to pin": (
        ("points.csv", "-k", "2", "--columns", "x", "--pin", "id"),
        "points.csv, column 'id': --pin finds 12 names, but there are 2 clusters",
    ),
    "an open quote": (("quote.csv", "-k", "2"), "quote.csv, line 2: 1 cells"),
    "same names in parquet": (("same.parquet", "-k", "2"), "two columns 'x'"),
    "folder": (
        ("near.npy", "-k", "2", "-o", "nowhere/labels.csv"),
        "'nowhere' is no folder",
    ),
    "output is a folder": (("near.npy", "-k", "2", "-o", "folder.csv"), "which is a folder"),
    "output kind": (("near.npy", "-k", "2", "-o", "labels.xls"), "its ending must be one of .csv"),
    "report kind": (("near.npy", "-k", "2", "--report", "r.pdf"), ".html, .htm"),
    "picture kind": (("near.npy", "-k", "2", "--plot", "p.gif"), ".png, .pdf, .svg"),
}


RULES = '{"format": "corral constraints", "version": 1, "constraints": [%s]}'


@pytest.fixture
def mess(folder):
    """Files that have something wrong with them."""
    texts = {
        "notes.doc": "words",
        "empty.csv": "",
        "header.csv": "x,y\n",
        "ragged.csv": "x,y\n1,2\n3\n",
        "gap.csv": "x,y\n1,2\n3,\n",
        "inf.csv": "x,y\n1,inf\n3,4\n",
        "twice.csv": "x,x\n1,2\n",
        "double.csv": "id,x\na,1\na,2\n",
        "only.csv": "id\na\nb\n",
        "strange.csv": "p0,p1\np0,zoe\n",
        "far.csv": "0,99\n",
        "strangers.csv": "zoe,tim\np0,p1\n",
        "ids.csv": "p0,p1\n",
        "self.csv": "3,3\n",
        "dear.csv": "1,3,dear\n",
        "list.json": "[]",
        "deep.json": "[" * 100_000,
        "magic.json": '{"format": "corral constraints", "version": 1, '
        '"constraints": [{"kind": "Magic"}]}',
        "quote.csv": 'x,y\n"1,2\n',
        "broken.npy": "no array",
        "broken.parquet": "no table",
        "broken.xlsx": "no sheet",
        "typo.csv": "p00,p1\n",
        "minus.csv": "x,w\n1,1\n2,-1\n",
        "blank.csv": "x,y\n1,\n2,\n",
        "labels.csv": "x,label\n1,0\n2,0\n",
        "endless.json": RULES
        % '{"kind": "LinearConstraint", "shape": [10000000000000, 24], "row": [0], "column": [1], '
        '"value": [1], "lower": 0, "upper": 1, "n_clusters": 2}',
        "large.json": RULES
        % '{"kind": "LinearConstraint", "shape": [1, 24], "row": [0], "column": [1e30], '
        '"value": [1], "lower": [0], "upper": [1], "n_clusters": 2}',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "half.csv.gz").write_bytes(gzip.compress(b"x,y\n1,2\n3,4\n" * 99)[:-9])
    (folder / "latin.csv").write_bytes("x\nstra\xdfe\n".encode("latin-1"))
    (folder / "folder.csv").mkdir()
    ConstraintSet(MustLink([(0, 99)])).to_json("set.json")
    with (folder / "several.npy").open("wb") as file:
        np.savez(file, x=np.zeros((3, 2)))
    (folder / "zip.npy").write_bytes(b"PK\x03\x04 and nothing else")
    endless = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**14}, 2)}}\n"
    head = b"\x93NUMPY\x01\x00" + len(endless).to_bytes(2, "little")
    (folder / "endless.npy").write_bytes(head + endless.encode())
    np.save("vector.npy", np.zeros(3))
    np.save("near.npy", np.arange(24.0).reshape(12, 2))
    return folder


def two_columns_of_one_name(path):
    import pyarrow as pa
    from pyarrow import parquet

    column = pa.array([1.0, 2.0])
    parquet.write_table(pa.Table.from_arrays([column, column], names=["x", "x"]), path)


def assert_one_sentence(done):
    (line,) = done.err.splitlines()
    assert line.startswith("corral: ")
    assert done.out == ""


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input(mess, corral, case):
    if "parquet" in case:
        pytest.importorskip("pyarrow")
    if case == "no sheet":
        pytest.importorskip("openpyxl")
    if case == "picture kind":
        pytest.importorskip("matplotlib")
    words, expected = BAD_INPUT[case]
    if case == "same names in parquet":
        two_columns_of_one_name(mess / "same.parquet")
    before = sorted(mess.iterdir())
    done = corral("fit", *words)
    assert done.code == 2
    assert_one_sentence(done)
    assert expected in done.err
    assert sorted(mess.iterdir()) == before


# The same for the other commands.
ELSEWHERE = {
    "no such command": (("cluster",), "No such command 'cluster'"),
    "no points": (("fit",), "Missing argument 'POINTS'"),
    "check without clusters": (("check", "near.npy"), "give -k or --sizes"),
    "check of too many": (("check", "near.npy", "-k", "13"), "near.npy has 12 rows"),
    "choose of a billion": (("choose", "near.npy", "-k", "1:1000000000"), "near.npy has 12 rows"),
    "choose of too many to count": (
        ("choose", "near.npy", "-k", "1:100000000000000000000"),
        "near.npy has 12 rows",
    ),
    "choose from zero": (("choose", "near.npy", "-k", "3,0,2"), "of numbers from 1 on"),
    "audit of a billion": (
        ("audit", "near.npy", "labels.csv", "-k", "1000000000"),
        "-k is 1000000000; it must be at most 1000000",
    ),
    "check of no file": (("check", "nowhere.csv", "-k", "2"), "'nowhere.csv' does not exist"),
    "check of bad pairs": (("check", "near.npy", "-k", "2", "--must-link", "far.csv"), "[0, 11]"),
    "check in no time": (("check", "near.npy", "-k", "2", "--time-limit", "0"), "x>0"),
    "compare without clusters": (("compare", "near.npy"), "give -k or --sizes"),
    "compare with no such truth": (
        ("compare", "near.npy", "-k", "2", "--truth", "z"),
        "near.npy has no column 'z'",
    ),
    "compare into a text": (
        ("compare", "near.npy", "-k", "2", "-o", "table.doc"),
        "its ending must be one of .csv",
    ),
    "demo into a file": (("demo", "--save", "ml.csv"), "Directory 'ml.csv' is a file"),
    "demo with a strange picture": (("demo", "--plot", "p.gif"), ".png, .pdf, .svg"),
    "demo with a strange page": (("demo", "--report", "r.txt"), ".html, .htm"),
    "demo of everything": (("demo", "--save", "d", "--plot", "p.png"), "leave --report and --plot"),
    "completion of another shell": (("completion", "tcsh"), "'tcsh' is not one of 'bash', 'zsh'"),
    "completion of none": (("completion",), "Missing argument 'SHELL'"),
    "reproduce nothing known": (("reproduce", "table99"), "'table99' is not one of 'table1'"),
    "reproduce into a file": (("reproduce", "--out", "ml.csv"), "Directory 'ml.csv' is a file"),
    "reproduce with nobody": (("reproduce", "--jobs", "0"), "x>=1"),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_bad_input_of_other_commands(mess, corral, case):
    pytest.importorskip("matplotlib")
    words, expected = ELSEWHERE[case]
    before = sorted(mess.iterdir())
    done = corral(*words)
    assert done.code == 2
    assert_one_sentence(done)
    assert expected in done.err
    assert sorted(mess.iterdir()) == before


@pytest.mark.parametrize("command", ["fit", "check", "compare"])
def test_infeasible_names_the_ids(folder, corral, command):
    (folder / "apart.csv").write_text("p0,p4\n")
    pairs = ("--must-link", "ml.csv", "--cannot-link", "apart.csv")
    done = corral(command, "near.csv", "--id-column", "id", "-k", 2, *pairs)
    assert done.code == 3
    text = done.out if command == "check" else done.err
    assert text.count("\n") == 1
    assert "infeasible: " in text
    assert "p0" in text
    assert "p4" in text


def test_infeasible_leaves_no_file(folder, corral):
    before = sorted(folder.iterdir())
    words = ("-o", "labels.csv", "--report", "r.html", "--max-size", 2)
    done = corral(*BASE, "-k", 3, *words)
    assert done.code == 3
    assert_one_sentence(done)
    assert sorted(folder.iterdir()) == before


def test_out_of_time(folder, corral, monkeypatch):
    def late(self, X, y=None, **options):
        raise SolverTimeoutError("time ran out after 2 s", 2.0, "nothing found")

    monkeypatch.setattr(ConstrainedKMeans, "fit", late)
    done = corral(*BASE, "-k", 3, "--time-limit", 2)
    assert (done.code, done.err) == (4, "corral: time ran out after 2 s\n")


def test_check_out_of_time(folder, corral, monkeypatch):
    def late(*args, **options):
        raise OutOfTime

    monkeypatch.setattr("corral.feasibility.explain", late)
    done = corral("check", "near.csv", "--id-column", "id", "-k", 3, "--time-limit", 1)
    assert done.code == 4
    assert_one_sentence(done)
    assert "not decided" in done.err


@pytest.mark.parametrize("debug", [False, True])
def test_a_fault_has_a_traceback_only_if_asked_for(folder, corral, monkeypatch, debug):
    def broken(self, X, y=None, **options):
        raise ZeroDivisionError("nobody\nthought of it")

    monkeypatch.setattr(ConstrainedKMeans, "fit", broken)
    done = corral(*BASE, "-k", 3, *["--debug"][: int(debug)])
    assert done.code == 1
    assert ("Traceback" in done.err) == debug
    last = done.err.splitlines()[-1]
    assert last.startswith("corral: unexpected ZeroDivisionError: nobody thought of it")


def test_a_fault_of_an_audit_is_no_broken_rule(mess, corral, monkeypatch):
    def broken(*args, **options):
        raise ZeroDivisionError("nobody thought of it")

    monkeypatch.setattr("corral.cli.audit.load", broken)
    done = corral("--debug", "audit", "labels.csv", "labels.csv", "--columns", "x")
    assert done.code == 2
    assert "unexpected ZeroDivisionError" in done.err


def test_debug_goes_before_the_command_too(folder, corral):
    done = corral("--debug", "fit", "near.csv", "-k", 2, "--columns", "z")
    assert done.code == 2
    assert "Traceback" in done.err


def test_interrupted(folder, corral, monkeypatch):
    def stop(self, X, y=None, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ConstrainedKMeans, "fit", stop)
    done = corral(*BASE, "-k", 3)
    assert done.code == 130
    assert done.err.splitlines()[-1] == "corral: interrupted"


def test_without_matplotlib(folder, corral, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = corral(*BASE, "-k", 3, "--plot", "p.png")
    assert done.code == 2
    assert_one_sentence(done)
    assert (
        "needs matplotlib, which is not installed: pip install 'corral-clustering[plot]'"
        in done.err
    )


@pytest.mark.parametrize(
    ("module", "extra", "words"),
    [
        ("pyarrow", "parquet", ("broken.parquet", "-k", 2)),
        ("pyarrow", "parquet", ("near.npy", "-k", 2, "-o", "l.pq")),
        ("openpyxl", "xlsx", ("broken.xlsx", "-k", 2)),
        ("openpyxl", "xlsx", ("near.npy", "-k", 2, "-o", "l.xlsx")),
    ],
)
def test_without_the_module_of_a_format(mess, corral, monkeypatch, module, extra, words):
    monkeypatch.setitem(sys.modules, module, None)
    done = corral("fit", *words)
    assert done.code == 2
    assert_one_sentence(done)
    assert f"{module}, which is not installed: pip install 'corral-clustering[{extra}]'" in done.err


def test_force_overwrites(folder, corral):
    words = ("fit", "near.csv", "--id-column", "id", "-k", 2, "-o", "cl.csv", "--force")
    assert corral(*words).code == 0
    assert (folder / "cl.csv").read_text().startswith("id,label,distance\n")
    assert corral("demo", "--save", ".").code == 2


def test_without_click():
    script = "import sys; sys.modules['click'] = None; from corral.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{MISSING}\n")
