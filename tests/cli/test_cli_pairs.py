"""Pairs from columns and sheets, shares of one group, text columns, and rules that are grouped."""

from __future__ import annotations

import json

import pytest

from corral import ConstraintSet, MustLink

PUPILS = """\
pupil,friend,rival,gender,mark
Ada,"Ben; cem",Dee,f,5
Ben,,,m,4
Cem,Ada,,m,3
"Dee, M.","Eve",Ben,f,2
Eve,"Dee, M.",,f,3
Fay,Eve|Ben,,f,1
"""


@pytest.fixture
def pupils(folder):
    (folder / "pupils.csv").write_text(PUPILS.replace(",Dee,f", ',"Dee, M.",f'))
    return folder


WORDS = ("fit", "pupils.csv", "-k", 2, "--id-column", "pupil", "-o", "l.csv", "--force")


def labels(folder):
    lines = (folder / "l.csv").read_text().replace('"', "").splitlines()[1:]
    return {line.split(",")[0]: line.split(",")[-2] for line in lines}


def test_names_in_cells_are_pairs(pupils, corral):
    done = corral(*WORDS, "--together-column", "friend", "--soft", 0.1, "--json")
    assert done.code == 0, done.err
    # Ada-Ben, Ada-Cem, Dee-Eve, Fay-Eve, Fay-Ben: each once, though some name each other.
    (rule,) = json.loads(done.out)["constraints"]
    assert rule["constraint"] == "must-links Ada-Ben, Ada-Cem, Dee, M.-Eve, Fay-Eve, Fay-Ben"
    done = corral(*WORDS, "--apart-column", "rival")
    assert done.code == 0, done.err
    found = labels(pupils)
    assert found["Dee"] != found["Ada"]
    assert found["Dee"] != found["Ben"]
    assert "left out: pupil (text), friend (text), rival (text), gender (text)" in done.err


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        ("Benn", "line 3, column 'friend': 'Benn' names no row (did you mean 'Ben'?)"),
        ("Ada Cem", "several names in a cell have ; between"),
        ("ben", "'ben' is the row itself"),
    ],
)
def test_a_wrong_name_in_a_cell_is_told_with_its_place(pupils, corral, cell, fault):
    text = (pupils / "pupils.csv").read_text().replace("Ben,,,m", f"Ben,{cell},,m")
    (pupils / "pupils.csv").write_text(text)
    done = corral(*WORDS, "--together-column", "friend")
    assert done.code == 2
    assert fault in done.err


def test_without_ids_the_cells_are_row_numbers_and_the_message_says_so(pupils, corral):
    done = corral("fit", "pupils.csv", "-k", 2, "--together-column", "friend")
    assert "--id-column says which column has the names" in done.err


def test_the_share_of_one_group_is_bounded(pupils, corral):
    done = corral(*WORDS, "--share", "gender=m:0.3:0.4")
    assert done.code == 0, done.err
    found = labels(pupils)
    for label in set(found.values()):
        members = [name for name in found if found[name] == label]
        assert 0.3 <= sum(name in ("Ben", "Cem") for name in members) / len(members) <= 0.4
    wrong = corral(*WORDS, "--share", "gender=w:0.4:")
    assert "no group 'w'" in wrong.err
    assert "its groups are 'f', 'm'" in wrong.err


def test_a_sheet_of_pairs_is_read(folder, corral):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("first", "second", "weight"), ("p0", "p9", 2.5), (), ("p1", "p8", 1)):
        book.active.append(row)
    book.save(folder / "pairs.xlsx")
    words = ("near.csv", "-k", 2, "--id-column", "id")
    done = corral("fit", *words, "--must-link", "pairs.xlsx", "-o", "l.csv")
    assert done.code == 0, done.err
    assert "MustLink(2 pairs, 2 soft)" in done.out
    book.active["B4"] = "p99"
    book.save(folder / "pairs.xlsx")
    done = corral("fit", *words, "--must-link", "pairs.xlsx")
    assert "pairs.xlsx, line 4: 'p99' names no row" in done.err
    with pytest.raises(ValueError, match=r"read_excel\(path\)"):
        MustLink.from_csv(folder / "pairs.xlsx")


def test_a_header_line_that_is_not_known_is_told_with_what_to_do(folder, corral):
    (folder / "pairs.csv").write_text("who,whom\np0,p9\n")
    done = corral("fit", "near.csv", "-k", 2, "--id-column", "id", "--must-link", "pairs.csv")
    assert "if the line is a header, call its columns first and second, or delete it" in done.err


def test_text_columns_are_left_out_and_patterns_choose(folder, corral, labels_of):
    plain = corral("fit", "points.csv", "-k", 2, "--columns", "x,y", "-q").out
    (folder / "x.csv").write_text((folder / "points.csv").read_text().replace("known", "y2"))
    done = corral("fit", "x.csv", "-k", 2, "--columns", "x,y?", "--missing", "mean")
    assert "using 2 of 6 columns: x, y2; left out: id (text), y, demand, kind (text)" in done.err
    (folder / "z.csv").write_text("id,x,note\n" + "".join(f"p{i},{i},n{i}\n" for i in range(9)))
    done = corral("fit", "z.csv", "-k", 2)
    assert done.code == 0
    assert "using 1 of 3 columns: x; left out: id (text), note (text)" in done.err
    assert labels_of(plain)
    quiet = corral("fit", "z.csv", "-k", 2, "-q")
    assert quiet.err == ""


def test_a_column_of_numbers_with_a_mistake_is_not_left_out(folder, corral):
    (folder / "z.csv").write_text("id,x,y\na,1,1\nb,2,2\nc,3,3o\nd,4,4\n")
    done = corral("fit", "z.csv", "-k", 2)
    assert "line 4, column 'y': '3o' is not a finite number" in done.err


def test_many_links_of_a_kind_are_one_line(folder, corral):
    rules = ConstraintSet(
        [*(MustLink([(row, row + 1)]) for row in range(5)), MustLink([(7, 8)], 2)]
    )
    rules.to_json("rules.json")
    done = corral("fit", "near.csv", "-k", 2, "--id-column", "id", "--rules", "rules.json")
    lines = [line for line in done.err.splitlines() if line.startswith("MustLink")]
    assert [line.split("  ")[0] for line in lines] == [
        "MustLink: 5 pairs",
        "MustLink(1 pair, 1 soft)",
    ]
