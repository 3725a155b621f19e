from __future__ import annotations

import csv
import io
from types import SimpleNamespace

import numpy as np
import pytest

from corral.cli.app import run

IDS = [f"p{row}" for row in range(12)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with twelve points on a line, their demand, kind and known cluster, and pairs."""
    monkeypatch.chdir(tmp_path)
    x = [0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0, 20.0, 21.0, 22.0, 23.0]
    with (tmp_path / "points.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "x", "y", "demand", "kind", "known"])
        for row, name in enumerate(IDS):
            known = {0: 2, 11: 0}.get(row, "")
            writer.writerow([name, x[row], x[row] / 2, row + 1, "ab"[row % 2], known])
    (tmp_path / "ml.csv").write_text("first,second\np0,p4\n")
    (tmp_path / "cl.csv").write_text("p1,p2\n")
    (tmp_path / "near.csv").write_text("id,x,y\n" + "".join(f"p{i},{i},{i}\n" for i in range(12)))
    return tmp_path


@pytest.fixture
def corral(capsys):
    """Run a command line; give its exit code and what it printed."""

    def call(*words):
        code = run([str(word) for word in words])
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return call


@pytest.fixture
def labels_of():
    """Labels by id from the text of an output."""

    def read(text, delimiter=","):
        rows = list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
        return {row["id"]: int(row["label"]) for row in rows}

    return read


@pytest.fixture
def points():
    x = np.array([0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0, 20.0, 21.0, 22.0, 23.0])
    return np.column_stack([x, x / 2])
