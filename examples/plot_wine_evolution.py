"""
Wine: how the assignment becomes binary
=======================================

An example of the paper that corral is based on: 178 wines of three growers, with pairs and sizes.
ADMM works on a relaxed assignment x: row i holds the shares of wine i in the clusters.  The
pictures show how the entries of x become 0 or 1.
"""

# %%
# ``record_x`` lists the iterations whose x is stored.

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from corral import ClusterSizes, ConstrainedKMeans
from corral.datasets import load_wine, random_links
from corral.plots import plot_assignment, plot_clusters, plot_convergence

wine = load_wine()
must_link, cannot_link = random_links(wine.target, 60, 60, random_state=0)
rules = [must_link, cannot_link, ClusterSizes([59, 71, 48])]

model = ConstrainedKMeans(3, n_init=1, random_state=0, record_x=(1, 20, 40, 60, 80, 100))
model.fit(wine.data, constraints=rules)
print(model.report_)
print(f"adjusted Rand index {adjusted_rand_score(wine.target, model.labels_):.3f}")

# %%
# The default solver starts near the uniform assignment, where each share is one third.  Then the
# clusters separate, wines between two clusters move to one of them, and the sphere constraint
# brings the remaining entries to 0 or 1.

plot_assignment(model.history_, order=model.labels_)

# %%
# Objective, residuals, and broken rules of the rounded x, by iteration.

axes = plot_convergence(model.history_)

# %%
# The paper's Algorithm 1, from a k-means start.

start = KMeans(3, n_init=10, random_state=0).fit(wine.data).labels_
paper = ConstrainedKMeans(
    3, solver="algorithm1", init=start, n_init=1, random_state=0, record_x=(1, 20, 60, 200)
)
paper.fit(wine.data, constraints=rules)
print(f"objective {paper.inertia_:.2f} (default solver {model.inertia_:.2f})")
plot_assignment(paper.history_, order=paper.labels_)

# %%
# The clusters, with all links.

# sphinx_gallery_thumbnail_number = -1
plot_clusters(wine.data, model.labels_, rules)
plt.show()
