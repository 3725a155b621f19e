"""Print figures about the structure of the source, which ``tests/test_structure.py`` limits.

Run ``python benchmarks/house.py [CHECKOUT ...]``; without arguments it reads the checkout of this
file.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from structure import House

ROOT = Path(__file__).resolve().parents[1]

#: The packages that search for labels.
ENGINE = ("rules", "rows", "search", "admm", "exact", "backends")
#: The modules whose numbers steer it, and those inside them whose numbers are of the paper.
STEERED = ("numbers", "rules", "rows", "search", "admm", "exact")
NOT_STEERED = ("admm.algorithm1",)
#: Constants of mathematics and of the earth: another value would be wrong.
CONSTANTS = ("COSINE_RADIUS", "EARTH_RADIUS", "GOLDEN")
#: Numbers inside functions that are parts of formulas and indices.
PLAIN = (0, 1, 2, 3, 4, 0.5)

#: Classes that are made before the search; their properties are facts about the problem.
DECIDED = {
    "corral.problem": ("Problem",),
    "corral.settings": ("Settings",),
    "corral.rules.rules": ("Rules",),
    "corral.rules.sums": ("SizeBounds",),
    "corral.rows.memory": ("MemoryRows",),
}
#: Who decides by these facts.
DECIDING = ("problem", "solve", "search", "admm", "exact")


def worst(figures: dict[str, int], count: int) -> list[tuple[str, str]]:
    """The largest figures as rows of the table."""
    largest = sorted(figures.items(), key=lambda item: -item[1])[:count]
    return [(f"  {name}", f"{figure}") for name, figure in largest]


def of_packages(names: Iterable[str], packages: Iterable[str]) -> list[str]:
    """Full names of the modules that belong to these packages of corral."""
    parts = tuple(f"corral.{package}" for package in packages)
    return [name for name in names if any(f"{name}.".startswith(f"{part}.") for part in parts)]


def steering_numbers(house: House) -> dict[str, list[str]]:
    """Names of the numbers that steer the engine, for each of its modules that has any.

    These are the upper-case names to which a module assigns numbers, or products of numbers, at its
    top level.  Integers from 0 on that one statement gives to several names tell cases apart; they
    do not count, nor do ``CONSTANTS``.
    """
    found = {
        name: [number for number in _numbers(house.trees[name]) if number not in CONSTANTS]
        for name in _steered(house)
    }
    return {name: numbers for name, numbers in found.items() if numbers}


def inner_numbers(house: House) -> dict[str, list[int]]:
    """Lines inside functions of the same modules with numbers other than ``PLAIN``.

    Most are tolerances and units of a solver; a number that steers has a name and is counted above.
    """
    found = {name: sorted(set(_inner(house.trees[name]))) for name in _steered(house)}
    return {name: lines for name, lines in found.items() if lines}


def _steered(house: House) -> list[str]:
    left_out = set(of_packages(house.trees, NOT_STEERED))
    return [name for name in of_packages(house.trees, STEERED) if name not in left_out]


def _inner(tree: ast.Module) -> Iterator[int]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Constant) and _is_number(node) and node.value not in PLAIN:
                    yield node.lineno


def facts_before(house: House) -> dict[str, list[str]]:
    """Facts decided before the search that steer it, for each class that has any.

    These are the properties of ``DECIDED`` that are a truth value or a number, and that a module of
    ``DECIDING`` reads.  Counts (``n_...``) are sizes of the data; what the user gave is a field.
    """
    trees = [house.trees[name] for name in of_packages(house.trees, DECIDING)]
    read = {
        node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
    found = {
        f"{module}.{node.name}": [name for name in _properties(node) if name in read]
        for module, classes in DECIDED.items()
        for node in ast.walk(house.trees.get(module, ast.Module([], [])))
        if isinstance(node, ast.ClassDef) and node.name in classes
    }
    return {name: facts for name, facts in found.items() if facts}


def _properties(made: ast.ClassDef) -> Iterator[str]:
    for node in made.body:
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            marks = {ast.unparse(mark) for mark in node.decorator_list}
            scalar = ast.unparse(node.returns) in ("bool", "int", "float")
            if scalar and marks & {"property", "cached_property"} and node.name[:2] != "n_":
                yield node.name


def _numbers(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            names = target.elts if several else [target]
            values = value.elts if several else [value]
            if several and [ast.unparse(each) for each in values] == [*map(str, range(len(names)))]:
                continue
            for name, number in zip(names, values, strict=True):
                if isinstance(name, ast.Name) and name.id.isupper() and _is_number(number):
                    yield name.id


def _is_number(node: ast.expr) -> bool:
    """Whether it is a number, or computed from numbers alone."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.BinOp) and _is_number(node.left) and _is_number(node.right)


def table(house: House, count: int) -> list[tuple[str, str]]:
    """The rows of the table: each figure, followed by its largest parts."""
    cycles, clocks, steering = house.cycles(), house.clock_reads(), steering_numbers(house)
    inner = {name: len(lines) for name, lines in inner_numbers(house).items()}
    facts = {name: len(found) for name, found in facts_before(house).items()}
    engine = of_packages(house.lines, ENGINE)
    in_package = {
        f"corral.{package}": sum(house.lines[name] for name in of_packages(house.lines, [package]))
        for package in ENGINE
    }
    numbers = {name: len(found) for name, found in steering.items()}
    rows = [
        ("lines of the engine", f"{sum(house.lines[name] for name in engine)}"),
        *worst(in_package, len(ENGINE)),
        ("lines", f"{sum(house.lines.values())}"),
        ("modules", f"{len(house.lines)}"),
        ("lines of the median module", f"{house.median_lines:g}"),
        *worst(house.lines, count),
        ("numbers that steer the engine", f"{sum(numbers.values())}"),
        *worst(numbers, len(numbers) if count else 0),
        ("lines with other numbers inside functions", f"{sum(inner.values())}"),
        *worst(inner, count),
        ("facts decided before the search", f"{sum(facts.values())}"),
        *worst(facts, len(facts) if count else 0),
        ("groups of modules that import each other", f"{len(cycles)}"),
    ]
    rows += [(f"  {' > '.join(house.shortest_cycle(group))}", f"{len(group)}") for group in cycles]
    rows.append(("modules that read the clock", f"{len(clocks)}"))
    rows += [(f"  {name}", f"{len(lines)}") for name, lines in clocks.items()]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[ROOT], metavar="CHECKOUT")
    parser.add_argument("--count", type=int, default=5, help="largest modules to show (5)")
    given = parser.parse_args()
    for checkout in given.checkouts:
        package = checkout / "src" / "corral"
        if not package.is_dir():
            parser.error(f"{checkout} has no src/corral")
        rows = table(House.read(package), given.count)
        width = max(len(name) for name, _ in rows)
        print(f"{checkout}\n" + "\n".join(f"{name:<{width}}  {figure:>6}" for name, figure in rows))


if __name__ == "__main__":
    main()
