"""The parts of ``grid.py``: data, sets of rules, checks, references, processes and the summary.

Nothing here calls corral except the module ``worker``, which fits, and ``Rules.constraints``.
"""
