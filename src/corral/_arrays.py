"""Arrays of any library: whose functions they know, what is wrong in them, and threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import ThreadpoolController

#: Units of a number that is added as a whole one.  Sums below 2**31 do not overflow.
FIXED_POINT = 2.0**32


def namespace(a: Any) -> Any:
    """The module whose functions know the array, by the names of the array API standard.

    NumPy's for its arrays and SciPy's sparse ones; otherwise array-api-compat finds it.
    """
    if isinstance(a, np.ndarray) or sparse.issparse(a):
        return np
    return _compat().array_namespace(a)


@cache
def _compat() -> Any:
    try:
        return import_module("array_api_compat")
    except ImportError:  # scikit-learn carries a copy
        return import_module("sklearn.externals.array_api_compat")


def sound(values: Any, what: str = "X") -> Any:
    """The values as they are; ValueError for masked entries, dates, and indices outside the shape.

    Conversions would drop the mask and make numbers of dates, and compiled code would follow the
    indices.  Numbers that no float can hold are refused too, and names of columns of several types.
    """
    place = _masked_at(values)
    if place is not None:
        where = ", ".join(f"{name} {i}" for name, i in zip(("row", "column"), place, strict=False))
        raise ValueError(
            f"{what} has a masked entry{where and ' at '}{where}; no entry may be masked, fill it "
            "or leave its row out."
        )
    if sparse.issparse(values):
        _refuse_indices(values, what)
    kind: Any = getattr(values, "dtype", object)
    kinds = np.ravel(getattr(values, "dtypes", kind)).tolist()
    # NumPy and pandas say it by the kind, polars by a method.
    if any(getattr(kind, "kind", "") in ("m", "M") or _temporal(kind) for kind in kinds):
        raise ValueError(f"{what} holds dates or times, which have no unit here; give numbers.")
    if object in kinds and not hasattr(values, "compute"):
        _refuse_huge(values, what)
    _refuse_names(values, what)
    return values


def _masked_at(values: Any) -> list[int] | None:
    """Indices of the first masked entry of an array, or of a list of arrays; None without one."""
    if isinstance(values, np.ma.MaskedArray):
        return next(iter(np.argwhere(np.ma.getmaskarray(values)).tolist()), None)
    rows = enumerate(values) if isinstance(values, (list, tuple)) else ()
    arrays = ((i, row) for i, row in rows if isinstance(row, np.ma.MaskedArray) and row.ndim)
    return next(([i, *at] for i, row in arrays if (at := _masked_at(row)) is not None), None)


def _refuse_names(values: Any, what: str) -> None:
    """Raise TypeError, as scikit-learn, for a data frame with names of columns of several types."""
    kinds = sorted({type(name).__name__ for name in getattr(values, "columns", ())})
    if len(kinds) > 1 and "str" in kinds:
        raise TypeError(
            f"{what} has columns whose names are of the types {', '.join(kinds)}; they must all be "
            "strings, or none of them: X.columns = X.columns.astype(str) makes them strings."
        )


def _refuse_huge(values: Any, what: str) -> None:
    """Raise ValueError for numbers beyond the range of floats, which NumPy holds as objects."""
    try:
        array = np.asarray(values)
        if array.dtype == object:
            array.astype(np.float64)
    except OverflowError:
        raise beyond_floats(what) from None
    except (TypeError, ValueError):  # no numbers, or rows that differ in length
        return


def beyond_floats(what: str) -> ValueError:
    """The error for a number that is no float."""
    most = np.finfo(np.float64).max
    return ValueError(
        f"{what} has a number beyond the range of floats; magnitudes may be up to {most:.3g}."
    )


def _temporal(dtype: Any) -> bool:
    return bool(getattr(dtype, "is_temporal", bool)())


def _refuse_indices(values: Any, what: str) -> None:
    """Raise ValueError for a sparse array whose indices are outside its shape."""
    try:
        if values.format in ("csr", "csc"):
            # A check may shorten the arrays of what it checks, so it is not the user's.
            parts = values.data, values.indices, values.indptr
            type(values)(parts, shape=values.shape).check_format(full_check=True)
        elif values.format == "coo":
            type(values)((values.data, (values.row, values.col)), shape=values.shape)
    except ValueError as error:
        raise ValueError(
            f"{what} is a sparse array with wrong indices: {error}; each must lie inside the shape "
            f"{values.shape}."
        ) from error


def to_host(a: Any) -> NDArray[Any]:
    """An array as NumPy's, floats as float64; on a GPU only PyTorch's are known."""
    host = np.asarray(a.cpu() if hasattr(a, "cpu") else a)
    return host.astype(np.float64, copy=False) if host.dtype.kind == "f" else host


def added_by(where: Any, values: Any, k: int) -> Any:
    """Sums of values by their number, (k,), in NumPy; without values, how many there are.

    On a device values are added as whole numbers of ``1 / FIXED_POINT``, so that sums do not depend
    on the order in which threads add; they must stay below 2**31.
    """
    if isinstance(where, np.ndarray):
        return np.bincount(where, values, k)
    if values is None:
        return to_host(where.bincount(minlength=k))
    whole = (values.double() * FIXED_POINT).round().long()
    total = whole.new_zeros(k).index_add_(0, where, whole)
    return to_host(total) / FIXED_POINT


def ranked(values: Any, rank: int) -> float:
    """The value of that rank, from 0; infinite if there are not so many."""
    if rank >= len(values):
        return float("inf")
    if isinstance(values, np.ndarray):
        return float(np.partition(values, rank)[rank])
    return float(values.sort().values[rank])


@cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries of this process; finding them takes longer than a small fit."""
    return ThreadpoolController()


class _OneThread:
    """One BLAS thread while anyone wants it; the last to leave restores what the first found.

    The limit is one of the process.  If each user restored what it found, one that came second and
    left last would leave the limit for good.
    """

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._limit: Any = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the limit meanwhile."""
        with self._lock:
            if not self._users:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._limit, limit = None, self._limit
                    limit.restore_original_limits()


_ONE_THREAD = _OneThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Keep BLAS to one thread: starting more takes longer than a product of small matrices."""
    return _ONE_THREAD.held()
