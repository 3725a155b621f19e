"""What the studio shows: the points that are clustered, and all columns of their rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints._checks import plural

#: Columns that the page lists for choices and shows for a row; more would not fit a page.
MOST_COLUMNS = 200
#: Groups of a column whose shares can be bounded in the page.
MOST_GROUPS = 50
#: Points that are drawn.  Of more rows a random sample of this size is drawn; all are clustered.
MOST_POINTS = 200_000

LATITUDE = re.compile(r"lat(itude)?|breite(ngrad)?", re.IGNORECASE)
LONGITUDE = re.compile(r"lo?ng?(itude)?|l(ae|ä)nge(ngrad)?", re.IGNORECASE)


@dataclass(frozen=True)
class Data:
    """Rows with their points and columns.

    Attributes
    ----------
    title : str
        Name of the file or of the data.
    X : (n_samples, n_features) floats
        What is clustered.
    features : tuple of str
        Names of the columns of X.
    columns : mapping of str to arrays
        Columns in the user's units: floats, or texts.
    names : sequence of str, optional
        Names of the rows; without them rows are called by their numbers.
    weight : (n_samples,) floats, optional
    notices : tuple of str
        What the user has to know about the data, such as missing values.
    lines : tuple of str
        Python lines that make ``X``, and ``table`` if the columns are from a file.
    """

    title: str
    X: FloatArray
    features: tuple[str, ...]
    columns: Mapping[str, Any]
    names: Sequence[str] | None = None
    weight: FloatArray | None = None
    notices: tuple[str, ...] = ()
    lines: tuple[str, ...] = ("# X is the data that the studio was given.",)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def from_file(self) -> bool:
        """Whether the Python lines make a ``table`` with the columns."""
        return any(line.startswith("table = ") for line in self.lines)

    def name_of(self, row: int) -> str:
        """What a row is called."""
        return f"row {row}" if self.names is None else str(self.names[row])

    @cached_property
    def number_columns(self) -> tuple[str, ...]:
        """Columns of numbers that the page lists."""
        found = (name for name, values in self.columns.items() if values.dtype.kind == "f")
        return tuple(found)[:MOST_COLUMNS]

    @cached_property
    def group_columns(self) -> dict[str, list[str]]:
        """Columns with few different values, and these values as texts."""
        made = {}
        for name, values in list(self.columns.items())[:MOST_COLUMNS]:
            if name in self.features and values.dtype.kind == "f":
                continue
            groups = sorted(set(texts_of(values)))
            if 2 <= len(groups) <= MOST_GROUPS and all(groups):
                made[name] = groups
        return made

    @cached_property
    def place(self) -> tuple[str, str] | None:
        """The columns of longitude and latitude, if there are such."""
        found = []
        for form, most in ((LONGITUDE, 180.0), (LATITUDE, 90.0)):
            for name in self.number_columns:
                if form.fullmatch(name.strip()) and np.abs(self.columns[name]).max() <= most:
                    found.append(name)
                    break
        return (found[0], found[1]) if len(found) == 2 else None

    @cached_property
    def shown(self) -> IntArray:
        """Rows that are drawn."""
        n = len(self)
        if n <= MOST_POINTS:
            return np.arange(n)
        return np.sort(np.random.default_rng(0).choice(n, MOST_POINTS, replace=False))

    @cached_property
    def told(self) -> tuple[str, ...]:
        """All notices, also those about what does not fit the page."""
        notices = list(self.notices)
        if len(self.columns) > MOST_COLUMNS:
            notices.append(
                f"{self.title} has {len(self.columns):,} columns. The page lists the first "
                f"{MOST_COLUMNS}; clustering uses all {len(self.features):,} chosen ones."
            )
        if len(self) > MOST_POINTS:
            notices.append(
                f"There are {len(self):,} rows. The picture shows a random sample of "
                f"{MOST_POINTS:,}; clustering uses all."
            )
        return tuple(notices)

    def find(self, text: str) -> IntArray:
        """Rows by their names or numbers, which commas separate.

        Raises
        ------
        ValueError
            If a name is unknown.
        """
        found = []
        for part in filter(None, map(str.strip, text.split(","))):
            row = self._rows_by_name.get(part.casefold())
            number = part.removeprefix("row ")
            if row is None and number.isdecimal() and int(number) < len(self):
                row = int(number)
            if row is None:
                raise ValueError(
                    f"No row is called {part!r}; give names or row numbers from 0 to "
                    f"{len(self) - 1}, with commas between."
                )
            found.append(row)
        return np.array(found, np.int64)

    @cached_property
    def _rows_by_name(self) -> dict[str, int]:
        return {str(name).casefold(): row for row, name in enumerate(self.names or ())}


def texts_of(values: Any) -> list[str]:
    """The values of a column as texts; whole numbers without a decimal point."""
    if values.dtype.kind == "f" and np.array_equal(values, np.round(values)):
        return [str(int(value)) for value in values]
    return [str(value) for value in values]


def data_of(X: Any, names: Any = None) -> Data:
    """The rows of an array or a data frame; missing numbers become the mean of their column.

    Columns of a data frame that hold no numbers are not clustered; they are there for shares.
    """
    labels = getattr(X, "columns", None)
    if labels is None:
        array = np.asarray(X, np.float64)
        if array.ndim != 2 or not array.size:
            raise ValueError(
                f"`X` has shape {array.shape}; it must have rows and columns, at least one each."
            )
        columns = {f"feature {j}": array[:, j] for j in range(array.shape[1])}
    else:
        columns = {str(name): _column(X[name]) for name in labels}
        names = _index_names(X) if names is None else names
    features = tuple(name for name, values in columns.items() if values.dtype.kind == "f")
    if not features:
        raise ValueError("`X` has no column of numbers to cluster by.")
    columns, notices = without_gaps(columns)
    texts = None if names is None else tuple(map(str, names))
    made = np.column_stack([columns[name] for name in features])
    if texts is not None and len(texts) != len(made):
        raise ValueError(f"`names` has {len(texts)} entries, but X has {len(made)} rows.")
    return Data("data", made, features, columns, texts, notices=notices)


def without_gaps(columns: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Columns with the mean in place of missing numbers, and a sentence about them."""
    made: dict[str, Any] = {}
    touched: list[str] = []
    count = 0
    for name, values in columns.items():
        made[name] = values
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            gaps = ~np.isfinite(values)
            if gaps.all():
                raise ValueError(f"column {name!r} has no finite number.")
            made[name] = np.where(gaps, values[~gaps].mean(), values)
            count, touched = count + int(gaps.sum()), [*touched, name]
    if not count:
        return made, ()
    where = plural(len(touched), "column")
    first = f", the first of them {touched[0]!r}" if len(touched) > 1 else f", {touched[0]!r}"
    values = plural(count, "missing or infinite value")
    return made, (f"{values} in {where}{first}: the mean of the column stands in.",)


def _column(values: Any) -> Any:
    array = np.asarray(values)
    if array.dtype.kind in "iufb":
        return array.astype(np.float64)
    return np.array([str(value) for value in array], dtype=object)


def _index_names(X: Any) -> list[str] | None:
    """The index of a data frame, unless it only counts the rows."""
    index = getattr(X, "index", None)
    if index is None or callable(index):
        return None
    names = [str(name) for name in index]
    return None if names == [str(row) for row in range(len(names))] else names
