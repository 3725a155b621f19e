"""Judgements: what is asked again, how they agree, and what several people agree on."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest

from corral import CannotLink, ConstraintSet, MustLink
from corral.active import Known
from corral.active.cards import differences, shown_columns
from corral.active.judgements import (
    Joined,
    Judgement,
    agreement,
    ask_again,
    links_of,
    read_judgements,
    without_links,
)
from corral.constraints.collection import json_of, rules_of


def judged(rng, n, count, by, wrong=0.0):
    """Judgements of pairs of rows of three kinds, some of them wrong."""
    truth = np.arange(n) % 3
    pairs = np.array(list(combinations(range(n), 2)))
    for one, other in rng.permutation(pairs)[:count].tolist():
        same = (truth[one] == truth[other]) != (rng.random() < wrong)
        says = "unknown" if rng.random() < 0.1 else "same" if same else "different"
        yield Judgement((one, other), says, by=by)


def test_one_question_of_twenty_asks_an_earlier_pair_with_its_sides_exchanged():
    log = list(judged(np.random.default_rng(0), 30, 200, "ann"))
    said, repeated = [], []
    for new in log:
        again = ask_again(said)
        assert (again is None) == ((len(said) + 1) % 20 != 0)
        if again is not None:
            before = [each.pair for each in said if each.known and not each.again]
            assert again[::-1] in before[:-1]
            repeated.append(frozenset(again))
            said.append(Judgement(again, "same", again=True))
        said.append(new)
    assert len(set(repeated)) == len(repeated) > 5
    assert agreement(said)[0] == len(repeated)


def test_what_is_asked_again_follows_from_the_log_alone():
    log = list(judged(np.random.default_rng(1), 30, 19, "ann"))
    assert ask_again(log) == ask_again(tuple(log)) is not None
    assert ask_again(log[:-1]) is None


def test_answers_in_a_file_come_back():
    log = (
        Judgement(("ann", "bob"), "same", "2024-05-01T09:30:00Z", "eve"),
        Judgement((3, 4), "unknown", again=True),
    )
    text = json_of(links_of(log), [(3, 4)], [said.to_dict() for said in log])
    assert read_judgements(text, "a.json") == log
    assert rules_of(text, "a.json") == ConstraintSet(MustLink([("ann", "bob")]))
    assert read_judgements(json_of(ConstraintSet()), "a.json") == ()


@pytest.mark.parametrize(
    "entry",
    [
        3,
        {"pair": [1], "says": "same"},
        {"pair": [1, 1], "says": "same"},
        {"pair": [1, True], "says": "same"},
        {"pair": [1, 2.5], "says": "same"},
        {"pair": [1, 2], "says": "perhaps"},
        {"pair": [1, 2]},
    ],
)
def test_an_entry_that_is_no_judgement_is_refused(entry):
    text = json.dumps({"answers": [{"pair": [0, 1], "says": "same"}, entry]})
    with pytest.raises(ValueError, match=r"a\.json: answers\[1\]"):
        read_judgements(text, "a.json")


def test_rules_without_their_links_are_the_rules_before():
    log = [Judgement((0, 1), "same"), Judgement((2, 1), "different"), Judgement((4, 5), "unknown")]
    before = ConstraintSet([MustLink([(5, 6)]), CannotLink([(0, 1)], weight=2)])
    both = ConstraintSet(
        [MustLink([(5, 6), (1, 0)]), CannotLink([(0, 1)], 2), CannotLink([(1, 2)])]
    )
    assert without_links(both, log) == before
    names = [f"r{row}" for row in range(7)]
    named = ConstraintSet(MustLink([("r0", "r1"), ("r5", "r6")]))
    assert without_links(named, log, names) == ConstraintSet(MustLink([("r5", "r6")]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("majority", [False, True])
def test_what_is_agreed_never_contradicts(seed, majority):
    rng = np.random.default_rng(seed)
    files = [list(judged(rng, 12, 40, name, wrong=0.15)) for name in ("ann", "bob", "eve")]
    joined = Joined.of(files, majority=majority)
    rules = links_of(joined.agreed)
    known = Known.of(rules, 12, 12)
    apart = [said.pair for said in joined.agreed if said.says == "different"]
    assert all(known.group[one] != known.group[other] for one, other in apart)
    # A pair is agreed on, in conflict, or nobody knew it.
    agreed = {said.ends for said in joined.agreed}
    clashing = {ends for clash in joined.clashes for ends in clash.ends}
    unknown = {said.ends for said in joined.unknown}
    assert agreed | clashing | unknown == {said.ends for file in files for said in file}
    if not majority:
        assert not agreed & clashing


def test_files_that_agree_have_no_conflict_and_order_does_not_matter():
    rng = np.random.default_rng(3)
    files = [list(judged(rng, 12, 30, name)) for name in ("ann", "bob")]
    joined, turned = Joined.of(files), Joined.of(files[::-1])
    assert joined.clashes == ()
    assert {said.ends for said in joined.agreed} == {said.ends for said in turned.agreed}
    assert Joined.of([joined.log, *files]).log == joined.log
    for _, _, both, alike in joined.alike():
        assert alike == both


def test_one_text_is_the_other_where_no_words_differ():
    one, other = "A red shoe, 12.50 in Bern", "a blue shoe, 12.90 in  Bern"
    first, second = differences(one, other)
    assert "".join(text for text, _ in first) == one
    assert "".join(text for text, _ in second) == other
    assert [text for text, differs in first if differs] == ["red", "12.50"]
    assert not any(differs for _, differs in differences(one, one)[0])


def test_columns_of_an_embedding_are_not_shown_unless_they_are_all_there_is():
    columns = ["id", "text", *(f"e{number}" for number in range(50)), "mark1", "mark2"]
    assert shown_columns(columns, without=["id"]) == ["text", "mark1", "mark2"]
    assert shown_columns(columns, ["e1?", "text"])[:2] == ["e10", "e11"]
    assert len(shown_columns(columns[2:52])) == 25
    with pytest.raises(ValueError, match="did you mean 'text'"):
        shown_columns(columns, ["txt"])
