"""An annotator: a fresh folder with texts, two commands, the commonest mistakes, the answers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from corral import ConstraintSet
from corral.cli import ask as asking

KINDS = ("red leather shoe", "blue running shoe", "green rubber boot")
N = 45
GIVEN = ("texts.csv", "-k", 3, "--columns", "e*", "-o", "answers.json")


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """Texts of three kinds with their embedding."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    head = ["id", "description", "price", *(f"e{j}" for j in range(9))]
    rows = []
    for row in range(N):
        place = rng.normal(scale=0.8, size=9)
        place[row % 3] += 2.0
        text = f"A {KINDS[row % 3]}, hardly used, sold with its box and a receipt, number {row}"
        rows.append([f"t{row:02}", text, 10 + row, *place.round(3)])
    with (tmp_path / "texts.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return tmp_path


class Person(io.StringIO):
    """Types what is right for the pair that was shown last, or first what is to be typed."""

    def __init__(self, typed=(), wrong=()):
        super().__init__()
        self.typed, self.wrong, self.pairs = list(typed), wrong, []

    def readline(self, *_):
        if self.typed:
            return f"{self.typed.pop(0)}\n"
        one, other = self.pairs[-1]
        right = one % 3 == other % 3
        return "s\n" if right != (len(self.pairs) in self.wrong) else "d\n"


@pytest.fixture
def person(monkeypatch, corral):
    """Run ``corral ask`` with a person who answers what is right."""
    shown = asking.question

    def run(*words, **how):
        typist = Person(**how)

        def question(session, pair):
            typist.pairs.append(pair)
            return shown(session, pair)

        monkeypatch.setattr(asking, "question", question)
        monkeypatch.setattr("sys.stdin", typist)
        done = corral("ask", *words)
        done.pairs = typist.pairs
        return done

    return run


def saved(path="answers.json"):
    with Path(path).open(encoding="utf-8") as file:
        return json.load(file)


def test_two_commands_from_the_texts_to_the_joined_answers(texts, person, corral):
    done = person(*GIVEN, "--show", "description", "--by", "Ann", "--questions", 22)
    assert done.code == 0, done.err
    assert "using 9 of 12 columns: e0, e1" in done.err
    assert "Question 1 of 22" in done.out
    assert "Agreement with your own earlier answers: 1 of 1." in done.out
    found = saved()
    assert len(found["answers"]) == 22
    assert {said["by"] for said in found["answers"]} == {"Ann"}
    assert all(len(said["time"]) == 20 for said in found["answers"])
    assert [said.get("again", False) for said in found["answers"]].count(True) == 1
    for rule in ConstraintSet.from_json("answers.json"):
        for one, other in rule.pairs.tolist():
            same = int(one[1:]) % 3 == int(other[1:]) % 3
            assert same == (type(rule).__name__ == "MustLink")
    table = corral("join", "answers.json", "-o", "pairs.csv")
    assert table.code == 0, table.err
    rows = list(csv.DictReader((texts / "pairs.csv").open(encoding="utf-8")))
    assert [row["name"] for row in rows] == ["Ann"] * 22
    assert [row["answer"] for row in rows] == [said["says"] for said in found["answers"]]


def test_the_question_is_wrapped_to_the_terminal_and_shows_no_embedding(texts, person, monkeypatch):
    for width in (50, 80, 140):
        monkeypatch.setenv("COLUMNS", str(width))
        done = person(*GIVEN, "--questions", 1)
        shown = done.out[done.out.index("same cluster?") :].splitlines()[1:]
        table = shown[: next(n for n, line in enumerate(shown) if line.startswith("[s]ame"))]
        assert max(map(len, table)) <= width
        text = " ".join(" ".join(table).split())
        assert "\N{HORIZONTAL ELLIPSIS}" not in text
        assert all(word in text for word in ("hardly", "receipt", "price"))
        assert " e0 " not in text
        (texts / "answers.json").unlink()


MISTAKES = {
    "no embedding": (("plain.csv", "-k", 3, "-o", "a.json"), "an embedding of the texts"),
    "no such columns": (
        ("texts.csv", "-k", 3, "--columns", "emb*", "-o", "a.json"),
        "no column matches 'emb*'; the columns are id, description, price, e0",
    ),
    "a table as answers": (
        ("texts.csv", "-k", 3, "--columns", "e*", "-o", "a.csv"),
        "corral join a.json -o a.csv makes a table",
    ),
    "a column that is not there": (
        ("texts.csv", "-k", 3, "--show", "descripton", "-o", "a.json"),
        "(did you mean 'description'?)",
    ),
    "Latin-1": (("latin.csv", "-k", 3, "-o", "a.json"), "save it as CSV UTF-8"),
    "no number of clusters": (("texts.csv", "-o", "a.json"), "give -k"),
    "a text to cluster by": (
        ("texts.csv", "-k", 3, "--columns", "description", "-o", "a.json"),
        "leave it out of --columns",
    ),
    "an old sheet": (("texts.xls", "-k", 3, "-o", "a.json"), "Save it as .xlsx or as CSV UTF-8"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_leads_to_its_remedy(texts, person, mistake):
    (texts / "plain.csv").write_text("id,text\na,one\nb,two\nc,three\n")
    (texts / "latin.csv").write_bytes("id,e0\nMüller,1\nOtt,2\nIda,3\n".encode("latin-1"))
    (texts / "texts.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    words, remedy = MISTAKES[mistake]
    done = person(*words)
    assert done.code == 2
    assert remedy in done.err
    assert not list(texts.glob("a.*"))


def test_a_second_run_goes_on_with_the_numbers_the_name_and_undo(texts, person):
    person(*GIVEN, "--questions", 4, "--by", "Ann")
    first = saved()["answers"]
    done = person(*GIVEN, "--questions", 2, typed=["x", "u"])
    assert "'x' is none of s, d, ?, u and q." in done.out
    assert "Question 5, 1 of 2 now" in done.out
    assert "Question 4" in done.out
    now = saved()["answers"]
    assert now[:3] == first[:3]
    assert now[3]["pair"] == first[3]["pair"]  # what was taken back is asked again
    assert {said["by"] for said in now} == {"Ann"}


def test_undo_back_to_the_start_leaves_no_link(texts, person):
    person(*GIVEN, "--questions", 3)
    assert len(ConstraintSet.from_json("answers.json"))
    person(*GIVEN, typed=["u", "u", "u", "u", "q"])
    found = saved()
    assert found["constraints"] == []
    assert "answers" not in found


def test_what_nobody_knew_is_not_asked_in_the_next_run(texts, person):
    person(*GIVEN, "--questions", 3, typed=["?", "?", "?"])
    before = {frozenset(said["pair"]) for said in saved()["answers"]}
    assert len(before) == 3
    done = person(*GIVEN, "--questions", 6)
    names = [frozenset(f"t{row:02}" for row in pair) for pair in done.pairs]
    assert not before & set(names)


def test_a_repeated_answer_that_differs_is_counted_and_changes_no_rule(texts, person):
    done = person(*GIVEN, "--questions", 20, wrong=(20,))
    assert "Agreement with your own earlier answers: 0 of 1." in done.out
    links = sum(len(rule.pairs) for rule in ConstraintSet.from_json("answers.json"))
    assert links == 19


def test_the_name_is_asked_once_at_a_terminal(texts, person, monkeypatch):
    asked = []
    monkeypatch.setattr(asking, "asks_here", lambda: True)
    monkeypatch.setattr(asking.click, "prompt", lambda *_, **__: asked.append(1) or " Ann ")
    for _ in range(2):
        person(*GIVEN, "--questions", 2)
    assert len(asked) == 1
    assert {said["by"] for said in saved()["answers"]} == {"Ann"}


def test_two_people_are_joined_and_their_conflicts_are_listed(texts, person, corral):
    mine = (*GIVEN[:-1], "ann.json")
    person(*mine, "--questions", 8, "--by", "Ann")
    document = saved("ann.json")
    for number, said in enumerate(document["answers"]):
        said["by"] = "Bob"
        if number == 2:
            said["says"] = "same" if said["says"] == "different" else "different"
    (texts / "bob.json").write_text(json.dumps({**document, "constraints": []}))
    done = corral("join", "ann.json", "bob.json", "-o", "all.json")
    assert done.code == 0, done.err
    assert "Ann and Bob: 7 of 8 alike" in done.out
    assert "7 pairs agreed, 1 conflict" in done.out
    one, other = document["answers"][2]["pair"]
    assert f"conflict 1: {one} and {other}: Ann" in done.out
    rules = ConstraintSet.from_json("all.json")
    pairs = [frozenset(pair) for rule in rules for pair in rule.pairs.tolist()]
    assert len(pairs) == 7
    assert frozenset((one, other)) not in pairs
    fitted = corral("fit", *GIVEN[:5], "--rules", "all.json", "-q")
    assert fitted.code == 0, fitted.err
    # The joined file is a file of answers again, and so is a table of it.
    assert corral("join", "all.json", "-o", "all.csv").code == 0
    assert corral("join", "all.csv").out.splitlines()[:3] == done.out.splitlines()[:3]
    assert person(*GIVEN[:-1], "all.json", "--questions", 1).code == 0


def test_files_that_cannot_be_joined_are_told_why(texts, corral):
    ConstraintSet().to_json("rules.json")
    assert "only files of corral ask" in corral("join", "rules.json").err
    (texts / "t.csv").write_text("first,second,answer\na,b,perhaps\n")
    assert "must be one of same, different, unknown" in corral("join", "t.csv").err
    (texts / "t.csv").write_text("first,second\na,b\n")
    assert "has no column 'answer'" in corral("join", "t.csv").err
