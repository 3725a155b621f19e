"""The parts of ``fuzz.py``: random instances, exact rules, a CP-SAT model and a checker.

They are written from corral's documentation only.  Nothing here calls corral except the module
``trial``, which fits, and the functions ``build`` and ``source`` of ``rules``.
"""
