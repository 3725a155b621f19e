"""The same fits by two versions of corral; ``benchmarks/same.py`` runs them."""
