"""Leave out what classes inherit from scikit-learn: it is documented there."""

from __future__ import annotations

import re
from typing import Any


def skip(app: Any, what: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:
    foreign = str(getattr(member, "__module__", "")).startswith("sklearn")
    return True if foreign or re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
