"""No text of the user's files steers the terminal, and no closed stream loses an answer."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest

from corral.cli.output import visible

ESCAPE = "\x1b]0;owned\x07\x9b31m\u202e"
HARMLESS = r"\x1b]0;owned\x07\x9b31m\u202e"


@pytest.fixture
def strange(folder):
    """The points of the folder with ids that steer a terminal."""
    names = [f"p{row}{ESCAPE}" for row in range(12)]
    rows = "".join(f"{name},{row},{row % 3}\n" for row, name in enumerate(names))
    (folder / "strange.csv").write_text(f"id,x{ESCAPE},y\n{rows}", encoding="utf-8")
    (folder / "together.csv").write_text(f"{names[0]},{names[9]}\n", encoding="utf-8")
    (folder / "unknown.csv").write_text(f"{names[0]},z{ESCAPE}\n", encoding="utf-8")
    return names


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "--must-link", "together.csv", "-k", 2, "--describe"),
        ("fit", "--must-link", "together.csv", "-k", 2, "--describe", "-o", "l.csv"),
        ("fit", "--must-link", "together.csv", "--cannot-link", "together.csv", "-k", 2),
        ("check", "--must-link", "together.csv", "--cannot-link", "together.csv", "-k", 2),
        ("check", "--must-link", "together.csv", "--cannot-link", "together.csv", "-k", 2, "-q"),
        ("fit", "--must-link", "unknown.csv", "-k", 2),
        ("--debug", "fit", "--must-link", "unknown.csv", "-k", 2, "--debug"),
        ("fit", "--columns", f"z{ESCAPE}", "-k", 2),
        ("choose", "--must-link", "together.csv", "-k", "2,3"),
    ],
)
def test_what_is_printed_for_people_steers_no_terminal(strange, corral, words):
    at = words.index("fit") + 1 if "fit" in words else 1
    done = corral(*words[:at], "strange.csv", "--id-column", "id", *words[at:])
    for text in (done.err, done.out if "-o" in words or words[0] != "fit" else ""):
        assert all(mark.isprintable() or mark in "\n\t" for mark in text)
    assert HARMLESS in done.err + done.out or words[0] == "choose" or "-q" in words


def test_data_on_the_standard_output_are_not_changed(strange, corral, labels_of):
    done = corral("fit", "strange.csv", "--id-column", "id", "-k", 2, "-q")
    assert list(labels_of(done.out)) == strange
    done = corral("fit", "strange.csv", "--id-column", "id", "-k", 2, "--json")
    assert [row["id"] for row in json.loads(done.out)["labels"]] == strange


def test_printable_text_is_unchanged():
    assert visible("a b\n\tZürich 東京") == "a b\n\tZürich 東京"
    assert visible(visible(ESCAPE)) == visible(ESCAPE) == HARMLESS


@pytest.fixture
def shell(folder):
    """Run a line of the shell in which ``corral`` is the command."""

    def call(line):
        command = line.replace("corral", f"{shlex.quote(sys.executable)} -m corral.cli")
        return subprocess.run(["sh", "-c", command], capture_output=True, text=True)

    return call


FIT = "corral fit near.csv --id-column id -k 2"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (f"{FIT} >&-", "the labels would go to the standard output, which is closed; give -o"),
        (f"{FIT} -o l.csv --json >&-", "JSON would go to the standard output, which is closed"),
        ("corral choose near.csv --id-column id -k 2 >&-", "which is closed"),
        ("corral fit - -k 2 <&-", "POINTS is the standard input, which is closed; give a file"),
        ("corral ask near.csv --id-column id -k 2 -o a.json <&-", "which is closed; open it"),
    ],
)
def test_a_closed_stream_that_is_needed_is_bad_input(shell, folder, line, fault):
    before = sorted(folder.iterdir())
    done = shell(line)
    assert (done.returncode, done.stdout) == (2, "")
    (said,) = done.stderr.splitlines()
    assert fault in said
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("closed", ["2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_closed_stream_that_is_not_needed_changes_nothing(shell, corral, folder, closed):
    expected = corral(*FIT.split()[1:], "-q").out
    assert shell(f"{FIT} -o l.csv {closed}").returncode == 0
    assert (folder / "l.csv").read_text() == expected


def test_an_error_without_an_error_stream_keeps_its_code(shell):
    assert shell("corral audit near.csv nowhere.csv 2>&-").returncode == 2


# Two processes that work for long, as those of ``corral reproduce --jobs 2`` do.
WORKERS = """
import sys, time
from types import SimpleNamespace
from joblib import Parallel, delayed
from corral.cli import main, reproduce

def work():
    print("ready", flush=True)
    time.sleep(600)

def run_all(names, **options):
    list(Parallel(n_jobs=2, return_as="generator_unordered")(delayed(work)() for _ in range(2)))

reproduce.load_experiments = lambda: SimpleNamespace(reproduce=run_all)
sys.argv = ["corral", "reproduce", "--jobs", "2"]
main()
"""

# A process that waits in the middle of a file.
DRAFT = """
import sys, time
from corral.cli import main, tables

def write_csv(file, *rest):
    print("ready", flush=True)
    time.sleep(600)

tables.WRITERS[".csv"] = write_csv
sys.argv = "corral fit near.csv --id-column id -k 2 -o labels.csv".split()
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
@pytest.mark.parametrize(("script", "ready"), [(WORKERS, 2), (DRAFT, 1)])
def test_a_terminated_command_leaves_nothing(folder, script, ready):
    before = sorted(folder.iterdir())
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as process:
        assert [process.stdout.readline() for _ in range(ready)] == ["ready\n"] * ready
        process.terminate()
        # The pipes end when the last process that has them ends.
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (143, "")
    assert "corral: terminated" in err.splitlines()
    assert sorted(folder.iterdir()) == before
