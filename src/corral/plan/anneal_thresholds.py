"""Thresholds of annealing under cannot-links (:mod:`corral.polish.anneal`).

Temperatures and prices are in units of the mean difference between the costs of the two nearest
centres of a group, after Lloyd's method without links.
"""

from __future__ import annotations

#: Natural logarithm of the number of labelings of the largest tangle of cannot-links from which
#: labels are annealed.  Below, shaken answers find as good ones: at 100, glass with n links takes
#: 1.5 times as long at the same objective; at 1,000, glass with 1.5 n links ends up to 0.6 % higher
#: (small_pairs.py).
TANGLED = 150.0
#: Rounds of the smallest tangle; twice the logarithm has one more, up to the most.  More rounds
#: lower the objective and take twice as long each: 500 points in 5 clusters with 5 random links a
#: point end 4 % lower with 4 rounds than with 3 (cliques.py random).
LEAST_ROUNDS, MOST_ROUNDS = 2, 6
#: Work of the rounds of a run, at most, in entries of the costs and ends of links that are looked
#: at, up to ``TIMED_ROWS`` rows; it grows as the time of a fit does.  A unit takes about 10 ns.
ANNEAL_WORK = 5.0e8
#: Part of the time left that annealing may take.  It is a guard: 4 rounds of 500 points in 5
#: clusters take 3 of 17 s.
ANNEAL_SHARE = 0.5
#: Temperatures of the first round; every further round has twice as many.  With 5 random links
#: a point, 400 points in 6 clusters and 300 in 10 end 0.9 % lower and 0.1 % higher with 30, and
#: 1.9 % lower and 0.4 % higher with 120.
FIRST_STEPS = 60
#: Sweeps over all groups between two changes of the temperature and of the centres.  With 5
#: random links a point, 400 points in 6 clusters end 0.3 % higher with 2 and 0.9 % higher with 10.
SWEEPS_A_STEP = 5
#: First and last temperature of a round.  From 0.6 on, tight tangles freeze with broken links: 500
#: points in 5 clusters with 5 random links a point end 4 % higher.  With 0.2 as the last one, 500
#: points in 10 clusters end 2 % higher.
HOTTEST, COOLEST = 1.0, 0.08
#: Price of a broken link at the start of the first round, and its growth until a round ends.  With
#: a higher price labels freeze early: at 6, 400 points in 6 clusters with 5 links a point end
#: 1.7 % higher.  With a lower one links stay broken.
PRICE, PRICE_GROWTH = 3.0, 2.0
#: Factors of the first temperature and the price after a round in which half of the copies broke no
#: link, and after others.  Where links are tight, a higher price alone freezes broken links: 1,500
#: points in 5 clusters with 5 random links a point keep 2 to 4 of them, and none with both.
COOLER, HOTTER = 0.87, 1.5
#: Entries of the costs of all copies together, about, and most copies.  Below so many entries,
#: NumPy takes as long for few copies as for many.
COPIED_ENTRIES, MOST_COPIES = 20_000, 8
#: Copies of a round, the best ones, that exchanges of groups improve.  With 1, 400 points in 6
#: clusters and 300 in 10 end the same.
EXCHANGED = 2
#: Rounds in a row without a better answer that end them.
IDLE = 2
#: Rounds of Lloyd's method without links before the first.
FREE_ROUNDS = 10
