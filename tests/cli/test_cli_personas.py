"""A planner and a teacher: from a folder with their files to their papers, in three commands.

Each makes the five commonest mistakes first, and the message on each names its remedy.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest

REPS = {"Ann Berg": (52.5, 13.4), "Bob Kühn": (53.6, 10.0), "Eve Lang": (50.9, 6.9)}
FIT = ("--id-column", "customer", "--columns", "lat,lon", "--metric", "haversine")
BY_REP = (*FIT, "--clusters", "reps.csv", "--total", "minutes")


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def planner(tmp_path, monkeypatch):
    """120 customers, in October 60 more and 3 fewer, and three people with hours of their own."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    near = rng.integers(0, 3, 180)
    places = np.array(list(REPS.values()))[near] + rng.normal(0, 0.9, (180, 2))
    minutes = rng.integers(10, 60, 180)
    rows = [
        (f"c{row}", f"{lat:.4f}", f"{lon:.4f}", int(minutes[row]))
        for row, (lat, lon) in enumerate(places)
    ]
    head = ("customer", "lat", "lon", "minutes")
    write(tmp_path / "september.csv", head, rows[:120])
    write(tmp_path / "october.csv", head, rows[3:])
    most = [int(minutes.sum() * share) for share in (0.34, 0.36, 0.42)]
    reps = [(name, 300, most[j], *REPS[name]) for j, name in enumerate(REPS)]
    write(tmp_path / "reps.csv", ("name", "minimum", "maximum", "latitude", "longitude"), reps)
    for name, at in (("crossed.csv", 1), ("small.csv", 2)):
        wrong = [list(row) for row in reps]
        wrong[0 if at == 1 else 2][at] = 9000 if at == 1 else 400
        write(tmp_path / name, ("name", "minimum", "maximum", "latitude", "longitude"), wrong)
    return tmp_path


def test_a_planner_has_a_month_in_three_commands(planner, corral):
    openpyxl = pytest.importorskip("openpyxl")
    papers = ("--keep-columns", "-o", "september.xlsx", "--report", "september.html")
    first = corral("fit", "september.csv", *BY_REP, *papers)
    assert (first.code, first.err) == (0, "")
    papers = ("--keep-columns", "-o", "october.xlsx", "--report", "october.html")
    before = ("--previous", "september.xlsx", "--stay", 5000, "--changes", "changes.csv")
    second = corral("fit", "october.csv", *BY_REP, *before, *papers)
    assert (second.code, second.err) == (0, "")
    audited = corral("audit", "october.csv", "october.xlsx", *BY_REP)
    assert audited.code == 0
    # The manager's file: a sheet for each person, whose rows are those of the first sheet.
    book = openpyxl.load_workbook("october.xlsx")
    assert book.sheetnames == ["labels", *REPS]
    head, *every = book["labels"].iter_rows(values_only=True)
    assert head == ("customer", "lat", "lon", "minutes", "label", "distance")
    for name in REPS:
        own, *inside = book[name].iter_rows(values_only=True)
        assert own == head
        assert inside == [row for row in every if row[4] == name]
        assert book[name].print_title_rows == "$1:$1"
    # What changed: all that is new or moved, and nothing else.
    old = openpyxl.load_workbook("september.xlsx")["labels"].iter_rows(values_only=True)
    was = {row[0]: row[4] for row in list(old)[1:]}
    changed = {row[0]: row[4] for row in every if was.get(row[0]) != row[4]}
    changes = rows_of(planner / "changes.csv")
    assert {row["id"]: row["after"] for row in changes} == changed
    assert sum(row["change"] == "new" for row in changes) == 60
    assert "60 are new; 3 are gone" in second.out
    page = (planner / "october.html").read_text(encoding="utf-8")
    places = [page.index(text) for text in ("<h2>Members", "<figure", "What changed")]
    assert places == sorted(places)
    assert all(page.count(f"<li>{row[0]}</li>") == 1 for row in every)


PLANNERS = {
    "no column of ids": (("--clusters", "reps.csv"), "left out: customer (text)"),
    "plain numbers": (
        (*FIT[:4], "--clusters", "reps.csv", "--total", "minutes"),
        "--metric haversine compares places on the ground",
    ),
    "a minimum above a maximum": (
        (*FIT, "--clusters", "crossed.csv", "--total", "minutes"),
        "minimum of 'Ann Berg' is 9000, above its maximum",
    ),
    "bounds of minutes on rows": ((*FIT, "--clusters", "reps.csv"), "name that by --total COLUMN"),
    "too few minutes": (
        (*FIT, "--clusters", "small.csv", "--total", "minutes"),
        "with --on-infeasible relax",
    ),
    "the customers as labels before": (
        (*BY_REP, "--previous", "september.csv"),
        "--previous takes the labels that -o wrote",
    ),
}


@pytest.mark.parametrize(("words", "remedy"), PLANNERS.values(), ids=PLANNERS)
def test_a_planners_mistakes_have_remedies(planner, corral, words, remedy):
    done = corral("fit", "october.csv", *words, "-o", "labels.csv", "--effort", 0.1)
    assert remedy in done.err
    assert done.code == (0 if "haversine" in remedy else 3 if "relax" in remedy else 2)


NAMES = [
    f"{first}{last}"
    for first in ("Ada", "Ben", "Cem", "Dana", "Eva")
    for last in ("", " A", " B", " C", " D", " E")
] + ["Fay"]
PAIRS = ("--together", "friends.csv", "--apart", "rivals.csv")


@pytest.fixture
def teacher(tmp_path, monkeypatch):
    """A class of 31, friends and rivals."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    rows = [
        (name, "fm"[rng.integers(2)], rng.choice(["none", "support"]), *rng.integers(0, 21, 2))
        for name in NAMES
    ]
    write(tmp_path / "students.csv", ("name", "gender", "needs", "maths", "reading"), rows)
    (tmp_path / "friends.csv").write_text("Ada,Ben\nCem,Dana\n")
    (tmp_path / "rivals.csv").write_text("Ada,Cem\nFay,Eva\n")
    (tmp_path / "typed.csv").write_text("Ada,Benn\n")
    (tmp_path / "clash.csv").write_text("Ada,Ben\n")
    return tmp_path


def test_a_teacher_has_groups_on_paper_in_three_commands(teacher, corral):
    openpyxl = pytest.importorskip("openpyxl")
    papers = ("--keep-columns", "-o", "groups.xlsx", "--report", "groups.html")
    assert corral("mix", "students.csv", "-k", 6, *PAIRS, *papers).code == 0
    read = ("--id-column", "name", "--columns", "maths,reading", "--sheets")
    sizes = ("-k", 6, "--min-size", 5, "--max-size", 6)
    papers = ("-o", "levels.xlsx", "--report", "levels.html")
    assert corral("fit", "students.csv", *read, *sizes, *papers).code == 0
    for name in ("groups", "levels"):
        book = openpyxl.load_workbook(f"{name}.xlsx")
        assert book.sheetnames == ["labels", *(f"group {j}" for j in range(6))]
        inside = [[row[0].value for row in book[f"group {j}"]][1:] for j in range(6)]
        assert sorted(who for group in inside for who in group) == sorted(NAMES)
        page = (teacher / f"{name}.html").read_text(encoding="utf-8")
        places = [page.index(f"<li>{who}</li>") for group in inside for who in group]
        assert places == sorted(places)  # the rosters are the sheets
        assert max(places) < page.index("<h2>", page.index("<h2>") + 1)  # in the first section


TEACHERS = {
    "a name with an error": (("-k", 6, "--together", "typed.csv"), "did you mean 'Ben'?"),
    "friends who are rivals": (
        ("-k", 6, "--together", "friends.csv", "--apart", "clash.csv"),
        "Change one of these rules, or leave it out",
    ),
    "no number of groups": ((), "give -k or --sizes"),
    "too small groups": (("-k", 6, "--max-size", 5), "hold at most 30 in all, but X has 31"),
    "a column that is not there": (("-k", 6, "--spread", "sex"), "its columns are name, gender"),
    "a document": (("-k", 6, "-o", "groups.doc"), "its ending must be one of"),
}


@pytest.mark.parametrize(("words", "remedy"), TEACHERS.values(), ids=TEACHERS)
def test_a_teachers_mistakes_have_remedies(teacher, corral, words, remedy):
    done = corral("mix", "students.csv", *words)
    assert remedy in done.err
    assert done.code in (2, 3)


def test_files_of_last_time_are_kept(teacher, corral):
    (teacher / "groups.xlsx").write_text("mine")
    done = corral("mix", "students.csv", "-k", 6, "-o", "groups.xlsx")
    assert (done.code, "give another name, or --force" in done.err) == (2, True)
    assert (teacher / "groups.xlsx").read_text() == "mine"


def test_sheets_are_for_excel(teacher, corral):
    done = corral("fit", "students.csv", "-k", 6, "--sheets", "-o", "levels.csv")
    assert (done.code, "give -o NAME.xlsx" in done.err) == (2, True)
