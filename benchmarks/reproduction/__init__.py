"""The tables and figures of the paper, and one further table, reproduced by one command.

Run ``corral reproduce`` in a checkout, or ``python benchmarks/reproduction``.  An experiment is a
list of *cells* (fits that do not depend on each other) and a function *render*.  The cells are
run, their results are stored, and *render* turns them into a section of the page, with pictures.
"""

from __future__ import annotations

from .run import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
