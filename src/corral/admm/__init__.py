"""The relaxed problem and its two solvers by alternating directions.

``algorithm1`` is the paper to the letter, ``projected`` the robust default.  Both return a
:class:`~corral.admm.history.Relaxation`, whose history holds one entry an iteration.
"""
