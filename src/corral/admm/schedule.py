"""The penalties of the projected solver over its iterations: graduate, settle, harden.

1. *Graduate*: a ridge ``tau/2 |x|^2`` decays from the value at which clusters begin to separate.
   With ``x = 1/k`` and centres that differ a little, one round of assignment and centres multiplies
   the differences by ``2 k lambda / tau``, where lambda is the separation scale of the rows.  For
   squared Euclidean distances that is the largest eigenvalue of the covariance.  So the clusters
   separate when tau falls below ``2 k lambda``.  Above it the differences shrink, and the start is
   forgotten.
2. *Settle*: the ridge is small compared with the costs and goes on decaying.  The sphere's penalty
   starts low and grows, while the points between clusters go to one of them.
3. *Harden*: x has come to rest.  The penalties of box and sphere grow fast until x is binary.

The *scale of the costs* below is the median over the groups of the standard deviation of their k
costs.  The numbers below were set together; tests/admm/test_projected.py checks the phases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

GRADUATE, SETTLE, HARDEN = 0, 1, 2

#: Ridge, in scales of the costs, at which graduation ends if x is to become binary.  A larger
#: number ends it sooner, with clusters that are less separated.
RIDGE_END = 0.02
#: The same if only the centres are needed.
CENTRES_END = 0.1
#: Ridge, as a part of its start, at which graduation ends in any case.  It decides only where the
#: costs have no scale, as for equal points; a larger number saves iterations there.
RIDGE_LEAST = 1e-4
#: First penalty of the sphere, in separation scales.  A larger number decides points between
#: clusters sooner, on centres that are less settled.
SPHERE_START = 1e-3
#: Growth of the penalties of box and sphere in an iteration of hardening.  A larger number saves
#: iterations and leaves x less time to follow.
HARDEN_GROWTH = 1.25
#: Mean change of a group's box copy in an iteration, sum over the clusters, below which x rests.  A
#: larger number ends settling sooner.
AT_REST = 1e-3
#: Iterations in a row that x has to rest before it is hardened.
REST_ITERATIONS = 5
#: Growth of the sphere's penalty in settling after which x is hardened even if it does not rest.  A
#: larger number gives such problems more iterations.
SETTLE_GROWTH = 20.0
#: Iterations of hardening after which the solver ends even if x is not binary.
HARDEN_ITERATIONS = 30
#: Least penalty of the box in settling where no sizes or totals bound sums, as a part of its usual
#: value.  A smaller number lets points between two clusters, whose costs hardly differ, move
#: faster.
LOOSE_BOX = 0.1
#: Factor by which that penalty falls in an iteration of settling.
LOOSENING = 0.95


@dataclass(frozen=True)
class Schedule:
    """Penalties of one iteration; :meth:`after` gives those of the next."""

    rho: float  # penalty of the box in scales of the costs
    growth: float  # of the sphere's penalty in an iteration; the ridge decays by its inverse
    ridge: float  # tau
    least_ridge: float  # ridge at which graduation ends in any case
    sphere: float  # penalty rho_3
    box: float  # penalty rho_2
    loosens: bool  # whether the box's penalty may fall while settling
    end: float = RIDGE_END  # ridge, in scales of the costs, at which graduation ends
    phase: int = GRADUATE
    in_phase: int = 0  # iterations since the phase began
    resting: int = 0  # iterations in a row that x has rested

    @classmethod
    def start(
        cls,
        separation: float,
        n_clusters: int,
        rho: float,
        growth: float,
        loosens: bool,
        end: float = RIDGE_END,
    ) -> Schedule:
        """Begin where clusters are about to separate, ``tau = 2 k lambda``."""
        return cls(
            rho=rho,
            growth=growth,
            ridge=2.0 * n_clusters * separation,
            least_ridge=RIDGE_LEAST * 2.0 * n_clusters * separation,
            sphere=SPHERE_START * separation,
            box=rho * separation,
            loosens=loosens,
            end=end,
        )

    @property
    def exhausted(self) -> bool:
        """Whether hardening has used up its iterations; its penalties have grown 800 times."""
        return self.phase == HARDEN and self.in_phase >= HARDEN_ITERATIONS

    def at_scale(self, scale: float) -> Schedule:
        """Let the box's penalty follow the scale of the costs, which grows as clusters separate."""
        loose = max(LOOSE_BOX, LOOSENING**self.in_phase) if self.loosens else 1.0
        box = self.rho * scale * (loose if self.phase == SETTLE else 1.0)
        if self.phase == HARDEN:
            return replace(self, box=max(box, self.box, self.sphere))
        return replace(self, box=max(box, RIDGE_END * self.ridge))

    def after(self, scale: float, drift: float) -> Schedule:
        """Penalties of the next iteration; drift is the mean change of a group's box copy."""
        resting = self.resting + 1 if drift < AT_REST else 0
        following = replace(
            self, ridge=self.ridge / self.growth, resting=resting, in_phase=self.in_phase + 1
        )
        if self.phase == GRADUATE:
            over = following.ridge <= max(self.end * scale, self.least_ridge)
            return replace(following, phase=SETTLE, in_phase=0) if over else following
        if self.phase == SETTLE:
            following = replace(following, sphere=self.sphere * self.growth)
            restless = self.growth**self.in_phase >= SETTLE_GROWTH
            over = resting >= REST_ITERATIONS or restless
            return replace(following, phase=HARDEN, in_phase=0) if over else following
        grown = max(self.sphere, self.box) * HARDEN_GROWTH
        return replace(following, sphere=grown, box=grown)
