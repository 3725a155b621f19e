"""Hostile cases by group, and the processes that run them; ``hostile.py`` prints the results."""
