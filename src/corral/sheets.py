"""Excel files: a sheet of rows, and one for each of their labels, ready to be printed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np


def write_sheets(file: BinaryIO, columns: Mapping[str, Sequence[Any]], by: str | None) -> None:
    """Write a sheet in which texts are never formulas, and one for each label of a column."""
    import openpyxl
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = openpyxl.Workbook(write_only=True)

    def cell(value: Any, sheet: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            made = WriteOnlyCell(sheet, value)
        except IllegalCharacterError:
            fault = "has a control character, which Excel files cannot hold"
            raise ValueError(f"{value!r} {fault}; write another format.") from None
        made.data_type = "s"
        return made

    rows = list(zip(*columns.values(), strict=True))
    sheets = {"labels": rows}
    if by is not None:
        label = np.asarray(columns[by])
        own = np.unique(label).tolist()
        called = [f"group {j}" if isinstance(j, int) else j for j in own]
        for name, j in zip(sheet_names(called), own, strict=True):
            sheets[name] = [rows[i] for i in np.flatnonzero(label == j)]
    wide = [_width(name, cells) for name, cells in columns.items()]
    for name, inside in sheets.items():
        sheet = book.create_sheet(name)
        _for_paper(sheet, name, wide)
        for row in [tuple(columns), *inside]:
            sheet.append([cell(value, sheet) for value in row])
    book.save(file)


#: Most characters of the name of a sheet, and of the width of a column.
SHEET_NAME, COLUMN_WIDTH = 31, 40


def sheet_names(names: Sequence[str]) -> list[str]:
    """Names that sheets of an Excel file may have, all different, and none of them "labels".

    Examples
    --------
    >>> sheet_names(["north/east", "Labels", "north_east"])
    ['north_east', 'Labels (2)', 'north_east (2)']
    """
    taken, found = {"labels", "history"}, []  # Excel keeps the second for itself
    for name in names:
        plain = re.sub(r"[\[\]:*?/\\\x00-\x1f]", "_", name).strip().strip("'") or "no name"
        made, number = plain[:SHEET_NAME], 1
        while made.lower() in taken:
            number += 1
            made = f"{plain[: SHEET_NAME - len(f' ({number})')]} ({number})"
        taken.add(made.lower())
        found.append(made)
    return found


def _width(name: str, cells: Sequence[Any]) -> int:
    """Characters of the longest cell of a column; numbers that corral computed are cut."""
    if isinstance(cells, np.ndarray):
        return max(len(name), 12)
    return min(max([len(name), *(len(str(cell)) for cell in cells)]), COLUMN_WIDTH)


def _for_paper(sheet: Any, name: str, wide: Sequence[int]) -> None:
    """Columns as wide as their cells, a first row that stays and is on each page, and the name."""
    from openpyxl.utils import get_column_letter

    for place, width in enumerate(wide, start=1):
        sheet.column_dimensions[get_column_letter(place)].width = width + 2
    sheet.freeze_panes = "A2"
    sheet.print_title_rows = "1:1"
    sheet.page_setup.paperSize = 9  # A4
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    sheet.oddHeader.center.text = name.replace("&", "&&")
    sheet.oddFooter.center.text = "&P / &N"
