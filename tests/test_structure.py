"""Limits on the source of the package: its size, its functions, its imports and its clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from structure import CLOCKS, House

PACKAGE = Path(__file__).parents[1] / "src" / "corral"

MOST_LINES = 44_800
MOST_MODULES = 274
MEDIAN_LINES = (100, 250)
LONGEST_MODULE = 650
LONGEST_BODY = 50
MOST_PARAMETERS = 8

#: The only module that may read a clock.
CLOCK = "corral.deadline"


@pytest.fixture(scope="module")
def house():
    return House.read(PACKAGE)


def is_constructor(function):
    return function.short_name == "__init__"


def is_command(function):
    """Whether click calls it: its parameters are the options of a command."""
    return "click.command" in function.decorators


def too_much(figures, most):
    """What exceeds the limit, the largest first, for the message of the assertion."""
    above = {str(name): figure for name, figure in figures.items() if figure > most}
    return dict(sorted(above.items(), key=lambda item: -item[1]))


def test_lines_in_all(house):
    assert sum(house.lines.values()) <= MOST_LINES


def test_number_of_modules(house):
    assert len(house.lines) <= MOST_MODULES


def test_median_module(house):
    least, most = MEDIAN_LINES
    assert least <= house.median_lines <= most


def test_longest_module(house):
    assert too_much(house.lines, LONGEST_MODULE) == {}


def test_longest_body(house):
    bodies = {found: found.body for found in house.functions()}
    assert too_much(bodies, LONGEST_BODY) == {}


def test_most_parameters(house):
    free = (is_constructor, is_command)
    parameters = {
        found: found.parameters
        for found in house.functions()
        if not any(excepted(found) for excepted in free)
    }
    assert too_much(parameters, MOST_PARAMETERS) == {}


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


def test_bodies_and_parameters(small):
    measured = {found.name: (found.body, found.parameters) for found in small().functions()}
    assert measured == {"g": (7, 4), "g.h": (1, 1), "f": (2, 0)}


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
