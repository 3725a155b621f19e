"""Compilation of the kernels by numba, with a cache where one can be written."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar

import numba
from numba.core.compiler_lock import global_compiler_lock

#: No kernel allocates arrays, so none has to count who uses them: ``_nrt`` halves the time of
#: compilation.  No C function calls them.  Division by zero gives infinity as in NumPy; threads run
#: beside the kernels.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
    "_nrt": False,
    "no_cfunc_wrapper": True,
}

#: Where numba reads the level when it compiles.
CONFIG: Any = numba.config

#: A function that Python does not call needs no wrapper, which takes long to compile.
NO_WRAPPER: dict[str, Any] = {"no_cpython_wrapper": True}

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """Compile the function when it is first called; the result is kept on disk if that is possible.

    Without a folder that can be written to, it is compiled anew in every process.  With
    ``NUMBA_DISABLE_JIT=1`` it stays a Python function.
    """
    try:
        return _made(function, cache=True)
    except RuntimeError:  # numba finds no folder for its cache
        return _made(function)


def part(function: Kernel) -> Kernel:
    """The same for a function that only kernels of its file call, which keep it on disk."""
    return _made(function, **NO_WRAPPER)


def inlined(function: Kernel) -> Kernel:
    """The same for a small function, or one in a hot loop: no call is left of it.

    A call hands over every array of its arguments, which takes longer than the function itself.
    """
    return _made(function, forceinline=True, **NO_WRAPPER)


def spliced(function: Kernel) -> Kernel:
    """The same for a large function that is called at one place, whose source goes there.

    It is compiled once, with its caller; an inlined function is compiled before that as well.  Its
    arguments are copied, so it must not take large tuples in a hot loop.  The time of the splicing
    grows with the square of its length.
    """
    return _made(function, inline="always")


def _made(function: Kernel, **options: Any) -> Kernel:
    """The function as numba compiles it, at level 1 of LLVM's optimisation.

    At level 3, numba's default, kernels are not faster, and compilation takes longer by a sixth.
    """
    # Only the argument that may be None gives numba something to rewrite: branches to leave out.
    options["no_rewrites"] = "rare" not in signature(function).parameters
    made: Any = numba.njit(**OPTIONS, **options)(function)
    if made is not function:
        compile_at_default = made.compile

        def compile_at_level(types: Any) -> Any:
            with global_compiler_lock:  # no other thread compiles at this level
                default = CONFIG.OPT
                CONFIG.OPT = type(default)(min(default, 1))
                try:
                    return compile_at_default(types)
                finally:
                    CONFIG.OPT = default

        made.compile = compile_at_level
    kernel: Kernel = made
    return kernel
