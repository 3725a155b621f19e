"""Limits on the source of the package: its size, what steers it, imports, its clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from house import facts_before, inner_numbers, of_packages, steering_numbers
from structure import CLOCKS, House

PACKAGE = Path(__file__).parents[1] / "src" / "corral"

MOST_LINES = 49_600
MOST_MODULES = 215
#: Names of numbers in the engine on which the search depends.
MOST_NUMBERS = 60
#: Lines inside its functions with other numbers, most of them tolerances: no number hides there.
MOST_INNER = 60
#: Facts about the problem that are decided before the search and steer it.
MOST_FACTS = 9

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


def test_numbers_inside_functions(house):
    inner = inner_numbers(house)
    assert sum(map(len, inner.values())) <= MOST_INNER, inner


def test_facts_decided_before_the_search(house):
    facts = facts_before(house)
    assert sum(map(len, facts.values())) <= MOST_FACTS, facts


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

EARTH_RADIUS = 6371.0

def f(x):
    INSIDE = 1
    return 0.5 * x**2 - 1e-9 * INSIDE
"""


def written(folder, files):
    """The house of a package ``corral`` with these files."""
    for name, text in files.items():
        path = folder / "corral" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return House.read(folder / "corral")


def test_what_is_a_number_that_steers(tmp_path):
    files = dict.fromkeys(("search/__init__.py", "admm/__init__.py"), "")
    files |= dict.fromkeys(("search/far.py", "numbers.py", "report.py"), STEERED)
    house = written(tmp_path, files | {"admm/algorithm1.py": STEERED})
    names = ["ONE", "SHARE", "TIMES", "SMALL"]
    assert steering_numbers(house) == {"corral.search.far": names, "corral.numbers": names}
    assert inner_numbers(house) == {"corral.search.far": [15], "corral.numbers": [15]}


PROBLEM = """
class Problem:
    rules: int

    @property
    def sample(self) -> int:
        return 1

    @cached_property
    def free(self) -> bool:
        return True

    @property
    def unread(self) -> bool:
        return True

    @property
    def n_clusters(self) -> int:
        return 2

    @property
    def points(self) -> FloatArray:
        return self.rows

    def small(self) -> bool:
        return True
"""


def test_what_is_a_fact_decided_before_the_search(tmp_path):
    read = "def f(p):\n    return p.sample, p.free, p.n_clusters, p.points, p.small(), p.rules\n"
    files = {"problem.py": PROBLEM, "solve.py": read, "report.py": "def f(p): return p.unread\n"}
    facts = facts_before(written(tmp_path, files))
    assert facts == {"corral.problem.Problem": ["sample", "free"]}
