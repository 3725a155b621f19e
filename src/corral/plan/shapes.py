"""Decisions on clusters of other shapes."""

from __future__ import annotations

from .shape_thresholds import EIGEN_SECONDS, EIGEN_SHARE, EXACT_KERNEL_ROWS, NYSTROEM_ROWS


def kernel_sample(n_rows: int, wanted: int | str | None, limit: float) -> int:
    """Number of rows whose kernel makes the feature vectors; all of them if these are exact.

    Parameters
    ----------
    n_rows : int
    wanted : int, "auto" or None
        What the user asks for; None is all rows.
    limit : float
        Time limit of the fit in seconds.
    """
    if wanted is None:
        return n_rows
    if wanted != "auto":
        return min(n_rows, int(wanted))
    slow = eigen_seconds(n_rows) > EIGEN_SHARE * limit
    return min(n_rows, NYSTROEM_ROWS) if slow or n_rows > EXACT_KERNEL_ROWS else n_rows


def eigen_seconds(n_rows: int) -> float:
    """Seconds that the eigendecomposition of a matrix takes, about."""
    return EIGEN_SECONDS * float(n_rows) ** 3
