"""Images that cells of the data name: local files inside one folder, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: Endings of the images that browsers show, their kinds, and how such a file begins.  SVG is not
#: among them: it can hold scripts.
KINDS = {
    ".png": ("image/png", b"\x89PNG\r\n"),
    ".jpg": ("image/jpeg", b"\xff\xd8\xff"),
    ".jpeg": ("image/jpeg", b"\xff\xd8\xff"),
    ".gif": ("image/gif", b"GIF8"),
    ".webp": ("image/webp", b"RIFF"),
    ".bmp": ("image/bmp", b"BM"),
}
#: Largest file that is sent, in bytes.
MOST_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Images:
    """The images in a folder.

    Parameters
    ----------
    folder : Path
        No file outside it is read, whatever cells say and wherever links lead.
    """

    folder: Path

    def fault(self, cell: str) -> str:
        """Why a cell leads to no image, in words; "" if it does."""
        if "://" in cell:
            return f"{cell!r} is an address; only files on this machine are shown"
        path = self._path(cell)
        if path is None:
            return f"{cell!r} is outside {str(self.folder)!r}; --images names another folder"
        if path.suffix.lower() not in KINDS:
            return f"{cell!r} is no image; its ending must be one of {', '.join(KINDS)}"
        try:
            size, found = path.stat().st_size, path.is_file()
        except OSError:
            size, found = 0, False
        if not found:
            return f"{cell!r} is not in {str(self.folder)!r}; --images names another folder"
        if size > MOST_BYTES:
            return f"{cell!r} has {size:,} bytes; images have at most {MOST_BYTES:,}"
        return ""

    def read(self, cell: str) -> tuple[str, bytes] | None:
        """The kind and the content of an image; None if the cell leads to none."""
        path = self._path(cell)
        if path is None or self.fault(cell):
            return None
        kind, beginning = KINDS[path.suffix.lower()]
        try:
            content = path.read_bytes()
        except OSError:
            return None
        return (kind, content) if content.startswith(beginning) else None

    def _path(self, cell: str) -> Path | None:
        """The file that a cell names, after all links; None if it is outside the folder."""
        try:
            folder = self.folder.resolve()
            path = (folder / cell.strip()).resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, or a zero byte
            return None
        return path if path.is_relative_to(folder) else None


def is_image_column(cells: Iterable[str]) -> bool:
    """Whether most cells that are not empty end as the name of an image does.

    Examples
    --------
    >>> is_image_column(["a.png", "", "photos/b.JPG"]), is_image_column(["a red shoe"])
    (True, False)
    """
    some = [cell for cell in cells if cell.strip()]
    named = [cell for cell in some if Path(cell.strip()).suffix.lower() in KINDS]
    return bool(some) and 2 * len(named) > len(some)
