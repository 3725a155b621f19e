"""corral: k-means clustering that obeys rules.

Must-links, cannot-links, cluster sizes, capacities, shares and any linear constraint, in one model
and with scikit-learn's conventions.
"""

from .audit import Report, audit
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

__version__ = "0.1.0"

__all__ = [
    "BrokenAnswerError",
    "CannotLink",
    "ClusterSizes",
    "ClusterTotals",
    "ConstrainedKMeans",
    "Constraint",
    "ConstraintSet",
    "GroupShares",
    "InfeasibleConstraintsError",
    "LinearConstraint",
    "MustLink",
    "Pin",
    "Report",
    "SolverTimeoutError",
    "Violations",
    "__version__",
    "audit",
    "from_labels",
    "read_pairs",
    "write_pairs",
]
