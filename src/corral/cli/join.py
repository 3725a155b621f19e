"""``corral join`` joins the answers of several people, and lists where they contradict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options as opt
from .output import FINE, Written, check_output, say

if TYPE_CHECKING:
    from ..active.judgements import Joined, Judgement

#: Contradictions that are printed; all are in the table.
MOST_PRINTED = 20
#: Columns of the table of answers.
COLUMNS = ("first", "second", "answer", "time", "name", "again", "conflict")
#: Endings of files of answers that are tables.
TABLES = (".csv", ".tsv", ".xlsx", ".parquet")

EPILOG = """\b
Examples:
  corral join ann.json bob.json -o answers.json
  corral join ann.json bob.json eve.json --majority -o answers.json
  corral join answers.json -o pairs.csv

The output is a file of rules and answers (.json), for corral ask and for --rules of corral fit, or
a table of all answers with their times and names (.csv, .tsv, .xlsx, .parquet), which this command
reads, too. Pairs that were judged differently are listed and left out of the rules; so are chains
of pairs that contradict each other."""


@click.command(epilog=EPILOG, short_help="Join the answers of several people.")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@opt.option(
    "-o", "--output", type=click.Path(), help="Rules and answers (.json), or a table of answers."
)
@opt.option(
    "--majority", is_flag=True, help="A pair is what more people said; equal numbers stay out."
)
@opt.force_option
@opt.option("-q", "--quiet", is_flag=True, help="Print nothing.")
@opt.debug_option
def join(files: Sequence[str], output: str | None, majority: bool, force: bool, quiet: bool) -> int:
    """Join FILES of answers, of corral ask or corral studio, and list the conflicts."""
    from ..active.judgements import Joined

    check_output("FILES --output", output, force=force, inputs=files)
    joined = Joined.of([_answers_of(path) for path in files], majority=majority)
    if not quiet:
        for line in _told(joined, majority):
            say(line)
    if output is None:
        return FINE
    written = Written(force=force)
    if output.endswith(".json"):
        written.text(output, _document(files, joined))
    else:
        from .tables import write_table

        write_table(output, _table(joined), beside=written.beside(output))
    if not quiet:
        say(f"wrote {output}")
    return written.code(FINE)


def _answers_of(path: str) -> tuple[Judgement, ...]:
    """The answers in a file of rules or in a table that this command wrote."""
    from ..active.judgements import read_judgements
    from ..constraints import ConstraintSet
    from .tables import ending_of

    if ending_of(path) in TABLES:
        return tuple(_of_table(path))
    ConstraintSet.from_json(path)  # its errors say what is wrong with the file
    found = read_judgements(Path(path).read_text(encoding="utf-8"), path)
    if not found:
        raise ValueError(
            f"{path} has rules, but no answers with times and names; only files of corral ask and "
            "of the questions of corral studio can be joined. corral fit takes --rules more than "
            "once."
        )
    return found


def _of_table(path: str) -> Iterator[Judgement]:
    from ..active.judgements import REPLIES, Judgement
    from .tables import read_table

    table = read_table(path, header=True)
    columns = [table.texts(name) for name in COLUMNS[:3]]
    more = [table.texts(name) if name in table.columns else None for name in COLUMNS[3:6]]
    for row, (first, second, says) in enumerate(zip(*columns, strict=True)):
        if says not in REPLIES:
            allowed = ", ".join(REPLIES)
            raise ValueError(
                f"{path}, {table.place(row)}, column 'answer': {says!r} must be one of {allowed}."
            )
        time, by, again = ("" if cells is None else cells[row] for cells in more)
        yield Judgement((_end(first), _end(second)), says, time, by, again == "yes")


def _end(cell: str) -> Any:
    """A number of a row, or a name."""
    return int(cell) if cell.isdecimal() and cell == str(int(cell)) else cell


def _document(files: Sequence[str], joined: Joined) -> str:
    """The rules of all files, with the links that all agree on, and all answers."""
    from ..active.judgements import links_of, without_links
    from ..constraints import ConstraintSet
    from ..constraints.collection import json_of, unknown_of

    others: list[Any] = []
    unknown: list[tuple[int, int]] = []
    for path in files:
        if path.endswith(".json"):
            rules = without_links(ConstraintSet.from_json(path), joined.log)
            others += [rule for rule in rules if rule not in others]
            unknown += unknown_of(Path(path).read_text(encoding="utf-8"))
    rules = ConstraintSet([*others, *links_of(joined.agreed)])
    pairs = dict.fromkeys(unknown)
    known = {said.ends for said in joined.agreed}
    left = [pair for pair in pairs if frozenset(pair) not in known]
    return json_of(rules, left, [said.to_dict() for said in joined.log])


def _table(joined: Joined) -> dict[str, list[Any]]:
    wrong = {ends: number for number, clash in enumerate(joined.clashes, 1) for ends in clash.ends}
    rows = [
        (
            *(said.pair[0], said.pair[1], said.says, said.time, said.by),
            *("yes" if said.again else "", str(wrong.get(said.ends, ""))),
        )
        for said in joined.log
    ]
    return dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))


def _told(joined: Joined, majority: bool) -> Iterator[str]:
    """The answers of each person, how they agree, and what contradicts."""
    from ..active.judgements import agreement
    from ..constraints._checks import plural

    for name in joined.people:
        own = [said for said in joined.log if said.by == name]
        count, alike = agreement(own)
        again = f", {alike} of {count} asked again agree" if count else ""
        yield f"{name or 'without a name'}: {plural(len(own) - count, 'answer')}{again}"
    for one, other, both, alike in joined.alike():
        yield f"{one or 'without a name'} and {other or 'without a name'}: {alike} of {both} alike"
    yield f"{plural(len(joined.agreed), 'pair')} agreed, {plural(len(joined.clashes), 'conflict')}"
    for number, clash in enumerate(joined.clashes[:MOST_PRINTED], start=1):
        yield f"  conflict {number}: {clash}"
    if len(joined.clashes) > MOST_PRINTED:
        yield f"  and {len(joined.clashes) - MOST_PRINTED} more; a table as output has all"
    if joined.clashes and majority:
        yield "The majority decides where there is one; the other pairs in conflict are left out."
    elif joined.clashes:
        yield "Pairs in conflict are left out; judge them together, or give --majority."
