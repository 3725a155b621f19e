"""``corral fit``: cluster a file under rules."""

from __future__ import annotations

import io
import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from .. import ConstrainedKMeans, ConstraintSet, InfeasibleConstraintsError, Report
from ..assign import OutOfTime
from ..conflict import explain
from ..plots import plot_clusters
from .data import Points, load_points
from .options import (
    DataOptions,
    RuleOptions,
    SolverOptions,
    data_options,
    debug_option,
    json_option,
    pick,
    quiet_option,
    rule_options,
    solver_options,
    stacked,
)
from .output import (
    PAGES,
    PICTURES,
    WRITERS,
    Labels,
    check_output,
    whole_file,
    write_csv,
    write_labels,
    write_text,
)
from .progress import ProgressLine
from .rules import columns_of_rules, count_clusters, make_rules

#: Seconds spent on saying a clash again with the user's ids.
RENAME_SECONDS = 5.0

EPILOG = """\b
Examples:
  corral fit points.csv -k 3 --must-link ml.csv --cannot-link cl.csv -o labels.csv
  corral fit shops.csv --id-column shop --columns x,y --sizes 40,40,20
  corral fit shops.csv -k 4 --id-column shop --capacity demand:500 --report report.html
  corral fit people.parquet -k 5 --scale standard --share sex:0.4: --min-size 10 --plot p.png

The labels go to the output file, or else to the standard output: id, label, and the distance to
the centre of the cluster. Distances and the report are in the scale asked for. Files appear whole
or not at all."""

output_options = stacked(
    click.option("-o", "--output", type=click.Path(), help="Labels: .csv, .tsv, .parquet or .npy."),
    click.option("--report", type=click.Path(), help="HTML page with tables and pictures."),
    click.option("--plot", type=click.Path(), help="Picture of the clusters: .png, .pdf, .svg."),
)


@click.command(epilog=EPILOG, short_help="Cluster a file under rules.")
@data_options
@rule_options
@solver_options
@output_options
@quiet_option
@json_option
@debug_option
def fit(
    output: str | None,
    report: str | None,
    plot: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Cluster the rows of POINTS (CSV, TSV, Parquet or npy) so that the rules are obeyed."""
    check_output(output, tuple(WRITERS), "--output")
    check_output(report, PAGES, "--report")
    check_output(plot, PICTURES, "--plot")
    points, rules, n_clusters = load(options)
    began = time.monotonic()
    model = fit_model(points, rules, n_clusters, pick(SolverOptions, options), quiet=quiet)
    seconds = time.monotonic() - began
    own = points.X - model.cluster_centers_[model.labels_]
    labels = Labels(points.names, model.labels_, np.linalg.norm(own, axis=1))
    found = replace(model.report_, names=points.ids)
    if report is not None:
        write_text(report, found.to_html(title=f"corral: {Path(points.table.path).name}"))
    if plot is not None:
        save_picture(plot, points, rules, model)
    if output is not None:
        write_labels(output, labels)
    elif not as_json:
        click.echo(_as_csv(labels), nl=False)
    if as_json:
        click.echo(_as_json(model, found, labels if output is None else None, seconds))
    elif not quiet:
        # Without a file the labels have the standard output for themselves.
        click.echo(str(found), err=output is None)


def load(
    options: dict[str, Any], not_coordinates: Sequence[str] = ()
) -> tuple[Points, ConstraintSet, int]:
    """Points, rules and the number of clusters, all checked."""
    asked = pick(RuleOptions, options)
    n_clusters = count_clusters(asked)
    points = load_points(pick(DataOptions, options), [*columns_of_rules(asked), *not_coordinates])
    if n_clusters > len(points.X):
        raise ValueError(
            f"-k is {n_clusters}, but {points.table.path} has {len(points.X)} rows; every cluster "
            "needs one."
        )
    return points, make_rules(asked, points, n_clusters), n_clusters


def fit_model(
    points: Points, rules: ConstraintSet, n_clusters: int, how: SolverOptions, *, quiet: bool
) -> ConstrainedKMeans:
    """Fit with a progress line; warnings become sentences, clashes name the user's ids."""
    model = ConstrainedKMeans(
        n_clusters,
        n_init=how.n_init,
        time_limit=how.time_limit,
        n_jobs=how.jobs,
        random_state=how.seed,
    )
    # Other processes cannot write to this terminal's line.
    alone = how.jobs in (None, 1)
    with (
        ProgressLine(sys.stderr, model.max_iter, enabled=alone and not quiet) as line,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always", UserWarning)
        model._progress = line if alone else None
        try:
            model.fit(points.X, constraints=rules)
        except InfeasibleConstraintsError as clash:
            raise with_ids(clash, points, n_clusters) from clash
    for warning in caught if not quiet else ():
        if issubclass(warning.category, UserWarning):
            click.echo(f"corral: warning: {warning.message}", err=True)
    return model


def with_ids(
    clash: InfeasibleConstraintsError, points: Points, n_clusters: int
) -> InfeasibleConstraintsError:
    """The same clash in the user's ids; as it is where there are none."""
    if points.ids is None:
        return clash
    deadline = time.monotonic() + RENAME_SECONDS
    try:
        again = explain(
            len(points.X), n_clusters, clash.conflict, deadline=deadline, names=points.ids
        )
    except OutOfTime:
        return clash
    return again or clash


def save_picture(path: str, points: Points, rules: ConstraintSet, model: Any) -> None:
    """Write a picture of the clusters."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.6), layout="constrained")
    plot_clusters(
        points.X, model.labels_, rules, centers=model.cluster_centers_, ax=figure.subplots()
    )
    with whole_file(path) as draft:
        figure.savefig(draft, dpi=150)


def _as_csv(labels: Labels) -> str:
    buffer = io.StringIO()
    write_csv(buffer, labels)
    return buffer.getvalue()


def _as_json(
    model: ConstrainedKMeans, report: Report, labels: Labels | None, seconds: float
) -> str:
    values = {
        **report.to_dict(),
        "n_iter": int(model.n_iter_),
        "seconds": round(seconds, 3),
        "centers": model.cluster_centers_.tolist(),
    }
    if labels is not None:
        values["labels"] = [
            {"id": name, "label": label, "distance": distance}
            for name, label, distance in labels.rows()
        ]
    return json.dumps(values, allow_nan=False)
