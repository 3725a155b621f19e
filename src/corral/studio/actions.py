"""What a person can do in the studio.  Actions come in as plain values, such as from JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._typing import IntArray
from ..active.judgements import read_judgements
from ..constraints import ConstraintSet
from ..constraints._checks import plural
from ..constraints.collection import rules_of, unknown_of
from . import rules as edit
from .data import HAVERSINE
from .export import labels_csv, python_lines, workbook
from .fitting import Interview
from .questions import columns_of, rows_judged
from .session import Session

Action: TypeAlias = Mapping[str, Any]
"""``do`` is the name of the action; the others are its values, texts as a form has them."""

#: Rows that a message names.
MOST_NAMED = 5
#: Largest whole number of a field: up to here floats hold all of them.
MOST_WHOLE = 2**53
#: Characters of a value that a message repeats.
MOST_QUOTED = 40
#: Actions that make a rule of the selected rows.  They are done with these rows.
OF_SELECTION = ("together", "apart", "pin")


def do(session: Session, action: Action, rows: Sequence[int] | IntArray = ()) -> str:
    """Do what a page asks for, and tell all pages; what goes wrong becomes the message.

    Parameters
    ----------
    session : Session
    action : mapping
    rows : sequence of int or array
        The rows that are selected in the page.

    Returns
    -------
    str
        The text of an export, else "".
    """
    name = action.get("do")
    step = ACTIONS.get(name) if isinstance(name, str) else None
    before, text = (session.message, session.failed), ""
    session.message, session.failed = "", False
    try:
        if step is None:
            raise ValueError(f"there is no action {name!r}.")
        text = step(session, action, np.asarray(rows, np.int64)) or ""
        if text:  # an export changes nothing
            session.message, session.failed = before
    except (TypeError, KeyError, ValueError) as error:
        session.message, session.failed = sentence_of(error), True
    session.keep()
    session.tell()
    return text


def sentence_of(error: Exception) -> str:
    """The message of an error, as a sentence."""
    text = f"{error} is missing." if isinstance(error, KeyError) else str(error)
    return text[:1].upper() + text[1:]


# Rules on the selected rows.


def _together(session: Session, action: Action, rows: IntArray) -> None:
    made = edit.together(rows.tolist(), _weight(action))
    rules = session.document.rules.with_(made)
    session.change(f"Together: {_called(session, rows)}.", rules=rules)


def _apart(session: Session, action: Action, rows: IntArray) -> None:
    made = edit.apart(rows.tolist(), _weight(action))
    rules = session.document.rules.with_(made)
    session.change(f"Apart: {_called(session, rows)}.", rules=rules)


def _pin(session: Session, action: Action, rows: IntArray) -> None:
    cluster = _whole(action, "cluster")
    if cluster is None:
        raise ValueError("choose the cluster to pin to.")
    made = edit.pinned(session.document.rules, rows.tolist(), cluster, _weight(action))
    name = session.data.cluster_name(cluster)
    session.change(f"Pinned to cluster {name}: {_called(session, rows)}.", rules=made)


def _called(session: Session, rows: IntArray) -> str:
    names = ", ".join(session.data.name_of(int(row)) for row in rows[:MOST_NAMED])
    more = len(rows) - MOST_NAMED
    return f"{names} and {more:,} more" if more > 0 else names


# Rules on clusters.


def _clusters(session: Session, action: Action, rows: IntArray) -> None:
    k = _whole(action, "n")
    if k is None:
        raise ValueError("give the number of clusters.")
    session.change(f"{plural(k, 'cluster')}.", n_clusters=k)


def _sizes(session: Session, action: Action, rows: IntArray) -> None:
    """Set exact sizes, such as "10, 10, 11", or bounds; all empty drops them."""
    parts = str(action.get("exact") or "").replace(",", " ").split()
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"{_quoted(action['exact'])} are not sizes; write them as 10, 10, 11.")
    exact = [_as_whole(part) for part in parts] or None
    bounds = _whole(action, "least"), _whole(action, "most")
    made = edit.sized(session.document.rules, exact, bounds, _weight(action))
    session.change("Sizes set.", rules=made)


def _totals(session: Session, action: Action, rows: IntArray) -> None:
    column, bounds = str(action["column"]), (_number(action, "least"), _number(action, "most"))
    made = edit.totalled(session.document.rules, session.data, column, bounds, _weight(action))
    session.change(f"Totals of {column} set.", rules=made)


def _shares(session: Session, action: Action, rows: IntArray) -> None:
    """Set bounds, in percent, on the share of a group of a column, or of each group."""
    column, group = str(action["column"]), action.get("group") or None
    percents = _number(action, "least"), _number(action, "most")
    least, most = (None if percent is None else percent / 100.0 for percent in percents)
    rules, bounds = session.document.rules, (least, most)
    made = edit.shared(rules, session.data, column, group, bounds, _weight(action))
    session.change(f"Shares of {column} set.", rules=made)


# What is clustered by.


def _by_columns(session: Session, action: Action, rows: IntArray) -> None:
    """Choose the columns to cluster by, and the metric."""
    names, metric = action.get("columns"), str(action.get("metric"))
    if not isinstance(names, list):
        raise ValueError(f"{_quoted(names)} is no list of columns.")
    if names == session.data.listed:  # and those that the page does not list
        names = session.data.features
    _cluster_by(session, [str(name) for name in names], metric)


def _ground(session: Session, action: Action, rows: IntArray) -> None:
    """Say whether places are compared on the ground; asked once."""
    if _yes(action):
        _cluster_by(session, session.data.features, HAVERSINE)
    session.on_plane = True


def _cluster_by(session: Session, names: Sequence[str], metric: str) -> None:
    data = session.given.by(names, metric)
    said = data.using(mixed=session.document.mixed)
    session.change(said, columns=data.features, metric=data.metric)


def _mixed(session: Session, action: Action, rows: IntArray) -> None:
    """Make groups that are alike, or clusters of similar rows."""
    mixed = action.get("kind") == "mixed"
    session.change(session.data.using(mixed=mixed), mixed=mixed)


# Dropping, undoing.


def _drop(session: Session, action: Action, rows: IntArray) -> None:
    """Drop a rule by its number in the list."""
    number = _place(session, action, len(session.document.rules))
    left = [rule for i, rule in enumerate(session.document.rules) if i != number]
    session.change("Rule dropped.", rules=ConstraintSet(left))


def _drop_part(session: Session, action: Action, rows: IntArray) -> None:
    """Drop a part of the conflict, such as one pair."""
    found = session.conflict.parts if session.conflict else ()
    part = found[_place(session, action, len(found))]
    session.change("Rule dropped; fit again.", rules=edit.without(session.document.rules, part))


def _place(session: Session, action: Action, count: int) -> int:
    """The number that an action names, unless the rules have changed since the page showed it."""
    number = _whole(action, "number")
    if action.get("revision") != session.revision or number is None or not 0 <= number < count:
        raise ValueError("The rules have changed meanwhile; look again.")
    return number


def _undo(session: Session, action: Action, rows: IntArray) -> None:
    session.undo()


def _redo(session: Session, action: Action, rows: IntArray) -> None:
    session.redo()


# Files.


def _save(session: Session, action: Action, rows: IntArray) -> str:
    """All rules as the JSON document that ``corral fit --rules`` reads."""
    return session.text


def _load(session: Session, action: Action, rows: IntArray) -> None:
    """Replace all rules, and the pairs that nobody could judge, by those of a JSON document."""
    text = str(action["text"])
    made = session.resolved(rules_of(text, "the file"))
    unknown = session.in_range(unknown_of(text))
    log = rows_judged(read_judgements(text, "the file"), session.data)
    session.change(f"Loaded {plural(len(made), 'rule')}.", rules=made, judged=log)
    here = {said.ends for said in log}
    before = tuple(pair for pair in unknown if frozenset(pair) not in here)
    session.interview = Interview(unknown=before).after((), log)


def _labels(session: Session, action: Action, rows: IntArray) -> str:
    if session.answer is None:
        raise ValueError("there are no labels yet; fit first.")
    return labels_csv(session.data, session.answer.labels)


def _report(session: Session, action: Action, rows: IntArray) -> str:
    """The report on the last fit as one page."""
    if session.answer is None:
        raise ValueError("there is nothing to report yet; fit first.")
    return session.answer.report.to_html(title=f"corral: {session.data.title}")


def _sheets(session: Session, action: Action, rows: IntArray) -> str:
    """The rows with their labels as an Excel file, a sheet for each cluster, in base 64."""
    if session.answer is None:
        raise ValueError("there are no labels yet; fit first.")
    return workbook(session.data, session.answer.labels)


def _python(session: Session, action: Action, rows: IntArray) -> str:
    """The Python lines that do what the last fit did, or without one what the next would."""
    if session.answer is None:
        return python_lines(session.task())
    return python_lines(session.answer.task, session.answer.order)


def _keep(session: Session, action: Action, rows: IntArray) -> None:
    """Say whether changes are saved beside the data; asked once."""
    session.answer_keep(_yes(action))


def _yes(action: Action) -> bool:
    says = action.get("says")
    if says not in ("yes", "no"):
        raise ValueError(f"{_quoted(says)} is no answer; it must be 'yes' or 'no'.")
    return bool(says == "yes")


# Fits and questions.


def _fit(session: Session, action: Action, rows: IntArray) -> None:
    session.fit()


def _calm(session: Session, action: Action, rows: IntArray) -> None:
    """Ask for few changes by the next fits."""
    factor = _number(action, "factor") or 0.0
    if factor < 0.0:
        raise ValueError(f"{factor:g} is negative; give 0 for any changes, or more for few.")
    session.calm = factor


def _stop(session: Session, action: Action, rows: IntArray) -> None:
    session.stop()


def _ask(session: Session, action: Action, rows: IntArray) -> None:
    session.ask()


def _reply(session: Session, action: Action, rows: IntArray) -> None:
    """Answer the question that the page shows."""
    if session.asked is None or action.get("pair") != list(session.asked[0]):
        raise ValueError("the question has changed meanwhile; look again.")
    session.reply(str(action.get("says")))


def _take_back(session: Session, action: Action, rows: IntArray) -> None:
    session.take_back()


def _by(session: Session, action: Action, rows: IntArray) -> None:
    """Keep the name of who answers."""
    session.by = str(action.get("name") or "").strip()[:MOST_QUOTED]


def _show(session: Session, action: Action, rows: IntArray) -> None:
    """Choose the columns that questions show."""
    names = action.get("columns")
    if not isinstance(names, list) or not names:
        raise ValueError("choose at least one column to show.")
    session.shown = columns_of(session.data, [str(name) for name in names])


ACTIONS: dict[str, Callable[[Session, Action, IntArray], str | None]] = {
    step.__name__.removeprefix("_"): step
    for step in (
        *(_together, _apart, _pin, _clusters, _sizes, _totals, _shares, _drop, _drop_part),
        *(_by_columns, _ground, _mixed, _report, _sheets),
        *(_undo, _redo, _save, _load, _keep, _labels, _python, _fit, _calm, _stop, _ask, _reply),
        *(_take_back, _by, _show),
    )
}


# Values of an action.


def _number(action: Action, key: str) -> float | None:
    """A number; None if the field of the page is empty."""
    value = action.get(key)
    if value is None or value == "":
        return None
    return _as_number(value)


def _as_number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{_quoted(value)} is not a finite number.")
    return number


def _whole(action: Action, key: str) -> int | None:
    value = action.get(key)
    return None if value is None or value == "" else _as_whole(value)


def _as_whole(value: Any) -> int:
    number = _as_number(value)
    if number != round(number):
        raise ValueError(f"{_quoted(value)} is not a whole number.")
    if abs(number) > MOST_WHOLE:
        raise ValueError(
            f"{_quoted(value)} is too large; whole numbers must lie in [-2**53, 2**53]."
        )
    return int(number)


def _quoted(value: Any) -> str:
    """A value in a message, cut if it is long."""
    # Python refuses to write a whole number of very many digits.
    large = isinstance(value, int) and value.bit_length() > 4 * MOST_QUOTED
    text = f"a whole number of {value.bit_length():,} bits" if large else repr(value)
    return text if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}..."


def _weight(action: Action) -> float:
    """The price of breaking a soft rule, or infinity for a hard one."""
    weight = _number(action, "weight")
    return math.inf if weight is None else weight
