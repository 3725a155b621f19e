"""What the first pass would sum over the groups that nothing pulls, computed without a pass.

The x of such a group is linear in its point and its state.  So ``sum_g t_g x_gj`` follows from the
same sum of the points, which never changes, and of the state, which the last pass added up.  Where
passes are expensive, on a GPU or with Dask, an iteration then needs one pass instead of two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray
from .crew import START_SHARE, Setup
from .schedule import GRADUATE
from .updates import Step

#: Places in :func:`row_vectors`: factor of the costs, weight, metric, value of the total, and that
#: value over the metric.
FACTOR, WEIGHT, METRIC, VALUE, SHARE = range(5)


@dataclass(frozen=True)
class Numbers:
    """The coefficients of a step: x of a group as a linear function of its state and its point."""

    inverse: float  # 1 / a of the x-system, for a group that nothing pulls
    inside: float  # coefficient of clip(v1)
    dual: float  # coefficient of v1 - clip(v1)
    sphere: float  # coefficient of v2
    ratio: float  # factor by which the new penalties scale the box's dual
    fade: float  # the same for the sphere's dual
    centers: FloatArray  # 2 / a times the centres less their mean, so that terms sum to 0, (k, d)
    costs: FloatArray  # the constant term, if points are taken relative to a shift, (k,)

    @classmethod
    def of(cls, step: Step, shift: FloatArray) -> Numbers:
        """The coefficients of a step for points relative to a shift."""
        before, now = step.before, step.now
        spherical = now.phase > GRADUATE
        inverse = 1.0 / (now.box + now.ridge + (now.sphere if spherical else 0.0))
        sphere = (now.sphere + before.sphere) * step.shrink - before.sphere
        centers = np.asarray(step.centers, np.float64)
        offsets = np.asarray(step.offsets, np.float64)[:, 0] - 2.0 * (centers @ shift)
        k = len(centers)
        return cls(
            inverse=inverse,
            inside=inverse * now.box,
            dual=-inverse * before.box,
            sphere=inverse * sphere if spherical else 0.0,
            ratio=before.box / now.box,
            fade=before.sphere / now.sphere * (1.0 - step.shrink),
            centers=(2.0 * inverse) * (centers - centers.sum(axis=0) / k),
            costs=inverse * (offsets.sum() / k - offsets),
        )


class Unpulled:
    """Sums over the groups that nothing pulls, each times its value ``t_g`` in the total.

    Points are taken relative to ``shift`` (d,).  ``weighted_sum(weight)`` is the sum of all points
    (d,), each times its weight, in double precision.
    """

    def __init__(
        self, setup: Setup, shift: FloatArray, weighted_sum: Callable[[FloatArray], FloatArray]
    ) -> None:
        self.k, self.shift = setup.n_clusters, shift
        vectors = row_vectors(setup)
        value = vectors[VALUE].astype(np.float64)
        value[setup.pulled] = 0.0
        self.total, self.shared = float(value.sum()), float(value @ vectors[SHARE])
        factor = value * vectors[FACTOR]
        self.factor = float(factor.sum())
        self.points = weighted_sum(factor) - self.factor * shift
        started = np.bincount(setup.labels, value, minlength=self.k)
        self.inside: FloatArray = START_SHARE * started + (1.0 - START_SHARE) / self.k * self.total
        self.dual: FloatArray = np.zeros(self.k)
        self.sphere: FloatArray = np.zeros(self.k)
        self._whole = self.inside

    def start_sphere(self) -> None:
        """Begin the sphere's copy, held relative to 1/2."""
        self.sphere = self.inside - 0.5 * self.total

    def totals(self, numbers: Numbers) -> FloatArray:
        """``sum t x`` of the x-system without totals, (k,)."""
        state = numbers.inside * self.inside + numbers.dual * self.dual
        state += numbers.sphere * self.sphere
        costs = numbers.centers @ self.points + self.factor * numbers.costs
        totals: FloatArray = costs + state + (self.total - state.sum()) / self.k
        return totals

    def gram(self, numbers: Numbers) -> float:
        """``sum t t / (r a)``."""
        return self.shared * numbers.inverse

    def move(self, numbers: Numbers, theta: FloatArray | None) -> None:
        """Take the dual steps, which follow from x."""
        x = self.totals(numbers)
        if theta is not None:
            x -= self.gram(numbers) * theta[0]
        self.sphere = numbers.fade * self.sphere + x - 0.5 * self.total
        self._whole = numbers.ratio * self.dual + x

    def project(self, inside: FloatArray) -> None:
        """Set the sum of the new ``clip(v1)``; the dual's sum is that of v1 less it."""
        self.inside, self.dual = inside, self._whole - inside


def row_vectors(setup: Setup) -> list[FloatArray]:
    """Factor, weight, metric, value and share of every group."""
    ones = np.ones(len(setup.labels))
    weight = ones if setup.weight is None else setup.weight
    metric = ones if setup.metric is None else setup.metric
    value = ones if setup.values is None else setup.values[0]
    both = setup.weight is not None and setup.metric is not None
    share = value if setup.metric is None else value / metric
    return [weight / metric if both else ones, weight, metric, value, share]
