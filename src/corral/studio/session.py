"""The state of a studio: its rules, what can be undone, the running fit and the last answer.

No line here knows a page: whoever watches is told that the state has changed.  All pages of one
studio share one session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..active.judgements import REPLIES, Judgement, ask_again, links_of
from ..constraints import ConstraintSet
from ..constraints.collection import json_of
from ..deadline import time_of_day
from ..progress import Progress
from . import rules as edit
from .autosave import Autosave
from .data import Data
from .fitting import Answer, Conflict, Interview, Job, Pair, Task, with_reply
from .questions import Annotation, columns_of

#: Steps that can be undone.
MOST_UNDO = 200


@dataclass(frozen=True)
class Document:
    """What is undone and redone: the rules, what is clustered and how, and the answers.

    ``mixed`` says that groups shall be alike, and not their rows.

    ``judged`` are the answers by row numbers; what follows from them is in the rules too.
    """

    n_clusters: int
    rules: ConstraintSet
    columns: tuple[str, ...]
    metric: str
    mixed: bool = False
    judged: tuple[Judgement, ...] = ()


class Session:
    """The state of one studio.

    Parameters
    ----------
    data : Data
        The attribute of this name has the columns that are clustered by now, and ``given`` stays.
    rules : Constraint, iterable of them, or None
    n_clusters : int
    seed : int
        Seed of all fits.
    effort : float
        Work of all fits, in units of the default.
    unknown : pairs of rows
        Questions that nobody could answer before.
    autosave : Autosave, optional
        Where changes are saved.
    annotation : Annotation
        What is known of earlier answers, and how questions are shown.
    post : callable, optional
        Runs a function in the thread that owns the session; by default at once.

    Attributes
    ----------
    document : Document
    answer : Answer or None
        Of the last fit that had one.
    conflict : Conflict or None
        Why the current rules have no answer, if a fit found that.
    job : Job or None
        The fit that runs.
    progress : Progress or None
        How far it is.
    message : str
        What the last action or fit led to; ``failed`` says whether it is an error.
    revision : int
        Grows with each change of the document.
    on_plane : bool
        Whether the user wants degrees to be compared as plain numbers.
    calm : float
        Price of a row that changes its cluster, in means of the cost of a row; 0 for none.
    interview : Interview
        The questions to the user; ``asking`` says whether the next fit chooses more.
    by : str
        Name of who answers.
    shown : tuple of str
        Columns that questions show.
    """

    def __init__(
        self,
        data: Data,
        rules: Any = None,
        n_clusters: int = 3,
        *,
        seed: int = 0,
        effort: float = 1.0,
        unknown: tuple[Pair, ...] = (),
        autosave: Autosave | None = None,
        annotation: Annotation = Annotation(),  # noqa: B008 - it is immutable
        post: Callable[[Callable[[], None]], Any] | None = None,
    ) -> None:
        self.data = self.given = data
        self.seed, self.effort = seed, effort
        resolved = self.resolved(ConstraintSet(rules))
        self.annotation, self.by = annotation, annotation.by
        self.shown = columns_of(data, annotation.show)
        own = data.features, data.metric
        self.document = self.checked(Document(n_clusters, resolved, *own, judged=annotation.log))
        self.answer: Answer | None = None
        self.conflict: Conflict | None = None
        self.job: Job | None = None
        self.progress: Progress | None = None
        self.message, self.failed = "", False
        self.revision = 0
        self.calm, self.on_plane = 0.0, False
        begun = Interview(unknown=self.in_range(unknown))
        self.interview, self.asking = begun.after((), annotation.log), False
        self.autosave, self._kept = autosave, self._keepable
        self._past: list[Document] = []
        self._future: list[Document] = []
        self._watchers: list[Callable[[], None]] = []
        self._post = post or (lambda function: function())

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call ``watcher`` after each change; the result ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def tell(self) -> None:
        """Call all watchers."""
        for watcher in list(self._watchers):
            watcher()

    # The document.

    def resolved(self, rules: ConstraintSet) -> ConstraintSet:
        """Rules with positions in place of the names of rows."""
        known = self.data.names
        found = rules.resolve(known) if rules.named and known is not None else rules
        return found.resolve_clusters(self.data.clusters)

    def checked(self, document: Document) -> Document:
        """The document, or an error if it does not fit the data."""
        n, k = len(self.data), document.n_clusters
        if not 1 <= k <= n:
            raise ValueError(f"{k} clusters of {n} rows are not possible; give 1 to {n}.")
        document.rules.check(n, k)
        return document

    def in_range(self, pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
        """Pairs of rows, or an error if the data has no such row."""
        for pair in pairs:
            if max(pair) >= len(self.data):
                raise ValueError(
                    f"pair {pair} of `unknown` is not of these data; rows must lie in "
                    f"[0, {len(self.data) - 1}]."
                )
        return pairs

    @property
    def text(self) -> str:
        """The rules and the questions that nobody could answer, as a file holds them."""
        known = self.data.names
        named = known is not None and len(set(known)) == len(known)
        answers = []
        for said in self.document.judged:
            one, other = said.pair
            pair = (known[one], known[other]) if known is not None and named else said.pair
            answers.append(replace(said, pair=pair).to_dict())
        return json_of(ConstraintSet(self._own_rules), self.interview.unknown, answers)

    @property
    def _own_rules(self) -> list[Any]:
        """The rules without those that come from options and stay out of the file of answers."""
        others = self.annotation.others
        return [rule for rule in self.document.rules if not any(rule is each for each in others)]

    @property
    def _keepable(self) -> tuple[int, tuple[Pair, ...]]:
        return self.revision, self.interview.unknown

    @property
    def unkept(self) -> bool:
        """Whether something has changed since it was saved last."""
        return self._keepable != self._kept

    @property
    def question(self) -> str:
        """Whether changes shall be saved, in words; "" if that is known, or nothing has changed."""
        if self.autosave is None or self.autosave.agreed is not None or not self.unkept:
            return ""
        name = self.autosave.path.name
        return f"Keep rules and answers in {name!r}, beside the data, after each change?"

    def answer_keep(self, agreed: bool) -> None:
        """Save changes from now on, or do not."""
        if self.autosave is None:
            raise ValueError("there is no file of data beside which changes could be saved.")
        self.autosave.agreed = agreed
        self.keep()

    def keep(self) -> None:
        """Save what has changed since it was saved last."""
        if self.autosave is not None and self.unkept:
            self.autosave.write(self.text)
            if self.autosave.written:
                self._kept = self._keepable

    def change(self, said: str, **values: Any) -> None:
        """Change the document, and say so."""
        document = self.checked(replace(self.document, **values))
        if document == self.document:
            self.message = "Nothing has changed."
            return
        self._past = [*self._past, self.document][-MOST_UNDO:]
        self._future = []
        self._set(document, said)

    def undo(self) -> None:
        """Go back to the document before the last change."""
        if not self._past:
            raise ValueError("there is nothing to undo.")
        self._future.append(self.document)
        self._set(self._past.pop(), "Undone.")

    def redo(self) -> None:
        """Go forward again."""
        if not self._future:
            raise ValueError("there is nothing to redo.")
        self._past.append(self.document)
        self._set(self._future.pop(), "Redone.")

    @property
    def can(self) -> dict[str, bool]:
        """Whether there is something to undo and to redo."""
        return {"undo": bool(self._past), "redo": bool(self._future)}

    def _set(self, document: Document, said: str) -> None:
        self.interview = self.interview.after(self.document.judged, document.judged)
        if (document.columns, document.metric) != (self.data.features, self.data.metric):
            self.data = self.given.by(document.columns, document.metric)
        self.document, self.conflict, self.message = document, None, said
        self.revision += 1

    # Fits.

    def task(self) -> Task:
        """What a fit would do now."""
        document, answer = self.document, self.answer
        stay = 0.0
        if answer is not None and self.calm:
            stay = self.calm * answer.cost_by(self.data, mixed=document.mixed)
        return Task(
            self.data,
            document.rules,
            document.n_clusters,
            self.seed,
            before=None if answer is None else answer.labels,
            stay=stay,
            interview=self.interview if self.asking and not document.mixed else None,
            effort=self.effort,
            mixed=document.mixed,
        )

    def fit(self) -> None:
        """Begin a fit in the background."""
        if self.job is not None:
            raise ValueError("a fit is running; stop it first.")
        self.conflict, self.progress = None, None
        self.job = Job(self.task(), self._hear)
        self.job.start()

    def stop(self) -> None:
        """End the fit with the best answer so far."""
        if self.job is not None:
            self.job.stop()

    def ask(self) -> None:
        """Begin to ask questions: fit, and choose the pairs whose answers help most."""
        if self.document.mixed:
            raise ValueError("questions are about rows that are similar; choose similar clusters.")
        self.asking = True
        self.interview = replace(self.interview, ended=False)
        if self.job is None:
            self.fit()

    @property
    def asked(self) -> tuple[Pair, bool] | None:
        """The pair that is asked about, and whether for the second time; None if there is none."""
        again = ask_again(self.document.judged)
        if not self.interview.waiting:
            return None
        return (self.interview.waiting[0], False) if again is None else (again, True)

    def reply(self, says: str) -> None:
        """Answer the question: same, different or unknown; after some of them fit again."""
        if says not in REPLIES or self.asked is None:
            raise ValueError("there is no such question or answer.")
        pair, again = self.asked
        said = Judgement(pair, says, time_of_day(), self.by, again)
        values: dict[str, Any] = {"judged": (*self.document.judged, said)}
        if said.known and not again:
            own = self._own_rules
            kept = [rule for rule in self.document.rules if not any(rule is one for one in own)]
            values["rules"] = ConstraintSet([*kept, with_reply(ConstraintSet(own), pair, says)])
        self.change("Answered.", **values)
        if not self.interview.waiting:
            self.ask()

    def take_back(self) -> None:
        """Take the last answer back; its question is asked next."""
        if not self.document.judged:
            raise ValueError("there is no answer to take back.")
        *left, last = self.document.judged
        rules = self.document.rules
        for link in links_of([last]):
            rules = edit.without(rules, link)
        self.change("The last answer is taken back.", rules=rules, judged=tuple(left))

    @property
    def stale(self) -> bool:
        """Whether the last fit was of another document than the current one."""
        if self.answer is None:
            return False
        task, now = self.answer.task, self.document
        fitted = task.n_clusters, task.rules, task.data.features, task.data.metric, task.mixed
        return fitted != (now.n_clusters, now.rules, now.columns, now.metric, now.mixed)

    def _hear(self, job: Job, news: Any) -> None:
        """In the thread of the fit: hand its news to the thread that owns the session."""
        self._post(lambda: self._take(job, news))

    def _take(self, job: Job, news: Any) -> None:
        if job is not self.job:
            return
        if isinstance(news, Progress):
            self.progress = news
        else:
            self.job = self.progress = None
            self._finish(job, news)
        self.tell()

    def _finish(self, job: Job, news: Any) -> None:
        if isinstance(news, Answer):
            self.answer, self.message, self.failed = news, news.sentence, False
            if news.questions is not None:
                self.interview = self.interview.given(news.questions)
        elif isinstance(news, Conflict):
            # The conflict of rules that have changed meanwhile may be no conflict any more.
            self.conflict = news if job.task.rules == self.document.rules else None
            self.message, self.failed = "The rules contradict each other.", True
            self.asking = False
        else:
            self.message, self.failed = str(news), True
