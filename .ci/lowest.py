"""Write a constraints file for pip: the lowest version that pyproject.toml allows of each package.

Usage: ``python .ci/lowest.py pyproject.toml lowest.txt``.  The packages are those of the project
and of its extras.  A requirement must be written ``name>=version`` or ``name[extra]>=version``,
and may have an upper bound, ``name>=version,<version``.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,.-]+\])?>=(?P<bound>[\w.]+)(,<[\w.]+)?")


def lowest(project: dict) -> list[str]:
    """Each requirement of the project and its extras, with its lower bound as the exact version."""
    extras = project["optional-dependencies"].values()
    pins = set()
    for requirement in [*project["dependencies"], *(line for extra in extras for line in extra)]:
        parts = REQUIREMENT.fullmatch(requirement)
        if parts is None:
            raise ValueError(f"{requirement!r} is not written as name>=version")
        pins.add(f"{parts['name']}=={parts['bound']}")
    return sorted(pins)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    project = tomllib.loads(source.read_text(encoding="utf-8"))["project"]
    target.write_text("\n".join([*lowest(project), ""]), encoding="utf-8")
