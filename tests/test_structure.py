"""Limits on the source of the package: its size, numbers that steer it, imports, its clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from house import of_packages, steering_numbers
from structure import CLOCKS, House

PACKAGE = Path(__file__).parents[1] / "src" / "corral"

MOST_LINES = 37_000
MOST_MODULES = 200
#: Names of numbers in the engine on which the search depends; 60 is the aim.
MOST_NUMBERS = 140

#: The only module that may read a clock.
CLOCK = "corral.deadline"


@pytest.fixture(scope="module")
def house():
    return House.read(PACKAGE)


def test_lines_in_all(house):
    assert sum(house.lines.values()) <= MOST_LINES


def test_number_of_modules(house):
    assert len(house.lines) <= MOST_MODULES


def test_numbers_that_steer_the_engine(house):
    steering = {name: len(numbers) for name, numbers in steering_numbers(house).items()}
    assert sum(steering.values()) <= MOST_NUMBERS, steering


def test_no_import_cycles(house):
    cycles = [(len(group), house.shortest_cycle(group)) for group in house.cycles()]
    assert cycles == []


def test_one_module_reads_the_clock(house):
    assert set(house.clock_reads()) <= {CLOCK}


# The measurements themselves, on a package small enough to count by hand.

PARTS = {
    "__init__.py": "",
    "one.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .two import g\n",
    "two.py": 'def g(self, a, *b, c=0, **d):\n    """Text.\n\n    More.\n    """\n    x = 1\n\n'
    "    # a comment\n    def h(y):\n        return y\n\n    return h(x)\n",
    "three.py": "def f():\n    from . import two\n    return two.g\n",
    "sub/__init__.py": "from .four import k\n",
    "sub/four.py": "import small.three as three\nfrom ..one import g\nk = 1\n",
}


@pytest.fixture
def small(tmp_path):
    def make(**changed):
        for name, text in (PARTS | {f"{key}.py": text for key, text in changed.items()}).items():
            path = tmp_path / "small" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return House.read(tmp_path / "small")

    return make


def test_lines_and_names_of_modules(small):
    assert small().lines == {
        "small": 0,
        "small.one": 3,
        "small.two": 12,
        "small.three": 3,
        "small.sub": 1,
        "small.sub.four": 3,
    }
    assert small().median_lines == 3


def test_imports_are_found_wherever_they_stand(small):
    assert small().imports() == {
        "small": set(),
        "small.one": {"small.two"},
        "small.two": set(),
        "small.three": {"small.two"},
        "small.sub": {"small.sub.four"},
        "small.sub.four": {"small.three", "small.one"},
    }


def test_cycles(small):
    assert small().cycles() == []
    house = small(two="from . import three\n")
    assert house.cycles() == [["small.three", "small.two"]]
    house = small(two="from .sub import k\nfrom . import two\n")
    assert house.cycles() == [
        ["small.one", "small.sub", "small.sub.four", "small.three", "small.two"],
        ["small.two"],
    ]
    assert house.shortest_cycle(house.cycles()[0]) == ["small.two", "small.two"]


@pytest.mark.parametrize("clock", sorted(CLOCKS))
@pytest.mark.parametrize(
    "text",
    ["import time\ntime.{}()\n", "\nfrom time import {} as now\n", "import time as t\nf(t.{})\n"],
)
def test_reads_of_the_clock(small, clock, text):
    assert small(two=text.format(clock)).clock_reads() == {"small.two": [2]}


def test_what_is_no_read_of_the_clock(small):
    text = '"""time.monotonic()"""\nimport time\ntime.sleep(1)\nmodel.time()\nx.monotonic()\n'
    assert small(two=text).clock_reads() == {}


def test_modules_of_packages():
    names = ["corral", "corral.rows", "corral.rows.memory", "corral.rows_of", "corral.search.far"]
    assert of_packages(names, ["rows"]) == ["corral.rows", "corral.rows.memory"]
    assert of_packages(names, ["search", "admm"]) == ["corral.search.far"]


STEERED = """
ONE = 1
SHARE, TIMES = 0.5, 1 << 20
SMALL: float = -1e-9
FIRST, SECOND = 0, 1
NAMES = ("a", "b")
ON = True
MORE = ONE + 1
size = 3

def f():
    INSIDE = 1
"""


def test_what_is_a_number_that_steers(tmp_path):
    for name in ("search/__init__.py", "search/numbers.py", "report.py", "admm/__init__.py"):
        path = tmp_path / "corral" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STEERED if "numbers" in name or "report" in name else "", encoding="utf-8")
    paper = tmp_path / "corral" / "admm" / "algorithm1.py"
    paper.write_text(STEERED, encoding="utf-8")
    house = House.read(tmp_path / "corral")
    assert steering_numbers(house) == {"corral.search.numbers": ["ONE", "SHARE", "TIMES", "SMALL"]}
