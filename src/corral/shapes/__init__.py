"""Clusters of other shapes than the means of k-means.

Exact assignment takes any costs.  A shape says what a cluster is, what rows cost in it, and which
cluster is best for given rows (:mod:`.shape`); the rules hold for every shape.
"""
