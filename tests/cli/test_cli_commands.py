"""The other commands, help, completion, and the progress bar."""

from __future__ import annotations

import csv
import io
import json
import sys
from shutil import get_terminal_size

import click
import pytest

from corral import (
    ClusterSizes,
    ClusterTotals,
    ConstraintSet,
    MustLink,
    Progress,
    __version__,
    baselines,
)
from corral.cli.app import COMMANDS, app
from corral.cli.compare import methods
from corral.cli.output import FitProgress

NEAR = ("near.csv", "--id-column", "id")


def test_version(corral):
    assert corral("--version").out == f"corral {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_has_examples(corral, command):
    done = corral(command.name, "--help")
    assert done.code == 0
    assert "Examples:" in done.out
    assert f"corral {command.name}" in done.out
    assert "--debug" in done.out


def test_nothing_asked_is_help(corral):
    done = corral()
    assert done.code == 0
    assert all(command.name in done.out for command in COMMANDS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(corral, shell):
    done = corral("completion", shell)
    assert done.code == 0
    assert f"_CORRAL_COMPLETE={shell}_complete" in done.out


@pytest.mark.parametrize(
    ("typed", "offered"), [("corral fi", "fit"), ("corral fit --must", "--must-link")]
)
def test_completion_completes(corral, monkeypatch, capsys, typed, offered):
    monkeypatch.setenv("_CORRAL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    with pytest.raises(SystemExit):
        corral()
    assert f"plain,{offered}\n" in capsys.readouterr().out


def test_check_says_feasible(folder, corral):
    done = corral("check", *NEAR, "-k", 3, "--must-link", "ml.csv", "--sizes", "4,4,4")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("feasible: 12 points, 3 clusters, MustLink(1 pair)")
    assert corral("check", *NEAR, "-k", 3, "--quiet").out == ""


def test_check_json_holds_the_conflict(folder, corral):
    done = corral("check", *NEAR, "-k", 3, "--min-size", 5, "--must-link", "ml.csv", "--json")
    assert done.code == 3
    found = json.loads(done.out)
    assert found["feasible"] is False
    assert [rule["kind"] for rule in found["conflict"]] == ["ClusterSizes"]
    assert found["reason"]


def test_demo(folder, corral):
    done = corral("demo")
    assert (done.code, done.err) == (0, "")
    assert "every hard rule is obeyed" in done.out


def test_the_files_of_the_demo_work_as_it_says(folder, corral):
    said = corral("demo", "--save", "wine").out
    command = said.partition("corral fit ")[2].replace("\\\n", " ").split()
    where = folder / "wine"
    words = [str(where / word) if word.endswith((".csv", ".html")) else word for word in command]
    done = corral("fit", *words, "--n-init", 1)
    assert (done.code, done.err) == (0, "")
    assert (where / "labels.csv").read_text().count("\n") == 1 + 178


def test_compare_shows_a_dash_for_what_does_not_take_the_rules(folder, corral):
    rules = ("--must-link", "ml.csv", "--sizes", "6,6")
    done = corral("compare", *NEAR, "-k", 2, *rules, "-o", "table.csv")
    assert (done.code, done.err) == (0, "")
    lines = {line[: len("corral, algorithm1")].strip(): line for line in done.out.splitlines()}
    assert lines["COP-KMeans"].split()[1:4] == ["-", "-", "-"]
    assert "takes no ClusterSizes" in lines["COP-KMeans"]
    rows = list(csv.DictReader((folder / "table.csv").open()))
    assert [row["method"] for row in rows] == [method.name for method in methods()]
    by_name = {row["method"]: row for row in rows}
    assert by_name["corral"]["broken"] == "0"
    assert by_name["COP-KMeans"]["inertia"] == ""


def test_compare_with_the_truth_and_prices(folder, corral):
    words = ("--columns", "x,y", "-k", 3, "--truth", "kind", "--must-link", "ml.csv", "--soft", 1)
    done = corral("compare", "points.csv", "--id-column", "id", *words, "--json")
    found = {line["method"]: line for line in json.loads(done.out)}
    ours = found["corral"]
    assert ours["objective"] >= ours["inertia"] > 0
    assert -1 <= ours["agreement"] <= 1
    assert found["COP-KMeans"]["note"] == "takes no soft links"
    text = corral("compare", "points.csv", "--id-column", "id", *words).out
    assert {"ARI", "soft"} <= set(text.splitlines()[0].split())


def test_every_method_of_the_library_is_compared():
    made = {type(method.make(3, 0, None, "euclidean", 1.0)).__name__ for method in methods()}
    others = {name for name in baselines.__all__ if not name.endswith("Error")}
    kinds = {"KMeans", "GaussianMixture", "KernelKMeans", "KMedoids"}
    assert made == others | {f"Constrained{kind}" for kind in kinds} | {"Propagated"}


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_methods_take_what_they_say(method):
    """A method that the table does not run refuses the rules by itself, too."""
    X = [[float(i), float(i % 3)] for i in range(8)]
    sets = [
        ConstraintSet(MustLink([(0, 1)])),
        ConstraintSet(MustLink([(0, 1)], weight=2.0)),
        ConstraintSet(ClusterSizes([4, 4])),
        ConstraintSet(ClusterTotals(range(8), maximum=20)),
    ]
    for rules in sets:
        model = method.make(2, 0, None, "euclidean", 1.0)
        if method.refusal(rules, len(X)) is not None:
            with pytest.raises(ValueError, match=r"takes|has no"):
                model.fit(X, constraints=rules)
        elif method.name != "corral, algorithm1":
            assert len(model.fit(X, constraints=rules).labels_) == len(X)


def test_methods_for_few_points_stop_at_many():
    limited = [method for method in methods() if method.most_points is not None]
    assert limited
    for method in limited:
        assert method.refusal(ConstraintSet(), method.most_points) is None
        assert "at most" in method.refusal(ConstraintSet(), method.most_points + 1)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("corral.cli.output.PATIENCE", 0.0)
    monkeypatch.setattr("corral.cli.output.PACE", 0.0)


def test_progress_shows_and_clears(impatient):
    stream = Terminal()
    with FitProgress(stream) as line:
        line(Progress("start", 1, 1))
        line(Progress("admm", 1, 1, 50))
        line(Progress("search", 1, 1, 0, 1e6, 1.5, 3.5))
        line(Progress("audit", 1, 1, 0, 1e99, 1e99, 1e99))
    shown = stream.getvalue().split("\r")
    assert shown[2].startswith("[###.......] admm 50, 0.0 s")
    expected = "[#######...] search, best 1,000,000, 3.5 s left"
    assert shown[3].rstrip() == expected
    assert shown[4].startswith("[##########] ")
    assert all(len(text) < get_terminal_size().columns for text in shown)
    assert shown[-2].strip() == ""
    assert len(shown[-2]) >= len(shown[4].rstrip())


def test_progress_is_silent_off_a_terminal(impatient):
    stream = io.StringIO()
    with FitProgress(stream) as line:
        line(Progress("admm", 1, 2, 50))
    assert stream.getvalue() == ""


def test_a_fit_on_a_terminal_shows_progress(folder, corral, impatient, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    assert corral("fit", *NEAR, "-k", 3, "--sizes", "4,4,4", "-o", "labels.csv").code == 0
    assert "[..........] start" in stream.getvalue()
    stream.seek(0)
    stream.truncate()
    corral("fit", *NEAR, "-k", 3, "--quiet", "-o", "labels.csv", "--force")
    assert stream.getvalue() == ""


def test_choose_compares_numbers_of_clusters(folder, corral):
    done = corral(
        "choose",
        "points.csv",
        "--id-column",
        "id",
        "--columns",
        "x,y",
        "-k",
        "2:3",
        "--max-size",
        5,
        "--plot",
        "choice.png",
        "--json",
    )
    assert done.code == 0, done.err
    values = json.loads(done.out)
    assert [row["feasible"] for row in values["candidates"]] == [False, True]
    assert values["n_clusters"] == 3
    assert (folder / "choice.png").read_bytes().startswith(b"\x89PNG")


def test_choose_refuses_what_is_no_range(folder, corral):
    for numbers in ("8:2", "0:3", "two"):
        done = corral("choose", "points.csv", "-k", numbers)
        assert done.code == 2
        assert "no range" in done.err
    done = corral("choose", "points.csv", "--sizes", "3,4,5")
    assert "--min-size" in done.err


@pytest.mark.parametrize("command", [app, *COMMANDS], ids=lambda command: command.name)
def test_an_option_given_twice_is_refused_unless_it_takes_many(command):
    """Whatever the option: the last would win in silence."""
    own = [one for one in command.params if isinstance(one, click.Option) and not one.is_eager]
    for option in own:
        words = [*option.opts[:1], *option.secondary_opts[:1]]
        if not option.is_flag:
            words = [words[0], "1", words[0], "2"]
        told = ""
        try:
            command.make_context("corral", words)
        except click.UsageError as error:
            told = error.format_message()
        single = not option.multiple and (not option.is_flag or option.secondary_opts)
        assert ("give it once" in told) == bool(single), (words, told)


def test_what_is_given_twice_is_said(folder, corral):
    done = corral("fit", "near.csv", "--id-column", "id", "-k", 3, "--n-clusters", 4)
    assert done.code == 2
    assert "'-k' / '--n-clusters': it is given as '3' and '4'; give it once" in done.err
    done = corral("fit", "near.csv", "--header", "-k", 3, "--no-header")
    assert "it is given both ways" in done.err
