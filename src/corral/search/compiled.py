"""Compilation of the kernels by numba, with a cache where one can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

#: No kernel allocates arrays, so none has to count who uses them: ``_nrt`` halves the time of
#: compilation.  No C function calls them, and numba finds nothing to rewrite in them.  Division by
#: zero gives infinity as in NumPy; threads run beside the kernels.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "no_rewrites": True,
}

#: A function that Python does not call needs no wrapper, which takes long to compile.
NO_WRAPPER: dict[str, Any] = {"no_cpython_wrapper": True}

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """Compile the function when it is first called; the result is kept on disk if that is possible.

    Without a folder that can be written to, it is compiled anew in every process.  With
    ``NUMBA_DISABLE_JIT=1`` it stays a Python function.
    """
    try:
        made: Kernel = numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # numba finds no folder for its cache
        made = numba.njit(**OPTIONS)(function)
    return made


def part(function: Kernel) -> Kernel:
    """The same for a function that only kernels of its file call, which keep it on disk."""
    made: Kernel = numba.njit(**OPTIONS, **NO_WRAPPER)(function)
    return made


def inlined(function: Kernel) -> Kernel:
    """The same for a small function, or one in a hot loop: no call is left of it.

    A call hands over every array of its arguments, which takes longer than the function itself.
    """
    made: Kernel = numba.njit(forceinline=True, **OPTIONS, **NO_WRAPPER)(function)
    return made


def spliced(function: Kernel) -> Kernel:
    """The same for a large function that is called at one place, whose source goes there.

    It is compiled once, with its caller; an inlined function is compiled before that as well.  Its
    arguments are copied, so it must not take large tuples in a hot loop.  The time of the splicing
    grows with the square of its length.
    """
    made: Kernel = numba.njit(inline="always", **OPTIONS)(function)
    return made
