"""``corral ask --page``: the questions in a page of the browser, with the same file of answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options as opt
from .output import FINE, say

if TYPE_CHECKING:
    from .. import ConstraintSet
    from ..active.judgements import Judgement
    from ..studio import Studio
    from ..studio.data import Data

Pairs = tuple[tuple[int, int], ...]


def ask_in_page(
    asked: opt.Options,
    output: str,
    *,
    show: tuple[str, ...],
    by: str | None,
    questions: int,
    minutes: float | None,
    effort: float,
    seed: int,
    images: str | None,
    browser: bool,
) -> int:
    """Serve the page until Ctrl-C, and say what was answered."""
    from ..active.judgements import agreement_words

    limits: Any = {"goal": questions, "minutes": minutes}
    shown = studio_of(asked, output, show, by, images, seed, effort, limits)
    click.echo(f"The questions are at {shown.url}\nCtrl-C ends it; each answer is saved at once.")
    if browser:
        shown.open()
    shown.wait()
    session = shown._session
    new = len(session.document.judged) - len(session.annotation.log)
    click.echo(f"{max(new, 0)} answers")
    if words := agreement_words(session.document.judged):
        say(words)
    if shown.saved is not None:
        say(f"wrote {output}; use it with corral fit --rules {output}")
    return FINE


def studio_of(
    asked: opt.Options,
    output: str,
    show: tuple[str, ...],
    by: str | None,
    images: str | None,
    seed: int,
    effort: float,
    limits: dict[str, Any],
) -> Studio:
    """A studio that begins with the questions and goes on with the file of answers."""
    from .. import ConstraintSet
    from ..studio import Studio
    from ..studio.autosave import Autosave
    from ..studio.images import Images
    from ..studio.questions import Annotation
    from .rules import pairs_not_known
    from .studio import read

    data, others, n_clusters = read(asked)
    if images is not None:
        data = replace(data, images=Images(Path(images)))
    before, log, unknown = _so_far(output, data)
    skip = tuple(pairs_not_known(asked.constraints, len(data)))
    annotation = Annotation(
        log=log,
        by=by if by is not None else log[-1].by if log else "",
        show=show,
        begins=True,
        others=others,
        **limits,
    )
    own: Any = {"effort": effort, "autosave": Autosave.onto(Path(output)), "annotation": annotation}
    rules = ConstraintSet([*others, *before])
    return Studio(data, rules, n_clusters, seed, 0, unknown=(*skip, *unknown), **own)


def _so_far(output: str, data: Data) -> tuple[ConstraintSet, tuple[Judgement, ...], Pairs]:
    """The rules, the answers and the pairs of unknown time of a file that may be there."""
    from .. import ConstraintSet
    from ..active.judgements import read_judgements
    from ..constraints.collection import unknown_of
    from ..studio.questions import rows_judged

    if not Path(output).exists():
        return ConstraintSet(), (), ()
    text = Path(output).read_text(encoding="utf-8")
    rules = ConstraintSet.from_json(output)
    every = read_judgements(text, output)
    log = rows_judged(every, data)
    if len(log) < len(every):
        raise ValueError(
            f"{output} has {len(every) - len(log)} answers about rows that {data.title} lacks; "
            "give the file of points that they are about, or another name for the answers."
        )
    here = {said.ends for said in log}
    unknown = (pair for pair in unknown_of(text) if frozenset(pair) not in here)
    names = range(len(data)) if data.names is None else data.names
    return rules.resolve(names), log, tuple(unknown)
