"""What falls short of what it should be."""

from __future__ import annotations

failures: list[str] = []


def check(good: bool, what: str) -> None:
    """Note what falls short."""
    if not good:
        failures.append(what)
        print(f"    SHORT: {what}", flush=True)
