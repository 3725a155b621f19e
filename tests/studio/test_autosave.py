"""What a person has said in the studio outlives it: the file beside the data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corral import ConstraintSet, MustLink
from corral.constraints.collection import json_of, unknown_of
from corral.studio.actions import do
from corral.studio.autosave import Autosave
from corral.studio.data import data_of
from corral.studio.fitting import Interview
from corral.studio.session import Session
from corral.studio.state import Told

DATA = data_of(np.random.default_rng(0).normal(size=(8, 2)))
WAITING = ((0, 1), (2, 3), (4, 5), (6, 7))


@pytest.fixture
def points(tmp_path):
    return tmp_path / "points.csv"


def asked(points=None, agreed=True):
    """A session in which questions wait, and the user's answer on the file beside the data."""
    session = Session(DATA, autosave=None if points is None else Autosave.beside(points))
    session.interview = Interview(waiting=WAITING)
    if points is not None and agreed is not None:
        do(session, {"do": "keep", "says": "yes" if agreed else "no"})
        assert not session.failed, session.message
    return session


def reply(session, says):
    do(session, {"do": "reply", "says": says, "pair": list(session.interview.waiting[0])})
    assert not session.failed, session.message


def told(session):
    return json.loads(Told(session).text())


def test_nothing_is_written_beside_the_data_before_the_user_agrees(points):
    session = asked(points, agreed=None)
    assert told(session)["keep"] == "", "there is nothing to keep yet"
    for says in ("same", "unknown"):
        reply(session, says)
        assert session.autosave.path.name in told(session)["keep"]
        assert told(session)["saved"].startswith("Rules and answers are lost")
        assert not list(points.parent.iterdir())
    do(session, {"do": "keep", "says": "yes"})
    # What was said before the answer is saved too, and nobody is asked again.
    assert ConstraintSet.from_json(session.autosave.path) == session.document.rules
    assert unknown_of(session.autosave.path.read_text("utf-8")) == session.interview.unknown
    reply(session, "different")
    assert told(session)["keep"] == ""
    assert ConstraintSet.from_json(session.autosave.path) == session.document.rules


def test_no_is_remembered(points):
    session = asked(points, agreed=False)
    for says in ("same", "unknown", "different"):
        reply(session, says)
        assert told(session)["keep"] == ""
    assert not list(points.parent.iterdir())
    assert told(session)["saved"].startswith("Rules and answers are lost")
    assert not told(session)["unsaved"]


@pytest.mark.parametrize("says", [None, "", "maybe", True])
def test_other_answers_are_refused(points, says):
    session = asked(points, agreed=None)
    reply(session, "same")
    do(session, {"do": "keep", "says": says})
    assert session.failed
    assert "must be 'yes' or 'no'" in session.message
    assert told(session)["keep"]
    assert not list(points.parent.iterdir())
    do(none := asked(), {"do": "keep", "says": "yes"})
    assert "no file of data" in none.message


def test_each_answer_is_in_the_file_as_soon_as_it_is_given(points):
    session = asked(points)
    path = session.autosave.path
    assert path.parent == points.parent
    assert not path.exists(), "nothing has been said yet"
    assert path.name in told(session)["saved"]
    for says in ("same", "unknown", "different"):
        reply(session, says)
        assert ConstraintSet.from_json(path) == session.document.rules
        assert unknown_of(path.read_text(encoding="utf-8")) == session.interview.unknown
    assert session.interview.unknown == WAITING[1:2]
    assert told(session)["saved"].startswith("All changes are saved")
    assert [file.name for file in points.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("action", "rows"),
    [
        ({"do": "together"}, [0, 1]),
        ({"do": "sizes", "least": "1"}, []),
        ({"do": "drop", "number": 0, "revision": 1}, []),
        ({"do": "undo"}, []),
    ],
)
def test_each_change_of_the_rules_is_in_the_file(points, action, rows):
    session = asked(points)
    do(session, {"do": "apart"}, [2, 3])
    do(session, action, rows)
    assert not session.failed, session.message
    assert ConstraintSet.from_json(session.autosave.path) == session.document.rules


def test_what_nobody_knew_is_loaded_and_saved_again(points):
    first = asked(points)
    reply(first, "unknown")
    reply(first, "same")
    text = first.autosave.path.read_text(encoding="utf-8")
    second = asked()
    do(second, {"do": "load", "text": text})
    assert second.interview.unknown == WAITING[:1]
    assert second.document.rules == first.document.rules
    assert do(second, {"do": "save"}) == text
    third = Session(DATA, unknown=unknown_of(text))
    assert third.interview.unknown == WAITING[:1]


def test_answers_of_an_earlier_studio_are_never_written_over(points):
    first, both_open = asked(points), asked(points)
    reply(first, "same")
    kept = first.autosave.path.read_bytes()
    later = asked(points)
    assert later.autosave.earlier == first.autosave.path
    assert first.autosave.path.name in told(later)["saved"]
    for session in (both_open, later):
        reply(session, "different")
    paths = {session.autosave.path for session in (first, both_open, later)}
    assert len(paths) == 3
    assert first.autosave.path.read_bytes() == kept
    assert set(points.parent.iterdir()) == paths


def test_a_file_that_cannot_be_written_is_said_and_tried_again(points):
    session = asked(points)
    session.autosave.path = points.parent / "absent" / "points.json"
    reply(session, "same")
    assert session.document.rules == ConstraintSet(MustLink([(0, 1)]))
    state = told(session)
    assert state["unsaved"]
    assert state["saved"].startswith("NOT saved")
    session.autosave.path.parent.mkdir()
    do(session, {"do": "calm", "factor": 0})
    assert not told(session)["unsaved"]
    assert ConstraintSet.from_json(session.autosave.path) == session.document.rules


def test_without_a_file_of_data_nothing_is_written():
    session = asked()
    reply(session, "same")
    assert told(session)["saved"].startswith("Rules and answers are lost when the studio ends")


@pytest.mark.parametrize(
    "unknown", [3, [[0]], [[0, 1, 2]], [[0, -1]], [[0, 1.5]], [[True, 1]], ["ab"], [[0, 2**70]]]
)
def test_pairs_that_are_none_are_refused(unknown):
    session = asked()
    values = {**json.loads(json_of(ConstraintSet())), "unknown": unknown}
    do(session, {"do": "load", "text": json.dumps(values)})
    assert session.failed
    assert "unknown" in session.message
    do(session, {"do": "load", "text": json_of(ConstraintSet(), [(0, 8)])})
    assert "rows must lie in [0, 7]" in session.message
    assert session.interview.unknown == ()


def test_a_file_of_the_users_name_is_written_and_none_is_replaced(tmp_path):
    wanted = tmp_path / "answers.json"
    wanted.write_text("of somebody else")
    session = Session(DATA, autosave=Autosave(wanted))
    session.interview = Interview(waiting=WAITING)
    reply(session, "same")
    assert wanted.read_text() == "of somebody else"
    assert ConstraintSet.from_json(tmp_path / "answers-2.json") == session.document.rules
    with pytest.raises(ValueError, match="its folder does not exist"):
        Autosave(tmp_path / "nowhere" / "answers.json")
