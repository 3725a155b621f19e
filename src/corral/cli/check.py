"""``corral check``: whether the rules can be obeyed, before anyone waits."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from .. import ConstraintSet
from ..assign import OutOfTime
from ..conflict import explain
from ..exceptions import SolverTimeoutError
from .errors import FINE, INFEASIBLE
from .fit import load
from .options import data_options, debug_option, json_option, quiet_option, rule_options

EPILOG = """\b
Examples:
  corral check points.csv -k 3 --must-link ml.csv --cannot-link cl.csv --sizes 59,71,48
  corral check shops.csv -k 4 --capacity demand:500 --time-limit 10

\b
Exit codes: 0 feasible, 2 bad input, 3 infeasible, 4 not decided within the time limit."""


@click.command(epilog=EPILOG, short_help="Say whether the rules can be obeyed, or why not.")
@data_options
@rule_options
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Then it is left undecided, with exit code 4.",
)
@quiet_option
@json_option
@debug_option
def check(time_limit: float | None, quiet: bool, as_json: bool, **options: Any) -> int:
    """Say whether any labels obey the rules, or which of the rules clash."""
    points, rules, n_clusters = load(options)
    began = time.monotonic()
    deadline = None if time_limit is None else began + time_limit
    try:
        clash = explain(len(points.X), n_clusters, rules, deadline=deadline, names=points.ids)
    except OutOfTime as late:
        seconds = time.monotonic() - began
        raise SolverTimeoutError(
            f"not decided after {seconds:.3g} s: neither labels that obey the rules nor a proof "
            "that there are none; raise --time-limit",
            seconds,
            "undecided",
        ) from late
    reason = None if clash is None else str(clash)
    if as_json:
        conflict = [] if clash is None else [rule.to_dict() for rule in clash.conflict]
        found = {"feasible": clash is None, "reason": reason, "conflict": conflict}
        click.echo(json.dumps(found, allow_nan=False))
    elif not quiet:
        what = f"{len(points.X)} points, {n_clusters} clusters, {_in_short(rules)}"
        click.echo(f"feasible: {what}" if reason is None else f"infeasible: {reason}")
    return FINE if clash is None else INFEASIBLE


def _in_short(rules: ConstraintSet) -> str:
    return ", ".join(map(repr, rules)) or "no rules"
