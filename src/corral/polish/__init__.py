"""From centres to the best labels around them.

``first`` makes first answers from centres; ``refine`` alternates means and exact assignment for
that.  ``exchange`` moves single groups, ``kempe`` chains of them, ``relays`` groups of several
clusters in a circle, and ``cliques`` places whole cliques anew, their centres moving along;
``moves`` proposes larger steps, which ``search`` refines and keeps if they pay; ``recombine`` makes
new answers from several.  ``anneal`` draws labels at random at falling temperatures, where
cannot-links tangle.

Under totals and shares with few groups a cluster, an exact assignment is an integer
program.  There ``chains`` moves one or two groups at a time, whatever the rules; ``refine`` repairs
and improves labels by that alone, and ``upheavals`` leaves local optima.  ``partition`` holds what
the labels imply, and ``excess`` how far they miss the rules.
"""

from .first import first_answer, from_seeds
from .moves import relocate
from .recombine import recombine
from .refine import Answer, evaluate, exactly, refine
from .search import annealed, exchange, improve, is_clear

__all__ = [
    "Answer",
    "annealed",
    "evaluate",
    "exactly",
    "exchange",
    "first_answer",
    "from_seeds",
    "improve",
    "is_clear",
    "recombine",
    "refine",
    "relocate",
]
