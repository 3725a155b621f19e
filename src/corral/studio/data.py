"""What the studio shows: points, all columns of their rows, and where they are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints import Constraint
from ..constraints._checks import plural
from ..constraints.clusters import called
from ..geo.frames import PLANE, as_points, is_geo
from ..geo.shapes import Map, lines_of, map_of
from ..rows.metrics import METRICS, place_of, refuse_columns
from ..settings import LIMITS
from .images import Images

#: Columns that the page lists for choices and shows for a row; more would not fit a page.
MOST_COLUMNS = 200
#: Groups of a column whose shares can be bounded in the page.
MOST_GROUPS = 50
#: Columns that the page names as those that are clustered by.
MOST_USED = 12
#: Rows that a message names if all of them could be meant.
MOST_NAMESAKES = 5
#: Points that are drawn.  Of more rows a random sample of this size is drawn; all are clustered.
MOST_POINTS = 200_000

#: Lines of Python: what X is, and the import of what makes columns of shapes.
GIVEN = "# X is the data that the studio was given."
GEO = "from corral.geo import coordinates"
HAVERSINE = "haversine"
#: What the page says about the metrics.
COMPARED = {"cosine": "cosine distance", HAVERSINE: "great-circle distance"}


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
        Python lines that read the data.
    frame : str
        What the columns are called after these lines: "table" of a file, "X" of a data frame that
        was given, "" of an array.
    scale : {"none", "standard", "minmax"}
        How columns become points.
    gaps : mapping of str to arrays of bools
        Where columns had no number, so that their mean stands there.
    id_name : str
        Name of the column that the names are from.
    written : tuple of pairs
        Rules, and Python expressions that make them after these lines.
    metric : str
        What rows are compared by; that of the estimator.
    clusters : tuple of str, optional
        Names of the clusters, of the first if there are more.
    map : Map, optional
        Shapes of the rows, for the picture.
    images : Images, optional
        The folder of the images that cells name.
    """

    title: str
    X: FloatArray
    features: tuple[str, ...]
    columns: Mapping[str, Any]
    names: Sequence[str] | None = None
    weight: FloatArray | None = None
    notices: tuple[str, ...] = ()
    lines: tuple[str, ...] = (GIVEN,)
    frame: str = ""
    scale: str = "none"
    gaps: Mapping[str, BoolArray] = field(default_factory=dict)
    id_name: str = "id"
    written: tuple[tuple[Constraint, str], ...] = ()
    metric: str = "euclidean"
    clusters: tuple[str, ...] | None = None
    map: Map | None = None
    images: Images | None = None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def from_file(self) -> bool:
        """Whether the Python lines make a ``table`` with the columns."""
        return self.frame == "table"

    def by(self, features: Sequence[str], metric: str) -> Data:
        """The same rows by other columns of numbers, in the order of the data, or another metric.

        Raises
        ------
        ValueError
            There are no such columns, or the metric is not for them.
        """
        if (set(features), metric) == (set(self.features), self.metric):
            return self
        LIMITS["metric"].check("metric", metric)
        numbers = {name for name, values in self.columns.items() if values.dtype.kind == "f"}
        wrong = [name for name in features if name not in numbers]
        if wrong or not features:
            fault = f"{wrong[0]!r} is no column of numbers" if wrong else "no column is chosen"
            raise ValueError(f"{fault}; choose among {', '.join(self.number_columns[:MOST_USED])}.")
        made = tuple(name for name in self.columns if name in set(features))
        if metric == HAVERSINE:
            near = self.place or made
            made = degrees_of({name: self.columns[name] for name in near}, self.title)
            gap = next((name for name in made if name in self.gaps), None)
            if gap is not None:
                row = self.name_of(int(np.argmax(self.gaps[gap])))
                raise ValueError(f"{gap!r} of {row} is missing; great circles need all places.")
        found = replace(self, features=made, metric=metric)
        middle, width = found._units
        return replace(found, X=(found.values - middle) / width)

    @property
    def values(self) -> FloatArray:
        """What is clustered, in the user's units."""
        return np.column_stack([self.columns[name] for name in self.features])

    @cached_property
    def _units(self) -> tuple[Any, Any]:
        """What becomes 0 in each column that is clustered, and what becomes 1 more."""
        if self.scale == "none" or self.metric == HAVERSINE:
            return 0.0, 1.0
        values = self.values
        low, high = values.min(axis=0), values.max(axis=0)
        standard = self.scale == "standard"
        middle, width = (values.mean(axis=0), values.std(axis=0)) if standard else (low, high - low)
        return middle, np.where(high > low, width, 1.0)

    def in_units(self, points: FloatArray) -> FloatArray:
        """Points in the user's units."""
        middle, width = self._units
        return np.asarray(points * width + middle)

    @property
    def ground(self) -> str:
        """The question whether places are compared on the ground; "" if there are no such."""
        places = self.place if self.metric == "euclidean" else None
        if places is None or not set(places) <= set(self.features):
            return ""
        return (
            f"Degrees of {places[0]!r} and {places[1]!r} are compared as plain numbers. Cluster by "
            "these two alone, and by their distance on the ground?"
        )

    def name_of(self, row: int) -> str:
        """What a row is called."""
        return f"row {row}" if self.names is None else str(self.names[row])

    def cluster_name(self, cluster: int) -> str:
        """What a cluster is called."""
        known = self.clusters or ()
        return known[cluster] if cluster < len(known) else str(cluster)

    @property
    def called(self) -> Any:
        """Names of the rows, which know those of the clusters; for messages."""
        return called(self.names, self.clusters, len(self))

    @cached_property
    def number_columns(self) -> tuple[str, ...]:
        """Columns of numbers that the page lists."""
        found = (name for name, values in self.columns.items() if values.dtype.kind == "f")
        return tuple(found)[:MOST_COLUMNS]

    @property
    def listed(self) -> list[str]:
        """Columns that are clustered by and that the page lists."""
        used = set(self.features)
        return [name for name in self.number_columns if name in used]

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
    def spread(self) -> tuple[str, ...]:
        """Columns of texts that mixed groups spread evenly; no text there is a group too."""
        texts = (
            (name, values) for name, values in self.columns.items() if values.dtype.kind != "f"
        )
        return tuple(name for name, values in texts if 2 <= len(set(values)) <= MOST_GROUPS)

    @cached_property
    def place(self) -> tuple[str, str] | None:
        """The columns of latitude and longitude, if there are such."""
        return place_of({name: self.columns[name] for name in self.number_columns})

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
                f"{MOST_COLUMNS}; clustering uses {len(self.features):,}."
            )
        if len(self) > MOST_POINTS:
            notices.append(
                f"There are {len(self):,} rows. The picture shows a random sample of "
                f"{MOST_POINTS:,}; clustering uses all."
            )
        return tuple(notices)

    def using(self, *, mixed: bool = False) -> str:
        """The columns that are clustered by, or that groups are alike in, in words."""
        used, every = len(self.features), max(len(self.features), len(self.columns))
        count = f"{used:,} of {every:,} columns"
        if used == every:
            count = f"all {used:,} columns" if used > 1 else "the only column"
        names = ", ".join(self.features[:MOST_USED])
        more = f" and {used - MOST_USED:,} more" if used > MOST_USED else ""
        if mixed:
            spread = f"; spread evenly: {', '.join(self.spread[:MOST_USED])}" if self.spread else ""
            left = self._left_out([*self.features, *self.spread])
            return f"Alike in {count}: {names}{more}{spread}{left}."
        how = f", by {COMPARED[self.metric]}" if self.metric in COMPARED else ""
        return f"Clustering by {count}: {names}{more}{how}{self._left_out(self.features)}."

    def _left_out(self, taken: Sequence[str]) -> str:
        """The columns that are not used, in words."""
        used = set(taken)
        left = [
            name if values.dtype.kind == "f" else f"{name} (text)"
            for name, values in self.columns.items()
            if name not in used
        ]
        more = f" and {len(left) - MOST_USED:,} more" if len(left) > MOST_USED else ""
        return f"; left out: {', '.join(left[:MOST_USED])}{more}" if left else ""

    def find(self, text: str) -> IntArray:
        """Rows by their names or numbers, which commas separate.

        Raises
        ------
        ValueError
            If a name is unknown.
        """
        found = []
        for part in filter(None, map(str.strip, text.split(","))):
            # Upper and lower case count where they tell rows apart, and only there.
            rows = self._rows_by_name.get(part) or self._rows_by_folded.get(part.casefold(), [])
            rows = rows or self._row_by_number(part)
            if not rows:
                raise ValueError(
                    f"No row is called {part!r}; give names or row numbers from 0 to "
                    f"{len(self) - 1}, with commas between."
                )
            if len(rows) > 1:
                called = [f"{self.name_of(row)!r} (row {row})" for row in rows[:MOST_NAMESAKES]]
                more = len(rows) - len(called)
                raise ValueError(
                    f"{part!r} can mean {len(rows)} rows: {', '.join(called)}"
                    f"{f' and {more} more' if more else ''}; write the name as it is there, or "
                    f"the number, such as 'row {rows[0]}'."
                )
            found += rows
        return np.array(found, np.int64)

    def _row_by_number(self, text: str) -> list[int]:
        number = text.removeprefix("row ")
        digits = len(str(len(self)))
        if not number.isdecimal() or len(number.lstrip("0")) > digits:
            return []
        return [int(number)] if int(number) < len(self) else []

    @cached_property
    def _rows_by_name(self) -> dict[str, list[int]]:
        return _places(map(str, self.names or ()))

    @cached_property
    def _rows_by_folded(self) -> dict[str, list[int]]:
        return _places(str(name).casefold() for name in self.names or ())


def _places(texts: Iterable[str]) -> dict[str, list[int]]:
    """Where each text is."""
    made: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        made.setdefault(text, []).append(place)
    return made


def texts_of(values: Any) -> list[str]:
    """The values of a column as texts; whole numbers without a decimal point."""
    if values.dtype.kind == "f" and np.array_equal(values, np.round(values)):
        return [str(int(value)) for value in values]
    return [str(value) for value in values]


def data_of(X: Any, names: Any = None, metric: str = "euclidean") -> Data:
    """The rows of an array or a data frame; missing numbers become the mean of their column.

    Columns of a data frame that hold no numbers are not clustered; they are there for shares.  By
    haversine latitude and longitude alone are clustered.
    """
    LIMITS["metric"].check("metric", metric)
    shapes, frame = map_of(X), X
    X = as_points(X, metric)
    lines: tuple[str, ...] = (GIVEN,)
    if is_geo(frame):
        lines = (GEO, GIVEN, "X = coordinates(X)")
        if hasattr(frame, "columns"):  # the other columns are there for rules
            others = frame.drop(columns=frame.geometry.name)
            X = X.join(others.rename(columns={name: f"{name} of the frame" for name in X}))
            lines = (GEO, GIVEN, "X = X.assign(**coordinates(X))")
    alike: tuple[str, ...] = ()
    id_name, of_frame = "id", getattr(X, "columns", None) is not None
    if not of_frame:
        try:
            array = np.asarray(X, np.float64)
        except OverflowError as error:
            raise ValueError("`X` has a number that is too large for a float.") from error
        if array.ndim != 2 or not array.size:
            raise ValueError(
                f"`X` has shape {array.shape}; it must have rows and columns, at least one each."
            )
        columns = {f"feature {j}": array[:, j] for j in range(array.shape[1])}
    else:
        columns, alike = _columns(X)
        if names is None:
            names = _index_names(X)
            id_name = str(getattr(getattr(X, "index", None), "name", None) or id_name)
    features = tuple(name for name, values in columns.items() if values.dtype.kind == "f")
    if not features:
        raise ValueError("`X` has no column of numbers to cluster by.")
    if shapes is not None:
        features = features[:2]
    elif metric == HAVERSINE:
        features = degrees_of({name: columns[name] for name in features}, "`X`")
    columns, gaps, notices = without_gaps(columns)
    texts = None if names is None else tuple(map(str, names))
    made = np.column_stack([columns[name] for name in features])
    if texts is not None and len(texts) != len(made):
        raise ValueError(f"`names` has {len(texts)} entries, but X has {len(made)} rows.")
    known: Any = {"notices": (*alike, *notices), "lines": lines, "gaps": gaps, "id_name": id_name}
    known |= {"frame": "X" if of_frame else "", "metric": metric, "map": shapes}
    return Data("data", made, features, columns, texts, **known)


def degrees_of(columns: Mapping[str, Any], what: str) -> tuple[str, ...]:
    """The columns of latitude and longitude: those called so, or the only two.

    Raises
    ------
    ValueError
        There are none, or they hold something else.
    """
    found = place_of(columns) or tuple(columns)
    if len(found) != 2:
        raise ValueError(
            f"{what} has {len(columns)} columns of numbers, none of them called lat and lon in "
            "degrees; the metric haversine takes two, latitude and longitude."
        )
    refuse_columns(found)
    places = np.column_stack([columns[name] for name in found])
    if not np.isfinite(places).all():
        row = int(np.argmin(np.isfinite(places).all(axis=1)))
        raise ValueError(f"row {row} of {what} has no place; the metric haversine needs all.")
    fault = METRICS[HAVERSINE].fault(places)
    if fault is not None:
        raise ValueError(f"row {fault[0]} of {what} has {fault[1]}.")
    return found


def without_gaps(
    columns: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, BoolArray], tuple[str, ...]]:
    """Columns with the mean in place of missing numbers, where these are, and a sentence."""
    made: dict[str, Any] = {}
    touched: dict[str, BoolArray] = {}
    for name, values in columns.items():
        made[name] = values
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            gaps = ~np.isfinite(values)
            if gaps.all():
                raise ValueError(f"column {name!r} has no finite number.")
            made[name], touched[name] = np.where(gaps, values[~gaps].mean(), values), gaps
    if not touched:
        return made, touched, ()
    where, name = plural(len(touched), "column"), next(iter(touched))
    first = f", the first of them {name!r}" if len(touched) > 1 else f", {name!r}"
    values = plural(sum(int(gaps.sum()) for gaps in touched.values()), "missing or infinite value")
    said = f"{values} in {where}{first}: the mean of the column stands in."
    return made, touched, (said,)


def _columns(X: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The columns of a data frame by different names, and a sentence about names that were not.

    Such are 1 and "1", or a name that two columns share.
    """
    made: dict[str, Any] = {}
    texts = [str(name) for name in X.columns]
    renamed = []
    for place, (name, text) in enumerate(zip(X.columns, texts, strict=True)):
        own, number = text, 2
        while own in made or (own != text and own in texts):
            own, number = f"{text} ({number})", number + 1
        if own != text:
            renamed.append(f"column {place} is called {own!r}")
        # A name that two columns share does not lead to one of them.
        made[own] = _column(X.iloc[:, place] if hasattr(X, "iloc") else X[name])
    if not renamed:
        return made, ()
    return made, (f"Names of columns must differ: {', '.join(renamed)}.",)


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


#: Radius of the sphere of the map's projection in metres, and its largest latitude in degrees.
EARTH, POLE = 6_378_137.0, 85.0

COMPONENTS, MAP = "principal components", "map"


@dataclass(frozen=True)
class Plane:
    """Coordinates of the rows, and what the axes are called."""

    x: FloatArray
    y: FloatArray
    x_name: str
    y_name: str
    is_map: bool = False
    is_plane: bool = False

    def ends(self, data: Data) -> tuple[tuple[float, float], tuple[float, float]]:
        """The ends of the axes: of the rows, and of their shapes if they have any."""
        lines = [] if data.map is None else drawn_lines(data, self, data.map.geometry)
        across = np.concatenate([self.x, *(x for x, _ in lines)])
        up = np.concatenate([self.y, *(y for _, y in lines)])
        return (float(across.min()), float(across.max())), (float(up.min()), float(up.max()))

    def inside(self, x: FloatArray, y: FloatArray) -> IntArray:
        """Rows inside the polygon with these corners, by the even-odd rule.

        An edge of the polygon changes the side of the rows to its left that it passes.  These are
        neighbours in the order of their heights, so that an edge looks at no other rows, and a
        polygon with many short edges costs as much as one with few long ones.
        """
        across, up = self.x[self._by_height], self.y[self._by_height]
        within = np.zeros(len(up), bool)
        for x0, y0, x1, y1 in zip(x, y, np.roll(x, -1), np.roll(y, -1), strict=True):
            first, last = np.searchsorted(up, sorted((y0, y1)))
            if first < last:
                passed = x0 + (up[first:last] - y0) * ((x1 - x0) / (y1 - y0))
                within[first:last] ^= across[first:last] < passed
        return np.sort(self._by_height[within])

    def nearest(self, x: float, y: float, reach: tuple[float, float]) -> IntArray:
        """The row nearest to a place, if it is within ``reach``, the half axes of an ellipse."""
        far = np.hypot((self.x - x) / reach[0], (self.y - y) / reach[1])
        row = np.argmin(far)
        return np.array([row] if far[row] <= 1.0 else [], np.int64)

    @cached_property
    def _by_height(self) -> IntArray:
        return np.argsort(self.y, kind="stable")


def views_of(data: Data) -> list[str]:
    """The choices of a picture as a whole: a map if there are places, and principal components."""
    return ([MAP] if data.place else []) + [COMPONENTS]


def plane_of(data: Data, x: str, y: str) -> Plane:
    """The picture of this choice: two names of columns, or one of :func:`views_of` as ``x``.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    if x == MAP and data.place:
        return _map(data)
    if x == COMPONENTS:
        return _components(data)
    for name in (x, y):
        if name not in data.number_columns:
            raise ValueError(f"there is no column of numbers {name!r} to draw.")
    return Plane(data.columns[x], data.columns[y], x, y)


def _map(data: Data) -> Plane:
    """Mercator's projection: angles on the map are those on the ground."""
    latitude, longitude = (np.radians(data.columns[name]) for name in data.place or ())
    north = np.clip(latitude, -np.radians(POLE), np.radians(POLE))
    y = EARTH * np.log(np.tan(np.pi / 4 + north / 2))
    return Plane(EARTH * longitude, y, "longitude", "latitude", is_map=True)


def drawn_lines(data: Data, plane: Plane, shapes: Any) -> list[tuple[FloatArray, FloatArray]]:
    """Borders of shapes of the map, and lines, in the coordinates of a picture."""
    if data.map is None or not (plane.is_map or plane.is_plane):
        return []
    made = []
    for line in lines_of(shapes):
        x, y = line.T
        if plane.is_map:
            north = np.clip(np.radians(y), -np.radians(POLE), np.radians(POLE))
            x, y = EARTH * np.radians(x), EARTH * np.log(np.tan(np.pi / 4 + north / 2))
        elif data.map.metre is not None:
            x, y = x / data.map.metre, y / data.map.metre
        made.append((x, y))
    return made


def _components(data: Data) -> Plane:
    """Two columns as they are, one against the number of the row, more by their components."""
    from sklearn.decomposition import PCA

    n, d = data.X.shape
    if d == 1:
        return Plane(data.X[:, 0], np.arange(n, dtype=np.float64), data.features[0], "row")
    if d == 2 or n <= 2:
        ground = data.map is not None and data.features == PLANE
        names = data.features[0], data.features[1]
        return Plane(data.X[:, 0], data.X[:, 1], *names, is_plane=ground)
    pca = PCA(n_components=2, random_state=0)
    flat = pca.fit_transform(data.X)
    shares = np.nan_to_num(pca.explained_variance_ratio_)
    first, second = (f"principal component ({share:.0%})" for share in shares)
    return Plane(flat[:, 0], flat[:, 1], f"first {first}", f"second {second}")
