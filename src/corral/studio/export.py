"""What the studio hands out: labels as CSV, and the Python lines that do the same."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._typing import IntArray
from ..constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Connected,
    Constraint,
    GroupShares,
    MustLink,
    Pin,
)
from ..constraints.files import safe_text
from ..sheets import write_sheets
from .data import HAVERSINE, MOST_COLUMNS, Data, texts_of
from .fitting import Task

MISSING = "an Excel file needs openpyxl: pip install 'corral-clustering[xlsx]'."
#: Pairs and pins that are written out in Python; more are read from the file of rules.
MOST_WRITTEN = 40


def labels_csv(data: Data, labels: IntArray) -> str:
    """The file of labels: one line for each row, in the order of the data."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([safe_text(data.id_name), "label"])
    names = range(len(data)) if data.names is None else map(safe_text, data.names)
    named = data.clusters is not None
    called = [safe_text(data.cluster_name(j)) if named else j for j in labels.tolist()]
    writer.writerows(zip(names, called, strict=True))
    return file.getvalue()


def workbook(data: Data, labels: IntArray) -> str:
    """An Excel file in base 64: all columns of the rows and their labels, a sheet for each."""
    names = list(range(len(data))) if data.names is None else list(data.names)
    columns: dict[str, Any] = {data.id_name: names}
    for name, values in list(data.columns.items())[:MOST_COLUMNS]:
        gaps = data.gaps.get(name, np.zeros(len(data), bool)).tolist()
        cells = [int(v) if isinstance(v, float) and v == int(v) else v for v in values.tolist()]
        columns[name] = [None if gap else cell for cell, gap in zip(cells, gaps, strict=True)]
    label = next(name for name in ("label", "cluster", "corral's label") if name not in columns)
    named = data.clusters is not None
    columns[label] = [data.cluster_name(j) for j in labels] if named else labels.tolist()
    file = io.BytesIO()
    try:
        write_sheets(file, columns, label)
    except ModuleNotFoundError as error:
        raise ValueError(MISSING) from error
    return base64.b64encode(file.getvalue()).decode("ascii")


def python_lines(task: Task, order: IntArray | None = None) -> str:
    """A script that fits the same; ``order`` are the numbers that the studio gave to clusters."""
    data = task.data
    written = [_written(rule, data) for rule in task.rules]
    by_file = any(text is None for text in written)
    kinds = {type(rule).__name__ for rule in task.rules}
    estimator = "MixedGroups" if task.mixed else "ConstrainedKMeans"
    names = {estimator, *({"ConstraintSet"} if by_file else kinds)}
    lines = ["", *data.lines]
    if by_file:
        lines.append('rules = ConstraintSet.from_json("rules.json")  # saved in the studio')
    else:
        lines += ["rules = [", *(f"    {text}," for text in written), "]"]
    if task.pins is not None:
        names.add("Pin")
        lines += [
            f"before = np.array({task.known.tolist()})  # the clusters before, -1 for none",
            f"rules = [*rules, Pin(before, weight={task.stay!r})]",
        ]
    lines += _columns_of(data) if task.mixed else _points_of(data)
    more = f", spread={list(data.spread)!r}" if task.mixed else ""
    more += "" if data.metric == "euclidean" or task.mixed else f", metric={data.metric!r}"
    if data.clusters is not None:
        shown = np.arange(task.n_clusters) if order is None else order
        more += f", cluster_names={[data.cluster_name(j) for j in shown.tolist()]!r}"
    more += "" if task.effort == 1.0 else f", effort={task.effort!r}"
    weight = ", sample_weight=weight" if data.weight is not None else ""
    lines += [
        f"model = {estimator}({task.n_clusters}, random_state={task.seed}{more})",
        f"model.fit(X, constraints=rules{weight})",
        "labels = model.labels_",
    ]
    if order is not None and not np.array_equal(order, np.arange(len(order))):
        lines.append(f"labels = np.array({order.tolist()})[labels]  # the studio's numbers")
    lines.insert(0, f"from corral import {', '.join(sorted(names))}")
    if any("np." in line for line in lines):
        lines.insert(0, "import numpy as np")
    return "\n".join(lines) + "\n"


def _columns_of(data: Data, texts: Sequence[str] | None = None) -> Iterator[str]:
    """Lines that take the columns of numbers, and of texts, those to spread unless given."""
    features = list(data.features)
    if not data.frame:
        if len(features) < len(data.columns):
            yield f"X = X[:, {[list(data.columns).index(name) for name in features]}]"
        return
    yield f"X = {data.frame}[{[*features, *(data.spread if texts is None else texts)]!r}]"
    if set(features) & set(data.gaps):
        yield "X = X.fillna(X.mean(numeric_only=True))"


def _points_of(data: Data) -> Iterator[str]:
    """Lines that make the points of the columns."""
    yield from _columns_of(data, ())
    if not data.frame:
        return
    if data.metric != HAVERSINE and data.scale == "standard":
        yield "X = ((X - X.mean()) / X.std(ddof=0)).fillna(0)"
    elif data.metric != HAVERSINE and data.scale == "minmax":
        yield "X = ((X - X.min()) / (X.max() - X.min())).fillna(0)"
    yield "X = X.to_numpy()"


def _written(rule: Constraint, data: Data) -> str | None:
    """The Python expression of a rule; None if it is too long, or its column is not known."""
    known = next((text for each, text in data.written if each is rule), "")
    if known:
        return known
    if isinstance(rule, Connected):
        short = len(rule.pairs) <= MOST_WRITTEN and not rule.named
        price = _price(rule.weight) if rule.weight.any() else ()
        more = (f"n_samples={len(data)}", 'bridge="keep"', *price)
        arguments: Iterator[str] = iter([repr(list(map(tuple, rule.pairs.tolist()))), *more])
    elif isinstance(rule, (MustLink, CannotLink)):
        arguments = _of_links(rule)
        short = len(rule.pairs) <= MOST_WRITTEN and not rule.named
    elif isinstance(rule, Pin):
        pins = dict(zip(rule.rows.tolist(), rule.clusters.tolist(), strict=True))
        arguments = iter([repr(pins), *_price(rule.weight)])
        short = len(pins) <= MOST_WRITTEN and not rule.named
    elif isinstance(rule, ClusterSizes):
        arguments, short = _of_sizes(rule), True
    elif isinstance(rule, ClusterTotals):
        name = rule.name or ""
        own = data.columns.get(name)
        short = data.from_file and own is not None and np.array_equal(own, rule.values)
        sides = _sides(rule.minimum, rule.maximum)
        arguments = iter([f"table[{name!r}]", *sides, *_price(rule.weight)])
    elif isinstance(rule, GroupShares):
        column = _column_of(rule, data)
        short = column is not None
        sides = _sides(dict(rule.minimum) or None, dict(rule.maximum) or None)
        arguments = iter([f"table[{column!r}].astype(str)", *sides, *_price(rule.weight)])
    else:
        return None
    return f"{type(rule).__name__}({', '.join(arguments)})" if short else None


def _of_links(rule: MustLink | CannotLink) -> Iterator[str]:
    yield repr([tuple(pair) for pair in rule.pairs.tolist()])
    yield from _price(rule.weight)


def _price(weight: Any) -> Iterator[str]:
    """The weight of a soft rule."""
    found = np.unique(weight)
    if not np.isinf(found).all():
        value = found[0].item() if len(found) == 1 else np.asarray(weight).tolist()
        yield f"weight={value!r}".replace("inf", 'float("inf")')


def _of_sizes(rule: ClusterSizes) -> Iterator[str]:
    if rule.sizes is not None:
        yield repr(rule.sizes.tolist())
    yield from _sides(rule.minimum, rule.maximum)
    if rule.ordered:
        yield "ordered=True"
    yield from _price(rule.weight)


def _sides(minimum: Any, maximum: Any) -> Iterator[str]:
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        if bound is not None:
            value = bound if isinstance(bound, dict) else np.asarray(bound).tolist()
            yield f"{name}={value!r}"


def _column_of(rule: GroupShares, data: Data) -> str | None:
    """The column of the file that holds the groups of a rule."""
    if not data.from_file:
        return None
    groups = rule.groups.astype(str).tolist()
    found = (name for name in data.group_columns if texts_of(data.columns[name]) == groups)
    return next(found, None)
