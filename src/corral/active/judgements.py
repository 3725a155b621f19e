"""Judgements of pairs: who said what and when, what is asked again, and files of several people."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

from ..constraints import CannotLink, ConstraintSet, MustLink

SAME, DIFFERENT, UNKNOWN = "same", "different", "unknown"
#: What can be said of a pair, and what it means.
REPLIES: dict[str, bool | None] = {SAME: True, DIFFERENT: False, UNKNOWN: None}

#: One question of so many asks an earlier pair again.  More ask again less often, and the agreement
#: with oneself is known later.  It is a choice of the annotator's time and no measured optimum.
AGAIN_EVERY = 20
#: The last answers, which a person still remembers; they are not asked again.
REMEMBERED = 5

Ends: TypeAlias = tuple[Any, Any]


@dataclass(frozen=True)
class Judgement:
    """What one person said of one pair.

    Attributes
    ----------
    pair : pair of str or int
        Names of two rows, or their numbers.
    says : {"same", "different", "unknown"}
    time : str
        In UTC; "" if it is not known.
    by : str
        Name of the person; "" if it is not known.
    again : bool
        Whether the pair was asked for the second time, to see whether the answers agree.

    Examples
    --------
    >>> said = Judgement(("ann", "bob"), "same", by="eve")
    >>> said.to_dict()
    {'pair': ['ann', 'bob'], 'says': 'same', 'by': 'eve'}
    >>> said.ends == Judgement(("bob", "ann"), "unknown").ends
    True
    """

    pair: Ends
    says: str
    time: str = ""
    by: str = ""
    again: bool = False

    @property
    def ends(self) -> frozenset[Any]:
        """The two rows, in no order."""
        return frozenset(self.pair)

    @property
    def known(self) -> bool:
        """Whether the person knew."""
        return self.says != UNKNOWN

    def to_dict(self) -> dict[str, Any]:
        """The judgement as a file holds it."""
        values = {"time": self.time, "by": self.by, "again": self.again}
        given = {name: value for name, value in values.items() if value}
        return {"pair": list(self.pair), "says": self.says, **given}


def read_judgements(text: str, name: str) -> tuple[Judgement, ...]:
    """The judgements in a file of answers, which is a file of constraints with "answers".

    Raises
    ------
    ValueError
        The message names the file, the entry and the wrong value.
    """
    found = json.loads(text).get("answers", [])
    if not isinstance(found, list):
        raise ValueError(f'{name}: "answers" must be a list of objects.')
    return tuple(_read(entry, f"{name}: answers[{number}]") for number, entry in enumerate(found))


def _read(entry: Any, where: str) -> Judgement:
    if not isinstance(entry, dict):
        raise ValueError(f"{where} is {entry!r}; it must be an object with pair and says.")
    pair, says = entry.get("pair"), entry.get("says")
    ends = pair if isinstance(pair, list) else []
    if len(ends) != 2 or not all(type(end) in (str, int) for end in ends) or ends[0] == ends[1]:
        raise ValueError(f"{where}.pair is {pair!r}; it must be two rows, such as [0, 5].")
    if says not in REPLIES:
        raise ValueError(f"{where}.says is {says!r}; it must be one of {', '.join(REPLIES)}.")
    time, by = (str(entry.get(key, "")) for key in ("time", "by"))
    return Judgement((ends[0], ends[1]), says, time, by, bool(entry.get("again", False)))


def ask_again(log: Sequence[Judgement], every: int = AGAIN_EVERY) -> Ends | None:
    """The earlier pair that the next question asks again, its sides exchanged; None for a new one.

    It follows from the log alone, so that undo and a restart lead to the same question.

    Examples
    --------
    >>> log = [Judgement((n, n + 1), "same") for n in range(19)]
    >>> ask_again(log[:18]) is None
    True
    >>> first, second = ask_again(log)
    >>> first == second + 1 and second < 14
    True
    """
    if (len(log) + 1) % every:
        return None
    asked = {said.ends for said in log if said.again}
    old = [said for said in log[: max(len(log) - REMEMBERED, 0)] if said.known and not said.again]
    old = [said for said in old if said.ends not in asked]
    if not old:
        return None
    first, second = random.Random(len(log)).choice(old).pair
    return second, first


def agreement(log: Iterable[Judgement]) -> tuple[int, int]:
    """How many pairs were asked again, and how many of these answers agree with the first.

    Examples
    --------
    >>> first = [Judgement((0, 1), "same"), Judgement((2, 3), "same")]
    >>> agreement([*first, Judgement((1, 0), "same", again=True)])
    (1, 1)
    >>> agreement([*first, Judgement((1, 0), "different", again=True)])
    (1, 0)
    """
    before: dict[frozenset[Any], str] = {}
    count = alike = 0
    for said in log:
        if said.again and said.ends in before:
            count, alike = count + 1, alike + (said.says == before[said.ends])
        elif not said.again and said.known:
            before.setdefault(said.ends, said.says)
    return count, alike


def agreement_words(log: Iterable[Judgement]) -> str:
    """The agreement with the own earlier answers in words; "" if nothing was asked again."""
    count, alike = agreement(log)
    return f"Agreement with your own earlier answers: {alike} of {count}." if count else ""


def links_of(log: Iterable[Judgement]) -> ConstraintSet:
    """The links that the judgements add to the rules.

    What was asked again adds nothing, and neither do judgements that contradict each other.
    """
    new = settled(log)
    same, different = (
        [said.pair for said in new if said.says == says] for says in (SAME, DIFFERENT)
    )
    made = [MustLink(same) if same else None, CannotLink(different) if different else None]
    return ConstraintSet(made)


def settled(log: Iterable[Judgement]) -> tuple[Judgement, ...]:
    """The judgements that count: the first of each pair, without those that contradict others."""
    return Joined.of([[said for said in log if not said.again]]).agreed


def without_links(rules: ConstraintSet, log: Iterable[Judgement], names: Any = None) -> Any:
    """The rules without the links of these judgements.

    ``names`` are those of the rows, where one has names of rows and the other their numbers.
    """
    place = {} if names is None else {name: row for row, name in enumerate(names)}
    said = {(one.says, _ends(one.pair, place)) for one in log if one.known and not one.again}
    left = []
    for rule in rules:
        if isinstance(rule, (MustLink, CannotLink)):
            says = SAME if isinstance(rule, MustLink) else DIFFERENT
            pairs = rule.pairs.tolist()
            kept = [n for n, pair in enumerate(pairs) if (says, _ends(pair, place)) not in said]
            if len(kept) < len(pairs):
                if not kept:
                    continue
                rule = rule.take(kept)
        left.append(rule)
    return ConstraintSet(left)


def _ends(pair: Iterable[Any], place: dict[Any, int]) -> frozenset[Any]:
    return frozenset(place.get(end, end) for end in pair)


# Files of several people.


@dataclass(frozen=True)
class Clash:
    """Judgements that cannot all be right: of one pair, or of a chain of pairs."""

    judgements: tuple[Judgement, ...]

    @property
    def ends(self) -> frozenset[frozenset[Any]]:
        """The pairs."""
        return frozenset(said.ends for said in self.judgements)

    def __str__(self) -> str:
        first = self.judgements[0].pair
        if len(self.ends) == 1:
            said = ", ".join(f"{_who(one)} {one.says}" for one in self.judgements)
            return f"{first[0]} and {first[1]}: {said}"
        *chain, last = self.judgements
        steps = ", ".join(f"{one.pair[0]} and {one.pair[1]} same ({_who(one)})" for one in chain)
        return f"{last.pair[0]} and {last.pair[1]} different ({_who(last)}), but {steps}"


def _who(said: Judgement) -> str:
    name = said.by or "somebody"
    return f"{name} (again)" if said.again else name


@dataclass(frozen=True)
class Joined:
    """The judgements of several people.

    Attributes
    ----------
    log : tuple of Judgement
        All of them; what stands in several files is here once.
    clashes : tuple of Clash
        Pairs that were judged differently, then chains of pairs that contradict each other.
    agreed : tuple of Judgement
        One for each pair of which something is known and that is in no clash.

    Examples
    --------
    >>> ann = [Judgement((0, 1), "same", by="ann"), Judgement((1, 2), "same", by="ann")]
    >>> bob = [Judgement((1, 0), "different", by="bob"), Judgement((3, 4), "same", by="bob")]
    >>> joined = Joined.of([ann, bob])
    >>> [str(clash) for clash in joined.clashes]
    ['0 and 1: ann same, bob different']
    >>> [said.pair for said in joined.agreed]
    [(1, 2), (3, 4)]
    """

    log: tuple[Judgement, ...]
    clashes: tuple[Clash, ...]
    agreed: tuple[Judgement, ...]

    @classmethod
    def of(cls, files: Iterable[Iterable[Judgement]], *, majority: bool = False) -> Joined:
        """Join files; with ``majority`` a pair is what more people said, if more did."""
        log = tuple(dict.fromkeys(said for file in files for said in file))
        by_pair: dict[frozenset[Any], list[Judgement]] = {}
        for said in log:
            if said.known:
                by_pair.setdefault(said.ends, []).append(said)
        clashes, agreed = [], []
        for all_said in by_pair.values():
            counts = [sum(one.says == says for one in all_said) for says in (SAME, DIFFERENT)]
            if all(counts):
                clashes.append(Clash(tuple(all_said)))
            if not all(counts) or (majority and counts[0] != counts[1]):
                says = SAME if counts[0] > counts[1] else DIFFERENT
                agreed.append(next(one for one in all_said if one.says == says))
        agreed = [replace(said, again=False) for said in agreed]
        chains = list(_chains(agreed))
        wrong = {ends for chain in chains for ends in chain.ends}
        kept = tuple(said for said in agreed if said.ends not in wrong)
        return cls(log, (*clashes, *chains), kept)

    @property
    def unknown(self) -> tuple[Judgement, ...]:
        """One for each pair that nobody could judge."""
        known = {said.ends for said in self.log if said.known}
        made = {said.ends: said for said in self.log if said.ends not in known}
        return tuple(made.values())

    @property
    def people(self) -> list[str]:
        """Who judged, in the order of the files."""
        return list(dict.fromkeys(said.by for said in self.log))

    def alike(self) -> Iterator[tuple[str, str, int, int]]:
        """For each two people the pairs that both judged, and those that they judged alike."""
        said = {name: _first(self.log, name) for name in self.people}
        for one, other in combinations(self.people, 2):
            both = said[one].keys() & said[other].keys()
            if both:
                yield one, other, len(both), sum(said[one][p] == said[other][p] for p in both)


def _first(log: Iterable[Judgement], name: str) -> dict[frozenset[Any], str]:
    """What a person said of each pair for the first time."""
    made: dict[frozenset[Any], str] = {}
    for said in log:
        if said.by == name and said.known:
            made.setdefault(said.ends, said.says)
    return made


def _chains(agreed: Sequence[Judgement]) -> Iterator[Clash]:
    """Pairs that are different though a chain of pairs makes them the same, with that chain.

    The pairs of a chain are left out before the next is looked for, so at the end none is left.
    """
    near: dict[Any, dict[Any, Judgement]] = {}
    for said in agreed:
        if said.says == SAME:
            for one, other in (said.pair, said.pair[::-1]):
                near.setdefault(one, {})[other] = said
    for said in agreed:
        if said.says != DIFFERENT:
            continue
        chain = _path(near, *said.pair)
        if chain:
            yield Clash((*chain, said))
            for step in chain:
                for one, other in (step.pair, step.pair[::-1]):
                    near[one].pop(other, None)


def _path(near: dict[Any, dict[Any, Judgement]], start: Any, end: Any) -> list[Judgement]:
    """The shortest chain between two rows; empty if there is none."""
    came: dict[Any, Any] = {start: None}
    queue = deque([start])
    while queue and end not in came:
        row = queue.popleft()
        for other in near.get(row, ()):
            if other not in came:
                came[other] = row
                queue.append(other)
    steps = []
    while end in came and came[end] is not None:
        steps.append(near[came[end]][end])
        end = came[end]
    return steps[::-1]
