"""``corral assign``: new rows to the clusters that ``corral fit --model`` wrote."""

from __future__ import annotations

from typing import Any

import click

from . import options as opt
from .fit import assign_to, load
from .output import (
    FINE,
    Written,
    check_output,
    check_printing,
    columns_before,
    label_columns,
    print_report,
    write_labels,
)

EPILOG = """\b
Examples:
  corral fit shops.csv -k 4 --id-column shop --model model.json -o labels.csv
  corral assign new.csv --id-column shop --model model.json -o new-labels.csv
  corral assign new.csv --model model.json --max-size 10

Each row goes to the nearest centre. With rules, all rows are assigned together, so that the rules,
which are about the new rows only, are obeyed. The columns to cluster by and their scale are those
of the model."""


@click.command(epilog=EPILOG, short_help="Assign new rows to the clusters of a fit.")
@opt.file_options
@opt.option(
    "--model",
    "path",
    type=click.Path(exists=True, dir_okay=False),
    required=True,
    help="JSON file that corral fit --model wrote.",
)
@opt.weight_option
@opt.rule_options
@opt.time_limit_option("After it there is no answer, with exit code 4.")
@opt.labels_options
@opt.force_option
@opt.printing_options
def assign(
    path: str,
    time_limit: float | None,
    output: str | None,
    keep_columns: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Assign the rows of POINTS to the clusters of a model."""
    from .. import ConstrainedKMeans
    from .data import read_model

    output = None if output == "-" else output
    space, centers, names = read_model(path)
    asked = opt.Options(**options, n_clusters=len(centers))
    check_output("--output", output, force=force, inputs=[*asked.files, path])
    if output is None or as_json:
        check_printing("JSON" if as_json else "the labels", "open it" if as_json else "give -o")
    written = Written(force=force)
    points, rules, n_clusters = load(asked, quiet=quiet, space=space, may_be_empty=True)
    others = columns_before(points, asked.id_column, keep_columns)
    model = ConstrainedKMeans(
        n_clusters, time_limit=time_limit, metric=space.metric, cluster_names=names
    )
    assign_to(centers, model, points, rules)
    columns = {**others, **label_columns(model.labels_, points, centers, names)}
    where: Any = {"output": output, "as_json": as_json}
    write_labels(columns, points, written, ids=asked.id_column, **where)
    print_report(columns, points, model.report_, quiet=quiet, **where)
    return written.code(FINE)
