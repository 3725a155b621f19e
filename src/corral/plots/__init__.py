"""Pictures of an answer: clusters and links, sizes, totals and shares, convergence.

They need matplotlib, the extra ``plot``; importing this package does not.
"""

from __future__ import annotations

from .bounds import plot_sizes, plot_totals
from .clusters import plot_clusters
from .convergence import plot_assignment, plot_convergence
from .maps import plot_map

__all__ = [
    "plot_assignment",
    "plot_clusters",
    "plot_convergence",
    "plot_map",
    "plot_sizes",
    "plot_totals",
]
