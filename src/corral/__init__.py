"""corral: k-means clustering that obeys rules.

Must-links, cannot-links, cluster sizes, capacities, shares and any linear constraint, in one model
and with scikit-learn's conventions.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .admm.history import History
    from .backends import RowsOnDisk
    from .choose import Choice, choose_n_clusters
    from .constraints import (
        CannotLink,
        ClusterSizes,
        ClusterTotals,
        Connected,
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
    from .mixed import MixedGroups, MixedKFold, split
    from .pricing import price_rules
    from .progress import Progress
    from .proof import LowerBound, lower_bound
    from .report import Report, audit
    from .shapes.kernel import ConstrainedKernelKMeans
    from .shapes.medoids import ConstrainedKMedoids
    from .shapes.mixture import ConstrainedGaussianMixture
    from .shapes.propagation import LinkPropagation
    from .studio import Studio, studio

__version__ = "0.6.0"

__all__ = [
    "BrokenAnswerError",
    "CannotLink",
    "Choice",
    "ClusterSizes",
    "ClusterTotals",
    "Connected",
    "ConstrainedGaussianMixture",
    "ConstrainedKMeans",
    "ConstrainedKMedoids",
    "ConstrainedKernelKMeans",
    "Constraint",
    "ConstraintSet",
    "Feasibility",
    "GroupShares",
    "History",
    "InfeasibleConstraintsError",
    "LinearConstraint",
    "LinkPropagation",
    "LowerBound",
    "MixedGroups",
    "MixedKFold",
    "MustLink",
    "Pin",
    "Progress",
    "Report",
    "RowsOnDisk",
    "SolverTimeoutError",
    "Studio",
    "Violations",
    "__version__",
    "audit",
    "check",
    "choose_n_clusters",
    "from_labels",
    "lower_bound",
    "price_rules",
    "read_pairs",
    "split",
    "studio",
    "write_pairs",
]

#: Modules that hold the public names, those that are imported quickly first.
_HOMES = (
    *("exceptions", "progress", "constraints", "admm.history"),
    *("report", "feasibility", "backends", "estimator", "proof", "choose", "pricing"),
    *("shapes.mixture", "shapes.kernel", "shapes.medoids", "shapes.propagation"),
    *("mixed", "studio"),
)


def __getattr__(name: str) -> Any:
    """Import a public name or a submodule when it is first asked for.

    scikit-learn takes most of the time of the import, and ``corral --help`` does not need it.
    """
    if name in __all__:
        modules = (import_module(f"{__name__}.{home}") for home in _HOMES)
        globals()[name] = next(vars(module)[name] for module in modules if name in vars(module))
        return globals()[name]
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """The module ``corral``, in which ``audit`` and ``studio`` are functions, not subpackages."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import of a submodule sets the attribute of its name.
        if name not in __all__ or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
