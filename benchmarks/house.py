"""Print figures about the structure of the source, which ``tests/test_structure.py`` limits.

Run ``python benchmarks/house.py [CHECKOUT ...]``; without arguments it reads the checkout of this
file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from structure import Function, House

ROOT = Path(__file__).resolve().parents[1]


def worst(figures: dict[str, int], count: int) -> list[tuple[str, str]]:
    """The largest figures as rows of the table."""
    largest = sorted(figures.items(), key=lambda item: -item[1])[:count]
    return [(f"  {name}", f"{figure}") for name, figure in largest]


def label(function: Function) -> str:
    """The name of the function, marked if it is a Triton kernel or a click command."""
    kinds = {"triton.jit": "kernel", "click.command": "command"}
    kind = next((kinds[name] for name in function.decorators & set(kinds)), "")
    return f"{function} ({kind})" if kind else str(function)


def table(house: House, count: int) -> list[tuple[str, str]]:
    """The rows of the table: each figure, followed by its worst cases."""
    functions, cycles, clocks = house.functions(), house.cycles(), house.clock_reads()
    constructors = [found for found in functions if found.short_name == "__init__"]
    others = [found for found in functions if found.short_name != "__init__"]
    rows = [
        ("lines", f"{sum(house.lines.values())}"),
        ("modules", f"{len(house.lines)}"),
        ("lines of the median module", f"{house.median_lines:g}"),
        ("modules of more than 350 lines", f"{sum(n > 350 for n in house.lines.values())}"),
        *worst(house.lines, count),
        ("bodies of more than 50 lines", f"{sum(found.body > 50 for found in functions)}"),
        *worst({label(found): found.body for found in functions}, count),
        ("more than 8 parameters", f"{sum(found.parameters > 8 for found in others)}"),
        *worst({label(found): found.parameters for found in others}, count),
        ("constructors of more than 8", f"{sum(found.parameters > 8 for found in constructors)}"),
        ("groups of modules that import each other", f"{len(cycles)}"),
    ]
    rows += [(f"  {' > '.join(house.shortest_cycle(group))}", f"{len(group)}") for group in cycles]
    rows.append(("modules that read the clock", f"{len(clocks)}"))
    rows += [(f"  {name}", f"{len(lines)}") for name, lines in clocks.items()]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[ROOT], metavar="CHECKOUT")
    parser.add_argument("--count", type=int, default=5, help="worst cases to show (5)")
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
