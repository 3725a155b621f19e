"""``corral ask``: ask which pairs of rows belong together, the most helpful pairs first."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..exceptions import InfeasibleConstraintsError
from . import options as opt
from .fit import fit_model, load
from .output import FINE, check_output, check_printing, say, write_text

if TYPE_CHECKING:
    from .. import ConstrainedKMeans, ConstraintSet
    from .data import Points

#: Most columns of the file that a question shows, and most characters of a cell.
MOST_COLUMNS, MOST_CHARACTERS = 25, 28

SAME, DIFFERENT, UNKNOWN, UNDO, STOP = "same", "different", "don't know", "undo", "stop"
#: What may be typed for each reply.
WORDS = {
    **dict.fromkeys(("s", "same", "y", "yes"), SAME),
    **dict.fromkeys(("d", "different", "n", "no"), DIFFERENT),
    **dict.fromkeys(("?", "k", "don't know", "dont know"), UNKNOWN),
    **dict.fromkeys(("u", "undo"), UNDO),
    **dict.fromkeys(("q", "stop", "quit"), STOP),
}
VALUES = {SAME: True, DIFFERENT: False, UNKNOWN: None}
PROMPT = "[s]ame, [d]ifferent, [?] don't know, [u]ndo, [q] stop: "

EPILOG = """\b
Examples:
  corral ask points.csv -k 3 -o answers.json
  corral ask shops.csv -k 4 --id-column shop --columns x,y -o answers.json --questions 20
  corral ask cities.csv -k 6 --columns lat,lon --metric haversine -o answers.json
  corral fit points.csv -k 3 --rules answers.json -o labels.csv

Each answer is written at once, so nothing is lost when you stop or press Ctrl-C. If the output file
exists, its rules count and the new answers are added to it."""


@dataclass
class Session:
    """The answers of this run, and what the file holds that they are added to.

    ``before`` are its rules, and ``not_known`` its pairs of rows that nobody could judge.  ``skip``
    are such pairs of other files, which are not asked about either.
    """

    points: Points
    path: str
    before: ConstraintSet
    not_known: tuple[tuple[int, int], ...] = ()
    skip: tuple[tuple[int, int], ...] = ()
    pairs: list[tuple[int, int]] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)

    def add(self, pair: tuple[int, int], reply: str) -> None:
        """Keep an answer, and write the file."""
        self.pairs.append(pair)
        self.replies.append(reply)
        self.write()

    def undo(self) -> bool:
        """Take the last answer back and write the file; False if there is none."""
        if not self.pairs:
            return False
        self.pairs.pop()
        self.replies.pop()
        self.write()
        return True

    def write(self) -> None:
        """Write the rules of the file and all answers, completely or not at all."""
        from .. import CannotLink, MustLink
        from ..constraints.collection import json_of

        names, rules = self.points.names, self.before
        for kind, reply in ((MustLink, SAME), (CannotLink, DIFFERENT)):
            chosen = (
                pair for pair, said in zip(self.pairs, self.replies, strict=True) if said is reply
            )
            links = [(names[row], names[other]) for row, other in chosen]
            rules = rules.with_(kind(links) if links else None)
        rows = self.points.kept.tolist()
        now = [(rows[one], rows[other]) for one, other in self._not_known_now]
        write_text(self.path, json_of(rules, [*self.not_known, *now]))

    def under(self, rules: ConstraintSet) -> ConstraintSet:
        """The rules with the answers."""
        from ..active import answer

        return answer(rules, self.pairs, [VALUES[reply] for reply in self.replies])

    @property
    def unknown(self) -> list[tuple[int, int]]:
        """Pairs of points that nobody could judge, now or before."""
        place = {row: number for number, row in enumerate(self.points.kept.tolist())}
        before = [
            (place[row], place[other])
            for row, other in (*self.not_known, *self.skip)
            if row in place and other in place
        ]
        return [*before, *self._not_known_now]

    @property
    def _not_known_now(self) -> list[tuple[int, int]]:
        both = zip(self.pairs, self.replies, strict=True)
        return [pair for pair, reply in both if reply is UNKNOWN]


@click.command(epilog=EPILOG, short_help="Ask which pairs of rows belong together.")
@opt.data_options
@opt.metric_option
@opt.weight_option
@opt.clusters_option
@opt.rule_options
@opt.solver_options
@opt.option(
    "-o",
    "--answers",
    "output",
    type=click.Path(),
    required=True,
    help="JSON file that the answers are added to; --rules of corral fit reads it.",
)
@opt.number_option("--questions", 20, "Stop after so many questions.")
@opt.number_option("--batch", 3, "Questions between two fits.")
@opt.choice_option(
    "--strategy",
    ("uncertainty", "margin", "explore", "random"),
    "Which pairs to ask about; see corral.active.next_pairs.",
)
@opt.debug_option
def ask(
    output: str,
    questions: int,
    batch: int,
    strategy: str,
    seed: int,
    n_init: int | str,
    effort: float,
    time_limit: float | None,
    jobs: int | None,
    **options: Any,
) -> int:
    """Ask which pairs of rows of POINTS are in the same cluster, the most helpful first.

    The rows are clustered under the rules and the answers so far, and again after every few
    answers. A pair whose answer follows from others is never asked.
    """
    from .. import ConstrainedKMeans, ConstraintSet
    from .rules import pairs_not_known

    asked = opt.Options(**options)
    if asked.points == "-":
        raise ValueError("POINTS is the standard input, which the answers come from; give a file.")
    if sys.stdin is None:
        raise ValueError("the answers come from the standard input, which is closed; open it.")
    check_printing("the questions", "open it")
    check_output("--answers", output, force=True, inputs=asked.files)
    exists = Path(output).exists()
    before = ConstraintSet.from_json(output) if exists else ConstraintSet()
    others = asked.constraints
    asked = replace(asked, constraints=(*asked.constraints, *([output] if exists else [])))
    points, rules, n_clusters = load(asked, quiet=False)
    known, skip = (
        tuple(pairs_not_known(paths, points.n_rows)) for paths in ([output] * exists, others)
    )
    session = Session(points, output, before, known, skip)
    if jobs is not None:
        say(opt.NO_JOBS, err=True)
    chosen: Any = {"n_init": n_init, "effort": effort, "time_limit": time_limit}
    model = ConstrainedKMeans(n_clusters, random_state=seed, metric=asked.metric, **chosen)
    interview(session, model, rules, (questions, batch, strategy))
    counts = ", ".join(f"{session.replies.count(word)} {word}" for word in VALUES)
    click.echo(f"{len(session.replies)} answers: {counts}")
    if session.replies:
        say(f"wrote {output}; use it with corral fit --rules {output}")
    return FINE


def interview(
    session: Session, model: ConstrainedKMeans, rules: ConstraintSet, plan: tuple[int, int, str]
) -> None:
    """Fit, ask a few questions, and again, until the questions or the user end it.

    ``plan`` has the number of questions, how many of them are asked after each fit, and the
    strategy.
    """
    from ..active import next_pairs

    questions, batch, strategy = plan
    while len(session.replies) < questions:
        known = session.under(rules)
        try:
            fit_model(model, session.points, known, quiet=False)
        except InfeasibleConstraintsError as clash:
            if not session.undo():
                raise
            say(f"That answer contradicts the rules and is taken back: {clash}")
            continue
        n = min(batch, questions - len(session.replies))
        chosen: Any = {"n": n, "strategy": strategy, "skip": session.unknown}
        pairs = next_pairs(model, session.points.X, constraints=known, **chosen)
        if not len(pairs):
            click.echo("Nothing more can be learned by questions.")
            return
        for row, other in pairs.tolist():
            reply = one_reply(session, (row, other))
            if reply is STOP:
                return
            if reply is UNDO:
                break
            session.add((row, other), reply)


def one_reply(session: Session, pair: tuple[int, int]) -> str:
    """Show a pair and read the reply; an undo is carried out."""
    click.echo(f"\nQuestion {len(session.replies) + 1}: same cluster?")
    click.echo(side_by_side(session.points, pair))
    while True:
        click.echo(PROMPT, nl=False)
        line = sys.stdin.readline()
        reply = WORDS.get(line.strip().lower()) if line else STOP
        if reply is UNDO and not session.undo():
            click.echo("There is no answer to take back.")
        elif reply is not None:
            if not line:
                click.echo()
            return reply
        else:
            click.echo(f"{printable(line.strip())!r} is none of s, d, ?, u and q.")


def side_by_side(points: Points, pair: tuple[int, int]) -> str:
    """A line for each column of the file, with the values of both rows."""
    names, columns = points.names, points.table.columns
    shown = list(columns)[:MOST_COLUMNS]
    lines = [("", *(printable(names[row]) for row in pair))]
    lines += [(printable(name), *(printable(columns[name][row]) for row in pair)) for name in shown]
    wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [f"  {a:<{wide[0]}}  {b:>{wide[1]}}  {c:>{wide[2]}}".rstrip() for a, b, c in lines]
    if len(columns) > len(shown):
        text.append(f"  and {len(columns) - len(shown)} more columns")
    return "\n".join(text)


def printable(value: Any) -> str:
    """A cell without characters that steer a terminal, and not too long."""
    text = "".join(
        mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in str(value)
    )
    most = MOST_CHARACTERS
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
