"""The methods that the paper compares with or builds on, with the face of corral's estimator.

``fit(X, constraints=...)`` sets ``labels_`` and ``report_``, the audit.  Each takes the kinds of
constraints that its paper has and refuses the others.

======================= ================================ ======================================
Estimator               Constraints                      Obeys them
======================= ================================ ======================================
PlainKMeans             any, ignored                     no
COPKMeans               MustLink, CannotLink             always, or DeadEndError
COPCobweb               MustLink, CannotLink             always, or DeadEndError
ConstrainedCompleteLink MustLink, CannotLink             mostly
E2CP                    MustLink, CannotLink             mostly
ConstrainedNCut         MustLink, CannotLink             mostly
PPC                     MustLink, CannotLink, weighted   at a price
PCKMeans                MustLink, CannotLink, weighted   at a price
MPCKMeans               MustLink, CannotLink, weighted   at a price
MinSizeKMeans           ClusterSizes                     always
EquiSizedFCM            ClusterSizes, exact              in the sums of memberships
======================= ================================ ======================================
"""

from .base import DeadEndError
from .ccl import ConstrainedCompleteLink
from .cobweb import COPCobweb
from .cop_kmeans import COPKMeans
from .e2cp import E2CP
from .fuzzy import EquiSizedFCM
from .kmeans import PlainKMeans
from .min_size import MinSizeKMeans
from .mpckmeans import MPCKMeans
from .ncut import ConstrainedNCut
from .pckmeans import PCKMeans
from .ppc import PPC

__all__ = [
    "E2CP",
    "PPC",
    "COPCobweb",
    "COPKMeans",
    "ConstrainedCompleteLink",
    "ConstrainedNCut",
    "DeadEndError",
    "EquiSizedFCM",
    "MPCKMeans",
    "MinSizeKMeans",
    "PCKMeans",
    "PlainKMeans",
]
