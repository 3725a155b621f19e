"""The exception classes of corral."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .constraints import ConstraintSet


class InfeasibleConstraintsError(ValueError):
    """No assignment obeys all hard constraints.

    Parameters
    ----------
    message : str
        Description of the contradiction, with the names of the user's rows.
    conflict : ConstraintSet
        A small part of the user's constraints that cannot be obeyed together.
    irreducible : bool
        Whether it is proven that the conflict can be obeyed without any one of its parts: a pair,
        a pin, a share, or one side of a bound.  False if there was no time for the proof.

    Examples
    --------
    >>> from corral.constraints import CannotLink, ConstraintSet, MustLink
    >>> clash = ConstraintSet([MustLink([(0, 1)]), CannotLink([(0, 1)])])
    >>> InfeasibleConstraintsError("samples 0 and 1 clash", clash).conflict
    ConstraintSet([MustLink(1 pair), CannotLink(1 pair)])
    """

    def __init__(self, message: str, conflict: ConstraintSet, irreducible: bool = False) -> None:
        super().__init__(message)
        self.conflict = conflict
        self.irreducible = irreducible

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the conflict, which ``BaseException`` would not keep."""
        return type(self), (str(self), self.conflict, self.irreducible)


class SolverTimeoutError(TimeoutError):
    """The time limit ended without a feasible answer and without a proof that none exists.

    Parameters
    ----------
    message : str
    seconds : float
        Time spent.
    progress : str
        Description of how far the solver got.

    Examples
    --------
    >>> SolverTimeoutError("no answer yet", 2.0, "12 of 40 groups placed").seconds
    2.0
    """

    def __init__(self, message: str, seconds: float, progress: str) -> None:
        super().__init__(message)
        self.seconds = seconds
        self.progress = progress

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the time and the progress, which ``BaseException`` would not keep."""
        return type(self), (str(self), self.seconds, self.progress)


class BrokenAnswerError(RuntimeError):
    """The audit found that labels violate a hard constraint: a bug in corral."""
