"""Files appear whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from corral import ConstrainedKMeans, ConstraintSet, MustLink
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
def test_a_file_that_cannot_be_written_is_bad_input(folder, corral, labels_of, option, monkeypatch):
    pytest.importorskip("matplotlib")
    name = {"-o": "l.csv", "--report": "r.html", "--plot": "p.png"}[option]

    def refuse(self, target):
        raise PermissionError(13, "Permission denied", str(target))

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    monkeypatch.setattr("os.link", lambda draft, target: refuse(draft, target))
    before = sorted(folder.iterdir())
    done = corral("fit", "near.csv", "--id-column", "id", "-k", 2, option, name, "--quiet")
    assert done.code == 2
    if option == "-o":
        assert f"the labels cannot be written to {name!r}: Permission denied" in done.err
        assert len(rescued(done.err, labels_of)) == 12
    else:
        assert done.err == f"corral: {name}: Permission denied\n"
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_a_replaced_file_keeps_its_permissions(folder, corral, mode):
    (folder / "labels.csv").write_text("secret")
    (folder / "labels.csv").chmod(mode)
    words = ("fit", "near.csv", "--id-column", "id", "-k", 2, "-o", "labels.csv", "--force", "-q")
    assert corral(*words).code == 0
    assert (folder / "labels.csv").read_text().startswith("id,label")
    assert stat.S_IMODE((folder / "labels.csv").stat().st_mode) == mode
    rules = ConstraintSet(MustLink([(0, 1)]))
    rules.to_json("labels.csv")
    assert ConstraintSet.from_json("labels.csv")[0].pairs.tolist() == [[0, 1]]
    assert stat.S_IMODE((folder / "labels.csv").stat().st_mode) == mode


def test_the_draft_of_a_private_file_is_private(tmp_path):
    (tmp_path / "labels.csv").write_text("secret")
    (tmp_path / "labels.csv").chmod(0o600)
    with atomic_writer(tmp_path / "labels.csv"):
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {0o600}


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    with atomic_writer(tmp_path / "labels.csv") as file:
        file.write("new")
    assert (tmp_path / "labels.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_file_is_written(tmp_path, exists):
    real, link = tmp_path / "real" / "labels.csv", tmp_path / "link.csv"
    real.parent.mkdir()
    if exists:
        real.write_text("old")
        real.chmod(0o600)
    link.symlink_to("real/labels.csv")
    with atomic_writer(link) as file:
        file.write("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert not exists or stat.S_IMODE(real.stat().st_mode) == 0o600
    assert sorted(tmp_path.rglob("*")) == sorted([real, link, real.parent])


def test_a_pipe_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "labels.csv"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_writer(pipe) as file:
        file.write("new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
@pytest.mark.parametrize("links", [True, False])
def test_a_file_beside_another_replaces_none(tmp_path, monkeypatch, ending, links):
    def no_links(*_):
        raise OSError("not supported")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    path, said = tmp_path / f"a.b{ending}", []
    for text in ("one", "two", "three"):
        with atomic_writer(path, said.append) as file:
            file.write(text)
    names = [tmp_path / f"a.b{number}{ending}" for number in ("", "-1", "-2")]
    assert [name.read_text() for name in names] == ["one", "two", "three"]
    assert said == list(map(str, names[1:]))
    assert sorted(tmp_path.iterdir()) == sorted(names)


FIT = ("fit", "near.csv", "--id-column", "id", "-k", 2, "-q")


@pytest.fixture
def meanwhile(monkeypatch):
    """Something that happens while a model is fitted."""
    whole = ConstrainedKMeans.fit

    def during(happens):
        def fit(self, X, y=None, **options):
            happens()
            return whole(self, X, y, **options)

        monkeypatch.setattr(ConstrainedKMeans, "fit", fit)

    return during


def test_what_fails_after_the_labels_does_not_lose_them(folder, corral, labels_of, meanwhile):
    (folder / "pages").mkdir()
    meanwhile((folder / "pages").rmdir)
    words = (*FIT, "--model", "m.json", "--report", "pages/r.html")
    done = corral(*words, "-o", "l.csv")
    assert done.code == 2
    assert "pages: No such folder" in done.err
    assert len(labels_of((folder / "l.csv").read_text())) == 12
    assert (folder / "m.json").exists()
    (folder / "pages").mkdir()
    done = corral(*words, "--force")
    assert done.code == 2
    assert done.out == (folder / "l.csv").read_text()


@pytest.mark.parametrize("option", ["-o", "--model", "--report", "--plot"])
def test_a_file_that_appears_during_the_fit_stays(folder, corral, meanwhile, option):
    pytest.importorskip("matplotlib")
    stem, ending = {
        "-o": ("l", ".csv"),
        "--model": ("m", ".json"),
        "--report": ("r", ".html"),
        "--plot": ("p", ".png"),
    }[option]
    path = folder / f"{stem}{ending}"
    meanwhile(lambda: path.write_text("another program's"))
    done = corral(*FIT, option, path.name)
    assert done.code == 2
    assert path.read_text() == "another program's"
    other = folder / f"{stem}-1{ending}"
    (line,) = done.err.splitlines()
    assert line.startswith(f"corral: '{path.name}' exists now")
    assert f"'{other.name}'" in line
    assert corral(*FIT, option, path.name, "--force").code == 0
    if option != "--report":  # a report has the time of its fit
        assert path.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("option", ["-o", "--model", "--report", "--plot"])
def test_a_folder_without_room_for_files_is_found_before_the_fit(folder, corral, meanwhile, option):
    if not Path("/proc/self").is_dir():
        pytest.skip("needs a folder in which nobody can make files")
    meanwhile(lambda: pytest.fail("the fit began"))
    name = {"-o": "l.csv", "--model": "m.json", "--report": "r.html", "--plot": "p.png"}[option]
    (folder / name).symlink_to(f"/proc/self/{name}")
    for path in (f"/proc/self/{name}", name):
        done = corral(*FIT, option, path)
        assert done.code == 2
        assert "no file can be made in '/proc/" in done.err


def test_force_writes_through_a_link(folder, corral):
    (folder / "real.csv").write_text("old")
    (folder / "link.csv").symlink_to("real.csv")
    assert corral(*FIT, "-o", "link.csv").code == 2
    assert corral(*FIT, "-o", "link.csv", "--force").code == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "real.csv").read_text().startswith("id,label")


def rescued(text, labels_of):
    """The labels of the file that a message names."""
    path = Path(re.search(r"they are in '(.*?)'\.", text)[1])
    found = labels_of(path.read_text())
    path.unlink()
    return found


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device without room")
@pytest.mark.parametrize("command", ["fit", "assign"])
def test_labels_are_kept_where_their_file_cannot_be_written(folder, corral, labels_of, command):
    words = ("near.csv", "--id-column", "id")
    wanted = labels_of(corral("fit", *words, "-k", 3, "--model", "m.json").out)
    (folder / "full.csv").symlink_to("/dev/full")
    how = ("-k", 3) if command == "fit" else ("--model", "m.json")
    done = corral(command, *words, *how, "--force", "-o", "full.csv")
    assert done.code == 2
    assert "the labels cannot be written to 'full.csv': No space left on device" in done.err
    assert rescued(done.err, labels_of) == wanted


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of processes")
@pytest.mark.parametrize("room", [0, 60])
def test_labels_are_printed_where_no_file_has_room(folder, corral, labels_of, room):
    import resource

    words = ("fit", "near.csv", "--id-column", "id", "-k", 3)
    wanted = corral(*words).out
    (folder / "old.csv").write_text("old")
    for name in ("new.csv", "old.csv"):
        done = subprocess.run(
            [sys.executable, "-m", "corral.cli", *map(str, words), "-o", name, "--force"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
            env={**os.environ, "TMPDIR": str(folder)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2, done.stderr
        assert "they are on the standard output" in done.stderr
        assert labels_of(done.stdout) == labels_of(wanted)
    assert (folder / "old.csv").read_text() == "old"
    assert not [path for path in folder.glob("*new*") if path.is_file()]
    assert not list(folder.glob("corral-labels-*"))


def test_labels_that_cannot_be_printed_are_kept(folder, corral, labels_of, monkeypatch):
    words = ("fit", "near.csv", "--id-column", "id", "-k", 3)
    wanted = corral(*words).out

    def full(text=None, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("corral.cli.output.click.echo", full)
        patch.setattr("corral.cli.app.say", lambda text, err: sys.stderr.write(text))
        done = corral(*words)
    assert done.code == 2
    assert "cannot be written to the standard output: No space left on device" in done.err
    assert rescued(done.err, labels_of) == labels_of(wanted)
