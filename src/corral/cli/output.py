"""What a command gives back: its exit code, complete files, and a progress bar."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Self

import click
import numpy as np

from ..deadline import Deadline
from ..progress import PHASES, Progress

if TYPE_CHECKING:
    from .. import ConstraintSet, Report
    from .._typing import FloatArray, IntArray
    from .data import Points

#: Exit codes of the commands.
FINE, FAULT, BAD_INPUT, INFEASIBLE, OUT_OF_TIME, INTERRUPTED = 0, 1, 2, 3, 4, 130
#: Exit code of ``corral audit`` if the labels break a hard rule.
BROKEN = 1

#: Length of the progress bar, in characters.
WIDTH = 10
#: Seconds before the progress bar appears; shorter work shows none.
PATIENCE = 0.5
#: Seconds between two updates of the progress bar.
PACE = 0.1

PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")
#: Endings that the file of an option may have; others are tables.
ENDINGS = {
    "--report": (".html", ".htm"),
    "--plot": PICTURES,
    "--model": (".json",),
    "--answers": (".json",),
    "--save": (".csv",),
    "--territories": (".gpkg", ".geojson"),
    "--labels-out": (".npy", ".parquet", ".pq"),
    "FILES --output": (".json", ".csv", ".tsv", ".xlsx", ".parquet"),
}
#: Module and extra that the endings of some files need.
NEEDS = dict.fromkeys(PICTURES, ("matplotlib", "plot")) | {
    ".parquet": ("pyarrow", "parquet"),
    ".pq": ("pyarrow", "parquet"),
    ".xlsx": ("openpyxl", "xlsx"),
    ".gpkg": ("geopandas", "geo"),
    ".geojson": ("geopandas", "geo"),
}


def say(text: str, *, err: bool = False) -> None:
    r"""Print text for people; characters that steer a terminal are printed as escapes.

    Examples
    --------
    >>> say("ann\x1b[31m")
    ann\x1b[31m
    """
    click.echo(visible(text), err=err)


def visible(text: str) -> str:
    """The text with escapes for what is not printable, line breaks and tabs excepted."""
    if text.isprintable():
        return text
    return "".join(
        mark
        if mark.isprintable() or mark in "\n\t"
        else mark.encode("unicode_escape").decode("ascii")
        for mark in text
    )


def check_output(option: str, path: str | None, *, force: bool, inputs: Sequence[str] = ()) -> None:
    """Raise an error if a file cannot or must not be written, before the computation starts."""
    from .tables import WRITERS, ending_of, require

    if path is None:
        return
    said, ending = f"{option.removeprefix('FILES ')} is {path!r}", ending_of(path)
    target = Path(os.path.realpath(path) if Path(path).is_symlink() else path)
    endings: Any = ENDINGS.get(option, WRITERS)
    if option == "--output":
        endings = (*endings, *ENDINGS["--territories"])
    if ending not in endings:
        raise ValueError(f"{said}; its ending must be one of {', '.join(endings)}.")
    if not target.parent.is_dir():
        raise ValueError(f"{said}, but {str(target.parent)!r} is no folder.")
    if target.is_dir():
        raise ValueError(f"{said}, which is a folder.")
    if ending in NEEDS:
        require(*NEEDS[ending], f"{option} {path}")
    if target.exists():
        if any(name != "-" and target.samefile(name) for name in inputs):
            raise ValueError(f"{said}, which is a file that it reads; give another name.")
        if not force:
            raise ValueError(f"{said}, which exists; give another name, or --force.")
    if not target.exists() or target.is_file():
        _check_folder(said, target)


def _check_folder(said: str, target: Path) -> None:
    """Raise an error if no file can be made where the target is to be."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=".corral.", dir=target.parent)
    except OSError as error:
        fault = f"no file can be made in {str(target.parent)!r}: {error.strerror}"
        raise ValueError(f"{said}, but {fault}.") from None
    os.close(descriptor)
    Path(name).unlink()


def check_printing(what: str, instead: str) -> None:
    """Raise an error if the standard output, where something is to be printed, is closed."""
    if sys.stdout is None:
        raise ValueError(f"{what} would go to the standard output, which is closed; {instead}.")


class Written:
    """What a command writes: with ``force`` over files that exist, else never over any.

    A file that appeared after :func:`check_output` stays as it is.  The new one is written beside
    it, and the command ends as after bad input.
    """

    def __init__(self, *, force: bool) -> None:
        self._force, self._moved = force, False

    def beside(self, path: str) -> Callable[[str], None] | None:
        """What ``atomic_writer`` calls with the other name of this file; None to overwrite it."""
        return None if self._force else partial(self._tell, path)

    def _tell(self, path: str, name: str) -> None:
        self._moved = True
        fault = f"{path!r} exists now, though it did not at the start, and stays as it is"
        say(f"corral: {fault}; what was to be written there is in {name!r}", err=True)

    def code(self, code: int) -> int:
        """The exit code, if all files have their own names."""
        return BAD_INPUT if self._moved else code

    def text(self, path: str, text: str) -> None:
        """Write a text file, completely or not at all."""
        write_text(path, text, self.beside(path))

    def picture(self, path: str, figure: Any) -> None:
        """Write a figure of matplotlib, completely or not at all."""
        from ..constraints.files import atomic_writer

        with atomic_writer(path, self.beside(path)) as file:
            figure.savefig(file.buffer, format=Path(path).suffix[1:].lower(), dpi=150)


def columns_before(points: Points, id_column: str | None, keep_columns: bool) -> dict[str, Any]:
    """The columns to write before the labels: the ids, or all columns of the file."""
    columns = points.table.columns if keep_columns else {id_column or "id": points.names}
    for name in ("label", "distance"):
        if name in columns:
            raise ValueError(
                f"the labels cannot be written after a column {name!r}: that is the name of one "
                "of their own columns; rename it, or leave --keep-columns out."
            )
    return columns


def label_columns(
    labels: IntArray, points: Points, centers: FloatArray, names: Sequence[str] | None = None
) -> dict[str, Any]:
    """The label of each point, as a name if there are any, and its distance to the centre."""
    if points.space.metric == "euclidean":
        distances = np.linalg.norm(points.X - centers[labels], axis=1)
    else:
        from ..rows import METRICS, distances_to

        every = distances_to(points.X, centers, METRICS[points.space.metric])
        distances = every[np.arange(len(labels)), labels]
    called = labels if names is None else [names[label] for label in labels.tolist()]
    return {"label": called, "distance": distances}


def write_labels(
    columns: dict[str, Any],
    points: Points,
    written: Written,
    *,
    output: str | None,
    ids: str | None,
    as_json: bool,
    by: str | None = None,
) -> None:
    """Write the labels to a file or to the standard output, unless JSON will have them.

    ``ids`` is the name of the column of ids, and ``by`` of that with a sheet for each label.

    Raises
    ------
    ValueError
        They cannot be written there; the message says where they are instead.
    """
    from .maps import write_rows
    from .tables import ending_of, write_table

    if output is None and as_json:
        return
    decimal = points.table.decimal
    try:
        if output is not None and ending_of(output) in ENDINGS["--territories"]:
            write_rows(output, points, columns, beside=written.beside(output))
        elif output is not None:
            write_table(output, columns, decimal, ids, by, beside=written.beside(output))
        else:
            text = _as_text(columns, decimal)
            click.echo(visible(text) if sys.stdout.isatty() else text, nl=False)
    except BrokenPipeError:  # the reader has had enough
        raise
    except Exception as error:
        place = "the standard output" if output is None else repr(output)
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        instead = rescued(_as_text(columns, decimal), "labels.csv", printed=output is not None)
        raise ValueError(
            f"the labels cannot be written to {place}: {' '.join(why.split())}; {instead}."
        ) from error


def _as_text(columns: dict[str, Any], decimal: str) -> str:
    """A table as CSV."""
    from .tables import write_csv

    buffer = io.StringIO()
    write_csv(buffer, columns, decimal)
    return buffer.getvalue()


def asks_here() -> bool:
    """Whether a person at a terminal can be asked."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def rescued(text: str, kind: str, *, printed: bool) -> str:
    """Keep a text in a temporary file, or print it if that fails; say where it is.

    ``kind`` is a name for such files, such as "labels.csv".
    """
    name, (stem, ending) = None, kind.split(".")
    try:
        descriptor, name = tempfile.mkstemp(prefix=f"corral-{stem}-", suffix=f".{ending}")
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError:
        if name is not None:
            Path(name).unlink()
    else:
        return f"they are in {name!r}"
    if not printed or sys.stdout is None:
        return "they are lost, because no temporary file could be written either"
    click.echo(text, nl=False)
    return "they are on the standard output, because no temporary file could be written either"


def print_report(
    columns: dict[str, Any],
    points: Points,
    report: Report,
    *,
    output: str | None,
    as_json: bool,
    quiet: bool,
    values: dict[str, Any] | None = None,
) -> None:
    """Print the report, as JSON with the labels if no file has them.

    ``values`` are added to the JSON object, in which the ids are called ``id``.
    """
    if as_json:
        names = ("id", *(name for name in ("label", "distance") if name in columns))
        cells = (np.asarray(columns[name]).tolist() for name in names[1:])
        rows = zip(points.names, *cells, strict=True)
        found = {**report.to_dict(), **(values or {})}
        if output is None:
            found["labels"] = [dict(zip(names, row, strict=True)) for row in rows]
        click.echo(json.dumps(found, allow_nan=False))
    elif not quiet:
        # If the labels are on the standard output, nothing else is.
        say(str(report), err=output is None)


def priced(model: Any, points: Points, rules: ConstraintSet, seconds: float | None) -> Report:
    """The report of the fit, with the price of each rule if there are seconds for it."""
    if seconds is None:
        report: Report = model.report_
        return report
    from ..pricing import price_rules

    weight = points.weight
    return price_rules(model, points.X, constraints=rules, sample_weight=weight, time_limit=seconds)


def told(points: Points) -> dict[str, Any]:
    """What a report calls the rows and columns, and how it goes back to the units of the file."""
    space = points.space
    return {"names": points.called, "features": list(space.columns), "scaler": space.values}


def write_text(path: str, text: str, beside: Callable[[str], None] | None = None) -> None:
    """Write a text file, completely or not at all; ``beside`` is that of ``atomic_writer``."""
    from ..constraints.files import atomic_writer

    with atomic_writer(path, beside) as file:
        file.write(text)


@contextmanager
def spoken_warnings(quiet: bool) -> Iterator[None]:
    """Print the warnings of a block as sentences on the error stream, unless ``quiet``."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught if not quiet else ():
        if issubclass(warning.category, UserWarning):
            say(f"corral: warning: {warning.message}", err=True)


class ProgressBar:
    """One line on a terminal that shows how much of ``total`` is done; nothing on other streams."""

    def __init__(self, stream: Any, total: int, *, enabled: bool = True) -> None:
        self._stream, self._total, self._shown = stream, total, 0
        self._clock = Deadline.after(None)
        self._next = PATIENCE
        self._enabled = enabled and total > 0 and stream.isatty()

    def show(self, done: float, text: str) -> None:
        """Update the line, if it is due: the bar for the work done, then the text."""
        if not self._enabled or self._clock.elapsed < self._next:
            return
        filled = round(WIDTH * min(done / self._total, 1.0))
        room = get_terminal_size().columns - 1  # a longer line could not be written over
        self._write(f"[{'#' * filled}{'.' * (WIDTH - filled)}] {text}"[:room])
        self._next = self._clock.elapsed + PACE

    def minutes_left(self, done: int) -> float:
        """Estimate the minutes for the rest of the work, at the speed so far."""
        return self._clock.elapsed / done * (self._total - done) / 60.0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """Clear the line, also after an error."""
        if self._shown:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text.ljust(self._shown)}")
        self._stream.flush()
        self._shown = len(text)


class FitProgress(ProgressBar):
    """The progress bar of a fit, its callback: it counts the phases of the search."""

    def __init__(self, stream: Any, *, enabled: bool = True) -> None:
        super().__init__(stream, 1, enabled=enabled)

    def __call__(self, progress: Progress) -> None:
        """Show how far the fit has come."""
        phase = PHASES.index(progress.phase) if progress.phase in PHASES else len(PHASES)
        done = max(progress.restart - 1, 0) + phase / len(PHASES)
        self.show(done / max(progress.n_restarts, 1), str(progress))
