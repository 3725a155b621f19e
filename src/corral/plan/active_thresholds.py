"""Numbers of the next question (``corral.active``)."""

from __future__ import annotations

#: Neighbour whose distance is the local scale of a row: the usual choice for such kernels
#: (Zelnik-Manor and Perona 2004).  A later neighbour spreads an answer over more rows.
SCALE_NEIGHBOUR = 7

#: Rows among which these neighbours are looked for; of more rows a random part is used.  More make
#: the scales finer and their search longer.  It is a limit on time and no measured optimum.
MOST_REFERENCES = 5_000

#: Weight of the model's own opinion of a row, in answers about rows at the same place.  More lets
#: the answers change less.  With 1, one answer counts as much as the model; it is not measured.
OWN_WEIGHT = 1.0

#: Least weight of a cluster in the model's opinion of a row, whose nearest cluster has weight 1: no
#: cluster is impossible because it is far.
LEAST_WEIGHT = 1e-12
