"""The report as HTML: what characterises each cluster, who is in it, tables, and the page."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

import numpy as np
from scipy import sparse

from .._text import in_digits
from .._typing import FloatArray, IntArray, Matrix
from ..audit import Findings
from ..constraints import ClusterSizes, ClusterTotals, Constraint
from ..constraints.clusters import ClusterNames, called
from ..plots.bounds import Measure, measure_sizes, measure_totals, title_of
from .changes import Changes
from .pictures import View
from .text import Prices, grouped, parts_in

#: Differences that are told of each cluster.
MOST_DIFFERENCES = 4
#: Differences below this part of the standard deviation of a column are not told.
LEAST_EFFECT = 0.2


@dataclass(frozen=True)
class Difference:
    """A column in which a cluster differs: its mean there, that of all rows, and by how much.

    ``effect`` is the difference in standard deviations of the column.
    """

    column: str
    mean: float
    overall: float
    effect: float

    def __str__(self) -> str:
        word = "higher" if self.effect > 0 else "lower"
        return f"{self.column} {short(self.mean)} ({word}; all rows {short(self.overall)})"


@dataclass(frozen=True)
class Profile:
    """A cluster with its size and the columns in which it differs most, the largest first."""

    cluster: int
    size: int
    differences: tuple[Difference, ...]


def profiles(
    view: View, sizes: Sequence[int], features: Sequence[Any] | None = None, scaler: Any = None
) -> list[Profile]:
    """Compare the centre of each cluster with the mean of all rows, in the user's units.

    ``scaler`` takes points back to these units, by ``inverse_transform`` or as a function.
    """
    size = np.asarray(sizes, float)
    centers = np.asarray(view.centers, float)
    overall = np.average(centers, axis=0, weights=size)[None]
    effect = (centers - overall) / _spread(view.points)
    told, all_rows = _in_units(centers, scaler), _in_units(overall, scaler)[0]
    if told.shape[1] != effect.shape[1]:  # the scaler changes the columns too
        spread = told.std(axis=0)
        effect = (told - all_rows) / np.where(spread > 0, spread, np.inf)
    names = list(map(str, features)) if features is not None else []
    if len(names) != told.shape[1]:
        names = [f"feature {j}" for j in range(told.shape[1])]
    found = []
    for cluster, row in enumerate(effect if len(effect) else ()):
        best = np.argsort(-np.abs(row), kind="stable")[:MOST_DIFFERENCES]
        best = best[np.abs(row[best]) >= LEAST_EFFECT] if size[cluster] else best[:0]
        each = (
            Difference(names[j], float(told[cluster, j]), float(all_rows[j]), float(row[j]))
            for j in best
        )
        found.append(Profile(cluster, int(size[cluster]), tuple(each)))
    return found


def short(value: float) -> str:
    """A value of a column with few digits."""
    return in_digits(value, 4)


def _in_units(points: FloatArray, scaler: Any) -> FloatArray:
    if scaler is None:
        return points
    back = getattr(scaler, "inverse_transform", scaler)
    told: FloatArray = np.asarray(back(points), float)
    return told


def _spread(points: Matrix) -> FloatArray:
    """Standard deviation of each column; infinite for constant columns."""
    if sparse.issparse(points):
        mean = np.asarray(points.mean(axis=0)).ravel()
        squares = np.asarray(sparse.csr_array(points).power(2).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(squares - np.square(mean), 0.0))
    else:
        spread = np.asarray(points, float).std(axis=0)
    return np.where(spread > 0, spread, np.inf)


#: Rows that stand in the table before anything is clicked, and in notebooks.
SHOWN = 30
#: Most rows that a page holds; more would make it slow to open.  The labels themselves hold all.
MOST_LISTED = 200_000

TOOLS = """<p class="tools"><label>Search <input type="search" placeholder="{hint}"></label>
<button type="button" class="download">Download CSV</button> <span class="count"></span></p>"""


def to_members(
    labels: IntArray,
    names: Sequence[Any] | None,
    *,
    interactive: bool,
    clusters: ClusterNames = None,
) -> str:
    """The table of the rows; ``interactive`` adds what the page's script needs."""
    n = len(labels)
    called = range(n) if names is None else names
    rows = "\n".join(
        f"<tr><td>{escape(str(called[row]))}</td>{cluster_cell(int(labels[row]), clusters)}</tr>"
        for row in range(min(n, SHOWN))
    )
    parts = [
        "<table>\n<thead><tr><th>row</th><th>cluster</th></tr></thead>",
        f"<tbody>\n{rows}\n</tbody>\n</table>",
    ]
    listed = min(n, MOST_LISTED)
    if interactive:
        hint = "name of a row" if names is not None else "number of a row"
        parts.insert(0, TOOLS.format(hint=hint))
        parts.append('<p><button type="button" class="more" hidden>Show more</button></p>')
        values = {
            "labels": np.asarray(labels[:listed]).tolist(),
            "names": None if names is None else [str(name) for name in called[:listed]],
            "clusters": clusters,
        }
        parts.append(f'<script type="application/json">{_safe_json(values)}</script>')
    shown = listed if interactive else min(n, SHOWN)
    if shown < n:
        parts.append(
            f'<p class="note">{in_digits(shown)} of {in_digits(n)} rows; labels_ has all.</p>'
        )
    return "\n".join(parts)


def cluster_cell(cluster: int, clusters: ClusterNames = None) -> str:
    """The cell of a cluster's name or number, with its colour."""
    from ..plots._style import colour

    chip = f'<span class="chip" style="background:{colour(cluster)}"></span>'
    name = str(cluster) if clusters is None else escape(clusters[cluster])
    kind = "number" if clusters is None else "named"
    return f'<td class="{kind}" data-value="{cluster}">{chip}{name}</td>'


def _safe_json(values: Any) -> str:
    """JSON that cannot end its script element."""
    return json.dumps(values, separators=(",", ":")).replace("<", "\\u003c")


#: Broken rules that the page lists for each constraint; the others are only counted.
MOST_MESSAGES = 20

#: Characters from which a cell is given more width, so that a narrow page scrolls instead.
LONG = 30

ELSEWHERE = "the bounds are under Sizes and totals"

PRICE_NOTE = (
    "The price of a rule is how much the objective falls without it, found by refits from the "
    "answer; a longer search may find more."
)

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
html {{ color-scheme: light dark; background: #fff; }}
body {{ margin: 0; }}
@media (prefers-color-scheme: dark) {{ html {{ background: #16181b; }} }}
@page {{ margin: 12mm; }}
{style}</style>
</head>
<body>
<main class="corral-report">
<h1>{title}</h1>
{content}
</main>
<script>
{script}</script>
</body>
</html>
"""


def to_page(content: str, title: str) -> str:
    """Put HTML into one page that needs no other file; a click on a column sorts its table."""
    return PAGE.format(
        title=escape(title), style=_asset("report.css"), script=_asset("report.js"), content=content
    )


def to_fragment(content: str) -> str:
    """Put HTML into a part of a page, with its styles, as a notebook shows it."""
    style = _asset("report.css")
    return f'<style>\n{style}</style>\n<div class="corral-report">\n{content}\n</div>'


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Told:
    """What is known of an answer besides the findings, for the tables.

    ``labels`` are those of all rows.  ``plan`` has pairs of event and value.
    """

    names: Sequence[Any] | None = None
    clusters: ClusterNames = None
    labels: IntArray | None = None
    n_iterations: int | None = None
    plan: Sequence[tuple[str, str]] = ()
    proof: str = ""
    prices: Prices | None = None
    profiles: Sequence[Profile] = ()

    def called(self, findings: Findings) -> Any:
        """Names of the rows, which know those of the clusters; for messages."""
        return called(self.names, self.clusters, sum(findings.sizes))


def headline(findings: Findings) -> str:
    """One sentence: how many rows and clusters, and whether the rules are obeyed."""
    hard = sum(entry.hard_count for entry in findings.broken)
    n, k = in_digits(sum(findings.sizes)), in_digits(len(findings.sizes))
    broken = "1 hard rule is broken" if hard == 1 else f"{in_digits(hard)} hard rules are broken"
    verdict = "every hard rule is obeyed" if findings.feasible else broken
    verdict = verdict if findings.entries else "there are no rules"
    kind = "good" if findings.feasible else "bad"
    return f'<p class="verdict {kind}">{n} points in {k} clusters: {verdict}.</p>'


def summary(findings: Findings, told: Told) -> str:
    """The numbers that matter most, the comparison with free k-means, and the proof."""
    facts = {
        "points": sum(findings.sizes),
        "clusters": len(findings.sizes),
        f"inertia {findings.unit}".rstrip(): findings.inertia,
        "soft cost": findings.soft_cost or None,
        "objective": findings.objective if findings.soft_cost else None,
        "rules of other rows": findings.outside or None,
    }
    # Notebooks have styles of their own for lists, but none for plain divisions.
    cards = "".join(
        f'<div><div class="name">{name}</div><div class="value">{in_digits(value)}</div></div>'
        for name, value in facts.items()
        if value is not None
    )
    said = [f'<div class="cards">{cards}</div>']
    if told.prices is not None:
        said.append(f"<p>Compared with k-means: {escape(str(told.prices))}.</p>")
    if told.proof:
        said.append(f"<p>Proof: the answer is {escape(told.proof)}.</p>")
    return "\n".join(said)


#: What soft rules are called that cost something.
WISHES = "Wishes that are not met"


def rules_section(findings: Findings, told: Told) -> str:
    """Each constraint, how much of it is broken, what it costs, and what is broken in words."""
    if not findings.entries:
        return ""
    prices, names = told.prices, told.called(findings)
    head = ["no.", "kind", "constraint", "rule", "broken", "amount", "soft cost"]
    rows: list[list[Any]] = [
        [
            number,
            type(group[0].constraint).__name__,
            _phrase(group[0].constraint, names, len(findings.sizes), told)
            if len(group) == 1
            else parts_in(group),
            "hard" if group[0].constraint.hard else "soft",
            sum(entry.violations.count for entry in group),
            float(sum(entry.violations.amount for entry in group)),
            sum(entry.soft_cost for entry in group),
        ]
        for number, group in enumerate(grouped(findings.entries, prices))
    ]
    note = ""
    if prices is not None:
        head.append("price")
        for number, row in enumerate(rows):
            row.append(_priced(prices, number))
        note = f'<p class="note">{PRICE_NOTE}</p>'
    return section("Rules", table(head, rows) + note) + _broken(findings, names)


def _phrase(rule: Constraint, names: Any, n_clusters: int, told: Told) -> str:
    """The rule in words; bounds of each cluster of its own are said with its size or total."""
    if isinstance(rule, ClusterSizes) and rule.ordered:
        return f"cluster sizes; {ELSEWHERE}"
    if isinstance(rule, ClusterTotals) and told.labels is not None:
        title = title_of(rule, n_clusters, names)
        return title if title == rule.phrase(names) else f"{title}; {ELSEWHERE}"
    return rule.phrase(names)


def _priced(prices: Prices, rule: int) -> str:
    price = prices.price(rule)
    if price is None:
        return "not computed in time"
    part = prices.share(price)
    return in_digits(price, 4) + ("" if part is None else f" ({part:.1%})")


def profile_section(found: Sequence[Profile], told: Told) -> str:
    """What characterises each cluster."""
    lines = []
    for profile in found:
        items = "".join(
            f"<li><b>{escape(d.column)}</b> {short(d.mean)} "
            f'<span class="note">{"higher" if d.effect > 0 else "lower"} than {short(d.overall)} '
            "of all rows</span></li>"
            for d in profile.differences
        )
        said = f"<ul>{items}</ul>" if items else "near the mean of all rows in every column"
        size = f'<td class="number" data-value="{profile.size}">{in_digits(profile.size)}</td>'
        lines.append(
            f"<tr>{cluster_cell(profile.cluster, told.clusters)}{size}<td>{said}</td></tr>"
        )
    if not lines:
        return ""
    body = "\n".join(lines)
    head = _head(("cluster", "points", "what sets it apart: mean of the cluster"))
    found_table = f'<table class="profiles">\n{head}\n<tbody>\n{body}\n</tbody>\n</table>'
    return section("What characterises each cluster", found_table)


def bounds_section(findings: Findings, told: Told, picture: str = "") -> str:
    """Sizes, totals and shares against their bounds: a picture and tables."""
    rules = [entry.constraint for entry in findings.entries]
    tables = _clusters(findings.sizes, rules, told.clusters)
    if told.labels is not None:
        tables += _totals(told.labels, rules, len(findings.sizes), told.clusters)
    return section("Sizes and totals", f'{picture}\n<div class="beside">{tables}</div>')


def solver_section(told: Told, pictures: str = "") -> str:
    """How it was solved, in a section that opens on a click."""
    rows = [*told.plan]
    if told.n_iterations is not None:
        rows.append(("iterations", in_digits(told.n_iterations)))
    if not rows and not pictures:
        return ""
    events = table(("event", "value"), rows) if rows else ""
    return f"<details><summary>How it was solved</summary>\n{events}\n{pictures}</details>"


def _broken(findings: Findings, names: Sequence[Any] | None) -> str:
    """What is broken, one sentence a rule, and in a calm colour which wishes are not met."""
    parts = []
    for title, hard, name in (("What is broken", True, ""), (WISHES, False, ' class="wishes"')):
        lines = [
            line
            for entry in findings.entries
            if bool(entry.hard_count) is hard
            for line in entry.violations.messages(limit=MOST_MESSAGES, names=names)
        ]
        items = "\n".join(f"<li>{escape(line)}</li>" for line in lines)
        parts.append(section(title, f"<ul{name}>\n{items}\n</ul>") if lines else "")
    return "\n".join(filter(None, parts))


#: Rows that moved, or are new, which the page names; the others are only counted.
MOST_CHANGES = 500


def changes_section(changes: Changes | None) -> str:
    """What changed since an earlier answer: each cluster, and who moved or is new."""
    if changes is None:
        return ""
    head = ("cluster", "before", "now", "left", "came", "new")
    clusters = table(head, changes.by_cluster())
    moves: dict[tuple[str, str], list[str]] = {}
    found = changes.rows()
    for row, before, after in found:
        moves.setdefault((before or "new", after), []).append(row)
    rows, room = [], MOST_CHANGES
    for (before, after), who in moves.items():
        named = ", ".join(who[: max(room, 0)])
        more = len(who) - max(min(room, len(who)), 0)
        said = f"{named} and {in_digits(more)} more" if more and named else named or "not named"
        rows.append((before, after, len(who), said))
        room -= len(who)
    listed = table(("from", "to", "rows", "who"), rows) if rows else ""
    return section("What changed", f"<p>{escape(str(changes))}.</p>\n{clusters}\n{listed}")


def _clusters(sizes: Sequence[int], rules: list[Constraint], names: ClusterNames) -> str:
    """Size of each cluster, what is allowed if that differs, and whether it is obeyed."""
    measure = measure_sizes(sizes, rules)
    total = max(sum(sizes), 1)
    rows: list[list[Any]] = [
        [_named(j, names), size, f"{size / total:.1%}"] for j, size in enumerate(sizes)
    ]
    return table(*_with_bounds(["cluster", "points", "share"], rows, [measure]))


def _with_bounds(
    head: list[str], rows: list[list[Any]], measures: Sequence[Measure]
) -> tuple[list[str], list[list[Any]]]:
    """A column of what is allowed if clusters differ in it, and one of verdicts if there are any.

    Bounds that all clusters have are said in the table of the rules.
    """
    judged = [_judged(measure, j) for measure in measures for j in range(len(measure.values))]
    if any(measure.differs for measure in measures):
        head = [*head, "allowed"]
        rows = [[*row, allowed] for row, (allowed, _) in zip(rows, judged, strict=True)]
    if any(measure.bounded for measure in measures):
        head = [*head, "verdict"]
        rows = [[*row, verdict] for row, (_, verdict) in zip(rows, judged, strict=True)]
    return head, rows


def _named(cluster: int, names: ClusterNames) -> Any:
    """The name of a cluster, or its number."""
    return cluster if names is None else names[cluster]


def _totals(labels: IntArray, rules: list[Constraint], n_clusters: int, names: ClusterNames) -> str:
    """Totals and shares of each cluster, if any are bounded."""
    measures = measure_totals(labels, rules, n_clusters, names)
    rows: list[list[Any]] = [
        [measure.title, _named(j, names), float(value)]
        for measure in measures
        for j, value in enumerate(measure.values)
    ]
    return table(*_with_bounds(["rule", "cluster", "value"], rows, measures)) if rows else ""


def section(title: str, content: str, kind: str = "") -> str:
    """A part of the page with a heading, and a class for the style and the script."""
    own = f' class="{kind}"' if kind else ""
    return f"<section{own}><h2>{escape(title)}</h2>\n{content}</section>"


#: Columns from which a table is shown row by row on a phone.
WIDE = 4


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a button at the head of each column; numbers sort as numbers.

    A wide one has the heads in its cells too, which a phone shows one below the other.
    """
    wide = len(head) >= WIDE
    heads = [f' data-head="{escape(cell)}"' if wide else "" for cell in head]
    lines = ("".join(map(_cell, row, heads)) for row in rows)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    kind = ' class="wide"' if wide else ""
    return f"<table{kind}>\n{_head(head)}\n<tbody>\n{body}\n</tbody>\n</table>"


def _head(cells: Sequence[str]) -> str:
    column = '<th scope="col"><button type="button">{}</button></th>'
    heads = "".join(column.format(escape(cell)) for cell in cells)
    return f"<thead><tr>{heads}</tr></thead>"


def _cell(value: Any, head: str = "") -> str:
    if isinstance(value, (int, float, np.number)):
        own = f'class="number" data-value="{float(value)!r}"{head}'
        return f"<td {own}>{in_digits(value)}</td>"
    kind = f' class="{value}"' if value in ("ok", "broken") else ""
    kind = kind or (' class="long"' if len(str(value)) > LONG else "")
    return f"<td{kind}{head}>{escape(str(value))}</td>"


def _judged(measure: Measure, j: int) -> tuple[str, str]:
    """What is allowed in cluster j, and the verdict."""
    low, high = float(measure.lower[j]), float(measure.upper[j])
    bounds = (("at least", low), ("at most", high)) if low != high else (("exactly", low),)
    allowed = ", ".join(
        f"{word} {in_digits(bound)}" for word, bound in bounds if math.isfinite(bound)
    )
    return allowed or "any", "broken" if measure.broken[j] else "ok"
