"""Results as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import numpy as np

from .jobs import Job
from .methods import CORRAL
from .scaling import exponent
from .summary import Line, Run, lines, ratio

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
HEAD = (
    "| job | method | seconds (min to max) | times corral's | inertia | against corral | "
    "broken rules | peak memory, MB |"
)
RULE = "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"


def number(value: float) -> str:
    """The number with three significant digits."""
    if not np.isfinite(value):
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def tables(jobs: Iterable[Job], results: dict[str, list[Run]]) -> str:
    """One table for each family of jobs."""
    parts = []
    done = [job for job in jobs if job.name in results]
    for family, members in groupby(done, key=lambda job: job.family):
        rows = [row for job in members for row in job_rows(job, results[job.name])]
        parts.append("\n".join([f"### {family}", "", HEAD, RULE, *rows]))
    return "\n\n".join(parts)


def job_rows(job: Job, runs: list[Run]) -> list[str]:
    """One row for each method, corral first."""
    found = lines(runs)
    order = sorted(found, key=lambda name: name != CORRAL)
    rows = []
    for name in order:
        title = job.title if name == order[0] else ""
        rows.append("| " + " | ".join([title, name, *_cells(found, found[name])]) + " |")
    return rows


def _cells(found: dict[str, Line], line: Line) -> list[str]:
    failed = next((run["failed"] for run in line.runs if "failed" in run), None)
    if failed is not None and not line.answered:
        return [f"failed: {failed}", "", "", "", "", ""]
    times, bound = ratio(found, line)
    gaps = line.gaps(found[CORRAL])
    inertia = np.mean([run["inertia"] for run in line.answered]) if line.answered else np.nan
    return [
        _seconds(line),
        "" if line.method == CORRAL else f"{'> ' if bound else ''}{number(times)}",
        _inertia(float(inertia)),
        f"{100 * np.mean(gaps):+.3f} %" if gaps and line.method != CORRAL else "",
        _broken(line),
        number(line.memory / 1e6),
    ]


def _inertia(value: float) -> str:
    """At least six digits, because inertias differ little."""
    if not np.isfinite(value):
        return "-"
    return f"{value:,.0f}" if value >= 1e5 else f"{value:,.6g}"


def _seconds(line: Line) -> str:
    times = [run["seconds"] for run in line.runs if "seconds" in run]
    if not times:
        return f"> {line.limit:.0f} (stopped)"
    text = f"{number(line.seconds)} ({number(min(times))} to {number(max(times))})"
    return text if line.limit is None else f"{text}, one > {line.limit:.0f} (stopped)"


def _broken(line: Line) -> str:
    """The largest number of broken rules of a run, and how many runs returned no labels."""
    ended = [run for run in line.runs if "seconds" in run]
    nothing = len(ended) - len(line.answered)
    worst = str(max(run["broken"] for run in line.answered)) if line.answered else ""
    return ", ".join(part for part in (worst, f"no answer {nothing} x" if nothing else "") if part)


def scaling_points(runs: list[Run]) -> dict[int, float]:
    """Median seconds of an iteration for each n."""
    sizes = sorted({run["n"] for run in runs})
    return {n: float(np.median([run["seconds"] for run in runs if run["n"] == n])) for n in sizes}


def scaling_table(runs: list[Run]) -> str:
    """Time of an iteration of ADMM."""
    points = scaling_points(runs)
    iterations = {run["n"]: run["iterations"] for run in runs}
    rows = [
        f"| {n:,} | {1e3 * seconds:.3g} | {1e9 * seconds / n:.3g} | {iterations[n]} |"
        for n, seconds in points.items()
    ]
    head = ["| n | ms per iteration | ns per iteration and point | iterations |"]
    head.append("| ---: | ---: | ---: | ---: |")
    title = f"### Time of an iteration, d = 16, k = 10: n to the power of {exponent(points):.2f}"
    return "\n".join([title, "", *head, *rows])


def import_seconds(runs: list[Run]) -> dict[str, float]:
    """Median seconds to import each module."""
    modules = dict.fromkeys(run["module"] for run in runs)
    return {
        name: float(np.median([run["seconds"] for run in runs if run["module"] == name]))
        for name in modules
    }


def write(page: Path, text: str) -> None:
    """Replace the text between the markers of the page."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
