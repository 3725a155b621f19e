"""A report as one HTML page that needs nothing else: tables to sort, pictures, no address."""

from __future__ import annotations

from .page import to_fragment, to_page
from .view import View

__all__ = ["View", "to_fragment", "to_page"]
