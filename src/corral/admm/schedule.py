"""The penalties of the projected solver over its iterations: graduate, settle, harden.

1. *Graduate*: a ridge ``tau/2 |x|^2`` decays from the value at which clusters begin to separate.
   With ``x = 1/k`` and centres that differ a little, one round of assignment and centres multiplies
   the differences by ``2 k lambda / tau``, where lambda is the largest eigenvalue of the covariance
   of the rows.  So the clusters separate when tau falls below ``2 k lambda``.  Above it the
   differences shrink, and the start is forgotten.
2. *Settle*: the ridge is small compared with the costs and goes on decaying.  The sphere's penalty
   begins at that ridge and grows, while the points between clusters go to one of them.
3. *Harden*: x has come to rest.  The penalties of box and sphere grow until x is binary.

The *scale of the costs* below is the median over the groups of the standard deviation of their k
costs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from ..numbers import AT_REST, RIDGE_END

GRADUATE, SETTLE, HARDEN = 0, 1, 2
EPS = sys.float_info.epsilon


@dataclass(frozen=True)
class Schedule:
    """Penalties of one iteration; :meth:`after` gives those of the next."""

    rho: float  # penalty of the box in scales of the costs
    growth: float  # of penalties in an iteration; the ridge decays by its inverse
    ridge: float  # tau
    box: float  # penalty rho_2
    sphere: float = 0.0  # penalty rho_3
    phase: int = GRADUATE

    @classmethod
    def start(cls, separation: float, n_clusters: int, rho: float, growth: float) -> Schedule:
        """Begin where clusters are about to separate, ``tau = 2 k lambda``."""
        ridge = 2.0 * n_clusters * separation
        return cls(rho=rho, growth=growth, ridge=ridge, box=rho * separation)

    def exhausted(self, scale: float) -> bool:
        """Whether the penalties have grown so much that ridge and costs are rounding."""
        return self.phase == HARDEN and max(scale, self.ridge) < EPS * self.sphere

    def at_scale(self, scale: float) -> Schedule:
        """Let the box's penalty follow the scale of the costs, which grows as clusters separate."""
        box = self.rho * scale
        if self.phase == HARDEN:
            return replace(self, box=max(box, self.box, self.sphere))
        return replace(self, box=max(box, RIDGE_END * self.ridge))

    def after(self, scale: float, drift: float) -> Schedule:
        """Penalties of the next iteration; drift is the mean change of a group's box copy."""
        following = replace(self, ridge=self.ridge / self.growth)
        if self.phase == GRADUATE:
            over = following.ridge <= RIDGE_END * scale or scale < EPS * self.ridge
            return replace(following, phase=SETTLE, sphere=self.ridge) if over else following
        if self.phase == SETTLE:
            following = replace(following, sphere=self.sphere * self.growth)
            return replace(following, phase=HARDEN) if drift < AT_REST else following
        grown = max(self.sphere, self.box) * self.growth
        return replace(following, sphere=grown, box=grown)
