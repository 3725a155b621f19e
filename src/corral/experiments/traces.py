"""What a solver does over its iterations: the cell behind the paper's pictures of x."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ConstrainedKMeans
from .._typing import FloatArray, IntArray
from ..admm.history import History
from .cells import Record
from .methods import SMALL_RHO
from .sources import points, rules_for, seed_of

SOLVERS: dict[str, dict[str, Any]] = {
    "projected": {},
    "algorithm1": {"solver": "algorithm1"},
    "algorithm1, small rho": {"solver": "algorithm1", **SMALL_RHO},
}


@dataclass(frozen=True)
class Trace:
    """One run from a random start, with its objective and x at some iterations.

    Attributes
    ----------
    data : str
    solver : str
        A name of ``SOLVERS``.
    variant : {"free", "mix"}
    links : int
        Number of must-links and of cannot-links.
    record : tuple of int
        Iterations whose x to keep; those after the end are replaced by the last one.
    seed : int
    """

    data: str
    solver: str
    variant: str
    links: int
    record: tuple[int, ...]
    seed: int

    @property
    def key(self) -> str:
        """Everything but the seed, which names the store."""
        return f"{self.data}/{self.variant}/{self.links}/{self.solver}/trace"

    def run(self) -> Record:
        """Fit twice, the second time to keep the last x, whose number the first one tells."""
        length = len(self._history(()))
        kept = sorted({min(iteration, length) for iteration in self.record})
        history = self._history(tuple(kept))
        return {
            "objective": _short(history.objective, 6),
            "card": history.card_violations.tolist(),
            "must": history.must_link_violations.tolist(),
            "cannot": history.cannot_link_violations.tolist(),
            "x": {str(iteration): _short(history.x[iteration], 3) for iteration in kept},
        }

    def _history(self, record: tuple[int, ...]) -> History:
        X, _, k = points(self.data)
        rules = rules_for(self.data, self.variant, self.links, self.links, 0, self.seed)
        model = ConstrainedKMeans(
            k,
            init=self._start(),
            repair=False,
            max_iter=5000,
            random_state=0,
            record_x=record,
            **SOLVERS[self.solver],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            history: History = model.fit(X, constraints=rules).history_
        return history

    def _start(self) -> IntArray:
        """A random assignment with the sizes of the classes, as in the paper."""
        _, y, _ = points(self.data)
        return np.random.RandomState(seed_of(self.seed, "trace")).permutation(y)


def _short(values: FloatArray, digits: int) -> Any:
    return np.round(values, digits).tolist()
