"""A file that holds rules and answers after each change."""

from __future__ import annotations

import os
from itertools import chain, count
from pathlib import Path
from typing import Self

from ..constraints.files import atomic_writer

#: What the page says where there is no such file.
NOT_SAVED = "Rules and answers are lost when the studio ends; Save rules keeps them in a file."


class Autosave:
    """Writes texts to a file of its own, if the user agrees.

    A file that is there already is never written over: it may hold the answers of an earlier
    studio; the next free name is taken.  The file is made by the first text, and each text replaces
    the one before as a whole, so that a process that ends while it writes loses at most the last
    change.

    Parameters
    ----------
    wanted : Path
        Name of the file.
    agreed : bool or None
        Whether the user wants it.  None: nobody has answered yet, and nothing is written.

    Attributes
    ----------
    path : Path
    earlier : Path or None
        The file of the last studio on this data.
    written : bool
        Whether the last text is in the file.
    failed : str
        Why the last text could not be written; "" if it could.
    """

    def __init__(self, wanted: Path, *, agreed: bool | None = True) -> None:
        if not wanted.parent.is_dir():
            raise ValueError(f"{str(wanted)!r} cannot be saved: its folder does not exist.")
        self._wanted, self.agreed = wanted, agreed
        self._claimed = False
        self.written, self.failed = False, ""
        self.earlier: Path | None = None
        self.path = self._next()

    def _next(self) -> Path:
        """The first name that is free."""
        for end in chain([""], (f"-{number}" for number in count(2))):
            path = self._wanted.with_name(f"{self._wanted.stem}{end}{self._wanted.suffix}")
            if not os.path.lexists(path):
                break
            self.earlier = path
        return path

    def write(self, text: str) -> None:
        """Replace the text of the file, if that is agreed; ``failed`` says what went wrong."""
        if not self.agreed:
            return
        try:
            self._claim()
            with atomic_writer(self.path) as file:
                file.write(text)
        except OSError as error:
            self.written, self.failed = False, error.strerror or str(error)
        else:
            self.written, self.failed = True, ""

    def _claim(self) -> None:
        """Make the file, under another name if somebody was faster."""
        while not self._claimed:
            try:
                self.path.touch(exist_ok=False)
                self._claimed = True
            except FileExistsError:
                self.path = self._next()

    @classmethod
    def beside(cls, data: Path) -> Self:
        """A file beside that of the data; the user is asked before it is made."""
        return cls(data.with_name(f"{data.name}.studio.json"), agreed=None)

    @classmethod
    def onto(cls, path: Path) -> Self:
        """The file that the answers are from, which the user has named to go on with."""
        made = cls(path)
        made.path, made.earlier, made._claimed = path, None, True
        return made

    @property
    def words(self) -> str:
        """Where changes are saved, for the page."""
        name = self.path.name
        if not self.agreed:
            text = NOT_SAVED
        elif self.failed:
            text = f"NOT saved to {name!r}: {self.failed}. Use Save rules."
        elif self.written:
            text = f"All changes are saved in {name!r}."
        else:
            text = f"Each change will be saved to {name!r}."
        if self.earlier is not None:
            text += f" {self.earlier.name!r} is of an earlier studio; Load rules reads it."
        return text
