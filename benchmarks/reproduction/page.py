"""Markdown: numbers, tables, and the whole page."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence

import numpy as np
import scipy
import sklearn

from corral import __version__

from .cells import Record
from .experiment import Demand, Experiment, Results, Scale
from .paper import Cell as Printed

#: Number of decimals of each measure.
DIGITS = {"ari": 2, "hi": 2, "mi": 3, "objective": 2, "seconds": 2, "mlv": 1, "clv": 1, "cardv": 1}
COUNTS = ("mlv", "clv", "cardv")
NAMES = {"ari": "ARI (%)", "hi": "HI (%)", "mi": "MI", "objective": "objective"}
#: Shown if a method found no answer.
NONE = "x"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with texts in the first column and numbers in the others."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows)) + "\n"


def picture(name: str, caption: str) -> str:
    """A picture in the folder of the page, with its caption."""
    return f"![{caption}]({name})\n\n*{caption}*\n"


def spread(records: Sequence[Record], measure: str) -> Printed:
    """Mean and standard deviation over the runs that found an answer; None if none did."""
    values = [record[measure] for record in records if measure in record]
    if not values:
        return None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def shown(cell: Printed, measure: str) -> str:
    """Mean and standard deviation as text, or an x."""
    if cell is None:
        return NONE
    mean, deviation = (round(value, DIGITS[measure]) + 0.0 for value in cell)
    return f"{mean:.{DIGITS[measure]}f} ± {deviation:.{DIGITS[measure]}f}"


def ours(records: Sequence[Record], measure: str) -> str:
    """Mean and standard deviation of our runs, and the number of runs without an answer."""
    dead = sum("dead_end" in record for record in records)
    text = shown(spread(records, measure), measure)
    return f"{text} ({dead} of {len(records)} x)" if 0 < dead < len(records) else text


def mean(records: Sequence[Record], measure: str) -> str:
    """The mean alone; counts without trailing zeros."""
    cell = spread(records, measure)
    if cell is None:
        return NONE
    value = round(cell[0], DIGITS[measure]) + 0.0
    return f"{value:g}" if measure in COUNTS else f"{value:.{DIGITS[measure]}f}"


def measure_tables(
    head: Sequence[str],
    printed: Mapping[str, Mapping[str, Sequence[Printed]]],
    names: Mapping[str, str],
    runs: Mapping[str, Sequence[Sequence[Record]]],
) -> list[str]:
    """One table per measure: the cells of the paper, then ours.

    Parameters
    ----------
    head : sequence of str
    printed : mapping
        Cells of the paper, by measure and data set.
    names : mapping
        Names of the rows, by data set.
    runs : mapping
        For each data set, the records of each column of ours.
    """
    return [
        f"**{NAMES[measure]}**\n\n"
        + table(
            head,
            [
                [
                    name,
                    *(shown(cell, measure) for cell in cells[data]),
                    *(ours(records, measure) for records in runs[data]),
                ]
                for data, name in names.items()
            ],
        )
        for measure, cells in printed.items()
    ]


def make_page(
    scale: Scale, shown: Mapping[str, tuple[Experiment, Results]], missing: Sequence[str]
) -> str:
    """Markdown of the whole page.

    Parameters
    ----------
    scale : Scale
    shown : mapping of name to (Experiment, Results)
        The complete experiments, in the order of the page.
    missing : sequence of str
        Names of the others.
    """
    demands = [
        line for experiment, results in shown.values() for line in experiment.demands(results)
    ]
    parts = [_head(scale, missing)]
    if demands:
        parts.append(_verdict(demands))
    parts += [
        f"## {experiment.title}\n\n{experiment.render(results)}"
        for experiment, results in shown.values()
    ]
    return "\n".join(parts)


def _head(scale: Scale, missing: Sequence[str]) -> str:
    command = f"corral reproduce{' --quick' if scale.quick else ''} --seed {scale.seed}"
    lines = [
        "# The experiments of the paper, reproduced",
        "",
        "Every table and figure of Bibi, Alqahtani and Ghanem, *Constrained Clustering: General "
        "Pairwise and Cardinality Constraints*, with the numbers of the paper beside ours. This "
        f"page is written by `{command}`; do not edit it by hand.",
        "",
        f"Seed {scale.seed}, {len(scale.draws)} runs for each entry (mean ± standard deviation), "
        f"corral {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}. The numbers depend on the "
        "seed, and their last digits on the versions of the libraries. Times and time limits are "
        "processor seconds.",
        "",
        "*projected* is the default solver of corral. *algorithm1* is Algorithm 1 of the paper "
        "without changes: its x is rounded, without repair or polish. lpKm is the method of the "
        "paper without rules, -Car with sizes, -Pair with must-links and cannot-links, -Mix with "
        "both. ARI and HI are in per cent, higher is better; for MI lower is better. MLV and CLV "
        "are the numbers of broken must-links and cannot-links, CardV is the number of points to "
        "move until the sizes are right. An x means that no feasible answer was found (COP-KMEANS: "
        "in 1000 runs, COP-COBWEB: in 10).",
        "",
    ]
    if scale.quick:
        lines += ["**A quick version: the runs are too few for conclusions.**", ""]
    if missing:
        lines += [f"Not run yet with this seed: {', '.join(missing)}.", ""]
    return "\n".join(lines)


def _verdict(demands: Sequence[Demand]) -> str:
    """All numbers that the default solver should reach."""
    rows = [
        [
            line.row,
            f"{line.paper:.2f}",
            f"{line.ours:.2f}",
            f"{line.ours - line.paper:+.2f}",
            str(line.broken),
            "yes" if line.reached else "**no**",
        ]
        for line in demands
    ]
    broken = sum(line.broken for line in demands)
    short = [line for line in demands if not line.reached]
    parts = [
        "## Summary\n",
        f"`projected` should reach the mean ARI of the paper minus {Demand.SLACK:g}. It does in "
        f"{len(demands) - len(short)} of {len(demands)} rows; in all runs of these rows together "
        f"it breaks {broken} rules.\n",
        table(
            ["row", "ARI, paper", "ARI, projected", "difference", "rules broken", "reached"], rows
        ),
    ]
    if short:
        parts.append("Rows that are not reached:\n")
        parts += [_reason(line) for line in short]
        parts.append("")
    return "\n".join(parts)


def _reason(line: Demand) -> str:
    """Say whether the solver or the model is the cause, from the objective of the classes."""
    share = line.cheaper_than_truth
    cost = np.mean([record["objective"] for record in line.records])
    truth = np.mean([record["truth"] for record in line.records])
    text = f"- {line.row}: {line.ours:.2f} instead of {line.paper:.2f}."
    if share == 1.0:
        text += (
            f" In every run the objective of the answer is lower than that of the classes "
            f"themselves ({cost:.2f} on average, against {truth:.2f}), so the cause is the model, "
            "not the solver: a lower objective agrees less with the classes."
        )
    else:
        text += (
            f" In {100 * share:.0f} % of the runs the objective of the answer is lower than that "
            f"of the classes themselves ({cost:.2f} on average, against {truth:.2f})."
        )
    if not line.expected:
        text += " This is expected: see the section on the links of ionosphere."
    return text
