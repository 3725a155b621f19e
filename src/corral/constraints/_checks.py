"""Checks and small helpers that all kinds of constraint share.

The functions ``as_...`` read a value given by the user and raise ``ValueError`` if it is wrong.
What counts as rounding in bounded sums is one allowance, for audit, presolve and solvers.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from numbers import Integral, Number
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import beyond_floats, sound
from .._text import shown, suggestion
from .._typing import BoolArray, FloatArray, IntArray

Names: TypeAlias = Sequence[Any] | None
"""Names of the rows for messages; with ``None`` messages use row numbers."""


def name_of(row: Any, names: Names) -> str:
    """Return the name of a row for messages."""
    return str(row if names is None else names[row])


def shortened(parts: Iterable[str], total: int, limit: int = 10) -> str:
    """Join at most ``limit`` of ``total`` parts by commas and count the others."""
    text = ", ".join(islice(parts, limit))
    return f"{text} and {total - limit} more" if total > limit else text


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Write a number with its noun: ``1 pair``, ``2 pairs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {many or noun + 's'}"


def sums_by(labels: IntArray, values: FloatArray | IntArray, n_labels: int) -> FloatArray:
    """Add up the values of each label."""
    # NumPy's type annotations say int, but with weights the result is float.
    sums: FloatArray = np.bincount(labels, weights=values, minlength=n_labels).astype(np.float64)
    return sums


#: Entries of an array over the rows that are worked on at a time where there are many.
ENTRIES = 1 << 17


def pieces(n: int) -> Iterator[slice]:
    """Parts of arrays over so many rows, so that what is made of a part takes little memory."""
    return (slice(start, start + ENTRIES) for start in range(0, n, ENTRIES))


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Convert to an array; ``ValueError`` for masked entries and lists that differ in length."""
    sound(values, what)
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(
            f"{what} must have a regular shape, but its rows differ in length."
        ) from None


def as_entries(values: Any, what: str) -> NDArray[Any]:
    """Convert to an array in which text stands only where the user gave text.

    NumPy would convert ``["a", -1]`` and ``["a", nan]`` to text.  Such lists become arrays of
    objects.
    """
    if hasattr(values, "__array__") or isinstance(values, (str, bytes)):
        return as_array(values, what)
    entries = list(values) if isinstance(values, Iterable) else values
    array = as_array(entries, what)
    if array.ndim == 1 and array.dtype.kind in "US":
        texts = [isinstance(value, (str, bytes)) for value in entries]
        if not all(texts):
            return np.fromiter(entries, object, len(entries))
    return array


def kind_of(value: Any) -> str:
    """Name the type of a wrong value for messages: ``None``, ``a str``."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _type_of(array: NDArray[Any]) -> str:
    return {"U": "text", "O": "mixed"}.get(array.dtype.kind, str(array.dtype))


def as_integers(values: Any, what: str, hint: str = "") -> IntArray:
    """Read an array of integers; floats and booleans raise even if they are whole numbers."""
    if not hasattr(values, "__array__"):
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
            raise ValueError(f"{what} must be integers, not {kind_of(values)}.")
        values = list(values)
        nested = set(map(type, values)) <= {list, tuple}
        flat = chain.from_iterable(values) if nested else values
        # NumPy would convert (3, True) to (3, 1).
        if {bool, np.bool_} & set(map(type, flat)):
            raise ValueError(f"{what} must be integers, but some are booleans.")
    array = as_array(values, what)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{what} must be integers, but their type is {_type_of(array)}{hint}.")
    return array.astype(np.int64)


def as_pairs(values: Any, what: str, hint: str = "") -> IntArray:
    """Read pairs of integers, (p, 2); an empty list means no pairs."""
    array = as_integers(values, what, hint)
    array = array.reshape(0, 2) if array.shape == (0,) else array
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{what} have shape {array.shape}; it must be (number of pairs, 2).")
    return array


FOLDS = "; if X is a part of the data, such as a fold, use ConstraintSet.subset or for_folds"
"""Hint for messages about rules that are for other rows than those of X."""

NAMES_HINT = (
    "; convert them to integers if they are row numbers, or pass index= if they are names of rows"
)
"""Hint for messages about row numbers that are not integers: they may be names."""


def check_count(value: Any, what: str, more: str = "") -> None:
    """Raise ``ValueError`` unless it is an integer of at least 1 that 64 bits hold."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not 1 <= value < 2**63:
        huge = " and below 2**63" if whole and value >= 1 else ""
        raise ValueError(
            f"{what} is {shown(value)}; it must be an integer of at least 1{huge}{more}."
        )


def as_numbers(values: ArrayLike, what: str, kinds: str = "iuf") -> FloatArray:
    """Copy numbers to float64; NaN, text and dtype kinds not in ``kinds`` raise."""
    array = as_array(values, what)
    if array.size and array.dtype.kind not in kinds:
        if array.dtype.kind != "O":
            raise ValueError(f"{what} must be numbers, but their type is {_type_of(array)}.")
        if array.ndim == 0 and not isinstance(values, Number):
            raise ValueError(f"{what} must be numbers, not {kind_of(values)}.")
        try:
            array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what} must be numbers: {error}.") from error
    given = array
    with np.errstate(over="ignore"):
        # Adding 0.0 turns -0.0 into 0.0, so that equal numbers have equal bytes.
        array = given.astype(np.float64) + 0.0
    for value in given[np.isinf(array)].flat:
        if str(value).lstrip("+-").lower() not in ("inf", "infinity"):
            raise beyond_floats(what)
    wrong = np.isnan(array)
    if wrong.any():
        raise ValueError(f"{what}{_place(wrong)} is NaN; a number is needed.")
    return array


def as_column(values: ArrayLike, what: str, count: int, noun: str, has: str) -> FloatArray:
    """Read one number for all, or one for each of ``count`` pairs or rows."""
    array = as_numbers(values, what)
    if array.ndim and array.shape != (count,):
        raise ValueError(
            f"{what} has shape {array.shape}, but {has} {plural(count, noun)}; "
            f"give one number, or one per {noun}."
        )
    return np.broadcast_to(array, (count,)).copy()


def as_twos(values: Any, rule: str, noun: str) -> list[Any]:
    """List items of length two, such as pairs of names; ``rule`` starts the error message."""
    if hasattr(values, "__array__"):
        values = np.asarray(sound(values, f"the array of {noun}s")).tolist()
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise ValueError(f"{rule}, not {kind_of(values)}.")
    items = list(values)
    for number, item in enumerate(items):
        if isinstance(item, (str, bytes)) or not isinstance(item, Collection) or len(item) != 2:
            raise ValueError(f"{rule}; {noun} {number} is {item!r}.")
    return items


def refuse(wrong: BoolArray, values: NDArray[Any], what: str, allowed: str) -> None:
    """Raise ``ValueError`` for the first value that is marked wrong."""
    if wrong.any():
        raise ValueError(f"{what}{_place(wrong)} is {values[wrong][0]:.10g}; {allowed}.")


def _place(wrong: BoolArray) -> str:
    return f"[{int(np.argmax(wrong))}]" if np.ndim(wrong) else ""


def optional_bound(values: ArrayLike | None, what: str) -> FloatArray | None:
    """Read a bound: one number or one per cluster; ``None`` and an empty list mean no bound."""
    if values is None:
        return None
    array = as_numbers(values, what)
    if array.ndim > 1:
        raise ValueError(
            f"{what} has shape {array.shape}; it must be one number or one per cluster."
        )
    return array if array.size else None


def ordered_bounds(**bounds: NDArray[Any] | None) -> None:
    """Raise ``ValueError`` if the first bound is above the second or their lengths differ."""
    (below, low), (above, high) = bounds.items()
    if low is None or high is None:
        return
    if low.ndim and high.ndim and len(low) != len(high):
        raise ValueError(
            f"{below} has {len(low)} entries, but {above} has {len(high)}; "
            "each is one number or one per cluster."
        )
    low, high = np.broadcast_arrays(low, high)
    wrong = low > high
    if wrong.any():
        raise ValueError(
            f"{below}{_place(wrong)} is {low[wrong][0]:.10g}, above "
            f"{above}{_place(wrong)}, which is {high[wrong][0]:.10g}."
        )


def one_per(unit: str, count: int, noun: str, **values: NDArray[Any] | None) -> None:
    """Raise ``ValueError`` if an array has not one entry per ``unit``, cluster or row."""
    by_cluster = unit == "cluster"
    fact = f"n_clusters is {count}" if by_cluster else f"X has {count} samples"
    hint = "" if by_cluster else FOLDS
    for what, array in values.items():
        if array is not None and np.ndim(array) and array.size and len(array) != count:
            raise ValueError(
                f"{what} has length {len(array)}, but {fact}; give one {noun} per {unit}{hint}."
            )


NO_SIZE = 2**62
"""What stands in a list of sizes for a cluster without a maximum."""


def missed_bound(value: float, low: float, high: float) -> str:
    """Name the bound that a value misses: ``3``, ``at least 3``, ``at most 3``."""
    if low == high:
        return f"{low:.10g}"
    return f"at least {low:.10g}" if value < low else f"at most {high:.10g}"


def short_bound(bound: NDArray[Any]) -> str:
    """Write one number, or a list of numbers that is shortened if it is long."""
    if bound.ndim == 0:
        return f"{bound.item():.10g}"
    tail = f", ... {len(bound)} in all" if len(bound) > 8 else ""
    shown = ("any" if abs(v) >= NO_SIZE else f"{v:.10g}" for v in bound[:8].tolist())
    return f"[{', '.join(shown)}{tail}]"


def as_labels(labels: ArrayLike, n_needed: int = 0, n_exactly: int | None = None) -> IntArray:
    """Read cluster labels; there must be one for each row that the constraint names."""
    array = np.asarray(sound(labels, "labels"))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(
            f"labels must be a 1-D array of integers, not {array.dtype} of shape {array.shape}."
        )
    if n_exactly is not None and len(array) != n_exactly:
        raise ValueError(
            f"labels has {len(array)} entries, but the constraint is on {n_exactly} rows."
        )
    if len(array) < n_needed:
        raise ValueError(
            f"labels has {len(array)} entries, but the constraint names row {n_needed - 1}."
        )
    return array.astype(np.int64, copy=False)


def clusters_in(labels: IntArray, n_clusters: int | None, *bounds: NDArray[Any] | None) -> int:
    """Return ``n_clusters``, else the length of the first array of bounds, else from the labels."""
    found = int(labels.max(initial=-1)) + 1
    given = (len(bound) for bound in bounds if bound is not None and bound.ndim)
    k = int(n_clusters) if n_clusters is not None else next(given, found)
    if len(labels) and (labels.min() < 0 or found > k):
        raise ValueError(
            f"labels must lie in [0, {k - 1}], but range from {labels.min()} to {labels.max()}."
        )
    return k


def as_rows(rows: ArrayLike) -> tuple[IntArray, int | None]:
    """Read the rows of a subset: their positions, and the number of all rows if given as a mask."""
    array = np.asarray(sound(rows, "rows"))
    if array.ndim != 1:
        raise ValueError(f"rows must be 1-D, but has shape {array.shape}.")
    if array.dtype == bool:
        return np.flatnonzero(array), len(array)
    positions = as_integers(array, "rows")
    refuse(positions < 0, positions, "rows", "positions count from 0")
    found, times = np.unique(positions, return_counts=True)
    if (times > 1).any():
        row = found[times > 1][0]
        raise ValueError(f"rows holds {row} more than once; a subset has each row at most once.")
    return positions, None


def renumbering(rows: ArrayLike, n_needed: int) -> IntArray:
    """Return the new position of each old row, -1 for rows outside the subset."""
    positions, total = as_rows(rows)
    if total is not None and total < n_needed:
        raise ValueError(
            f"rows is a mask of {total} entries, but the constraint names row {n_needed - 1}."
        )
    new = np.full(max(n_needed, int(positions.max(initial=-1)) + 1), -1, np.int64)
    new[positions] = np.arange(len(positions))
    return new


def rows_within(rows: ArrayLike, n_samples: int, what: str) -> IntArray:
    """Read the rows of a subset, all of which must lie in [0, ``n_samples``)."""
    positions, total = as_rows(rows)
    if total is not None and total != n_samples:
        raise ValueError(f"rows is a mask of {total} entries, but {what} has {n_samples}.")
    if positions.max(initial=-1) >= n_samples:
        raise ValueError(
            f"rows holds {positions.max()}, but {what} has {n_samples} entries; "
            f"positions must lie in [0, {n_samples - 1}]."
        )
    return positions


def positions_of(
    wanted: Iterable[Any], table: Mapping[Any, int], what: str, hint: str = ""
) -> IntArray:
    """Translate names of rows into positions by the result of :func:`table_of`."""
    wanted = list(wanted)
    try:
        found = np.fromiter(map(table.get, wanted, repeat(-1)), np.int64, len(wanted))
    except TypeError as error:
        raise ValueError(f"{what} cannot be looked up in index: {error}.") from error
    missing = found < 0
    if missing.any():
        first = wanted[int(np.argmax(missing))]
        known = shortened(map(repr, table), len(table), 5)
        meant = suggestion(first, table)
        raise ValueError(
            f"{what} name {first!r}{meant}, which is not in index; it holds {known}{hint}."
        )
    return found


def table_of(index: Any, *, as_text: bool = False) -> dict[Any, int]:
    """Map each name of a row to its position; a name that occurs twice raises."""
    if isinstance(index, (str, bytes)) or not isinstance(index, Iterable):
        raise ValueError(f"index cannot be {kind_of(index)}; it must hold one name per row.")
    names = list(index)
    for row, name in enumerate(names):
        if not isinstance(name, Hashable):
            raise ValueError(
                f"index[{row}] is {name!r}; a name must be hashable, such as a string or a number."
            )
    names = list(map(str, names)) if as_text else names
    table = dict(zip(names, range(len(names)), strict=True))
    if len(table) < len(names):
        # A later duplicate has replaced the position of the first one.
        double = next(name for i, name in enumerate(names) if table[name] != i)
        raise ValueError(f"index holds {double!r} more than once; names of rows must be unique.")
    return table


def index_of(values: Any) -> Any:
    """Return the index of a pandas series or frame, None for anything else."""
    index = getattr(values, "index", None)
    return None if callable(index) or not hasattr(values, "iloc") else index


RELATIVE_TOLERANCE = 1e-9
"""Excess over a bound that counts as rounding, as a part of the sum of all magnitudes."""
WHOLE_TOLERANCE = 0.25
"""Most that counts as rounding in a sum of whole numbers, which itself is exact."""
LARGEST_WHOLE = 2.0**53
"""Sums of whole numbers below this one are exact in double precision."""
MOST_COUNTED = 2.0**40
"""Largest sum of magnitudes of whole numbers; larger ones are too large for integer solvers."""


def allowances(values: FloatArray, rule: IntArray, n_rules: int) -> FloatArray:
    """Return how far the sum of each rule may miss its bounds because of rounding.

    ``rule`` is the rule of each value.  The allowance depends on the user's numbers and not on
    labels, so that audit, presolve and solvers agree.

    Examples
    --------
    >>> allowances(np.array([0.5, -2.5, 4e9]), np.array([0, 0, 1]), 2)
    array([3.0e-09, 2.5e-01])
    """
    total, broken = np.zeros(n_rules), np.zeros(n_rules)
    for part in pieces(len(values)):
        total += sums_by(rule[part], np.abs(values[part]), n_rules)
        broken += sums_by(
            rule[part], (values[part] != np.rint(values[part])).astype(float), n_rules
        )
    most = np.where((broken == 0) & (total < LARGEST_WHOLE), WHOLE_TOLERANCE, np.inf)
    allowed: FloatArray = np.minimum(RELATIVE_TOLERANCE * total, most)
    return allowed


def excess_of(value: Any, allowed: Any, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return by how much values miss their bounds; up to ``allowed`` is rounding and counts 0."""
    with np.errstate(over="ignore"):
        excess = np.maximum(np.maximum(lower - value, value - upper), 0.0)
    return np.where(excess > allowed, excess, 0.0)


def refuse_overflow(values: FloatArray, what: str) -> None:
    """Raise ``ValueError`` if the magnitudes of the values add up to more than a float holds."""
    with np.errstate(over="ignore"):
        total = np.abs(values).sum()
    if np.isinf(total):
        raise ValueError(
            f"{what} has magnitudes up to {np.abs(values).max():.10g}, whose sum is more than a "
            "float can hold; use a larger unit."
        )
