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

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    """One function or method.

    ``body`` is the number of lines from the first statement after the docstring to the last line;
    comments, blank lines and nested functions count.  ``parameters`` leaves out ``self`` and
    ``cls``.  ``decorators`` are dotted names, such as ``triton.jit``.
    """

    module: str
    name: str
    line: int
    body: int
    parameters: int
    decorators: frozenset[str]

    @property
    def short_name(self) -> str:
        """The name without the class or function around it."""
        return self.name.rpartition(".")[2]

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.name}"


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

    def functions(self) -> list[Function]:
        """All functions and methods, nested ones included."""
        return [found for name, tree in self.trees.items() for found in _functions(name, tree)]

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


def _functions(module: str, tree: ast.AST, prefix: str = "") -> Iterator[Function]:
    for node in ast.iter_child_nodes(tree):
        name = f"{prefix}{getattr(node, 'name', '')}"
        if isinstance(node, Definition):
            yield _measure(module, name, node)
        inner = f"{name}." if isinstance(node, Definition | ast.ClassDef) else prefix
        yield from _functions(module, node, inner)


def _measure(module: str, name: str, node: Definition) -> Function:
    statements = node.body[1:] if ast.get_docstring(node) is not None else node.body
    body = node.end_lineno - statements[0].lineno + 1 if statements else 0
    given = node.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    names = [argument.arg for argument in arguments if argument is not None]
    bound = bool(names) and names[0] in ("self", "cls")
    calls = (item.func if isinstance(item, ast.Call) else item for item in node.decorator_list)
    decorators = frozenset(ast.unparse(call) for call in calls)
    return Function(module, name, node.lineno, body, len(names) - bound, decorators)


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
