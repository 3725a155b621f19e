"""corral: k-means clustering that obeys rules.

Must-links, cannot-links, cluster sizes, capacities, shares and any linear constraint, in one model
and with scikit-learn's conventions.
"""

from importlib import import_module
from typing import Any

from .admm.history import History
from .constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Constraint,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
    Violations,
    from_labels,
    read_pairs,
    write_pairs,
)
from .estimator import ConstrainedKMeans
from .exceptions import BrokenAnswerError, InfeasibleConstraintsError, SolverTimeoutError
from .feasibility import Feasibility, check
from .progress import Progress
from .report import Report, audit

__version__ = "0.2.0"

__all__ = [
    "BrokenAnswerError",
    "CannotLink",
    "ClusterSizes",
    "ClusterTotals",
    "ConstrainedKMeans",
    "Constraint",
    "ConstraintSet",
    "Feasibility",
    "GroupShares",
    "History",
    "InfeasibleConstraintsError",
    "LinearConstraint",
    "MustLink",
    "Pin",
    "Progress",
    "Report",
    "SolverTimeoutError",
    "Violations",
    "__version__",
    "audit",
    "check",
    "from_labels",
    "read_pairs",
    "write_pairs",
]

_MODULES = ("baselines", "datasets", "metrics", "plots")


def __getattr__(name: str) -> Any:
    """Import a submodule when it is first asked for, so that ``import corral`` stays quick."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
