"""Centres for many clusters, at a cost that grows with the candidates of the rows.

:mod:`.tree` cuts the rows into parts whose sizes are sums of the sizes asked for, until a part is
one cluster.  :mod:`.graduation` then lets all clusters share rows while a temperature falls.
"""

from .graduation import graduate
from .tree import split

__all__ = ["graduate", "split"]
