"""Command lines, run by a shell in a folder with some files, and what they must give."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzing.rules import Rule

from .case import N, UnclearError, WrongError, link, obeys, points, sizes

#: Rows that commands cluster: ``plain.csv`` has two columns, ``shops.csv`` also names and values.
KINDS = ["a", "b"] * (N // 2)
#: Rules of ``OPTIONS``: files of pairs, and sizes.
OPTIONS = "--must-link ml.csv --cannot-link cl.csv --sizes 5,4,3"
RULES: list[Rule] = [link("MustLink", (0, 1)), link("CannotLink", (2, 5)), sizes([5, 4, 3])]


def prepare() -> None:
    """Write the files, and ``corral``, which starts the command line of this checkout."""
    X = points()
    lines = [f"{x!r},{y!r}" for x, y in X.tolist()]
    Path("plain.csv").write_text("x,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    rows = [f"s{i},{line},{i + 1},{KINDS[i]}" for i, line in enumerate(lines)]
    Path("shops.csv").write_text("id,x,y,load,kind\n" + "\n".join(rows) + "\n", encoding="utf-8")
    Path("ml.csv").write_text("0,1\n", encoding="utf-8")
    Path("cl.csv").write_text("2,5\n", encoding="utf-8")
    labels = "".join(f"{i},{i % 3}\n" for i in range(N))
    Path("labels.csv").write_text("id,label\n" + labels, encoding="utf-8")
    Path("bin").mkdir()
    script = Path("bin/corral")
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m corral.cli "$@"\n', encoding="utf-8")
    script.chmod(0o755)


@dataclass(frozen=True)
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str


def shell(line: str, **environment: str) -> Ended:
    """Run a line by bash, with ``corral`` on its path."""
    path = f"{Path('bin').absolute()}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-c", line],
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    out, err = (stream.decode("utf-8", "replace") for stream in (ended.stdout, ended.stderr))
    return Ended(ended.returncode, out, err)


def fails(line: str, *words: str, code: int = 2, silent: bool = False) -> None:
    """The line ends with that code and one sentence with these words, and no traceback."""
    ended = shell(line)
    if "Traceback" in ended.err or "unexpected" in ended.err or ended.code < 0:
        raise UnclearError(f"exit code {ended.code}: {ended.err[-300:]}")
    if ended.code == 0:
        raise WrongError(f"exit code 0, and {ended.out[:200]!r} {ended.err[-200:]!r}")
    if ended.code != code:
        raise UnclearError(f"exit code {ended.code}, not {code}: {ended.err[-300:]}")
    if not silent and "corral:" not in ended.err:
        raise UnclearError(f"no sentence, but {ended.err[-300:]!r}")
    if missing := [word for word in words if word.lower() not in ended.err.lower()]:
        raise UnclearError(f"{ended.err[-300:]!r} lacks {missing}")


def labelled(line: str, rules: list[Rule], n: int = N, path: str | None = "out.csv") -> Ended:
    """The line ends with 0, and the labels in the file or on the standard output obey the rules."""
    ended = shell(line)
    if ended.code:
        raise UnclearError(f"exit code {ended.code}: {ended.err[-300:]}")
    text = ended.out if path is None else Path(path).read_text(encoding="utf-8")
    obeys(labels_in(text), rules, n)
    return ended


def labels_in(text: str) -> list[int]:
    """The column of labels of a CSV text."""
    rows: list[dict[str, Any]] = list(csv.DictReader(text.splitlines()))
    return [int(row["label"]) for row in rows]


def unfinished() -> list[str]:
    """Names of temporary files that a command left."""
    return sorted(path.name for path in Path().iterdir() if path.name.startswith(".corral"))
