"""From centres to the best labels around them.

``refine`` alternates means and exact assignment; ``exchange`` moves single groups, their centres
moving along; ``moves`` proposes larger steps, which ``search`` refines and keeps if they pay.
"""

from .refinement import MAX_ROUNDS, Answer, evaluate, first_answer, refine
from .search import SMALL, improve

__all__ = ["MAX_ROUNDS", "SMALL", "Answer", "evaluate", "first_answer", "improve", "refine"]
