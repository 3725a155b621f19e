"""A description of the machine."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from .methods import COP, STAND_IN, installed
from .store import versions


def processor() -> str:
    """The processor's name as the system gives it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def use_cores(count: int) -> int:
    """Restrict this process and its children to ``count`` cores; return how many there are."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    allowed = sorted(os.sched_getaffinity(0))[:count]
    os.sched_setaffinity(0, allowed)
    return len(allowed)


def busy(cores: int) -> bool:
    """Whether other processes use the machine, so that times would be too long."""
    return os.getloadavg()[0] > 0.25 * cores


def describe(cores: int) -> str:
    """Processor, cores, memory, system, Python and packages, in two sentences."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    missing = "" if installed(COP) else f"; {COP} is replaced by {STAND_IN}"
    return (
        f"{processor()}, {cores} cores, {memory:.0f} GB of memory, {platform.system()}, "
        f"Python {platform.python_version()}. {packages}{missing}."
    )
