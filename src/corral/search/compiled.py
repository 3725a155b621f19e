"""Compilation of the kernels by numba, with a cache where one can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

#: No kernel allocates arrays, so none has to count who uses them: ``_nrt`` halves the time of
#: compilation.  Division by zero gives infinity as in NumPy; threads run beside the kernels.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
    "_nrt": False,
}

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """Compile the function when it is first called; the result is kept on disk if that is possible.

    Without a folder that can be written to, it is compiled anew in every process.  With
    ``NUMBA_DISABLE_JIT=1`` it stays a Python function.
    """
    return _compiled(function, OPTIONS)


def part(function: Kernel) -> Kernel:
    """The same for a function that only other kernels call, which is quicker to compile."""
    return _compiled(function, OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})


def inlined(function: Kernel) -> Kernel:
    """The same for a function that is small, or called at one place: no call is left of it.

    A call hands over every array of its arguments, which takes longer than the function itself.
    """
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return _compiled(function, OPTIONS | wrappers | {"forceinline": True})


def _compiled(function: Kernel, options: dict[str, Any]) -> Kernel:
    try:
        made: Kernel = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no folder for its cache
        made = numba.njit(**options)(function)
    return made
