"""The penalties of the projected solver over its iterations: graduate, settle, harden.

1. *Graduate*: a ridge ``tau/2 |x|^2`` starts where the clusters begin to part and decays.  With
   ``x = 1/k`` and centres that differ a little, one round of assignment and means multiplies the
   difference by ``2 k lambda / tau``, lambda the largest eigenvalue of the covariance; so the
   clusters part, along the leading axis first, when tau falls below ``2 k lambda``.  Above it
   every start is forgotten, which is why the start hardly matters.
2. *Settle*: the ridge is small against the costs; it goes on decaying, and the sphere's penalty
   starts low and grows while the contested points make up their minds.
3. *Harden*: the assignment has come to rest; box and sphere grow fast until x is binary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

GRADUATE, SETTLE, HARDEN = 0, 1, 2

#: The ridge is over when it is this small against the costs' scale,
RIDGE_END = 0.02
#: and this small where only the centres count.
CENTRES_END = 0.1
#: or this small against its start, where the clusters cannot part and the costs have no scale.
RIDGE_LEAST = 1e-4
#: The sphere starts at this part of the leading variance.
SPHERE_START = 1e-3
#: Growth of box and sphere an iteration while hardening.
HARDEN_GROWTH = 1.25
#: x is at rest when a row of its box copy changes by less than this an iteration, on average,
AT_REST = 1e-3
#: for so many iterations in a row;
REST_ITERATIONS = 5
#: a problem that never comes to rest is hardened when the sphere has grown by this factor.
SETTLE_GROWTH = 20.0
#: Hardening that has not made x binary after so many iterations is given up.
HARDEN_ITERATIONS = 30
#: Without sizes the box loosens in settling to this part of the costs' scale, so that points
#: between two clusters, whose costs hardly differ, need not wait.
LOOSE_BOX = 0.1
LOOSENING = 0.95


@dataclass(frozen=True)
class Schedule:
    """Penalties of one iteration; :meth:`after` gives those of the next.

    Attributes
    ----------
    rho : float
        The box penalty in units of the costs' scale.
    growth : float
        Growth of the sphere's penalty an iteration; the ridge decays by its inverse.
    ridge, least_ridge, sphere, box : float
    phase : {GRADUATE, SETTLE, HARDEN}
    loosens : bool
        Whether the box may loosen while settling.
    end : float
        Where the ridge is over, against the costs' scale.
    """

    rho: float
    growth: float
    ridge: float
    least_ridge: float
    sphere: float
    box: float
    loosens: bool
    end: float = RIDGE_END
    phase: int = GRADUATE
    in_phase: int = 0
    resting: int = 0

    @classmethod
    def start(
        cls,
        variance: float,
        n_clusters: int,
        rho: float,
        growth: float,
        loosens: bool,
        end: float = RIDGE_END,
    ) -> Schedule:
        """Begin where the clusters are about to part."""
        return cls(
            rho=rho,
            growth=growth,
            ridge=2.0 * n_clusters * variance,
            least_ridge=RIDGE_LEAST * 2.0 * n_clusters * variance,
            sphere=SPHERE_START * variance,
            box=rho * variance,
            loosens=loosens,
            end=end,
        )

    @property
    def exhausted(self) -> bool:
        """Whether hardening has had its time; the penalties are then 800 times higher."""
        return self.phase == HARDEN and self.in_phase >= HARDEN_ITERATIONS

    def at_scale(self, scale: float) -> Schedule:
        """Let the box follow the costs' scale, which grows as the clusters part."""
        loose = max(LOOSE_BOX, LOOSENING**self.in_phase) if self.loosens else 1.0
        box = self.rho * scale * (loose if self.phase == SETTLE else 1.0)
        if self.phase == HARDEN:
            return replace(self, box=max(box, self.box, self.sphere))
        return replace(self, box=max(box, RIDGE_END * self.ridge))

    def after(self, scale: float, drift: float) -> Schedule:
        """Penalties of the next iteration, given how far x moved in this one."""
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
