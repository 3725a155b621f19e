"""Files appear whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import subprocess
import sys

import pytest

from corral.constraints.files import atomic_writer

# Writes half of the labels, says so, and waits to be killed.
HALFWAY = """
import time
from corral.cli import tables
from corral.cli.app import run

def safe_text(cell):
    if cell == "p6":
        half.flush()
        print("half", flush=True)
        time.sleep(60)
    return str(cell)

def write_csv(file, *rest):
    global half
    half = file
    file.write("id,label,distance\\np0,")
    whole(file, *rest)

tables.safe_text = safe_text
whole, tables.WRITERS[".csv"] = tables.write_csv, write_csv
run(["fit", "near.csv", "--id-column", "id", "-k", "3", "-o", "labels.csv", "--force"])
"""


@pytest.mark.parametrize("before", [None, "what was there\n"])
def test_a_process_killed_while_writing_leaves_what_was_there(folder, before):
    target = folder / "labels.csv"
    if before is not None:
        target.write_text(before)
    with subprocess.Popen(
        [sys.executable, "-c", HALFWAY], stdout=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        assert process.stdout.readline() == "half\n"
        (draft,) = folder.glob(".labels.csv.*.tmp")
        assert draft.read_text().startswith("id,label,distance\np0,")
        process.kill()
    if before is None:
        assert not target.exists()
    else:
        assert target.read_text() == before


def test_an_error_while_writing_leaves_what_was_there(tmp_path):
    target = tmp_path / "labels.csv"
    target.write_text("old")

    def fail():
        with atomic_writer(target) as file:
            file.write("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_finished_file_takes_the_place_of_the_old_one(tmp_path):
    target = tmp_path / "labels.csv"
    target.write_text("old")
    with atomic_writer(target) as file:
        file.write("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("option", ["-o", "--report", "--plot"])
def test_a_file_that_cannot_be_written_is_bad_input(folder, corral, option, monkeypatch):
    pytest.importorskip("matplotlib")
    name = {"-o": "l.csv", "--report": "r.html", "--plot": "p.png"}[option]

    def refuse(self, target):
        raise PermissionError(13, "Permission denied", str(target))

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    before = sorted(folder.iterdir())
    done = corral("fit", "near.csv", "--id-column", "id", "-k", 2, option, name, "--quiet")
    assert done.code == 2
    assert done.err == f"corral: {name}: Permission denied\n"
    assert sorted(folder.iterdir()) == before
