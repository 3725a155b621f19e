"""The methods that the paper compares with or builds on, with the interface of corral's estimator.

``fit(X, constraints=...)`` sets ``labels_`` and ``report_``, the audit.  Each method takes the
kinds of constraints of its paper and raises ``ValueError`` for the others.

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
from .cobweb import COPCobweb
from .fuzzy import EquiSizedFCM
from .kmeans import COPKMeans, MinSizeKMeans, PlainKMeans
from .pairwise import E2CP, ConstrainedCompleteLink, ConstrainedNCut
from .pckmeans import MPCKMeans, PCKMeans
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
