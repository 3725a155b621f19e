"""``corral audit``: say which rules the labels of a file break."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from . import options as opt
from .fit import load
from .output import BROKEN, FINE, Written, check_output, say, told

if TYPE_CHECKING:
    from .._typing import IntArray
    from .clusters import Clusters
    from .data import Points
    from .tables import Table

#: Largest label; without -k the number of clusters follows from the labels.
LARGEST = 999_999

EPILOG = """\b
Examples:
  corral audit points.csv labels.csv --id-column shop --must-link ml.csv --max-size 60
  corral audit points.csv labels.csv -k 3 --columns x,y --rules rules.json --json

LABELS has the columns that corral fit writes: the id, or the number of the row, and the label. The
labels may be from any program. Without a column of ids, its rows are those of POINTS in order.

\b
Exit codes: 0 every hard rule is obeyed, 1 a hard rule is broken, 2 bad input."""


@click.command(epilog=EPILOG, short_help="Say which rules the labels of a file break.")
@opt.data_options
@click.argument("labels", type=click.Path(exists=True, dir_okay=False))
@opt.option(
    "--label-column", metavar="NAME", default="label", show_default=True, help="Column of LABELS."
)
@opt.metric_option
@opt.weight_option
@opt.clusters_option
@opt.rule_options
@opt.named_option
@opt.report_option
@opt.force_option
@opt.printing_options
def audit(
    labels: str,
    label_column: str,
    report: str | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Say which rules the LABELS of the rows of POINTS break.

    The number of clusters is the largest label plus 1 unless -k or --sizes says it.
    """
    from .. import audit as examine
    from .clusters import clusters_of, names_of
    from .tables import read_table

    asked = opt.Options(**options)
    check_output("--report", report, force=force, inputs=[*asked.files, labels])
    written = Written(force=force)
    table = read_table(labels, decimal=asked.decimal)
    values = read_labels(table, label_column, clusters_of(asked))
    if asked.n_clusters is None and clusters_of(asked) is None and asked.sizes is None:
        asked = replace(asked, n_clusters=int(values.max()) + 1)
    if isinstance(asked.n_clusters, int) and asked.n_clusters > LARGEST + 1:
        raise ValueError(f"-k is {asked.n_clusters}; it must be at most {LARGEST + 1}.")
    points, rules, n_clusters = load(asked, quiet=quiet, may_be_empty=True)
    label = values[rows_of(table, asked.id_column, points)]
    found = examine(points.X, label, rules, n_clusters, points.weight, metric=points.space.metric)
    found = replace(found, **told(points), clusters=names_of(asked))
    if as_json:
        click.echo(json.dumps(found.to_dict(), allow_nan=False))
    elif not quiet:
        say(str(found))
    if report is not None:
        written.text(report, found.to_html(title=f"corral: {Path(labels).name}"))
    return written.code(FINE if found.feasible else BROKEN)


def read_labels(table: Table, column: str, clusters: Clusters | None = None) -> IntArray:
    """The labels of a file, in its own order; names of clusters become numbers."""
    if clusters is not None:
        return clusters.number(table.texts(column), table, column)
    values = table.numbers(column)
    wrong = np.flatnonzero((values != np.floor(values)) | (values < 0) | (values > LARGEST))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"{table.name}, {table.place(row)}, column {column!r}: {values[row]:g} is not a label; "
            f"labels are whole numbers from 0 to at most {LARGEST}."
        )
    return values.astype(np.int64)


def rows_of(table: Table, id_column: str | None, points: Points) -> IntArray:
    """The row of the labels that belongs to each point, by its id or the number of its row."""
    from .._text import suggestion
    from ..constraints.files import safe_text

    n_labels, n_points = len(next(iter(table.columns.values()))), len(points.X)
    if id_column is None and "id" not in table.columns and n_labels == n_points:
        return np.arange(n_labels)
    wanted = {safe_text(name): row for row, name in enumerate(points.names)}
    found = np.full(n_points, -1)
    for row, text in enumerate(table.texts(id_column or "id")):
        point = wanted.get(safe_text(text), -1)
        if point < 0 or found[point] >= 0:
            fault = f"names no row of {points.table.name}{suggestion(text, wanted)}"
            fault = fault if point < 0 else f"is already in {table.place(int(found[point]))}"
            raise ValueError(f"{table.name}, {table.place(row)}: {text!r} {fault}.")
        found[point] = row
    if (found < 0).any():
        name = points.names[int(np.argmin(found))]
        raise ValueError(f"{table.name} has no label for {str(name)!r} of {points.table.name}.")
    return found
