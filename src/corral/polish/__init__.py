"""From centres to the best labels around them.

``refine`` alternates means and exact assignment; ``exchange`` moves single groups and ``cliques``
places whole cliques anew, their centres moving along; ``moves`` proposes larger steps, which
``search`` refines and keeps if they pay.
"""

from .moves import relocate
from .refine import Answer, evaluate, first_answer, refine
from .search import improve

__all__ = ["Answer", "evaluate", "first_answer", "improve", "refine", "relocate"]
