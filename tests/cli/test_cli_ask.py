"""``corral ask``: replies become links in a file that is always complete."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from corral import CannotLink, ConstraintSet, MustLink

NEAR = ("near.csv", "--id-column", "id", "-k", 3, "-o", "answers.json")


@pytest.fixture
def reply(corral, monkeypatch):
    """Run ``corral ask`` with these lines typed."""

    def call(lines, *words):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return corral("ask", *words)

    return call


def pairs_asked(text):
    """The ids of both rows of each question, from the head lines of their tables."""
    lines = text.splitlines()
    heads = [lines[at + 1].split() for at, line in enumerate(lines) if line.startswith("Question")]
    return [tuple(head) for head in heads]


def links(path="answers.json"):
    """All links of the file, by kind, as sets of ids."""
    found = {"MustLink": set(), "CannotLink": set()}
    for rule in ConstraintSet.from_json(path):
        found[type(rule).__name__] |= {frozenset(pair) for pair in rule.pairs.tolist()}
    return found


def test_replies_become_links(folder, reply):
    done = reply(["s", "d", "?", "q"], *NEAR, "--batch", 4)
    assert done.code == 0, done.err
    first, second, *_ = map(frozenset, pairs_asked(done.out))
    assert links() == {"MustLink": {first}, "CannotLink": {second}}
    assert "3 answers: 1 same, 1 different, 1 don't know" in done.out
    again = reply(["s"], *NEAR)  # the end of the input ends it like q
    assert again.code == 0
    assert not {first, second} & set(map(frozenset, pairs_asked(again.out)))
    assert {first, frozenset(pairs_asked(again.out)[0])} == links()["MustLink"]


def test_the_file_is_a_file_of_rules(folder, reply, corral, labels_of):
    done = reply(["s", "d"], *NEAR, "--questions", 2)
    (a, b), (c, d) = pairs_asked(done.out)
    fitted = corral("fit", *NEAR[:5], "--rules", "answers.json")
    labels = labels_of(fitted.out)
    assert labels[a] == labels[b]
    assert labels[c] != labels[d]


def test_undo_takes_the_last_answer_back(folder, reply):
    done = reply(["u", "s", "d", "u", "u", "x", "q"], *NEAR)
    assert "There is no answer to take back." in done.out
    assert "'x' is none of s, d, ?, u and q." in done.out
    assert links() == {"MustLink": set(), "CannotLink": set()}
    assert "0 answers" in done.out


def test_ctrl_c_leaves_a_complete_file(folder, corral, monkeypatch):
    class Typed(io.StringIO):
        def readline(self, *_):
            line = super().readline()
            if not line:
                raise KeyboardInterrupt
            return line

    monkeypatch.setattr("sys.stdin", Typed("s\nd\n"))
    done = corral("ask", *NEAR)
    assert done.code == 130
    assert sum(map(len, links().values())) == 2
    assert {path.name for path in folder.iterdir() if path.name.startswith(".")} == set()


def test_an_answer_that_cannot_be_obeyed_is_taken_back(folder, reply):
    json_rules = ConstraintSet([MustLink([(row, row + 1) for row in range(11) if row != 5])])
    json_rules.to_json("rules.json")
    # Two groups of six, and sizes of six: "same" would need a cluster of twelve.
    done = reply(
        ["s", "q"],
        "near.csv",
        "--id-column",
        "id",
        "--sizes",
        "6,6",
        "-o",
        "answers.json",
        "--rules",
        "rules.json",
        "--columns",
        "x",
    )
    assert "contradicts the rules and is taken back" in done.out
    assert "0 answers" in done.out
    assert links() == {"MustLink": set(), "CannotLink": set()}


def test_values_stand_side_by_side_without_control_characters(folder, reply):
    names = ["<b>", "\x1b[31mred", "c", "d"]
    rows = "".join(f"{name},{row},{'long ' * 20}\n" for row, name in enumerate(names))
    (folder / "hostile.csv").write_text("id,x,note\n" + rows)
    done = reply(
        ["q"], "hostile.csv", "--id-column", "id", "--columns", "x", "-k", 2, "-o", "answers.json"
    )
    assert done.code == 0, done.err
    assert "\x1b" not in done.out
    assert max(map(len, done.out.splitlines())) < 100
    (a, b), values = pairs_asked(done.out)[0], done.out.splitlines()
    assert any(line.split()[:1] == ["x"] and len(line.split()) == 3 for line in values)
    assert {a, b} <= {"<b>", "c", "d", "\N{REPLACEMENT CHARACTER}[31mred"}


def test_wrong_use_is_told(folder, reply):
    assert "give a file" in reply([], "-", "-k", 2, "-o", "answers.json").err
    assert "ending must be one of .json" in reply([], "near.csv", "-k", 2, "-o", "a.csv").err
    (folder / "answers.json").write_text(json.dumps({"format": "other"}))
    assert "not a file of constraints" in reply([], *NEAR).err
    assert json.loads((folder / "answers.json").read_text()) == {"format": "other"}


def test_row_numbers_where_rows_were_dropped(folder, reply):
    """Without ids the file has the numbers of the rows in the file of points."""
    x = np.array([0.0, 1, 2, 50, 51, 52, 53])
    text = "".join(
        f"{value},\n" if row == 1 else f"{value},{value}\n" for row, value in enumerate(x)
    )
    (folder / "gaps.csv").write_text("x,y\n" + text)
    done = reply(["d"], "gaps.csv", "-k", 2, "--missing", "drop", "-o", "answers.json")
    (rule,) = ConstraintSet.from_json("answers.json")
    assert isinstance(rule, CannotLink)
    assert frozenset(map(str, rule.pairs[0])) == frozenset(pairs_asked(done.out)[0])
    assert 1 not in rule.pairs


def test_pairs_that_nobody_could_judge_stay_in_the_file(folder, reply):
    done = reply(["?", "s", "?", "q"], *NEAR, "--batch", 4)
    first, _, third, *_ = pairs_asked(done.out)
    rows = [[int(name[1:]) for name in pair] for pair in (first, third)]
    assert json.loads((folder / "answers.json").read_text())["unknown"] == rows
    again = reply(["d", "?", "u", "s", "q"], *NEAR, "--batch", 9)
    assert json.loads((folder / "answers.json").read_text())["unknown"] == rows
    other = reply(["q"], *NEAR[:5], "-o", "other.json", "--rules", "answers.json")
    asked = {frozenset(pair) for pair in (*pairs_asked(again.out), *pairs_asked(other.out))}
    assert not {frozenset(first), frozenset(third)} & asked


def test_they_are_rows_of_the_file_also_where_rows_are_dropped(folder, reply):
    text = (folder / "near.csv").read_text().replace("p0,0,0", "p0,,0")
    (folder / "near.csv").write_text(text)
    done = reply(["?", "q"], *NEAR, "--missing", "drop")
    pair = [int(name[1:]) for name in pairs_asked(done.out)[0]]
    assert json.loads((folder / "answers.json").read_text())["unknown"] == [pair]
    again = reply(["q"], *NEAR, "--missing", "drop")
    assert set(map(frozenset, pairs_asked(again.out))).isdisjoint(
        map(frozenset, pairs_asked(done.out)[:1])
    )
    other = json.loads((folder / "answers.json").read_text()) | {"unknown": [[0, 12]]}
    (folder / "answers.json").write_text(json.dumps(other))
    refused = reply(["q"], *NEAR, "--missing", "drop")
    assert refused.code == 2
    assert '"unknown" is not of these points' in refused.err
