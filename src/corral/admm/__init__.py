"""The relaxed problem and its two solvers, by the alternating direction method of multipliers.

``projected`` is the robust default, and knows of the distance only what the rows tell it.
``algorithm1`` follows the paper to the letter, squared Euclidean distance included.  Both return a
:class:`~corral.admm.history.Relaxation`, whose history has one entry for each iteration.
"""
