"""Distributions over the cells, and the worst ten by each judgement."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .cells import SIZES
from .rules import RULES

Record = dict[str, Any]
Baseline = dict[tuple[str, int], Record]

#: Cells named in a list.
NAMED = 10

#: A ratio above 1 by less than this is rounding.
EQUAL = 1e-6

#: Quantiles that are printed.
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def read_results(path: Path) -> list[Record]:
    """The records of a results file; of a cell that is there twice, the last."""
    if not path.exists():
        return []
    records: dict[tuple[str, int], Record] = {}
    for line in path.read_text().splitlines():
        if line.endswith("}"):  # a run that was killed may leave half a line
            record = json.loads(line)
            records[record["cell"], record["seed"]] = record
    return list(records.values())


def read_baseline(path: Path) -> Baseline:
    """A table such as ``grid_06.json``, or a results file."""
    if path.suffix == ".jsonl":
        return {(r["cell"], r["seed"]): r for r in read_results(path)}
    table = json.loads(path.read_text())
    rows = (dict(zip(table["columns"], row, strict=True)) for row in table["cells"])
    return {(row["cell"], row["seed"]): row for row in rows}


def write_baseline(records: list[Record], path: Path, time_limit: float | None) -> None:
    """A results file as a compact table."""
    columns = ["cell", "seed", "objective", "seconds", "status"]
    rows = []
    records = [r for r in records if not r["status"].startswith("benchmark")]
    for record in sorted(records, key=lambda r: (r["cell"], r["seed"])):
        value = record.get("objective")
        short = {
            "objective": None if value is None or record["broken"] else float(f"{value:.10g}"),
            "seconds": round(record["seconds"], 2),
            "status": "broken" if record["broken"] else record["status"][:60],
        }
        rows.append([(record | short)[column] for column in columns])
    versions = sorted({record["version"] for record in records if "version" in record})
    head = {"version": ", ".join(versions), "time_limit": time_limit, "columns": columns}
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(json.dumps(head)[:-1] + ', "cells": [\n' + lines + "\n]}\n")


def ratio(record: Record, other: float | None) -> float | None:
    """The objective divided by another; None where one of them is missing."""
    value = record.get("objective")
    if value is None or other is None or record["broken"]:
        return None
    tiny = 1e-12 * max(record.get("kmeans_inertia", 0.0), other) + 1e-300
    return (value + tiny) / (other + tiny)


class Summary:
    """Prints the judgements of records; ``missed`` has the targets that are not met."""

    def __init__(self, records: list[Record], baseline: Baseline) -> None:
        benchmark = [r for r in records if r["status"].startswith("benchmark")]
        self.records = [r for r in records if not r["status"].startswith("benchmark")]
        self.baseline = baseline
        self.missed: list[str] = []
        if benchmark:
            self._cells("cells that the benchmark could not run", benchmark, lambda r: r["status"])

    def print(self) -> None:
        """Print everything."""
        print(f"\n{len(self.records)} cells")
        if not self.records:
            return
        self._answers()
        self._ratios("a greedy Lloyd", lambda r: r.get("greedy"), 1 + EQUAL, "0 above greedy")
        old = self._of_baseline
        self._ratios("the baseline", old, 1.005, "none above 1.005 of the baseline")
        self._times()
        print("\ntargets missed: " + ("; ".join(self.missed) or "none"))

    def _of_baseline(self, record: Record) -> float | None:
        found = self.baseline.get((record["cell"], record["seed"]), {})
        value = found.get("objective")
        return None if found.get("broken") else value

    def _need(self, met: bool, what: str) -> None:
        if not met:
            self.missed.append(what)

    def _answers(self) -> None:
        """Broken rules, cells without an answer, empty clusters."""
        broken = [r for r in self.records if r["broken"]]
        self._need(not broken, f"0 broken ({len(broken)})")
        self._cells("broken", broken, lambda r: "; ".join(r["broken"]))
        silent = [r for r in self.records if r["status"] != "ok"]
        known = [
            r for r in silent if r.get("greedy") is not None or self._of_baseline(r) is not None
        ]
        self._need(not known, f"an answer where a reference has one ({len(known)})")
        self._cells("no answer, though a reference has one", known, lambda r: r["status"][:70])
        rest = [r for r in silent if r not in known]
        self._cells("no answer, nor has a reference", rest, lambda r: r["status"][:70])
        empty = sorted((r for r in self.records if r.get("empty")), key=lambda r: -r["empty"])
        self._cells("empty clusters", empty, lambda r: str(r["empty"]))

    def _ratios(
        self, name: str, other: Callable[[Record], float | None], most: float, target: str
    ) -> None:
        """The objective against another one: all cells, by size, by rules, by variant."""
        pairs = [(ratio(r, other(r)), r) for r in self.records]
        found = [(value, r) for value, r in pairs if value is not None]
        if not found:
            return
        values = np.array([value for value, _ in found])
        self._need(values.max() <= most, f"{target} ({int((values > most).sum())})")
        if name == "the baseline":
            self._need(values.mean() < 1, f"mean below 1 of the baseline ({values.mean():.4f})")
        head = " ".join(f"{f'{100 * q:.0f} %':>7}" for q in QUANTILES)
        print(f"\nobjective / {name}\n{'':16}cells {head}    mean  >1.005  >1+1e-6  <0.995")
        self._row("all", values)
        for title, part in self._parts([r for _, r in found]):
            self._row(title, values[part])
        worst = sorted(found, key=lambda pair: -pair[0])
        text = {id(r): f"{value:.4f}  {r['seconds']:.2f} s" for value, r in found}
        self._cells(f"worst against {name}", [r for _, r in worst], lambda r: text[id(r)], False)

    def _row(self, title: str, values: Any) -> None:
        quantiles = " ".join(f"{q:7.4f}" for q in np.quantile(values, QUANTILES))
        above, over, below = (values > 1.005).sum(), (values > 1 + EQUAL).sum(), values < 0.995
        print(
            f"{title:<15} {len(values):5d} {quantiles} {values.mean():7.4f} {above:7d} {over:8d} "
            f"{below.sum():7d}"
        )

    def _parts(self, records: list[Record]) -> list[tuple[str, Any]]:
        """Titles and masks of the sizes, the sets of rules, and the variants but the first."""
        names = np.array([r["cell"].split("/") for r in records])
        kinds = sorted(set(names[:, 1]))
        variants = sorted(set(names[:, 3]) - {"euclidean"})
        sizes = [*SIZES, *sorted(set(names[:, 0]) - set(SIZES))]
        every = [(0, sizes), (2, list(RULES)), (1, kinds), (3, variants)]
        parts = [(name, names[:, at] == name) for at, wanted in every for name in wanted]
        return [(title, part) for title, part in parts if part.any()]

    def _times(self) -> None:
        """Seconds against those of k-means without rules."""
        timed = [r for r in self.records if r.get("kmeans") is not None]
        if not timed:
            return
        seconds = np.array([r["seconds"] for r in timed])
        kmeans = np.array([r["kmeans"] for r in timed])
        half, most = seconds / (10 * kmeans + 0.3), seconds / (40 * kmeans + 1)
        print(
            f"\nseconds{'':9}cells  median    95 %     max   times KMeans  "
            "/(10 KMeans + 0.3 s), median  /(40 KMeans + 1 s), 95 %"
        )
        every = [("all", np.ones(len(timed), dtype=bool)), *self._parts(timed)]
        for title, part in every:
            s, times = seconds[part], np.median(seconds[part] / kmeans[part])
            print(
                f"{title:<15} {len(s):5d} {np.median(s):7.2f} {np.quantile(s, 0.95):7.2f} "
                f"{s.max():7.2f} {times:14.1f} {np.median(half[part]):29.3f} "
                f"{np.quantile(most[part], 0.95):24.3f}"
            )
        self._need(np.median(half) <= 1, f"median of 10 KMeans + 0.3 s ({np.median(half):.2f})")
        q95 = np.quantile(most, 0.95)
        self._need(q95 <= 1, f"95 % within 40 KMeans + 1 s ({q95:.2f})")
        self._need(seconds.max() <= 60, f"none over 60 s ({int((seconds > 60).sum())})")
        order = np.argsort(-most)
        text = {id(r): f"{m:.2f}  {r['seconds']:.2f} s" for r, m in zip(timed, most, strict=True)}
        slow = [timed[i] for i in order]
        self._cells("worst by seconds / (40 KMeans + 1 s)", slow, lambda r: text[id(r)], False)
        longest = [timed[i] for i in np.argsort(-seconds)]
        self._cells("longest", longest, lambda r: f"{r['seconds']:.2f} s", False)

    def _cells(
        self, title: str, records: list[Record], text: Callable[[Record], str], count: bool = True
    ) -> None:
        """The first ten cells of a list."""
        print(f"\n{title}: {len(records)}" if count else f"\n{title}")
        for record in records[:NAMED]:
            print(f"    {record['cell']:<48} seed {record['seed']}  {text(record)}")
