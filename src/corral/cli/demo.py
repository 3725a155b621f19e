"""``corral demo``: cluster real data with and without rules."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .fit import picture_of
from .options import debug_option, option, picture_options
from .output import FINE, Written, check_output, say

if TYPE_CHECKING:
    from .. import ConstraintSet

SIZES = (59, 71, 48)
SUMMARY = """\
178 wines of three growers, 13 measurements each. The rules: 30 pairs of the same grower,
30 pairs of different growers, and the number of wines of each grower.

{}

agreement with the growers (adjusted Rand index, 1 is perfect)
  k-means without rules  {:.3f}
  corral with rules      {:.3f}"""
NEXT = """\
wrote points.csv, ml.csv and cl.csv; in that folder, try

  corral fit points.csv --id-column wine --must-link ml.csv --cannot-link cl.csv \\
    --sizes 59,71,48 -o labels.csv --report report.html"""

EPILOG = """\b
Examples:
  corral demo
  corral demo --save wine
  corral demo --report report.html --plot wine.png"""


@click.command(epilog=EPILOG, short_help="Cluster real data under rules.")
@option("--save", type=click.Path(file_okay=False), help="Folder to write the demo's files to.")
@picture_options
@debug_option
def demo(save: str | None, report: str | None, plot: str | None, force: bool) -> int:
    """Cluster 178 wines of three growers, with some known pairs and known sizes."""
    from sklearn.metrics import adjusted_rand_score

    from .. import ClusterSizes, ConstrainedKMeans, ConstraintSet
    from ..baselines import PlainKMeans
    from ..datasets import load_wine, random_links

    check_output("--report", report, force=force)
    check_output("--plot", plot, force=force)
    if save is not None and (report is not None or plot is not None):
        raise click.UsageError(
            "--save only writes the demo's files; leave --report and --plot out."
        )
    written = Written(force=force)
    wine: Any = load_wine()
    must_link, cannot_link = random_links(wine.target, 30, 30, random_state=0)
    rules = ConstraintSet([must_link, cannot_link, ClusterSizes(SIZES)])
    if save is not None:
        _save(Path(save), wine, rules, force=force)
        return FINE
    model = ConstrainedKMeans(3, random_state=0).fit(wine.data, constraints=rules)
    report_ = replace(model.report_, features=wine.feature_names)
    free = PlainKMeans(3, random_state=0).fit(wine.data)
    scores = [adjusted_rand_score(wine.target, found.labels_) for found in (free, model)]
    click.echo(SUMMARY.format(model.report_, *scores))
    if report is not None:
        written.text(report, report_.to_html(title="corral: 178 wines"))
    if plot is not None:
        answer = model.labels_, model.cluster_centers_
        figure = picture_of(wine.data, rules, *answer, features=wine.feature_names)
        written.picture(plot, figure)
    return written.code(FINE)


def _save(folder: Path, wine: Any, rules: ConstraintSet, *, force: bool) -> None:
    """Write the data and the pairs as files, and print the command that uses them."""
    from ..constraints.files import atomic_writer

    folder.mkdir(parents=True, exist_ok=True)
    for name in ("points.csv", "ml.csv", "cl.csv"):
        check_output("--save", str(folder / name), force=force)
    ids = [f"w{row}" for row in range(len(wine.data))]
    rows = zip(ids, wine.data.tolist(), strict=True)
    with atomic_writer(folder / "points.csv") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["wine", *wine.feature_names])
        writer.writerows([name, *(f"{value:.6g}" for value in row)] for name, row in rows)
    must_link, cannot_link, _ = rules
    for links, name in ((must_link, "ml.csv"), (cannot_link, "cl.csv")):
        links.to_csv(folder / name, index=ids)  # type: ignore[attr-defined]
    say(f"{folder}: {NEXT}")
