"""Sizes, totals and pairs together: prices for the sums, and a program for what they leave open."""
