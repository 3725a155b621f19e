"""The state of a session as plain values, for the page, and what the picture marks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._text import in_digits
from .._typing import BoolArray, FloatArray, IntArray
from ..constraints import (
    CannotLink,
    ClusterTotals,
    Constraint,
    ConstraintSet,
    GroupShares,
    MustLink,
    Pin,
)
from ..plots._style import colour
from ..plots.bounds import measure_sizes, measure_totals
from ..rows.metrics import METRICS
from .autosave import NOT_SAVED
from .data import HAVERSINE, MOST_COLUMNS, Data, views_of
from .questions import questions
from .session import Session

#: Rules, and sentences about broken rules, that the page lists.
MOST_RULES, MOST_BROKEN = 200, 20
#: Pairs that the picture shows as lines.
MOST_LINES = 5_000
#: Rows of each kind that a picture of many points marks.  More rings would hide the clusters.
MOST_RINGS = 500
#: Columns of the table of clusters: of the size and of rules, and means.
MOST_CELLS, MOST_MEANS = 8, 12
#: Points up to which each cluster has a marker of its own, and each point a name to hover over.
DETAILED = 5_000
#: The markers of the clusters, as characters.
SHAPES = "●■▲◆▼✚★"
#: Rows of a selection that are named.
MOST_NAMED = 8


def about(data: Data) -> str:
    """What changes with the columns alone, as JSON: the title, notices, and which there are."""
    return json.dumps(
        {
            "title": data.title,
            "n": len(data),
            "notices": data.told,
            "views": views_of(data),
            "numbers": data.number_columns,
            "features": data.listed,
            "metric": data.metric,
            "metrics": [name for name in METRICS if name != HAVERSINE or data.place],
            "groups": data.group_columns,
        }
    )


@dataclass
class Told:
    """The state of a session as JSON; what takes time is kept until rules or labels change."""

    session: Session
    _known: dict[Any, Any] = field(default_factory=dict)

    def text(self) -> str:
        """All that the page shows."""
        session = self.session
        key = (session.revision, id(session.answer))
        if key not in self._known:
            self._known = {key: self._slow()}
        job, conflict = session.job, session.conflict
        running = None
        if job is not None:
            far = "starting" if session.progress is None else str(session.progress)
            running = "stopping" if job.stopping else far
        clash = conflict and {
            "sentence": conflict.sentence,
            "parts": [phrase(part, session.data) for part in conflict.parts],
            "smallest": conflict.smallest,
        }
        values = {
            "revision": session.revision,
            "message": session.message,
            "failed": session.failed,
            "running": running,
            "stoppable": job is not None and not job.task.mixed,
            "conflict": clash,
            "can": session.can,
            "saved": session.autosave.words if session.autosave else NOT_SAVED,
            "keep": session.question,
            "ground": "" if session.on_plane or session.document.mixed else session.data.ground,
            "unsaved": bool(session.autosave and session.autosave.failed),
            "questions": questions(session),
            **self._known[key],
        }
        return json.dumps(values)

    def _slow(self) -> dict[str, Any]:
        session, answer = self.session, self.session.answer
        rules, data = session.document.rules, session.data
        broken = broken_parts(session)
        listed = [
            {
                "words": phrase(rule, data),
                "broken": len(broken[number]),
                "missed": bool(len(broken[number]) and rule.part(hard=True) is None),
                "soft": rule.part(hard=True) is None,
            }
            for number, rule in enumerate(rules[:MOST_RULES])
        ]
        return {
            "n_clusters": session.document.n_clusters,
            "mixed": session.document.mixed,
            "using": session.data.using(mixed=session.document.mixed),
            "rules": listed,
            "more_rules": max(len(rules) - MOST_RULES, 0),
            **dict(zip(("broken", "wishes"), _sentences(session), strict=True)),
            "clusters": _clusters(session),
            "answer": answer
            and {"sentence": answer.sentence, "stale": session.stale, "mixed": answer.task.mixed},
            "sample": marks_of(session).sample,
            "names": list(session.data.clusters or ()),
        }


def phrase(rule: Constraint, data: Data) -> str:
    """A rule in words, with the names of the user's rows."""
    text = rule.phrase(data.called)
    return text[0].upper() + text[1:]


def _judged(session: Session) -> ConstraintSet:
    """The rules that the labels of the last fit can be held against."""
    answer = session.answer
    if answer is None or answer.task.n_clusters != session.document.n_clusters:
        return ConstraintSet()
    return session.document.rules


def broken_parts(session: Session) -> list[IntArray]:
    """The numbers of the broken parts of each rule, by the labels of the last fit."""
    none: list[IntArray] = [np.zeros(0, np.int64) for _ in session.document.rules]
    answer, judged = session.answer, _judged(session)
    if answer is None or not len(judged):
        return none
    found = judged.violations(answer.labels, answer.task.n_clusters)
    return [violations.where for violations in found]


def _sentences(session: Session) -> tuple[list[str], list[str]]:
    """What the labels of the last fit break, in words: of hard rules, and of soft ones."""
    answer, names = session.answer, session.data.called
    both: tuple[list[str], list[str]] = ([], [])
    if answer is None:
        return both
    for rule in _judged(session):
        for lines, hard in zip(both, (True, False), strict=True):
            part = rule.part(hard=hard)
            if part is not None:
                found = part.violations(answer.labels, answer.task.n_clusters)
                lines += found.messages(MOST_BROKEN, names)
    hard_ones, wishes = ([line[0].upper() + line[1:] for line in lines] for lines in both)
    return hard_ones[:MOST_BROKEN], wishes[:MOST_BROKEN]


def _clusters(session: Session) -> dict[str, Any]:
    """The table of clusters: sizes, totals and shares with their bounds, and means of columns.

    What all clusters are allowed is said once, with the head of the column.
    """
    answer = session.answer
    if answer is None:
        return {"heads": [], "rows": [], "all": []}
    data, labels, k = answer.task.data, answer.labels, answer.task.n_clusters
    judged, n = _judged(session), len(labels)
    measures = [measure_sizes(answer.sizes, judged), *measure_totals(labels, judged, k)]
    named = [("rows", "", n), *_bounded(judged, n)][:MOST_CELLS]
    heads, cells, whole = [], [], []
    for (name, unit, of_all), measure in zip(named, measures, strict=False):
        allowed = [_allowed(*ends, unit) for ends in zip(measure.lower, measure.upper, strict=True)]
        heads.append({"name": name, "note": "" if measure.differs else allowed[0]})
        whole.append(_value(of_all, unit))
        cells.append(
            [
                {
                    "text": _value(value, unit),
                    "note": note * measure.differs,
                    "broken": bool(broken),
                }
                for value, note, broken in zip(measure.values, allowed, measure.broken, strict=True)
            ]
        )
    for name, means, of_all in _means(data, labels, k):
        heads.append({"name": name, "note": "mean"})
        whole.append(in_digits(of_all, 4))
        cells.append([{"text": in_digits(mean, 4), "note": "", "broken": False} for mean in means])
    rows = [
        {
            "number": j,
            "name": data.cluster_name(j),
            "colour": colour(j),
            "shape": SHAPES[j % len(SHAPES)] if n <= DETAILED else SHAPES[0],
            "cells": own,
        }
        for j, own in enumerate(zip(*cells, strict=True))
    ]
    return {"heads": heads, "rows": rows, "all": whole}


def _bounded(rules: ConstraintSet, n: int) -> Iterator[tuple[str, str, float]]:
    """What rules bound, in the order of ``measure_totals``: name, unit, and value of all rows."""
    for rule in rules:
        if isinstance(rule, ClusterTotals) and rule.values.size:
            yield f"{rule.name}, total" if rule.name else "total", "", float(rule.values.sum())
        elif isinstance(rule, GroupShares) and rule.groups.size:
            for group in dict.fromkeys([*rule.minimum, *rule.maximum]):
                yield str(group), "%", float(np.mean(rule.groups == group))


def _means(data: Data, labels: IntArray, k: int) -> Iterator[tuple[str, FloatArray, float]]:
    """Columns of numbers, first those that are clustered by: their means, and that of all rows.

    The mean of places on the ground is not that of their degrees.
    """
    round_ones = data.place or () if data.metric == HAVERSINE else ()
    names = [name for name in data.number_columns if name not in round_ones]
    names.sort(key=lambda name: name not in data.features)
    mass = np.ones(len(labels)) if data.weight is None else data.weight
    total = np.bincount(labels, mass, k)
    for name in names[:MOST_MEANS]:
        sums = np.bincount(labels, mass * data.columns[name], k)
        means = np.divide(sums, total, out=np.full(k, np.nan), where=total > 0.0)
        yield name, means, float(sums.sum() / mass.sum()) if mass.any() else np.nan


def _value(value: float, unit: str) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.0%}" if unit else in_digits(int(value) if value == int(value) else value)


def _allowed(low: float, high: float, unit: str) -> str:
    """Bounds in words; "" if there are none."""
    if low == high:
        return f"exactly {_value(low, unit)}"
    if np.isfinite(low) and np.isfinite(high):
        return f"{_value(low, unit)} to {_value(high, unit)}"
    sides = (("at least", low), ("at most", high))
    return "".join(f"{word} {_value(side, unit)}" for word, side in sides if np.isfinite(side))


def selection(data: Data, rows: IntArray, labels: IntArray | None) -> str:
    """The selected rows in words, as JSON: how many, their names, and the values of the first."""
    named = [data.name_of(int(row)) for row in rows[:MOST_NAMED]]
    values: dict[str, Any] = {"count": len(rows), "names": named, "cluster": None}
    if len(rows) and labels is not None:
        inside = np.unique(labels[rows])
        values["cluster"] = int(inside[0]) if len(inside) == 1 else None
    if len(rows) == 1:
        values["row"] = row_values(data, int(rows[0]))
    return json.dumps(values)


def row_values(data: Data, row: int) -> list[tuple[str, str]]:
    """The columns of a row, in the user's units."""
    made = []
    for name, values in list(data.columns.items())[:MOST_COLUMNS]:
        value = values[row]
        made.append((name, in_digits(value) if values.dtype.kind == "f" else str(value)))
    return made


@dataclass(frozen=True)
class Marks:
    """What the picture draws on the points.

    ``pairs`` are rows, with whether they belong ``together``, whether they are ``red``: broken, or
    in the conflict, and whether they are ``missed``: a soft pair that is not obeyed.  Of many marks
    of a kind a sample is here, and ``sample`` says so.
    """

    pairs: IntArray
    together: BoolArray
    red: BoolArray
    missed: BoolArray
    pins: IntArray
    changed: IntArray
    red_rows: IntArray
    sample: str


def marks_of(session: Session) -> Marks:
    """The marks of the current rules, labels and conflict."""
    pairs, together, red, missed = [], [], [], []
    pins: list[IntArray] = [np.zeros(0, np.int64)]
    clash = ConstraintSet(session.conflict.parts if session.conflict else ())
    red_rows = [rule.rows for rule in clash.of_kind(Pin)]
    clashing = {tuple(rule.pairs[0]) for rule in clash if isinstance(rule, (MustLink, CannotLink))}
    for rule, where in zip(session.document.rules, broken_parts(session), strict=True):
        if isinstance(rule, (MustLink, CannotLink)):
            wrong = np.isin(np.arange(len(rule.pairs)), where)
            missed.append(wrong & np.isfinite(rule.weight))
            wrong &= np.isinf(rule.weight)
            if clashing:
                wrong |= np.array([tuple(pair) in clashing for pair in rule.pairs], bool)
            pairs.append(rule.pairs)
            together.append(np.full(len(rule.pairs), isinstance(rule, MustLink)))
            red.append(wrong)
        elif isinstance(rule, Pin):
            pins.append(rule.rows)
            red_rows.append(rule.rows[where[np.isinf(rule.weight[where])]])
    every = np.concatenate([*pairs, np.zeros((0, 2), np.int64)])
    wrong, soft = (np.concatenate([*each, np.zeros(0, bool)]) for each in (red, missed))
    # Red ones first, so that they are drawn even if not all lines are.
    kept = np.argsort(~(wrong | soft), kind="stable")[:MOST_LINES]
    changed = np.zeros(0, np.int64)
    if session.answer is not None:
        changed = np.flatnonzero(session.answer.changed)
    ringed = {
        "pinned": np.concatenate(pins),
        "changed": changed,
        "red": np.unique(np.concatenate([np.unique(every[wrong]), *red_rows])),
    }
    few = len(session.data.shown) <= DETAILED
    drawn = {kind: rows if few else _some(rows) for kind, rows in ringed.items()}
    cut = [f"{len(kept):,} of {len(every):,} pairs"] if len(kept) < len(every) else []
    for kind, rows in ringed.items():
        if len(drawn[kind]) < len(rows):
            cut.append(f"{len(drawn[kind]):,} of {len(rows):,} {kind} rows")
    return Marks(
        pairs=every[kept],
        together=np.concatenate([*together, np.zeros(0, bool)])[kept],
        red=wrong[kept],
        missed=soft[kept],
        pins=drawn["pinned"],
        changed=drawn["changed"],
        red_rows=drawn["red"].astype(np.int64),
        sample=f"The picture marks {', '.join(cut)}." if cut else "",
    )


def _some(rows: IntArray) -> IntArray:
    """The rows, or a random sample of them."""
    if len(rows) <= MOST_RINGS:
        return rows
    return np.random.default_rng(0).choice(rows, MOST_RINGS, replace=False)


def middles(
    labels: IntArray, x: FloatArray, y: FloatArray, k: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """The mean place of each cluster in the picture, and the clusters that have rows."""
    sizes = np.bincount(labels, minlength=k)
    some = np.flatnonzero(sizes)
    across, up = (np.bincount(labels, weights=v, minlength=k)[some] / sizes[some] for v in (x, y))
    return across, up, some
