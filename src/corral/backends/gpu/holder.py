"""All rows as one shard of PyTorch tensors, on one device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ..._typing import FloatArray, IntArray
from ...admm.crew import Setup
from ...admm.kernels import Step, Sums
from ...presolve import Rules
from ...rows import Shard
from ...rows.seeding import plus_plus as few_seeds
from .pairs import PairCopies
from .passes import passes, start_sums
from .seeds import plus_plus


class TorchHolder:
    """One shard, and the passes over it.

    Parameters
    ----------
    points : (n, d) tensor
        Of float32 or float64.
    weight : (n,) tensor, optional
        None if all are one.
    free : (n,) tensor of bool, optional
        Rows that prices assign, all by default.

    Attributes
    ----------
    keep_x : bool
        Whether :meth:`x` may be asked for where it is large; to be set before :meth:`begin`.
    """

    def __init__(self, points: torch.Tensor, weight: Any = None, free: Any = None) -> None:
        self.shard = Shard(points, weight, free)
        self.keep_x = False
        self._passes: Any = None

    @property
    def dtype(self) -> Any:
        """NumPy's dtype of the points."""
        return np.dtype(str(self.shard.points.dtype).removeprefix("torch."))

    @property
    def lengths(self) -> Sequence[int]:
        """Number of rows in the one shard."""
        return [len(self.shard)]

    @property
    def n_features(self) -> int:
        """Of every row."""
        return int(self.shard.points.shape[1])

    def crew(self, points: FloatArray) -> TorchHolder:
        """The same device works on a few of the points too."""
        return TorchHolder(torch.as_tensor(points).to(self.shard.points.device))

    def seeds(
        self,
        points: FloatArray,
        weight: FloatArray,
        n_clusters: int,
        random_state: np.random.RandomState,
    ) -> FloatArray:
        """k-means++ on the device too."""
        if len(points) < n_clusters or not weight.any():
            return few_seeds(points, weight, n_clusters, random_state)
        own = self.shard.points
        there, mass = (torch.as_tensor(a, dtype=own.dtype).to(own.device) for a in (points, weight))
        with self.running():
            seeds = plus_plus(there, mass, n_clusters, random_state)
        return np.asarray(seeds.double().cpu())

    def map(
        self,
        function: Callable[..., Any],
        *args: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """The result for the one shard."""
        (own,) = [()] if each is None else list(each)
        with self.running():
            return [function(self.shard, *args, *own)]

    def transform(
        self,
        function: Callable[..., Shard],
        *args: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> TorchHolder:
        """A holder of what the function makes of the shard."""
        (made,) = self.map(function, *args, each=each)
        return TorchHolder(made.points, made.weight, made.free)

    @contextmanager
    def running(self) -> Iterator[TorchHolder]:
        """Keep products of float32 from being made of fewer bits."""
        asked = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            yield self
        finally:
            torch.set_float32_matmul_precision(asked)

    def begin(self, setup: Setup) -> tuple[FloatArray, FloatArray]:
        """Set up the state on the device."""
        self._setup, self._passes = setup, None  # frees the state of a run before
        self._passes = passes(self.shard.points, setup, self.keep_x)
        with self.running():
            return start_sums(self.shard.points, setup)

    def start_sphere(self) -> None:
        """Begin the sphere's copy."""
        self._passes.start_sphere()

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """The first pass."""
        result: tuple[FloatArray, FloatArray] = self._passes.forward(step)
        return result

    def backward(self, step: Step, theta: FloatArray | None) -> Sums:
        """The second pass."""
        sums: Sums = self._passes.backward(step, theta)
        return sums

    def pairs(self, rules: Rules, metric: FloatArray, unit: float) -> PairCopies:
        """On the device too."""
        return PairCopies(rules, self._setup.pulled, metric, self.pulled_x(), unit)

    def pulled_x(self) -> torch.Tensor:
        """X of the groups that pairs pull, (k, e)."""
        x: torch.Tensor = self._passes.pulled_x()
        return x

    def pull(self, pull: Any, stiffening: Any) -> None:
        """Hold the pull on these groups."""
        self._passes.pull(pull, stiffening)

    def labels(self) -> IntArray:
        """The rounding of x, (n,)."""
        labels: IntArray = self._passes.labels()
        return labels

    def x(self) -> FloatArray:
        """The relaxed assignment, (n, k)."""
        x: FloatArray = self._passes.x()
        return x
