"""The page: what was asked, what was measured, and a section for each experiment."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence

import numpy as np
import scipy
import sklearn

from .. import __version__
from .experiment import Demand, Experiment, Results
from .markdown import table
from .scale import Scale


def make_page(
    scale: Scale, shown: Mapping[str, tuple[Experiment, Results]], missing: Sequence[str]
) -> str:
    """Markdown of the whole page.

    Parameters
    ----------
    scale : Scale
    shown : mapping of name to (Experiment, Results)
        The experiments whose cells were all run, in the order of the page.
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
        "# The paper's experiments, made anew",
        "",
        "Every table and figure of Bibi, Alqahtani and Ghanem, *Constrained Clustering: General "
        "Pairwise and Cardinality Constraints*, the paper's numbers beside ours. This page is "
        f"written by `{command}`; do not edit it by hand.",
        "",
        f"Seed {scale.seed}, {len(scale.draws)} runs for each entry (mean ± standard deviation), "
        f"corral {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}. The figures depend on the "
        "seed and in the last digits on the libraries; the times on the machine and on what else "
        "it was doing.",
        "",
        "*projected* is corral's default solver, *algorithm1* the paper's Algorithm 1 to the "
        "letter, its x rounded as it is, without repair or polish. lpKm is the paper's method "
        "without rules, -Car with sizes, -Pair with must-links and cannot-links, -Mix with both. "
        "ARI and HI are in per cent, and higher is better; MI lower. MLV, CLV and CardV are "
        "must-links and cannot-links broken and points in excess of the sizes. An x means that no "
        "feasible answer was found (COP-KMEANS: in 1000 runs, COP-COBWEB: in 10).",
        "",
    ]
    if scale.quick:
        lines += ["**A quick version: too few runs to mean anything.**", ""]
    if missing:
        lines += [f"Not run yet with this seed: {', '.join(missing)}.", ""]
    return "\n".join(lines)


def _verdict(demands: Sequence[Demand]) -> str:
    """All figures that the default solver should reach."""
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
        "## In short\n",
        f"What `projected` should reach is the paper's mean ARI less {Demand.SLACK:g}. It does in "
        f"{len(demands) - len(short)} of {len(demands)} rows; in all their runs together it breaks "
        f"{broken} rules.\n",
        table(
            ["row", "ARI, paper", "ARI, projected", "difference", "rules broken", "reached"], rows
        ),
    ]
    if short:
        parts.append("Where it falls short:\n")
        parts += [_reason(line) for line in short]
        parts.append("")
    return "\n".join(parts)


def _reason(line: Demand) -> str:
    """Say whether the solver or the model is to blame, by what the classes themselves cost."""
    share = line.cheaper_than_truth
    cost = np.mean([record["objective"] for record in line.records])
    truth = np.mean([record["truth"] for record in line.records])
    text = f"- {line.row}: {line.ours:.2f} instead of {line.paper:.2f}."
    if share == 1.0:
        text += (
            f" In every run the answer obeys the rules and costs less than the classes themselves "
            f"({cost:.2f} on average against {truth:.2f}), so a better minimum agrees less with "
            "the classes: the model asks for it, not the solver."
        )
    else:
        text += (
            f" In {100 * share:.0f} % of the runs the answer costs less than the classes "
            f"themselves ({cost:.2f} on average against {truth:.2f})."
        )
    if not line.expected:
        text += " It was expected: see how many links ionosphere takes, below."
    return text
