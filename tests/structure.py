"""Figures about the source of the package, read from its syntax trees.

``test_structure.py`` compares them with limits; ``benchmarks/house.py`` prints them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

#: Functions of the module ``time`` that read a clock.
NAMES = ("monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime", "time")
CLOCKS = {f"{name}{unit}" for name in NAMES for unit in ("", "_ns")}


@dataclass(frozen=True, repr=False)
class House:
    """A package: the syntax tree and the number of lines of each module, by its full name."""

    trees: dict[str, ast.Module]
    lines: dict[str, int]
    packages: frozenset[str]

    @classmethod
    def read(cls, package: Path) -> House:
        """Read all modules below the folder of a package."""
        trees, lines, packages = {}, {}, set()
        for path in sorted(package.rglob("*.py")):
            parts = path.relative_to(package.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text(encoding="utf-8")
            trees[name], lines[name] = ast.parse(text), len(text.splitlines())
            if parts[-1] == "__init__":
                packages.add(name)
        return cls(trees, lines, frozenset(packages))

    @property
    def median_lines(self) -> float:
        """Lines of the median module."""
        return median(self.lines.values())

    def imports(self) -> dict[str, set[str]]:
        """Modules of the package that each module imports.

        Imports inside functions and under ``if TYPE_CHECKING`` count as well.  A module does not
        import the packages that contain it unless it names them.
        """
        return {name: set(self._imported(name, tree)) for name, tree in self.trees.items()}

    def _imported(self, name: str, tree: ast.Module) -> Iterator[str]:
        parts = name.split(".")
        package = parts if name in self.packages else parts[:-1]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from filter(None, (self._module(alias.name) for alias in node.names))
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else []
                source = ".".join([*base, *filter(None, [node.module])])
                targets = (self._module(f"{source}.{alias.name}") for alias in node.names)
                yield from filter(None, targets)

    def _module(self, name: str) -> str | None:
        """The module that a full name belongs to, None if it is not of this package."""
        while name and name not in self.trees:
            name = name.rpartition(".")[0]
        return name or None

    def cycles(self) -> list[list[str]]:
        """Groups of modules that import each other, the largest first."""
        graph = self.imports()
        groups = [group for group in _strong_components(graph) if len(group) > 1]
        selves = [[name] for name, others in graph.items() if name in others]
        return sorted(groups + selves, key=lambda group: (-len(group), group))

    def shortest_cycle(self, group: list[str]) -> list[str]:
        """A shortest way along imports from a module of the group back to itself."""
        graph = {name: others & set(group) for name, others in self.imports().items()}
        return min((_way_back(graph, name) for name in group), key=len)

    def clock_reads(self) -> dict[str, list[int]]:
        """Lines of each module that name a clock of the module ``time``."""
        reads = {name: sorted(_clock_lines(tree)) for name, tree in self.trees.items()}
        return {name: found for name, found in reads.items() if found}


def _clock_lines(tree: ast.Module) -> set[int]:
    names = {"time"}
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname for alias in node.names if alias.name == "time" and alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module == "time" and not node.level:
            lines |= {node.lineno for alias in node.names if alias.name in CLOCKS | {"*"}}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in CLOCKS:
            value = node.value
            if isinstance(value, ast.Name) and value.id in names:
                lines.add(node.lineno)
    return lines


def _strong_components(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    groups = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        open_nodes.append(node)
        for other in sorted(graph[node]):
            if other not in number:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in open_nodes:
                lowest[node] = min(lowest[node], number[other])
        if lowest[node] == number[node]:
            start = open_nodes.index(node)
            groups.append(sorted(open_nodes[start:]))
            del open_nodes[start:]

    for node in graph:
        if node not in number:
            visit(node)
    return groups


def _way_back(graph: dict[str, set[str]], start: str) -> list[str]:
    """The shortest way from a node to itself, by breadth-first search."""
    ways, seen = [[start]], set()
    for way in ways:
        for other in sorted(graph[way[-1]]):
            if other == start:
                return [*way, start]
            if other not in seen:
                seen.add(other)
                ways.append([*way, other])
    raise ValueError(f"{start} is in no cycle")
