"""The paper's tables and figures, and one table more, made anew by one command.

``corral reproduce`` or ``python -m corral.experiments`` runs them and writes a page.  The way of
an experiment: *cells* (fits that need nothing from each other) are run and kept in the *store*,
then the experiment's *render* turns its cells into a section of the *page*, with pictures.
"""

from __future__ import annotations

from .registry import EXPERIMENTS
from .reproduce import reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
