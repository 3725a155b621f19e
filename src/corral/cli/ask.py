"""``corral ask``: ask which pairs of rows belong together, the most helpful pairs first."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from ..deadline import Deadline, time_of_day
from ..exceptions import InfeasibleConstraintsError
from . import options as opt
from .fit import fit_model, load
from .output import FINE, asks_here, check_output, check_printing, say, write_text

if TYPE_CHECKING:
    from .. import ConstrainedKMeans, ConstraintSet
    from ..active.judgements import Judgement
    from .data import Points

SAME, DIFFERENT, UNKNOWN, UNDO, STOP = "same", "different", "unknown", "undo", "stop"
#: What may be typed for each reply.
WORDS = {
    **dict.fromkeys(("s", "same", "y", "yes"), SAME),
    **dict.fromkeys(("d", "different", "n", "no"), DIFFERENT),
    **dict.fromkeys(("?", "k", "don't know", "dont know"), UNKNOWN),
    **dict.fromkeys(("u", "undo"), UNDO),
    **dict.fromkeys(("q", "stop", "quit"), STOP),
}
#: What an answer is called.
SAID = {SAME: "same", DIFFERENT: "different", UNKNOWN: "don't know"}
PROMPT = "[s]ame, [d]ifferent, [?] don't know, [u]ndo, [q] stop: "
ASK_NAME = "Your name, to be kept with each answer (empty for none)"

EPILOG = """\b
Examples:
  corral ask points.csv -k 3 -o answers.json
  corral ask texts.csv -k 5 --columns 'e*' --show text -o answers.json --minutes 20
  corral ask shoes.csv -k 8 --columns 'e*' --show description,image -o answers.json --page
  corral ask cities.csv -k 6 --columns lat,lon --metric haversine -o answers.json
  corral fit points.csv -k 3 --rules answers.json -o labels.csv
  corral join ann.json bob.json -o answers.json

Each answer is written at once, so nothing is lost when you stop or press Ctrl-C. If the output file
exists, its rules count, the new answers are added to it, and the numbering goes on. One question of
20 asks an earlier pair again; the end says how many of these answers agree."""


@dataclass
class Session:
    """The answers in the file and of this run.

    ``before`` are the rules of the file that follow from no answer in it, ``log`` its answers, and
    ``not_known`` its pairs of rows that nobody could judge, of no known time.  ``skip`` are such
    pairs of other files, which are not asked about either.
    """

    points: Points
    path: str
    before: ConstraintSet
    log: list[Judgement] = field(default_factory=list)
    not_known: tuple[tuple[int, int], ...] = ()
    skip: tuple[tuple[int, int], ...] = ()
    by: str = ""
    shown: tuple[str, ...] = ()
    new: int = 0

    def add(self, pair: tuple[int, int], reply: str, again: bool = False) -> None:
        """Keep an answer, and write the file."""
        from ..active.judgements import Judgement

        names = (self.points.names[pair[0]], self.points.names[pair[1]])
        self.log.append(Judgement(names, reply, time_of_day(), self.by, again))
        self.new += 1
        self.write()

    def undo(self) -> Judgement | None:
        """Take the last answer back and write the file; None if there is none."""
        if not self.log:
            return None
        last = self.log.pop()
        self.new -= 1
        self.write()
        return last

    def write(self) -> None:
        """Write the rules of the file and all answers, completely or not at all."""
        from ..active.judgements import links_of
        from ..constraints.collection import json_of

        place = self._place
        rows = self.points.kept.tolist()
        pairs = [
            tuple(place.get(name) for name in said.pair) for said in self.log if not said.known
        ]
        now = [(rows[a], rows[b]) for a, b in pairs if a is not None and b is not None]
        unknown = list(dict.fromkeys([*self.not_known, *now]))
        rules = self.before.with_(links_of(self.log))
        write_text(self.path, json_of(rules, unknown, [said.to_dict() for said in self.log]))

    def under(self, rules: ConstraintSet) -> ConstraintSet:
        """The rules with the answers."""
        from ..active import answer
        from ..active.judgements import REPLIES, settled

        known = [said for said in settled(self.log) if self.rows_of(said.pair)]
        pairs = [self.rows_of(said.pair) for said in known]
        return answer(rules, pairs, [REPLIES[said.says] for said in known])

    @property
    def unknown(self) -> list[tuple[int, int]]:
        """Pairs of points that nobody could judge, now or before."""
        place = {row: number for number, row in enumerate(self.points.kept.tolist())}
        before = [
            (place[row], place[other])
            for row, other in (*self.not_known, *self.skip)
            if row in place and other in place
        ]
        now = [self.rows_of(said.pair) for said in self.log if not said.known]
        return [*before, *(pair for pair in now if pair is not None)]

    @property
    def run(self) -> list[Judgement]:
        """The answers of this run."""
        return self.log[len(self.log) - max(self.new, 0) :]

    def rows_of(self, pair: tuple[Any, Any]) -> tuple[int, int] | None:
        """The positions of two names; None if the points lack one."""
        one, other = (self._place.get(name) for name in pair)
        return None if one is None or other is None else (one, other)

    @property
    def _place(self) -> dict[Any, int]:
        if self._places is None:
            self._places = {name: row for row, name in enumerate(self.points.names)}
        return self._places

    _places: dict[Any, int] | None = None


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
@opt.column_option(
    "--show",
    multiple=True,
    metavar="NAME,...",
    help="Columns that questions show; by default all but those of an embedding.",
)
@opt.number_option("--questions", 20, "Stop after so many questions.")
@opt.option(
    "--minutes", type=click.FloatRange(0, min_open=True), metavar="N", help="Stop after so long."
)
@opt.option("--by", metavar="NAME", help="Your name, kept with each answer; asked for once.")
@opt.option("--page", is_flag=True, help="Ask in a page of the browser, which shows images too.")
@opt.option(
    "--images",
    type=click.Path(exists=True, file_okay=False),
    metavar="FOLDER",
    help="With --page: folder of the images that cells name; by default that of POINTS.",
)
@opt.option("--browser/--no-browser", default=True, help="With --page: open it in the browser.")
@opt.number_option("--batch", 3, "Questions between two fits.")
@opt.choice_option(
    "--strategy",
    ("uncertainty", "margin", "explore", "random"),
    "Which pairs to ask about; see corral.active.next_pairs.",
)
@opt.debug_option
def ask(
    output: str,
    show: tuple[str, ...],
    questions: int,
    minutes: float | None,
    by: str | None,
    page: bool,
    images: str | None,
    browser: bool,
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
    from .. import ConstrainedKMeans
    from ..active.judgements import agreement_words

    asked = opt.Options(**options)
    if asked.points == "-":
        raise ValueError("POINTS is the standard input, which the answers come from; give a file.")
    if sys.stdin is None and not page:
        raise ValueError("the answers come from the standard input, which is closed; open it.")
    if images is not None and not page:
        raise ValueError("--images is for --page, which shows them; give --page too.")
    check_printing("the questions", "open it")
    _check_answers(output, asked.files)
    if page:
        from .page import ask_in_page

        limits: Any = {"questions": questions, "minutes": minutes, "effort": effort, "seed": seed}
        where: Any = {"images": images, "browser": browser}
        return ask_in_page(asked, output, show=show, by=by, **limits, **where)
    session, rules, n_clusters = begin(asked, output, show)
    session.by = name_of(by, session.log)
    if jobs is not None:
        say(opt.NO_JOBS, err=True)
    chosen: Any = {"n_init": n_init, "effort": effort, "time_limit": time_limit}
    model = ConstrainedKMeans(n_clusters, random_state=seed, metric=asked.metric, **chosen)
    deadline = Deadline.after(None if minutes is None else 60.0 * minutes)
    interview(session, model, rules, (questions, batch, strategy), deadline)
    said = [answer.says for answer in session.run]
    click.echo(f"{len(said)} answers: {', '.join(f'{said.count(w)} {SAID[w]}' for w in SAID)}")
    if words := agreement_words(session.log):
        say(words)
    if session.log:
        say(f"wrote {output}; use it with corral fit --rules {output}")
    return FINE


def _check_answers(output: str, inputs: tuple[str, ...]) -> None:
    try:
        check_output("--answers", output, force=True, inputs=inputs)
    except ValueError as error:
        if "its ending must be" not in str(error):
            raise
        table = Path(output).stem or "answers"
        raise ValueError(
            f"{error} corral join {table}.json -o {output} makes a table of the answers later."
        ) from None


def begin(
    asked: opt.Options, output: str, show: tuple[str, ...]
) -> tuple[Session, ConstraintSet, int]:
    """Read the points, the rules and the answers so far."""
    from .. import ConstraintSet
    from ..active.cards import shown_columns
    from ..active.judgements import read_judgements, settled, without_links
    from .rules import pairs_not_known
    from .tables import names_column, read_table

    log: list[Judgement] = []
    before = ConstraintSet()
    if Path(output).exists():
        before = ConstraintSet.from_json(output)
        log = list(read_judgements(Path(output).read_text(encoding="utf-8"), output))
    table = read_table(asked.points, asked.header, asked.decimal)
    if asked.id_column is None:
        asked = replace(asked, id_column=names_column(table))
    shown = tuple(shown_columns(list(table.columns), show, [asked.id_column]))
    points, rules, n_clusters = load(asked, quiet=False, table=table)
    names = range(points.n_rows) if points.all_ids is None else points.all_ids
    before = without_links(before, settled(log), names)
    own = before.resolve(names)
    rules = rules.with_(own if points.complete else own.subset(points.kept))
    rules.check(len(points.X), n_clusters)
    paths = [output] if Path(output).exists() else []
    known, skip = (
        tuple(pairs_not_known(each, points.n_rows)) for each in (paths, asked.constraints)
    )
    session = Session(points, output, before, log, skip=skip, shown=shown)
    rows = points.kept.tolist()
    pairs = (session.rows_of(said.pair) for said in log if not said.known)
    logged = {frozenset((rows[pair[0]], rows[pair[1]])) for pair in pairs if pair is not None}
    session.not_known = tuple(pair for pair in known if frozenset(pair) not in logged)
    return session, rules, n_clusters


def name_of(by: str | None, log: list[Judgement]) -> str:
    """The name of the person: as given, as in the file, or asked for at a terminal."""
    if by is not None:
        return by
    if log:
        return log[-1].by
    if not asks_here():
        return ""
    return str(click.prompt(ASK_NAME, default="", show_default=False)).strip()


def interview(
    session: Session,
    model: ConstrainedKMeans,
    rules: ConstraintSet,
    plan: tuple[int, int, str],
    deadline: Deadline,
) -> None:
    """Fit, ask a few questions, and again, until the questions, the time or the user end it.

    ``plan`` has the number of questions, how many of them are asked after each fit, and the
    strategy.  A pair whose answer is taken back is asked next.
    """
    from ..active import next_pairs
    from ..active.judgements import ask_again

    questions, batch, strategy = plan
    waiting: list[tuple[int, int]] = []
    while session.new < questions:
        if deadline.passed:
            click.echo("The time is over.")
            return
        again = ask_again(session.log)
        pair = None if again is None else session.rows_of(again)
        if pair is None and not waiting:
            known = session.under(rules)
            try:
                fit_model(model, session.points, known, quiet=False)
            except InfeasibleConstraintsError as clash:
                if not session.new or session.undo() is None:
                    raise
                say(f"That answer contradicts the rules and is taken back: {clash}")
                continue
            n = min(batch, questions - session.new)
            chosen: Any = {"n": n, "strategy": strategy, "skip": session.unknown}
            found = next_pairs(model, session.points.X, constraints=known, **chosen)
            waiting = [(int(row), int(other)) for row, other in found]
            if not waiting:
                click.echo("Nothing more can be learned by questions.")
                return
        repeated, pair = pair is not None, pair or waiting[0]
        reply = one_reply(session, pair, (questions, deadline))
        if reply is STOP:
            return
        if reply is UNDO:
            last = session.undo()
            back = None if last is None or last.again else session.rows_of(last.pair)
            waiting = [*([back] if back else []), *waiting]
            continue
        if not repeated:
            waiting = waiting[1:]
        session.add(pair, reply, repeated)


def one_reply(session: Session, pair: tuple[int, int], limits: tuple[int, Deadline]) -> str:
    """Show a pair and read the reply."""
    click.echo(f"\n{_far(session, *limits)}: same cluster?")
    click.echo(question(session, pair))
    while True:
        click.echo(PROMPT, nl=False)
        line = sys.stdin.readline()
        reply = WORDS.get(line.strip().lower()) if line else STOP
        if reply is UNDO and not session.log:
            click.echo("There is no answer to take back.")
        elif reply is not None:
            if not line:
                click.echo()
            return reply
        else:
            click.echo(f"{line.strip()[:40]!r} is none of s, d, ?, u and q.")


def _far(session: Session, questions: int, deadline: Deadline) -> str:
    """The number of the question, how many are left, and how much time."""
    text = f"Question {len(session.log) + 1}"
    if session.new != len(session.log):
        text += f", {session.new + 1} of {questions} now"
    else:
        text += f" of {questions}"
    if deadline.left == float("inf"):
        return text
    left = int(deadline.left / 60.0)
    return f"{text}, {f'{left} min left' if left else 'less than a minute left'}"


def question(session: Session, pair: tuple[int, int]) -> str:
    """Both rows side by side, with the columns that are shown."""
    from .cards import side_by_side

    table, names = session.points.table, session.points.names
    lines = [(name, *(table.columns[name][row] for row in pair)) for name in session.shown]
    styled = sys.stdout is not None and sys.stdout.isatty()
    width = get_terminal_size().columns
    text = side_by_side([names[row] for row in pair], lines, width, styled=styled)
    more = len(table.columns) - len(session.shown) - (session.points.ids is not None)
    return text if more <= 0 else f"{text}\n  and {more} more columns; --show chooses"
