"""The experiments: what is run, how a stopped run continues, and what the page says."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from reproduction import EXPERIMENTS, paper, reproduce
from reproduction.__main__ import main
from reproduction.cells import Fit
from reproduction.contest import CONTESTANTS, ESTIMATORS, Contest, table7
from reproduction.experiment import Demand, Results, Scale
from reproduction.inputs import METHODS, points, rules_for
from reproduction.page import ours, shown, spread, table
from reproduction.run import Store
from reproduction.tables_4_to_6 import table4

from corral import ConstrainedGaussianMixture
from corral.cli.app import app
from corral.cli.app import run as run_command
from corral.cli.output import ProgressBar
from corral.cli.reproduce import NAMES, find_benchmarks

tied = partial(ConstrainedGaussianMixture, covariance="tied")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A quick run of everything: the folder of the page and that of what was computed."""
    folder = tmp_path_factory.mktemp("reproduction")
    with pytest.MonkeyPatch.context() as patch:
        # The choice of a covariance takes most of the time and is tested elsewhere.
        patch.setitem(METHODS, "Gaussian", lambda X, k, seed: tied(k, random_state=seed))
        page = reproduce(quick=True, out=folder / "page", cache=folder / "cache")
    return page.parent, folder / "cache"


def test_page_has_every_experiment_and_the_seed(run):
    text = (run[0] / "README.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert headings == ["Summary", *(experiment.title for experiment in EXPERIMENTS.values())]
    assert "Seed 0," in text
    assert "nan" not in text


def test_page_of_the_docs_has_the_same_sections():
    page = Path(__file__).parents[2] / "docs" / "reproduction" / "README.md"
    headings = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert headings == ["Summary", *(experiment.title for experiment in EXPERIMENTS.values())]


def test_pictures_of_the_page_exist_and_are_small(run):
    text = (run[0] / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert len(pictures) == len(set(pictures)) == 8
    for name in pictures:
        content = (run[0] / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < 300_000


def test_tables_of_the_page_are_rectangular(run):
    text = (run[0] / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1


@pytest.mark.parametrize("method", ESTIMATORS)
def test_estimators_break_no_rule(run, method):
    records = [
        json.loads(line)
        for path in run[1].glob("*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    found = [entry["record"] for entry in records if f"/{method}" in entry["key"]]
    measured = [record for record in found if "ari" in record]
    assert measured
    assert all(record["cardv"] == record["mlv"] == record["clv"] == 0 for record in measured)


def test_second_run_computes_nothing_and_writes_the_same(run, tmp_path, monkeypatch):
    monkeypatch.setattr(Fit, "run", lambda self: pytest.fail(f"{self.key} is run again"))
    page = reproduce(quick=True, out=tmp_path, cache=run[1])
    assert page.read_text(encoding="utf-8") == (run[0] / "README.md").read_text(encoding="utf-8")


def fake(record=None, stop_after=None):
    """A Fit.run that is quick, counts, and can be stopped."""
    calls = []

    def run(self):
        if stop_after is not None and len(calls) == stop_after:
            raise KeyboardInterrupt
        calls.append(self.key)
        plain = dict.fromkeys((*MEASURES, "cost", "cost_truth"), 0.0)
        return record or {"seconds": 0.0, "ari": 50.0, **plain}

    return run, calls


MEASURES = ("mi", "hi", "objective", "truth", "mlv", "clv", "cardv")


def test_stopped_run_goes_on_where_it_was(tmp_path, monkeypatch):
    first, done = fake(stop_after=11)
    monkeypatch.setattr(Fit, "run", first)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["table2", "table6"], quick=True, out=tmp_path, cache=tmp_path)
    second, rest = fake()
    monkeypatch.setattr(Fit, "run", second)
    page = reproduce(["table2", "table6"], quick=True, out=tmp_path, cache=tmp_path)
    assert len(done) == 11
    assert not set(done) & set(rest)
    assert len({*done, *rest}) == len(done) + len(rest)
    # Only what is complete is shown, and the page tells what is not.
    text = page.read_text(encoding="utf-8")
    assert "## Table 6" in text
    assert "## Table 4" not in text
    assert "Not run yet with this seed:" in text


def test_fresh_forgets(tmp_path, monkeypatch):
    again, keys = fake()
    monkeypatch.setattr(Fit, "run", again)
    for fresh in (False, False, True):
        reproduce(["table2"], quick=True, out=tmp_path, cache=tmp_path, fresh=fresh)
    assert len(keys) == 2 * len(set(keys))


def test_half_a_line_is_passed_over(tmp_path):
    store = Store(tmp_path, "group", 0, True)
    whole, half = Fit("iris", "K-means", draw=0), Fit("iris", "K-means", draw=1)
    store.add(whole, {"ari": 1.0})
    store.add(half, {"ari": 2.0})
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    again = Store(tmp_path, "group", 0, True)
    assert whole in again
    assert half not in again


def test_stores_of_seeds_and_sizes_are_apart(tmp_path):
    cell = Fit("iris", "K-means")
    Store(tmp_path, "group", 0, True).add(cell, {})
    assert cell not in Store(tmp_path, "group", 1, True)
    assert cell not in Store(tmp_path, "group", 0, False)


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cells_have_names_of_their_own(name, quick):
    cells = EXPERIMENTS[name].cells(Scale(0, quick))
    different = {cell.key: cell for cell in cells}
    assert all(different[cell.key] == cell for cell in cells)


def test_all_methods_get_the_same_links():
    def links(draw, count):
        rules = rules_for("iris", "pair", count, count, draw, 0)
        return [rule.pairs.tolist() for rule in rules]

    assert links(3, 40) == links(3, 40)
    assert links(3, 40) != links(4, 40)
    few, many = links(3, 20), links(3, 40)
    assert few == [pairs[:20] for pairs in many]


def test_links_agree_with_the_classes_and_sizes_are_theirs():
    _, y, _ = points("wine")
    sizes, must, cannot = rules_for("wine", "mix", 30, 30, 0, 0)
    assert sorted(sizes.sizes) == sorted(np.bincount(y))
    assert (y[must.pairs[:, 0]] == y[must.pairs[:, 1]]).all()
    assert (y[cannot.pairs[:, 0]] != y[cannot.pairs[:, 1]]).all()


def test_plans_are_those_of_the_paper():
    full = table4(Scale())
    assert len(full) == 2 * 5 * 10 * 6
    assert {cell.must for cell in full} == {20, 40, 60, 80, 100}
    assert all(cell.must == cell.cannot for cell in full)
    assert {cell.method for cell in table7(Scale())} <= set(METHODS)
    assert len({cell.data for cell in table7(Scale())}) == 10


def test_seed_decides(tmp_path):
    cell, other = (Fit("Hepatitis1", "projected, one start", "pair", 5, 5, 0, s) for s in (0, 1))
    first, again = cell.run(), cell.run()
    del first["seconds"], again["seconds"]
    assert first == again
    rules = [rules_for("Hepatitis1", "pair", 5, 5, 0, c.seed)[0].pairs for c in (cell, other)]
    assert rules[0].tolist() != rules[1].tolist()


def test_dead_end_is_an_x():
    dead, alive = {"dead_end": True, "seconds": 1.0}, {"ari": 80.0, "seconds": 1.0}
    assert ours([dead, dead], "ari") == "x"
    assert ours([alive, dead, alive], "ari") == "80.00 ± 0.00 (1 of 3 x)"
    assert spread([dead], "ari") is None


def test_numbers_are_shown_with_their_deviation():
    assert shown((87.142, 1.058), "ari") == "87.14 ± 1.06"
    assert shown((-0.0001, 0.0), "ari") == "0.00 ± 0.00"
    assert spread([{"ari": 1.0}, {"ari": 3.0}], "ari") == (2.0, pytest.approx(2.0**0.5))
    assert table(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | ---: |\n| x | 1 |\n"


def test_demand_is_the_papers_mean_less_two():
    record = {"ari": 72.0, "objective": 1.0, "truth": 2.0, "cardv": 0, "mlv": 0, "clv": 1}
    assert Demand("row", 74.0, [record]).reached
    assert not Demand("row", 74.1, [record]).reached
    assert Demand("row", 74.0, [record, record]).broken == 2


def test_ranks_share_ties_and_put_no_answer_last(tmp_path):
    fields = dict.fromkeys(MEASURES, 0)
    count, free = len(CONTESTANTS), CONTESTANTS.index(("K-means, best of 10", "free"))
    first, second = (number for number in range(2) if number != free)
    records = []
    for cell in table7(Scale(0, True)):
        number = CONTESTANTS.index((cell.method, cell.variant))
        score = 90.0 if number in (first, second) else float(number)
        record = {"seconds": 1.0, "ari": score, **fields}
        records.append((cell, {"dead_end": True, "seconds": 1.0} if number == free else record))
    contest = Contest(Results(Scale(0, True), tmp_path, records))
    ranks = contest.ranks(range(count))
    assert ranks[free] == count
    assert ranks[first] == ranks[second] == 1.5
    assert ranks.sum() == pytest.approx(sum(range(1, count + 1)))
    assert not contest.obeys[free].any()
    assert contest.rows("free") == [free]


def test_lowest_objective_of_a_broken_answer_does_not_win(tmp_path):
    records = []
    for cell in table7(Scale(0, True)):
        record = {"seconds": 1.0, "ari": 1.0, **dict.fromkeys(MEASURES, 0)}
        rival = cell.method == "E2CP"
        record |= {"objective": 1.0 if rival else 2.0, "mlv": int(rival and cell.draw == 0)}
        records.append((cell, record))
    contest = Contest(Results(Scale(0, True), tmp_path, records))
    own = contest.names.index("projected-Pair")
    assert contest.wins(own, contest.rows("pair")) == 0.5


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_is_silent_unless_on_a_terminal(monkeypatch):
    monkeypatch.setattr("corral.cli.output.PATIENCE", 0.0)
    quiet, terminal = io.StringIO(), Terminal()
    for stream in (quiet, terminal):
        with ProgressBar(stream, 2) as bar:
            bar.show(1, "1/2  table2: iris")
    assert quiet.getvalue() == ""
    assert "[#####.....] 1/2  table2" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")


def test_time_left_is_that_of_the_rest_at_the_same_speed(monkeypatch):
    clock = iter([100.0, 160.0])
    # Not the function of the module itself, which threads of other tests call too.
    own = SimpleNamespace(monotonic=lambda: next(clock), process_time=time.process_time)
    monkeypatch.setattr("corral.deadline.time", own)
    assert ProgressBar(Terminal(), 6).minutes_left(2) == 2.0


def test_a_run_on_a_terminal_shows_its_progress(tmp_path, monkeypatch):
    monkeypatch.setattr("corral.cli.output.PATIENCE", 0.0)
    monkeypatch.setattr("corral.cli.output.PACE", 0.0)
    monkeypatch.setattr(Fit, "run", fake()[0])
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    reproduce(["table2"], quick=True, out=tmp_path, cache=tmp_path)
    assert " 8/8  0.0 min left  table2: iris/free/" in terminal.getvalue()


def test_command_writes_one_experiment(tmp_path):
    result = CliRunner().invoke(
        app, ["reproduce", "table1", "--quick", "--out", str(tmp_path), "--cache", str(tmp_path)]
    )
    assert result.exit_code == 0
    assert "## Table 1" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_command_names_all_experiments():
    assert tuple(EXPERIMENTS) == NAMES


def test_several_processes_give_the_same(tmp_path):
    folders = [tmp_path / str(jobs) for jobs in (1, 2)]
    for jobs, folder in enumerate(folders, 1):
        words = ["reproduce", "table2", "--quick", "--jobs", str(jobs), "--out", str(folder)]
        assert CliRunner().invoke(app, [*words, "--cache", str(folder)]).exit_code == 0
    one, two = ((folder / "README.md").read_text(encoding="utf-8") for folder in folders)
    assert "## Table 2" in one
    assert one == two


@pytest.fixture
def checkout(tmp_path):
    """A folder that looks like a checkout, whose experiments say where they are from."""
    package = tmp_path / "checkout" / "benchmarks" / "reproduction"
    package.mkdir(parents=True)
    (tmp_path / "checkout" / "src" / "corral").mkdir(parents=True)
    (package / "__init__.py").write_text("def reproduce(names, **options): return __file__\n")
    return tmp_path / "checkout"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Pretend that corral is installed from a wheel, and that no experiments were imported."""
    wheel = tmp_path / "lib" / "site-packages" / "corral" / "cli" / "reproduce.py"
    monkeypatch.setattr(sys.modules["corral.cli.reproduce"], "__file__", str(wheel))
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "benchmarks" not in path])
    for name in [name for name in sys.modules if name.partition(".")[0] == "reproduction"]:
        monkeypatch.delitem(sys.modules, name)


def test_editable_install_finds_its_own_checkout(monkeypatch, checkout):
    monkeypatch.chdir(checkout)
    own = Path(__file__).parents[2] / "benchmarks"
    assert find_benchmarks() == own.resolve()


@pytest.mark.parametrize("where", [".", "benchmarks", "src/corral"])
def test_wheel_finds_the_checkout_around_the_current_folder(
    installed, checkout, monkeypatch, where
):
    monkeypatch.chdir(checkout / where)
    result = CliRunner().invoke(app, ["reproduce", "table1"])
    assert result.exit_code == 0
    wanted = checkout / "benchmarks" / "reproduction" / "__init__.py"
    assert Path(result.output.strip()).resolve() == wanted.resolve()


def test_wheel_without_a_checkout_says_where_the_experiments_are(
    installed, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert run_command(["reproduce", "table1"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "get corral's source and run this command in its folder" in said.err
    assert list(tmp_path.iterdir()) == []


def test_folder_runs_as_a_script(tmp_path):
    folder = Path(__file__).parents[2] / "benchmarks" / "reproduction"
    words = [str(folder), "table1", "--quick", "--out", str(tmp_path), "--cache", str(tmp_path)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str(tmp_path / "README.md")


def test_module_does_the_same(tmp_path, capsys):
    where = ["--out", str(tmp_path), "--cache", str(tmp_path / "cache")]
    assert main(["table1", "--quick", "--seed", "5", *where]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "README.md")
    assert "Seed 5," in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match="'table9' is not an experiment; choose from table1,"):
        reproduce(["table9"], out=tmp_path, cache=tmp_path)


# What the paper prints, table by table, in its own words.
def test_numbers_of_the_paper():
    assert paper.TABLE1["ionosphere"] == (351, 33, 2)
    assert paper.TABLE2["objective"]["glass"] == ((81.277, 5.49), (85.944, 1.307))
    assert paper.TABLE2["hi"]["iris"] == ((70.969, 9.51), (75.590, 0.008))
    assert paper.TABLE3["ari"]["ImBalanced 0.1"] == ((34.67, 0.0), (99.46, 0.37))
    assert paper.TABLE3["mi"]["Balanced (3, 3)"][0] == (0.0501, 0.1583)
    assert paper.TABLE4_ARI["wine"][60][-1] == (98.32, 0.0)
    assert paper.TABLE4_ARI["iris"][60][0] is None
    assert paper.TABLE4_BROKEN["iris"][80] == (None, (0, 20), (0, 1), (2, 0), (0, 0))
    assert paper.TABLE5_MI["iris"][20][1] == (0.09, 0.036)
    assert paper.TABLE5_HI["wine"][80][3] == (59.63, 0.0)
    assert paper.TABLE6["ari"]["Hepatitis"][2] == (46.25, 15.74)
    assert paper.TABLE6_SECONDS["breast cancer"] == (3.36, 3.27, 9.27)


def pairs_of(first, second):
    """Matching entries of two tables, without those that are an x."""
    for row, cells in first.items():
        for count, entries in cells.items():
            for one, other in zip(entries, second[row][count], strict=True):
                assert (one is None) == (other is None)
                if one is not None:
                    yield one[0], other[0]


def test_mi_and_hi_of_the_paper_belong_together():
    # HI = 100 (1 - 2 MI), and MI is printed to two digits in table 5.
    for mi, hi in pairs_of(paper.TABLE5_MI, paper.TABLE5_HI):
        assert hi == pytest.approx(100 * (1 - 2 * mi), abs=1.3)
    for name, cells in paper.TABLE2["mi"].items():
        for mi, hi in zip(cells, paper.TABLE2["hi"][name], strict=True):
            assert hi[0] == pytest.approx(100 * (1 - 2 * mi[0]), abs=0.2)
