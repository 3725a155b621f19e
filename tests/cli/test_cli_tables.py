"""Formats of files: whatever the format, the same cells come in and go out."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys

import numpy as np
import pytest
from click.shell_completion import ShellComplete

from corral import MustLink, read_pairs
from corral.cli import tables
from corral.cli.app import app
from corral.cli.tables import WRITERS, read_table, write_table
from corral.constraints.files import FORMULA, safe_text

BASE = (
    "fit",
    "points.csv",
    "--id-column",
    "id",
    "--columns",
    "x,y",
    "-k",
    "3",
    "-q",
    "--n-init",
    "1",
)
#: Ids that a spreadsheet would compute, and ids that it would not.
FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1"]
HARMLESS = ["-7", "+1e3", "-1,5", "ann", "1=1", "'quoted", "", "a\nb"]


def as_german(text):
    return text.replace(",", ";").replace(".", ",")


def cells(text, delimiter=","):
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


@pytest.mark.parametrize("ending", sorted(WRITERS))
def test_what_is_written_is_read_again(tmp_path, ending):
    if ending in (".parquet", ".pq"):
        pytest.importorskip("pyarrow")
    if ending == ".xlsx":
        pytest.importorskip("openpyxl")
    path = str(tmp_path / f"table{ending}")
    columns = {
        "name": ["=1+1", "b", "ü"],
        "label": np.array([2, 0, 1]),
        "distance": np.array([0.5, 1 / 3, 1e-12]),
    }
    write_table(path, columns)
    table = read_table(path)
    assert list(table.columns) == list(columns)
    assert [text.removeprefix("'") for text in table.texts("name")] == columns["name"]
    assert table.numbers("label").tolist() == [2, 0, 1]
    np.testing.assert_allclose(table.numbers("distance"), columns["distance"], rtol=1e-9)
    head = read_table(path, head=True)
    assert list(head.columns) == list(columns)
    again = str(tmp_path / f"again{ending}")
    write_table(again, columns)
    if ending != ".xlsx":  # which holds the time
        assert (tmp_path / again).read_bytes() == (tmp_path / path).read_bytes()


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_made_texts(tmp_path, text):
    safe = "'" + text.replace("\r", "\n")
    assert safe_text(text) == safe == safe_text(safe)
    path = tmp_path / "pairs.csv"
    MustLink([(0, 1)]).to_csv(path, index=[text, "b"])
    written = cells(path.read_bytes().decode())
    assert written == [["first", "second"], [safe, "b"]]
    assert read_pairs(path, index=[text, "b"]).tolist() == [[0, 1]]


@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_and_other_texts_stay_as_they_are(text):
    assert safe_text(text) == text


def test_no_cell_of_the_labels_is_a_formula(folder, corral):
    """The names of columns are cells, too."""
    names = [*FORMULAS[:4], "ann", "-7"]
    with (folder / "odd.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["=id", "x", "@note"], *([n, i, "-a"] for i, n in enumerate(names))]
        )
    words = ("fit", "odd.csv", "-k", 2, "--id-column", "=id", "--columns", "x", "--keep-columns")
    rows = cells(corral(*words, "-q").out)
    assert not any(cell.startswith(FORMULA) and cell != "-7" for row in rows for cell in row)
    assert [row[0] for row in rows] == ["'=id", *(safe_text(name) for name in names)]
    # Ids that were made safe are known again.
    corral(*words, "-o", "labels.csv")
    again = ("audit", "odd.csv", "labels.csv", "--columns", "x", "--id-column", "=id")
    assert "no column '=id' (did you mean \"'=id\"?)" in corral(*again).err


def test_a_sheet_has_no_formulas(folder, corral):
    openpyxl = pytest.importorskip("openpyxl")
    (folder / "odd.csv").write_text("id,x\n=1+1,1\n-7,2\nb,9\n")
    assert corral("fit", "odd.csv", "-k", 2, "--id-column", "id", "-o", "labels.xlsx").code == 0
    sheet = openpyxl.load_workbook("labels.xlsx").active
    values = [[(cell.value, cell.data_type) for cell in row] for row in sheet.iter_rows()]
    assert [row[0] for row in values[1:]] == [("=1+1", "s"), ("-7", "s"), ("b", "s")]
    assert {row[1][1] for row in values[1:]} == {"n"}
    assert corral("audit", "odd.csv", "labels.xlsx", "--id-column", "id").code == 0


def test_every_text_format_gives_the_same_labels(folder, corral, monkeypatch):
    text = (folder / "points.csv").read_text()
    expected = corral(*BASE).out
    (folder / "points.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "points.tsv").write_text(text.replace(",", "\t"))
    for name in ("points.csv.gz", "points.tsv"):
        assert corral("fit", name, *BASE[2:]).out == expected
    for data in (text.encode(), gzip.compress(text.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert corral("fit", "-", *BASE[2:], "-o", "-").out == expected
    corral(*BASE, "-o", "labels.csv.gz")
    assert gzip.decompress((folder / "labels.csv.gz").read_bytes()).decode() == expected


def test_a_sheet_reads_as_the_text(folder, corral):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in cells((folder / "points.csv").read_text()):
        book.active.append([*(float(c) if c.replace(".", "").isdigit() else c for c in row)])
    book.active["J40"].fill = openpyxl.styles.PatternFill("solid")  # a cell without a value
    book.save("points.xlsx")
    assert corral("fit", "points.xlsx", *BASE[2:]).out == corral(*BASE).out


def test_decimal_commas(folder, corral):
    """In and out: the same file with commas gives the same labels with commas."""
    (folder / "comma.csv").write_text(as_german((folder / "points.csv").read_text()))
    (folder / "ml.csv").write_text("p0,p4,0.25\n")
    (folder / "ml2.csv").write_text("p0;p4;0,25\n")
    expected = corral(*BASE, "--must-link", "ml.csv").out
    words = ("--decimal", ",", "--must-link", "ml2.csv")
    done = corral("fit", "comma.csv", *BASE[2:], *words, "-o", "labels.csv")
    assert done.code == 0
    assert (folder / "labels.csv").read_text() == as_german(expected)
    assert corral("audit", "comma.csv", "labels.csv", *BASE[2:6], *words[:2]).code == 0
    refused = corral("fit", "comma.csv", *BASE[2:])
    assert refused.code == 2
    assert "'0,0' is not a finite number; give --decimal ," in refused.err


def test_a_point_is_no_decimal_mark_beside_the_comma(folder, corral):
    (folder / "thousands.csv").write_text("x;y\n1.000;2,5\n2.000;3\n")
    done = corral("fit", "thousands.csv", "-k", 1, "--decimal", ",")
    assert done.code == 2
    assert "line 2, column 'x': '1.000' is not a finite number" in done.err


@pytest.fixture
def gaps(folder):
    (folder / "gaps.csv").write_text("id,x,d\na,0,1\nb,,1\nc,1,1\nd,10,\ne,12,5\nf,13,1\n")
    (folder / "rows.csv").write_text("0,1\n0,2\n4,5\n")
    return folder


def test_dropped_rows_take_their_rules_with_them(gaps, corral):
    """Pairs name rows of the file, also where rows before them are dropped."""
    words = ("--columns", "x", "-k", 2, "--missing", "drop", "--cannot-link", "rows.csv")
    done = corral("fit", "gaps.csv", *words, "--total", "d::6")
    assert done.code == 0
    label = {row["id"]: row["label"] for row in csv.DictReader(io.StringIO(done.out))}
    assert list(label) == ["0", "2", "4", "5"]
    assert label["0"] != label["2"]
    assert label["4"] != label["5"]
    assert "gaps.csv: dropped 2 rows of 6 without a value; the first is line 3" in done.err
    assert "left out 1 pair or pin of dropped rows" in done.err
    clash = corral("fit", "gaps.csv", *words, "--must-link", "rows.csv")
    assert clash.code == 3
    assert "samples 0 and 2" in clash.err or "0-2" in clash.err or "4-5" in clash.err


@pytest.mark.parametrize("command", [("choose", "-k", "2,3"), ("fit", "-k", "fewest")])
def test_rules_of_other_data_are_refused_before_rows_are_dropped(gaps, corral, command):
    rule = (
        '{"kind": "LinearConstraint", "shape": [1, 20000000000000], "row": [0], "column": [1], '
        '"value": [1], "lower": [0], "upper": [1], "n_clusters": 2}'
    )
    document = '{"format": "corral constraints", "version": 1, "constraints": [%s]}'
    (gaps / "other.json").write_text(document % rule)
    words = ("gaps.csv", "--columns", "x", "--missing", "drop", "--rules", "other.json")
    done = corral(command[0], *words, *command[1:])
    assert done.code == 2
    assert "A has 20000000000000 columns, but X has 6 samples" in done.err


def test_dropped_rows_keep_the_ids_of_the_others(gaps, corral, labels_of):
    words = ("--id-column", "id", "--missing", "drop", "--must-link", "ids.csv")
    (gaps / "ids.csv").write_text("b,c\nc,f\n")
    label = labels_of(corral("fit", "gaps.csv", "-k", 2, *words).out)
    assert list(label) == ["a", "c", "e", "f"]
    assert label["c"] == label["f"]


def test_missing_values_become_the_mean(gaps, corral):
    values = ("--columns", "x", "-k", 1, "--json")
    done = corral("fit", "gaps.csv", *values, "--missing", "mean")
    assert "gaps.csv: the mean of the column replaces 1 missing value." in done.err
    found = json.loads(done.out)
    x = np.array([0, 1, 10, 12, 13])
    assert found["centers"] == [[pytest.approx(x.mean())]]
    assert found["inertia"] == pytest.approx(((x - x.mean()) ** 2).sum())


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet", "npy"])
def test_kept_columns_stand_before_the_labels(folder, corral, ending):
    pytest.importorskip({"xlsx": "openpyxl", "parquet": "pyarrow"}.get(ending, "csv"))
    given = read_table("points.csv")
    assert corral(*BASE, "--keep-columns", "-o", f"labels.{ending}").code == 0
    written = read_table(f"labels.{ending}")
    assert list(written.columns) == [*given.columns, "label", "distance"]
    for name in ("id", "kind", "known", "demand"):
        assert written.texts(name) == given.texts(name)
    for name in ("x", "y"):
        assert written.numbers(name).tolist() == given.numbers(name).tolist()


@pytest.mark.parametrize("ending", ["xlsx", "parquet", "npy"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_numbers_of_a_text_file_are_numbers_where_cells_have_types(folder, corral, ending, decimal):
    pytest.importorskip({"xlsx": "openpyxl", "parquet": "pyarrow"}.get(ending, "csv"))
    head = "id;x;n;code;large;mixed\n"
    rows = "1.10;0.5;3;007;12345678901234567;1\n1.1;2e3;-4;010;2;b\n7;-6;5;1;3;2\n"
    (folder / "kinds.csv").write_text(head + rows.replace(".", decimal))
    words = ("--id-column", "id", "--columns", "x,n", "--decimal", decimal, "--keep-columns")
    name = f"labels.{ending}"
    assert corral("fit", "kinds.csv", "-k", 2, *words, "-o", name).code == 0
    columns = read_table(name).columns
    assert list(columns["x"]) == [0.5, 2000, -6]
    assert list(columns["n"]) == [3, -4, 5]
    given = read_table("kinds.csv", decimal=decimal).columns
    for name in ("id", "code", "large", "mixed"):  # not the same as numbers
        assert list(columns[name]) == list(given[name])


@pytest.mark.parametrize("cell", [[1.0], [1.0, 2.0], 10**400])
def test_a_cell_that_is_no_number_is_refused(cell):
    table = tables.Table("cells.parquet", {"x": [cell] * 3})
    with pytest.raises(ValueError, match=r"cells.parquet.*column 'x'.* is not a finite number"):
        table.numbers("x")


@pytest.mark.parametrize("ending", ["xlsx", "parquet"])
def test_a_gap_leaves_the_other_numbers_numbers(folder, corral, ending):
    pytest.importorskip({"xlsx": "openpyxl", "parquet": "pyarrow"}[ending])
    assert corral(*BASE, "--keep-columns", "-o", f"labels.{ending}").code == 0
    known = read_table(f"labels.{ending}").columns["known"]
    assert (known[0], known[11]) == (2, 0)
    assert all(cell in ("", None) for cell in known[1:11])


@pytest.mark.parametrize("words", [("--columns", "x,x"), ("--columns", "x", "--columns", "y,x")])
def test_a_column_named_twice_is_refused(folder, corral, words):
    done = corral("fit", "points.csv", "-k", 2, "--id-column", "id", *words)
    assert done.code == 2
    assert "--columns names 'x' twice" in done.err


@pytest.mark.parametrize("name", ["shop", "id", "Label"])
def test_the_id_column_keeps_its_name(folder, corral, name):
    (folder / "named.csv").write_text(f"{name},x\na,1\nb,2\n")
    done = corral("fit", "named.csv", "-k", 2, "--id-column", name)
    assert done.out.splitlines()[0] == f"{name},label,distance"


@pytest.mark.parametrize(
    ("typed", "word", "offered"),
    [
        (["fit", "points.csv", "--id-column"], "", "id x y demand kind known"),
        (["fit", "points.csv", "--columns"], "x,", "x,id x,x x,y x,demand x,kind x,known"),
        (["check", "points.csv.gz", "--share"], "k", "kind: known:"),
        (["compare", "comma.csv", "--decimal", ",", "--truth"], "k", "kind known"),
        (["audit", "points.csv", "labels.csv", "--weight"], "d", "demand"),
        (["fit", "nowhere.csv", "--weight"], "", ""),
        (["fit", "--weight"], "", ""),
        (["fit", "-", "--weight"], "", ""),
    ],
)
def test_the_shell_completes_names_of_columns(folder, typed, word, offered):
    text = (folder / "points.csv").read_text()
    (folder / "points.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "comma.csv").write_text(as_german(text))
    found = ShellComplete(app, {}, "corral", "_CORRAL_COMPLETE").get_completions(typed, word)
    assert [item.value for item in found] == offered.split()


def test_only_the_head_of_a_large_file_is_read(folder):
    with (folder / "large.csv").open("w") as file:
        file.write("x,y\n" + "1,2\n" * 100_000 + "ü,1\n")
    table = read_table("large.csv", head=True)
    assert list(table.columns) == ["x", "y"]
    assert len(table.columns["x"]) < 20_000


class Counted(str):
    """A text that counts how often texts are compared."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_names_of_columns_are_compared_a_bounded_number_of_times_each(monkeypatch):
    monkeypatch.setattr(Counted, "compared", 0)
    names = [Counted(number) for number in range(2_000)]
    with pytest.raises(ValueError, match="two columns '1999'"):
        tables._check_unique_names("wide.csv", [*names, Counted(1999)])
    assert Counted.compared <= 2 * len(names)


def test_rows_of_a_sheet_are_measured_a_bounded_number_of_times_each(folder, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in range(300):
        book.active.append([row, row / 2, *[1] * (row % 3)])
    book.save("long.xlsx")
    seen = []

    def counted(values, **options):
        values = list(values)
        seen.extend(values)
        return max(values, **options)

    monkeypatch.setattr(tables, "max", counted, raising=False)
    columns = read_table("long.xlsx", header=False).columns
    assert len(seen) <= 2 * 300 * 4
    assert columns["0"] == tuple(range(300))
    assert columns["3"] == tuple(1 if row % 3 == 2 else "" for row in range(300))
